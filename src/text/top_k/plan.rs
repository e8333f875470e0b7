//! A query made ready: every term's lists in every segment, and what their postings are worth in units.

use super::SearchOptions;
use super::best::Best;
use super::list::List;
use super::room::Table;
use super::score::Formula;
use super::score::Lower;
use super::score::Parts;
use super::score::rows_of;
use super::score::scale;
use super::segment::Segment;
use crate::error::Result;
use crate::format::text::BUILT_B;
use crate::format::text::BUILT_K1;
use crate::format::text::Bounds;
use crate::format::text::NO_CLASS;
use crate::kernels::Candidate;
use crate::kernels::VALUES;
use crate::kernels::Values;
use crate::text::Scored;
use crate::text::bm25::Weight;

/// One segment, and the lists of the query's terms in it.
pub struct Share<'a> {
    pub segment: Segment<'a>,
    /// The list in table `2 * t` is that of term `t` in the leaves' own texts, in table `2 * t + 1` that in the
    /// titles above them.
    pub lists: Vec<List<'a>>,
}

/// Leaves that are scored at once.
pub const BATCH: usize = 16;

/// A query made ready.
pub struct Plan<'a> {
    pub options: &'a SearchOptions<'a>,
    formula: Formula,
    /// What each term adds, in the order of the query.
    terms: Vec<Weight>,
    tables: Vec<Option<Table>>,
    /// How many tables there are.
    lists: usize,
    scale: f64,
}

