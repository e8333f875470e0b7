//! One list of postings in a search: what it adds to a window, and what it adds to candidates.

use std::cell::RefCell;
use std::ops::Range;

use super::segment::BUCKETS;
use super::segment::Segment;
use super::segment::WINDOW;
use super::segment::Window;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::Bounds;
use crate::format::text::BucketList;
use crate::format::text::Damage;
use crate::format::text::DenseList;
use crate::format::text::Kind;
use crate::format::text::NO_CLASS;
use crate::format::text::PostingList;
use crate::format::text::TOP_BOUND;
use crate::format::text::TOP_FREQ;
use crate::format::text::nibble;
use crate::kernels;
use crate::kernels::Buckets;
use crate::kernels::Candidate;
use crate::kernels::VALUES;
use crate::kernels::Values;
use crate::text::SegmentReader;
use crate::text::TermPostings;

/// Leaves below inner nodes with a term in their titles, which occurs `freq` times above each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub start: u32,
    pub end: u32,
    pub freq: u32,
}

/// Postings unpacked: ordinals, and their frequencies up to 15 as bytes.
#[derive(Debug, Default)]
pub struct Sparse {
    ids: Vec<u32>,
    rows: Vec<u8>,
    /// The postings with a frequency from 15 on, ascending.
    high: Vec<(u32, u32)>,
}

thread_local! {
    /// Memory of lists that were unpacked, for the next ones: the system is slow to give as much each time.
    static SPARE: RefCell<Vec<(Vec<u32>, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// As many unpacked lists are kept for the next, and none of more postings.
const SPARE_LISTS: usize = 32;
const SPARE_POSTINGS: usize = 1 << 16;

impl Sparse {
    /// An empty one.
    fn new() -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        let (ids, rows) = spare.ok().flatten().unwrap_or_default();
        Self { ids, rows, high: Vec::new() }
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        if (1..=SPARE_POSTINGS).contains(&self.ids.capacity()) {
            self.ids.clear();
            self.rows.clear();
            let memory = (std::mem::take(&mut self.ids), std::mem::take(&mut self.rows));
            // At the end of a thread there is nobody to keep it for.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < SPARE_LISTS {
                    spare.push(memory);
                }
            });
        }
    }
}

