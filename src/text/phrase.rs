//! Whether, and how often, words stand as in a phrase.

use std::collections::HashMap;

/// The words of a phrase, in its order, as slots to be filled by positions of a text.
///
/// A choice of one position for each slot has a spread: how far, among the slots, the displacements (the
/// position chosen less the slot's own offset) lie apart. In "big red car" the words of "big car" have
/// displacements 0 and 1, so the spread is 1; of "car big" they are 1 and -1, spread 2. A choice fits if its
/// spread is at most the slop. Slots that may be filled by the same word are filled in the order of the phrase,
/// each by a later position than the one before: no occurrence of a word is used twice.
///
/// Occurrences are counted by their lowest displacement: there is one for each number that is the lowest
/// displacement of a choice that fits.
///
/// # Source
///
/// Lucene's `SloppyPhraseMatcher` has the same spread. Departure: it counts an occurrence as `1 / (1 + spread)`;
/// here it counts 1, so that the frequency of a phrase is a number of occurrences, as that of a word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhraseShape {
    /// For each slot its position in the phrase, less that of the first: ascending.
    offsets: Vec<u32>,
    /// For each slot the slot before it that may be filled by the same word.
    twins: Vec<Option<usize>>,
    slop: u32,
}

impl PhraseShape {
    /// Slots at `offsets`, which ascend; slot `i` may be filled by the words `words[i]`.
    pub(super) fn new<W: AsRef<str>>(offsets: Vec<u32>, slop: u32, words: &[Vec<W>]) -> Self {
        let mut family: Vec<usize> = (0..offsets.len()).collect();
        let mut first_with: HashMap<&str, usize> = HashMap::new();
        for (slot, word) in
            (0..).zip(words).flat_map(|(slot, words)| words.iter().map(move |word| (slot, word)))
        {
            let other = *first_with.entry(word.as_ref()).or_insert(slot);
            let (Some(of), Some(of_other)) = (family.get(slot).copied(), family.get(other).copied()) else {
                continue;
            };
            if of != of_other {
                family.iter_mut().filter(|one| **one == of).for_each(|one| *one = of_other);
            }
        }
        let mut last_of = HashMap::new();
        let twins = family.iter().enumerate().map(|(slot, of)| last_of.insert(*of, slot)).collect();
        Self { offsets, twins, slop }
    }

    /// How many occurrences there are in a text in which slot `i` may be filled by `positions[i]`, ascending.
    pub(super) fn occurrences(&self, positions: &[&[u32]]) -> u32 {
        if positions.len() != self.offsets.len() || positions.iter().any(|positions| positions.is_empty()) {
            return 0;
        }
        if self.slop == 0 {
            return self.exact(positions);
        }
        let mut chosen = vec![0_i64; positions.len()];
        let starts = self.starts(positions);
        let fits = starts.iter().filter(|start| self.fits(positions, **start, &mut chosen));
        u32::try_from(fits.count()).unwrap_or(u32::MAX)
    }

    /// Without slop every slot has the same displacement: those of the rarest slot are tried.
    fn exact(&self, positions: &[&[u32]]) -> u32 {
        let slots = || self.offsets.iter().zip(positions);
        let Some((offset, rarest)) = slots().min_by_key(|(_, positions)| positions.len()) else { return 0 };
        let is_there = |position: &&u32| {
            slots().all(|(other, positions)| {
                let wanted = i64::from(**position) - i64::from(*offset) + i64::from(*other);
                u32::try_from(wanted).is_ok_and(|wanted| positions.binary_search(&wanted).is_ok())
            })
        };
        u32::try_from(rarest.iter().filter(is_there).count()).unwrap_or(u32::MAX)
    }

    /// All displacements, each once; never many more in memory than that.
    fn starts(&self, positions: &[&[u32]]) -> Vec<i64> {
        let mut starts: Vec<i64> = Vec::new();
        for (offset, positions) in self.offsets.iter().zip(positions) {
            starts.extend(positions.iter().map(|position| i64::from(*position) - i64::from(*offset)));
            starts.sort_unstable();
            starts.dedup();
        }
        starts
    }

