//! Names in a sentence: capitalised spans, whole and in parts.

use std::ops::Range;

use super::word::Case;
use super::word::Word;
use super::word::is_date;
use super::word::is_number;
use super::word::is_stop;

/// Small words that may stand inside a name, two in a row at most.
const CONNECTORS: &[&str] = &[
    "al", "and", "bin", "da", "de", "del", "den", "der", "di", "du", "for", "ibn", "in", "la", "le", "of",
    "the", "van", "von",
];

/// Connectors at which a name comes apart: "University of Michigan" names a university, and Michigan.
const PARTING: &[&str] = &["and", "for", "in", "of", "the"];

/// Abbreviations that belong to the name after them, with their full stop.
const BEFORE_NAMES: &[&str] = &[
    "capt", "col", "dr", "ft", "gen", "gov", "lt", "mr", "mrs", "ms", "mt", "prof", "rev", "sen", "sgt", "st",
];

/// Digits of a number that may stand inside a name, at most.
const MAX_NUMBER_DIGITS: usize = 4;

/// Words of a name, at most; the rest is a name of its own.
const MAX_NAME_WORDS: usize = 16;

/// Letters of a name, at least.
const MIN_NAME_LETTERS: usize = 3;

/// What lies between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing but an apostrophe, hyphen, full stop or ampersand: one word, written with signs.
    Sign,
    /// White space, or a full stop that belongs to an initial or a title before it.
    Space,
    /// Anything else.
    Break,
}

fn gap(text: &str, before: &Word, after: &Word) -> Gap {
    let Some(between) = text.get(before.range.end..after.range.start) else { return Gap::Break };
    let sign = |c: char| matches!(c, '\'' | '\u{2019}' | '&' | '.' | '-' | '\u{2010}' | '\u{2011}');
    if between.is_empty() {
        return Gap::Break;
    }
    if between.chars().all(sign) {
        return Gap::Sign;
    }
    let shortened = before.folded.chars().count() == 1 && before.case == Case::Upper
        || BEFORE_NAMES.binary_search(&before.folded.as_str()).is_ok();
    let spaces = between.strip_prefix('.').filter(|_| shortened).unwrap_or(between);
    let ampersand = spaces.trim() == "&";
    let breaks = spaces.bytes().filter(|byte| *byte == b'\n').count();
    if (ampersand || spaces.trim().is_empty()) && breaks < 2 { Gap::Space } else { Gap::Break }
}

/// The capitalised spans of `text`, as ranges of indexes into `words`, which are its own: capitalised words and
/// numbers, with what may stand between them. In order, disjoint.
///
/// # Complexity
///
/// `O(n)`.
#[must_use]
pub fn capitalised(text: &str, words: &[Word]) -> Vec<Range<usize>> {
    let between = |at: usize| match (words.get(at), words.get(at + 1)) {
        (Some(before), Some(after)) => gap(text, before, after),
        _ => Gap::Break,
    };
    let case = |at: usize| words.get(at).map(|word| word.case);
    let signed_end = |start: usize| {
        let mut end = start + 1;
        while end - start < MAX_NAME_WORDS && between(end - 1) == Gap::Sign {
            end += 1;
        }
        end
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if case(at) != Some(Case::Upper) {
            at += 1;
            continue;
        }
        let start = at;
        let mut end = signed_end(start);
        while end - start < MAX_NAME_WORDS {
            let mut next = end;
            while next < end + 2
                && between(next - 1) == Gap::Space
                && words.get(next).is_some_and(is_connector)
            {
                next += 1;
            }
            if between(next - 1) != Gap::Space {
                break;
            }
            match words.get(next) {
                Some(word) if word.case == Case::Upper => end = signed_end(next),
                Some(word) if is_number(&word.folded) && word.folded.len() <= MAX_NUMBER_DIGITS => {
                    end = next + 1;
                }
                _ => break,
            }
        }
        found.push(start..end);
        at = end;
    }
    found
}

fn is_connector(word: &Word) -> bool {
    word.case == Case::Lower && CONNECTORS.binary_search(&word.folded.as_str()).is_ok()
}

/// The parts of the span `span` between the words at which names come apart; none if there is no such word.
#[must_use]
pub fn parts(words: &[Word], span: &Range<usize>) -> Vec<Range<usize>> {
    let parting = |at: usize| {
        let word = words.get(at);
        word.is_some_and(|word| {
            word.case == Case::Lower && PARTING.binary_search(&word.folded.as_str()).is_ok()
        })
    };
    let mut found = Vec::new();
    let mut start = span.start;
    for at in span.clone().filter(|at| parting(*at)) {
        if start < at {
            found.push(start..at);
        }
        start = at + 1;
    }
    if found.is_empty() {
        return found;
    }
    if start < span.end {
        found.push(start..span.end);
    }
    found
}

