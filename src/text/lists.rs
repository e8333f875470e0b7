//! Where what may stand in one place of a query is, in one segment.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bm25::headed;
use super::index::TextIndex;
use super::live::Live;
use super::reader::In;
use super::reader::PartSource;
use super::reader::SegmentReader;
use super::reader::TermPositions;
use super::reader::TermPostings;
use crate::error::Result;
use crate::format::text::Place;
use crate::format::text::TermEntry;

/// Lists of a single term from this length on are read as they are needed.
const STORED_FROM: u32 = if cfg!(test) { 4 } else { 128 };

/// Disjoint ascending ranges `first..end` of leaves, each with how often something is in the titles above them.
pub(super) type Runs = Vec<(u32, u32, u64)>;

/// A term, or a group of terms that count as one, in one segment.
pub(super) struct SlotLists {
    terms: Vec<TermPostings>,
    /// Ordinals of leaves and frequencies, ascending; `None` if they are read when needed.
    bodies: Option<Vec<(u32, u32)>>,
    /// Ordinals of inner nodes and frequencies, ascending.
    headings: Vec<(u32, u32)>,
    /// For the ordinals of `bodies`, which terms are there; only of groups in phrases.
    holders: Vec<(u32, usize)>,
    pub runs: Runs,
}

/// The positions of the terms of a slot, read on first use.
#[derive(Default)]
pub(super) struct SlotPositions(BTreeMap<usize, TermPositions>);

impl SlotLists {
    /// The lists of the terms whose dictionary values are `values`.
    ///
    /// * `in_phrase`: whether [`positions`](Self::positions) will be asked for.
    pub fn load(
        reader: &SegmentReader,
        source: &dyn PartSource,
        values: impl Iterator<Item = u64>,
        in_phrase: bool,
        go_on: impl Fn() -> Result<()>,
    ) -> Result<Self> {
        let mut terms = Vec::new();
        let mut bodies = Vec::new();
        let mut headings = Vec::new();
        let mut holders = Vec::new();
        for value in values {
            if terms.len() % 64 == 0 {
                go_on()?;
            }
            terms.push(reader.postings_at(source, value)?);
        }
        let is_stored = matches!(terms.as_slice(), [one] if one.body_count() >= STORED_FROM);
        for (at, term) in terms.iter().enumerate() {
            if at % 64 == 0 {
                go_on()?;
            }
            let into = |out: &mut Vec<(u32, u32)>, ids: &[u32], freqs: &[u32]| {
                out.extend(ids.iter().copied().zip(freqs.iter().copied()));
            };
            if !is_stored {
                let before = bodies.len();
                reader.body_blocks(term, |_, _| true, |ids, freqs| into(&mut bodies, ids, freqs))?;
                if in_phrase && terms.len() > 1 {
                    let added = bodies.get(before..).unwrap_or_default();
                    holders.extend(added.iter().map(|(ordinal, _)| (*ordinal, at)));
                }
            }
            reader.heading_blocks(term, |_, _| true, |ids, freqs| into(&mut headings, ids, freqs))?;
        }
        if terms.len() > 1 {
            summed(&mut bodies);
            summed(&mut headings);
            holders.sort_unstable();
        }
        let mut runs = Vec::new();
        let below = headings.iter().map(|(inner, freq)| (reader.leaves_below(*inner), *freq));
        headed(below, |first, end, freq| runs.push((first, end, freq)));
        runs.retain(|(first, end, _)| first < end);
        Ok(Self { terms, bodies: Some(bodies).filter(|_| !is_stored), headings, holders, runs })
    }

    /// How many leaves have it in their own text, or more.
    pub fn body_count(&self) -> usize {
        self.bodies
            .as_ref()
            .map_or_else(|| self.terms.iter().map(|term| term.body_count() as usize).sum(), Vec::len)
    }

    /// Gives the leaves of `within` that have it in their own text, ascending, with how often.
    pub fn bodies_in(
        &self,
        reader: &SegmentReader,
        within: Range<u32>,
        mut each: impl FnMut(u32, u32),
    ) -> Result<()> {
        if let Some(bodies) = &self.bodies {
            let first = bodies.partition_point(|(ordinal, _)| *ordinal < within.start);
            let rest = bodies.get(first..).unwrap_or_default().iter();
            rest.take_while(|(ordinal, _)| *ordinal < within.end)
                .for_each(|(ordinal, freq)| each(*ordinal, *freq));
            return Ok(());
        }
        for term in &self.terms {
            let wanted = |first, last| first < within.end && last >= within.start;
            reader.body_blocks(term, wanted, |ids, freqs| {
                for (id, freq) in ids.iter().zip(freqs) {
                    if within.contains(id) {
                        each(*id, *freq);
                    }
                }
            })?;
        }
        Ok(())
    }

