//! Words that stand for several terms: those that go on, and those that are misspelt.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use fst::Automaton;
use fst::Streamer;
use levenshtein_automata::DFA;
use levenshtein_automata::Distance;
use levenshtein_automata::LevenshteinAutomatonBuilder;
use levenshtein_automata::SINK_STATE;

use super::index::TextIndex;
use super::lists::live_leaves;
use super::top_k::SearchOptions;
use crate::error::Result;
use crate::format::text::prefix;

/// Terms a word that goes on stands for, at most: those in the most leaves.
pub const MAX_PREFIX_TERMS: usize = 16_384;

/// Terms a fuzzy word stands for, at most: the nearest, and of equally near ones those in the most leaves.
pub const MAX_FUZZY_TERMS: usize = 64;

/// Keys between two looks at the clock.
const KEYS_A_CHECK: usize = 256;

/// A term, and where the dictionaries have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TermPlaces {
    pub term: String,
    /// Edits from the word that was asked for.
    pub distance: u8,
    /// For each segment that has it, its index and the dictionary's value.
    pub places: Vec<(usize, u64)>,
}

/// Keys of terms whose characters begin with some, and whose rest is near a word.
struct Near<'a> {
    /// The kind of the key and the characters that must be the same.
    head: &'a [u8],
    dfa: &'a DFA,
    most: u8,
}

#[derive(Clone, Copy)]
enum State {
    /// Bytes of the head passed.
    Head(usize),
    Tail(u32),
    Dead,
}

impl Near<'_> {
    fn after_head(&self, passed: usize) -> State {
        if passed == self.head.len() { State::Tail(self.dfa.initial_state()) } else { State::Head(passed) }
    }

    fn distance(&self, state: State) -> Option<u8> {
        match state {
            State::Tail(state) => match self.dfa.distance(state) {
                Distance::Exact(distance) => Some(distance).filter(|distance| *distance <= self.most),
                Distance::AtLeast(_) => None,
            },
            _ => None,
        }
    }
}

impl Automaton for Near<'_> {
    type State = State;

    fn start(&self) -> State {
        self.after_head(0)
    }

    fn is_match(&self, state: &State) -> bool {
        self.distance(*state).is_some()
    }

    fn can_match(&self, state: &State) -> bool {
        !matches!(state, State::Dead | State::Tail(SINK_STATE))
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        match state {
            State::Head(passed) if self.head.get(*passed) == Some(&byte) => self.after_head(passed + 1),
            State::Tail(state) => State::Tail(self.dfa.transition(*state, byte)),
            State::Head(_) | State::Dead => State::Dead,
        }
    }
}

/// The table that automata for `distance` are made from; a swap of neighbours is one edit.
fn builder(distance: u8) -> &'static LevenshteinAutomatonBuilder {
    static ONE: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
    static TWO: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
    match distance {
        0 | 1 => ONE.get_or_init(|| LevenshteinAutomatonBuilder::new(1, true)),
        _ => TWO.get_or_init(|| LevenshteinAutomatonBuilder::new(2, true)),
    }
}

/// The term `term`.
pub(super) fn exact(index: &TextIndex, term: &str) -> TermPlaces {
    let key = [&[prefix::TERM], term.as_bytes()].concat();
    let segments = index.segments().iter().enumerate();
    let places = segments.filter_map(|(at, reader)| Some((at, reader.dictionary().get(&key)?)));
    TermPlaces { term: term.to_owned(), distance: 0, places: places.collect() }
}

/// The terms that begin with `start`, ascending, of at most `limit` those in the most leaves.
pub(super) fn beginning(
    index: &TextIndex,
    start: &str,
    limit: usize,
    options: &SearchOptions<'_>,
) -> Result<Vec<TermPlaces>> {
    let whole = [char::from(prefix::TERM).to_string().as_str(), start].concat();
    let automaton = fst::automaton::Str::new(&whole).starts_with();
    collect(index, &automaton, |_| 0, limit, options)
}

/// The terms at most `distance` edits from `word` whose first `exact` characters are its own, ascending, of at
/// most `limit` the nearest, then those in the most leaves.
pub(super) fn near(
    index: &TextIndex,
    word: &str,
    distance: u8,
    exact: u32,
    options: &SearchOptions<'_>,
) -> Result<Vec<TermPlaces>> {
    let head_len = word.char_indices().nth(exact as usize).map_or(word.len(), |(at, _)| at);
    let (same, rest) = word.split_at(head_len);
    let head = [&[prefix::TERM], same.as_bytes()].concat();
    let dfa = builder(distance).build_dfa(rest);
    let near = Near { head: &head, dfa: &dfa, most: distance };
    let distance_of = |term: &str| match term.get(head_len..).map(|rest| dfa.eval(rest)) {
        Some(Distance::Exact(distance)) => distance,
        _ => u8::MAX,
    };
    collect(index, &near, distance_of, MAX_FUZZY_TERMS, options)
}

/// The terms that `automaton` accepts and some live leaf has.
fn collect<A: Automaton>(
    index: &TextIndex,
    automaton: &A,
    distance_of: impl Fn(&str) -> u8,
    limit: usize,
    options: &SearchOptions<'_>,
) -> Result<Vec<TermPlaces>> {
    let mut union = fst::map::OpBuilder::new();
    for reader in index.segments() {
        union.push(reader.dictionary().search(automaton));
    }
    let mut union = union.union();
    // The worst of those kept is on top: the farthest, then the rarest, then the last.
    let mut kept: BinaryHeap<(u8, Reverse<u64>, String, Vec<(usize, u64)>)> = BinaryHeap::new();
    let mut keys = 0;
    while let Some((key, found)) = union.next() {
        if keys % KEYS_A_CHECK == 0 {
            options.go_on()?;
        }
        keys += 1;
        let Some(term) = key.get(1..).and_then(|term| std::str::from_utf8(term).ok()) else { continue };
        let mut places: Vec<(usize, u64)> = found.iter().map(|found| (found.index, found.value)).collect();
        places.sort_unstable();
        let distance = distance_of(term);
        let leaves = live_leaves(index, &places)?;
        if leaves == 0 {
            continue;
        }
        kept.push((distance, Reverse(leaves), term.to_owned(), places));
        if kept.len() > limit {
            kept.pop();
        }
    }
    let mut terms: Vec<TermPlaces> =
        kept.into_iter().map(|(distance, _, term, places)| TermPlaces { term, distance, places }).collect();
    terms.sort_unstable_by(|a, b| a.term.cmp(&b.term));
    Ok(terms)
}
