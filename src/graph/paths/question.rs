//! What a question names.

use super::index::PathIndex;
use super::word::words;

/// The words of a question, and the titles in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionNames {
    /// Folded, sorted, each once.
    words: Vec<String>,
    titles: Vec<u32>,
}

impl QuestionNames {
    /// What `question` names of `index`.
    #[must_use]
    pub fn new(index: &PathIndex, question: &str) -> Self {
        let words = words(question);
        let titles = index.titles_in(&words);
        let mut words: Vec<String> = words.into_iter().map(|word| word.folded).collect();
        words.sort_unstable();
        words.dedup();
        Self { words, titles }
    }

    /// Numbers of the keys in it that are titles.
    #[must_use]
    pub fn titles(&self) -> &[u32] {
        &self.titles
    }

    /// Whether every word of `key` is in the question.
    #[must_use]
    pub fn holds(&self, key: &str) -> bool {
        key.split(' ').all(|word| self.words.binary_search_by(|own| own.as_str().cmp(word)).is_ok())
    }

    /// For each leaf `1 / sqrt(n)` if one of its titles, shared by `n` leaves, is in the question, the highest;
    /// 0 for the others.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a count of leaves, whose root needs no more digits")]
    pub fn title_scores(&self, index: &PathIndex) -> Vec<f32> {
        let mut scores: Vec<f32> = vec![0.0; index.leaf_count()];
        for key in &self.titles {
            let leaves = index.titled(*key);
            let score = 1.0 / (leaves.len().max(1) as f32).sqrt();
            for leaf in leaves {
                if let Some(slot) = scores.get_mut(*leaf as usize) {
                    *slot = slot.max(score);
                }
            }
        }
        scores
    }
}
