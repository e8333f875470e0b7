//! From text to terms.

use std::fmt;
use std::ops::Range;

use parking_lot::Mutex;
use rust_stemmers::Algorithm;
use rust_stemmers::Stemmer;
use unicode_normalization::char::is_combining_mark;

use super::fold::Class;
use super::fold::Folded;
use super::fold::fold;
use super::hash::WordMap;
use super::stop::is_stop;
use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;

/// Longest term. A longer word is cut at the last character that ends within.
pub const MAX_TERM_BYTES: usize = 255;

/// Words above this are not stemmed, nor kept in the memo: no language's words are so long.
const MAX_STEMMED_BYTES: usize = 64;

/// Words whose stems are remembered by each scratch space; then it starts anew.
const MEMO_WORDS: usize = 1 << 16;

/// Longest word that makes a term together with the unspaced letter behind it, as in "3" + "\u{6708}".
const MAX_PAIRED_BYTES: usize = 32;

/// Languages with a stemmer, by their tag.
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nl", Algorithm::Dutch),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

/// How text becomes terms. Two texts compare only if the same configuration made their terms, so it is stored
/// in the file as its [`fingerprint`](Self::fingerprint).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches, and independent")]
pub struct AnalyzerConfig {
    /// Index into [`LANGUAGES`].
    language: usize,
    stemming: bool,
    stop_words: bool,
    fold_accents: bool,
    unspaced_bigrams: bool,
    plain: bool,
}

impl Default for AnalyzerConfig {
    /// English, with everything switched on.
    fn default() -> Self {
        let language = LANGUAGES.iter().position(|(tag, _)| *tag == "en").unwrap_or(0);
        Self {
            language,
            stemming: true,
            stop_words: true,
            fold_accents: true,
            unspaced_bigrams: true,
            plain: false,
        }
    }
}

impl AnalyzerConfig {
    /// Nothing but runs of letters, digits and `_` in lower case: what `\w+` finds. For comparisons.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            stemming: false,
            stop_words: false,
            fold_accents: false,
            unspaced_bigrams: false,
            plain: true,
            ..Self::default()
        }
    }

    /// The language of words in scripts with spaces, by its tag: `en`, `de`, `fr` and others.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no stemmer for it; the message lists those there are.
    pub fn language(mut self, tag: &str) -> Result<Self> {
        self.language = LANGUAGES.iter().position(|(known, _)| *known == tag).ok_or_else(|| {
            let known: Vec<&str> = LANGUAGES.iter().map(|(known, _)| *known).collect();
            Error::invalid(format!("language {tag:?} is none of {}", known.join(", ")))
        })?;
        Ok(self)
    }

    /// Whether words are reduced to their Snowball stems.
    #[must_use]
    pub const fn stemming(mut self, on: bool) -> Self {
        self.stemming = on;
        self
    }

    /// Whether frequent words are dropped; only English has a list.
    #[must_use]
    pub const fn stop_words(mut self, on: bool) -> Self {
        self.stop_words = on;
        self
    }

    /// Whether Latin and Greek letters lose their accents. Stems are made of the letters without them.
    #[must_use]
    pub const fn fold_accents(mut self, on: bool) -> Self {
        self.fold_accents = on;
        self
    }

    /// Whether runs of Han, kana, Hangul, Thai, Lao, Khmer and Burmese become overlapping pairs of letters.
    /// If not, each run is one term.
    #[must_use]
    pub const fn unspaced_bigrams(mut self, on: bool) -> Self {
        self.unspaced_bigrams = on;
        self
    }

    /// The configuration as a short line, the same for equal configurations and no others.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.to_string()
    }

    /// The configuration whose [`fingerprint`](Self::fingerprint) is `line`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this build makes no such line, as when a newer analyzer wrote the file.
    pub fn parse(line: &str) -> Result<Self> {
        let unknown = || {
            let message = format!("the file's text was analysed by {line:?}, which this build does not know");
            Error::new(ErrorKind::Unsupported, message)
        };
        if line == Self::plain().fingerprint() {
            return Ok(Self::plain());
        }
        let words: Vec<&str> = line.split(' ').collect();
        let ["words-1", language, switches @ ..] = words.as_slice() else { return Err(unknown()) };
        let has = |name: &str| switches.contains(&name);
        let config = Self::default()
            .language(language)
            .map_err(|_| unknown())?
            .stemming(has("stem"))
            .stop_words(has("stop"))
            .fold_accents(has("fold"))
            .unspaced_bigrams(has("bigrams"));
        // Anything misspelt, repeated or out of order gives another line.
        if config.fingerprint() == line { Ok(config) } else { Err(unknown()) }
    }
}

