//! One walk over a text: words, pairs and bigrams with their positions.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::Analyzer;
use super::MAX_TERM_BYTES;
use crate::text::fold::Class;
use crate::text::fold::Folded;
use crate::text::fold::fold;
use crate::text::hash::WordMap;
use crate::text::segmenter;

/// Words above this are not stemmed, nor kept in the memo: no language's words are so long.
const MAX_STEMMED_BYTES: usize = 64;

/// Words whose stems are remembered by each scratch space; then it starts anew.
const MEMO_WORDS: usize = 1 << 16;

/// Longest word that makes a term together with the unspaced letter behind it, as in "3" + "\u{6708}".
const MAX_PAIRED_BYTES: usize = 32;

/// Characters that the segmenter sees at once: its memory grows with them.
const MAX_SEGMENTED: usize = 1024;

/// What a term is of the text it came from. The order is that of terms at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A word; without bigrams also a whole run of unspaced letters.
    Word,
    /// A word with the unspaced letter behind it.
    Pair,
    /// A word of unspaced letters that the segmenter knows.
    Segment,
    /// A letter of a run and the next.
    Bigram,
    /// The last letter of a run of several.
    Last,
    /// The letter of a run of one.
    Lone,
}

/// What a walk needs and the next one can use again.
#[derive(Default)]
pub struct Scratch {
    folded: Vec<Folded>,
    word: String,
    /// The term of a word; `None` for a stop word.
    memo: WordMap<Option<Box<str>>>,
}

/// A text on its way to terms.
pub struct Walk<'a, E> {
    analyzer: &'a Analyzer,
    scratch: Scratch,
    /// Of what comes next.
    position: u32,
    each: &'a mut E,
}

impl<'a, E: FnMut(Kind, &str, u32, Range<usize>)> Walk<'a, E> {
    pub fn new(analyzer: &'a Analyzer, scratch: Scratch, each: &'a mut E) -> Self {
        Self { analyzer, scratch, position: 0, each }
    }

    /// Gives the terms of `text`, and returns how many positions it took.
    pub fn text(mut self, text: &str) -> (u32, Scratch) {
        if self.analyzer.config.is_plain() {
            self.plain(text);
            return (self.position, self.scratch);
        }
        let mut start = 0;
        for chunk in text.split(|c: char| c.is_ascii_whitespace()) {
            if chunk.is_ascii() {
                self.ascii(chunk, start);
            } else {
                self.unicode(chunk, start);
            }
            start += chunk.len() + 1;
        }
        (self.position, self.scratch)
    }

    /// Ends what stands at the present position. No text takes more than two for a byte.
    const fn advance(&mut self) {
        self.position = self.position.saturating_add(1);
    }