    /// The inner nodes that have it in their titles, with how often.
    pub fn headings(&self) -> &[(u32, u32)] {
        &self.headings
    }

    /// How many live leaves have it in the fields that are asked for.
    pub fn live_count(
        &self,
        reader: &SegmentReader,
        live: Option<&Live>,
        body: bool,
        title: bool,
    ) -> Result<u64> {
        let of_runs = || self.runs.iter().map(|(first, end, _)| u64::from(end - first)).sum();
        match (self.terms.as_slice(), live) {
            ([], _) => return Ok(0),
            ([one], None) if body && title => return Ok(u64::from(one.full_count())),
            (_, None) if body && !title => return Ok(self.body_count() as u64),
            (_, None) if title && !body => return Ok(of_runs()),
            _ => {}
        }
        let leaves = reader.header().leaf_count;
        let mut found = vec![0_u64; leaves.div_ceil(64) as usize];
        if body {
            self.bodies_in(reader, 0..leaves, |ordinal, _| set_range(&mut found, ordinal..ordinal + 1))?;
        }
        if title {
            self.runs.iter().for_each(|(first, end, _)| set_range(&mut found, *first..*end));
        }
        let alive = |at: usize| live.map_or(u64::MAX, |live| live.leaf_words().get(at).copied().unwrap_or(0));
        Ok(found.iter().enumerate().map(|(at, word)| u64::from((word & alive(at)).count_ones())).sum())
    }

    /// Puts into `out` the positions of it in the node of `which` with ordinal `ordinal`, ascending.
    pub fn positions(
        &self,
        reader: &SegmentReader,
        source: &dyn PartSource,
        (which, ordinal): (In, u32),
        known: &mut SlotPositions,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        let mut of_term = Vec::new();
        let mut add = |at: usize| -> Result<()> {
            let Some(term) = self.terms.get(at) else { return Ok(()) };
            let positions = match known.0.entry(at) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(reader.positions(source, term)?)
                }
            };
            of_term.clear();
            reader.positions_of(term, positions, which, ordinal, &mut of_term)?;
            out.extend_from_slice(&of_term);
            Ok(())
        };
        if which == In::Bodies && !self.holders.is_empty() {
            let first = self.holders.partition_point(|(other, _)| *other < ordinal);
            let holders = self.holders.get(first..).unwrap_or_default().iter();
            holders.take_while(|(other, _)| *other == ordinal).try_for_each(|(_, at)| add(*at))?;
        } else {
            (0..self.terms.len()).try_for_each(add)?;
        }
        if self.terms.len() > 1 {
            out.sort_unstable();
            out.dedup();
        }
        Ok(())
    }
}

/// Sorts `pairs` and makes one of those with the same ordinal.
fn summed(pairs: &mut Vec<(u32, u32)>) {
    pairs.sort_unstable_by_key(|(ordinal, _)| *ordinal);
    pairs.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}

/// Sets the bits `range` of `words`.
pub(super) fn set_range(words: &mut [u64], range: Range<u32>) {
    let mut at = range.start;
    while at < range.end {
        let (bit, next) = (at % 64, (at - at % 64).saturating_add(64).min(range.end));
        let mask = (u64::MAX >> (64 - (next - at))) << bit;
        if let Some(word) = words.get_mut(at as usize / 64) {
            *word |= mask;
        }
        at = next;
    }
}

/// How many live leaves have the term that the dictionaries have at `places`, in their own text or in a title
/// above.
pub(super) fn live_leaves(index: &TextIndex, places: &[(usize, u64)]) -> Result<u64> {
    let segments: Vec<_> = index.segments_with_live().collect();
    let mut sum = 0;
    for (segment, value) in places {
        let Some((reader, live)) = segments.get(*segment) else { continue };
        sum += match (live, Place::of(*value)) {
            (None, Place::Lone { .. }) => 1,
            (None, Place::Entry(offset)) => {
                u64::from(reader.entry(index.source(), offset, TermEntry::take)?.0.full_count)
            }
            (Some(live), _) => {
                let lists = SlotLists::load(reader, index.source(), [*value].into_iter(), false, || Ok(()))?;
                lists.live_count(reader, Some(live), true, true)?
            }
        };
    }
    Ok(sum)
}
