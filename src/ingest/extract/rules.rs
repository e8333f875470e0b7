//! Names by rule: titles of the corpus, and capitalised spans, whole and in parts.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::Result;
use crate::graph::paths::Case;
use crate::graph::paths::Word;
use crate::graph::paths::capitalised;
use crate::graph::paths::longest_titles;
use crate::graph::paths::parts;
use crate::graph::paths::title_keys;
use crate::graph::paths::trimmed;
use crate::graph::paths::words;
use crate::graph::paths::written_as_name;
use crate::model::EntityRecognizer;
use crate::model::RecognizedEntity;
use crate::tree::Document;

/// Kind of the entities found by rule.
pub const NAME: &str = "name";

/// Most words whose case is remembered; those that come later are taken as never seen.
const MAX_WORDS: usize = 1 << 22;

/// Finds names by rule, with what it has learned of the corpus: which words are mostly written in lower case, so
/// that a capital at the start of a sentence makes no name of them, and which titles there are, so that they are
/// found however they are written.
///
/// What it has not learned costs little: a title that comes later is still found inside every capitalised name
/// (by [`PathIndexBuilder`](crate::graph::paths::PathIndexBuilder)), and a common word kept as a name is a name
/// that many have, and counts little.
#[derive(Debug, Default)]
pub struct NameRules {
    /// How often each word begins with a lower-case letter, and how often it is written at all.
    case: HashMap<Box<str>, (u32, u32)>,
    titles: HashMap<Box<str>, u32>,
}

impl NameRules {
    /// Learns the words and titles of `document`.
    pub fn learn(&mut self, document: &Document) {
        for word in words(&document.text) {
            self.learn_word(&word);
        }
        for node in &document.nodes {
            for key in title_keys(&node.title) {
                self.titles.insert(key.into(), 0);
            }
        }
    }

    fn learn_word(&mut self, word: &Word) {
        if !matches!(word.case, Case::Lower | Case::Upper) {
            return;
        }
        let lower = u32::from(word.case == Case::Lower);
        if let Some((lowers, all)) = self.case.get_mut(word.folded.as_str()) {
            *lowers = lowers.saturating_add(lower);
            *all = all.saturating_add(1);
        } else if self.case.len() < MAX_WORDS {
            self.case.insert(word.folded.as_str().into(), (lower, 1));
        }
    }

    /// Whether `word` is mostly written in lower case.
    fn is_common(&self, word: &str) -> bool {
        self.case.get(word).is_some_and(|(lower, all)| u64::from(*lower) * 2 > u64::from(*all))
    }

    /// The names in `text`: titles first, then capitalised spans, each whole and in parts. Ranges of bytes.
    #[must_use]
    pub fn names(&self, text: &str) -> Vec<Range<usize>> {
        let words = words(text);
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut add = |span: &Range<usize>| {
            let inside = words.get(span.clone()).unwrap_or_default();
            if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                let range = first.range.start..last.range.end;
                if !found.contains(&range) {
                    found.push(range);
                }
            }
        };
        let known = |text: &str| self.titles.get(text).copied();
        for (span, _) in longest_titles(&words, &known) {
            if words.get(span.clone()).is_some_and(written_as_name) {
                add(&span);
            }
        }
        let common = |word: &str| self.is_common(word);
        for span in capitalised(text, &words) {
            for part in std::iter::once(span.clone()).chain(parts(&words, &span)) {
                if let Some(name) = trimmed(&words, &part, &common) {
                    add(&name);
                }
            }
        }
        found
    }
}

impl EntityRecognizer for NameRules {
    fn fingerprint(&self) -> &'static str {
        "names-1"
    }

    fn recognize(&self, sentences: &[&str]) -> Result<Vec<Vec<RecognizedEntity>>> {
        let entity = |range| RecognizedEntity { range, kind: NAME.to_owned() };
        Ok(sentences.iter().map(|text| self.names(text).into_iter().map(entity).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[(&str, &str)]) -> NameRules {
        let mut rules = NameRules::default();
        for (title, text) in texts {
            let mut document = Document::new("k", *title);
            (*text).clone_into(&mut document.text);
            rules.learn(&document);
        }
        rules
    }

    fn names<'a>(rules: &NameRules, text: &'a str) -> Vec<&'a str> {
        rules.names(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_word_that_the_texts_write_in_lower_case_opens_no_name() {
        let text = "Directed by Ann Lee, it won. Although Ann Lee left.";

        assert_eq!(names(&NameRules::default(), text), ["Directed", "Ann Lee", "Although Ann Lee"]);
        let learned = rules(&[("t", "it was directed so, although late; directed again")]);
        assert_eq!(names(&learned, text), ["Ann Lee", "Ann Lee"]);
    }

    #[test]
    fn a_name_is_found_whole_and_in_parts() {
        let found = names(&NameRules::default(), "at the University of Michigan's Law School");

        assert_eq!(found, ["University of Michigan's Law School", "University", "Michigan's Law School"]);
    }

    #[test]
    fn titles_are_found_in_lower_case_and_in_scripts_without_case() {
        let rules = rules(&[("Theory of relativity", ""), ("北京大学", ""), ("Water", "")]);

        assert_eq!(names(&rules, "the theory of relativity and water"), ["theory of relativity"]);
        assert_eq!(names(&rules, "他在北京大学学习"), ["北京大学"]);
        assert_eq!(names(&rules, "Water flows"), ["Water"]);
    }

    #[test]
    fn messy_text_has_no_names_and_does_no_harm() {
        for text in ["", " ", "\u{1f600}\u{1f600}", "1 2 3", "\u{0}\u{feff}", "'''''", "....."] {
            assert_eq!(names(&NameRules::default(), text), Vec::<&str>::new(), "{text:?}");
        }
    }
}
