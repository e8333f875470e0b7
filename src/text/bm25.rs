//! BM25 of leaves, sections, windows and documents of a view.

use std::ops::Range;

use super::hits::TermHits;
use super::tally::NONE;
use super::view::DocumentEntry;
use super::view::View;
use crate::ids::NodeRange;

/// The constants of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How soon more occurrences stop to count. 0: at once. Not negative.
    pub k1: f64,
    /// How much long texts are held back. 0: not at all; 1: in proportion to their length.
    pub b: f64,
}

impl Default for Bm25 {
    /// `k1` = 1.2, `b` = 0.75.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// What counts as one text: whose frequencies, number and mean length the statistics are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// A leaf's title and text with its heading path.
    Leaf,
    /// A section's heading path and all visible nodes below it.
    Section,
    /// Own title and text of a leaf and of as many leaves on either side, within its document.
    Window(u32),
    /// All visible nodes of a document.
    Document,
}

/// BM25 over a view: every text gets a float, 0 where no term occurs, above 0 elsewhere, higher is better.
///
/// A text scores the sum over the distinct terms, in the order of the hits, of
/// `idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len / mean_len))` with
/// `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`. Statistics are those of the view, live nodes only. Each
/// summand is computed in 64 bits, with a logarithm in software, and added in 32: scores are the same on
/// every machine.
///
/// Time is linear in postings times depth, plus the number of texts that have a term, for each term.
///
/// # Source
///
/// Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, Foundations and Trends in
/// Information Retrieval 3(4), 2009, equation 3.15. Departures: 1 within the logarithm, as in Lucene, so that
/// a term in most texts still adds; each distinct query term counts once.
#[derive(Debug, Clone, Copy)]
pub struct Scorer<'a> {
    view: &'a View,
    hits: &'a [TermHits],
    bm25: Bm25,
}

impl<'a> Scorer<'a> {
    /// A scorer of `hits`, which are those of `view`.
    #[must_use]
    pub const fn new(view: &'a View, hits: &'a [TermHits], bm25: Bm25) -> Self {
        Self { view, hits, bm25 }
    }

    /// A score for each leaf of the view: full field, statistics over all leaves of the view.
    #[must_use]
    pub fn leaf_scores(&self) -> Vec<f32> {
        let n = self.view.leaf_count();
        let mean_len = mean(self.view.full_total, n);
        let mut scores = vec![0.0; n as usize];
        let mut field = Vec::new();
        for hits in self.hits {
            full_field(hits, &mut field);
            let weight = self.weight(n, count(&field), mean_len);
            for &(leaf, tf) in &field {
                let len = self.view.leaf_full.get(leaf as usize).copied().unwrap_or(0);
                add(&mut scores, leaf, weight.of(tf, u64::from(len)));
            }
        }
        scores
    }

    /// A score for each leaf of the view: full field, statistics over the leaves of the leaf's own document
    /// that are in view.
    #[must_use]
    pub fn leaf_scores_by_document(&self) -> Vec<f32> {
        let view = self.view;
        let mut scores = vec![0.0; view.leaf_nodes.len()];
        let mut field = Vec::new();
        let document_of = |leaf: u32| view.leaf_documents.get(leaf as usize).copied().unwrap_or(NONE);
        for hits in self.hits {
            full_field(hits, &mut field);
            for in_one in field.chunk_by(|a, b| document_of(a.0) == document_of(b.0)) {
                let document = in_one.first().and_then(|hit| view.documents.get(document_of(hit.0) as usize));
                let Some(document) = document else { continue };
                let n = document.leaves.end - document.leaves.start;
                let weight = self.weight(n, count(in_one), mean(document.full_len, n));
                for &(leaf, tf) in in_one {
                    let len = view.leaf_full.get(leaf as usize).copied().unwrap_or(0);
                    add(&mut scores, leaf, weight.of(tf, u64::from(len)));
                }
            }
        }
        scores
    }

    /// A score for each section of the view, statistics over the sections of the view.
    #[must_use]
    pub fn section_scores(&self) -> Vec<f32> {
        let (n, mean_len) = self.section_statistics();
        let mut scores = vec![0.0; n as usize];
        let mut tally = Sections::new(self.view);
        for hits in self.hits {
            let found = tally.of(hits);
            let weight = self.weight(n, count(found), mean_len);
            for &(section, tf) in found {
                let len = self.view.sections.get(section as usize).map_or(0, |section| section.len);
                add(&mut scores, section, weight.of(tf, len));
            }
        }
        scores
    }

