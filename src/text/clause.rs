//! The clauses of a query with their lists: where each term, group and phrase is.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::bm25::headed;
use super::expand;
use super::expand::MAX_PREFIX_TERMS;
use super::expand::TermPlaces;
use super::index::TextIndex;
use super::lists::Runs;
use super::lists::SlotLists;
use super::lists::SlotPositions;
use super::phrase::PhraseShape;
use super::query::QueryField;
use super::query::compile::Clause;
use super::query::compile::Compiled;
use super::query::compile::Want;
use super::reader::In;
use super::reader::PartSource;
use super::reader::SegmentReader;
use super::top_k::SearchOptions;
use crate::error::Result;

/// Terms that a word within a phrase stands for, at most: those in the most leaves.
pub const MAX_PHRASE_TERMS: usize = 1024;

/// A clause with its lists.
pub(super) struct LoadedClause {
    pub boost: f32,
    /// What an occurrence in a leaf's own text counts, and what one in a title above it.
    pub fields: (f64, f64),
    /// For each slot its terms.
    pub terms: Vec<Vec<String>>,
    /// For each segment its lists.
    pub segments: Vec<ClauseLists>,
    shape: PhraseShape,
}

/// A clause in one segment.
pub(super) struct ClauseLists {
    slots: Vec<SlotLists>,
    /// Leaves below titles that have the clause.
    pub runs: Runs,
}

/// The clauses of `compiled` with their lists in every segment of `index`.
pub(super) fn load(
    index: &TextIndex,
    compiled: &Compiled,
    options: &SearchOptions<'_>,
) -> Result<Vec<LoadedClause>> {
    let mut expansions = Expansions { index, options, known: HashMap::new() };
    compiled.clauses.iter().map(|clause| LoadedClause::load(clause, &mut expansions)).collect()
}

/// What words stand for, each looked up once.
struct Expansions<'a> {
    index: &'a TextIndex,
    options: &'a SearchOptions<'a>,
    known: HashMap<(Want, usize), Rc<Vec<TermPlaces>>>,
}

impl Expansions<'_> {
    /// The terms that may stand for `want`.
    fn of(&mut self, want: &Want, in_phrase: bool) -> Result<Vec<TermPlaces>> {
        let limit = if in_phrase { MAX_PHRASE_TERMS } else { MAX_PREFIX_TERMS };
        let (Self { index, options, .. }, mut key) = (&*self, want.clone());
        let only = match &mut key {
            Want::Term(term) => return Ok(vec![expand::exact(index, term)]),
            Want::Fuzzy { at, .. } => at.take(),
            Want::Prefix { .. } => None,
        };
        let key = (key, limit);
        let all = if let Some(all) = self.known.get(&key) {
            Rc::clone(all)
        } else {
            let all = match &key.0 {
                Want::Term(_) => Vec::new(),
                Want::Prefix { start, whole } => {
                    let mut all = expand::beginning(index, start, limit, options)?;
                    all.extend(whole.iter().map(|whole| expand::exact(index, whole)));
                    all
                }
                Want::Fuzzy { word, distance, exact, .. } => {
                    expand::near(index, word, *distance, *exact, options)?
                }
            };
            let all = Rc::new(all);
            self.known.insert(key, Rc::clone(&all));
            all
        };
        Ok(all.iter().filter(|term| only.is_none_or(|only| only == term.distance)).cloned().collect())
    }
}

impl LoadedClause {
    fn load(clause: &Clause, expansions: &mut Expansions<'_>) -> Result<Self> {
        let in_phrase = clause.slots.len() > 1;
        let slots: Result<Vec<Vec<TermPlaces>>> =
            clause.slots.iter().map(|slot| expansions.of(&slot.want, in_phrase)).collect();
        let slots = slots?;
        let (index, options) = (expansions.index, expansions.options);
        let terms: Vec<Vec<String>> =
            slots.iter().map(|terms| terms.iter().map(|found| found.term.clone()).collect()).collect();
        let is_shared = |a: usize, b: usize| match (terms.get(a), terms.get(b)) {
            (Some(a), Some(b)) => a.iter().any(|term| b.contains(term)),
            _ => false,
        };
        let offsets = clause.slots.iter().map(|slot| slot.offset).collect();
        let shape = PhraseShape::new(offsets, clause.slop, is_shared);
        let weights = options.weights;
        let fields = (
            if clause.field == QueryField::Title { 0.0 } else { f64::from(weights.body) },
            if clause.field == QueryField::Body { 0.0 } else { f64::from(weights.title) },
        );
        let mut segments = Vec::with_capacity(index.segments().len());
        for (at, reader) in index.segments().iter().enumerate() {
            options.go_on()?;
            let mut lists = Vec::with_capacity(slots.len());
            for terms in &slots {
                let here = terms.iter().flat_map(|term| &term.places).filter(|(segment, _)| *segment == at);
                let values = here.map(|(_, value)| *value);
                lists.push(SlotLists::load(reader, index.source(), values, in_phrase, || options.go_on())?);
            }
            segments.push(ClauseLists::new(lists, &shape, reader, index.source())?);
        }
        Ok(Self { boost: clause.boost, fields, terms, segments, shape })
    }

