//! Which leaves match a query, and how well.
//!
//! A query is compiled to clauses (terms, groups, phrases) and a plan of sets. Segment by segment, a window of
//! ordinals at a time, the plan's sets are made as bitmaps, each within what can still match: in a conjunction
//! the rarest first, phrases last. Only leaves that match are scored.

use std::ops::Range;

use roaring::RoaringBitmap;

use super::analyzer::Analyzers;
use super::bm25::Weight;
use super::bm25::idf;
use super::clause::LoadedClause;
use super::clause::OpenClause;
use super::clause::load;
use super::index::TextIndex;
use super::lists::Candidates;
use super::lists::set_range;
use super::live::Live;
use super::query::Query;
use super::query::compile::Compiled;
use super::query::compile::Plan;
use super::query::compile::compile;
use super::reader::SegmentReader;
use super::search::Scored;
use super::snippet::Highlighter;
use super::top_k::SearchOptions;
use super::top_k::WeightedTerm;
use crate::error::Result;
use crate::ids::NodeId;

/// Ordinals of a window; few in tests, so that they cross windows.
const WINDOW: u32 = if cfg!(test) { 64 } else { 1 << 14 };

/// Terms with lower boosts are scored leaf by leaf: their sums may round to 0.
const LEAST_FAST_BOOST: f32 = 1e-6;

/// Words of a window's bitmap.
const WORDS: usize = WINDOW as usize / 64;

/// A set of a window's leaves.
type Bits = Box<[u64; WORDS]>;

impl TextIndex {
    /// The best `options.limit` leaves for `query`, best first, ties to the lower id. Its words become terms by
    /// `analyzers`, which are those that made the index's. Leaves that match and score 0 are among them.
    ///
    /// Scores are BM25 with the statistics of all live leaves, whatever the filter. A group (a word that goes on,
    /// a fuzzy word at one distance) counts as one term: its frequency is the sum of its terms', the leaves that
    /// have it are those that have any. A phrase's frequency is how often it occurs, its idf the sum of its
    /// terms'.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the query or an option is unsound, or its words stand for too many terms; `Cancelled` and `DeadlineExceeded` as the options
    /// say; `Corrupt` if the index is damaged; and what the source reports.
    pub fn query(
        &self,
        query: &Query,
        analyzers: &Analyzers,
        options: &SearchOptions<'_>,
    ) -> Result<Vec<Scored>> {
        options.check(&[])?;
        let Some(compiled) = compile(query, analyzers)? else { return Ok(Vec::new()) };
        if options.limit == 0 {
            return Ok(Vec::new());
        }
        // What scores next to nothing is not given there, and is here.
        let is_worth = |terms: &[(&str, f32)]| terms.iter().all(|(_, boost)| *boost >= LEAST_FAST_BOOST);
        if let Some((is_all, terms)) = compiled.as_terms().filter(|(_, terms)| is_worth(terms)) {
            let terms: Vec<WeightedTerm<'_>> =
                terms.into_iter().map(|(term, boost)| WeightedTerm { term, boost }).collect();
            return if is_all { self.search_all(&terms, options) } else { self.search_any(&terms, options) };
        }
        self.evaluate(&compiled, options)
    }

    /// As [`query`](Self::query), always by windows.
    pub(super) fn evaluate(&self, compiled: &Compiled, options: &SearchOptions<'_>) -> Result<Vec<Scored>> {
        let mut best = Best::new(options.limit);
        let clauses = load(self, compiled, options)?;
        let weights = weights(self, &clauses, options)?;
        self.windows(compiled, &clauses, options, Some(&weights), |reader, first, found, scores| {
            let scored = ones(found).filter_map(|at| {
                let leaf = reader.leaves().get((first + at) as usize)?;
                Some(Scored {
                    node: NodeId(leaf.node),
                    score: scores.get(at as usize).copied().unwrap_or(0.0),
                })
            });
            scored.for_each(|scored| best.push(scored));
        })?;
        Ok(best.into_sorted())
    }

