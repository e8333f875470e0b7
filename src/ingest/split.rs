//! Long texts to pieces: at blank lines, else sentence ends, else line ends, else words, else characters.
//!
//! Each part is counted once and the counts are added, so time is linear however long the text is.

use std::ops::Range;

use crate::model::TokenCounter;

use super::sentence::sentences;
use super::sentence::trim;

/// A part longer than this is cut without being counted: whatever the counter, it is too long for a leaf.
const OVERLONG_BYTES: usize = 16 << 10;

/// Pieces below this many tokens at the end of a page join the piece before.
const TAIL_TOKENS: usize = 30;

/// A part of a text, trimmed, and its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    pub tokens: usize,
    /// Whether the tokens are the sum of parts, which joining them may change by a few.
    pub is_sum: bool,
}

/// Cuts texts into pieces of about `target`, at most `max` tokens.
#[derive(Clone, Copy)]
pub(super) struct Splitter<'a> {
    pub text: &'a str,
    pub target: usize,
    pub max: usize,
    pub counter: &'a dyn TokenCounter,
}

/// Where a text may be cut, the best places first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    BlankLine,
    Sentence,
    Line,
    Word,
}

/// What is being cut decides which places come first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Blank line, sentence, line, word, character.
    Prose,
    /// Rows and code: blank line, line, word, character.
    Lines,
}

