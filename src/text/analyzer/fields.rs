//! One configuration for texts, one for titles.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fmt;

use super::Analyzer;
use super::AnalyzerConfig;
use super::walk::Kind;
use crate::error::Result;

/// What parts the two configurations of a stored line.
const TITLES: &str = "; titles ";

/// How the text of a file becomes terms, which is stored in it as its [`fingerprint`](Self::fingerprint).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextConfig {
    /// For leaves: their texts and their own titles.
    pub body: AnalyzerConfig,
    /// For the titles of documents and sections.
    pub title: AnalyzerConfig,
}

impl From<AnalyzerConfig> for TextConfig {
    /// The same for both.
    fn from(config: AnalyzerConfig) -> Self {
        Self { body: config, title: config }
    }
}

impl TextConfig {
    /// As one line, the same for equal configurations and no others: that of the bodies, and if titles have
    /// another, `; titles ` and theirs.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.to_string()
    }

    /// The configuration whose [`fingerprint`](Self::fingerprint) is `line`.
    ///
    /// # Errors
    ///
    /// As [`AnalyzerConfig::parse`].
    pub fn parse(line: &str) -> Result<Self> {
        let Some((body, title)) = line.split_once(TITLES) else {
            return Ok(AnalyzerConfig::parse(line)?.into());
        };
        let config = Self { body: AnalyzerConfig::parse(body)?, title: AnalyzerConfig::parse(title)? };
        // Equal ones make a shorter line.
        if config.fingerprint() == line { Ok(config) } else { Err(AnalyzerConfig::unknown(line)) }
    }
}

impl fmt::Display for TextConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.body)?;
        if self.title != self.body {
            write!(f, "{TITLES}{}", self.title)?;
        }
        Ok(())
    }
}

/// The analyzers of a file. It may be shared between threads.
#[derive(Debug, Default)]
pub struct Analyzers {
    body: Analyzer,
    /// `None` if titles are analysed as bodies.
    title: Option<Analyzer>,
}

/// What a piece of a question is called in each field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldTerms {
    /// In bodies; `None` if they drop it as a stop word.
    pub body: Option<String>,
    /// In titles.
    pub title: Option<String>,
}

impl Analyzers {
    /// Analyzers that do what `config` says.
    #[must_use]
    pub fn new(config: TextConfig) -> Self {
        let title = (config.title != config.body).then(|| Analyzer::new(config.title));
        Self { body: Analyzer::new(config.body), title }
    }

    /// What they were made from.
    #[must_use]
    pub fn config(&self) -> TextConfig {
        TextConfig { body: self.body.config(), title: self.title().config() }
    }

    /// The analyzer of leaves: of their texts and their own titles.
    #[must_use]
    pub const fn body(&self) -> &Analyzer {
        &self.body
    }

    /// The analyzer of the titles of documents and sections.
    #[must_use]
    pub fn title(&self) -> &Analyzer {
        self.title.as_ref().unwrap_or(&self.body)
    }

    /// The analyzer of a node's own text.
    #[must_use]
    pub fn of(&self, is_leaf: bool) -> &Analyzer {
        if is_leaf { self.body() } else { self.title() }
    }

    /// A question's terms for both fields, distinct, in order of their first occurrence. Pieces of the question
    /// are told apart by their bytes in it: what stands in both fields for the same bytes is one piece.
    #[must_use]
    pub fn field_terms(&self, question: &str) -> Vec<FieldTerms> {
        let Some(title) = &self.title else {
            let same = |term: String| FieldTerms { body: Some(term.clone()), title: Some(term) };
            return self.body.distinct_terms(question).into_iter().map(same).collect();
        };
        let mut pieces = BTreeMap::new();
        let mut gather = |analyzer: &Analyzer, put: fn(&mut FieldTerms, String)| {
            let mut count = BTreeMap::new();
            analyzer.walk(question, &mut |kind, term, _, span| {
                if kind != Kind::Last {
                    // One character may stand for several words, which then have the same bytes.
                    let key = (span.start, kind, span.end);
                    let nth = count.entry(key).and_modify(|nth| *nth += 1).or_insert(0_u32);
                    let none = FieldTerms { body: None, title: None };
                    put(pieces.entry((key, *nth)).or_insert(none), term.to_owned());
                }
            });
        };
        gather(&self.body, |piece, term| piece.body = Some(term));
        gather(title, |piece, term| piece.title = Some(term));
        let mut seen = HashSet::new();
        pieces.into_values().filter(|piece| seen.insert(piece.clone())).collect()
    }

    /// The distinct terms of `question` in either field, in order of their first occurrence.
    #[must_use]
    pub fn distinct_terms(&self, question: &str) -> Vec<String> {
        if self.title.is_none() {
            return self.body.distinct_terms(question);
        }
        let mut seen = HashSet::new();
        let terms = self.field_terms(question).into_iter().flat_map(|piece| [piece.body, piece.title]);
        terms.flatten().filter(|term| seen.insert(term.clone())).collect()
    }
}