    /// A score for each leaf of the view: the window of the leaf and the `radius` leaves on either side, own
    /// titles and texts only, never across documents; statistics over all windows of the view.
    #[must_use]
    pub fn window_scores(&self, radius: u32) -> Vec<f32> {
        let view = self.view;
        let n = view.leaf_count();
        let of_document = |document: &DocumentEntry| document.leaves.clone();
        let windows = view.documents.iter().map(of_document).flat_map(|document| {
            document.clone().map(move |leaf| view.own_len(window(leaf, radius, &document)))
        });
        let lens: Vec<u64> = windows.collect();
        let mean_len = mean(lens.iter().sum(), n);
        let mut scores = vec![0.0; n as usize];
        let mut found = Vec::new();
        for hits in self.hits {
            self.windows(hits, radius, &mut found);
            let weight = self.weight(n, count(&found), mean_len);
            for &(leaf, tf) in &found {
                add(&mut scores, leaf, weight.of(tf, lens.get(leaf as usize).copied().unwrap_or(0)));
            }
        }
        scores
    }

    /// A score for each document of the view, statistics over the documents of the view.
    #[must_use]
    pub fn document_scores(&self) -> Vec<f32> {
        let documents = &self.view.documents;
        let n = u32::try_from(documents.len()).unwrap_or(NONE);
        let mean_len = mean(documents.iter().map(|document| document.len).sum(), n);
        let mut scores = vec![0.0; documents.len()];
        let mut found = Vec::new();
        for hits in self.hits {
            self.documents(hits, &mut found);
            let weight = self.weight(n, count(&found), mean_len);
            for &(document, tf) in &found {
                let len = documents.get(document as usize).map_or(0, |document| document.len);
                add(&mut scores, document, weight.of(tf, len));
            }
        }
        scores
    }

    /// The score of each of `ranges` taken as one text: the own terms of the visible nodes in it and of the
    /// inner nodes around all of it, with the statistics of the sections. For a section's range it is the
    /// section's score.
    #[must_use]
    pub fn range_scores(&self, ranges: &[NodeRange]) -> Vec<f32> {
        let (n, mean_len) = self.section_statistics();
        let doc_freqs = self.doc_freqs(Field::Section);
        let weights: Vec<Weight> = doc_freqs.iter().map(|df| self.weight(n, *df, mean_len)).collect();
        ranges.iter().map(|range| self.range_score(*range, &weights)).collect()
    }

    /// In how many texts of kind `field` each term of the hits occurs.
    #[must_use]
    pub fn doc_freqs(&self, field: Field) -> Vec<u32> {
        let mut found = Vec::new();
        let mut tally = matches!(field, Field::Section).then(|| Sections::new(self.view));
        let one = |hits: &TermHits| match (field, &mut tally) {
            (Field::Section, Some(tally)) => count(tally.of(hits)),
            (Field::Window(radius), _) => {
                self.windows(hits, radius, &mut found);
                count(&found)
            }
            (Field::Document, _) => {
                self.documents(hits, &mut found);
                count(&found)
            }
            (Field::Leaf | Field::Section, _) => {
                full_field(hits, &mut found);
                count(&found)
            }
        };
        self.hits.iter().map(one).collect()
    }

    fn section_statistics(&self) -> (u32, f64) {
        let sections = &self.view.sections;
        let n = u32::try_from(sections.len()).unwrap_or(NONE);
        (n, mean(sections.iter().map(|section| section.len).sum(), n))
    }

    fn range_score(&self, range: NodeRange, weights: &[Weight]) -> f32 {
        let view = self.view;
        let leaves = view.leaves_in(range);
        let first = view.inner.partition_point(|node| node.range.first < range.first);
        let end = view.inner.partition_point(|node| node.range.first <= range.last);
        let inner = u32::try_from(first).unwrap_or(NONE)..u32::try_from(end).unwrap_or(NONE);
        let mut around = Vec::new();
        let mut at = inner.start.checked_sub(1).unwrap_or(NONE);
        while let Some(node) = view.inner.get(at as usize) {
            if node.range.last >= range.last {
                around.push(at);
            }
            at = node.parent;
        }
        let path: u64 = around.iter().map(|at| view.inner_len(*at..*at + 1)).sum();
        let len = path + view.own_len(leaves.clone()) + view.inner_len(inner.clone());
        let mut score = 0.0;
        for (hits, weight) in self.hits.iter().zip(weights) {
            let from = hits.leaves.partition_point(|leaf| *leaf < leaves.start);
            let to = hits.leaves.partition_point(|leaf| *leaf < leaves.end);
            let body = hits.term_freqs.get(from..to).unwrap_or_default().iter().copied().map(u64::from);
            let from = hits.headings.partition_point(|hit| hit.inner < inner.start);
            let to = hits.headings.partition_point(|hit| hit.inner < inner.end);
            let within = hits.headings.get(from..to).unwrap_or_default().iter();
            let above = around.iter().filter_map(|at| {
                let found = hits.headings.binary_search_by_key(at, |hit| hit.inner).ok()?;
                hits.headings.get(found)
            });
            let tf: u64 = body.chain(within.chain(above).map(|hit| u64::from(hit.term_freq))).sum();
            if tf > 0 {
                score += weight.of(tf, len);
            }
        }
        score
    }