#[derive(Debug)]
enum Source<'a> {
    /// Not yet unpacked.
    Packed(PostingList<'a>),
    Sparse(Sparse),
    Bucket(BucketList<'a>),
    Dense(DenseList<'a>),
    Runs(Vec<Run>),
}

/// Where a list is from.
pub type Origin<'a> = (&'a SegmentReader, &'a TermPostings);

/// A list of postings: of a term in the leaves' own texts, or in the titles above them.
pub struct List<'a> {
    /// Which of the query's tables of values it has.
    pub table: usize,
    /// The lowest length class for each frequency.
    pub bounds: Bounds,
    /// What a posting is worth at most.
    pub most: u16,
    /// What 256 256ths of a stored maximum are worth; `None` if the maxima do not hold.
    pub maxima_unit: Option<u32>,
    source: Source<'a>,
    origin: Option<Origin<'a>>,
    /// The postings within the window.
    span: Range<usize>,
}

impl<'a> List<'a> {
    /// The list of a term in the own texts of `segment`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a short list is damaged.
    pub fn of_bodies(
        table: usize,
        list: PostingList<'a>,
        segment: &Segment<'_>,
        origin: Option<Origin<'a>>,
    ) -> Result<Self> {
        let mut bounds = list.bounds().copied().unwrap_or([NO_CLASS; 16]);
        let source = match list.kind() {
            Kind::Short(_) => {
                let sparse = unpack(&list).map_err(|damage| blamed(origin, damage))?;
                for (id, row) in sparse.ids.iter().zip(&sparse.rows) {
                    let bound = &mut bounds[usize::from(row & 15)];
                    *bound = segment.class(*id).min(TOP_BOUND).min(*bound);
                }
                Source::Sparse(sparse)
            }
            Kind::Packed(_) => Source::Packed(list),
            Kind::Bucket(list) => Source::Bucket(list),
            Kind::Dense(list) => Source::Dense(list),
        };
        if !segment.is_full {
            // The bounds are of other lengths: all that is known is which frequencies there are.
            let lowest = segment.floors.iter().copied().min().unwrap_or(0).min(TOP_BOUND);
            for bound in bounds.iter_mut().filter(|bound| **bound != NO_CLASS) {
                *bound = lowest;
            }
        }
        Ok(Self { table, bounds, most: 0, maxima_unit: None, source, origin, span: 0..0 })
    }

    /// The list of a term in the titles above the leaves of `segment`.
    pub fn of_titles(table: usize, runs: Vec<Run>, segment: &Segment<'_>) -> Self {
        let mut bounds = [NO_CLASS; 16];
        for run in &runs {
            let buckets = run.start as usize / 256..(run.end as usize).div_ceil(256);
            let floors = segment.floors.get(buckets).unwrap_or_default();
            let floor = floors.iter().copied().min().unwrap_or(0);
            let bound = &mut bounds[run.freq.min(TOP_FREQ) as usize];
            *bound = floor.min(TOP_BOUND).min(*bound);
        }
        let source = Source::Runs(runs);
        Self { table, bounds, most: 0, maxima_unit: None, source, origin: None, span: 0..0 }
    }

    /// How many postings there are.
    pub fn count(&self) -> usize {
        match &self.source {
            Source::Packed(list) => list.count() as usize,
            Source::Sparse(sparse) => sparse.ids.len(),
            Source::Bucket(list) => list.low().len(),
            Source::Dense(list) => list.count() as usize,
            Source::Runs(runs) => runs.iter().map(|run| (run.end - run.start) as usize).sum(),
        }
    }

    /// Whether a window's postings cannot be walked twice, so that sums are looked through instead.
    pub const fn is_dense(&self) -> bool {
        matches!(self.source, Source::Dense(_) | Source::Runs(_))
    }

    /// Whether it has maxima for each 256 ordinals.
    pub fn maxima(&self) -> Option<&'a [u8]> {
        match &self.source {
            Source::Bucket(list) => Some(list.maxima()),
            Source::Dense(list) => Some(list.maxima()),
            _ => None,
        }
    }

    /// Unpacks the list if it is packed, so that it can be used.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged.
    pub fn open(&mut self) -> Result<()> {
        if let Source::Packed(list) = &self.source {
            self.source = Source::Sparse(unpack(list).map_err(|damage| blamed(self.origin, damage))?);
        }
        Ok(())
    }

    /// The ordinals, if the list is unpacked or short.
    pub fn ordinals(&self) -> Option<&[u32]> {
        match &self.source {
            Source::Sparse(sparse) => Some(&sparse.ids),
            _ => None,
        }
    }

    /// Moves on to `window`, which lies behind those before; how many postings it has there.
    pub fn enter(&mut self, window: &Window<'_>) -> usize {
        let after = self.span.end;
        self.span = match &self.source {
            Source::Packed(_) => 0..0,
            Source::Sparse(sparse) => {
                let from = after + gallop(sparse.ids.get(after..).unwrap_or_default(), window.base);
                from..from + gallop(sparse.ids.get(from..).unwrap_or_default(), window.end)
            }
            Source::Bucket(list) => {
                list.postings_of((window.base / 256) as usize, (window.end / 256) as usize)
            }
            Source::Dense(_) => window.base as usize..window.end as usize,
            Source::Runs(runs) => {
                let from = runs.partition_point(|run| run.end <= window.base);
                let to = runs.partition_point(|run| run.start < window.end);
                let span = from..to.max(from);
                let leaves = runs[span.clone()]
                    .iter()
                    .map(|run| (run.end.min(window.end) - run.start.max(window.base)) as usize);
                let count = leaves.sum();
                self.span = span;
                return count;
            }
        };
        self.span.len()
    }

    /// Adds what the postings within the window are worth.
    pub fn add(&self, window: &Window<'_>, values: &Values, sums: &mut [u16; WINDOW], rows: &mut Vec<u8>) {
        match &self.source {
            Source::Packed(_) => {}
            Source::Sparse(sparse) => {
                for (id, row) in sparse.ids[self.span.clone()].iter().zip(&sparse.rows[self.span.clone()]) {
                    let at = id.wrapping_sub(window.base) as usize % WINDOW;
                    add_to(&mut sums[at], values, *row, window.classes[at]);
                }
            }
            Source::Bucket(list) => {
                let mut low = list.low().get(self.span.clone()).unwrap_or_default();
                let mut rows = unpack_nibbles(list.nibbles(), &self.span, rows);
                let places =
                    sums.as_chunks_mut::<256>().0.iter_mut().zip(window.classes.as_chunks::<256>().0);
                let first = (window.base / 256) as usize;
                let mut before = self.span.start;
                for (bucket, (sums, classes)) in places.take(window.buckets()).enumerate() {
                    let next = list.offset(first + bucket + 1) as usize;
                    let (Some((own, rest)), Some((own_rows, rest_rows))) =
                        (low.split_at_checked(next - before), rows.split_at_checked(next - before))
                    else {
                        break;
                    };
                    for (byte, row) in own.iter().zip(own_rows) {
                        let at = usize::from(*byte);
                        add_to(&mut sums[at], values, *row, classes[at]);
                    }
                    (low, rows, before) = (rest, rest_rows, next);
                }
            }
            Source::Dense(list) => {
                let bytes = list.nibbles().get(self.span.start / 2..).unwrap_or_default();
                let pairs = sums.as_chunks_mut::<2>().0.iter_mut().zip(window.classes.as_chunks::<2>().0);
                let count = self.span.len() / 2;
                for (([low, high], [low_class, high_class]), byte) in pairs.zip(bytes).take(count) {
                    add_to(low, values, byte & 15, *low_class);
                    add_to(high, values, byte >> 4, *high_class);
                }
            }
            Source::Runs(runs) => {
                for run in &runs[self.span.clone()] {
                    let within = (run.start.max(window.base) - window.base) as usize
                        ..(run.end.min(window.end) - window.base) as usize;
                    let row = row_of(run.freq);
                    for (sum, class) in sums[within.clone()].iter_mut().zip(&window.classes[within]) {
                        add_to(sum, values, row, *class);
                    }
                }
            }
        }
    }

    /// Walks the postings within the window again, takes every sum that reaches the bar of its bucket, and sets
    /// the sums to 0.
    pub fn sweep(
        &self,
        window: &Window<'_>,
        sums: &mut [u16; WINDOW],
        bars: &[u16; BUCKETS],
        out: &mut Vec<Candidate>,
    ) {
        let from = out.len();
        out.resize(from + self.span.len(), Candidate::default());
        let slots = &mut out[from..];
        let mut kept = 0;
        // Every posting writes its slot, only those over the bar keep it: no branch to be guessed wrong.
        let mut take = |at: usize, sum: &mut u16, bar: u16| {
            if let Some(slot) = slots.get_mut(kept) {
                *slot = Candidate { ordinal: window.base + low_u32(at), bound: *sum };
            }
            kept += usize::from(*sum >= bar);
            *sum = 0;
        };
        match &self.source {
            Source::Sparse(sparse) => {
                for id in &sparse.ids[self.span.clone()] {
                    let at = id.wrapping_sub(window.base) as usize % WINDOW;
                    take(at, &mut sums[at], bars[at / 256]);
                }
            }
            Source::Bucket(list) => {
                let mut low = list.low().get(self.span.clone()).unwrap_or_default();
                let first = (window.base / 256) as usize;
                let mut before = self.span.start;
                let places = sums.as_chunks_mut::<256>().0.iter_mut().zip(bars);
                for (bucket, (sums, bar)) in places.take(window.buckets()).enumerate() {
                    let next = list.offset(first + bucket + 1) as usize;
                    let Some((own, rest)) = low.split_at_checked(next - before) else { break };
                    for byte in own {
                        take(bucket * 256 + usize::from(*byte), &mut sums[usize::from(*byte)], *bar);
                    }
                    (low, before) = (rest, next);
                }
            }
            Source::Packed(_) | Source::Dense(_) | Source::Runs(_) => {}
        }
        out.truncate(from + kept);
    }

    /// Puts every posting within the window that is worth the bar of its bucket behind `out`, in order; `false`
    /// if this kind of list is better added up.
    pub fn gather(
        &self,
        window: &Window<'_>,
        values: &Values,
        bars: &[u16; BUCKETS],
        rows: &mut Vec<u8>,
        out: &mut Vec<Candidate>,
    ) -> bool {
        let Source::Bucket(list) = &self.source else { return false };
        let from = out.len();
        out.resize(from + self.span.len(), Candidate::default());
        let slots = &mut out[from..];
        let mut kept = 0;
        let mut low = list.low().get(self.span.clone()).unwrap_or_default();
        let mut rows = unpack_nibbles(list.nibbles(), &self.span, rows);
        let first = (window.base / 256) as usize;
        let mut before = self.span.start;
        let places = (window.base..).step_by(256).zip(bars).zip(window.classes.as_chunks::<256>().0);
        for (bucket, ((base, bar), classes)) in places.take(window.buckets()).enumerate() {
            let next = list.offset(first + bucket + 1) as usize;
            let (Some((own, rest)), Some((own_rows, rest_rows))) =
                (low.split_at_checked(next - before), rows.split_at_checked(next - before))
            else {
                break;
            };
            for (byte, row) in own.iter().zip(own_rows) {
                let bound = value(values, *row, classes[usize::from(*byte)]);
                if let Some(slot) = slots.get_mut(kept) {
                    *slot = Candidate { ordinal: base | u32::from(*byte), bound };
                }
                kept += usize::from(bound >= *bar);
            }
            (low, rows, before) = (rest, rest_rows, next);
        }
        out.truncate(from + kept);
        true
    }

    /// Adds to `reach` what the list can add at most to a leaf of each bucket of the window.
    pub fn add_reach(&self, window: &Window<'_>, reach: &mut [u32; BUCKETS]) {
        let buckets = &mut reach[..window.buckets()];
        match (&self.source, self.maxima(), self.maxima_unit) {
            (_, Some(maxima), Some(unit)) => {
                let from = maxima.get((window.base / 256) as usize..).unwrap_or_default();
                for (reach, maximum) in buckets.iter_mut().zip(from) {
                    *reach += (((u32::from(*maximum) * unit) >> 8) + 1).min(u32::from(self.most));
                }
            }
            (Source::Runs(runs), _, _) => {
                let mut next = 0;
                let first = runs.partition_point(|run| run.end <= window.base);
                for run in runs[first..].iter().take_while(|run| run.start < window.end) {
                    let from = ((run.start.max(window.base) - window.base) / 256) as usize;
                    let to = ((run.end.min(window.end) - window.base) as usize).div_ceil(256);
                    for reach in &mut buckets[from.max(next)..to.max(next)] {
                        *reach += u32::from(self.most);
                    }
                    next = to.max(next);
                }
            }
            _ => {
                for reach in buckets {
                    *reach += u32::from(self.most);
                }
            }
        }
    }

    /// Adds to the bound of every candidate what its posting is worth, 0 if it has none, and keeps those that
    /// then reach `need`, in their order; with `must` only those with a posting.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn narrow(
        &mut self,
        classes: &[u8],
        values: &Values,
        need: u16,
        must: bool,
        candidates: &mut Vec<Candidate>,
    ) -> Result<()> {
        let Some(first) = candidates.first().map(|candidate| candidate.ordinal) else { return Ok(()) };
        self.open()?;
        let class = |ordinal: u32| classes.get(ordinal as usize).copied().unwrap_or(0);
        match &self.source {
            Source::Packed(_) => {}
            Source::Bucket(list) => {
                let list = Buckets {
                    coarse: list.coarse(),
                    fine: list.fine(),
                    low: list.low(),
                    nibbles: list.nibbles(),
                };
                kernels::narrow(&list, classes, values, need, must, candidates);
            }
            Source::Dense(list) => {
                let nibbles = list.nibbles();
                retain(candidates, need, must, |ordinal| {
                    value(values, nibble(nibbles, ordinal as usize), class(ordinal))
                });
            }
            // Candidates mostly ascend (a sweep gives an ascending run for each list): walk both, and start
            // again where they step back.
            Source::Sparse(sparse) => {
                let mut at = sparse.ids.partition_point(|id| *id < first);
                retain(candidates, need, must, |ordinal| {
                    if at > 0 && sparse.ids[at - 1] >= ordinal {
                        at = sparse.ids.partition_point(|id| *id < ordinal);
                    }
                    while sparse.ids.get(at).is_some_and(|id| *id < ordinal) {
                        at += 1;
                    }
                    match (sparse.ids.get(at), sparse.rows.get(at)) {
                        (Some(id), Some(row)) if *id == ordinal => value(values, *row, class(ordinal)),
                        _ => 0,
                    }
                });
            }
            Source::Runs(runs) => {
                let mut at = runs.partition_point(|run| run.end <= first);
                retain(candidates, need, must, |ordinal| {
                    if at > 0 && runs[at - 1].end > ordinal {
                        at = runs.partition_point(|run| run.end <= ordinal);
                    }
                    while runs.get(at).is_some_and(|run| run.end <= ordinal) {
                        at += 1;
                    }
                    match runs.get(at) {
                        Some(run) if run.start <= ordinal => value(values, row_of(run.freq), class(ordinal)),
                        _ => 0,
                    }
                });
            }
        }
        Ok(())
    }

    /// The frequency of leaf `ordinal`, 0 if it has no posting.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged.
    pub fn freq(&self, ordinal: u32) -> Result<u32> {
        let high = |found: Option<u32>| {
            let why = "a frequency from 15 on has no escape";
            found.ok_or_else(|| blamed(self.origin, Damage { field: "escapes", offset: 0, why }))
        };
        match &self.source {
            Source::Packed(list) => {
                let found = list.find(ordinal).map_err(|damage| blamed(self.origin, damage))?;
                Ok(found.map_or(0, |found| found.term_freq))
            }
            Source::Sparse(sparse) => {
                let Ok(at) = sparse.ids.binary_search(&ordinal) else { return Ok(0) };
                match sparse.rows.get(at) {
                    Some(15) => {
                        let at = sparse.high.binary_search_by_key(&ordinal, |(id, _)| *id).ok();
                        high(at.map(|at| sparse.high[at].1))
                    }
                    row => Ok(row.copied().map_or(0, u32::from)),
                }
            }
            Source::Bucket(list) => match list.index_of(ordinal).map(|at| nibble(list.nibbles(), at)) {
                Some(15) => high(list.escapes().get(ordinal)),
                row => Ok(row.map_or(0, u32::from)),
            },
            Source::Dense(list) => match nibble(list.nibbles(), ordinal as usize) {
                15 => high(list.escapes().get(ordinal)),
                row => Ok(u32::from(row)),
            },
            Source::Runs(runs) => {
                let at = runs.partition_point(|run| run.end <= ordinal);
                Ok(runs.get(at).filter(|run| run.start <= ordinal).map_or(0, |run| run.freq))
            }
        }
    }

    /// The first ordinals from `start` on, at most `count`; none of a list that is dense.
    pub fn head(&self, start: u32, count: usize, out: &mut Vec<u32>) {
        match &self.source {
            Source::Sparse(sparse) => {
                let from = sparse.ids.partition_point(|id| *id < start);
                out.extend(sparse.ids[from..].iter().take(count));
            }
            Source::Bucket(list) => {
                let mut left = count;
                for bucket in (start / 256) as usize..list.maxima().len() {
                    let low = list.low().get(list.postings_of(bucket, bucket + 1)).unwrap_or_default();
                    let first = low_u32(bucket * 256);
                    out.extend(low.iter().take(left).map(|byte| first | u32::from(*byte)));
                    left -= low.len().min(left);
                    if left == 0 {
                        break;
                    }
                }
            }
            Source::Packed(_) | Source::Dense(_) | Source::Runs(_) => {}
        }
    }
}