impl Splitter<'_> {
    /// Tokens of `range`, or `None` if it is too long to be worth counting.
    pub(super) fn count(&self, range: &Range<usize>) -> Option<usize> {
        let limit = OVERLONG_BYTES.max(self.max.saturating_mul(16));
        (range.len() <= limit).then(|| self.counter.count(&self.text[range.clone()]))
    }

    /// `range` in pieces of even size near the target; one piece if it has at most `whole` tokens, none if it
    /// is white space.
    pub(super) fn split(&self, range: Range<usize>, nature: Nature, whole: usize) -> Vec<Piece> {
        let range = trim(self.text, range);
        if range.is_empty() {
            return Vec::new();
        }
        if let Some(tokens) = self.count(&range).filter(|tokens| *tokens <= whole) {
            return vec![Piece { range, tokens, is_sum: false }];
        }
        let mut parts = Vec::new();
        self.cut(range, Cut::BlankLine, nature, &mut parts);
        let total: usize = parts.iter().map(|part| part.tokens).sum();
        let pieces = total.div_ceil(self.target.max(1)).max(1);
        self.pack(parts, total.div_ceil(pieces))
    }

    /// Joins neighbours until a piece has `goal` tokens or the next part would take it above the maximum.
    fn pack(&self, parts: Vec<Piece>, goal: usize) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for part in parts {
            match pieces.last_mut() {
                Some(last) if last.tokens < goal && last.tokens + part.tokens <= self.max => {
                    last.range.end = part.range.end;
                    last.tokens += part.tokens;
                    last.is_sum = true;
                }
                _ => pieces.push(part),
            }
        }
        pieces
    }

    /// Cuts at every place of kind `cut` and goes on with the next kind where that is not enough.
    fn cut(&self, range: Range<usize>, cut: Cut, nature: Nature, out: &mut Vec<Piece>) {
        let next = match cut {
            Cut::BlankLine if nature == Nature::Lines => Cut::Line,
            Cut::BlankLine => Cut::Sentence,
            Cut::Sentence => Cut::Line,
            Cut::Line => Cut::Word,
            Cut::Word => return self.cut_words(range, out),
        };
        let text = &self.text[range.clone()];
        let parts = match cut {
            Cut::BlankLine => paragraphs(text),
            Cut::Sentence => sentences(text),
            _ => lines(text),
        };
        for part in parts {
            let part = range.start + part.start..range.start + part.end;
            match self.count(&part) {
                Some(tokens) if tokens <= self.max => out.push(Piece { range: part, tokens, is_sum: false }),
                _ => self.cut(part, next, nature, out),
            }
        }
    }

    /// Cuts at white space near the target by bytes; a word that is too long for that, at characters.
    fn cut_words(&self, range: Range<usize>, out: &mut Vec<Piece>) {
        let step = self.step_bytes(&range);
        let text = &self.text[range.clone()];
        let mut start = 0;
        while start < text.len() {
            let mut end = (start + step).min(text.len());
            if end < text.len() {
                end = text.floor_char_boundary(end);
                let window = &text[start..end];
                match window.rfind(char::is_whitespace) {
                    Some(space) if space > step / 2 => end = start + space,
                    _ if end == start => end = text.ceil_char_boundary(start + 1),
                    _ => {}
                }
            }
            let part = trim(self.text, range.start + start..range.start + end);
            if !part.is_empty() {
                self.halve(part, out);
            }
            start = end;
        }
    }

    /// `range` if it has at most the maximum of tokens, else its halves, and so on down to one character.
    fn halve(&self, range: Range<usize>, out: &mut Vec<Piece>) {
        let tokens = self.counter.count(&self.text[range.clone()]);
        let text = &self.text[range.clone()];
        let middle = text.floor_char_boundary(text.len() / 2);
        if tokens <= self.max || middle == 0 {
            out.push(Piece { range, tokens, is_sum: false });
            return;
        }
        let middle = text[..middle]
            .rfind(char::is_whitespace)
            .filter(|space| *space > middle / 2)
            .map_or(middle, |space| text.ceil_char_boundary(space + 1));
        for half in [range.start..range.start + middle, range.start + middle..range.end] {
            let half = trim(self.text, half);
            if !half.is_empty() {
                self.halve(half, out);
            }
        }
    }

    /// Bytes that hold about the target of tokens in `range`, judged by its beginning.
    fn step_bytes(&self, range: &Range<usize>) -> usize {
        let text = &self.text[range.clone()];
        let sample = &text[..text.floor_char_boundary(text.len().min(4 << 10))];
        let tokens = self.counter.count(sample).max(1);
        (sample.len().saturating_mul(self.target) / tokens).clamp(4, OVERLONG_BYTES)
    }

    /// A page in pieces of whole lines: lines are added while the piece is below the target and stays within
    /// the maximum; a longer line is cut at words; a last piece of few tokens joins the one before.
    pub(super) fn split_page(&self, range: Range<usize>) -> Vec<Piece> {
        let mut parts = Vec::new();
        for line in lines(&self.text[range.clone()]) {
            let line = range.start + line.start..range.start + line.end;
            match self.count(&line) {
                Some(tokens) if tokens <= self.max => {
                    parts.push(Piece { range: line, tokens, is_sum: false })
                }
                _ => self.cut_words(line, &mut parts),
            }
        }
        let mut pieces = self.pack(parts, self.target);
        if let Some(tail) = pieces.pop_if(|tail| tail.tokens < TAIL_TOKENS) {
            match pieces.last_mut() {
                Some(last) => {
                    last.range.end = tail.range.end;
                    last.tokens += tail.tokens;
                    last.is_sum = true;
                }
                None => pieces.push(tail),
            }
        }
        pieces
    }
}

/// The stretches between blank lines, trimmed, none empty.
pub(super) fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = trim(text, at..at + line.len());
        at += line.len();
        match found.last_mut() {
            _ if range.is_empty() => open = false,
            Some(last) if open => last.end = range.end,
            _ => {
                found.push(range);
                open = true;
            }
        }
    }
    found
}

