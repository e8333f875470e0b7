//! Passages: made from a seed, or read from a folder of real ones. Words of ASCII letters and digits in lower case,
//! one blank between two, so that every engine's tokenizer finds the same terms.

use std::collections::HashSet;

use oorandom::Rand64;
use serde::{Deserialize, Serialize};

use super::real::Real;

/// Passages that evdb keeps as the leaves of one document.
pub const PASSAGES_PER_DOCUMENT: u32 = 50;

/// Which corpus: small enough for a message, enough to make every passage again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Zipf { passages: u32, seed: u64 },
    Real { folder: std::path::PathBuf },
}

/// Passages by number, from 0.
pub trait Corpus {
    fn passages(&self) -> u32;

    /// Puts the text of passage `at` into `text`, in place of what is there.
    fn passage(&mut self, at: u32, text: &mut String);
}

impl Source {
    /// The corpus itself.
    pub fn open(&self) -> anyhow::Result<Box<dyn Corpus>> {
        Ok(match self {
            Self::Zipf { passages, seed } => Box::new(Zipf::new(*passages, *seed)),
            Self::Real { folder } => Box::new(Real::read(folder)?),
        })
    }
}

const TERMS: usize = 300_000;
const TOPICS: u64 = 2_000;
const TOPIC_TERMS: usize = 200;
const COLLOCATIONS: usize = 60;
/// Ranks below are function words: in every topic, never repeated on purpose.
const FUNCTION_WORDS: u32 = 100;

/// A corpus with the frequencies of natural text.
///
/// * 300,000 terms; a word of rank r has a share in proportion to `1 / (r + 2.7)` (Zipf and Mandelbrot).
/// * Each document has one of 2,000 topics: 200 terms of its own, with their own Zipf law, and 60 collocations
///   of 2 or 3 words. About 65 % of the words are drawn from the language, 20 % from the topic, 7 % begin a
///   collocation, 8 % repeat a rarer word of the passage, so that frequencies above 1 occur as they do in text.
/// * Lengths: 8 plus three times 0 to 45, and in one passage of 16 another 0 to 128: 79.5 words on average.
///
/// Each passage depends on the seed and its number alone. Only integers and divisions are used: the text is the
/// same on every machine.
pub struct Zipf {
    passages: u32,
    seed: u64,
    words: Vec<String>,
    language: Alias,
    within_topic: Alias,
    topic: Topic,
}

#[derive(Default)]
struct Topic {
    document: Option<u32>,
    terms: Vec<u32>,
    collocations: Vec<Vec<u32>>,
}

impl Zipf {
    pub fn new(passages: u32, seed: u64) -> Self {
        Self {
            passages,
            seed,
            words: words(seed),
            language: Alias::zipf(TERMS, 2.7),
            within_topic: Alias::zipf(TOPIC_TERMS, 1.0),
            topic: Topic::default(),
        }
    }

    fn set_topic(&mut self, document: u32) {
        if self.topic.document == Some(document) {
            return;
        }
        let number = generator(self.seed, 1, document).rand_range(0..TOPICS);
        let mut random = generator(self.seed, 2, index(number));
        let terms: Vec<u32> = (0..TOPIC_TERMS).map(|_| content_rank(&mut random)).collect();
        let collocation = |random: &mut Rand64| {
            let content = |random: &mut Rand64| pick(&terms, random.rand_u64());
            let first = content(random);
            match random.rand_range(0..3) {
                0 => vec![first, content(random)],
                1 => vec![first, content(random), content(random)],
                _ => vec![first, index(random.rand_range(0..u64::from(FUNCTION_WORDS))), content(random)],
            }
        };
        let collocations = (0..COLLOCATIONS).map(|_| collocation(&mut random)).collect();
        self.topic = Topic { document: Some(document), terms, collocations };
    }
}

impl Corpus for Zipf {
    fn passages(&self) -> u32 {
        self.passages
    }

