//! The default score of a leaf: its words, its vector, and the words around it.

use std::ops::Range;

use crate::error::Error;
use crate::error::Result;
use crate::query::fuse::min_max;
use crate::query::fuse::weighted;

/// Weights of the default leaf score.
///
/// ```text
/// h = lexical B + dense mm(D)          B = mm(lexical), or the mix below over many documents
/// l = short / (short + mean leaf tokens)
/// S = h + l^2 (mm(Bs of the leaf's section) + mm(W))
/// ```
///
/// `mm` is [`min_max`] over all leaves (sections) in scope. The shorter leaves are, the more they lean on their
/// surroundings.
///
/// # Source
///
/// Ours, fixed on development sets; figures and ablations in `docs/measurements.md`.
/// Departure: without vectors `h` is `B` alone, so that scores keep their scale.
/// Departure: a vector that neighbouring leaves share, since it was made of the whole passage, counts in full
/// for the one whose words match best; the next loses `shared_vector_step`, and so on. Without it the pieces of
/// one page crowd out all other pages (pages of reports in a document, mean recall: .667 -> .71).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LeafScore {
    /// Weight of the lexical part beside `dense`.
    pub lexical: f32,
    /// Weight of the dense part.
    pub dense: f32,
    /// Leaf length in tokens at which `l` is one half, above 0.
    pub short_leaf_tokens: f32,
    /// Over many documents: share of the score under each document's own statistics, in `[0, 1]`; the rest is
    /// the score under the statistics of all.
    pub own_statistics: f32,
    /// Leaves per document from which that mix is used.
    pub least_leaves_per_document: usize,
    /// What each further leaf of a run that shares one vector loses, from 0.
    pub shared_vector_step: f32,
}

impl Default for LeafScore {
    fn default() -> Self {
        Self {
            lexical: 0.3,
            dense: 0.7,
            short_leaf_tokens: 40.0,
            own_statistics: 0.5,
            least_leaves_per_document: 3,
            shared_vector_step: 0.05,
        }
    }
}

/// What is known of the `n` leaves in scope, all of them, in document order. Scores are raw: normalising them
/// is the work of [`LeafScore::score`].
#[derive(Debug, Clone, Copy)]
pub struct LeafSignals<'a> {
    /// `n` BM25 scores. Statistics: those of the document if the scope is one document, else of all leaves.
    pub lexical: &'a [f32],
    /// `n` BM25 scores, each leaf under the statistics of its own document; read only if `documents` > 1.
    pub lexical_own: Option<&'a [f32]>,
    /// `n` cosines with the context vectors; `None` if the file has no vectors.
    pub dense: Option<&'a [f32]>,
    /// Runs of two or more neighbouring leaves that share one vector, as index ranges, ascending.
    pub shared: &'a [Range<usize>],
    /// One BM25 score per section in scope, its heading and all its leaves as one text.
    pub section: &'a [f32],
    /// `n` indexes into `section`.
    pub section_of: &'a [u32],
    /// `n` BM25 scores of the leaf with two neighbours on each side as one text.
    pub window: &'a [f32],
    /// Documents in scope.
    pub documents: usize,
    /// Mean tokens of the leaves of the whole collection, not of the scope.
    pub mean_leaf_tokens: f32,
}

/// A leaf's score and what it is made of: the parts add up to the score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LeafParts {
    /// `S`, in `[0, 1 + 2 l^2]`.
    pub score: f32,
    /// Share of the leaf's words.
    pub lexical: f32,
    /// Share of the leaf's vector; 0 without vectors.
    pub dense: f32,
    /// Share of its section's words.
    pub section: f32,
    /// Share of its window's words.
    pub window: f32,
}

impl LeafParts {
    /// The parts by name, as [`Evidence::parts`](crate::query::Evidence) shows them.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, f32)> {
        vec![
            ("lexical", self.lexical),
            ("dense", self.dense),
            ("section", self.section),
            ("window", self.window),
        ]
    }
}

