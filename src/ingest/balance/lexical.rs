//! Words of a document and what they weigh: sparse vectors where no embedder is at hand.

use std::ops::Range;

use crate::text::WordMap;

/// Words that say nothing about a passage, in English; others fall out by their frequency.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "between", "both", "but", "by", "can", "could", "did", "do", "does", "each", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "if", "in", "into", "is", "it", "its", "may",
    "more", "most", "no", "not", "of", "on", "one", "only", "or", "other", "our", "over", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "through", "to", "under", "up", "was", "we", "were", "what", "when", "where", "which", "while",
    "who", "will", "with", "would", "you", "your",
];

/// Longest of them.
const MAX_STOP_BYTES: usize = 7;

/// Longer words are passed over: no title wants them.
const MAX_WORD_BYTES: usize = 64;

/// The number of words that say nothing.
const NO_NUMBER: u32 = u32::MAX;

/// A sparse vector: word numbers in rising order, each with its weight.
pub(super) type Sparse = Vec<(u32, f32)>;

/// The words of a document's leaves and in how many leaves each occurs.
#[derive(Default)]
pub(super) struct Lexicon {
    /// With the stop words that were met.
    numbers: WordMap<u32>,
    /// By number: where in `spelt` the word stands as first spelt, or in lower case if it is ever spelt so.
    spellings: Vec<Range<usize>>,
    spelt: String,
    leaves_with: Vec<u32>,
    leaves: usize,
}

impl Lexicon {
    /// Takes in one leaf; gives its words by number, in rising order, with their counts.
    pub(super) fn learn(&mut self, text: &str) -> Sparse {
        self.leaves += 1;
        let mut found = Vec::new();
        words(text, |word, range| {
            let own = &text[range];
            if let Some(number) = self.numbers.get(word) {
                if *number == NO_NUMBER {
                    return;
                }
                found.push(*number);
                let Some(spelling) = self.spellings.get_mut(*number as usize) else { return };
                if own == word && self.spelt.get(spelling.clone()) != Some(own) {
                    *spelling = self.spelt.len()..self.spelt.len() + own.len();
                    self.spelt.push_str(own);
                }
                return;
            }
            let is_stop = word.len() <= MAX_STOP_BYTES && STOP.binary_search(&word).is_ok();
            let next = u32::try_from(self.spellings.len()).unwrap_or(NO_NUMBER);
            self.numbers.insert(word.into(), if is_stop { NO_NUMBER } else { next });
            if !is_stop {
                self.spellings.push(self.spelt.len()..self.spelt.len() + own.len());
                self.spelt.push_str(own);
                found.push(next);
            }
        });
        self.leaves_with.resize(self.spellings.len(), 0);
        let counts = counted(found);
        for (number, _) in &counts {
            self.leaves_with[*number as usize] += 1;
        }
        counts
    }

    /// How the document spells a word.
    pub(super) fn spelling(&self, number: u32) -> &str {
        let spelling = self.spellings.get(number as usize);
        spelling.and_then(|spelling| self.spelt.get(spelling.clone())).unwrap_or_default()
    }

    /// Counts to tf-idf weights of unit length (or all zero).
    pub(super) fn weigh(&self, counts: &[(u32, f32)]) -> Sparse {
        let weigh = |(number, count): &(u32, f32)| (*number, (1.0 + count.ln()) * self.rarity(*number));
        let mut weights: Sparse = counts.iter().map(weigh).collect();
        let norm = norm(&weights);
        if norm > 0.0 {
            for (_, weight) in &mut weights {
                *weight /= norm;
            }
        }
        weights
    }

    /// The weights of `text`, as far as its words are those of some leaf.
    pub(super) fn vector(&self, text: &str) -> Sparse {
        let mut found = Vec::new();
        words(text, |word, _| found.extend(self.numbers.get(word).filter(|number| **number != NO_NUMBER)));
        self.weigh(&counted(found))
    }

