//! The query sets: each made from passages of the corpus itself, by a fixed seed.

use std::collections::{HashMap, HashSet};

use oorandom::Rand64;
use serde::{Deserialize, Serialize};

use super::corpus::{Corpus, generator};

/// How the words of a query are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// At least one; the best by BM25.
    Any,
    /// Every one of them; the best by BM25.
    All,
    /// One after the other.
    Phrase,
    /// A word that begins like this.
    Prefix,
}

/// Which passages may be found, whatever the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// 1 % of them.
    One,
    /// 10 % of them.
    Ten,
}

impl Filter {
    pub const ALL: [Self; 2] = [Self::One, Self::Ten];

    /// What the engines call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "p1",
            Self::Ten => "p10",
        }
    }

    /// Whether passage `at` passes: scattered over the corpus, 1 in 100 or 10 in 100.
    pub const fn passes(self, at: u32) -> bool {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let slot = (mixed ^ (mixed >> 27)) % 100;
        match self {
            Self::One => slot == 0,
            Self::Ten => slot < 10,
        }
    }
}

/// A set of queries of one kind; no query has a word twice, unless its order matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    pub name: String,
    pub kind: Kind,
    pub filter: Option<Filter>,
    pub queries: Vec<Vec<String>>,
}

impl Case {
    /// The first `count` queries.
    pub fn sample(&self, count: usize) -> Self {
        Self { queries: self.queries.iter().take(count).cloned().collect(), ..self.clone() }
    }
}

/// Names of the sets that [`make`] makes.
pub const SETS: [&str; 7] = ["or", "nat", "and", "phrase", "prefix", "or-1%", "or-10%"];

/// Passages looked at to learn which words are frequent.
const LOOKED_AT: u32 = 2_000;

/// All sets for `corpus`.
///
/// * `or` 500 queries of 2 to 6 words of one passage, as people type them: few of the most frequent words.
/// * `nat` 300 questions of 8 to 15 words: about half of them among the 100 most frequent.
/// * `and` 500 of 2 or 3 words of one passage, frequent ones among them.
/// * `phrase` 300 of 2 or 3 words that follow each other in a passage.
/// * `prefix` 200 beginnings of 3 to 5 letters of words of a passage.
/// * `or-1%`, `or-10%`: the set `or` under a filter.
pub fn make(corpus: &mut dyn Corpus, seed: u64) -> Vec<Case> {
    let mut maker = Maker::new(corpus, seed);
    let or = maker.set(10, 500, Maker::some_words);
    let case = |name: &str, kind, filter, queries| Case { name: name.to_owned(), kind, filter, queries };
    vec![
        case("or", Kind::Any, None, or.clone()),
        case("nat", Kind::Any, None, maker.set(11, 300, Maker::question)),
        case("and", Kind::All, None, maker.set(12, 500, Maker::pair)),
        case("phrase", Kind::Phrase, None, maker.set(13, 300, Maker::phrase)),
        case("prefix", Kind::Prefix, None, maker.set(14, 200, Maker::prefix)),
        case("or-1%", Kind::Any, Some(Filter::One), or.clone()),
        case("or-10%", Kind::Any, Some(Filter::Ten), or),
    ]
}

struct Maker<'a> {
    corpus: &'a mut dyn Corpus,
    seed: u64,
    /// The 100 most frequent words, the most frequent first, and how often each was seen.
    frequent: Vec<(String, u64)>,
}