    /// How many leaves match `query`; `options` as for [`query`](Self::query), the limit apart.
    ///
    /// # Errors
    ///
    /// As for [`query`](Self::query).
    pub fn count(&self, query: &Query, analyzers: &Analyzers, options: &SearchOptions<'_>) -> Result<u64> {
        let mut count = 0;
        self.each_match(query, analyzers, options, |_, _, found| {
            count += found.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        })?;
        Ok(count)
    }

    /// The ids of all leaves that match `query`; `options` as for [`query`](Self::query), the limit apart.
    ///
    /// # Errors
    ///
    /// As for [`query`](Self::query).
    pub fn matches(
        &self,
        query: &Query,
        analyzers: &Analyzers,
        options: &SearchOptions<'_>,
    ) -> Result<RoaringBitmap> {
        let mut all = RoaringBitmap::new();
        self.each_match(query, analyzers, options, |reader, first, found| {
            let leaves = ones(found).filter_map(|at| reader.leaves().get((first + at) as usize));
            all.extend(leaves.map(|leaf| leaf.node));
        })?;
        Ok(all)
    }

    /// What marks the words of `query` in texts: its terms, those its words expand to among them, but for those
    /// that must not be there; each weighs its idf times its boost.
    ///
    /// # Errors
    ///
    /// As for [`query`](Self::query).
    pub fn highlighter(
        &self,
        query: &Query,
        analyzers: &Analyzers,
        options: &SearchOptions<'_>,
    ) -> Result<Highlighter> {
        let Some(compiled) = compile(query, analyzers)? else { return Ok(Highlighter::default()) };
        let scoring =
            Compiled { clauses: compiled.scoring().into_iter().cloned().collect(), plan: Plan::Everything };
        let clauses = load(self, &scoring, options)?;
        let live = self.statistics().totals(self).leaves;
        let mut terms = Vec::new();
        for clause in clauses {
            let leaves = clause.slot_leaves(self)?;
            for (of_slot, leaves) in clause.terms.into_iter().zip(leaves) {
                let weight = f64::from(clause.boost) * idf(live, leaves);
                terms.extend(of_slot.into_iter().map(|term| (term, weight)));
            }
        }
        Ok(Highlighter::new(terms))
    }

    fn each_match(
        &self,
        query: &Query,
        analyzers: &Analyzers,
        options: &SearchOptions<'_>,
        mut each: impl FnMut(&SegmentReader, u32, &[u64]),
    ) -> Result<()> {
        options.check(&[])?;
        let Some(compiled) = compile(query, analyzers)? else { return Ok(()) };
        let clauses = load(self, &compiled, options)?;
        self.windows(&compiled, &clauses, options, None, |reader, first, found, _| each(reader, first, found))
    }

    /// Gives each window with a match: its segment, its first ordinal, the leaves that match and, if there are
    /// `weights`, their scores.
    fn windows(
        &self,
        compiled: &Compiled,
        clauses: &[LoadedClause],
        options: &SearchOptions<'_>,
        weights: Option<&[Weight]>,
        mut each: impl FnMut(&SegmentReader, u32, &[u64], &[f32]),
    ) -> Result<()> {
        let mut scores = vec![0.0_f32; if weights.is_some() { WINDOW as usize } else { 0 }];
        for (segment, (reader, live)) in self.segments_with_live().enumerate() {
            let allowed = allowed(reader, live, options);
            let mut lists = Vec::with_capacity(clauses.len());
            for of_segment in clauses.iter().filter_map(|clause| clause.segments.get(segment)) {
                lists.push(of_segment.open(reader)?);
            }
            for (first, allowed) in (0..).step_by(WINDOW as usize).zip(allowed.chunks(WORDS)) {
                if allowed.iter().all(|word| *word == 0) {
                    continue;
                }
                options.go_on()?;
                let mut window = Window {
                    index: self,
                    reader,
                    lists: &lists,
                    clauses,
                    first,
                    hits: vec![Vec::new(); lists.len()],
                    is_scored: weights.is_some(),
                };
                let mut candidates = empty();
                candidates.iter_mut().zip(allowed).for_each(|(to, from)| *to = *from);
                let found = window.find(&compiled.plan, &candidates)?;
                if found.bits.iter().all(|word| *word == 0) {
                    continue;
                }
                if let Some(weights) = weights {
                    window.score(&compiled.plan, &found, &*found.bits, weights, &mut scores);
                }
                each(reader, first, &*found.bits, &scores);
                // Only these were touched; a window's worth of zeros costs more than its matches.
                for at in ones(&*found.bits) {
                    if let Some(score) = scores.get_mut(at as usize) {
                        *score = 0.0;
                    }
                }
            }
        }
        Ok(())
    }
}

