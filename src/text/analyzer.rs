//! From text to terms.

mod config;
mod fields;
mod phrase;
mod walk;

use std::fmt;
use std::ops::Range;

use parking_lot::Mutex;
use rust_stemmers::Stemmer;

pub use config::AnalyzerConfig;
pub use fields::Analyzers;
pub use fields::FieldTerms;
pub use fields::TextConfig;
pub use phrase::PhraseTerm;
use walk::Kind;
use walk::Scratch;
use walk::Walk;

use super::stop::StopList;

/// Longest term. A longer word is cut at the last character that ends within.
pub const MAX_TERM_BYTES: usize = 255;

/// Makes terms from text: the same for a document and for a question.
///
/// 1. NFKC, then each character's full lower case, with `\u{df}` as `ss`, final sigma as sigma, and dotted capital I as
///    `i`. Characters without a shape (soft hyphen, joiners, selectors, marks of direction) are dropped.
/// 2. Accents are dropped from Latin and Greek letters, points and vowel signs from Hebrew and Arabic.
/// 3. Words are runs of letters, digits and their combining marks: UAX 29's words, parted besides at `_`, at
///    apostrophes, and at `.` and `:` between letters. "don't" is `don` and the stop word `t`.
/// 4. Numbers keep `.` between digits ("3.14", "10.0.0.1") and lose `,` before a group of three digits, so that
///    "1,234" is found as "1234". Emoji and punctuation make no term.
/// 5. Runs of scripts without spaces become overlapping bigrams, and the last letter is a term by itself: so
///    every letter begins a term. A word directly before such a run also makes a term with the run's first
///    letter, so that a drive's or month's name such as "C\u{76d8}" or "3\u{6708}" is found as a whole inside a
///    longer run. A segmenter adds the words that it knows and that are no bigrams.
/// 6. Stop words are dropped, the rest is stemmed and cut to [`MAX_TERM_BYTES`].
///
/// It may be shared between threads.
pub struct Analyzer {
    config: AnalyzerConfig,
    stemmer: Option<Stemmer>,
    stop_words: Option<StopList>,
    spare: Mutex<Vec<Scratch>>,
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
        Self { config, stemmer: config.stemmer(), stop_words: config.stop_list(), spare: Mutex::default() }
    }

    /// What it was made from.
    #[must_use]
    pub const fn config(&self) -> AnalyzerConfig {
        self.config
    }

    /// Gives `each` term of `text`, in order, as often as it occurs.
    pub fn terms(&self, text: &str, each: &mut impl FnMut(&str)) {
        self.terms_with_positions(text, &mut |term, _, _| each(term));
    }

    /// Gives `each` term of `text` with the bytes of `text` it came from, which begin and end at characters.
    /// Spans of bigrams overlap.
    pub fn terms_with_spans(&self, text: &str, each: &mut impl FnMut(&str, Range<usize>)) {
        self.terms_with_positions(text, &mut |term, _, span| each(term, span));
    }

    /// Gives `each` term of `text` with its position and its span, as
    /// [`terms_with_spans`](Self::terms_with_spans) does, and returns how many positions the text took.
    ///
    /// Positions ascend from 0. What follows directly in the text has the next position, so that a phrase is
    /// found by the differences between its terms; [`phrase_terms`](Self::phrase_terms) says which of them.
    ///
    /// * A word takes one, also a stop word that is dropped: the gap it leaves is the same in a question, and
    ///   "state of the art" is not found in "state art".
    /// * A word's pair with the unspaced letter behind it has the word's position.
    /// * Each letter of an unspaced run takes one. A segmenter's word has that of its first letter.
    ///
    /// No term occurs twice at one position.
    pub fn terms_with_positions(&self, text: &str, each: &mut impl FnMut(&str, u32, Range<usize>)) -> u32 {
        self.walk(text, &mut |_, term, position, span| each(term, position, span))
    }

    fn walk(&self, text: &str, each: &mut impl FnMut(Kind, &str, u32, Range<usize>)) -> u32 {
        let scratch = self.spare.lock().pop().unwrap_or_default();
        let (positions, scratch) = Walk::new(self, scratch, each).text(text);
        self.spare.lock().push(scratch);
        positions
    }

    /// The distinct terms of `text`, in order of their first occurrence: a question's terms. The last letter of
    /// a run is none of them: what a text says of it, its bigram says better.
    #[must_use]
    pub fn distinct_terms(&self, text: &str) -> Vec<String> {
        let mut seen = std::collections::HashSet::new();
        let mut out = Vec::new();
        self.walk(text, &mut |kind, term, _, _| {
            if kind != Kind::Last && seen.insert(term.to_owned()) {
                out.push(term.to_owned());
            }
        });
        out
    }
}