impl<'a> Maker<'a> {
    fn new(corpus: &'a mut dyn Corpus, seed: u64) -> Self {
        let mut counts: HashMap<String, u64> = HashMap::new();
        let step = (corpus.passages() / LOOKED_AT).max(1);
        let mut text = String::new();
        for at in (0..corpus.passages()).step_by(step as usize) {
            corpus.passage(at, &mut text);
            for word in text.split(' ') {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        let mut frequent: Vec<(String, u64)> = counts.into_iter().collect();
        frequent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        frequent.truncate(100);
        Self { corpus, seed, frequent }
    }

    /// `count` queries by `one`, which may find a passage unfit.
    fn set(
        &mut self,
        kind: u32,
        count: u32,
        one: fn(&Self, &[String], &mut Rand64) -> Option<Vec<String>>,
    ) -> Vec<Vec<String>> {
        let mut queries = Vec::new();
        let mut text = String::new();
        let passages = u64::from(self.corpus.passages());
        // Far more passages are tried than any corpus of text needs; one of single words gives fewer queries.
        for try_ in 0..count * 50 {
            if queries.len() == count as usize {
                break;
            }
            let mut random = generator(self.seed, kind, try_);
            let at = u32::try_from(random.rand_range(0..passages.max(1))).unwrap_or(0);
            self.corpus.passage(at, &mut text);
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            queries.extend(one(self, &words, &mut random).filter(|query| !query.is_empty()));
        }
        queries
    }

    fn is_frequent(&self, word: &str, first: usize) -> bool {
        self.frequent.iter().take(first).any(|(known, _)| known == word)
    }

    /// A frequent word, the more frequent the likelier.
    fn frequent(&self, random: &mut Rand64) -> Option<String> {
        let total: u64 = self.frequent.iter().map(|(_, count)| count).sum();
        let mut left = random.rand_range(0..total.max(1));
        for (word, count) in &self.frequent {
            if left < *count {
                return Some(word.clone());
            }
            left -= count;
        }
        None
    }

    fn some_words(&self, passage: &[String], random: &mut Rand64) -> Option<Vec<String>> {
        let count = random.rand_range(2..7);
        let keep =
            |word: &str, random: &mut Rand64| !self.is_frequent(word, 30) || random.rand_range(0..5) == 0;
        draw(passage, count, random, keep)
    }

    fn question(&self, passage: &[String], random: &mut Rand64) -> Option<Vec<String>> {
        let count = random.rand_range(8..16);
        let rare = count - count / 2;
        let mut words = draw(passage, rare, random, |word, _| !self.is_frequent(word, 100))?;
        let mut known: HashSet<String> = words.iter().cloned().collect();
        for _ in 0..200 {
            if words.len() as u64 == count {
                break;
            }
            let word = self.frequent(random)?;
            if known.insert(word.clone()) {
                let at = random.rand_range(0..words.len() as u64 + 1);
                words.insert(usize::try_from(at).unwrap_or(0), word);
            }
        }
        (words.len() as u64 == count).then_some(words)
    }

    fn pair(&self, passage: &[String], random: &mut Rand64) -> Option<Vec<String>> {
        let count = random.rand_range(2..4);
        let keep =
            |word: &str, random: &mut Rand64| !self.is_frequent(word, 30) || random.rand_range(0..3) == 0;
        draw(passage, count, random, keep)
    }

    fn phrase(&self, passage: &[String], random: &mut Rand64) -> Option<Vec<String>> {
        let count = usize::try_from(random.rand_range(2..4)).unwrap_or(2);
        let starts = passage.len().checked_sub(count)? as u64 + 1;
        let from = usize::try_from(random.rand_range(0..starts)).unwrap_or(0);
        let words = passage.get(from..from + count)?;
        words.iter().any(|word| !self.is_frequent(word, 30)).then(|| words.to_vec())
    }

    fn prefix(&self, passage: &[String], random: &mut Rand64) -> Option<Vec<String>> {
        let letters = usize::try_from(random.rand_range(3..6)).unwrap_or(3);
        let word = draw(passage, 1, random, |word, _| !self.is_frequent(word, 100))?.pop()?;
        (word.len() > letters).then(|| word.chars().take(letters).collect()).map(|start| vec![start])
    }
}

/// `count` distinct words of `passage` that `keep` lets through, in random order; `None` if there are too few.
fn draw(
    passage: &[String],
    count: u64,
    random: &mut Rand64,
    keep: impl Fn(&str, &mut Rand64) -> bool,
) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for _ in 0..count * 20 {
        if words.len() as u64 == count {
            break;
        }
        let at = random.rand_range(0..passage.len().max(1) as u64);
        let word = passage.get(usize::try_from(at).unwrap_or(0))?;
        if !words.contains(word) && keep(word, random) {
            words.push(word.clone());
        }
    }
    (words.len() as u64 == count).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::corpus::Zipf;

    fn sets(seed: u64) -> Vec<Case> {
        make(&mut Zipf::new(2_000, 1), seed)
    }

    #[test]
    fn one_seed_gives_one_set_and_another_seed_another() {
        assert_eq!(sets(5), sets(5));
        assert_ne!(sets(5), sets(6));
    }

    #[test]
    fn the_sets_have_the_promised_sizes_and_words() {
        let cases = sets(1);

        let sizes: Vec<_> = cases.iter().map(|case| (case.name.as_str(), case.queries.len())).collect();
        let sizes_wanted = [500, 300, 500, 300, 200, 500, 500];
        assert_eq!(sizes, SETS.into_iter().zip(sizes_wanted).collect::<Vec<_>>());
        let lengths = [(2, 6), (8, 15), (2, 3), (2, 3), (1, 1), (2, 6), (2, 6)];
        for (case, (least, most)) in cases.iter().zip(lengths) {
            assert!(case.queries.iter().all(|query| (least..=most).contains(&query.len())), "{}", case.name);
        }
    }

    #[test]
    fn every_and_and_every_phrase_is_in_some_passage() {
        let mut corpus = Zipf::new(2_000, 1);
        let cases = make(&mut corpus, 1);
        let mut passages = Vec::new();
        for at in 0..corpus.passages() {
            let mut text = String::new();
            corpus.passage(at, &mut text);
            passages.push(format!(" {text} "));
        }
        let has = |text: &String, word: &String| text.contains(&format!(" {word} "));

        for query in cases[2].queries.iter().take(50) {
            assert!(passages.iter().any(|text| query.iter().all(|word| has(text, word))), "{query:?}");
        }
        for query in cases[3].queries.iter().take(50) {
            assert!(passages.iter().any(|text| has(text, &query.join(" "))), "{query:?}");
        }
    }

    #[test]
    fn the_filters_let_their_share_through_and_one_lies_in_the_other() {
        let count = |filter: Filter| (0..100_000).filter(|at| filter.passes(*at)).count();

        assert!(count(Filter::One).abs_diff(1_000) < 60 && count(Filter::Ten).abs_diff(10_000) < 200);
        assert!((0..1_000).all(|at| !Filter::One.passes(at) || Filter::Ten.passes(at)));
    }
}
