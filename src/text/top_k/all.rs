//! The best leaves that have all of the terms.

use super::any::bars;
use super::any::keep_allowed;
use super::any::sums_from;
use super::best::Best;
use super::list::List;
use super::plan::Order;
use super::plan::Plan;
use super::plan::Share;
use super::room::Room;
use super::segment::WINDOW_ORDINALS;
use super::segment::Window;
use crate::error::Result;
use crate::kernels::Candidate;
use crate::kernels::take_sums;
use crate::text::Scored;

/// Postings of a rare term that go through the other lists at once.
const BATCH: usize = 512;

/// The best leaves of `shares` that have all terms of `plan`: best first, ties to the lower id.
///
/// # Errors
///
/// `Corrupt` if a list is damaged; `Cancelled`, `DeadlineExceeded`.
pub fn search_all(plan: &Plan<'_>, shares: &mut [Share<'_>]) -> Result<Vec<Scored>> {
    let leaves = shares.iter().map(|share| share.segment.leaves.len()).sum();
    let mut best = plan.best(leaves);
    let mut room = Room::take();
    for share in shares {
        if let Some(terms) = by_term(plan, share) {
            Search::new(plan, share, terms, &mut best, &mut room).run()?;
        }
    }
    room.give_back();
    Ok(best.into_sorted())
}

/// A term's lists: of bodies, of titles, or both, by their places.
#[derive(Clone, Copy)]
struct Term {
    body: Option<usize>,
    title: Option<usize>,
}

impl Term {
    fn lists(self) -> impl Iterator<Item = usize> {
        self.body.into_iter().chain(self.title)
    }
}

/// The terms, the rarest first; `None` if one is not in the segment.
fn by_term(plan: &Plan<'_>, share: &Share<'_>) -> Option<Vec<Term>> {
    let order = Order::of(share);
    let mut terms = Vec::new();
    for term in 0..plan.term_count() {
        let term = Term { body: order.place(2 * term), title: order.place(2 * term + 1) };
        terms.push((term.lists().map(|at| share.lists[at].count()).sum::<usize>(), term));
        term.lists().next()?;
    }
    terms.sort_by_key(|(count, _)| *count);
    Some(terms.into_iter().map(|(_, term)| term).collect())
}

struct Search<'s, 'a> {
    plan: &'s Plan<'s>,
    share: &'s mut Share<'a>,
    best: &'s mut Best,
    room: &'s mut Room,
    order: Order,
    terms: Vec<Term>,
    /// What the terms from each on can add together, one more than there are terms.
    rest: Vec<u32>,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(
        plan: &'s Plan<'s>,
        share: &'s mut Share<'a>,
        terms: Vec<Term>,
        best: &'s mut Best,
        room: &'s mut Room,
    ) -> Self {
        let most = |term: &Term| term.lists().map(|at| u32::from(share.lists[at].most)).sum();
        let rest = sums_from(terms.iter().map(most));
        let order = Order::of(share);
        Self { plan, share, best, room, order, terms, rest }
    }

    fn run(mut self) -> Result<()> {
        let range = self.share.segment.range.clone();
        let Some(rarest) = self.terms.first().copied() else { return Ok(()) };
        if range.is_empty() || self.rest.first() < Some(&self.best.bar) {
            return Ok(());
        }
        for at in rarest.lists() {
            self.share.lists[at].open()?;
        }
        if let Term { body: Some(at), title: None } = rarest
            && let Some(ordinals) = self.share.lists[at].ordinals()
        {
            let ordinals = ordinals.to_vec();
            for batch in ordinals.chunks(BATCH) {
                self.plan.options.go_on()?;
                let segment = &self.share.segment;
                let allowed = batch.iter().copied().filter(|ordinal| segment.allows(*ordinal));
                self.room.candidates.clear();
                self.room.candidates.extend(allowed.map(|ordinal| Candidate { ordinal, bound: 0 }));
                self.narrow(0)?;
            }
            return Ok(());
        }
        let mut base = range.start / 256 * 256;
        let last = range.end.div_ceil(256).saturating_mul(256);
        while base < last {
            self.plan.options.go_on()?;
            let end = base.saturating_add(WINDOW_ORDINALS).min(last);
            self.window(base, end, rarest)?;
            base = end;
        }
        Ok(())
    }

    /// Finds the leaves of a window that have the rarest term, and all others.
    fn window(&mut self, base: u32, end: u32, rarest: Term) -> Result<()> {
        let Self { plan, share, best, room, terms, .. } = self;
        let Share { segment, lists } = &mut **share;
        let window = Window::new(segment, base, end, &mut room.padded);
        let mut postings = 0;
        for at in rarest.lists() {
            postings += lists[at].enter(&window);
        }
        if postings == 0 {
            return Ok(());
        }
        let others = terms.iter().skip(1).flat_map(|term| term.lists());
        let bars = bars(best.bar, &window, others.map(|at| &lists[at]));
        let is_picky = segment.allowed(base, &mut room.words);
        room.candidates.clear();
        let gathered = match rarest {
            Term { body: Some(at), title: None } => {
                let values = plan.values(lists[at].table);
                lists[at].gather(&window, values, &bars, &mut room.rows, &mut room.candidates)
            }
            _ => false,
        };
        if gathered {
            if is_picky {
                keep_allowed(&mut room.candidates, base, &room.words);
            }
        } else {
            for at in rarest.lists() {
                lists[at].add(&window, plan.values(lists[at].table), &mut room.sums, &mut room.rows);
            }
            let words = is_picky.then_some(room.words.as_slice());
            let buckets = window.buckets();
            take_sums(&mut room.sums[..buckets * 256], &bars[..buckets], base, words, &mut room.candidates);
        }
        self.narrow(1)
    }

    /// Keeps of the candidates those that have the terms from `first` on and may be among the best, and takes
    /// these in.
    fn narrow(&mut self, first: usize) -> Result<()> {
        let Self { plan, share, best, room, terms, rest, order } = self;
        let Share { segment, lists } = &mut **share;
        let candidates = &mut room.candidates;
        for (term, rest) in terms.iter().zip(&rest[1..]).skip(first) {
            let need = u16::try_from(best.bar.saturating_sub(*rest)).unwrap_or(u16::MAX);
            let one = |list: &mut List<'_>, need, must, candidates: &mut Vec<Candidate>| {
                list.narrow(segment.classes, plan.values(list.table), need, must, candidates)
            };
            if let Term { body: Some(body), title: Some(title) } = *term {
                // In either: neither drops any, so that all keep their places.
                let before: Vec<u16> = candidates.iter().map(|candidate| candidate.bound).collect();
                one(&mut lists[body], 0, false, candidates)?;
                one(&mut lists[title], 0, false, candidates)?;
                let mut before = before.into_iter();
                candidates.retain(|candidate| {
                    let has = before.next().is_some_and(|before| candidate.bound > before);
                    has && candidate.bound >= need
                });
            } else {
                for at in term.lists() {
                    one(&mut lists[at], need, true, candidates)?;
                }
            }
        }
        candidates.sort_unstable_by(|a, b| b.bound.cmp(&a.bound).then(a.ordinal.cmp(&b.ordinal)));
        plan.take_in(share, order, candidates, best)
    }
}
