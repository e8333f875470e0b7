//! Where sentences end.
//!
//! Rules of our own, one pass, bounded look-back. The sentence bounds of Unicode (UAX 29) end a sentence at
//! every line break, after "Mr.", and look ahead without bound, which takes quadratic time on text such as
//! `1. 1. 1. ...`; so they are not used.

use std::ops::Range;

/// Titles and words that are followed by what they belong to: never the end.
const NEVER: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "messrs", "gen", "col", "capt", "lt", "sgt", "rev", "hon", "gov",
    "sen", "rep", "pres", "e.g", "i.e", "eg", "ie", "cf", "vs", "viz", "al", "approx", "ca", "resp", "incl",
];

/// Words that abbreviate only before a number: `No. 5`, `Fig. 3`, `Jan. 1`.
const BEFORE_NUMBER: &[&str] = &[
    "no", "nos", "fig", "figs", "eq", "eqs", "sec", "art", "vol", "ch", "p", "pp", "para", "item", "tab",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];

/// Full stop, question and exclamation mark of scripts that put no space after them.
const WIDE: &[char] = &['\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff0e}', '\u{ff61}'];

/// Marks that end a sentence when white space follows: Latin, Arabic, Urdu, Devanagari, Khmer, Ethiopic,
/// Armenian, Burmese.
const NARROW: &[char] = &[
    '.', '!', '?', '\u{2026}', '\u{61f}', '\u{6d4}', '\u{964}', '\u{965}', '\u{17d4}', '\u{1362}', '\u{589}',
    '\u{104b}', '\u{203c}', '\u{203d}',
];

const CLOSERS: &[char] = &[
    '"', '\'', ')', ']', '}', '\u{201d}', '\u{2019}', '\u{bb}', '\u{300d}', '\u{300f}', '\u{ff09}',
    '\u{3011}', '\u{300b}', '*', '_',
];

/// Longest word looked back at for an abbreviation, in bytes.
const LOOK_BACK_BYTES: usize = 16;

/// The sentences of `text` as byte ranges, in order, trimmed, none empty; every character that is not white
/// space lies in one. A blank line always ends a sentence, a line break alone never does.
///
/// # Complexity
///
/// `O(n)`.
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        if c == '\n' {
            if next_line_is_blank(text, end) {
                push(text, start..end, &mut found);
                start = end;
            }
            continue;
        }
        let mut wide = WIDE.contains(&c);
        if !wide && !NARROW.contains(&c) {
            continue;
        }
        let mut only_one_stop = c == '.';
        while let Some((next, c)) =
            chars.next_if(|(_, c)| WIDE.contains(c) || NARROW.contains(c) || CLOSERS.contains(c))
        {
            wide |= WIDE.contains(&c);
            only_one_stop &= CLOSERS.contains(&c);
            end = next + c.len_utf8();
        }
        let rest = text.get(end..).unwrap_or_default();
        if !wide && !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            continue;
        }
        let follows = rest.chars().take(LOOK_BACK_BYTES).find(|c| !c.is_whitespace());
        if !wide && follows.is_some_and(char::is_lowercase) {
            continue;
        }
        if only_one_stop && is_abbreviation(&text[start..at], follows) {
            continue;
        }
        push(text, start..end, &mut found);
        start = end;
    }
    push(text, start..text.len(), &mut found);
    found
}

/// Whether what comes after a line break at `from` is white space up to another line break or the end.
fn next_line_is_blank(text: &str, from: usize) -> bool {
    // A line of nothing but white space longer than this is no paragraph break; the bound keeps time linear.
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().take(64).find(|b| !matches!(b, b' ' | b'\t' | b'\r')).is_some_and(|b| *b == b'\n')
}

fn is_abbreviation(before: &str, follows: Option<char>) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(LOOK_BACK_BYTES));
    let tail = &before[from..];
    let cut = tail.rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\u{201c}'));
    let word = cut.map_or(tail, |at| tail[at..].trim_start_matches(|c: char| !c.is_alphanumeric()));
    let starts_sentence = cut.is_none_or(|at| tail[at..].starts_with('\n') || from + at == 0);
    if word.is_empty() {
        return false;
    }
    let mut chars = word.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        // An initial, or the `a.` or `1.` of a list.
        return only.is_uppercase() || (starts_sentence && only.is_alphanumeric());
    }
    if word.bytes().all(|b| b.is_ascii_digit()) {
        return starts_sentence && word.len() <= 3;
    }
    let lower = word.to_lowercase();
    if NEVER.contains(&lower.as_str()) {
        return true;
    }
    if BEFORE_NUMBER.contains(&lower.as_str()) {
        return follows.is_some_and(char::is_numeric);
    }
    // `U.S`, `D.C`, `a.m`: single letters with stops between.
    lower.split('.').all(|part| part.chars().count() == 1) && lower.contains('.')
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let range = trim(text, range);
    if !range.is_empty() {
        found.push(range);
    }
}

/// `range` without white space at its ends; empty if there is nothing else.
pub(super) fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(part) = text.get(range.clone()) else { return range.start..range.start };
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn titles_abbreviations_initials_and_decimals_do_not_end_a_sentence() {
        let text = "Mr. Smith paid 3.14 dollars, e.g. For tea. J. R. Doe of the U.S. Army saw No. 5! \"Why?\" \
                    he asked. It ended.";

        assert_eq!(
            of(text),
            [
                "Mr. Smith paid 3.14 dollars, e.g. For tea.",
                "J. R. Doe of the U.S. Army saw No. 5!",
                "\"Why?\" he asked.",
                "It ended."
            ]
        );
    }

    #[test]
    fn full_stops_of_chinese_and_japanese_end_a_sentence_without_a_space() {
        assert_eq!(
            of("\u{4f60}\u{597d}\u{3002}\u{597d}\u{5417}\u{ff1f}\u{300d}\u{597d}"),
            ["\u{4f60}\u{597d}\u{3002}", "\u{597d}\u{5417}\u{ff1f}\u{300d}", "\u{597d}"]
        );
    }

    #[test]
    fn a_line_break_goes_through_a_sentence_and_a_blank_line_ends_it() {
        assert_eq!(of("one\r\ntwo\r\n \r\nthree"), ["one\r\ntwo", "three"]);
    }

    #[test]
    fn the_number_of_a_list_item_is_no_sentence() {
        assert_eq!(of("1. First thing.\n2. Second thing."), ["1. First thing.", "2. Second thing."]);
    }

    #[test]
    fn a_word_that_abbreviates_only_before_numbers_ends_a_sentence_otherwise() {
        assert_eq!(of("He said no. Then he left."), ["He said no.", "Then he left."]);
    }

    #[test]
    fn a_megabyte_of_list_numbers_takes_linear_time() {
        let text = "1. ".repeat(300_000);
        let start = std::time::Instant::now();

        let count = sentences(&text).len();

        assert!(count >= 1);
        assert!(start.elapsed().as_secs() < 10, "took {:?}", start.elapsed());
    }
}
