//! Leaves of a snapshot as evidence.

use std::collections::BTreeMap;

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;
use crate::query::budget::Budget;
use crate::query::evidence::Evidence;
use crate::query::evidence::EvidenceList;
use crate::query::pack::Candidate;
use crate::query::pack::EvidenceSource;
use crate::query::pack::Packing;
use crate::query::trace::Step;
use crate::query::trace::Trace;

/// What a score is made of, by name.
pub type Parts = Vec<(&'static str, f32)>;

/// Leaves with their scores, as candidates for packing and with what packing reads of them.
///
/// It is for methods that rank leaves of all documents; documents stand in the evidence in the order in which the
/// ranking first meets them.
pub struct ScoredLeaves<'a> {
    read: &'a ReadTransaction,
    candidates: Vec<Candidate>,
    scores: BTreeMap<NodeId, (f32, Parts)>,
}

impl<'a> ScoredLeaves<'a> {
    /// * `ranked`: leaves, best first, with scores and what these are made of. A leaf that comes twice counts where it
    ///   first stands.
    ///
    /// # Errors
    ///
    /// `NotFound` if a node is not there; `InvalidInput` if it is no leaf; `Corrupt`; `Io`.
    pub fn new(
        read: &'a ReadTransaction,
        ranked: impl IntoIterator<Item = (NodeId, f32, Parts)>,
    ) -> Result<Self> {
        let mut orders = BTreeMap::new();
        let mut found = Self { read, candidates: Vec::new(), scores: BTreeMap::new() };
        for (leaf, score, parts) in ranked {
            if found.scores.contains_key(&leaf) {
                continue;
            }
            let document = read.document_of(leaf)?.id;
            let tree = read.tree(document)?;
            let node = tree.node(leaf)?;
            if !node.is_leaf() {
                return Err(Error::invalid(format!("node {leaf} is no leaf")));
            }
            let next = u32::try_from(orders.len()).unwrap_or(u32::MAX);
            found.candidates.push(Candidate {
                node: leaf,
                document,
                order: *orders.entry(document).or_insert(next),
                section: node.parent().map_or(tree.root(), |parent| parent.id()),
                tokens: node.tokens() as usize,
                bytes: node.span().size_bytes(),
            });
            found.scores.insert(leaf, (score, parts));
        }
        Ok(found)
    }

    /// The evidence that `packing` makes of them within `budget`, with its step in `trace`.
    ///
    /// # Errors
    ///
    /// As [`Packing::pack`].
    pub fn pack(&self, packing: &Packing, budget: Budget, trace: &mut Trace) -> Result<EvidenceList> {
        let evidence = packing.pack(&self.candidates, budget, self.read.token_counter(), self)?;
        let mut step = Step::new("pack", self.candidates.len(), evidence.items.len());
        step.cut = evidence.cut.len() + evidence.unreached;
        trace.push(step.spent(evidence.spent).note(format!("budget {}", budget.tokens)));
        Ok(evidence)
    }
}

impl EvidenceSource for ScoredLeaves<'_> {
    fn headings(&self, candidate: &Candidate) -> Result<(String, Vec<String>)> {
        headings(self.read, candidate.node)
    }

    fn evidence(&self, candidate: &Candidate) -> Result<Evidence> {
        let Some((score, parts)) = self.scores.get(&candidate.node) else {
            return Err(Error::not_found(format!("node {} was not ranked", candidate.node)));
        };
        leaf_evidence(self.read, candidate.node, *score, parts.clone())
    }
}

/// Title of the document of `leaf`, and those of the sections around it, outermost first, without empty ones.
fn headings(read: &ReadTransaction, leaf: NodeId) -> Result<(String, Vec<String>)> {
    let document = read.document_of(leaf)?;
    let tree = read.tree(document.id)?;
    let node = tree.node(leaf)?;
    let mut path: Vec<String> = node
        .ancestors()
        .filter(|above| above.id() != tree.root() && !above.title().is_empty())
        .map(|above| above.title().to_owned())
        .collect();
    path.reverse();
    Ok((document.title, path))
}

/// The leaf `node` with its text, its place in its document, and what its score is made of.
///
/// # Errors
///
/// `NotFound` if `read` is of a state without it; `Corrupt`; `Io`.
pub(super) fn leaf_evidence(
    read: &ReadTransaction,
    node: NodeId,
    score: f32,
    parts: Parts,
) -> Result<Evidence> {
    let document = read.document_of(node)?;
    let (title, heading_path) = headings(read, node)?;
    let tree = read.tree(document.id)?;
    let leaf = tree.node(node)?;
    Ok(Evidence {
        document: document.id,
        key: document.key,
        title,
        heading_path,
        section: leaf.parent().map_or(node, |parent| parent.id()),
        node,
        kind: leaf.kind(),
        span: leaf.span(),
        page: Some(leaf.page()).filter(|page| *page > 0),
        id: leaf.attribute("id").map(str::to_owned),
        text: read.text(document.id, leaf.span())?,
        tokens: leaf.tokens() as usize,
        score,
        parts,
    })
}
