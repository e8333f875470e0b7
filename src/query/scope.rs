//! What a question is matched against, and how every leaf of it matches.

use std::ops::Range;
use std::sync::Arc;

use crate::db::ReadTransaction;
use crate::db::VectorSpace;
use crate::error::Error;
use crate::error::Result;
use crate::format::document::ROOT;
use crate::format::key;
use crate::ids::DocumentId;
use crate::ids::NodeRange;
use crate::text::Bm25;
use crate::text::Scorer;
use crate::text::View;
use crate::vector::context_scores;

/// A question, with its vector if there is one.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The words.
    pub text: &'a str,
    /// The vector, and the space it is compared in.
    pub vector: Option<QuestionVector<'a>>,
}

/// The vector of a question.
#[derive(Debug, Clone, Copy)]
pub struct QuestionVector<'a> {
    /// Name of the space.
    pub space: &'a str,
    /// As long as the space's vectors; of any length above 0 in a cosine space.
    pub vector: &'a [f32],
}

/// Neighbours on each side that a window takes in.
const WINDOW_RADIUS: u32 = 2;

/// How the leaves in scope match a question: raw scores, one a leaf or one a section, all of them.
pub struct Signals {
    /// The leaves, sections and documents in scope.
    pub view: Arc<View>,
    /// The documents in scope, in the order of `view.documents()`.
    pub documents: Vec<DocumentId>,
    /// BM25 of each leaf with its heading path, statistics of the scope.
    pub lexical: Vec<f32>,
    /// BM25 of each leaf, statistics of its own document; `None` if there is one document.
    pub lexical_own: Option<Vec<f32>>,
    /// Cosine of each leaf.
    pub cosine: Option<Vec<f32>>,
    /// Runs of neighbouring leaves of one section whose vectors are equal, as ranges of leaf indexes: the
    /// pieces of a passage whose vector was made of the whole.
    pub shared: Vec<Range<usize>>,
    /// Cosine of each leaf's vector mixed with its neighbours' and its section's.
    pub context: Option<Vec<f32>>,
    /// Cosine of the mean vector of the leaves below each inner node, in the order of `view.inner()`.
    pub inner_cosine: Option<Vec<f32>>,
    /// BM25 of each inner node's subtree as one text, in the order of `view.inner()`.
    pub inner_lexical: Vec<f32>,
    /// BM25 of each section as one text.
    pub section: Vec<f32>,
    /// Index of each leaf's section.
    pub section_of: Vec<u32>,
    /// BM25 of each leaf with two neighbours on each side as one text.
    pub window: Vec<f32>,
    /// BM25 of each document as one text.
    pub document: Vec<f32>,
}

impl Signals {
    /// Matches `question` against every leaf of `scope`: ranges of whole documents, sorted and disjoint; all
    /// documents if `None`.
    ///
    /// # Errors
    ///
    /// `NotFound` if the space is not there; `InvalidInput` if the vector does not fit it; `Corrupt`; `Io`.
    ///
    /// # Complexity
    ///
    /// Linear in the leaves in scope and the postings of the question's terms.
    pub fn gather(
        read: &ReadTransaction,
        question: Question<'_>,
        scope: Option<&[NodeRange]>,
        threads: usize,
    ) -> Result<Self> {
        let index = read.text_index();
        let view = match scope {
            None => index.everything(),
            Some(ranges) => Arc::new(index.view(ranges)?),
        };
        let documents = documents_of(read, &view)?;
        let terms = read.analyzers().distinct_terms(question.text);
        let hits = index.hits(&view, &terms)?;
        let scorer = Scorer::new(&view, &hits, Bm25::default());
        let section_of = (0..view.leaf_count())
            .map(|leaf| view.section_of(leaf))
            .collect::<Option<Vec<u32>>>()
            .ok_or_else(|| Error::invalid("a leaf has no section"))?;
        let mut signals = Self {
            lexical: scorer.leaf_scores(),
            lexical_own: (documents.len() > 1).then(|| scorer.leaf_scores_by_document()),
            cosine: None,
            shared: Vec::new(),
            context: None,
            inner_cosine: None,
            inner_lexical: inner_lexical(&view, &scorer),
            section: scorer.section_scores(),
            section_of,
            window: scorer.window_scores(WINDOW_RADIUS),
            document: scorer.document_scores(),
            documents,
            view: Arc::clone(&view),
        };
        if let Some(QuestionVector { space, vector }) = question.vector {
            let space = read.expect_space(space)?;
            signals.add_dense(&space, vector, scope, threads)?;
        }
        Ok(signals)
    }