impl fmt::Display for AnalyzerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            return f.write_str("plain-1");
        }
        write!(f, "words-1 {}", LANGUAGES.get(self.language).map_or("en", |(tag, _)| tag))?;
        let switches = [
            (self.stemming, " stem"),
            (self.stop_words, " stop"),
            (self.fold_accents, " fold"),
            (self.unspaced_bigrams, " bigrams"),
        ];
        switches.iter().filter(|(on, _)| *on).try_for_each(|(_, name)| f.write_str(name))
    }
}

/// Makes terms from text: the same for a document and for a question.
///
/// 1. NFKC, then each character's full lower case, with `\u{df}` as `ss`, final sigma as sigma, and dotted capital I as
///    `i`. Characters without a shape (soft hyphen, joiners, selectors, marks of direction) are dropped.
/// 2. Accents are dropped from Latin and Greek letters, points and vowel signs from Hebrew and Arabic.
/// 3. Words are runs of letters, digits and their combining marks: UAX 29's words, parted besides at `_`, at
///    apostrophes, and at `.` and `:` between letters. "don't" is `don` and the stop word `t`.
/// 4. Numbers keep `.` between digits ("3.14", "10.0.0.1") and lose `,` before a group of three digits, so that
///    "1,234" is found as "1234". Emoji and punctuation make no term.
/// 5. Runs of scripts without spaces become overlapping bigrams; a single letter stays one. A word directly
///    before such a run also makes a term with the run's first letter, so that a drive's or month's name
///    such as "C\u{76d8}" or "3\u{6708}" is found as a whole inside a longer run.
/// 6. Stop words are dropped, the rest is stemmed and cut to [`MAX_TERM_BYTES`].
///
/// It may be shared between threads.
pub struct Analyzer {
    config: AnalyzerConfig,
    stemmer: Option<Stemmer>,
    spare: Mutex<Vec<Scratch>>,
}

#[derive(Default)]
struct Scratch {
    folded: Vec<Folded>,
    word: String,
    /// The term of a word; `None` for a stop word.
    memo: WordMap<Option<Box<str>>>,
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new(AnalyzerConfig::default())
    }
}

impl Analyzer {
    /// An analyzer that does what `config` says.
    #[must_use]
    pub fn new(config: AnalyzerConfig) -> Self {
        let language = LANGUAGES.get(config.language).filter(|_| config.stemming);
        let stemmer = language.map(|(_, algorithm)| Stemmer::create(*algorithm));
        Self { config, stemmer, spare: Mutex::default() }
    }

    /// What it was made from.
    #[must_use]
    pub const fn config(&self) -> AnalyzerConfig {
        self.config
    }

    /// Gives `each` term of `text`, in order, as often as it occurs.
    pub fn terms(&self, text: &str, each: &mut impl FnMut(&str)) {
        self.terms_with_spans(text, &mut |term, _| each(term));
    }

    /// Gives `each` term of `text` with the bytes of `text` it came from, which begin and end at characters.
    /// Spans of bigrams overlap.
    pub fn terms_with_spans(&self, text: &str, each: &mut impl FnMut(&str, Range<usize>)) {
        if self.config.plain {
            return plain(text, each);
        }
        let spare = self.spare.lock().pop();
        let mut scratch = spare.unwrap_or_default();
        let mut start = 0;
        for chunk in text.split(|c: char| c.is_ascii_whitespace()) {
            if chunk.is_ascii() {
                self.ascii(chunk, start, &mut scratch, each);
            } else {
                self.unicode(chunk, start, &mut scratch, each);
            }
            start += chunk.len() + 1;
        }
        self.spare.lock().push(scratch);
    }

    /// Gives `each` term of `text` with its position and the bytes of `text` it came from; gives how many
    /// positions the text takes.
    pub fn terms_with_positions(&self, text: &str, each: &mut impl FnMut(&str, u32, Range<usize>)) -> u32 {
        let mut position = 0;
        self.terms_with_spans(text, &mut |term, span| {
            each(term, position, span);
            position += 1;
        });
        position
    }

    /// The distinct terms of `text`, in order of their first occurrence: a question's terms.
    #[must_use]
    pub fn distinct_terms(&self, text: &str) -> Vec<String> {
        let mut seen = std::collections::HashSet::new();
        let mut out = Vec::new();
        self.terms(text, &mut |term| {
            if seen.insert(term.to_owned()) {
                out.push(term.to_owned());
            }
        });
        out
    }