    fn passage(&mut self, at: u32, text: &mut String) {
        self.set_topic(at / PASSAGES_PER_DOCUMENT);
        text.clear();
        let mut random = generator(self.seed, 3, at);
        let mut length = 8 + (0..3).map(|_| random.rand_range(0..46)).sum::<u64>();
        if random.rand_range(0..16) == 0 {
            length += random.rand_range(0..129);
        }
        let mut said: Vec<u32> = Vec::new();
        let mut left = length;
        while left > 0 {
            let kind = random.rand_range(0..100);
            let draw = random.rand_u64();
            let one = match kind {
                0..20 => pick(&self.topic.terms, self.within_topic.draw(draw).into()),
                20..28 if !said.is_empty() => pick(&said, draw),
                28..35 => {
                    let at = draw % COLLOCATIONS as u64;
                    let collocation = self.topic.collocations.get(index(at) as usize);
                    for rank in collocation.into_iter().flatten().take(usize::try_from(left).unwrap_or(0)) {
                        push(text, &self.words, *rank);
                        left -= 1;
                    }
                    continue;
                }
                _ => self.language.draw(draw),
            };
            push(text, &self.words, one);
            left -= 1;
            if one >= FUNCTION_WORDS {
                said.push(one);
            }
        }
    }
}

fn push(text: &mut String, words: &[String], rank: u32) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(words.get(rank as usize).map_or("", String::as_str));
}

/// A generator of its own for the `number`-th thing of a kind.
pub fn generator(seed: u64, kind: u32, number: u32) -> Rand64 {
    let mut random = Rand64::new(u128::from(seed) << 64 | u128::from(kind) << 32 | u128::from(number));
    // Neighbouring seeds begin alike.
    for _ in 0..4 {
        random.rand_u64();
    }
    random
}

/// Some element of `of`, which is not empty, by a random number.
fn pick(of: &[u32], draw: u64) -> u32 {
    let at = draw % of.len().max(1) as u64;
    of.get(index(at) as usize).copied().unwrap_or(0)
}

fn index(small: u64) -> u32 {
    u32::try_from(small).unwrap_or(u32::MAX)
}

/// A rank of a word with meaning: each octave from 128 up as often as the others.
fn content_rank(random: &mut Rand64) -> u32 {
    loop {
        let octave = 1_u64 << random.rand_range(7..19);
        let rank = octave + random.rand_range(0..octave);
        if rank < TERMS as u64 {
            return index(rank);
        }
    }
}

