//! The best leaves that have any of the terms.

use super::best::Best;
use super::list::List;
use super::plan::Order;
use super::plan::Plan;
use super::plan::Share;
use super::room::Room;
use super::score::Lower;
use super::segment::BUCKETS;
use super::segment::WINDOW;
use super::segment::WINDOW_ORDINALS;
use super::segment::Window;
use super::segment::Words;
use crate::error::Result;
use crate::kernels::Candidate;
use crate::kernels::take_sums;
use crate::text::Scored;

/// Leaves scored before the first window, to begin with a bar.
const PRIMED: usize = 64;

/// Ordinals of the first window if there is no bar yet.
const FIRST_STEP: u32 = 1024;

/// The best leaves of `shares` for `plan`: best first, ties to the lower id.
///
/// # Errors
///
/// `Corrupt` if a list is damaged; `Cancelled`, `DeadlineExceeded`.
pub fn search_any(plan: &Plan<'_>, shares: &mut [Share<'_>]) -> Result<Vec<Scored>> {
    let leaves = shares.iter().map(|share| share.segment.leaves.len()).sum();
    let mut best = plan.best(leaves);
    let mut room = Room::take();
    for share in shares {
        // The lists that can add most come first; those behind only add to what these have found.
        share.lists.sort_by(|a, b| b.most.cmp(&a.most).then(a.table.cmp(&b.table)));
        Search::new(plan, share, &mut best, &mut room).run()?;
    }
    room.give_back();
    let mut found = best.into_sorted();
    found.retain(|scored| scored.score > 0.0);
    Ok(found)
}

struct Search<'s, 'a> {
    plan: &'s Plan<'s>,
    share: &'s mut Share<'a>,
    best: &'s mut Best,
    room: &'s mut Room,
    order: Order,
    /// What the lists from each on can add together, one more than there are lists.
    rest: Vec<u32>,
    lower: Option<Lower>,
    /// Leaves that may be among the best, not yet scored.
    pool: Vec<Candidate>,
    /// So many in the pool are looked through for a higher bar.
    enough: usize,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(plan: &'s Plan<'s>, share: &'s mut Share<'a>, best: &'s mut Best, room: &'s mut Room) -> Self {
        let rest = sums_from(share.lists.iter().map(|list| u32::from(list.most)));
        let order = Order::of(share);
        let lower = plan.lower(share);
        let enough = best.limit();
        let pool = std::mem::take(&mut room.pool);
        Self { plan, share, best, room, order, rest, lower, pool, enough }
    }

    fn run(mut self) -> Result<()> {
        self.windows()?;
        self.room.pool = self.pool;
        Ok(())
    }

    fn windows(&mut self) -> Result<()> {
        let range = self.share.segment.range.clone();
        if self.share.lists.is_empty() || range.is_empty() || self.rest.first() < Some(&self.best.bar) {
            return Ok(());
        }
        if self.best.bar == 0 {
            self.prime()?;
        }
        let mut step = if self.best.bar > 0 { WINDOW_ORDINALS } else { FIRST_STEP };
        let mut base = range.start / 256 * 256;
        let last = range.end.div_ceil(256).saturating_mul(256);
        while base < last {
            self.plan.options.go_on()?;
            let end = base.saturating_add(step).min(last);
            let bar = self.best.bar;
            let essential = self.rest.iter().position(|rest| *rest < bar).unwrap_or(self.share.lists.len());
            if essential == 0 {
                break;
            }
            self.window(base, end, essential)?;
            base = end;
            step = (step * 2).min(WINDOW_ORDINALS);
        }
        self.settle()
    }