    /// Inverse document frequency over leaves, as in BM25: positive, the higher the rarer.
    pub(super) fn rarity(&self, number: u32) -> f32 {
        let with = self.leaves_with.get(number as usize).copied().unwrap_or(0);
        let (with, all) = (real(with as usize), real(self.leaves));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

/// Equal numbers to one entry with their count, in rising order.
fn counted(mut numbers: Vec<u32>) -> Sparse {
    numbers.sort_unstable();
    numbers.chunk_by(|a, b| a == b).map(|equal| (equal[0], real(equal.len()))).collect()
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "weights need no more than 24 bits of a count")]
pub(super) fn real(count: usize) -> f32 {
    count as f32
}

/// Euclidean length.
pub(super) fn norm(vector: &[(u32, f32)]) -> f32 {
    vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt()
}

/// Scalar product.
pub(super) fn dot(left: &[(u32, f32)], right: &[(u32, f32)]) -> f32 {
    let (mut left, mut right) = (left, right);
    let mut sum = 0.0;
    while let ([(a, x), left_rest @ ..], [(b, y), right_rest @ ..]) = (left, right) {
        if a == b {
            sum += x * y;
        }
        if a <= b {
            left = left_rest;
        }
        if b <= a {
            right = right_rest;
        }
    }
    sum
}

/// Sum of two vectors.
pub(super) fn add(left: &[(u32, f32)], right: &[(u32, f32)]) -> Sparse {
    let mut sum = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left, right);
    while let ([(a, x), left_rest @ ..], [(b, y), right_rest @ ..]) = (left, right) {
        let (x, y) = (if a <= b { *x } else { 0.0 }, if b <= a { *y } else { 0.0 });
        sum.push(((*a).min(*b), x + y));
        if a <= b {
            left = left_rest;
        }
        if b <= a {
            right = right_rest;
        }
    }
    sum.extend_from_slice(left);
    sum.extend_from_slice(right);
    sum
}

/// Whether `c` is of a script that puts no space between words: Han, kana.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The words of `text` in lower case, each with its place; of unspaced scripts each pair of neighbours. Single
/// letters and overlong words are left out.
pub(super) fn words(text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    let mut lower = String::new();
    let mut start = 0;
    // The character before and its place, if it is of an unspaced script.
    let mut pair: Option<(usize, char)> = None;
    let mut end_word = |range: Range<usize>| {
        let word = &text[range.clone()];
        if !(2..=MAX_WORD_BYTES).contains(&word.len()) {
            return;
        }
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower.extend(word.chars().flat_map(char::to_lowercase));
        }
        if lower.chars().nth(1).is_some() {
            each(&lower, range);
        }
    };
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if is_unspaced(c) {
            end_word(start..at);
            if let Some((before, _)) = pair {
                end_word(before..end);
            }
            pair = Some((at, c));
            start = end;
        } else {
            pair = None;
            if !c.is_alphanumeric() {
                end_word(start..at);
                start = end;
            }
        }
    }
    end_word(start..text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        words(text, |word, _| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_lower_case_and_chinese_comes_in_pairs() {
        assert_eq!(of("The Cat's 2nd life, a \u{c9}t\u{e9}"), ["the", "cat", "2nd", "life", "\u{e9}t\u{e9}"]);
        assert_eq!(of("ab\u{4eba}\u{5de5}\u{667a}x"), ["ab", "\u{4eba}\u{5de5}", "\u{5de5}\u{667a}"]);
    }

    #[test]
    fn stop_words_have_no_number() {
        let mut lexicon = Lexicon::default();

        let counts = lexicon.learn("The cat and THE dog; the cat");

        assert_eq!(counts, [(0, 2.0), (1, 1.0)]);
        assert_eq!((lexicon.spelling(0), lexicon.spelling(1)), ("cat", "dog"));
        assert_eq!(lexicon.vector("the and").len(), 0);
    }

    #[test]
    fn the_stop_words_are_sorted_for_the_search() {
        assert!(STOP.is_sorted());
        assert!(STOP.iter().all(|word| word.len() <= MAX_STOP_BYTES));
    }

    #[test]
    fn sums_and_products_of_sparse_vectors_meet_on_equal_words() {
        let (left, right) = ([(1, 2.0), (3, 1.0)], [(2, 5.0), (3, 4.0), (9, 1.0)]);

        assert!((dot(&left, &right) - 4.0).abs() < 1e-6);
        assert_eq!(add(&left, &right), [(1, 2.0), (2, 5.0), (3, 5.0), (9, 1.0)]);
    }

    #[test]
    fn a_word_is_spelt_as_first_met_or_in_lower_case_if_ever_met_so() {
        let mut lexicon = Lexicon::default();

        lexicon.learn("Boston Leases");
        lexicon.learn("BOSTON leases");

        assert_eq!((lexicon.spelling(0), lexicon.spelling(1)), ("Boston", "leases"));
    }

    #[test]
    fn a_rare_word_weighs_more_than_one_of_every_leaf() {
        let mut lexicon = Lexicon::default();
        let first = lexicon.learn("common rare");
        lexicon.learn("common other");

        let weighed = lexicon.weigh(&first);

        assert!(weighed[0].1 < weighed[1].1 && weighed[0].1 > 0.0, "{weighed:?}");
        assert!((norm(&weighed) - 1.0).abs() < 1e-5);
    }
}
