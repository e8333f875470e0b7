//! Where what may stand in one place of a query is, in one segment.

use std::cell::OnceCell;
use std::ops::Range;

use super::bm25::headed;
use super::index::TextIndex;
use super::live::Live;
use super::reader::In;
use super::reader::SegmentReader;
use super::reader::TermPositions;
use super::reader::TermPostings;
use super::source::PartSource;
use crate::error::Result;
use crate::format::text::Decoded;
use crate::format::text::Place;
use crate::format::text::PostingList;
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
    /// The positions of each term, once they were needed.
    positions: Vec<OnceCell<TermPositions>>,
    pub runs: Runs,
}

/// A slot whose list is at hand.
pub(super) struct OpenSlot<'a> {
    lists: &'a SlotLists,
    reader: &'a SegmentReader,
    /// If it is a single term, that and its list.
    single: Option<(&'a TermPostings, PostingList<'a>)>,
}

/// A set of leaves: a bit for each ordinal from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'a> {
    pub first: u32,
    pub words: &'a [u64],
}

/// Positions in one leaf after the other.
#[derive(Default)]
pub(super) struct Places {
    ends: Vec<usize>,
    all: Vec<u32>,
}

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
            if terms.len().is_multiple_of(64) {
                go_on()?;
            }
            terms.push(reader.postings_at(source, value)?);
        }
        let is_stored = matches!(terms.as_slice(), [one] if one.body_count() >= STORED_FROM);
        for (at, term) in terms.iter().enumerate() {
            if at.is_multiple_of(64) {
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
        let positions = terms.iter().map(|_| OnceCell::new()).collect();
        Ok(Self { terms, bodies: Some(bodies).filter(|_| !is_stored), headings, holders, positions, runs })
    }

    /// How many leaves have it in their own text, or more.
    pub fn body_count(&self) -> usize {
        self.bodies
            .as_ref()
            .map_or_else(|| self.terms.iter().map(|term| term.body_count() as usize).sum(), Vec::len)
    }

    /// The slot with its list at hand.
    pub fn open<'a>(&'a self, reader: &'a SegmentReader) -> Result<OpenSlot<'a>> {
        let single = match self.terms.as_slice() {
            [one] => Some((one, reader.body_list(one)?)),
            _ => None,
        };
        Ok(OpenSlot { lists: self, reader, single })
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
            let everything = vec![u64::MAX; found.len()];
            let all = Candidates { first: 0, words: &everything };
            let slot = self.open(reader)?;
            slot.bodies_in(0..leaves, all, |ordinal, _| set_range(&mut found, ordinal..ordinal + 1))?;
        }
        if title {
            self.runs.iter().for_each(|(first, end, _)| set_range(&mut found, *first..*end));
        }
        let alive = |at: usize| live.map_or(u64::MAX, |live| live.leaf_words().get(at).copied().unwrap_or(0));
        Ok(found.iter().enumerate().map(|(at, word)| u64::from((word & alive(at)).count_ones())).sum())
    }

    /// Puts into `out`, in place of what it had, its positions in the node of `which` with ordinal `ordinal`,
    /// ascending.
    pub fn positions_of(
        &self,
        reader: &SegmentReader,
        source: &dyn PartSource,
        (which, ordinal): (In, u32),
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        let mut of_term = Vec::new();
        let mut add = |at: usize| -> Result<()> {
            if let Some((term, positions)) = self.term(at, reader, source)? {
                positions_of(reader, term, positions, (which, ordinal), &mut of_term)?;
                out.extend_from_slice(&of_term);
            }
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

    /// Term `at` with its positions.
    fn term(
        &self,
        at: usize,
        reader: &SegmentReader,
        source: &dyn PartSource,
    ) -> Result<Option<(&TermPostings, &TermPositions)>> {
        let (Some(term), Some(cell)) = (self.terms.get(at), self.positions.get(at)) else { return Ok(None) };
        if cell.get().is_none() {
            // It is empty: there is one thread.
            let _ = cell.set(reader.positions(source, term)?);
        }
        Ok(cell.get().map(|positions| (term, positions)))
    }
}

impl OpenSlot<'_> {
    /// See [`SlotLists::body_count`].
    pub fn body_count(&self) -> usize {
        self.lists.body_count()
    }

    /// Gives the leaves of `within` among `candidates` that have it in their own text, ascending, with how often.
    pub fn bodies_in(
        &self,
        within: Range<u32>,
        candidates: Candidates<'_>,
        mut each: impl FnMut(u32, u32),
    ) -> Result<()> {
        if let Some(bodies) = &self.lists.bodies {
            let first = bodies.partition_point(|(ordinal, _)| *ordinal < within.start);
            let rest = bodies.get(first..).unwrap_or_default().iter();
            let inside = rest.take_while(|(ordinal, _)| *ordinal < within.end);
            inside
                .filter(|(ordinal, _)| candidates.has(*ordinal))
                .for_each(|(ordinal, freq)| each(*ordinal, *freq));
            return Ok(());
        }
        let Some((term, list)) = &self.single else { return Ok(()) };
        let wanted = |_, first: u32, last: u32| candidates.has_any(first.max(within.start), last);
        let done = list.groups_in(within.clone(), wanted, |_, ids, freqs| {
            for (id, freq) in ids.iter().zip(freqs) {
                if within.contains(id) && candidates.has(*id) {
                    each(*id, *freq);
                }
            }
        });
        done.map_err(|damage| self.reader.body_damage(term, damage))
    }

    /// Puts into `out`, in place of what it had, the positions in the own texts of `leaves`, which all have it and
    /// ascend.
    pub fn places(&self, source: &dyn PartSource, leaves: &[u32], out: &mut Places) -> Result<()> {
        out.ends.clear();
        out.all.clear();
        let mut of_one = Vec::new();
        let Some((term, list)) = &self.single else {
            for leaf in leaves {
                self.lists.positions_of(self.reader, source, (In::Bodies, *leaf), &mut of_one)?;
                out.push(&of_one);
            }
            return Ok(());
        };
        let Some((_, positions)) = self.lists.term(0, self.reader, source)? else { return Ok(()) };
        let positions = self.reader.body_positions(term, positions)?;
        let wanted = |_, first: u32, last: u32| {
            let next = leaves.partition_point(|leaf| *leaf < first);
            leaves.get(next).is_some_and(|leaf| *leaf <= last)
        };
        let (Some(lowest), Some(highest)) = (leaves.first(), leaves.last()) else { return Ok(()) };
        let mut failed = Ok(());
        let mut left = leaves;
        let done = list.groups_in(*lowest..highest + 1, wanted, |group, ids, freqs| {
            let mut before = 0_u64;
            let mut add = || -> Decoded<()> {
                let group = positions.group(group)?;
                for (id, freq) in ids.iter().zip(freqs) {
                    if left.first() == Some(id) {
                        group.positions(before, *freq, &mut of_one)?;
                        out.push(&of_one);
                        left = left.get(1..).unwrap_or_default();
                    }
                    before += u64::from(*freq);
                }
                Ok(())
            };
            if failed.is_ok() {
                failed = add();
            }
        });
        done.map_err(|damage| self.reader.body_damage(term, damage))?;
        failed.map_err(|damage| self.reader.positions_damage(In::Bodies, term, damage))
    }
}

