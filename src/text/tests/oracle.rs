//! All scores from lists of terms: a port of the prototype's `core.py`, quadratic and plain.

use std::collections::BTreeSet;

use super::support::Node;
use crate::ids::NodeId;
use crate::ids::NodeRange;

/// The prototype's `BM25`: a score for each of `texts`.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn bm25(texts: &[Vec<&str>], question: &[&str]) -> Vec<f64> {
    let n = texts.len() as f64;
    let mean = (texts.iter().map(Vec::len).sum::<usize>() as f64 / n).max(1e-9);
    let mut scores = vec![0.0; texts.len()];
    for term in question.iter().collect::<BTreeSet<_>>() {
        let tf: Vec<f64> =
            texts.iter().map(|text| text.iter().filter(|word| word == &term).count() as f64).collect();
        let df = tf.iter().filter(|tf| **tf > 0.0).count() as f64;
        let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
        for ((score, tf), text) in scores.iter_mut().zip(tf).zip(texts) {
            *score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * text.len() as f64 / mean));
        }
    }
    scores
}

/// What a scope of live nodes holds, as texts.
pub struct Oracle {
    pub leaves: Vec<Node>,
    pub sections: Vec<Node>,
    pub documents: Vec<Node>,
    visible: Vec<Node>,
    all: Vec<Node>,
}

impl Oracle {
    pub fn new(live: &[Node], scope: &[NodeRange]) -> Self {
        let inside = |node: &Node| scope.iter().any(|range| range.contains(node.at.node));
        let sees = |node: &Node| live.iter().any(|below| inside(below) && holds(node, below.at.node));
        let visible: Vec<Node> = live.iter().filter(|node| inside(node) || sees(node)).cloned().collect();
        let leaves: Vec<Node> = visible.iter().filter(|node| node.at.is_leaf).cloned().collect();
        let is_parent = |node: &&Node| leaves.iter().any(|leaf| leaf.at.parent == node.at.node);
        let sections = visible.iter().filter(is_parent).cloned().collect();
        let documents = visible.iter().filter(|node| node.at.parent == NodeId(0)).cloned().collect();
        Self { leaves, sections, documents, visible, all: live.to_vec() }
    }

    /// Own terms of the visible nodes of `range` and of all nodes around it.
    pub fn range(&self, range: NodeRange) -> Vec<&'static str> {
        let around = self
            .all
            .iter()
            .filter(|node| !node.at.is_leaf && node.at.node < range.first && node.at.last >= range.last);
        let within = self.visible.iter().filter(|node| range.contains(node.at.node));
        around.chain(within).flat_map(|node| node.terms.iter().copied()).collect()
    }

    fn texts(&self, nodes: &[Node]) -> Vec<Vec<&'static str>> {
        nodes.iter().map(|node| self.range(NodeRange::new(node.at.node, node.at.last))).collect()
    }

    pub fn leaf_texts(&self) -> Vec<Vec<&'static str>> {
        self.texts(&self.leaves)
    }

    pub fn section_texts(&self) -> Vec<Vec<&'static str>> {
        self.texts(&self.sections)
    }

    pub fn document_texts(&self) -> Vec<Vec<&'static str>> {
        self.texts(&self.documents)
    }

    pub fn root_of(&self, leaf: &Node) -> NodeId {
        self.documents.iter().find(|root| holds(root, leaf.at.node)).map(|root| root.at.node).unwrap()
    }

    pub fn window_texts(&self, radius: usize) -> Vec<Vec<&'static str>> {
        let window = |at: usize| {
            let near = self.leaves.iter().enumerate().filter(move |(other, _)| other.abs_diff(at) <= radius);
            let own = near.filter(|(_, leaf)| self.root_of(leaf) == self.root_of(&self.leaves[at]));
            own.flat_map(|(_, leaf)| leaf.terms.iter().copied()).collect()
        };
        (0..self.leaves.len()).map(window).collect()
    }

    /// Scores of the leaves, each document being scored as a collection of its own.
    pub fn by_document(&self, question: &[&str]) -> Vec<f64> {
        let texts = self.leaf_texts();
        let mut scores = Vec::new();
        for root in &self.documents {
            let own = self.leaves.iter().zip(&texts).filter(|(leaf, _)| holds(root, leaf.at.node));
            scores.extend(bm25(&own.map(|(_, text)| text.clone()).collect::<Vec<_>>(), question));
        }
        scores
    }
}

fn holds(node: &Node, below: NodeId) -> bool {
    node.at.node <= below && below <= node.at.last
}
