//! TreeExpansion: a node's own similarity, what its ancestors lend it, what its children say.
//!
//! Runs *inside* documents already chosen. A leaf's score contains the undivided similarity of its document's
//! root, so across documents the ranking follows roots more than leaves.
//!
//! * [`Expansion`]: the weights; [`Expansion::scores`] computes.
//! * [`Candidates`]: which nodes may be chosen; [`Candidates::best`] chooses.

use std::cmp::Ordering;

use super::reader::Tree;
use crate::error::{Error, Result};
use crate::ids::NodeId;

/// How the children speak for their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildAggregate {
    /// Mean of the children's scores: the support of a child is damped by `gamma` once per level.
    #[default]
    MeanOfChildScores,
    /// Mean of the similarities of all nodes below that have a vector, undamped.
    MeanOfDescendantSimilarities,
    /// The best child's score.
    MaxOfChildScores,
}

/// Weights and readings of TreeExpansion.
///
/// With `d(v)` = level + 1 (the root has depth 1):
///
/// ```text
/// S(v)     = alpha Ssim(v) + beta Sinh(v) + gamma Schild(v)
/// Ssim(v)  = similarity(v) / d(v)
/// Sinh(v)  = max(Sinh(parent), Ssim(parent)), 0 for the root
/// Schild(v)= mean of S over the children, 0 without children
/// ```
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, equation 5 and its weights of 1/3. That version names the three signals without
/// formulas; these follow a public reimplementation of its v1 (`alainbrown/openfable`).
/// Departure: none in the default. [`Expansion::HYBRID`], without division and inheritance-poor, is ours: it
/// equals score fusion on the development sets, where the printed weights lose to it.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Expansion {
    /// Weight of the node's own similarity, at least 0.
    pub alpha: f32,
    /// Weight of the best ancestor's similarity, at least 0.
    pub beta: f32,
    /// Weight of the children's support, at least 0.
    pub gamma: f32,
    /// Whether a similarity is divided by the node's depth.
    pub depth_division: bool,
    /// How the children's support is computed.
    pub child_aggregate: ChildAggregate,
}

impl Default for Expansion {
    fn default() -> Self {
        Self::PAPER
    }
}

/// What TreeExpansion says about one node.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct NodeScore {
    /// The node.
    pub node: NodeId,
    /// `S`: higher is better.
    pub score: f32,
    /// `Ssim`: its own similarity, divided by its depth if so asked.
    pub similarity: f32,
    /// `Sinh`: the best `Ssim` among its proper ancestors, at least 0.
    pub inherited: f32,
    /// `Schild`: its children's support.
    pub child: f32,
}

impl Expansion {
    /// As printed: a third each, division by depth.
    pub const PAPER: Self = Self {
        alpha: 1.0 / 3.0,
        beta: 1.0 / 3.0,
        gamma: 1.0 / 3.0,
        depth_division: true,
        child_aggregate: ChildAggregate::MeanOfChildScores,
    };

    /// For hybrid similarities and leaves only: .75, .25, 0, no division.
    pub const HYBRID: Self =
        Self { alpha: 0.75, beta: 0.25, gamma: 0.0, depth_division: false, ..Self::PAPER };