    fn add_dense(
        &mut self,
        space: &VectorSpace<'_>,
        vector: &[f32],
        scope: Option<&[NodeRange]>,
        threads: usize,
    ) -> Result<()> {
        let flat = space.flat()?;
        let query = flat.query(vector)?;
        let everything: Vec<NodeRange>;
        let ranges = if let Some(ranges) = scope {
            ranges
        } else {
            everything = self.view.documents().iter().map(|document| document.range).collect();
            &everything
        };
        let mut cosine = vec![0.0; self.view.leaves().len()];
        let mut leaves = self.view.leaves().iter().zip(&mut cosine).peekable();
        for (node, score) in flat.score_all(&query, ranges, threads)? {
            while leaves.next_if(|(leaf, _)| **leaf < node).is_some() {}
            if let Some((_, slot)) = leaves.next_if(|(leaf, _)| **leaf == node) {
                *slot = score;
            }
        }
        let all = if scope.is_none() { Some(space.all_context_norms()?) } else { None };
        let mut context = Vec::with_capacity(cosine.len());
        let mut inner_cosine = Vec::with_capacity(self.view.inner().len());
        let mut inner = self.view.inner().iter().peekable();
        for (document, id) in self.view.documents().iter().zip(&self.documents) {
            let start = document.leaves.start;
            let local = |leaf: u32| leaf.saturating_sub(start) as usize;
            let first_inner = inner_cosine.len();
            let mut ranges: Vec<Range<usize>> = Vec::new();
            while let Some(node) = inner.next_if(|node| node.range.first <= document.range.last) {
                ranges.push(local(node.leaves.start)..local(node.leaves.end));
            }
            let leaves = document.leaves.start as usize..document.leaves.end as usize;
            let scores = cosine.get(leaves.clone()).unwrap_or_default();
            let own = if all.is_none() { space.context_norms(*id)? } else { None };
            let Some(norms) = all.as_ref().and_then(|all| all.get(id)).or(own.as_ref()) else {
                // A document without vectors scores 0; one that has vectors has norms too.
                if scores.iter().any(|score| *score != 0.0) {
                    return Err(space.missing_norms(*id));
                }
                context.extend(std::iter::repeat_n(0.0, scores.len()));
                inner_cosine.extend(std::iter::repeat_n(0.0, ranges.len()));
                continue;
            };
            let parent_of: Vec<Option<usize>> = leaves
                .map(|leaf| {
                    let section = self.section_of.get(leaf)?;
                    let inner = self.view.sections().get(*section as usize)?.inner;
                    (inner as usize).checked_sub(first_inner)
                })
                .collect();
            context.extend(context_scores(scores, &ranges, &parent_of, norms)?);
            inner_cosine.extend(ranges.into_iter().zip(&norms.section_norms).map(|(range, norm)| {
                let sum: f32 = scores.get(range).unwrap_or_default().iter().sum();
                if *norm > 0.0 { sum / norm } else { 0.0 }
            }));
        }
        self.shared = shared_runs(&cosine, &self.section_of);
        self.cosine = Some(cosine);
        self.context = Some(context);
        self.inner_cosine = Some(inner_cosine);
        Ok(())
    }

    /// Cosine of each section's mean vector, in the order of `view.sections()`.
    #[must_use]
    pub fn section_cosine(&self) -> Option<Vec<f32>> {
        let inner = self.inner_cosine.as_ref()?;
        self.view.sections().iter().map(|section| inner.get(section.inner as usize).copied()).collect()
    }

    /// Cosine of each document's mean vector, in the order of `view.documents()`.
    #[must_use]
    pub fn document_cosine(&self) -> Option<Vec<f32>> {
        let inner = self.inner_cosine.as_ref()?;
        self.view.documents().iter().map(|document| inner.get(document.inner as usize).copied()).collect()
    }
}

/// Runs of two or more neighbours with one section and bit for bit one score other than 0. Scores are summed in
/// one fixed order, so equal vectors have equal scores.
fn shared_runs(cosine: &[f32], section_of: &[u32]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    let leaves: Vec<(u32, u32)> =
        cosine.iter().map(|x| x.to_bits()).zip(section_of.iter().copied()).collect();
    for run in leaves.chunk_by(|a, b| a == b && f32::from_bits(a.0) != 0.0) {
        if run.len() > 1 {
            runs.push(start..start + run.len());
        }
        start += run.len();
    }
    runs
}

/// BM25 of every inner node's subtree as one text: sections among sections, documents among documents, nodes
/// that hold sections alone under the statistics of sections.
fn inner_lexical(view: &View, scorer: &Scorer<'_>) -> Vec<f32> {
    let mut scores = vec![None; view.inner().len()];
    let mut put = |inner: u32, score: f32| {
        if let Some(slot) = scores.get_mut(inner as usize) {
            *slot = Some(score);
        }
    };
    for (section, score) in view.sections().iter().zip(scorer.section_scores()) {
        put(section.inner, score);
    }
    for (document, score) in view.documents().iter().zip(scorer.document_scores()) {
        put(document.inner, score);
    }
    let others: Vec<NodeRange> = view
        .inner()
        .iter()
        .zip(&scores)
        .filter(|(_, score)| score.is_none())
        .map(|(node, _)| node.range)
        .collect();
    let mut others = scorer.range_scores(&others).into_iter();
    scores.into_iter().map(|score| score.or_else(|| others.next()).unwrap_or_default()).collect()
}

/// The ids of the documents of `view`, in its order.
fn documents_of(read: &ReadTransaction, view: &View) -> Result<Vec<DocumentId>> {
    if view.documents().len() <= 8 {
        return view
            .documents()
            .iter()
            .map(|d| read.document_of(d.range.first).map(|info| info.id))
            .collect();
    }
    let roots = read.roots()?;
    let mut roots = roots.iter();
    view.documents()
        .iter()
        .map(|document| {
            let found = roots.find(|(root, _)| *root == document.range.first);
            found.map(|(_, id)| *id).ok_or_else(|| {
                ROOT.malformed(&key::one(document.range.first.0), "key", 0, "the text index has this root")
            })
        })
        .collect()
}
