//! The best leaves of the whole index.

use std::collections::HashSet;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::bm25::headed;
use super::index::TextIndex;
use super::live::Live;
use super::places::ones;
use super::reader::SegmentReader;
use super::reader::TermPostings;
use super::statistics::Classes;
use super::statistics::Counted;
use super::statistics::Totals;
use super::top_k::BATCH;
use super::top_k::Formula;
use super::top_k::List;
use super::top_k::MAX_TERMS;
use super::top_k::Order;
use super::top_k::Plan;
use super::top_k::Run;
use super::top_k::SearchOptions;
use super::top_k::Segment;
use super::top_k::Share;
use super::top_k::WeightedTerm;
use super::top_k::maxima_factor;
use super::top_k::search_all;
use super::top_k::search_any;
use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;

/// A node and its score; higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// Its score.
    pub score: f32,
}

impl TextIndex {
    /// The best `limit` leaves for `terms`, as [`search_any`](Self::search_any) finds them by default.
    ///
    /// * `filter`: only leaves in it are given.
    ///
    /// # Errors
    ///
    /// As for [`search_any`](Self::search_any).
    pub fn search<T: AsRef<str>>(
        &self,
        terms: &[T],
        filter: Option<&RoaringBitmap>,
        limit: usize,
    ) -> Result<Vec<Scored>> {
        let terms: Vec<WeightedTerm<'_>> =
            terms.iter().map(|term| WeightedTerm::new(term.as_ref())).collect();
        self.search_any(&terms, &SearchOptions { filter, limit, ..SearchOptions::default() })
    }