    /// Finds the leaves of a window that may be among the best. Those have a posting in one of the `essential`
    /// first lists; all others together stay below the bar.
    fn window(&mut self, base: u32, end: u32, essential: usize) -> Result<()> {
        let Self { plan, share, best, room, rest, pool, .. } = self;
        let Share { segment, lists } = &mut **share;
        let (first, others) = lists.split_at_mut(essential);
        let window = Window::new(segment, base, end, &mut room.padded);
        let mut postings = 0;
        for list in &mut *first {
            list.open()?;
            postings += list.enter(&window);
        }
        if postings == 0 {
            return Ok(());
        }
        let bars = bars(best.bar, &window, others.iter());
        for list in &*first {
            list.add(&window, plan.values(list.table), &mut room.sums, &mut room.rows);
        }
        let candidates = &mut room.candidates;
        candidates.clear();
        let is_picky = segment.allowed(base, &mut room.words);
        let walks = !first.iter().any(List::is_dense) && postings < (end - base) as usize / 48;
        if walks {
            for list in &*first {
                list.sweep(&window, &mut room.sums, &bars, candidates);
            }
            if is_picky {
                keep_allowed(candidates, base, &room.words);
            }
        } else {
            let words = is_picky.then_some(room.words.as_slice());
            let buckets = window.buckets();
            take_sums(&mut room.sums[..buckets * 256], &bars[..buckets], base, words, candidates);
        }
        for (list, rest) in others.iter_mut().zip(&rest[essential + 1..]) {
            if candidates.is_empty() {
                break;
            }
            let need = u16::try_from(best.bar.saturating_sub(*rest)).unwrap_or(u16::MAX);
            list.narrow(segment.classes, plan.values(list.table), need, false, candidates)?;
        }
        pool.extend(candidates.iter().filter(|candidate| u32::from(candidate.bound) >= best.bar));
        if pool.len() >= self.enough {
            self.raise()?;
        }
        Ok(())
    }

    /// Raises the bar by what is in the pool, and drops what is below.
    fn raise(&mut self) -> Result<()> {
        let Some(lower) = &self.lower else { return self.settle() };
        let segment = &self.share.segment;
        let known =
            self.pool.iter().map(|candidate| lower.of(candidate.bound, segment.class(candidate.ordinal)));
        self.room.lowers.extend(known);
        self.best.raise(&mut self.room.lowers);
        self.pool.retain(|candidate| u32::from(candidate.bound) >= self.best.bar);
        self.enough = self.pool.len() + (self.best.limit() / 4).max(8);
        Ok(())
    }

    /// Scores what is in the pool, highest bounds first, until none is left that reaches the bar.
    fn settle(&mut self) -> Result<()> {
        let mut pool = std::mem::take(&mut self.pool);
        pool.sort_unstable_by(|a, b| b.bound.cmp(&a.bound).then(a.ordinal.cmp(&b.ordinal)));
        self.plan.take_in(self.share, &self.order, &pool, self.best)?;
        pool.clear();
        self.pool = pool;
        self.enough = (self.best.limit() / 4).max(8);
        Ok(())
    }

    /// Scores the first leaves of the lists that can add most, for a bar to begin with.
    fn prime(&mut self) -> Result<()> {
        let mut ordinals = Vec::new();
        let start = self.share.segment.range.start;
        for list in &mut self.share.lists {
            if list.is_dense() || ordinals.len() >= PRIMED {
                break;
            }
            list.open()?;
            list.head(start, PRIMED - ordinals.len(), &mut ordinals);
        }
        ordinals.sort_unstable();
        ordinals.dedup();
        // They come again in their windows: only the bar stays.
        let mut best = self.best.fresh();
        let candidates: Vec<Candidate> = ordinals
            .into_iter()
            .filter(|ordinal| self.share.segment.allows(*ordinal))
            .map(|ordinal| Candidate { ordinal, bound: u16::MAX })
            .collect();
        self.plan.take_in(self.share, &self.order, &candidates, &mut best)?;
        self.best.bar = self.best.bar.max(best.bar);
        Ok(())
    }
}

/// Keeps the candidates whose bits are set in `words`, those of the window from `base` on.
pub fn keep_allowed(candidates: &mut Vec<Candidate>, base: u32, words: &Words) {
    candidates.retain(|candidate| {
        let at = (candidate.ordinal - base) as usize % WINDOW;
        words[at / 64] >> (at % 64) & 1 == 1
    });
}

/// For each bucket of `window` what the sums must reach, if `others` may add to them what they can.
pub fn bars<'l, 'a: 'l>(
    bar: u32,
    window: &Window<'_>,
    others: impl Iterator<Item = &'l List<'a>>,
) -> [u16; BUCKETS] {
    let mut reach = [0; BUCKETS];
    for list in others {
        list.add_reach(window, &mut reach);
    }
    reach.map(|reach| u16::try_from(bar.saturating_sub(reach).max(1)).unwrap_or(u16::MAX))
}

/// The sums of `numbers` from each on; the last is 0.
pub fn sums_from(numbers: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
    let mut sums = vec![0];
    let mut sum = 0;
    for number in numbers.rev() {
        sum += number;
        sums.push(sum);
    }
    sums.reverse();
    sums
}