impl LeafScore {
    /// `l` for leaves of `mean_leaf_tokens` tokens on average, in `(0, 1]`: 1 for empty leaves, one half at
    /// `short_leaf_tokens`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the mean is negative or not finite, or `short_leaf_tokens` not above 0.
    pub fn shrinkage(&self, mean_leaf_tokens: f32) -> Result<f32> {
        let short = self.short_leaf_tokens;
        if !(mean_leaf_tokens.is_finite() && mean_leaf_tokens >= 0.0 && short.is_finite() && short > 0.0) {
            return Err(Error::invalid(format!(
                "leaves of {mean_leaf_tokens} tokens on average against {short}: both must be numbers from 0"
            )));
        }
        Ok(short / (short + mean_leaf_tokens))
    }

    /// The scores of the leaves in scope, in their order.
    ///
    /// A raw score that is not finite takes no part in its min-max and counts as the lowest.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if lengths differ, a section index is out of range, a weight is negative or not finite, or
    /// [`shrinkage`](Self::shrinkage) refuses the mean.
    ///
    /// # Complexity
    ///
    /// `O(n)` time and memory.
    pub fn score(&self, signals: &LeafSignals<'_>) -> Result<Vec<LeafParts>> {
        let n = signals.lexical.len();
        let lengths = [
            ("own-statistics scores", signals.lexical_own.map_or(n, <[f32]>::len)),
            ("dense scores", signals.dense.map_or(n, <[f32]>::len)),
            ("section indexes", signals.section_of.len()),
            ("window scores", signals.window.len()),
        ];
        if let Some((what, len)) = lengths.into_iter().find(|(_, len)| *len != n) {
            return Err(Error::invalid(format!("{len} {what} for {n} leaves")));
        }
        let sections = signals.section.len();
        if let Some(section) = signals.section_of.iter().find(|section| **section as usize >= sections) {
            return Err(Error::invalid(format!("a leaf lies in section {section} of {sections}")));
        }
        for (name, weight) in [
            ("lexical", self.lexical),
            ("dense", self.dense),
            ("own_statistics", self.own_statistics),
            ("shared_vector_step", self.shared_vector_step),
        ] {
            if !weight.is_finite() || weight < 0.0 {
                return Err(Error::invalid(format!("the weight {name} is {weight}, not a number from 0")));
            }
        }
        let context = self.shrinkage(signals.mean_leaf_tokens)?.powi(2);
        let lexical = self.lexical_part(signals)?;
        let dense = signals.dense.map(min_max);
        let (lexical_weight, dense_weight) =
            if dense.is_some() { (self.lexical, self.dense) } else { (1.0, 0.0) };
        let (section, window) = (min_max(signals.section), min_max(signals.window));
        let mut loss = vec![0.0; n];
        for run in signals.shared {
            let Some(losses) = loss.get_mut(run.clone()) else {
                return Err(Error::invalid(format!("leaves {run:?} share a vector, there are {n}")));
            };
            let mut order: Vec<usize> = (0..losses.len()).collect();
            order.sort_by(|a, b| lexical[run.start + b].total_cmp(&lexical[run.start + a]));
            let mut step = 0.0;
            for leaf in order {
                losses[leaf] = step;
                step += self.shared_vector_step;
            }
        }
        let parts = |leaf: usize| {
            let lexical = lexical_weight * lexical[leaf];
            let dense = dense.as_ref().map_or(0.0, |dense| dense_weight * dense[leaf]) - loss[leaf];
            let section = context * section[signals.section_of[leaf] as usize];
            let window = context * window[leaf];
            LeafParts { score: lexical + dense + (section + window), lexical, dense, section, window }
        };
        Ok((0..n).map(parts).collect())
    }