    fn ascii(
        &self,
        chunk: &str,
        base: usize,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&str, Range<usize>),
    ) {
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
            scratch.word.clear();
            scratch.word.push_str(chunk.get(at..end).unwrap_or_default());
            scratch.word.make_ascii_lowercase();
            if first.is_ascii_digit() {
                scratch.word.retain(|letter| letter != ',');
            }
            self.word(scratch, base + at..base + end, each);
            at = end;
        }
    }

    fn unicode(
        &self,
        chunk: &str,
        base: usize,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&str, Range<usize>),
    ) {
        let mut folded = std::mem::take(&mut scratch.folded);
        folded.clear();
        fold(chunk, base, self.config.fold_accents, &mut folded);
        let mut at = 0;
        while let Some(first) = folded.get(at) {
            let end = match first.class {
                Class::Break | Class::Mark => at + 1,
                Class::Word => {
                    let end = word_end(at, |index| folded.get(index).and_then(as_byte));
                    scratch.word.clear();
                    let run = folded.get(at..end).unwrap_or_default();
                    let letters = run.iter().map(|folded| folded.char);
                    scratch.word.extend(letters.filter(|letter| *letter != ','));
                    self.word(scratch, span(run), each);
                    self.pair(scratch, run, folded.get(end..).unwrap_or_default(), each);
                    end
                }
                Class::Unspaced => {
                    let rest = folded.get(at..).unwrap_or_default();
                    let more = |folded: &Folded| matches!(folded.class, Class::Unspaced | Class::Mark);
                    let run =
                        rest.get(..rest.iter().take_while(|folded| more(folded)).count()).unwrap_or(rest);
                    self.bigrams(scratch, run, each);
                    at + run.len()
                }
            };
            at = end;
        }
        scratch.folded = folded;
    }

    /// The term of `scratch.word`, if it is no stop word.
    fn word(&self, scratch: &mut Scratch, span: Range<usize>, each: &mut impl FnMut(&str, Range<usize>)) {
        let Scratch { word, memo, .. } = scratch;
        if word.len() > MAX_STEMMED_BYTES || word.starts_with(|first: char| first.is_ascii_digit()) {
            return each(cut(word), span);
        }
        if self.stemmer.is_none() && !self.config.stop_words {
            return each(word, span);
        }
        if let Some(known) = memo.get(word.as_str()) {
            return known.iter().for_each(|term| each(term, span.clone()));
        }
        let language = LANGUAGES.get(self.config.language).map_or("", |(tag, _)| tag);
        let term: Option<Box<str>> = if self.config.stop_words && is_stop(language, word) {
            None
        } else {
            let stem = self.stemmer.as_ref().map_or(word.as_str().into(), |stemmer| stemmer.stem(word));
            Some(if stem.is_empty() { word.as_str().into() } else { cut(&stem).into() })
        };
        if let Some(term) = &term {
            each(term, span);
        }
        if memo.len() >= MEMO_WORDS {
            memo.clear();
        }
        memo.insert(word.as_str().into(), term);
    }

    /// The term of the word in `scratch.word` with the unspaced letter that follows it in `rest`.
    fn pair(
        &self,
        scratch: &mut Scratch,
        run: &[Folded],
        rest: &[Folded],
        each: &mut impl FnMut(&str, Range<usize>),
    ) {
        let follows = rest.first().is_some_and(|next| next.class == Class::Unspaced);
        if follows && self.config.unspaced_bigrams && scratch.word.len() <= MAX_PAIRED_BYTES {
            let letter = rest.get(..letter_end(rest, 0)).unwrap_or_default();
            scratch.word.extend(letter.iter().map(|folded| folded.char));
            each(cut(&scratch.word), span(run).start..span(letter).end);
        }
    }

    fn bigrams(&self, scratch: &mut Scratch, run: &[Folded], each: &mut impl FnMut(&str, Range<usize>)) {
        let mut give = |part: &[Folded]| {
            scratch.word.clear();
            scratch.word.extend(part.iter().map(|folded| folded.char));
            each(cut(&scratch.word), span(part));
        };
        let mut first = letter_end(run, 0);
        if first == run.len() || !self.config.unspaced_bigrams {
            return give(run);
        }
        let mut start = 0;
        while first < run.len() {
            let second = letter_end(run, first);
            give(run.get(start..second).unwrap_or_default());
            (start, first) = (first, second);
        }
    }
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

/// Runs of letters, digits and `_`, in lower case.
fn plain(text: &str, each: &mut impl FnMut(&str, Range<usize>)) {
    let is_word = |c: char| c == '_' || c.is_alphanumeric() && (c.is_ascii() || !is_combining_mark(c));
    let mut at = 0;
    for run in text.split(|c| !is_word(c)) {
        if let Some(start) = text.get(at..).and_then(|rest| rest.find(run)).filter(|_| !run.is_empty()) {
            let span = at + start..at + start + run.len();
            at = span.end;
            for word in run.to_lowercase().split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
                each(cut(word), span.clone());
            }
        }
    }
}