    /// The best leaves that have any of `terms`, best first, ties to the lower id: BM25 over the field that
    /// `options.weights` make, with the statistics of all live leaves, whatever the filter. Scores are those
    /// that [`Scorer::leaf_scores`](super::Scorer::leaf_scores) gives by default, to the bit; leaves that
    /// score 0 are not given. A term that is named again is passed over.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a number in `options` or a boost is out of its range, or the terms are too many;
    /// `Cancelled` and `DeadlineExceeded` as `options` say; `Corrupt` if a posting list is damaged; and what
    /// the source reports.
    pub fn search_any(&self, terms: &[WeightedTerm<'_>], options: &SearchOptions<'_>) -> Result<Vec<Scored>> {
        options.check(terms)?;
        let terms = distinct(terms.iter().filter(|term| term.boost > 0.0))?;
        let question = Question::new(self, terms, options)?;
        if options.limit == 0 {
            return Ok(Vec::new());
        }
        let (plan, mut shares) = question.plan()?;
        search_any(&plan, &mut shares)
    }

    /// The best leaves that have all of `terms`, as [`search_any`](Self::search_any) scores them. A term with
    /// boost 0 is required as the others are. Without terms there is no leaf.
    ///
    /// # Errors
    ///
    /// As for [`search_any`](Self::search_any).
    pub fn search_all(&self, terms: &[WeightedTerm<'_>], options: &SearchOptions<'_>) -> Result<Vec<Scored>> {
        options.check(terms)?;
        let question = Question::new(self, distinct(terms)?, options)?;
        if options.limit == 0 || question.terms.is_empty() {
            return Ok(Vec::new());
        }
        let (plan, mut shares) = question.plan()?;
        search_all(&plan, &mut shares)
    }

    /// The score that [`search_any`](Self::search_any) would give each of `nodes`, in their order; 0 for nodes
    /// without any of the terms and for those that are no live leaves. Filter, range and limit do not matter.
    ///
    /// # Errors
    ///
    /// As for [`search_any`](Self::search_any).
    pub fn scores_of(
        &self,
        terms: &[WeightedTerm<'_>],
        nodes: &[NodeId],
        options: &SearchOptions<'_>,
    ) -> Result<Vec<f32>> {
        options.check(terms)?;
        let options = SearchOptions { filter: None, range: None, ..*options };
        let question = Question::new(self, distinct(terms)?, &options)?;
        let (plan, mut shares) = question.plan()?;
        for list in shares.iter_mut().flat_map(|share| &mut share.lists) {
            // Few are found where they lie, without unpacking all.
            if nodes.len() > 16 {
                list.open()?;
            }
        }
        let orders: Vec<Order> = shares.iter().map(Order::of).collect();
        let mut scores = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            if at % 1024 == 0 {
                options.go_on()?;
            }
            let share = self.segments().partition_point(|reader| reader.header().last_node < node.0);
            let found = shares.get(share).zip(orders.get(share)).and_then(|(share, order)| {
                let at = share.segment.leaves.binary_search_by_key(&node.0, |leaf| leaf.node).ok()?;
                let ordinal = u32::try_from(at).ok().filter(|ordinal| share.segment.allows(*ordinal))?;
                Some((share, order, ordinal))
            });
            let mut score = [0.0; BATCH];
            if let Some((share, order, ordinal)) = found {
                plan.scores(share, order, &[ordinal], &mut score)?;
            }
            scores.extend(score.first());
        }
        Ok(scores)
    }
}

/// The first of each term.
fn distinct<'t>(terms: impl IntoIterator<Item = &'t WeightedTerm<'t>>) -> Result<Vec<WeightedTerm<'t>>> {
    let mut seen = HashSet::new();
    let terms: Vec<WeightedTerm<'_>> =
        terms.into_iter().filter(|term| seen.insert(term.term)).copied().collect();
    if terms.len() > MAX_TERMS {
        return Err(Error::invalid(format!(
            "the query has {} distinct terms; it may have {MAX_TERMS}",
            terms.len()
        )));
    }
    Ok(terms)
}

/// A query and what was read for it.
struct Question<'q> {
    index: &'q TextIndex,
    options: &'q SearchOptions<'q>,
    terms: Vec<WeightedTerm<'q>>,
    totals: &'q Totals,
    classes: Option<Arc<Vec<Classes>>>,
    /// By segment, then by term.
    postings: Vec<Vec<Option<TermPostings>>>,
}

impl<'q> Question<'q> {
    fn new(
        index: &'q TextIndex,
        terms: Vec<WeightedTerm<'q>>,
        options: &'q SearchOptions<'q>,
    ) -> Result<Self> {
        options.go_on()?;
        let mut postings = Vec::new();
        for reader in index.segments() {
            let of_terms = terms.iter().map(|term| reader.postings(index.source(), term.term));
            postings.push(of_terms.collect::<Result<Vec<_>>>()?);
        }
        let totals = index.statistics().totals(index);
        let classes = index.statistics().classes(index, options.weights);
        Ok(Self { index, options, terms, totals, classes, postings })
    }

    fn plan(&self) -> Result<(Plan<'_>, Vec<Share<'_>>)> {
        let weights = self.options.weights;
        let formula = Formula {
            bm25: self.options.bm25,
            weights,
            mean_len: self.totals.mean_len(weights),
            live: self.totals.leaves,
        };
        let mut shares = Vec::new();
        let mut doc_freqs = vec![0; self.terms.len()];
        for (at, (reader, live)) in self.index.segments_with_live().enumerate() {
            let segment = self.segment(at, reader, live, &formula);
            let mut lists = Vec::new();
            for (term, postings) in self.postings.get(at).into_iter().flatten().enumerate() {
                let Some(postings) = postings else { continue };
                let runs = if weights.title > 0.0 { title_runs(reader, postings)? } else { Vec::new() };
                if let Some(doc_freq) = doc_freqs.get_mut(term) {
                    *doc_freq += self.doc_freq(at, term, postings, &runs, reader, live)?;
                }
                if weights.body > 0.0 && postings.body_count() > 0 {
                    let list = reader.body_list(postings)?;
                    lists.push(List::of_bodies(2 * term, list, &segment, Some((reader, postings)))?);
                }
                if !runs.is_empty() {
                    lists.push(List::of_titles(2 * term + 1, runs, &segment));
                }
            }
            shares.push(Share { segment, lists });
        }
        let terms = self.terms.iter().zip(doc_freqs);
        let terms = terms.map(|(term, doc_freq)| formula.weight(term.boost, doc_freq)).collect();
        let plan = Plan::new(self.options, formula, terms, &mut shares);
        Ok((plan, shares))
    }