    /// For each slot how many live leaves have it in the fields that count.
    pub fn slot_leaves(&self, index: &TextIndex) -> Result<Vec<u32>> {
        let mut counts = vec![0_u64; self.terms.len()];
        let (body, title) = (self.fields.0 > 0.0, self.fields.1 > 0.0);
        for ((reader, live), lists) in index.segments_with_live().zip(&self.segments) {
            for (count, slot) in counts.iter_mut().zip(&lists.slots) {
                *count += slot.live_count(reader, live, body, title)?;
            }
        }
        Ok(counts.into_iter().map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect())
    }
}

impl ClauseLists {
    fn new(
        slots: Vec<SlotLists>,
        shape: &PhraseShape,
        reader: &SegmentReader,
        source: &dyn PartSource,
    ) -> Result<Self> {
        let mut lists = Self { slots, runs: Runs::new() };
        if let [one] = lists.slots.as_mut_slice() {
            lists.runs = std::mem::take(&mut one.runs);
            one.runs.clone_from(&lists.runs);
            return Ok(lists);
        }
        let Some((rarest, others)) = lists.by_headings() else { return Ok(lists) };
        let is_everywhere = |inner: &u32| {
            others.iter().all(|slot| slot.headings().binary_search_by_key(inner, |(at, _)| *at).is_ok())
        };
        let titles: Vec<u32> = rarest.headings().iter().map(|(at, _)| *at).filter(is_everywhere).collect();
        let mut matcher = Matcher::new(&lists.slots, shape, reader, source);
        let mut found = Vec::new();
        for inner in titles {
            let occurrences = matcher.occurrences(In::Headings, inner)?;
            if occurrences > 0 {
                found.push((reader.leaves_below(inner), occurrences));
            }
        }
        let mut runs = Runs::new();
        headed(found, |first, end, freq| runs.push((first, end, freq)));
        runs.retain(|(first, end, _)| first < end);
        lists.runs = runs;
        Ok(lists)
    }

    /// The slot in the fewest titles, and the others.
    fn by_headings(&self) -> Option<(&SlotLists, Vec<&SlotLists>)> {
        let mut order: Vec<&SlotLists> = self.slots.iter().collect();
        order.sort_by_key(|slot| slot.headings().len());
        let (rarest, others) = order.split_first()?;
        Some((rarest, others.to_vec()))
    }

    pub fn is_phrase(&self) -> bool {
        self.slots.len() > 1
    }

    /// At most how many leaves have it in their own text, about.
    pub fn body_count(&self) -> usize {
        self.slots.iter().map(SlotLists::body_count).min().unwrap_or(0)
    }

    /// Puts into `out` the leaves of `within` among `candidates` (a bit for each ordinal from `within.start` on)
    /// that have the clause in their own text, ascending, with how often.
    pub fn bodies_in(
        &self,
        source: &dyn PartSource,
        reader: &SegmentReader,
        clause: &LoadedClause,
        within: Range<u32>,
        candidates: &[u64],
        out: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        let first = within.start;
        let has = |words: &[u64], ordinal: u32| {
            let local = ordinal.saturating_sub(first);
            words.get(local as usize / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
        };
        if let [one] = self.slots.as_slice() {
            return one.bodies_in(reader, within, |ordinal, freq| {
                if has(candidates, ordinal) {
                    out.push((ordinal, freq));
                }
            });
        }
        let mut order: Vec<&SlotLists> = self.slots.iter().collect();
        order.sort_by_key(|slot| slot.body_count());
        let mut left = candidates.to_vec();
        for slot in order {
            let mut here = vec![0_u64; left.len()];
            let mut any = false;
            slot.bodies_in(reader, within.clone(), |ordinal, _| {
                if has(&left, ordinal)
                    && let Some(word) = here.get_mut((ordinal - first) as usize / 64)
                {
                    *word |= 1 << ((ordinal - first) % 64);
                    any = true;
                }
            })?;
            left = here;
            if !any {
                return Ok(());
            }
        }
        let mut matcher = Matcher::new(&self.slots, &clause.shape, reader, source);
        for local in super::evaluate::ones(&left) {
            let occurrences = matcher.occurrences(In::Bodies, first + local)?;
            if occurrences > 0 {
                out.push((first + local, occurrences));
            }
        }
        Ok(())
    }
}

/// Counts a phrase in nodes that have all its words.
struct Matcher<'a> {
    slots: &'a [SlotLists],
    shape: &'a PhraseShape,
    reader: &'a SegmentReader,
    source: &'a dyn PartSource,
    known: Vec<SlotPositions>,
    positions: Vec<Vec<u32>>,
}

impl<'a> Matcher<'a> {
    fn new(
        slots: &'a [SlotLists],
        shape: &'a PhraseShape,
        reader: &'a SegmentReader,
        source: &'a dyn PartSource,
    ) -> Self {
        let known = slots.iter().map(|_| SlotPositions::default()).collect();
        Self { slots, shape, reader, source, known, positions: vec![Vec::new(); slots.len()] }
    }

    fn occurrences(&mut self, which: In, ordinal: u32) -> Result<u32> {
        for ((slot, known), positions) in self.slots.iter().zip(&mut self.known).zip(&mut self.positions) {
            slot.positions(self.reader, self.source, (which, ordinal), known, positions)?;
        }
        Ok(self.shape.occurrences(&self.positions))
    }
}
