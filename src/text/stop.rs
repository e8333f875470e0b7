//! Stop lists: words too frequent to tell texts apart.
//!
//! The English one is ours. Those of the other languages are the Snowball project's, as NLTK and with it the
//! crate `stop-words` hands them on. Its lists of other origins are left out.

use std::collections::HashSet;

use super::fold::Class;
use super::fold::fold;
use super::hash::WordState;

/// Sorted, lower case. `s d ll m re ve t` are what apostrophes leave of contractions.
const ENGLISH: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "being", "below", "between", "both", "but", "by", "can", "could", "d", "did", "do", "does",
    "down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "he", "her", "here",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "ll", "m", "may", "me", "might", "more",
    "most", "must", "my", "no", "not", "of", "off", "on", "once", "only", "or", "other", "our", "out",
    "over", "own", "re", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "under", "up",
    "us", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// Languages whose list is taken from the crate.
const LISTED: [&str; 12] = ["da", "de", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"];

/// The stop words of a language.
#[derive(Debug)]
pub struct StopList(HashSet<Box<str>, WordState>);

impl StopList {
    /// The list of `language`, its words folded as a text's are; `None` if there is none.
    pub fn new(language: &str, accents: bool) -> Option<Self> {
        let words = source(language)?;
        let mut folded = Vec::new();
        let list = words.iter().map(|word| {
            folded.clear();
            fold(word, 0, accents, &mut folded);
            let letters = folded.iter().filter(|folded| folded.class != Class::Break);
            letters.map(|folded| folded.char).collect::<String>().into_boxed_str()
        });
        Some(Self(list.collect()))
    }

    /// Whether `word`, in lower case and folded, is on it.
    pub fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

fn source(language: &str) -> Option<&'static [&'static str]> {
    if language == "en" {
        return Some(ENGLISH);
    }
    LISTED.contains(&language).then(|| stop_words::lookup(language)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_list_is_sorted_and_its_words_are_stopped() {
        let list = StopList::new("en", true).expect("there is one");

        assert!(ENGLISH.is_sorted());
        assert!(ENGLISH.iter().all(|word| list.has(word)));
        assert!(!list.has("contract"));
        assert!(StopList::new("ta", true).is_none());
    }

    #[test]
    fn the_words_of_a_list_are_folded_as_those_of_a_text() {
        let folded = StopList::new("de", true).expect("there is one");
        let kept = StopList::new("de", false).expect("there is one");

        assert!(folded.has("uber") && !folded.has("\u{fc}ber"));
        assert!(kept.has("\u{fc}ber") && !kept.has("uber"));
    }

    /// Other lists make other terms, and the line stored in a file does not tell: a release of the crate that
    /// changes one needs a new name in that line. spec
    #[test]
    fn the_lists_are_those_of_the_spec() {
        let expected = [
            ("da", 94, 0x5449_b760),
            ("de", 232, 0xb534_70ad),
            ("es", 313, 0x1233_1415),
            ("fi", 229, 0xeeb9_0bcf),
            ("fr", 157, 0xbd8c_a4fb),
            ("hu", 198, 0x5f12_d282),
            ("it", 279, 0x906d_dacc),
            ("nl", 101, 0xe621_b7a7),
            ("no", 172, 0x18c0_c48c),
            ("pt", 207, 0xa530_5ed3),
            ("ru", 151, 0x48d3_f2c5),
            ("sv", 114, 0xc8c6_63d5),
        ];

        let found = LISTED.map(|language| {
            let mut words = source(language).unwrap_or_default().to_vec();
            words.sort_unstable();
            words.dedup();
            (language, words.len(), crc32fast::hash(words.join("\n").as_bytes()))
        });

        assert_eq!(found, expected);
    }
}