impl<'a> Plan<'a> {
    /// The plan for `terms` in `shares`, whose lists it completes.
    pub fn new(
        options: &'a SearchOptions<'a>,
        formula: Formula,
        terms: Vec<Weight>,
        shares: &mut [Share<'_>],
    ) -> Self {
        let mut bounds: Vec<Option<Bounds>> = vec![None; 2 * terms.len()];
        for list in shares.iter().flat_map(|share| &share.lists) {
            let all = bounds[list.table].get_or_insert([NO_CLASS; 16]);
            for (all, own) in all.iter_mut().zip(list.bounds) {
                *all = own.min(*all);
            }
        }
        let mut parts = [Parts::new(&formula, false), Parts::new(&formula, true)];
        let mosts: Vec<f64> = terms.iter().map(|term| term.most).collect();
        let most = |table: usize| mosts.get(table / 2).copied().unwrap_or(0.0);
        let mut sum = 0.0;
        for (table, bounds) in bounds.iter().enumerate() {
            if let Some(bounds) = bounds {
                sum += most(table) * f64::from(parts[table % 2].most(bounds));
            }
        }
        let lists = bounds.iter().flatten().count();
        let scale = scale(sum, lists);
        let mut tables: Vec<Option<Table>> = Vec::with_capacity(bounds.len());
        for (table, bounds) in bounds.iter().enumerate() {
            tables.push(bounds.as_ref().map(|bounds| {
                let mut made = Table::new();
                if let Some(values) = made.values_mut() {
                    parts[table % 2].fill(bounds, narrow(most(table) * scale), values);
                }
                made
            }));
        }
        let plan = Self { options, formula, terms, tables, lists, scale };
        for share in shares {
            for list in &mut share.lists {
                let values = plan.values(list.table);
                let worth = |(row, class): (usize, u8)| values[row << 8 | usize::from(class)];
                list.most = rows_of(&list.bounds).map(worth).max().unwrap_or(0);
                list.maxima_unit = share
                    .segment
                    .maxima
                    .map(|factor| ceil(most(list.table) * scale * factor * 256.0 / 255.0));
            }
        }
        plan
    }

    /// What the postings of the list of table `table` are worth.
    pub fn values(&self, table: usize) -> &Values {
        const NONE: &Values = &[0; VALUES];
        self.tables.get(table).and_then(|table| table.as_ref()?.values()).unwrap_or(NONE)
    }

    /// What is best before anything was found.
    pub fn best(&self, leaves: usize) -> Best {
        Best::new(self.options.limit.min(leaves).max(1), self.scale, self.lists)
    }

    /// What the bounds of leaves of `share` surely say; `None` if a term may occur both in a leaf and above it,
    /// where its bounds are those of two texts.
    pub fn lower(&self, share: &Share<'_>) -> Option<Lower> {
        if share.lists.iter().any(|list| list.table % 2 == 1) {
            return None;
        }
        let high = share.lists.iter().any(|list| list.bounds[15] != NO_CLASS);
        Some(Lower::new(&self.formula, self.lists, share.segment.is_full, high))
    }

    /// Writes the exact scores of the leaves `ordinals` of `share` to `scores`, at most [`BATCH`]; what is written
    /// for an ordinal behind the last leaf means nothing.
    ///
    /// One list is asked for all leaves before the next is, for lookups that do not wait for each other.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a list is damaged.
    pub fn scores(
        &self,
        share: &Share<'_>,
        order: &Order,
        ordinals: &[u32],
        scores: &mut [f32; BATCH],
    ) -> Result<()> {
        let mut lens = [0.0; BATCH];
        for (len, ordinal) in lens.iter_mut().zip(ordinals) {
            *len = share.segment.len(*ordinal, &self.formula);
        }
        scores.fill(0.0);
        for (term, weight) in self.terms.iter().enumerate() {
            let (mut body, mut title) = ([0; BATCH], [0; BATCH]);
            for (table, freqs) in [(2 * term, &mut body), (2 * term + 1, &mut title)] {
                if let Some(at) = order.place(table) {
                    for (freq, ordinal) in freqs.iter_mut().zip(ordinals) {
                        *freq = share.lists[at].freq(*ordinal)?;
                    }
                }
            }
            let freqs = body.iter().zip(&title).take(ordinals.len());
            for ((score, len), (body, title)) in scores.iter_mut().zip(&lens).zip(freqs) {
                if *body > 0 || *title > 0 {
                    *score += weight.of_weighted(self.formula.term_freq(*body, u64::from(*title)), *len);
                }
            }
        }
        Ok(())
    }

    /// Scores the leaves of `candidates`, as long as they reach the bar, and takes them in.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a list is damaged.
    pub fn take_in(
        &self,
        share: &Share<'_>,
        order: &Order,
        candidates: &[Candidate],
        best: &mut Best,
    ) -> Result<()> {
        let mut scores = [0.0; BATCH];
        for batch in candidates.chunks(BATCH) {
            let reach = batch.iter().take_while(|candidate| u32::from(candidate.bound) >= best.bar).count();
            let mut ordinals = [0; BATCH];
            for (ordinal, candidate) in ordinals.iter_mut().zip(batch) {
                *ordinal = candidate.ordinal;
            }
            self.scores(share, order, &ordinals[..reach], &mut scores)?;
            for (ordinal, score) in ordinals[..reach].iter().zip(scores) {
                if best.admits(score)
                    && let Some(node) = share.segment.node(*ordinal)
                {
                    best.push(Scored { node, score });
                }
            }
            if reach < batch.len() {
                break;
            }
        }
        Ok(())
    }

    /// How many terms there are.
    pub fn term_count(&self) -> usize {
        self.terms.len()
    }
}

/// Where the list of each table is among a share's lists.
pub struct Order(Vec<Option<usize>>);

impl Order {
    pub fn of(share: &Share<'_>) -> Self {
        let mut places = Vec::new();
        for (at, list) in share.lists.iter().enumerate() {
            if places.len() <= list.table {
                places.resize(list.table + 1, None);
            }
            places[list.table] = Some(at);
        }
        Self(places)
    }

    pub fn place(&self, table: usize) -> Option<usize> {
        self.0.get(table).copied().flatten()
    }
}

/// What the maxima of a segment built with the mean length `built` must be multiplied by to hold for `formula`;
/// `longest` is the longest full length in the segment. `None` if they say nothing about it.
///
/// Maxima hold as they are for a lower mean, where every text scores less. For a higher one the factor is the
/// greatest there is: that of one occurrence in the longest text.
pub fn maxima_factor(formula: &Formula, built: f64, longest: u32) -> Option<f64> {
    let is_built = |value: f64, built: f64| (value - built).abs() <= 0.0;
    let Formula { bm25, weights, mean_len, .. } = *formula;
    if !is_built(bm25.k1, BUILT_K1) || !is_built(bm25.b, BUILT_B) || weights != super::FieldWeights::default()
    {
        return None;
    }
    let norm = |mean: f64| BUILT_K1 * (1.0 - BUILT_B + BUILT_B * f64::from(longest) / mean.max(1e-9));
    Some(if mean_len <= built { 1.0 } else { (1.0 + norm(built)) / (1.0 + norm(mean_len)) })
}

#[expect(clippy::cast_possible_truncation, reason = "the scale keeps it in range")]
fn narrow(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cap holds where it is less")]
fn ceil(value: f64) -> u32 {
    // 255 times this fits 32 bits.
    value.ceil().min(16_000_000.0) as u32
}