    /// The scores of all nodes of `tree`, in pre-order.
    ///
    /// * `similarity`: `n`, one per node in pre-order, higher is better, usually a cosine in `[-1, 1]`. A value
    ///   that is not finite stands for a node without a vector: it counts 0, and not at all in
    ///   [`ChildAggregate::MeanOfDescendantSimilarities`].
    /// * returns: `n` scores; finite for similarities of ordinary size.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is not one similarity per node, or a weight is negative or not finite.
    ///
    /// # Complexity
    ///
    /// `O(n)` time and memory: one pass down, one pass up, no recursion.
    pub fn scores(&self, tree: &Tree, similarity: &[f32]) -> Result<Vec<NodeScore>> {
        for (name, weight) in [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)] {
            if !weight.is_finite() || weight < 0.0 {
                return Err(Error::invalid(format!("{name} is {weight}, not a number from 0")));
            }
        }
        let n = tree.range().len();
        if similarity.len() != n {
            return Err(Error::invalid(format!("{} similarities for {n} nodes", similarity.len())));
        }
        let first = tree.root().0;
        let mut parents = Vec::with_capacity(n);
        let mut scores: Vec<NodeScore> = Vec::with_capacity(n);
        for (view, raw) in tree.nodes().zip(similarity) {
            let known = if raw.is_finite() { *raw } else { 0.0 };
            let depth = if self.depth_division { f32::from(view.level()) + 1.0 } else { 1.0 };
            let parent = view.parent().map(|parent| (parent.id().0 - first) as usize);
            let above = parent.and_then(|parent| scores.get(parent));
            let inherited = above.map_or(0.0, |above| above.inherited.max(above.similarity));
            parents.push(parent);
            scores.push(NodeScore {
                node: view.id(),
                score: 0.0,
                similarity: known / depth,
                inherited,
                child: 0.0,
            });
        }
        // A child comes after its parent, so from the end a node's children are complete when it is met.
        let mut below = vec![Below::default(); n];
        for index in (0..n).rev() {
            let node = &mut scores[index];
            node.child = below[index].support(self.child_aggregate);
            node.score = self.alpha * node.similarity + self.beta * node.inherited + self.gamma * node.child;
            let Some(parent) = parents[index] else { continue };
            let (node, own) = (*node, below[index]);
            let known = similarity[index].is_finite();
            let entry = &mut below[parent];
            match self.child_aggregate {
                ChildAggregate::MeanOfChildScores => {
                    entry.sum += node.score;
                    entry.count += 1.0;
                }
                ChildAggregate::MeanOfDescendantSimilarities => {
                    entry.sum += own.sum + if known { node.similarity } else { 0.0 };
                    entry.count += own.count + if known { 1.0 } else { 0.0 };
                }
                ChildAggregate::MaxOfChildScores => {
                    entry.sum = if entry.count > 0.0 { entry.sum.max(node.score) } else { node.score };
                    entry.count = 1.0;
                }
            }
        }
        Ok(scores)
    }
}

/// What was met below a node. Counts are floats: exact up to the most nodes a document may have.
#[derive(Clone, Copy, Default)]
struct Below {
    sum: f32,
    count: f32,
}

impl Below {
    fn support(self, aggregate: ChildAggregate) -> f32 {
        match aggregate {
            _ if self.count <= 0.0 => 0.0,
            ChildAggregate::MaxOfChildScores => self.sum,
            _ => self.sum / self.count,
        }
    }
}

/// Which nodes may be chosen. Never the root: it stands for the whole document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Candidates {
    /// Leaves.
    Leaves,
    /// Inner nodes.
    Inner,
    /// Both; a chosen inner node stands for its leaves.
    #[default]
    All,
}

impl Candidates {
    /// The best `limit` candidates among the nodes of `tree`, best first, ties to the lower id.
    ///
    /// * `scores`: as [`Expansion::scores`] gave them for `tree`; nodes of other trees are left out. NaN ranks
    ///   lowest.
    #[must_use]
    pub fn best(self, tree: &Tree, scores: &[NodeScore], limit: usize) -> Vec<NodeScore> {
        let eligible = |score: &&NodeScore| match tree.node(score.node) {
            Ok(node) if node.id() != tree.root() => match self {
                Self::Leaves => node.is_leaf(),
                Self::Inner => !node.is_leaf(),
                Self::All => true,
            },
            _ => false,
        };
        let mut best: Vec<NodeScore> = scores.iter().filter(eligible).copied().collect();
        best.sort_by(|a, b| best_first(a.score, b.score).then(a.node.cmp(&b.node)));
        best.truncate(limit);
        best
    }
}

/// `scores` brought to `[0, 1]`; all 1 if they differ by less than 1e-9. A value that is not finite becomes 0.
///
/// # Source
///
/// BEAR's reimplementation, leaf selection: over the candidate leaves of all documents at once.
#[must_use]
pub fn min_max_or_one(scores: &[f32]) -> Vec<f32> {
    // Halves, so that the difference of two finite numbers is finite.
    let finite = || scores.iter().filter(|score| score.is_finite()).map(|score| score * 0.5);
    let (low, high) = finite().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let scaled = |score: &f32| match score {
        score if !score.is_finite() => 0.0,
        _ if high - low < 0.5e-9 => 1.0,
        score => (score * 0.5 - low) / (high - low),
    };
    scores.iter().map(scaled).collect()
}

