//! What an analyzer is told, and the line that says it.

use std::fmt;

use rust_stemmers::Algorithm;
use rust_stemmers::Stemmer;

use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;
use crate::text::segmenter;
use crate::text::stop::StopList;

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

/// Name of the Chinese segmenter with its dictionary; another dictionary is another name.
const JIEBA: &str = "jieba-1";

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
    chinese_words: bool,
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
            chinese_words: false,
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

    /// Whether frequent words are dropped. There are lists for da, de, en, es, fi, fr, hu, it, nl, no, pt, ru
    /// and sv; in other languages nothing is dropped.
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

    /// Why a stored line is refused that no build of this version makes.
    pub(super) fn unknown(line: &str) -> Error {
        refused(line, "which this build does not know: use a newer evdb, or build the file anew")
    }

    /// What finds the words in runs of unspaced letters, beside the bigrams: `zh` for Chinese, by jieba's
    /// dictionary, or `none`. It has no effect without bigrams, which keep unknown words findable.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no such segmenter; `Unsupported` if this build was made without its feature.
    pub fn segmenter(mut self, tag: &str) -> Result<Self> {
        self.chinese_words = match tag {
            "none" => false,
            "zh" if segmenter::AVAILABLE => true,
            "zh" => {
                let message = "segmenter \"zh\" is not in this build: build evdb with `--features zh`";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            _ => return Err(Error::invalid(format!("segmenter {tag:?} is none of zh, none"))),
        };
        Ok(self)
    }

    pub(super) const fn is_plain(self) -> bool {
        self.plain
    }

    pub(super) const fn segments(self) -> bool {
        self.chinese_words && self.unspaced_bigrams
    }

    pub(super) fn stop_list(self) -> Option<StopList> {
        self.stop_words.then(|| StopList::new(self.language_tag(), self.fold_accents)).flatten()
    }

    pub(super) const fn folds_accents(self) -> bool {
        self.fold_accents
    }

    pub(super) const fn makes_bigrams(self) -> bool {
        self.unspaced_bigrams
    }

    fn language_tag(self) -> &'static str {
        LANGUAGES.get(self.language).map_or("en", |(tag, _)| tag)
    }

    pub(super) fn stemmer(self) -> Option<Stemmer> {
        let language = LANGUAGES.get(self.language).filter(|_| self.stemming);
        language.map(|(_, algorithm)| Stemmer::create(*algorithm))
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
    /// `Unsupported` if this build makes no such line, as when a newer analyzer wrote the file, or one with a
    /// feature that this build lacks, which the message names.
    pub fn parse(line: &str) -> Result<Self> {
        let unknown = || Self::unknown(line);
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
        let config = Self { chinese_words: has(JIEBA), ..config };
        // Anything misspelt, repeated or out of order gives another line.
        if config.fingerprint() != line {
            return Err(unknown());
        }
        if config.segments() && !segmenter::AVAILABLE {
            return Err(refused(line, "but this build has no \"zh\": build evdb with `--features zh`"));
        }
        Ok(config)
    }
}

fn refused(line: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the file's text was analysed by {line:?}, {why}"))
}

impl fmt::Display for AnalyzerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            return f.write_str("plain-1");
        }
        write!(f, "words-1 {}", self.language_tag())?;
        let switches = [
            (self.stemming, "stem"),
            (self.stop_words, "stop"),
            (self.fold_accents, "fold"),
            (self.unspaced_bigrams, "bigrams"),
            (self.segments(), JIEBA),
        ];
        switches.iter().filter(|(on, _)| *on).try_for_each(|(_, name)| write!(f, " {name}"))
    }
}
