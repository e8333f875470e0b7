//! Evidence from a snapshot: trees and texts, read only for what is chosen.

use std::sync::Arc;

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::query::Budget;
use crate::query::Candidate;
use crate::query::Evidence;
use crate::query::EvidenceSource;
use crate::query::LeafParts;
use crate::query::Signals;
use crate::tree::Tree;

/// Leaves of a ranking that are returned and that packing may look at, beside what the budget asks for.
const MIN_RANKING: usize = 1_000;

/// A snapshot with the scores of one question.
pub(super) struct Snapshot<'a> {
    read: &'a ReadTransaction,
    signals: &'a Signals,
    parts: &'a [LeafParts],
}

impl<'a> Snapshot<'a> {
    /// * `parts`: one for each leaf of the signals' view.
    pub(super) fn new(read: &'a ReadTransaction, signals: &'a Signals, parts: &'a [LeafParts]) -> Self {
        Self { read, signals, parts }
    }

    pub(super) fn document_of(&self, node: NodeId) -> Result<DocumentId> {
        let view = &self.signals.view;
        let document = view.leaf_index(node).and_then(|leaf| view.documents_of_leaves().get(leaf as usize));
        match document.and_then(|document| self.signals.documents.get(*document as usize)) {
            Some(document) => Ok(*document),
            None => self.read.document_of(node).map(|info| info.id),
        }
    }

    /// Trees of `documents`, in their order.
    pub(super) fn chosen(&self, documents: Vec<DocumentId>) -> Result<Vec<(DocumentId, Arc<Tree>)>> {
        documents.into_iter().map(|id| Ok((id, self.read.tree(id)?))).collect()
    }

    /// The candidate that `leaf` is.
    pub(super) fn candidate(&self, leaf: NodeId) -> Result<Candidate> {
        let document = self.document_of(leaf)?;
        let tree = self.read.tree(document)?;
        let node = tree.node(leaf)?;
        Ok(Candidate {
            node: leaf,
            document,
            order: 0,
            section: node.parent().map_or(tree.root(), |parent| parent.id()),
            tokens: node.tokens() as usize,
            bytes: node.span().size_bytes(),
        })
    }

    /// The candidates that the best of `leaves` are.
    pub(super) fn candidates(
        &self,
        leaves: impl Iterator<Item = NodeId>,
        budget: Budget,
    ) -> Result<Vec<Candidate>> {
        leaves.take(ranking_limit(budget)).map(|leaf| self.candidate(leaf)).collect()
    }
}

impl EvidenceSource for Snapshot<'_> {
    fn headings(&self, candidate: &Candidate) -> Result<(String, Vec<String>)> {
        let tree = self.read.tree(candidate.document)?;
        let root = tree.node(tree.root())?;
        let mut path: Vec<String> =
            tree.heading_path(candidate.node)?.into_iter().map(str::to_owned).collect();
        if !root.title().is_empty() && !path.is_empty() {
            path.remove(0);
        }
        Ok((root.title().to_owned(), path))
    }

    fn evidence(&self, candidate: &Candidate) -> Result<Evidence> {
        let info = self.read.document(candidate.document)?;
        let (title, heading_path) = self.headings(candidate)?;
        let tree = self.read.tree(candidate.document)?;
        let node = tree.node(candidate.node)?;
        let leaf = self.signals.view.leaf_index(candidate.node);
        let parts = leaf.and_then(|leaf| self.parts.get(leaf as usize));
        let parts = parts.ok_or_else(|| {
            Error::not_found(format!("node {} is no leaf of the documents asked", candidate.node))
        })?;
        Ok(Evidence {
            document: candidate.document,
            key: info.key,
            title,
            heading_path,
            section: candidate.section,
            node: candidate.node,
            kind: node.kind(),
            span: node.span(),
            page: (node.page() > 0).then_some(node.page()),
            id: node.attribute("id").map(str::to_owned),
            text: self.read.text(candidate.document, node.span())?,
            tokens: candidate.tokens,
            score: parts.score,
            parts: parts.named(),
        })
    }
}

/// At most so many leaves of a ranking are looked at for a budget.
pub(super) fn ranking_limit(budget: Budget) -> usize {
    MIN_RANKING.max(budget.tokens / 4)
}
