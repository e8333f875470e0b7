//! Relations that a rule can read off a sentence.

use std::ops::Range;

use crate::graph::paths::Case;
use crate::graph::paths::Word;
use crate::graph::paths::words;
use crate::model::RecognizedEntity;

/// Words of a label, at most.
const MAX_LABEL_WORDS: usize = 4;

/// "X is the Y of Z": X has the relation Y to Z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// X, in bytes of the sentence.
    pub subject: Range<usize>,
    /// Y, folded: `son`, `capital city`.
    pub label: String,
    /// Z, in bytes of the sentence.
    pub object: Range<usize>,
}

/// The relations in `text` between `names`, in the order of their subjects:
///
/// * "X is the Y of Z", with `is`, `was`, `are`, `were` or `became`, and any article;
/// * "X, the Y of Z", an apposition;
/// * "Z's Y X" and "Z's Y, X".
///
/// Y is one to four words in lower case without `of`; X and Z are the longest names that begin or end there.
#[must_use]
pub fn relations(text: &str, names: &[RecognizedEntity]) -> Vec<Relation> {
    let words = words(text);
    let spans = longest(&words, names);
    let mut found = Vec::new();
    for (at, subject) in spans.iter().enumerate() {
        let after = spans.get(at + 1..).unwrap_or_default();
        if let Some((label, object)) = copula(text, &words, subject, after) {
            found.push(relation(&words, subject, label, object));
        }
        if let Some(next) = after.first()
            && let Some(label) = possessive(text, &words, subject, next)
        {
            found.push(relation(&words, next, label, subject.clone()));
        }
    }
    found
}

fn relation(words: &[Word], subject: &Range<usize>, label: Range<usize>, object: Range<usize>) -> Relation {
    let bytes = |span: &Range<usize>| {
        let inside = words.get(span.clone()).unwrap_or_default();
        let start = inside.first().map_or(0, |word| word.range.start);
        start..inside.last().map_or(start, |word| word.range.end)
    };
    let label: Vec<&str> =
        words.get(label).unwrap_or_default().iter().map(|word| word.folded.as_str()).collect();
    Relation { subject: bytes(subject), label: label.join(" "), object: bytes(&object) }
}

/// The names as ranges of `words`, without those inside another, in order.
fn longest(words: &[Word], names: &[RecognizedEntity]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = names
        .iter()
        .map(|name| {
            let start = words.partition_point(|word| word.range.start < name.range.start);
            start..words.partition_point(|word| word.range.end <= name.range.end)
        })
        .filter(|span| span.start < span.end)
        .collect();
    spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut kept: Vec<Range<usize>> = Vec::new();
    for span in spans {
        if kept.last().is_none_or(|last| last.end <= span.start) {
            kept.push(span);
        }
    }
    kept
}

/// The `Y` of "X is the Y of Z" and "X, the Y of Z", and Z.
fn copula(
    text: &str,
    words: &[Word],
    subject: &Range<usize>,
    after: &[Range<usize>],
) -> Option<(Range<usize>, Range<usize>)> {
    let word = |at: usize| words.get(at).map(|word| word.folded.as_str());
    let mut at = subject.end;
    let verb = matches!(word(at)?, "is" | "was" | "are" | "were" | "became");
    let comma = between(text, words, at.checked_sub(1)?, at)?.trim() == ",";
    if verb && !comma {
        at += 1;
    } else if !comma {
        return None;
    }
    if !matches!(word(at)?, "the" | "a" | "an") {
        return None;
    }
    let start = at + 1;
    let length = label(text, words, start)?;
    let of = start + length;
    if word(of)? != "of" {
        return None;
    }
    // "of the Kingdom of X": an article may stand before the object.
    let object = of + 1 + usize::from(word(of + 1)? == "the");
    let named = after.iter().find(|span| span.start == of + 1 || span.start == object)?;
    Some((start..of, named.clone()))
}

/// The `Y` of "Z's Y X" and "Z's Y, X", X being the name `next` behind `owner`.
fn possessive(text: &str, words: &[Word], owner: &Range<usize>, next: &Range<usize>) -> Option<Range<usize>> {
    let start = owner.end + 1;
    let apostrophe = between(text, words, owner.end.checked_sub(1)?, owner.end)?;
    if words.get(owner.end)?.folded != "s" || !matches!(apostrophe, "'" | "\u{2019}") {
        return None;
    }
    let length = label(text, words, start)?;
    let gap = between(text, words, next.start.checked_sub(1)?, next.start)?;
    (start + length == next.start && matches!(gap.trim(), "" | ",")).then_some(start..next.start)
}

/// How many words from `start` on make a label: lower case, next to each other, up to `of`.
fn label(text: &str, words: &[Word], start: usize) -> Option<usize> {
    let fits = |at: usize| {
        let word = words.get(at).filter(|word| word.case == Case::Lower && word.folded != "of");
        let near =
            at == start || between(text, words, at - 1, at).is_some_and(|gap| matches!(gap, " " | "-"));
        word.is_some() && near
    };
    let length = (start..).take_while(|at| fits(*at)).take(MAX_LABEL_WORDS + 1).count();
    (1..=MAX_LABEL_WORDS).contains(&length).then_some(length)
}

fn between<'a>(text: &'a str, words: &[Word], before: usize, after: usize) -> Option<&'a str> {
    text.get(words.get(before)?.range.end..words.get(after)?.range.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::extract::NameRules;
    use crate::model::EntityRecognizer;

    fn of(text: &str) -> Vec<(&str, String, &str)> {
        let names = NameRules::default().recognize(&[text]).expect("rules do not fail").remove(0);
        let found = relations(text, &names).into_iter();
        found.map(|found| (&text[found.subject], found.label, &text[found.object])).collect()
    }

    #[test]
    fn x_is_the_y_of_z() {
        assert_eq!(of("Paris is the capital city of France."), [("Paris", "capital city".into(), "France")]);
        assert_eq!(
            of("Ann Lee was a daughter of the Duke of York"),
            [("Ann Lee", "daughter".into(), "Duke of York")]
        );
    }

    #[test]
    fn an_apposition_is_a_relation() {
        assert_eq!(of("Bo, the son-in-law of Kim, sang."), Vec::new());
        assert_eq!(of("Bob Roe, the son of Kim Roe, sang."), [("Bob Roe", "son".into(), "Kim Roe")]);
    }

    #[test]
    fn a_possessive_is_a_relation() {
        assert_eq!(of("Nolan's brother Jonathan wrote."), [("Jonathan", "brother".into(), "Nolan")]);
        assert_eq!(
            of("Nolan\u{2019}s first wife, Emma Thomas"),
            [("Emma Thomas", "first wife".into(), "Nolan")]
        );
    }

    #[test]
    fn other_sentences_have_none() {
        for text in
            ["", "Paris is big.", "Paris, France", "is the son of Kim", "Paris is the city", "X is the of Y"]
        {
            assert_eq!(of(text), Vec::new(), "{text}");
        }
    }
}
