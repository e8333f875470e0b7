//! What of a text to show for a query, and which words of it to mark.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::GraphemeCursor;
use unicode_segmentation::UnicodeSegmentation;

use super::analyzer::Analyzer;

/// Bytes around a place in which a boundary of words is looked for.
const REACH: usize = 512;

/// Weights are summed as multiples of 2^-20, so that the best window does not depend on the order of sums.
const WEIGHT_UNIT: f64 = 1_048_576.0;

/// A part of a text that shows why it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// Its bytes in the text; they begin and end where words and characters do, as a reader counts them.
    pub span: Range<usize>,
    /// The words of the query in it: ascending ranges of bytes of the text, neither overlapping nor touching.
    pub highlights: Vec<Range<usize>>,
}

/// Finds the words of a query in texts.
#[derive(Debug, Clone, Default)]
pub struct Highlighter {
    /// For each term its number and its weight.
    terms: HashMap<String, (usize, u64)>,
}

/// A term of the query at a place of a text.
#[derive(Debug, Clone)]
struct Mark {
    span: Range<usize>,
    /// The same in characters.
    chars: Range<usize>,
    term: usize,
    weight: u64,
}

impl Highlighter {
    /// For `terms` as the analyzer makes them, each with how much it says, such as its idf; a weight that is
    /// negative or not a number counts as 0. Of a term that is there twice the higher weight counts.
    #[must_use]
    pub fn new(terms: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut known: HashMap<String, (usize, u64)> = HashMap::new();
        for (term, weight) in terms {
            // Out of range is saturated, NaN is 0.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            let weight = (weight.clamp(0.0, 1e6) * WEIGHT_UNIT) as u64;
            let number = known.len();
            let entry = known.entry(term).or_insert((number, weight));
            entry.1 = entry.1.max(weight);
        }
        Self { terms: known }
    }

    /// All words of the query in `text`: ascending ranges of bytes, neither overlapping nor touching.
    #[must_use]
    pub fn highlights(&self, analyzer: &Analyzer, text: &str) -> Vec<Range<usize>> {
        merged(self.marks(analyzer, text).into_iter().map(|mark| mark.span))
    }

    /// The part of `text`, at most `limit` characters (`char`) long, that says most: the most distinct terms by
    /// their weights, then the most marks, then the first. It begins where a sentence does if there is room,
    /// else between words. Without a word of the query in it, it is the beginning of the text.
    #[must_use]
    pub fn snippet(&self, analyzer: &Analyzer, text: &str, limit: usize) -> Snippet {
        let mut marks = self.marks(analyzer, text);
        marks.retain(|mark| mark.chars.len() <= limit);
        let Some(best) = best_window(&marks, limit) else {
            let start = letter_at_or_after(text, 0, text.len());
            let end = end_within(text, start, start, limit);
            return Snippet { span: start..end, highlights: Vec::new() };
        };
        let within = marks.get(best).unwrap_or_default();
        let first = within.iter().map(|mark| mark.span.start).min().unwrap_or(0);
        let last = within.iter().map(|mark| mark.span.end).max().unwrap_or(first);
        let span = around(text, first..last, limit);
        let shown = marks.into_iter().map(|mark| mark.span);
        let shown = shown.filter(|mark| span.start <= mark.start && mark.end <= span.end);
        Snippet { highlights: merged(shown), span }
    }

    /// The terms of the query in `text`, ascending, each widened to whole characters as a reader counts them.
    fn marks(&self, analyzer: &Analyzer, text: &str) -> Vec<Mark> {
        let mut marks = Vec::new();
        analyzer.terms_with_spans(text, &mut |term, span| {
            if let Some(&(term, weight)) = self.terms.get(term) {
                let span = grapheme_at_or_before(text, span.start)..grapheme_at_or_after(text, span.end);
                marks.push(Mark { span, chars: 0..0, term, weight });
            }
        });
        marks.sort_unstable_by_key(|mark| (mark.span.start, mark.span.end, mark.term));
        let chars = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let (mut at, mut passed) = (0, 0);
        for mark in &mut marks {
            passed += chars(at..mark.span.start);
            at = mark.span.start;
            mark.chars = passed..passed + chars(mark.span.clone());
        }
        marks
    }
}

/// The marks, as a range of indexes, that fit into `limit` characters and say most.
fn best_window(marks: &[Mark], limit: usize) -> Option<Range<usize>> {
    let terms = marks.iter().map(|mark| mark.term).max()? + 1;
    let mut counts = vec![0_usize; terms];
    let (mut end, mut sum) = (0, 0_u64);
    let mut best: Option<(u64, usize, Range<usize>)> = None;
    for (start, first) in marks.iter().enumerate() {
        while let Some(mark) = marks.get(end)
            && (end <= start || mark.chars.end <= first.chars.start.saturating_add(limit))
        {
            if let Some(count) = counts.get_mut(mark.term) {
                sum += if *count == 0 { mark.weight } else { 0 };
                *count += 1;
            }
            end += 1;
        }
        if best.as_ref().is_none_or(|(most, marks, _)| (sum, end - start) > (*most, *marks)) {
            best = Some((sum, end - start, start..end));
        }
        if let Some(count) = counts.get_mut(first.term) {
            *count -= 1;
            sum -= if *count == 0 { first.weight } else { 0 };
        }
    }
    best.map(|(_, _, window)| window)
}