fn blamed(origin: Option<Origin<'_>>, damage: Damage) -> Error {
    let Damage { field, offset, why } = damage;
    origin.map_or_else(
        || Error::invalid(format!("a posting list is damaged: field {field} at byte {offset}: {why}")),
        |(reader, postings)| reader.body_damage(postings, damage),
    )
}

fn unpack(list: &PostingList<'_>) -> std::result::Result<Sparse, Damage> {
    let mut sparse = Sparse::new();
    sparse.ids.reserve(list.count() as usize);
    sparse.rows.reserve(list.count() as usize);
    list.blocks(
        |_, _| true,
        |ids, freqs| {
            sparse.ids.extend_from_slice(ids);
            sparse.rows.extend(freqs.iter().map(|freq| row_of(*freq)));
            if freqs.iter().fold(0, |most, freq| *freq.max(&most)) >= TOP_FREQ {
                let high = ids.iter().copied().zip(freqs.iter().copied());
                sparse.high.extend(high.filter(|(_, freq)| *freq >= TOP_FREQ));
            }
        },
    )?;
    Ok(sparse)
}

/// The nibbles of the postings `span`, as bytes, which lie in `rows`.
fn unpack_nibbles<'r>(nibbles: &[u8], span: &Range<usize>, rows: &'r mut Vec<u8>) -> &'r [u8] {
    let bytes = nibbles.get(span.start / 2..span.end.div_ceil(2)).unwrap_or_default();
    rows.resize(2 * bytes.len(), 0);
    for ([low, high], byte) in rows.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
    rows.get(span.start % 2..).unwrap_or_default()
}