    fn ascii(&mut self, chunk: &str, base: usize) {
        let bytes = chunk.as_bytes();
        let mut at = 0;
        while let Some(first) = bytes.get(at) {
            if !first.is_ascii_alphanumeric() {
                at += 1;
                continue;
            }
            let end = if first.is_ascii_digit() {
                word_end(at, |index| bytes.get(index).copied())
            } else {
                let rest = bytes.get(at..).unwrap_or_default();
                at + rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len())
            };
            let word = &mut self.scratch.word;
            word.clear();
            word.push_str(chunk.get(at..end).unwrap_or_default());
            word.make_ascii_lowercase();
            if first.is_ascii_digit() {
                word.retain(|letter| letter != ',');
            }
            self.word(base + at..base + end);
            self.advance();
            at = end;
        }
    }

    fn unicode(&mut self, chunk: &str, base: usize) {
        let mut folded = std::mem::take(&mut self.scratch.folded);
        folded.clear();
        fold(chunk, base, self.analyzer.config.folds_accents(), &mut folded);
        let mut at = 0;
        while let Some(first) = folded.get(at) {
            let end = match first.class {
                Class::Break | Class::Mark => at + 1,
                Class::Word => {
                    let end = word_end(at, |index| folded.get(index).and_then(as_byte));
                    let run = folded.get(at..end).unwrap_or_default();
                    let letters = run.iter().map(|folded| folded.char);
                    self.scratch.word.clear();
                    self.scratch.word.extend(letters.filter(|letter| *letter != ','));
                    self.word(span(run));
                    self.pair(run, folded.get(end..).unwrap_or_default());
                    self.advance();
                    end
                }
                Class::Unspaced => {
                    let rest = folded.get(at..).unwrap_or_default();
                    let more = |folded: &Folded| matches!(folded.class, Class::Unspaced | Class::Mark);
                    let run =
                        rest.get(..rest.iter().take_while(|folded| more(folded)).count()).unwrap_or(rest);
                    self.unspaced(run);
                    at + run.len()
                }
            };
            at = end;
        }
        self.scratch.folded = folded;
    }

    /// The term of the scratch space's word, if it is no stop word.
    fn word(&mut self, span: Range<usize>) {
        let Scratch { word, memo, .. } = &mut self.scratch;
        let Analyzer { stop_words, stemmer, .. } = self.analyzer;
        if word.len() > MAX_STEMMED_BYTES || word.starts_with(|first: char| first.is_ascii_digit()) {
            return (self.each)(Kind::Word, cut(word), self.position, span);
        }
        if stemmer.is_none() && stop_words.is_none() {
            return (self.each)(Kind::Word, word, self.position, span);
        }
        if let Some(known) = memo.get(word.as_str()) {
            return known.iter().for_each(|term| (self.each)(Kind::Word, term, self.position, span.clone()));
        }
        let term: Option<Box<str>> = if stop_words.as_ref().is_some_and(|list| list.has(word)) {
            None
        } else {
            let stem = stemmer.as_ref().map_or(word.as_str().into(), |stemmer| stemmer.stem(word));
            Some(if stem.is_empty() { word.as_str().into() } else { cut(&stem).into() })
        };
        if let Some(term) = &term {
            (self.each)(Kind::Word, term, self.position, span);
        }
        if memo.len() >= MEMO_WORDS {
            memo.clear();
        }
        memo.insert(word.as_str().into(), term);
    }

    /// The term of the scratch space's word, which is `run`, with the unspaced letter that follows it in `rest`.
    fn pair(&mut self, run: &[Folded], rest: &[Folded]) {
        let follows = rest.first().is_some_and(|next| next.class == Class::Unspaced);
        let word = &mut self.scratch.word;
        if follows && self.analyzer.config.makes_bigrams() && word.len() <= MAX_PAIRED_BYTES {
            let letter = rest.get(..letter_end(rest, 0)).unwrap_or_default();
            word.extend(letter.iter().map(|folded| folded.char));
            (self.each)(Kind::Pair, cut(word), self.position, span(run).start..span(letter).end);
        }
    }

    /// The terms of a run of unspaced letters. Each letter takes a position: its term is the letter with the
    /// next one, of the last letter the letter alone.
    fn unspaced(&mut self, run: &[Folded]) {
        if !self.analyzer.config.makes_bigrams() {
            self.part(Kind::Word, run);
            return self.advance();
        }
        if letter_end(run, 0) == run.len() {
            self.part(Kind::Lone, run);
            return self.advance();
        }
        let segments = if self.analyzer.config.segments() { segments(run) } else { Vec::new() };
        let mut segments = segments.into_iter().peekable();
        let mut start = 0;
        while start < run.len() {
            let next = letter_end(run, start);
            let mut is_word = false;
            while let Some(segment) = segments.next_if(|segment| segment.start == start) {
                is_word |= segment.end == next;
                self.part(Kind::Segment, run.get(segment).unwrap_or_default());
            }
            if next < run.len() {
                self.part(Kind::Bigram, run.get(start..letter_end(run, next)).unwrap_or_default());
            } else if !is_word {
                self.part(Kind::Last, run.get(start..).unwrap_or_default());
            }
            self.advance();
            start = next;
        }
    }

    /// The term of a part of a run.
    fn part(&mut self, kind: Kind, part: &[Folded]) {
        let word = &mut self.scratch.word;
        word.clear();
        word.extend(part.iter().map(|folded| folded.char));
        (self.each)(kind, cut(word), self.position, span(part));
    }

    /// Runs of letters, digits and `_`, in lower case.
    fn plain(&mut self, text: &str) {
        let is_word = |c: char| c == '_' || c.is_alphanumeric() && (c.is_ascii() || !is_combining_mark(c));
        let mut at = 0;
        for run in text.split(|c| !is_word(c)) {
            if let Some(start) = text.get(at..).and_then(|rest| rest.find(run)).filter(|_| !run.is_empty()) {
                let span = at + start..at + start + run.len();
                at = span.end;
                for word in run.to_lowercase().split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
                    (self.each)(Kind::Word, cut(word), self.position, span.clone());
                    self.advance();
                }
            }
        }
    }
}