/// How each clause scores.
fn weights(index: &TextIndex, clauses: &[LoadedClause], options: &SearchOptions<'_>) -> Result<Vec<Weight>> {
    let totals = index.statistics().totals(index);
    let mut weights = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let mut sum = 0.0;
        for leaves in clause.slot_leaves(index)? {
            sum += idf(totals.leaves, leaves);
        }
        let mean_len = totals.mean_len(clause.weights);
        weights.push(Weight::new(options.bm25, f64::from(clause.boost), sum, mean_len));
    }
    Ok(weights)
}

/// The live leaves of a segment that the options allow.
fn allowed(reader: &SegmentReader, live: Option<&Live>, options: &SearchOptions<'_>) -> Vec<u64> {
    let leaves = reader.leaves();
    let count = reader.header().leaf_count;
    let mut bits = vec![0; (count as usize).div_ceil(64)];
    let range = options.range.map_or(0..count, |range| {
        let at = |end: usize| u32::try_from(end).unwrap_or(count);
        let first = leaves.partition_point(|leaf| leaf.node < range.first.0);
        at(first)..at(leaves.partition_point(|leaf| leaf.node <= range.last.0))
    });
    set_range(&mut bits, range);
    if let Some(filter) = options.filter {
        bits.iter_mut().zip(reader.places().bits(filter, leaves)).for_each(|(word, filter)| *word &= filter);
    }
    if let Some(live) = live {
        bits.iter_mut().zip(live.leaf_words()).for_each(|(word, live)| *word &= live);
    }
    bits
}

/// The leaves of a window that a part of the plan matches, with the same of its own parts.
struct Found {
    bits: Bits,
    parts: Vec<Option<Self>>,
}

struct Window<'a> {
    index: &'a TextIndex,
    reader: &'a SegmentReader,
    lists: &'a [OpenClause<'a>],
    clauses: &'a [LoadedClause],
    first: u32,
    /// For each clause the leaves of the window with it in their own text, within what could match.
    hits: Vec<Vec<(u32, u32)>>,
    is_scored: bool,
}

