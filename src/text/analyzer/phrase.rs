//! Which of a phrase's terms say where it stands.

use super::Analyzer;
use super::walk::Kind;

/// A term of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhraseTerm {
    /// The term, or what the term begins with.
    pub term: String,
    /// As [`Analyzer::terms_with_positions`] counts; only differences between a phrase's terms mean something.
    pub position: u32,
    /// Whether any term that begins with [`term`](Self::term) will do. Only a phrase's last one.
    pub prefix: bool,
}

impl Analyzer {
    /// The terms of `text` as a phrase, in order: a text holds the phrase if it has all of these terms at
    /// positions with the same differences. There is no more than one for a position, and none for a
    /// stop word.
    ///
    /// A phrase may begin and end within a run of unspaced letters: its last letter need not be the last of
    /// the run, so its bigrams speak for it, or if it is alone, every term that begins with it. So "C\u{76d8}"
    /// is found in "C\u{76d8}\u{6587}\u{4ef6}", and in "C \u{76d8}" as many write it. Pairs of a word and a letter
    /// are left out, because the terms beside them say the same, and so are a segmenter's words: they depend
    /// on the letters around the phrase.
    #[must_use]
    pub fn phrase_terms(&self, text: &str) -> Vec<PhraseTerm> {
        let mut out = Vec::new();
        let mut ends_alone = false;
        let taken = self.walk(text, &mut |kind, term, position, _| {
            if matches!(kind, Kind::Word | Kind::Bigram | Kind::Lone) {
                ends_alone = kind == Kind::Lone;
                out.push(PhraseTerm { term: term.to_owned(), position, prefix: false });
            }
        });
        if let Some(last) = out.last_mut() {
            last.prefix = ends_alone && last.position.saturating_add(1) == taken;
        }
        out
    }
}