/// `span` without the words before a name that are none of it (those that `common` says the texts mostly write in
/// lower case, and function words) and without a possessive `s` behind it; `None` if no name is left: nothing,
/// dates and numbers, or under three letters.
#[must_use]
pub fn trimmed(words: &[Word], span: &Range<usize>, common: &dyn Fn(&str) -> bool) -> Option<Range<usize>> {
    let word = |at: usize| words.get(at).map(|word| word.folded.as_str());
    let mut span = span.clone();
    while span.start < span.end && word(span.start).is_some_and(|word| is_stop(word) || common(word)) {
        span.start += 1;
    }
    if span.len() > 1 && word(span.end - 1) == Some("s") {
        span.end -= 1;
    }
    let inside = words.get(span.clone())?;
    let letters: usize = inside.iter().map(|word| word.folded.chars().count()).sum();
    let dates = inside.iter().all(|word| is_date(&word.folded));
    (!dates && letters >= MIN_NAME_LETTERS).then_some(span)
}

/// The key of the words `span`: folded, with a space between them.
#[must_use]
pub fn key_of(words: &[Word], span: &Range<usize>) -> String {
    let inside = words.get(span.clone()).unwrap_or_default();
    let folded: Vec<&str> = inside.iter().map(|word| word.folded.as_str()).collect();
    folded.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::paths::word::words;

    fn spans(text: &str) -> Vec<String> {
        let words = words(text);
        capitalised(text, &words).iter().map(|span| key_of(&words, span)).collect()
    }

    fn names(text: &str) -> Vec<String> {
        let words = words(text);
        let spans = capitalised(text, &words);
        spans
            .iter()
            .filter_map(|span| trimmed(&words, span, &|_| false))
            .map(|span| key_of(&words, &span))
            .collect()
    }

    #[test]
    fn small_words_inside_a_name_belong_to_it() {
        assert_eq!(spans("He read Anne of Green Gables and slept."), ["he", "anne of green gables"]);
        assert_eq!(
            spans("the Lord of the Rings by J. R. R. Tolkien"),
            ["lord of the rings", "j r r tolkien"]
        );
        assert_eq!(
            spans("Ludwig van Beethoven, Charles de Gaulle"),
            ["ludwig van beethoven", "charles de gaulle"]
        );
    }

    #[test]
    fn initials_titles_and_signs_do_not_part_a_name() {
        assert_eq!(spans("in St. Louis with Dr. John F. Kennedy"), ["st louis", "dr john f kennedy"]);
        assert_eq!(spans("Spider-Man, AT&T and O'Brien"), ["spider man", "at t and o brien"]);
        assert_eq!(spans("Simon & Schuster; Apollo 11 in 12345"), ["simon schuster", "apollo 11"]);
    }

    #[test]
    fn commas_brackets_and_blank_lines_part_names() {
        assert_eq!(spans("Gary, Indiana (Lake County)"), ["gary", "indiana", "lake county"]);
        assert_eq!(spans("Paris\n\nLondon\nBridge"), ["paris", "london bridge"]);
    }

    #[test]
    fn possessives_articles_dates_and_short_words_fall_off() {
        assert_eq!(names("The Beatles met Dylan's band in May 1964 on TV"), ["beatles", "dylan"]);
        assert_eq!(names("Monday. I. A. Os. 1999."), Vec::<String>::new());
    }

    #[test]
    fn a_name_comes_apart_at_of_and_for_in_the() {
        let text = "University of Michigan and the Court of Appeals";
        let words = words(text);
        let span = &capitalised(text, &words)[0];

        let parts: Vec<String> = parts(&words, span).iter().map(|part| key_of(&words, part)).collect();

        assert_eq!(parts, ["university", "michigan", "court", "appeals"]);
    }

    #[test]
    fn scripts_without_case_and_emoji_have_no_spans() {
        assert_eq!(spans("北京大学 שלום \u{1f600} iPhone"), Vec::<String>::new());
        assert_eq!(spans(""), Vec::<String>::new());
    }

    #[test]
    fn a_run_of_capitals_without_end_makes_names_of_bounded_length() {
        let text = "Ab ".repeat(1_000);
        let words = words(&text);

        let spans = capitalised(&text, &words);

        assert!(spans.iter().all(|span| span.len() <= MAX_NAME_WORDS));
        assert_eq!(spans.iter().map(Range::len).sum::<usize>(), 1_000);
    }

    #[test]
    fn the_lists_are_sorted() {
        assert!(CONNECTORS.is_sorted() && PARTING.is_sorted() && BEFORE_NAMES.is_sorted());
    }
}