impl Window<'_> {
    fn range(&self) -> Range<u32> {
        self.first..(self.first + WINDOW).min(self.reader.header().leaf_count)
    }

    /// The leaves among `candidates` that `plan` matches.
    fn find(&mut self, plan: &Plan, candidates: &Bits) -> Result<Found> {
        let leaf = |bits| Found { bits, parts: Vec::new() };
        Ok(match plan {
            Plan::Everything => leaf(candidates.clone()),
            Plan::Clause(at) => leaf(self.clause(*at, candidates)?),
            Plan::Not(of) => {
                let found = self.find(of, candidates)?;
                let mut bits = candidates.clone();
                bits.iter_mut().zip(found.bits.iter()).for_each(|(word, found)| *word &= !found);
                leaf(bits)
            }
            Plan::Optional(of) => {
                let parts = if self.is_scored { vec![Some(self.find(of, candidates)?)] } else { Vec::new() };
                Found { bits: candidates.clone(), parts }
            }
            Plan::All(of) => self.find_all(of, candidates)?,
            Plan::AtLeast(count, of) => self.find_some(*count, of, candidates)?,
        })
    }

    fn find_all(&mut self, of: &[Plan], candidates: &Bits) -> Result<Found> {
        let mut order: Vec<usize> = (0..of.len()).collect();
        order.sort_by_key(|at| of.get(*at).map_or((u8::MAX, 0), |plan| self.cost(plan)));
        let mut bits = candidates.clone();
        let mut parts: Vec<Option<Found>> = of.iter().map(|_| None).collect();
        for at in order {
            if bits.iter().all(|word| *word == 0) {
                break;
            }
            let (Some(plan), Some(part)) = (of.get(at), parts.get_mut(at)) else { continue };
            let found = self.find(plan, &bits)?;
            bits.clone_from(&found.bits);
            *part = Some(found);
        }
        Ok(Found { bits, parts })
    }

    fn find_some(&mut self, count: usize, of: &[Plan], candidates: &Bits) -> Result<Found> {
        let mut bits = empty();
        let mut counts = vec![0_u16; if count > 1 { WINDOW as usize } else { 0 }];
        let mut parts = Vec::with_capacity(of.len());
        for plan in of {
            let found = self.find(plan, candidates)?;
            if count > 1 {
                for at in ones(&*found.bits) {
                    if let Some(count) = counts.get_mut(at as usize) {
                        *count += 1;
                    }
                }
            } else {
                bits.iter_mut().zip(found.bits.iter()).for_each(|(word, found)| *word |= found);
            }
            parts.push(Some(found));
        }
        for (at, _) in (0..).zip(&counts).filter(|(_, reached)| usize::from(**reached) >= count) {
            set_range(&mut *bits, at..at + 1);
        }
        Ok(Found { bits, parts })
    }

    /// What is cheap and rules out much goes first: words, lists of words, what is left of negations, phrases.
    fn cost(&self, plan: &Plan) -> (u8, usize) {
        match plan {
            Plan::Everything => (0, 0),
            Plan::Clause(at) => self
                .lists
                .get(*at)
                .map_or((0, 0), |lists| (if lists.is_phrase() { 4 } else { 1 }, lists.body_count())),
            Plan::All(of) => of.iter().map(|plan| self.cost(plan)).min().unwrap_or((0, 0)),
            Plan::AtLeast(_, of) => {
                let costs = of.iter().map(|plan| self.cost(plan));
                let (kind, sum) =
                    costs.fold((2, 0), |(kind, sum), (other, more)| (kind.max(other), sum + more));
                (kind, sum)
            }
            Plan::Not(of) => (self.cost(of).0.max(3), 0),
            Plan::Optional(_) => (u8::MAX, 0),
        }
    }

    /// The leaves among `candidates` with clause `at`; keeps how often they have it.
    fn clause(&mut self, at: usize, candidates: &Bits) -> Result<Bits> {
        let mut bits = empty();
        let (Some(lists), Some(clause)) = (self.lists.get(at), self.clauses.get(at)) else { return Ok(bits) };
        if candidates.iter().all(|word| *word == 0) {
            return Ok(bits);
        }
        let (body, title) = clause.fields();
        let (first, range) = (self.first, self.range());
        let mut hits = Vec::new();
        if body > 0.0 {
            let candidates = Candidates { first, words: &**candidates };
            lists.bodies_in(self.index.source(), clause, range.clone(), candidates, &mut hits)?;
            for (ordinal, _) in &hits {
                set_range(&mut *bits, ordinal - first..ordinal - first + 1);
            }
        }
        if title > 0.0 {
            for (from, end, _) in within(lists.runs, &range) {
                set_range(&mut *bits, from - first..end - first);
            }
        }
        bits.iter_mut().zip(candidates.iter()).for_each(|(word, candidates)| *word &= candidates);
        if let Some(place) = self.hits.get_mut(at) {
            *place = hits;
        }
        Ok(bits)
    }

    /// Adds to `scores` what the clauses of `plan`, which matched `found`, add to the leaves of `mask`.
    fn score(&self, plan: &Plan, found: &Found, mask: &[u64], weights: &[Weight], scores: &mut [f32]) {
        match plan {
            Plan::Everything | Plan::Not(_) => {}
            Plan::Clause(at) => {
                let (Some(weight), Some(clause)) = (weights.get(*at), self.clauses.get(*at)) else { return };
                let (body, title) = clause.fields();
                self.each_hit(*at, |ordinal, of_body, of_title| {
                    let local = ordinal - self.first;
                    if mask.get(local as usize / 64).is_none_or(|word| word >> (local % 64) & 1 == 0) {
                        return;
                    }
                    #[expect(clippy::cast_precision_loss, reason = "counts of terms stay below 2^53")]
                    let term_freq = body * f64::from(of_body) + title * of_title as f64;
                    let own = self.reader.leaves().get(ordinal as usize).map_or(0, |leaf| leaf.own_len);
                    let full = self.reader.full_lens().get(ordinal as usize).copied().unwrap_or(0);
                    let len = body * f64::from(own) + title * f64::from(full.saturating_sub(own));
                    if term_freq > 0.0
                        && let Some(score) = scores.get_mut(local as usize)
                    {
                        *score += weight.of_weighted(term_freq, len);
                    }
                });
            }
            Plan::Optional(of) => self.score_parts(std::slice::from_ref(of), found, mask, weights, scores),
            Plan::All(of) | Plan::AtLeast(_, of) => self.score_parts(of, found, mask, weights, scores),
        }
    }

    fn score_parts<P: std::borrow::Borrow<Plan>>(
        &self,
        of: &[P],
        found: &Found,
        mask: &[u64],
        weights: &[Weight],
        scores: &mut [f32],
    ) {
        for (plan, part) in of.iter().zip(&found.parts) {
            let Some(part) = part else { continue };
            let mut within = empty();
            for (to, (mask, bits)) in within.iter_mut().zip(mask.iter().zip(part.bits.iter())) {
                *to = mask & bits;
            }
            self.score(plan.borrow(), part, &*within, weights, scores);
        }
    }

    /// Gives the leaves with clause `at`, ascending, and how often it is in their own text and above.
    fn each_hit(&self, at: usize, mut each: impl FnMut(u32, u32, u64)) {
        let (Some(lists), Some(hits)) = (self.lists.get(at), self.hits.get(at)) else { return };
        let mut hits = hits.iter().copied().peekable();
        for (first, end, above) in within(lists.runs, &self.range()) {
            while let Some((ordinal, freq)) = hits.next_if(|(ordinal, _)| *ordinal < first) {
                each(ordinal, freq, 0);
            }
            for ordinal in first..end {
                let own = hits.next_if(|(other, _)| *other == ordinal).map_or(0, |(_, freq)| freq);
                each(ordinal, own, above);
            }
        }
        hits.for_each(|(ordinal, freq)| each(ordinal, freq, 0));
    }
}