/// How many of `ids`, which ascend, are below `end`; fast if few are.
fn gallop(ids: &[u32], end: u32) -> usize {
    let mut step = 8;
    while ids.get(step).is_some_and(|id| *id < end) {
        step *= 2;
    }
    let from = if step == 8 { 0 } else { step / 2 };
    let near = ids.get(from..ids.len().min(step + 1)).unwrap_or_default();
    from + near.partition_point(|id| *id < end)
}

#[inline]
fn add_to(sum: &mut u16, values: &Values, row: u8, class: u8) {
    // Sums fit; but a damaged list may name a leaf twice.
    *sum = sum.wrapping_add(value(values, row, class));
}

#[inline]
fn value(values: &Values, row: u8, class: u8) -> u16 {
    values[(usize::from(row & 15) << 8 | usize::from(class)) % VALUES]
}

fn row_of(freq: u32) -> u8 {
    let [row, ..] = freq.min(TOP_FREQ).to_le_bytes();
    row
}

#[inline]
fn retain(candidates: &mut Vec<Candidate>, need: u16, must: bool, mut value: impl FnMut(u32) -> u16) {
    let mut kept = 0;
    for at in 0..candidates.len() {
        let Candidate { ordinal, bound } = candidates[at];
        let more = value(ordinal);
        let bound = bound.saturating_add(more);
        candidates[kept] = Candidate { ordinal, bound };
        kept += usize::from((bound >= need) & (!must | (more > 0)));
    }
    candidates.truncate(kept);
}

/// A number known to fit.
#[expect(clippy::cast_possible_truncation, reason = "places within a window, buckets of a segment")]
const fn low_u32(value: usize) -> u32 {
    value as u32
}
