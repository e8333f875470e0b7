//! Words of a text as keys are made of them.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// Longest word kept of a key, in bytes after folding; a longer one is cut.
const MAX_WORD_BYTES: usize = 64;

/// Words that name nothing by themselves.
const STOP: &[&str] = &[
    "a", "about", "after", "also", "an", "and", "are", "as", "at", "be", "been", "before", "being",
    "between", "both", "but", "by", "did", "do", "does", "during", "for", "from", "had", "has", "have", "he",
    "her", "his", "how", "i", "in", "into", "is", "it", "its", "many", "more", "most", "much", "no", "not",
    "of", "on", "or", "other", "our", "s", "same", "she", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "with", "you",
];

/// Months and days: capitalised, and no names.
const DATES: &[&str] = &[
    "april",
    "august",
    "december",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "march",
    "may",
    "monday",
    "november",
    "october",
    "saturday",
    "september",
    "sunday",
    "thursday",
    "tuesday",
    "wednesday",
];

/// Whether `word`, folded, is a function word.
#[must_use]
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Whether `word`, folded, is a month, a day or a number.
#[must_use]
pub fn is_date(word: &str) -> bool {
    DATES.binary_search(&word).is_ok() || is_number(word)
}

/// Whether `word` is made of digits.
#[must_use]
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(char::is_numeric)
}

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// It begins with a lower-case letter.
    Lower,
    /// It begins with a capital.
    Upper,
    /// It begins with a digit.
    Number,
    /// It begins with a letter of a script without case.
    None,
}

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Without marks, in lower case; not empty.
    pub folded: String,
    /// Where it lies in the text.
    pub range: Range<usize>,
    /// How it is written.
    pub case: Case,
}

/// The words of `text` in order: runs of letters, digits and `_`; of scripts written without spaces each letter
/// by itself, so that a title is found inside a run.
///
/// # Complexity
///
/// `O(n)`.
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let inside = c.is_alphanumeric() || c == '_' || (start.is_some() && is_mark(c));
        let alone = is_unspaced(c);
        if (!inside || alone)
            && let Some(from) = start.take()
        {
            push(text, from..at, &mut found);
        }
        if alone {
            push(text, at..at + c.len_utf8(), &mut found);
        } else if inside {
            start.get_or_insert(at);
        }
    }
    if let Some(from) = start {
        push(text, from..text.len(), &mut found);
    }
    found
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Word>) {
    let Some(raw) = text.get(range.clone()) else { return };
    let folded = fold(raw);
    let Some(first) = raw.chars().next().filter(|_| !folded.is_empty()) else { return };
    let case = if first.is_numeric() {
        Case::Number
    } else if first.is_lowercase() {
        Case::Lower
    } else if first.is_uppercase() || first.to_lowercase().next() != Some(first) {
        Case::Upper
    } else {
        Case::None
    };
    found.push(Word { folded, range, case });
}

/// `raw` without marks and in lower case, cut to [`MAX_WORD_BYTES`].
fn fold(raw: &str) -> String {
    let mut folded = String::with_capacity(raw.len().min(MAX_WORD_BYTES));
    if raw.is_ascii() {
        folded.extend(raw.chars().take(MAX_WORD_BYTES).map(|c| c.to_ascii_lowercase()));
        return folded;
    }
    let letters = raw.nfkd().filter(|c| canonical_combining_class(*c) == 0).flat_map(char::to_lowercase);
    for c in letters.filter(|c| c.is_alphanumeric() || *c == '_') {
        if folded.len() + c.len_utf8() > MAX_WORD_BYTES {
            break;
        }
        folded.push(c);
    }
    folded
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Letters of Han, kana, Bopomofo, Thai, Lao, Khmer and Burmese.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e01..=0x0e30 | 0x0e40..=0x0e46 | 0x0e81..=0x0eb0 | 0x0ec0..=0x0ec6
        | 0x1000..=0x102a | 0x1780..=0x17b3 | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309d..=0x309f
        | 0x30a1..=0x30ff | 0x3105..=0x312f | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xf900..=0xfaff | 0x2_0000..=0x3_fffd)
        && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.folded).collect()
    }

    #[test]
    fn words_are_folded_and_marks_fall_off() {
        assert_eq!(of("Béla Bartók's snake_case, 1.5"), ["bela", "bartok", "s", "snake_case", "1", "5"]);
        assert_eq!(of("Cafe\u{301} \u{fb01}n"), ["cafe", "fin"]);
        assert_eq!(of(""), Vec::<String>::new());
        assert_eq!(of("\u{1f600} \u{301} -- ."), Vec::<String>::new());
    }

    #[test]
    fn letters_of_scripts_without_spaces_stand_alone() {
        assert_eq!(of("2008年北京ABC"), ["2008", "年", "北", "京", "abc"]);
    }

    #[test]
    fn case_is_that_of_the_first_letter() {
        let cases: Vec<Case> =
            words("iPhone Élan 4th 北 _x עברית").into_iter().map(|word| word.case).collect();

        assert_eq!(cases, [Case::Lower, Case::Upper, Case::Number, Case::None, Case::None, Case::None]);
    }

    #[test]
    fn a_word_of_a_megabyte_is_cut() {
        assert_eq!(of(&"é".repeat(500_000))[0].len(), MAX_WORD_BYTES);
    }

    #[test]
    fn the_lists_are_sorted() {
        assert!(STOP.is_sorted() && DATES.is_sorted());
    }
}