    /// `B`: over many documents of several leaves, half under each document's own statistics.
    fn lexical_part(&self, signals: &LeafSignals<'_>) -> Result<Vec<f32>> {
        let scope = min_max(signals.lexical);
        let many = signals.documents > 1
            && scope.len() >= self.least_leaves_per_document.saturating_mul(signals.documents);
        match signals.lexical_own {
            Some(own) if many => {
                let share = self.own_statistics.min(1.0);
                weighted(&[(1.0 - share, &scope), (share, &min_max(own))])
            }
            _ => Ok(scope),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-5
    }

    fn signals<'a>() -> LeafSignals<'a> {
        LeafSignals {
            lexical: &[0.0, 4.0, 2.0],
            lexical_own: None,
            dense: Some(&[0.9, 0.1, 0.5]),
            section: &[1.0, 3.0],
            section_of: &[0, 1, 1],
            window: &[5.0, 5.0, 0.0],
            documents: 1,
            mean_leaf_tokens: 36.0,
            shared: &[],
        }
    }

    #[test]
    fn of_leaves_that_share_a_vector_the_best_by_words_counts_in_full() {
        let runs = vec![Range { start: 1, end: 3 }];
        let shared = LeafSignals { dense: Some(&[0.9, 0.5, 0.5]), shared: &runs, ..signals() };

        let parts = LeafScore::default().score(&shared).expect("three leaves");

        // mm(D) 1 0 0; leaf 1 has more words than leaf 2, which loses .05.
        assert!(close(parts[1].dense, 0.0) && close(parts[2].dense, -0.05), "{parts:?}");
        assert!(close(parts[2].named().iter().map(|(_, part)| part).sum(), parts[2].score));
    }

    #[test]
    fn the_shrinkage_of_leaves_of_36_tokens_is_5263() {
        let l = LeafScore::default().shrinkage(36.0).expect("a number");

        // 40 / (40 + 36) = .52632, its square .27701
        assert!(close(l, 0.526_316) && close(l * l, 0.277_008), "{l}");
        assert!(LeafScore::default().shrinkage(f32::NAN).is_err());
        assert!(LeafScore::default().shrinkage(-1.0).is_err());
    }

    #[test]
    fn a_leaf_s_parts_add_up_to_its_score() {
        let parts = LeafScore::default().score(&signals()).expect("three leaves");

        // mm(B) 0 1 .5; mm(D) 1 0 .5; mm(Bs) 0 1 by section; mm(W) 1 1 0; l^2 = .27701
        // leaf 0: .3*0 + .7*1 + .27701*(0 + 1) = .97701
        // leaf 1: .3*1 + .7*0 + .27701*(1 + 1) = .85402
        // leaf 2: .3*.5 + .7*.5 + .27701*(1 + 0) = .77701
        for (parts, want) in parts.iter().zip([0.977_01, 0.854_02, 0.777_01]) {
            assert!(close(parts.score, want), "{parts:?}");
            assert!(close(parts.named().iter().map(|(_, part)| part).sum(), parts.score));
        }
    }

    #[test]
    fn without_vectors_the_words_alone_make_h() {
        let parts =
            LeafScore::default().score(&LeafSignals { dense: None, ..signals() }).expect("three leaves");

        // leaf 1: 1 + .27701 * 2 = 1.55402
        assert!(close(parts[1].score, 1.554_02) && close(parts[1].lexical, 1.0), "{parts:?}");
    }

    #[test]
    fn own_statistics_are_mixed_in_only_over_many_documents_of_several_leaves() {
        let six = LeafSignals {
            lexical: &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            lexical_own: Some(&[0.0, 0.0, 0.0, 0.0, 0.0, 8.0]),
            dense: None,
            section: &[1.0],
            section_of: &[0; 6],
            window: &[0.0; 6],
            documents: 2,
            mean_leaf_tokens: 36.0,
            shared: &[],
        };
        let lexical = |documents| {
            let parts = LeafScore::default().score(&LeafSignals { documents, ..six }).expect("six leaves");
            (parts[1].lexical, parts[5].lexical)
        };

        // 6 leaves / 2 documents = 3: .5 * 1 and .5 * 1.
        assert_eq!(lexical(2), (0.5, 0.5));
        // 6 / 3 = 2 < 3, and one document has one set of statistics.
        assert_eq!(lexical(3), (1.0, 0.0));
        assert_eq!(lexical(1), (1.0, 0.0));
    }

    #[test]
    fn a_section_out_of_range_and_a_short_list_are_refused() {
        let scores = LeafScore::default();

        assert!(scores.score(&LeafSignals { section_of: &[0, 1, 2], ..signals() }).is_err());
        assert!(scores.score(&LeafSignals { window: &[0.0], ..signals() }).is_err());
        assert!(scores.score(&LeafSignals { dense: Some(&[]), ..signals() }).is_err());
    }

    #[test]
    fn nan_counts_as_the_lowest() {
        let parts =
            LeafScore::default().score(&LeafSignals { dense: Some(&[f32::NAN, 0.1, 0.5]), ..signals() });

        let parts = parts.expect("three leaves");
        assert!(parts.iter().all(|parts| parts.score.is_finite()));
        assert!(close(parts[0].dense, 0.0) && close(parts[1].dense, 0.0) && close(parts[2].dense, 0.7));
    }
}
