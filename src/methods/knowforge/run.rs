//! A round of searches: found, pooled, packed.

use std::collections::BTreeSet;

use super::KnowForge;
use super::search::KnowForgeHit;
use super::search::SearchResponse;
use super::search::Within;
use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::methods::Retrieved;
use crate::methods::nodes_of;
use crate::query::Budget;
use crate::query::Format;
use crate::query::Packing;
use crate::query::PoolKind;
use crate::query::PoolOrigin;
use crate::query::PoolSearch;
use crate::query::PoolUnit;
use crate::query::Pooled;
use crate::query::Question;
use crate::query::ScoredLeaves;
use crate::query::Step;
use crate::query::Trace;

/// What KnowForge is asked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The question, and what else is searched for, in order. At least one.
    pub queries: &'a [Question<'a>],
    /// The documents that evidence may come from; all if `None`. Paths may lead through others.
    pub documents: Option<&'a [DocumentId]>,
    /// The ceiling on what comes back.
    pub budget: Budget,
    /// How evidence is rendered, which is what the budget counts.
    pub format: &'a Format,
    /// Threads; the answer does not depend on it.
    pub threads: usize,
}

impl<'a> Request<'a> {
    /// `queries`, asked of all documents on one thread.
    #[must_use]
    pub fn new(queries: &'a [Question<'a>], budget: Budget, format: &'a Format) -> Self {
        Self { queries, documents: None, budget, format, threads: 1 }
    }
}

/// What KnowForge found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Recalled {
    /// Evidence, trace and ranking.
    #[serde(flatten)]
    pub retrieved: Retrieved,
    /// What each search found, in the order of the queries.
    pub searches: Vec<SearchResponse>,
    /// What the pool kept: its units are the leaves in the order in which searches first found them.
    pub pooled: Pooled,
}

impl KnowForge {
    /// The evidence for a question in words, asked of all documents: the short form of
    /// [`retrieve`](Self::retrieve).
    ///
    /// # Errors
    ///
    /// As [`retrieve`](Self::retrieve).
    pub fn ask(&self, read: &ReadTransaction, question: &str, budget: Budget) -> Result<Recalled> {
        let queries = [Question { text: question, vector: None }];
        self.retrieve(read, &Request::new(&queries, budget, &Format::default()))
    }

    /// The evidence for a question and what else is searched for.
    ///
    /// Each query is a search. What they find is pooled, and what the pool keeps is offered to the budget: the first of
    /// every search, then the second, and so on; within a search text by its list, and what is no text where its score
    /// puts it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` without queries; those of [`search`](Self::search); `NotFound` for a document that is not there.
    pub fn retrieve(&self, read: &ReadTransaction, request: &Request<'_>) -> Result<Recalled> {
        if request.queries.is_empty() {
            return Err(Error::invalid("there is no query; give the question at least"));
        }
        let allowed = nodes_of(read, request.documents)?;
        let within = Within { allowed: allowed.as_ref(), threads: request.threads };
        let mut trace = Trace::default();
        let mut searches = Vec::with_capacity(request.queries.len());
        for query in request.queries {
            let found = self.search_within(read, *query, within)?;
            trace.push(search_step(*query, &found));
            searches.push(found);
        }
        let (units, nodes) = units(read, &searches)?;
        let log: Vec<PoolSearch> = searches.iter().map(SearchResponse::for_pool).collect();
        let pooled = self.pool.merge(&units, &log, |text| text.chars().count());
        let note =
            format!("{} characters, of which {} are kept", pooled.total, pooled.used.iter().sum::<usize>());
        trace.push(Step::new("pool", units.len(), pooled.kept.len()).note(note));
        let kept: BTreeSet<NodeId> = pooled.kept.iter().filter_map(|at| nodes.get(*at)).copied().collect();
        let offered = offered(&searches, &kept);
        let ranking = offered.iter().map(|hit| (hit.node, hit.raw)).collect();
        let ranked = offered.iter().map(|hit| (hit.node, hit.raw, hit.parts.clone()));
        let leaves = ScoredLeaves::new(read, ranked)?;
        let packing =
            Packing { on_overflow: self.on_overflow, format: request.format.clone(), ..Packing::default() };
        let evidence = leaves.pack(&packing, request.budget, &mut trace)?;
        Ok(Recalled { retrieved: Retrieved { evidence, trace, ranking }, searches, pooled })
    }
}

fn search_step(query: Question<'_>, found: &SearchResponse) -> Step {
    let by = if query.vector.is_some() { "words and vectors" } else { "words" };
    let counts = PoolKind::ALL.map(|kind| found.list(kind).len());
    let expanded = found.hits().filter(|hit| hit.from_graph).count();
    let [text, images, tables, examples] = counts;
    let note = format!(
        "by {by}: {text} of text, {images} images, {tables} tables, {examples} examples; {expanded} by expansion"
    );
    let mut step = Step::new("search", found.candidates, counts.iter().sum()).note(note);
    step.cut = (found.candidates + expanded).saturating_sub(step.kept);
    step
}

/// Every leaf that was found, once, in the order of arrival, as a unit of the pool.
fn units(read: &ReadTransaction, searches: &[SearchResponse]) -> Result<(Vec<PoolUnit>, Vec<NodeId>)> {
    let (mut units, mut nodes, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for hit in searches.iter().flat_map(SearchResponse::hits) {
        if !seen.insert(hit.node) {
            continue;
        }
        let span = read.tree(hit.document)?.node(hit.node)?.span();
        let origin = match hit.kind {
            PoolKind::Text => PoolOrigin::Found(hit.node),
            PoolKind::Image | PoolKind::Table => PoolOrigin::Media(hit.node),
            PoolKind::Example => PoolOrigin::Example,
        };
        units.push(PoolUnit { text: read.text(hit.document, span)?, origin });
        nodes.push(hit.node);
    }
    Ok((units, nodes))
}

/// The hits of one search in one list: text as it stands, the others before the first text of a lower score that no
/// expansion found.
fn one_list(found: &SearchResponse) -> Vec<&KnowForgeHit> {
    let mut others: Vec<&KnowForgeHit> = found.hits().filter(|hit| hit.kind != PoolKind::Text).collect();
    others.sort_by(|a, b| b.raw.total_cmp(&a.raw).then(a.node.cmp(&b.node)));
    let mut others = others.into_iter().peekable();
    let mut list = Vec::new();
    for text in &found.text {
        if !text.from_graph {
            while let Some(other) = others.next_if(|other| other.raw > text.raw) {
                list.push(other);
            }
        }
        list.push(text);
    }
    list.extend(others);
    list
}

/// The hits that the pool kept, each leaf once: the first of every search, then the second, and so on.
fn offered<'a>(searches: &'a [SearchResponse], kept: &BTreeSet<NodeId>) -> Vec<&'a KnowForgeHit> {
    let lists: Vec<Vec<&KnowForgeHit>> = searches.iter().map(one_list).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut seen = BTreeSet::new();
    let turns = (0..longest).flat_map(|rank| lists.iter().filter_map(move |list| list.get(rank).copied()));
    turns.filter(|hit| kept.contains(&hit.node) && seen.insert(hit.node)).collect()
}