    fn segment<'a>(
        &'a self,
        at: usize,
        reader: &'a SegmentReader,
        live: Option<&'a Live>,
        formula: &Formula,
    ) -> Segment<'a> {
        let known = self.totals.segments.get(at);
        let weighted = self.classes.as_ref().and_then(|classes| classes.get(at));
        let (classes, floors) = match weighted {
            Some(weighted) => (weighted.classes.as_slice(), weighted.floors.as_slice()),
            None => (reader.length_classes(), known.map_or(&[][..], |known| &known.floors)),
        };
        Segment {
            leaves: reader.leaves(),
            full_lens: reader.full_lens(),
            classes,
            floors,
            is_full: weighted.is_none(),
            maxima: known.and_then(|known| maxima_factor(formula, known.mean_len, known.longest)),
            live: live.map(Live::leaf_words),
            filter: self.options.filter.map(|filter| reader.places().bits(filter, reader.leaves())),
            range: self.options.range.map_or(0..reader.header().leaf_count, |range| {
                let below = reader.leaves().partition_point(|leaf| leaf.node < range.first.0);
                let within = reader.leaves().partition_point(|leaf| leaf.node <= range.last.0);
                ordinal(below)..ordinal(within)
            }),
        }
    }

    /// In how many live leaves of segment `at` term `term` occurs.
    fn doc_freq(
        &self,
        at: usize,
        term: usize,
        postings: &TermPostings,
        runs: &[Run],
        reader: &SegmentReader,
        live: Option<&Live>,
    ) -> Result<u32> {
        let counted = Counted::with(self.options.weights);
        let Some(live) = live else {
            return Ok(match counted {
                Counted::Full => postings.full_count(),
                Counted::Body => postings.body_count(),
                Counted::Title => runs.iter().map(|run| run.end - run.start).sum(),
            });
        };
        let text = self.terms.get(term).map_or("", |term| term.term);
        self.index.statistics().doc_freq(at, counted, text, || {
            let mut count = 0;
            for run in runs {
                count += ones(live.leaf_words(), run.start..run.end);
            }
            if counted == Counted::Title {
                return Ok(count);
            }
            let mut next = 0;
            let mut is_above = |ordinal: u32| {
                while runs.get(next).is_some_and(|run| run.end <= ordinal) {
                    next += 1;
                }
                runs.get(next).is_some_and(|run| run.start <= ordinal)
            };
            reader.body_blocks(
                postings,
                |_, _| true,
                |ids, _| {
                    let counts = |id: &&u32| live.has_leaf(**id) && !is_above(**id);
                    count += ordinal(ids.iter().filter(counts).count());
                },
            )?;
            Ok(count)
        })
    }
}

/// The leaves below titles with the term of `postings`.
fn title_runs(reader: &SegmentReader, postings: &TermPostings) -> Result<Vec<Run>> {
    let mut headings = Vec::new();
    reader.heading_blocks(
        postings,
        |_, _| true,
        |ids, freqs| {
            headings.extend(ids.iter().zip(freqs).map(|(id, freq)| (reader.leaves_below(*id), *freq)));
        },
    )?;
    let mut runs = Vec::new();
    headed(headings, |start, end, freq| {
        if start < end {
            runs.push(Run { start, end, freq: u32::try_from(freq).unwrap_or(u32::MAX) });
        }
    });
    Ok(runs)
}

/// An ordinal or a count of leaves, of which there are fewer than 2^32.
fn ordinal(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