/// The parts of `runs` that lie in `range`.
fn within(runs: &[(u32, u32, u64)], range: &Range<u32>) -> impl Iterator<Item = (u32, u32, u64)> {
    let Range { start, end } = *range;
    let first = runs.partition_point(|(_, last, _)| *last <= start);
    let rest = runs.get(first..).unwrap_or_default().iter();
    let inside = rest.take_while(move |(first, _, _)| *first < end);
    inside.map(move |(first, last, freq)| ((*first).max(start), (*last).min(end), *freq))
}

#[cfg_attr(test, expect(clippy::unnecessary_box_returns, reason = "it is large but in tests"))]
fn empty() -> Bits {
    Box::new([0; WORDS])
}

/// The places of the bits of `words` that are set, ascending.
pub(super) fn ones(words: &[u64]) -> impl Iterator<Item = u32> {
    (0..).step_by(64).zip(words).flat_map(|(first, word): (u32, &u64)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let at = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (at < 64).then_some(first + at)
        })
    })
}

/// The best so many found so far.
struct Best {
    limit: usize,
    kept: Vec<Scored>,
    bar: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), bar: f32::NEG_INFINITY }
    }

    /// Takes in a leaf; those with lower ids were taken in before.
    fn push(&mut self, scored: Scored) {
        if scored.score <= self.bar {
            return;
        }
        self.kept.push(scored);
        // Of those kept at any time the best are among the first; the rest is thrown away in bulk.
        if self.kept.len() >= self.limit.saturating_mul(2).max(64) {
            self.kept.select_nth_unstable_by(self.limit - 1, |a, b| order(*a, *b));
            self.kept.truncate(self.limit);
            self.bar = self.kept.iter().map(|kept| kept.score).fold(f32::INFINITY, f32::min);
        }
    }

    fn into_sorted(mut self) -> Vec<Scored> {
        self.kept.sort_unstable_by(|a, b| order(*a, *b));
        self.kept.truncate(self.limit);
        self.kept
    }
}

fn order(a: Scored, b: Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.node.cmp(&b.node))
}