/// The lines that are not blank, trimmed.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let range = trim(text, at..at + line.len());
        at += line.len();
        if !range.is_empty() {
            found.push(range);
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;

    /// One token a word of up to eight bytes; longer words one token for each eight bytes begun.
    #[derive(Default)]
    pub struct Words {
        bytes_read: AtomicUsize,
    }

    impl TokenCounter for Words {
        fn count(&self, text: &str) -> usize {
            self.bytes_read.fetch_add(text.len(), Ordering::Relaxed);
            text.split_whitespace().map(|word| word.len().div_ceil(8)).sum()
        }

        fn fingerprint(&self) -> &'static str {
            "words of eight bytes"
        }
    }

    fn split(text: &str, target: usize, max: usize) -> Vec<&str> {
        let counter = Words::default();
        let splitter = Splitter { text, target, max, counter: &counter };
        let pieces = splitter.split(0..text.len(), Nature::Prose, max);
        pieces.into_iter().map(|piece| &text[piece.range]).collect()
    }

    #[test]
    fn a_text_within_the_maximum_is_one_trimmed_piece() {
        assert_eq!(split("  a b c \n", 2, 3), ["a b c"]);
        assert_eq!(split(" \n\t ", 2, 3), [""; 0]);
    }

    #[test]
    fn a_blank_line_is_preferred_to_a_sentence_end() {
        assert_eq!(split("A b. C d.\n\nE f. G h.", 4, 5), ["A b. C d.", "E f. G h."]);
    }

    #[test]
    fn a_sentence_end_is_preferred_to_a_line_end() {
        assert_eq!(split("A b\nc d. E f\ng h.", 4, 5), ["A b\nc d.", "E f\ng h."]);
    }

    #[test]
    fn a_sentence_without_end_is_cut_at_lines_then_words_then_characters() {
        assert_eq!(split("a b c d\ne f g h", 4, 5), ["a b c d", "e f g h"]);
        assert_eq!(split("a b c d e f g h", 4, 5).concat().replace(' ', ""), "abcdefgh");
        let long = "\u{e9}".repeat(40);
        let pieces = split(&long, 4, 5);
        assert_eq!(pieces.concat(), long);
        assert!(pieces.iter().all(|piece| piece.len() <= 40), "{pieces:?}");
    }

    #[test]
    fn pieces_are_of_even_size_rather_than_with_a_small_rest() {
        let text = "A b. ".repeat(11);

        let sizes: Vec<usize> =
            split(&text, 10, 12).iter().map(|piece| piece.split_whitespace().count()).collect();

        // 22 tokens at a target of 10 make 3 pieces of about 8.
        assert_eq!(sizes, [8, 8, 6]);
    }

    #[test]
    fn ten_megabytes_without_a_space_are_cut_in_linear_time() {
        let text = "x".repeat(10 << 20);
        let counter = Words::default();
        let splitter = Splitter { text: &text, target: 160, max: 200, counter: &counter };

        let pieces = splitter.split(0..text.len(), Nature::Prose, 200);

        assert!(pieces.iter().all(|piece| piece.tokens <= 200));
        assert_eq!(pieces.iter().map(|piece| piece.range.len()).sum::<usize>(), text.len());
        let read = counter.bytes_read.load(Ordering::Relaxed);
        assert!(read < 4 * text.len(), "the counter read {read} bytes");
    }

    #[test]
    fn a_page_is_packed_by_lines_and_a_short_tail_joins_the_piece_before() {
        let lines: Vec<String> = (0..9).map(|n| format!("{n} {}", "w ".repeat(39).trim_end())).collect();
        let text = format!("{}\n\n5 words at the end", lines.join("\n"));
        let counter = Words::default();
        let splitter = Splitter { text: &text, target: 160, max: 200, counter: &counter };

        let pieces = splitter.split_page(0..text.len());

        // Nine lines of 40: 160, 160, and 40 + 5 as the rest.
        assert_eq!(pieces.iter().map(|piece| piece.tokens).collect::<Vec<_>>(), [160, 160, 45]);
        let text = format!("{}\n5 words at the end", lines[..8].join("\n"));
        let splitter = Splitter { text: &text, ..splitter };
        let pieces = splitter.split_page(0..text.len());
        assert_eq!(pieces.iter().map(|piece| piece.tokens).collect::<Vec<_>>(), [160, 165]);
    }
}