/// What to show of `text` around `wanted`, which has at most `limit` characters.
fn around(text: &str, wanted: Range<usize>, limit: usize) -> Range<usize> {
    let room = limit.saturating_sub(text.get(wanted.clone()).map_or(0, |part| part.chars().count()));
    let before = text.get(..wanted.start).unwrap_or_default();
    let earliest = |room: usize| back(before, room);
    let from = earliest(room);
    let sentences = text.get(from..wanted.end).unwrap_or_default().split_sentence_bound_indices();
    // The beginning of what is looked at is the beginning of a sentence only if it is that of the text.
    let starts = sentences.map(|(at, _)| from + at).filter(|at| *at > from || from == 0);
    let sentence = starts.take_while(|at| *at <= wanted.start).last();
    let sentence = sentence.filter(|at| grapheme_at_or_before(text, *at) == *at);
    let start = sentence.map(|at| letter_at_or_after(text, at, wanted.start));
    let start = start.unwrap_or_else(|| word_at_or_after(text, earliest(room / 2), wanted.start));
    let end = end_within(text, start, wanted.end, limit);
    if end < text.trim_end().len() {
        return start..end;
    }
    // The text ends within the window: what room there is left goes before.
    let shown = text.get(start..end).map_or(0, |part| part.chars().count());
    let before = text.get(..start).unwrap_or_default();
    word_at_or_after(text, back(before, limit.saturating_sub(shown)), start)..end
}

/// Where the last `count` characters of `text` begin.
fn back(text: &str, count: usize) -> usize {
    if count == 0 {
        return text.len();
    }
    text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)
}

/// Where to cut `text` so that from `start` on it has at most `limit` characters: behind `least`, which is within.
fn end_within(text: &str, start: usize, least: usize, limit: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let Some((latest, _)) = rest.char_indices().nth(limit) else {
        return without_space(text, start, text.len());
    };
    let end = word_at_or_before(text, start + latest, least);
    without_space(text, least, end)
}

/// `end` of `text` moved before white space, not before `least`, nor into a character as a reader counts them.
fn without_space(text: &str, least: usize, end: usize) -> usize {
    let kept = text.get(..end).unwrap_or_default().trim_end().len();
    if kept >= least && grapheme_at_or_before(text, kept) == kept { kept } else { end }
}

/// Where white space that begins at `at`, a boundary of characters, ends, but not behind `most`.
fn letter_at_or_after(text: &str, at: usize, most: usize) -> usize {
    let space = text.get(at..most).unwrap_or_default();
    let letter = at + (space.len() - space.trim_start().len());
    if grapheme_at_or_before(text, letter) == letter { letter } else { at }
}

/// The last boundary of words that is one of characters too, from `least` to `at`; else the last of characters.
fn word_at_or_before(text: &str, at: usize, least: usize) -> usize {
    let from = text.floor_char_boundary(at.saturating_sub(REACH).max(least));
    let found = word_bounds(text, from, at).filter(|bound| *bound > from && *bound <= at).last();
    found.unwrap_or_else(|| grapheme_at_or_before(text, at)).max(least)
}

/// The first boundary of words that is one of characters too and has a letter behind it, from `at` to `most`;
/// else the first of characters.
fn word_at_or_after(text: &str, at: usize, most: usize) -> usize {
    if at == 0 {
        return letter_at_or_after(text, 0, most);
    }
    let has_space = |bound: usize| {
        text.get(bound..).and_then(|rest| rest.chars().next()).is_some_and(char::is_whitespace)
    };
    let from = text.floor_char_boundary(at.saturating_sub(REACH));
    let found = word_bounds(text, from, at.saturating_add(REACH))
        .find(|bound| *bound >= at && *bound > from && !has_space(*bound));
    found.unwrap_or_else(|| grapheme_at_or_after(text, at)).min(most)
}

/// Boundaries of words in `from..to`, and a word further, that are boundaries of characters.
fn word_bounds(text: &str, from: usize, to: usize) -> impl Iterator<Item = usize> {
    let to = text.ceil_char_boundary(to.saturating_add(REACH).min(text.len()));
    let words = text.get(from..to).unwrap_or_default().split_word_bound_indices();
    words.map(move |(at, _)| from + at).filter(|at| grapheme_at_or_before(text, *at) == *at)
}

fn grapheme_at_or_before(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

fn grapheme_at_or_after(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
    }
}

/// Ascending `spans` with those that overlap or touch made one.
fn merged(spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}
