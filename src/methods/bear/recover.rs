//! The recovery path: what scores choose, without a language model.

use std::collections::BTreeMap;

use super::fusion::DocumentTree;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::query::hybrid;
use crate::tree::expansion::Candidates;
use crate::tree::expansion::Expansion;
use crate::tree::expansion::NodeScore;
use crate::tree::expansion::best_first;

/// Scores of `n` documents from the leaves in them: the mean of each one's best three leaf scores, plus the
/// score of the whole.
///
/// * `leaves`: one score per leaf, such as `S` of [`LeafScore`](crate::query::LeafScore). `document_of`: the
///   leaf's document, an index below `n`. A document of fewer than three leaves has zeros for the missing ones,
///   so that one lucky leaf does not carry it.
/// * `whole`: `n` scores of documents as one text each, such as [`hybrid`] of BM25 over the document and cosine
///   with its mean vector, lexical weight .4.
/// * returns: `n`; a score that is not finite counts 0.
///
/// # Source
///
/// Ours: measured on development sets (docs/measurements.md), to bound work, not to gate it.
/// Departure: BEAR ranks documents by their best node.
///
/// # Errors
///
/// `InvalidInput` if lengths differ or an index is out of range.
pub fn document_scores(leaves: &[f32], document_of: &[u32], whole: &[f32]) -> Result<Vec<f32>> {
    if leaves.len() != document_of.len() {
        return Err(Error::invalid(format!("{} documents for {} leaves", document_of.len(), leaves.len())));
    }
    let mut best = vec![[f32::NEG_INFINITY; 3]; whole.len()];
    for (score, document) in leaves.iter().zip(document_of) {
        let Some(best) = best.get_mut(*document as usize) else {
            return Err(Error::invalid(format!("a leaf lies in document {document} of {}", whole.len())));
        };
        let mut carried = if score.is_finite() { *score } else { 0.0 };
        for place in best {
            if carried > *place {
                std::mem::swap(place, &mut carried);
            }
        }
    }
    let known = |score: f32| if score.is_finite() { score } else { 0.0 };
    let score =
        |(best, whole): (&[f32; 3], &f32)| best.iter().copied().map(known).sum::<f32>() / 3.0 + known(*whole);
    Ok(best.iter().zip(whole).map(score).collect())
}

/// The documents to look into, at most `limit`: those the model chose in its order, then the others by score,
/// ties to the lower id.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, procedure A1: `dedup(Dllm union Dvec)`. Departure: the order within the second
/// part, which is not stated, is by score.
#[must_use]
pub fn document_choice(model: &[DocumentId], scored: &[(DocumentId, f32)], limit: usize) -> Vec<DocumentId> {
    let mut scored = scored.to_vec();
    scored.sort_by(|a, b| best_first(a.1, b.1).then(a.0.cmp(&b.0)));
    let mut seen = std::collections::BTreeSet::new();
    let both = model.iter().copied().chain(scored.into_iter().map(|(document, _)| document));
    both.filter(|document| seen.insert(*document)).take(limit).collect()
}

