//! The English stop list: words too frequent to tell texts apart.

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

/// Whether `word` is on the stop list of `language`; only `en` has one.
pub fn is_stop(language: &str, word: &str) -> bool {
    language == "en" && word.len() <= 7 && ENGLISH.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_no_word_is_over_its_bound() {
        assert!(ENGLISH.is_sorted());
        assert!(ENGLISH.iter().all(|word| word.len() <= 7 && is_stop("en", word)));
        assert!(!is_stop("en", "contract") && !is_stop("de", "the"));
    }
}
