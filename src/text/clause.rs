//! The clauses of a query with their lists: where each term, group and phrase is.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::bm25::headed;
use super::expand;
use super::expand::MAX_PREFIX_TERMS;
use super::expand::TermPlaces;
use super::index::TextIndex;
use super::lists::Candidates;
use super::lists::OpenSlot;
use super::lists::Places;
use super::lists::Runs;
use super::lists::SlotLists;
use super::phrase::PhraseShape;
use super::query::QueryField;
use super::query::compile::Clause;
use super::query::compile::Compiled;
use super::query::compile::Want;
use super::reader::In;
use super::reader::SegmentReader;
use super::source::PartSource;
use super::top_k::FieldWeights;
use super::top_k::SearchOptions;
use crate::error::Error;
use crate::error::Result;

/// Terms that a word within a phrase stands for, at most: those in the most leaves.
pub const MAX_PHRASE_TERMS: usize = 1024;

/// Terms that all words of a query together stand for, at most.
pub const MAX_EXPANDED_TERMS: usize = 1 << 16;

/// A clause with its lists.
pub(super) struct LoadedClause {
    pub boost: f32,
    /// What an occurrence counts by where it is.
    pub weights: FieldWeights,
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
    runs: Runs,
}

/// A clause in one segment with its lists at hand.
pub(super) struct OpenClause<'a> {
    slots: Vec<OpenSlot<'a>>,
    /// Leaves below titles that have the clause.
    pub runs: &'a Runs,
}

/// The clauses of `compiled` with their lists in every segment of `index`.
pub(super) fn load(
    index: &TextIndex,
    compiled: &Compiled,
    options: &SearchOptions<'_>,
) -> Result<Vec<LoadedClause>> {
    let mut expansions = Expansions { index, options, known: HashMap::new(), total: 0 };
    compiled.clauses.iter().map(|clause| LoadedClause::load(clause, &mut expansions)).collect()
}

/// What words stand for, each looked up once.
struct Expansions<'a> {
    index: &'a TextIndex,
    options: &'a SearchOptions<'a>,
    known: HashMap<(Want, usize), Rc<Vec<TermPlaces>>>,
    total: usize,
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
        let wanted = all.iter().filter(|term| only.is_none_or(|only| only == term.distance));
        let wanted: Vec<TermPlaces> = wanted.cloned().collect();
        self.total += wanted.len();
        if self.total > MAX_EXPANDED_TERMS {
            return Err(Error::invalid(format!(
                "the words of the query stand for more than {MAX_EXPANDED_TERMS} terms; write more of their letters"
            )));
        }
        Ok(wanted)
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
        let offsets = clause.slots.iter().map(|slot| slot.offset).collect();
        let shape = PhraseShape::new(offsets, clause.slop, &terms);
        let mut weights = options.weights;
        match clause.field {
            QueryField::Title => weights.body = 0.0,
            QueryField::Body => weights.title = 0.0,
            QueryField::Both => {}
        }
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
        Ok(Self { boost: clause.boost, weights, terms, segments, shape })
    }

    /// What an occurrence in a leaf's own text counts, and what one in a title above it.
    pub fn fields(&self) -> (f64, f64) {
        (f64::from(self.weights.body), f64::from(self.weights.title))
    }

    /// For each slot how many live leaves have it in the fields that count.
    pub fn slot_leaves(&self, index: &TextIndex) -> Result<Vec<u32>> {
        let mut counts = vec![0_u64; self.terms.len()];
        let (body, title) = (self.weights.body > 0.0, self.weights.title > 0.0);
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
        let mut found = Vec::new();
        let mut positions = vec![Vec::new(); lists.slots.len()];
        for inner in titles {
            for (slot, positions) in lists.slots.iter().zip(&mut positions) {
                slot.positions_of(reader, source, (In::Headings, inner), positions)?;
            }
            let positions: Vec<&[u32]> = positions.iter().map(Vec::as_slice).collect();
            let occurrences = shape.occurrences(&positions);
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

    /// The clause with its lists at hand.
    pub fn open<'a>(&'a self, reader: &'a SegmentReader) -> Result<OpenClause<'a>> {
        let slots: Result<Vec<OpenSlot<'a>>> = self.slots.iter().map(|slot| slot.open(reader)).collect();
        Ok(OpenClause { slots: slots?, runs: &self.runs })
    }
}

impl OpenClause<'_> {
    pub fn is_phrase(&self) -> bool {
        self.slots.len() > 1
    }

    /// At most how many leaves have it in their own text, about.
    pub fn body_count(&self) -> usize {
        self.slots.iter().map(OpenSlot::body_count).min().unwrap_or(0)
    }

    /// Puts into `out` the leaves of `within` among `candidates` that have the clause in their own text, ascending,
    /// with how often.
    pub fn bodies_in(
        &self,
        source: &dyn PartSource,
        clause: &LoadedClause,
        within: Range<u32>,
        candidates: Candidates<'_>,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        if let [one] = self.slots.as_slice() {
            return one.bodies_in(within, candidates, |ordinal, freq| out.push((ordinal, freq)));
        }
        // The rarest first: what it rules out is not looked for in the others.
        let mut order: Vec<&OpenSlot<'_>> = self.slots.iter().collect();
        order.sort_by_key(|slot| slot.body_count());
        let first = candidates.first;
        let mut left = candidates.words.to_vec();
        for slot in order {
            let mut here = vec![0_u64; left.len()];
            let mut any = false;
            slot.bodies_in(within.clone(), Candidates { first, words: &left }, |ordinal, _| {
                if let Some(word) = here.get_mut((ordinal - first) as usize / 64) {
                    *word |= 1 << ((ordinal - first) % 64);
                    any = true;
                }
            })?;
            left = here;
            if !any {
                return Ok(());
            }
        }
        let leaves: Vec<u32> = super::evaluate::ones(&left).map(|local| first + local).collect();
        let mut places: Vec<Places> = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let mut of_slot = Places::default();
            slot.places(source, &leaves, &mut of_slot)?;
            places.push(of_slot);
        }
        let mut positions: Vec<&[u32]> = Vec::with_capacity(places.len());
        for (at, leaf) in leaves.iter().enumerate() {
            positions.clear();
            positions.extend(places.iter().map(|of_slot| of_slot.get(at)));
            let occurrences = clause.shape.occurrences(&positions);
            if occurrences > 0 {
                out.push((*leaf, occurrences));
            }
        }
        Ok(())
    }
}