/// Hybrid similarity of every node of some documents, min-max within each level over all of them.
///
/// * `trees`: the documents. `lexical`, `dense`: one score per node, the documents one after the other, each in
///   pre-order; `dense` may be missing. `weight`: of the lexical part, in `[0, 1]`.
/// * returns: as many, in `[0, 1]`. Leaves are one level wherever they hang; inner nodes go by their level.
///
/// # Source
///
/// Ours: measured on development sets (docs/measurements.md) (`h` per level, weight .4). Departure: BEAR uses the cosine.
///
/// # Errors
///
/// `InvalidInput` if there is not one score per node, or `weight` is outside its range.
pub fn level_similarity(
    trees: &[DocumentTree<'_>],
    lexical: &[f32],
    dense: Option<&[f32]>,
    weight: f32,
) -> Result<Vec<f32>> {
    let nodes = trees.iter().flat_map(|tree| tree.tree.nodes());
    let mut levels: BTreeMap<Option<u8>, Vec<usize>> = BTreeMap::new();
    let mut n = 0;
    for node in nodes {
        levels.entry((!node.is_leaf()).then_some(node.level())).or_default().push(n);
        n += 1;
    }
    if lexical.len() != n || dense.is_some_and(|dense| dense.len() != n) {
        return Err(Error::invalid(format!("not one score for each of {n} nodes")));
    }
    let mut similarity = vec![0.0; n];
    for members in levels.into_values() {
        let pick = |scores: &[f32]| members.iter().map(|index| scores[*index]).collect::<Vec<_>>();
        let level = hybrid(&pick(lexical), dense.map(pick).as_deref(), weight)?;
        for (index, score) in members.iter().zip(level) {
            similarity[*index] = score;
        }
    }
    Ok(similarity)
}

/// The nodes TreeExpansion chooses in some documents, best first over all of them, ties to the lower id.
///
/// * `similarity`: one per node, the documents one after the other, each in pre-order, exact for all nodes.
/// * `per_document`: most nodes of one document.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, equation 5; at most five nodes per document from its candidate funnel.
/// Departure: inner nodes may be chosen, which is not stated; the printed sweep makes sense only so.
///
/// # Errors
///
/// `InvalidInput` if there is not one similarity per node, or as [`Expansion::scores`].
pub fn recover(
    trees: &[DocumentTree<'_>],
    similarity: &[f32],
    expansion: &Expansion,
    candidates: Candidates,
    per_document: Option<usize>,
) -> Result<Vec<NodeScore>> {
    let n: usize = trees.iter().map(|tree| tree.tree.range().len()).sum();
    if similarity.len() != n {
        return Err(Error::invalid(format!("{} similarities for {n} nodes", similarity.len())));
    }
    let mut chosen = Vec::new();
    let mut rest = similarity;
    for DocumentTree { tree, .. } in trees {
        let (own, others) = rest.split_at(tree.range().len());
        let scores = expansion.scores(tree, own)?;
        chosen.extend(candidates.best(tree, &scores, per_document.unwrap_or(usize::MAX)));
        rest = others;
    }
    chosen.sort_by(|a, b| best_first(a.score, b.score).then(a.node.cmp(&b.node)));
    Ok(chosen)
}

/// Coherent reading: whole sections compete with single leaves; a section that wins brings all its leaves.
///
/// Sections stand at `section_weight x hs`, leaves at `S / (1 + 2 l^2)`, which brings both to `[0, 1]`.
///
/// # Source
///
/// Ours: measured on development sets (docs/measurements.md). For whoever wants whole sections; it loses where leaves are dialogue turns.
/// Departure: none.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Coherent {
    /// Factor on a section's score, from 0: below 1 a leaf wins a draw.
    pub section_weight: f32,
    /// Weight of the lexical part in `hs`, in `[0, 1]`.
    pub lexical: f32,
    /// Most leaves, and most sections, that compete.
    pub limit: usize,
}

impl Default for Coherent {
    fn default() -> Self {
        Self { section_weight: 0.8, lexical: 0.4, limit: 150 }
    }
}

impl Coherent {
    /// `hs` of the sections in scope: [`hybrid`] of BM25 over a section's text and cosine with the mean of its
    /// leaves' vectors.
    ///
    /// # Errors
    ///
    /// As [`hybrid`].
    pub fn section_scores(&self, lexical: &[f32], dense: Option<&[f32]>) -> Result<Vec<f32>> {
        hybrid(lexical, dense, self.lexical)
    }

    /// The leaves in the order in which they should be packed: indexes, each once, best first. Holds the
    /// leaves of the `limit` best sections and the `limit` best leaves.
    ///
    /// * `leaves`: `n` scores `S` in document order. `section_of`: `n` indexes into `sections`.
    /// * `sections`: `hs` per section. `shrinkage`: `l` of [`LeafScore::shrinkage`], in `[0, 1]`.
    ///
    /// [`LeafScore::shrinkage`]: crate::query::LeafScore::shrinkage
    ///
    /// # Errors
    ///
    /// `InvalidInput` if lengths differ, an index is out of range, or `shrinkage` is outside its range.
    pub fn rank(
        &self,
        leaves: &[f32],
        section_of: &[u32],
        sections: &[f32],
        shrinkage: f32,
    ) -> Result<Vec<usize>> {
        if leaves.len() != section_of.len() {
            return Err(Error::invalid(format!("{} sections for {} leaves", section_of.len(), leaves.len())));
        }
        if !(0.0..=1.0).contains(&shrinkage) {
            return Err(Error::invalid(format!("the shrinkage is {shrinkage}, not in 0 to 1")));
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); sections.len()];
        for (leaf, section) in section_of.iter().enumerate() {
            let Some(members) = members.get_mut(*section as usize) else {
                return Err(Error::invalid(format!(
                    "a leaf lies in section {section} of {}",
                    sections.len()
                )));
            };
            members.push(leaf);
        }
        let scale = 1.0 + 2.0 * shrinkage * shrinkage;
        let leaf_items = head(leaves.iter().map(|score| score / scale), self.limit);
        let section_items = head(sections.iter().map(|score| self.section_weight * score), self.limit);
        let mut items: Vec<(f32, bool, usize)> = Vec::with_capacity(leaf_items.len() + section_items.len());
        items.extend(leaf_items.into_iter().map(|(score, leaf)| (score, false, leaf)));
        items.extend(section_items.into_iter().map(|(score, section)| (score, true, section)));
        // A leaf goes before a section of the same score.
        items.sort_by(|a, b| best_first(a.0, b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut taken = vec![false; leaves.len()];
        let mut order = Vec::new();
        for (_, is_section, index) in items {
            let one = [index];
            for leaf in if is_section { members[index].as_slice() } else { &one } {
                if !std::mem::replace(&mut taken[*leaf], true) {
                    order.push(*leaf);
                }
            }
        }
        Ok(order)
    }
}

/// The best `limit` scores with their indexes, best first.
fn head(scores: impl Iterator<Item = f32>, limit: usize) -> Vec<(f32, usize)> {
    let mut best: Vec<(f32, usize)> = scores.enumerate().map(|(index, score)| (score, index)).collect();
    let order = |a: &(f32, usize), b: &(f32, usize)| best_first(a.0, b.0).then(a.1.cmp(&b.1));
    if limit < best.len() {
        best.select_nth_unstable_by(limit, order);
        best.truncate(limit);
    }
    best.sort_by(order);
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::expansion::tests::tree;

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn a_document_scores_by_its_best_three_leaves_and_its_whole() {
        let scores = document_scores(&[0.9, 0.1, 0.6, 0.3, 0.8], &[0, 0, 0, 0, 1], &[0.2, 0.5]);

        let scores = scores.expect("five leaves");
        // (.9 + .6 + .3) / 3 + .2 = .8; (.8 + 0 + 0) / 3 + .5 = .76667
        assert!(close(scores[0], 0.8) && close(scores[1], 0.766_67), "{scores:?}");
        assert!(document_scores(&[0.9], &[2], &[0.2, 0.5]).is_err());
        assert!(document_scores(&[0.9], &[], &[0.2]).is_err());
    }

    #[test]
    fn the_model_s_documents_come_first_and_scores_fill_up() {
        let ids = |list: &[u32]| list.iter().copied().map(DocumentId).collect::<Vec<_>>();
        let scored =
            [(DocumentId(1), 0.5), (DocumentId(2), f32::NAN), (DocumentId(4), 0.9), (DocumentId(3), 0.9)];

        let choice = document_choice(&ids(&[7, 4, 7]), &scored, 5);

        assert_eq!(choice, ids(&[7, 4, 3, 1, 2]));
        assert_eq!(document_choice(&[], &scored, 1), ids(&[3]));
    }

    #[test]
    fn similarity_is_normalised_within_a_level_over_all_documents() {
        let (one, two) = (tree(10, "(a)"), tree(20, "(bc)"));
        let trees = [(1, &one), (2, &two)];
        let trees = trees.map(|(document, tree)| DocumentTree { document: DocumentId(document), tree });

        // Roots 1, 3; sections 5, 5; leaves 2, 4, 6.
        let similarity = level_similarity(&trees, &[1.0, 5.0, 2.0, 3.0, 5.0, 4.0, 6.0], None, 0.4);

        assert_eq!(similarity.expect("seven nodes"), [0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 1.0]);
        assert!(level_similarity(&trees, &[1.0], None, 0.4).is_err());
    }

    #[test]
    fn recovery_ranks_over_documents_what_each_offers() {
        let (one, two) = (tree(10, "ab"), tree(20, "ab"));
        let trees = [(1, &one), (2, &two)];
        let trees = trees.map(|(document, tree)| DocumentTree { document: DocumentId(document), tree });
        let similarity = [0.0, 0.8, 0.6, 0.4, 0.2, 0.9];

        let nodes = |per_document| {
            let chosen = recover(&trees, &similarity, &Expansion::HYBRID, Candidates::Leaves, per_document);
            chosen.expect("six nodes").iter().map(|score| score.node.0).collect::<Vec<_>>()
        };

        // 11: .75*.8 = .6; 12: .45; 21: .15 + .25*.4 = .25; 22: .675 + .1 = .775
        assert_eq!(nodes(None), [22, 11, 12, 21]);
        assert_eq!(nodes(Some(1)), [22, 11]);
    }

    #[test]
    fn a_section_that_wins_brings_its_leaves_in_document_order() {
        let coherent = Coherent::default();

        // l = 0: leaves as they are; sections .8 * .5 = .4 and .8 * 1 = .8.
        let order = coherent.rank(&[0.9, 0.1, 0.3, 0.5], &[0, 0, 1, 1], &[0.5, 1.0], 0.0);

        // leaf 0 at .9, section 1 at .8 (leaves 2, 3), section 0 at .4 (leaf 1).
        assert_eq!(order.expect("four leaves"), [0, 2, 3, 1]);
        // l = 1: leaves divided by 3, .3 .033 .1 .167: both sections come first.
        let order = coherent.rank(&[0.9, 0.1, 0.3, 0.5], &[0, 0, 1, 1], &[0.5, 1.0], 1.0);
        assert_eq!(order.expect("four leaves"), [2, 3, 0, 1]);
        assert!(coherent.rank(&[0.9], &[1], &[0.5], 0.0).is_err());
        assert!(coherent.rank(&[0.9], &[0], &[0.5], f32::NAN).is_err());
    }

    #[test]
    fn a_limit_keeps_the_best_and_ties_go_to_the_lower_index() {
        let kept = head([0.5, 0.9, 0.5, f32::NAN].into_iter(), 2);
        assert_eq!(kept, [(0.9, 1), (0.5, 0)]);
    }
}
