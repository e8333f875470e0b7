//! Titles and summaries taken from the text itself.

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

/// The words of `counts` that tell it from the rest of the document, in the order in which the document first has
/// them; or the beginning of `text`, where words do not tell.
pub(super) fn title(counts: &[(u32, f32)], text: &str, lexicon: &Lexicon) -> String {
    let mut ranked: Vec<(f32, u32)> = counts
        .iter()
        .filter(|(number, _)| is_telling(lexicon.spelling(*number)))
        .map(|(number, count)| ((1.0 + count.ln()) * lexicon.rarity(*number), *number))
        .collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let is_unspaced = |number: &u32| lexicon.spelling(*number).starts_with(is_unspaced);
    let unspaced = ranked.iter().take(MAX_KEYWORDS).filter(|(_, number)| is_unspaced(number)).count();
    let mut chosen: Vec<u32> = Vec::new();
    for (_, number) in ranked {
        if chosen.len() == MAX_KEYWORDS {
            break;
        }
        let word = lexicon.spelling(number);
        if !chosen.iter().any(|other| is_variant(word, lexicon.spelling(*other))) {
            chosen.push(number);
        }
    }
    if chosen.len() < 2 || unspaced * 2 > MAX_KEYWORDS {
        return start(text);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|number| lexicon.spelling(number)).collect::<Vec<_>>().join(", ")
}

/// Whether a word can stand in a title: no number, and of three letters, or two of an unspaced script.
fn is_telling(word: &str) -> bool {
    (word.chars().nth(2).is_some() || word.starts_with(is_unspaced))
        && !word.bytes().all(|b| b.is_ascii_digit())
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
pub(super) fn sum(vectors: &[Sparse]) -> Sparse {
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

    fn lexicon(texts: &[&str]) -> (Lexicon, Vec<Sparse>) {
        let mut lexicon = Lexicon::default();
        let counts = texts.iter().map(|text| lexicon.learn(text)).collect();
        (lexicon, counts)
    }

    #[test]
    fn a_title_has_the_words_of_this_group_in_their_spelling_without_variants() {
        let texts = [
            "The Company leases Boston offices. Lease in Boston ends.",
            "The company sells widgets.",
            "The company pays dividends.",
        ];
        let (lexicon, counts) = lexicon(&texts);

        let title = title(&counts[0], texts[0], &lexicon);

        assert_eq!(title, "leases, Boston, offices, ends");
    }

    #[test]
    fn a_title_of_chinese_is_the_beginning_of_the_text() {
        let text = "\u{4eba}\u{5de5}\u{667a}\u{80fd}\u{3002}\u{7b2c}\u{4e8c}\u{53e5}\u{3002}";
        let (lexicon, counts) = lexicon(&[text]);

        assert_eq!(title(&counts[0], text, &lexicon), "\u{4eba}\u{5de5}\u{667a}\u{80fd}\u{3002}");
    }

    #[test]
    fn a_summary_is_the_central_sentences_within_its_length() {
        let text =
            "Widgets sell well in Europe. Widgets sell well in Asia too. It rained. Europe likes widgets.";
        let sentences: Vec<String> = candidates(text, 10).collect();
        let (lexicon, _) = lexicon(&sentences.iter().map(String::as_str).collect::<Vec<_>>());

        let summary = summary(&sentences, &lexicon);

        assert!(summary.contains("Widgets sell well") && !summary.contains("rained"), "{summary}");
        assert!(summary.chars().count() <= MAX_SUMMARY_CHARACTERS);
    }

    #[test]
    fn a_summary_of_one_long_sentence_is_cut_between_characters() {
        let sentence = "\u{e9}t\u{e9} ".repeat(200);

        let summary = summary(&[sentence], &lexicon(&["\u{e9}t\u{e9}"]).0);

        assert!(summary.chars().count() <= 300 && summary.ends_with('\u{e9}'), "{summary}");
    }
}