/// Orders scores for output: higher first, NaN last, both zeros equal.
pub(crate) fn best_first(a: f32, b: f32) -> Ordering {
    let key = |x: f32| if x.is_nan() { f32::NEG_INFINITY } else { x + 0.0 };
    key(b).total_cmp(&key(a))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::tree::encode;
    use crate::ids::Span;
    use crate::model::TokenCounter;
    use crate::tree::Claims;
    use crate::tree::Document;
    use crate::tree::Node;
    use crate::tree::NodeKind;

    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> usize {
            text.len()
        }

        fn fingerprint(&self) -> &'static str {
            "bytes"
        }
    }

    /// A tree from an outline: `(` opens a section, `)` closes it, any letter is a leaf of that one byte.
    /// Sections are titled s1, s2, .. in pre-order; the root is titled `t`.
    pub(crate) fn tree(first: u32, outline: &str) -> Tree {
        let mut document = Document::new("k", "t");
        document.text = outline.chars().filter(char::is_ascii_alphabetic).collect();
        let (mut open, mut at, mut sections) = (vec![0_u32], 0, 0);
        for letter in outline.chars() {
            let parent = open.last().copied();
            let id = u32::try_from(document.nodes.len()).expect("a small tree");
            match letter {
                '(' => {
                    sections += 1;
                    let title = format!("s{sections}");
                    document.nodes.push(Node { title, ..Node::new(parent, NodeKind::Section) });
                    open.push(id);
                }
                ')' => drop(open.pop()),
                _ => {
                    let span = Span::new(at, at + 1);
                    document.nodes.push(Node { span, ..Node::new(parent, NodeKind::Text) });
                    at += 1;
                }
            }
        }
        let archive = encode(&document.columns(&Bytes).expect("a sound tree")).expect("it fits");
        let nodes = u32::try_from(document.nodes.len()).expect("a small tree");
        let claims = Claims { first: NodeId(first), nodes, text_bytes: at };
        Tree::open(&[], &archive, claims).expect("it is whole")
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 5e-5
    }

    #[test]
    fn a_leaf_at_depth_three_scores_as_the_reimplementation_measured() {
        let tree = tree(1, "(a)");

        // The section at depth 2 has similarity .6014, so Ssim .3007, above the root's 0.
        let scores = Expansion::PAPER.scores(&tree, &[0.0, 0.6014, 0.5873]).expect("three nodes");

        // (.5873/3 + .3007 + 0) / 3 = (.19577 + .3007) / 3 = .1655
        assert!(close(scores[2].score, 0.1655), "{scores:?}");
        assert!(close(scores[2].inherited, 0.3007), "{scores:?}");
    }

    #[test]
    fn a_leaf_at_depth_two_inherits_the_undivided_root() {
        let tree = tree(1, "a");

        let scores = Expansion::default().scores(&tree, &[0.4514, 0.3355]).expect("two nodes");

        // (.3355/2 + .4514/1 + 0) / 3 = (.16775 + .4514) / 3 = .20638
        assert!(close(scores[1].score, 0.2064), "{scores:?}");
        // Root: (.4514 + 0 + .20638) / 3 = .21926
        assert!(close(scores[0].score, 0.21926), "{scores:?}");
    }

    /// root( s1( a b ) c ) without division; alpha .5, beta 0, gamma .5.
    #[test]
    fn three_readings_of_the_children_differ() {
        let tree = tree(1, "(ab)c");
        let similarity = [0.2, 0.4, 0.6, 0.8, 0.1];
        let child = |child_aggregate| {
            let weights =
                Expansion { alpha: 0.5, beta: 0.0, gamma: 0.5, depth_division: false, child_aggregate };
            weights.scores(&tree, &similarity).expect("five nodes")[0].child
        };

        // S(a) .3, S(b) .4, S(c) .05; S(s1) = .2 + .5 * .35 = .375; mean(.375, .05) = .2125
        assert!(close(child(ChildAggregate::MeanOfChildScores), 0.2125));
        // (.4 + .6 + .8 + .1) / 4 = .475
        assert!(close(child(ChildAggregate::MeanOfDescendantSimilarities), 0.475));
        // S(s1) = .2 + .5 * .4 = .4; max(.4, .05) = .4
        assert!(close(child(ChildAggregate::MaxOfChildScores), 0.4));
    }

    #[test]
    fn a_node_without_a_vector_counts_zero_and_not_in_the_mean_of_descendants() {
        let tree = tree(1, "ab");
        let weights = Expansion {
            child_aggregate: ChildAggregate::MeanOfDescendantSimilarities,
            depth_division: false,
            ..Expansion::PAPER
        };

        let scores = weights.scores(&tree, &[0.0, f32::NAN, 0.6]).expect("three nodes");

        assert!(close(scores[0].child, 0.6), "{scores:?}");
        assert!(close(scores[1].similarity, 0.0), "{scores:?}");
    }

    #[test]
    fn candidates_never_hold_the_root_and_ties_go_to_the_lower_id() {
        let tree = tree(10, "(ab)c");
        let scores = Expansion::HYBRID.scores(&tree, &[0.0; 5]).expect("five nodes");
        let ids = |candidates: Candidates, limit| {
            candidates.best(&tree, &scores, limit).iter().map(|score| score.node.0).collect::<Vec<_>>()
        };

        assert_eq!(ids(Candidates::All, 9), [11, 12, 13, 14]);
        assert_eq!(ids(Candidates::Inner, 9), [11]);
        assert_eq!(ids(Candidates::Leaves, 2), [12, 13]);
    }

    #[test]
    fn the_wrong_number_of_similarities_and_a_weight_of_nan_are_refused() {
        let tree = tree(1, "a");

        assert!(Expansion::PAPER.scores(&tree, &[0.0]).is_err());
        let broken = Expansion { beta: f32::NAN, ..Expansion::PAPER };
        assert!(broken.scores(&tree, &[0.0, 0.0]).is_err());
    }

    #[test]
    fn equal_leaf_scores_all_become_one() {
        assert_eq!(min_max_or_one(&[0.3, 0.3]), [1.0, 1.0]);
        assert_eq!(min_max_or_one(&[0.25, 0.75, 0.5, f32::NAN]), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(min_max_or_one(&[f32::MIN, f32::MAX]), [0.0, 1.0]);
        assert_eq!(min_max_or_one(&[]), [0.0; 0]);
    }

    #[test]
    fn nan_ranks_last_and_zeros_are_equal() {
        let mut scores = [f32::NAN, 0.5, -f32::NAN, f32::INFINITY];
        scores.sort_by(|a, b| best_first(*a, *b));
        assert_eq!(&scores[..2], [f32::INFINITY, 0.5]);
        assert_eq!(best_first(0.0, -0.0), Ordering::Equal);
    }

    proptest! {
        /// The definition, by recursion over parents and children, node by node.
        #[test]
        fn two_passes_equal_the_definition(
            steps in proptest::collection::vec(0_u8..4, 1..40),
            values in proptest::collection::vec(-1.0_f32..1.0, 41),
            depth_division: bool,
        ) {
            let mut outline = String::new();
            let mut open = 0;
            for step in steps {
                match step {
                    0 => { outline.push('('); open += 1; }
                    1 if open > 0 => { outline.push(')'); open -= 1; }
                    _ => outline.push('x'),
                }
            }
            let tree = tree(7, &outline);
            let similarity = &values[..tree.range().len()];
            let weights = Expansion { depth_division, ..Expansion::PAPER };

            let scores = weights.scores(&tree, similarity).expect("one each");

            let own = |id: NodeId| {
                let depth = if depth_division { f32::from(tree.node(id).expect("there").level()) + 1.0 } else { 1.0 };
                similarity[(id.0 - 7) as usize] / depth
            };
            for score in &scores {
                let node = tree.node(score.node).expect("there");
                let inherited = node.ancestors().map(|above| own(above.id())).fold(0.0, f32::max);
                prop_assert!((score.inherited - inherited).abs() < 1e-6);
                let (mut sum, mut count) = (0.0, 0.0_f32);
                for child in tree.children(score.node).expect("there") {
                    sum += scores[(child.id().0 - 7) as usize].score;
                    count += 1.0;
                }
                let mean = sum / count.max(1.0);
                prop_assert!((score.child - mean).abs() < 1e-5);
                prop_assert!((score.score - (own(score.node) + inherited + mean) / 3.0).abs() < 1e-5);
            }
        }
    }
}