    /// The leaves of the document that `leaf` belongs to.
    fn document_leaves(&self, leaf: u32) -> Range<u32> {
        let document = self.view.leaf_documents.get(leaf as usize);
        let document = document.and_then(|at| self.view.documents.get(*at as usize));
        document.map_or(leaf..leaf, |document| document.leaves.clone())
    }

    /// The windows that hold the term, with its occurrences in each.
    fn windows(&self, hits: &TermHits, radius: u32, out: &mut Vec<(u32, u64)>) {
        out.clear();
        // Hits `from..to` lie in the window around `leaf`; both only grow, for windows ascend.
        let (mut from, mut to, mut tf) = (0, 0, 0_u64);
        let freq = |at: usize| u64::from(hits.term_freqs.get(at).copied().unwrap_or(0));
        let mut next = 0;
        let mut document = 0..0;
        for hit in &hits.leaves {
            if *hit >= document.end {
                document = self.document_leaves(*hit);
            }
            let around = window(*hit, radius, &document);
            for leaf in around.start.max(next)..around.end {
                let window = window(leaf, radius, &document);
                while hits.leaves.get(to).is_some_and(|hit| *hit < window.end) {
                    tf += freq(to);
                    to += 1;
                }
                while from < to && hits.leaves.get(from).is_some_and(|hit| *hit < window.start) {
                    tf -= freq(from);
                    from += 1;
                }
                out.push((leaf, tf));
            }
            next = around.end.max(next);
        }
    }

    /// The documents that hold the term, with its occurrences in each.
    fn documents(&self, hits: &TermHits, out: &mut Vec<(u32, u64)>) {
        out.clear();
        let document_of = |leaf: u32| self.view.leaf_documents.get(leaf as usize).copied().unwrap_or(NONE);
        let mut body =
            hits.leaves.iter().copied().zip(hits.term_freqs.iter().copied().map(u64::from)).peekable();
        while let Some((leaf, mut tf)) = body.next() {
            let document = document_of(leaf);
            let end = self.view.documents.get(document as usize).map_or(leaf, |document| document.leaves.end);
            while let Some((_, more)) = body.next_if(|(leaf, _)| *leaf < end) {
                tf += more;
            }
            out.push((document, tf));
        }
        for hit in &hits.headings {
            let after = |document: &DocumentEntry| document.inner <= hit.inner;
            let at = self.view.documents.partition_point(after).checked_sub(1);
            out.push((at.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE), u64::from(hit.term_freq)));
        }
        out.sort_unstable();
        out.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    fn weight(&self, n: u32, df: u32, mean_len: f64) -> Weight {
        Weight::new(self.bm25, 1.0, idf(n, df), mean_len)
    }
}

/// What a term adds, given how often it occurs in how long a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// `boost * idf * (k1 + 1)`: what endless occurrences would add.
    pub(super) most: f64,
    /// `k1 * (1 - b)`.
    pub(super) base: f64,
    /// `k1 * b / mean_len`.
    pub(super) slope: f64,
}

