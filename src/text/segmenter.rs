//! The words of a run of Chinese, by jieba's dictionary.
//!
//! Bigrams find every word of two letters or more; a segmenter's words beside them find those of one letter, and
//! rank the texts that hold a whole long word above those that hold its letters in other words. No statistics guess at unknown words: what such a guess finds
//! depends on the words around it, and would not be the same in a text and in a question.

use std::ops::Range;

/// Whether this build has the dictionary.
pub const AVAILABLE: bool = cfg!(feature = "zh");

/// Gives `each` word of `run` that the dictionary knows, and the known words within a longer one, as ranges of
/// characters. In no certain order.
#[cfg(feature = "zh")]
pub fn words(run: &str, each: &mut impl FnMut(Range<usize>)) {
    use std::sync::LazyLock;

    use jieba_rs::{Jieba, TokenizeMode};

    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

    let is_han = |c: char| matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0x2_0000..=0x3_fffd);
    if run.chars().filter(|c| is_han(*c)).count() > 1 {
        JIEBA.tokenize(run, TokenizeMode::Search, false).iter().for_each(|word| each(word.start..word.end));
    }
}

/// None: this build has no dictionary, and refuses the files that need one.
#[cfg(not(feature = "zh"))]
pub fn words(_: &str, _: &mut impl FnMut(Range<usize>)) {}

#[cfg(all(test, feature = "zh"))]
mod tests {
    use super::*;

    /// A dictionary that knows other words makes other terms: it needs another name in the file's line.
    #[test]
    fn the_dictionary_knows_the_words_it_did() {
        let mut found = Vec::new();
        let run = "中华人民共和国合同法规定南京市长江大桥由张小明天天清理";

        words(run, &mut |word| found.push(run.chars().skip(word.start).take(word.len()).collect::<String>()));

        let longer: Vec<&str> =
            found.iter().map(String::as_str).filter(|word| word.chars().count() > 2).collect();
        assert_eq!(longer, ["共和国", "中华人民共和国", "合同法", "南京市", "长江大桥"]);
    }
}