/// The segmenter's words of a run, in order, without those of two letters: they are bigrams.
fn segments(run: &[Folded]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for (index, piece) in run.chunks(MAX_SEGMENTED).enumerate() {
        let letters: String = piece.iter().map(|folded| folded.char).collect();
        segmenter::words(&letters, &mut |word| {
            let word = index * MAX_SEGMENTED + word.start..index * MAX_SEGMENTED + word.end;
            let is_mark = |at: usize| run.get(at).is_some_and(|folded| folded.class == Class::Mark);
            let letters = word.clone().filter(|at| !is_mark(*at)).count();
            if letters != 2 && !is_mark(word.start) && !is_mark(word.end) {
                out.push(word);
            }
        });
    }
    out.sort_unstable_by_key(|word| (word.start, word.end));
    out.dedup();
    out
}

/// Where the letter at `at`, with its marks, ends.
fn letter_end(run: &[Folded], at: usize) -> usize {
    let marks = run.iter().skip(at + 1).take_while(|folded| folded.class == Class::Mark);
    at + 1 + marks.count()
}

fn span(run: &[Folded]) -> Range<usize> {
    run.first().map_or(0, |first| first.start)..run.last().map_or(0, |last| last.end)
}

fn cut(word: &str) -> &str {
    word.get(..word.floor_char_boundary(MAX_TERM_BYTES)).unwrap_or(word)
}

/// A folded character as [`word_end`] sees it: ASCII as itself, other letters of words as `x`.
fn as_byte(folded: &Folded) -> Option<u8> {
    match folded.class {
        Class::Word | Class::Mark => Some(u8::try_from(folded.char).unwrap_or(b'x')),
        Class::Break => u8::try_from(folded.char).ok().filter(u8::is_ascii),
        Class::Unspaced => None,
    }
    .map(|byte| if byte.is_ascii() { byte } else { b'x' })
}

/// Where the word that begins at `start` ends; a number goes on over `.` and `,` as [`Analyzer`] says.
fn word_end(start: usize, get: impl Fn(usize) -> Option<u8>) -> usize {
    let run = |from: usize, in_run: fn(&u8) -> bool| {
        let mut at = from;
        while get(at).is_some_and(|byte| in_run(&byte)) {
            at += 1;
        }
        at
    };
    let mut end = run(start, u8::is_ascii_alphanumeric);
    if run(start, u8::is_ascii_digit) != end {
        return end;
    }
    let mut group = end - start;
    loop {
        let next = run(end + 1, u8::is_ascii_digit);
        let digits = next - (end + 1);
        let whole = digits > 0 && run(end + 1, u8::is_ascii_alphanumeric) == next;
        match get(end) {
            Some(b'.') if whole => group = usize::MAX,
            Some(b',') if whole && digits == 3 && group <= 3 => group = 3,
            _ => return end,
        }
        end = next;
    }
}