impl Weight {
    pub(super) fn new(bm25: Bm25, boost: f64, idf: f64, mean_len: f64) -> Self {
        let Bm25 { k1, b } = bm25;
        Self { most: boost * idf * (k1 + 1.0), base: k1 * (1.0 - b), slope: k1 * b / mean_len.max(1e-9) }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of terms stay below 2^53")]
    fn of(self, tf: u64, len: u64) -> f32 {
        self.of_weighted(tf as f64, len as f64)
    }

    /// As for whole numbers, to the bit, where they are whole.
    #[expect(clippy::cast_possible_truncation, reason = "a score needs 24 bits, and is far within range")]
    pub(super) fn of_weighted(self, tf: f64, len: f64) -> f32 {
        (self.most * tf / (tf + self.base + self.slope * len)) as f32
    }
}

/// The weight of a term that `df` of `n` texts have.
pub(super) fn idf(n: u32, df: u32) -> f64 {
    let (n, df) = (f64::from(n), f64::from(df));
    libm::log(1.0 + (n - df + 0.5) / (df + 0.5))
}

/// `total / n`; 0 if `n` is.
#[expect(clippy::cast_precision_loss, reason = "counts of terms stay below 2^53")]
pub(super) fn mean(total: u64, n: u32) -> f64 {
    if n == 0 { 0.0 } else { total as f64 / f64::from(n) }
}

fn count(found: &[(u32, u64)]) -> u32 {
    u32::try_from(found.len()).unwrap_or(NONE)
}

fn add(scores: &mut [f32], at: u32, more: f32) {
    if let Some(score) = scores.get_mut(at as usize) {
        *score += more;
    }
}

/// The leaves of the window around `leaf`, whose document has the leaves `document`.
fn window(leaf: u32, radius: u32, document: &Range<u32>) -> Range<u32> {
    let end = leaf.saturating_add(radius).saturating_add(1);
    leaf.saturating_sub(radius).max(document.start)..end.min(document.end)
}

/// The leaves with the term in their full field, ascending, with its occurrences in each.
fn full_field(hits: &TermHits, out: &mut Vec<(u32, u64)>) {
    out.clear();
    let mut body = hits.leaves.iter().copied().zip(hits.term_freqs.iter().copied().map(u64::from)).peekable();
    headed(hits.headings.iter().map(|hit| (hit.leaves.clone(), hit.term_freq)), |start, end, above| {
        while let Some(hit) = body.next_if(|(leaf, _)| *leaf < start) {
            out.push(hit);
        }
        for leaf in start..end {
            let own = body.next_if(|(at, _)| *at == leaf).map_or(0, |(_, tf)| tf);
            out.push((leaf, above + own));
        }
    });
    out.extend(body);
}

/// Gives the leaves below `headings` (the leaves of each, and its frequency; ascending, nested), as disjoint
/// ascending ranges `start..end` of leaves with the same sum of the frequencies above them.
pub(super) fn headed(
    headings: impl IntoIterator<Item = (Range<u32>, u32)>,
    mut each: impl FnMut(u32, u32, u64),
) {
    // The nodes around the current place: where each ends, and the sum down to it.
    let mut open: Vec<(u32, u64)> = Vec::new();
    let mut at = 0;
    for (leaves, term_freq) in headings {
        while let Some((end, sum)) = open.pop_if(|(end, _)| *end <= leaves.start) {
            each(at, end, sum);
            at = at.max(end);
        }
        let above = open.last().map_or(0, |(_, sum)| *sum);
        if above > 0 {
            each(at, leaves.start, above);
        }
        at = leaves.start;
        open.push((leaves.end, above + u64::from(term_freq)));
    }
    while let Some((end, sum)) = open.pop() {
        each(at, end, sum);
        at = at.max(end);
    }
}

/// Counts a term's occurrences in each section.
struct Sections<'a> {
    view: &'a View,
    /// For each inner node the occurrences below it and above it.
    freqs: Vec<u64>,
    touched: Vec<u32>,
    found: Vec<(u32, u64)>,
}

impl<'a> Sections<'a> {
    fn new(view: &'a View) -> Self {
        Self { view, freqs: vec![0; view.inner.len()], touched: Vec::new(), found: Vec::new() }
    }

    /// The sections that hold the term, in no order, with its occurrences in each.
    fn of(&mut self, hits: &TermHits) -> &[(u32, u64)] {
        let view = self.view;
        let parent_of = |leaf: u32| view.leaf_parents.get(leaf as usize).copied().unwrap_or(NONE);
        let mut body = hits.leaves.iter().copied().zip(hits.term_freqs.iter().copied()).peekable();
        while let Some((leaf, freq)) = body.next() {
            let parent = parent_of(leaf);
            let mut sum = u64::from(freq);
            while let Some((_, freq)) = body.next_if(|(leaf, _)| parent_of(*leaf) == parent) {
                sum += u64::from(freq);
            }
            self.climb(parent, sum);
        }
        for hit in &hits.headings {
            self.climb(hit.inner, u64::from(hit.term_freq));
            let end = view.inner.get(hit.inner as usize).map_or(0, |node| node.end);
            for below in hit.inner + 1..end {
                self.touch(below, u64::from(hit.term_freq));
            }
        }
        self.found.clear();
        for at in self.touched.drain(..) {
            let freq = self.freqs.get_mut(at as usize).map_or(0, std::mem::take);
            let section = view.inner.get(at as usize).map_or(NONE, |node| node.section);
            if section != NONE {
                self.found.push((section, freq));
            }
        }
        &self.found
    }

    fn climb(&mut self, from: u32, freq: u64) {
        let view = self.view;
        let mut at = from;
        while let Some(node) = view.inner.get(at as usize) {
            self.touch(at, freq);
            at = node.parent;
        }
    }

    fn touch(&mut self, at: u32, freq: u64) {
        if let Some(known) = self.freqs.get_mut(at as usize) {
            if *known == 0 {
                self.touched.push(at);
            }
            *known += freq;
        }
    }
}