/// Distinct words, the frequent ones short: syllables, some of them much more common than others, so that words
/// share their beginnings as those of a language do.
fn words(seed: u64) -> Vec<String> {
    const ONSETS: [&str; 24] = [
        "", "s", "t", "c", "r", "m", "p", "d", "l", "b", "n", "f", "st", "tr", "g", "h", "pr", "v", "w",
        "gr", "ch", "cl", "k", "sh",
    ];
    const VOWELS: [&str; 10] = ["e", "a", "i", "o", "u", "ea", "y", "ou", "io", "ee"];
    const CODAS: [&str; 12] = ["", "n", "r", "s", "l", "t", "ng", "nd", "m", "ck", "x", "st"];
    // The smaller of two draws: the first ones are the most common.
    let of = |list: &[&'static str], random: &mut Rand64| {
        let draw = |random: &mut Rand64| random.rand_range(0..list.len() as u64);
        let at = draw(random).min(draw(random));
        list.get(index(at) as usize).copied().unwrap_or("")
    };
    let mut random = generator(seed, 0, 0);
    let mut known = HashSet::with_capacity(TERMS);
    let mut words = Vec::with_capacity(TERMS);
    while words.len() < TERMS {
        let syllables = match words.len() {
            0..100 => 1,
            100..5_000 => 1 + random.rand_range(0..3),
            _ => 2 + random.rand_range(0..3),
        };
        let mut word = String::new();
        for _ in 0..syllables {
            word.push_str(of(&ONSETS, &mut random));
            word.push_str(of(&VOWELS, &mut random));
            word.push_str(of(&CODAS, &mut random));
        }
        if known.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

/// Draws from a distribution in constant time.
///
/// # Source
///
/// Vose: A linear algorithm for generating random numbers with a given distribution, 1991. Departure: in integers.
struct Alias {
    /// For each slot the odds of 2^32 to stay in it, and where to go else.
    slots: Vec<(u32, u32)>,
}

impl Alias {
    /// Ranks `0..terms`, each in proportion to `1 / (rank + 1 + shift)`.
    #[expect(clippy::cast_possible_truncation, reason = "weights are below 2^40")]
    #[expect(clippy::cast_sign_loss, reason = "weights are positive")]
    #[expect(clippy::cast_precision_loss, reason = "ranks are far below 2^53")]
    fn zipf(terms: usize, shift: f64) -> Self {
        let weights = (0..terms).map(|rank| ((1_u64 << 40) as f64 / (rank as f64 + 1.0 + shift)) as u64);
        Self::new(&weights.collect::<Vec<_>>())
    }

    fn new(weights: &[u64]) -> Self {
        let n = weights.len() as u128;
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        // A slot is full at `total`.
        let mut filled: Vec<u128> = weights.iter().map(|weight| u128::from(*weight) * n).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..filled.len()).partition(|at| filled.get(*at).is_some_and(|weight| *weight < total));
        let mut slots: Vec<(u32, u32)> = (0..weights.len() as u64).map(|at| (u32::MAX, index(at))).collect();
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            let own = filled.get(poor).copied().unwrap_or(0);
            let odds = (own << 32) / total.max(1);
            if let Some(slot) = slots.get_mut(poor) {
                *slot = (u32::try_from(odds).unwrap_or(u32::MAX), index(rich as u64));
            }
            if let Some(left) = filled.get_mut(rich) {
                *left -= total - own;
                if *left < total {
                    large.pop();
                    small.push(rich);
                }
            }
        }
        Self { slots }
    }

    fn draw(&self, random: u64) -> u32 {
        let high = ((random >> 32) * self.slots.len() as u64) >> 32;
        let low = random & u64::from(u32::MAX);
        match self.slots.get(index(high) as usize) {
            Some((odds, _)) if low < u64::from(*odds) => index(high),
            Some((_, other)) => *other,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(corpus: &mut dyn Corpus) -> Vec<String> {
        let mut text = String::new();
        (0..corpus.passages())
            .map(|at| {
                corpus.passage(at, &mut text);
                text.clone()
            })
            .collect()
    }

    #[test]
    fn one_seed_gives_one_text_in_any_order() {
        let forward = all(&mut Zipf::new(120, 7));

        let mut again = Zipf::new(120, 7);
        let mut text = String::new();
        for at in (0..120).rev() {
            again.passage(at, &mut text);
            assert_eq!(text, forward[at as usize]);
        }
        assert_ne!(all(&mut Zipf::new(120, 8)), forward);
    }

    /// FNV-1a of the first passages: a change of the corpus is a change of every figure ever published.
    #[test]
    fn the_corpus_is_the_one_that_was_published() {
        let text = all(&mut Zipf::new(200, 1)).join("\n");

        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });

        assert_eq!(format!("{hash:016x}"), "b2578b757225adcd");
    }

    #[test]
    fn passages_are_of_the_promised_length_and_repeat_words() {
        let passages = all(&mut Zipf::new(4_000, 1));

        let lengths: Vec<usize> = passages.iter().map(|text| text.split(' ').count()).collect();
        let total: usize = lengths.iter().sum();
        assert!(total.abs_diff(318_000) < 6_000, "{total} words, 79.5 a passage");
        assert!(lengths.iter().min() < Some(&30) && lengths.iter().max() > Some(&180));
        let distinct = |text: &String| text.split(' ').collect::<HashSet<_>>().len();
        let again: usize = passages.iter().map(|text| text.split(' ').count() - distinct(text)).sum();
        assert!(again * 12 > total, "{again} of {total} words stand in their passage already");
        assert!(passages.iter().all(|text| text.bytes().all(|b| b == b' ' || b.is_ascii_lowercase())));
    }

    #[test]
    fn the_alias_table_keeps_the_proportions() {
        let alias = Alias::new(&[6, 3, 1]);
        let mut random = generator(1, 9, 9);
        let mut counts = [0_u32; 3];

        for _ in 0..100_000 {
            counts[alias.draw(random.rand_u64()) as usize] += 1;
        }

        assert!(counts[0].abs_diff(60_000) < 1_000 && counts[1].abs_diff(30_000) < 1_000, "{counts:?}");
    }
}