    /// Whether a choice that fits has `start` as its lowest displacement. Each slot is given the first position
    /// it may have: if any choice does, this one does.
    fn fits(&self, positions: &[&[u32]], start: i64, chosen: &mut [i64]) -> bool {
        let mut lowest = i64::MAX;
        for (slot, (offset, positions)) in self.offsets.iter().zip(positions).enumerate() {
            let offset = i64::from(*offset);
            let twin = self.twins.get(slot).copied().flatten().and_then(|twin| chosen.get(twin));
            let least = twin.map_or(start + offset, |twin| (start + offset).max(*twin + 1));
            let first = positions.partition_point(|position| i64::from(*position) < least);
            let Some(position) = positions.get(first).map(|position| i64::from(*position)) else {
                return false;
            };
            if position - offset > start + i64::from(self.slop) {
                return false;
            }
            lowest = lowest.min(position - offset);
            if let Some(chosen) = chosen.get_mut(slot) {
                *chosen = position;
            }
        }
        lowest == start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Occurrences of `phrase` in `text`, words by spaces; `_` in a phrase is a place for any word.
    fn count(phrase: &str, text: &str, slop: u32) -> u32 {
        let words: Vec<(u32, &str)> = (0..).zip(phrase.split(' ')).filter(|(_, word)| *word != "_").collect();
        let places = |word: &str| -> Vec<u32> {
            (0..).zip(text.split(' ')).filter(|(_, other)| *other == word).map(|(at, _)| at).collect()
        };
        let positions: Vec<Vec<u32>> = words.iter().map(|(_, word)| places(word)).collect();
        let offsets = words.iter().map(|(offset, _)| *offset).collect();
        let positions: Vec<&[u32]> = positions.iter().map(Vec::as_slice).collect();
        let words: Vec<Vec<&str>> = words.iter().map(|(_, word)| vec![*word]).collect();
        PhraseShape::new(offsets, slop, &words).occurrences(&positions)
    }

    #[test]
    fn words_in_order_are_a_phrase_as_often_as_they_stand_so() {
        assert_eq!(count("a b", "a b c a b", 0), 2);
        assert_eq!(count("a b", "b a a c b", 0), 0);
        assert_eq!(count("a a", "a a a", 0), 2);
        assert_eq!(count("a _ b", "a x b a b", 0), 1);
        assert_eq!(count("a b", "a a", 0), 0);
    }

    #[test]
    fn slop_lets_words_be_displaced_altogether_so_far() {
        assert_eq!(count("a b", "a x b", 0), 0);
        assert_eq!(count("a b", "a x b", 1), 1);
        assert_eq!(count("a b", "b a", 1), 0);
        assert_eq!(count("a b", "b a", 2), 1);
        assert_eq!(count("a b c", "a x b x c", 1), 0);
        assert_eq!(count("a b c", "a x b x c", 2), 1);
    }

    #[test]
    fn no_occurrence_of_a_word_is_used_twice() {
        assert_eq!(count("a a", "a", 9), 0);
        assert_eq!(count("a b a", "a b", 9), 0);
        assert_eq!(count("a b a", "a a b", 2), 1);
        assert_eq!(count("a a", "a x a", 1), 1);
    }

    /// All choices in which equal words stand in their order, tried one by one.
    fn by_trial(words: &[u8], text: &[u8], slop: u32) -> u32 {
        let mut lowest = std::collections::BTreeSet::new();
        let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
        for word in words {
            let places = (0..text.len()).filter(|at| text[*at] == *word);
            let places: Vec<usize> = places.collect();
            choices = choices
                .iter()
                .flat_map(|choice| places.iter().map(|at| [choice.as_slice(), &[*at]].concat()))
                .filter(|choice| {
                    let (last, before) = choice.split_last().unwrap();
                    before.iter().zip(words).all(|(at, other)| other != word || at < last)
                })
                .collect();
        }
        for choice in choices {
            let moved: Vec<i64> = (0..).zip(&choice).map(|(slot, at)| *at as i64 - slot).collect();
            let (low, high) = (*moved.iter().min().unwrap(), *moved.iter().max().unwrap());
            if high - low <= i64::from(slop) {
                lowest.insert(low);
            }
        }
        u32::try_from(lowest.len()).unwrap()
    }

    #[test]
    fn occurrences_are_those_that_trying_every_choice_finds() {
        let mut seed = 7_u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..2000 {
            let words: Vec<u8> = (0..=next(3)).map(|_| u8::try_from(next(3)).unwrap()).collect();
            let text: Vec<u8> = (0..next(8)).map(|_| u8::try_from(next(4)).unwrap()).collect();
            let slop = next(5);
            let places = |word: &u8| -> Vec<u32> {
                (0..).zip(&text).filter(|(_, other)| *other == word).map(|(at, _)| at).collect()
            };
            let positions: Vec<Vec<u32>> = words.iter().map(places).collect();
            let positions: Vec<&[u32]> = positions.iter().map(Vec::as_slice).collect();
            let offsets = (0..).take(words.len()).collect();
            let names: Vec<Vec<String>> = words.iter().map(|word| vec![word.to_string()]).collect();
            let shape = PhraseShape::new(offsets, slop, &names);

            assert_eq!(
                shape.occurrences(&positions),
                by_trial(&words, &text, slop),
                "{words:?} in {text:?}, slop {slop}"
            );
        }
    }
}
