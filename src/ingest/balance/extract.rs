//! Titles and summaries taken from the text itself.

use std::collections::BTreeMap;
use std::ops::Range;

use super::lexical::Lexicon;
use super::lexical::Sparse;
use super::lexical::add;
use super::lexical::dot;
use super::lexical::is_unspaced;
use super::lexical::real;
use crate::ingest::outline::clip;
use crate::ingest::outline::collapse;
use crate::ingest::sentence::sentences;

/// Longest summary, in characters.
pub(super) const MAX_SUMMARY_CHARACTERS: usize = 300;

/// Most words of a title.
const MAX_KEYWORDS: usize = 4;

/// Longest title made of the beginning of a text, in characters.
const MAX_START_CHARACTERS: usize = 60;

/// The words that tell these texts from the rest of the document, as first spelt, in order of appearance; or the
/// beginning of the first text, where words do not tell.
pub(super) fn title<'a>(texts: impl Iterator<Item = &'a str> + Clone, lexicon: &Lexicon) -> String {
    // By number: how often, and the first spelling.
    let mut found: BTreeMap<u32, (usize, usize, &str)> = BTreeMap::new();
    let mut place = 0;
    for text in texts.clone() {
        lexicon.known(text, |number, range| {
            place += 1;
            found.entry(number).or_insert((0, place, &text[range])).0 += 1;
        });
    }
    let mut ranked: Vec<(f32, usize, &str)> = found
        .into_iter()
        .filter(|(_, (_, _, word))| word.chars().nth(2).is_some() || word.starts_with(is_unspaced))
        .filter(|(_, (_, _, word))| !word.bytes().all(|b| b.is_ascii_digit()))
        .map(|(number, (count, place, word))| {
            let rarity = lexicon.rarity(number);
            ((1.0 + real(count).ln()) * rarity, place, word)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let unspaced =
        ranked.iter().take(MAX_KEYWORDS).filter(|(_, _, word)| word.starts_with(is_unspaced)).count();
    let mut chosen: Vec<(usize, &str)> = Vec::new();
    for (_, place, word) in ranked {
        if chosen.len() == MAX_KEYWORDS {
            break;
        }
        if !chosen.iter().any(|(_, other)| is_variant(word, other)) {
            chosen.push((place, word));
        }
    }
    if chosen.len() < 2 || unspaced * 2 > MAX_KEYWORDS {
        let first = texts.into_iter().next().unwrap_or_default();
        return start(first);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

/// Whether two words share most of their beginning, like `lease` and `leases`.
fn is_variant(a: &str, b: &str) -> bool {
    let lower = |word: &str| word.to_lowercase().chars().collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    common >= 4 && common + 3 >= a.len().max(b.len())
}

/// The first sentence of `text`, or its beginning up to a word.
fn start(text: &str) -> String {
    let sentence = sentences(clip(text, 1_000)).first().cloned().unwrap_or_default();
    let sentence = collapse(&text[sentence]);
    let Some((at, _)) = sentence.char_indices().nth(MAX_START_CHARACTERS) else { return sentence };
    let cut = sentence[..at].rfind(' ').filter(|space| *space > at / 2).unwrap_or(at);
    sentence[..cut].to_owned()
}

/// The one or two sentences nearest to the middle of all, in their order; at most
/// [`MAX_SUMMARY_CHARACTERS`].
pub(super) fn summary(candidates: &[String], lexicon: &Lexicon) -> String {
    let vectors: Vec<Sparse> = candidates.iter().map(|sentence| lexicon.vector(sentence)).collect();
    let middle = sum(&vectors);
    let mut ranked: Vec<(f32, usize)> = (0..)
        .zip(&vectors)
        .map(|(at, vector)| {
            // Sentences of a few words are near everything and say little.
            let weight = real(vector.len().min(8)) / 8.0;
            (dot(vector, &middle) * weight, at)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = Vec::new();
    let mut room = MAX_SUMMARY_CHARACTERS;
    for (_, at) in ranked.iter().take(6) {
        let characters = candidates[*at].chars().count() + usize::from(!chosen.is_empty());
        let is_repeat = chosen.iter().any(|other| dot(&vectors[*other], &vectors[*at]) > 0.8);
        if characters <= room && !is_repeat && chosen.len() < 2 {
            chosen.push(*at);
            room -= characters;
        }
    }
    if chosen.is_empty() {
        let Some((_, at)) = ranked.first() else { return String::new() };
        let whole = &candidates[*at];
        let end = whole.char_indices().nth(MAX_SUMMARY_CHARACTERS).map_or(whole.len(), |(end, _)| end);
        return whole[..end].trim_end().to_owned();
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| candidates[at].as_str()).collect::<Vec<_>>().join(" ")
}

/// The sum of many vectors, by halves so that no long sum is copied for each short one.
fn sum(vectors: &[Sparse]) -> Sparse {
    match vectors {
        [] => Sparse::new(),
        [one] => one.clone(),
        _ => {
            let (left, right) = vectors.split_at(vectors.len() / 2);
            add(&sum(left), &sum(right))
        }
    }
}

/// At most `limit` sentences from the beginning of `text`, white space collapsed, as candidates of a summary.
pub(super) fn candidates(text: &str, limit: usize) -> impl Iterator<Item = String> {
    let ranges: Vec<Range<usize>> = sentences(text);
    ranges.into_iter().take(limit).map(|range| collapse(clip(&text[range], 4 * MAX_SUMMARY_CHARACTERS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon(texts: &[&str]) -> Lexicon {
        let mut lexicon = Lexicon::default();
        for text in texts {
            lexicon.learn(text);
        }
        lexicon
    }

    #[test]
    fn a_title_has_the_words_of_this_group_in_their_spelling_without_variants() {
        let texts = [
            "The Company leases Boston offices. Leases in Boston end.",
            "The company sells widgets.",
            "The company pays dividends.",
        ];
        let lexicon = lexicon(&texts);

        let title = title(texts[..1].iter().copied(), &lexicon);

        assert_eq!(title, "leases, Boston, offices, end");
    }

    #[test]
    fn a_title_of_chinese_is_the_beginning_of_the_text() {
        let text = "\u{4eba}\u{5de5}\u{667a}\u{80fd}\u{3002}\u{7b2c}\u{4e8c}\u{53e5}\u{3002}";

        assert_eq!(title([text].into_iter(), &lexicon(&[text])), "\u{4eba}\u{5de5}\u{667a}\u{80fd}\u{3002}");
    }

    #[test]
    fn a_summary_is_the_central_sentences_within_its_length() {
        let text =
            "Widgets sell well in Europe. Widgets sell well in Asia too. It rained. Europe likes widgets.";
        let sentences: Vec<String> = candidates(text, 10).collect();
        let lexicon = lexicon(&sentences.iter().map(String::as_str).collect::<Vec<_>>());

        let summary = summary(&sentences, &lexicon);

        assert!(summary.contains("Widgets sell well") && !summary.contains("rained"), "{summary}");
        assert!(summary.chars().count() <= MAX_SUMMARY_CHARACTERS);
    }

    #[test]
    fn a_summary_of_one_long_sentence_is_cut_between_characters() {
        let sentence = "\u{e9}t\u{e9} ".repeat(200);

        let summary = summary(&[sentence], &lexicon(&["\u{e9}t\u{e9}"]));

        assert!(summary.chars().count() <= 300 && summary.ends_with('\u{e9}'), "{summary}");
    }
}