impl Candidates<'_> {
    fn has(&self, ordinal: u32) -> bool {
        let local = ordinal.wrapping_sub(self.first);
        self.words.get(local as usize / 64).is_some_and(|word| (word >> (local % 64)) & 1 == 1)
    }

    /// Whether there is one from `first`, which is not below its first, to `last`; or one near.
    fn has_any(&self, first: u32, last: u32) -> bool {
        let place = |ordinal: u32| ordinal.saturating_sub(self.first) as usize / 64;
        let (from, to) = (place(first), place(last).saturating_add(1).min(self.words.len()));
        self.words.get(from..to).is_some_and(|words| words.iter().any(|word| *word != 0))
    }
}

impl Places {
    fn push(&mut self, positions: &[u32]) {
        self.all.extend_from_slice(positions);
        self.ends.push(self.all.len());
    }

    /// Those in leaf `at` of the leaves that were asked for.
    pub fn get(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.all.get(start..end).unwrap_or_default()
    }
}

/// Puts into `out`, in place of what it had, the positions of `term`, which are `positions`, in the node of `which`
/// with ordinal `ordinal`; none if it is not there.
fn positions_of(
    reader: &SegmentReader,
    term: &TermPostings,
    positions: &TermPositions,
    (which, ordinal): (In, u32),
    out: &mut Vec<u32>,
) -> Result<()> {
    out.clear();
    let (list, positions) = match which {
        In::Bodies => (reader.body_list(term)?, reader.body_positions(term, positions)?),
        In::Headings => (reader.heading_list(term)?, reader.heading_positions(term, positions)?),
    };
    let found = list.find(ordinal).map_err(|damage| reader.list_damage(which, term, damage))?;
    let Some(found) = found else { return Ok(()) };
    let group = positions.group(found.group);
    group
        .and_then(|group| group.positions(found.before, found.term_freq, out))
        .map_err(|damage| reader.positions_damage(which, term, damage))
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
