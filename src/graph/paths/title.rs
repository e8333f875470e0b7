//! Keys under which a passage is known: its title, and what its text calls it.

use std::ops::Range;

use super::name::capitalised;
use super::name::key_of;
use super::word::Case;
use super::word::Word;
use super::word::is_date;
use super::word::is_number;
use super::word::is_stop;
use super::word::words;

/// Words of a title's key, at most.
pub const MAX_TITLE_WORDS: usize = 12;

/// Words of what a text calls its subject, at most.
const MAX_ALIAS_WORDS: usize = 6;

/// Bytes of a text in which its subject is looked for.
const OPENING_BYTES: usize = 256;

/// The keys of `title`, in order of how much of it they keep: all of it, without a bracket at its end, the part
/// before its first comma; each also without initials inside. Leading articles fall off. A key that would stand for too much is left out: function
/// words alone, a month, a day, a number under four digits, a single word under three letters (two in scripts
/// written without spaces, where a letter is a word).
#[must_use]
pub fn title_keys(title: &str) -> Vec<String> {
    let base = without_bracket(title);
    let before_comma = base.split_once(',').map(|(before, _)| before);
    let mut keys: Vec<String> = Vec::new();
    for form in [Some(title), Some(base), before_comma].into_iter().flatten() {
        let words = words(form);
        let shorter = without_initials(&words);
        for form in [Some(words.as_slice()), shorter.as_deref()].into_iter().flatten() {
            if let Some(key) = title_key(form)
                && !keys.contains(&key)
            {
                keys.push(key);
            }
        }
    }
    keys
}

/// A name without the initials inside it, so that "John F. Kennedy" is John Kennedy too; `None` if it has none.
#[must_use]
pub fn without_initials(words: &[Word]) -> Option<Vec<Word>> {
    let [first, inner @ .., last] = words else { return None };
    let initial = |word: &&Word| word.case == Case::Upper && word.folded.chars().count() == 1;
    if !inner.iter().any(|word| initial(&word)) || [first, last].iter().any(initial) {
        return None;
    }
    let kept = inner.iter().filter(|word| !initial(word));
    Some(std::iter::once(first).chain(kept).chain([last]).cloned().collect())
}

/// What the text that begins with `opening` calls the subject of `title`, if it begins with a name other than the
/// title that shares its words: two of them, or all its own that are no function words, or the only one.
#[must_use]
pub fn alias<'a>(title: &str, opening: &'a str) -> Option<&'a str> {
    let opening = opening.get(..opening.floor_char_boundary(OPENING_BYTES))?;
    let text = words(opening);
    let article = text.first().is_some_and(|word| matches!(word.folded.as_str(), "the" | "a" | "an"));
    let span = capitalised(opening, &text).into_iter().next()?;
    let first = usize::from(article);
    if span.start > first || text.first().is_some_and(|word| word.range.start > 0) {
        return None;
    }
    let name = text.get(span.start.max(first)..span.end)?;
    let title = words(without_bracket(title));
    let own = |word: &&Word| !is_stop(&word.folded);
    let shared = name.iter().filter(own).filter(|word| title.iter().any(|t| t.folded == word.folded)).count();
    let alike = shared > 0 && (shared >= 2 || title.len() == 1 || shared == name.iter().filter(own).count());
    let other = name.len() != title.len() || shared < name.len();
    let fits = (2..=MAX_ALIAS_WORDS).contains(&name.len()) && alike && other;
    fits.then(|| opening.get(name.first()?.range.start..name.last()?.range.end))?
}

fn without_bracket(title: &str) -> &str {
    let title = title.trim();
    // A name that was normalised has lost the sign at its end.
    let open = title.strip_suffix(')').unwrap_or(title);
    let at = open.rfind('(').filter(|at| !open[*at..].contains(')'));
    let base = at.and_then(|at| title.get(..at)).map(str::trim_end);
    base.filter(|base| !base.is_empty()).unwrap_or(title)
}

fn title_key(words: &[Word]) -> Option<String> {
    let article = |word: &Word| matches!(word.folded.as_str(), "the" | "a" | "an");
    let from = words.iter().position(|word| !article(word)).unwrap_or(words.len().saturating_sub(1));
    let words = words.get(from..)?;
    if words.is_empty() || words.len() > MAX_TITLE_WORDS || words.iter().all(|word| is_stop(&word.folded)) {
        return None;
    }
    if let [only] = words {
        let word = only.folded.as_str();
        let short = word.chars().count() < 3;
        let year = is_number(word) && word.len() >= 4;
        if !year && (short || is_date(word)) {
            return None;
        }
    }
    Some(key_of(words, &(0..words.len())))
}

/// The longest runs of words whose key `known` knows, from the left, without overlap; the key's number with each.
///
/// # Complexity
///
/// `O(n)` look-ups.
#[must_use]
pub fn longest_titles(words: &[Word], known: &dyn Fn(&str) -> Option<u32>) -> Vec<(Range<usize>, u32)> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while at < words.len() {
        let mut best = None;
        text.clear();
        for (length, word) in (1..=MAX_TITLE_WORDS).zip(words.get(at..).unwrap_or_default()) {
            if length > 1 {
                text.push(' ');
            }
            text.push_str(&word.folded);
            if let Some(key) = known(&text) {
                best = Some((at..at + length, key));
            }
        }
        match best {
            Some((range, key)) => {
                at = range.end;
                found.push((range, key));
            }
            None => at += 1,
        }
    }
    found
}

/// Whether words that are a title are written as one: over half of those that are no function words begin with a
/// capital, a digit or a letter without case; or there are three.
#[must_use]
pub fn written_as_name(words: &[Word]) -> bool {
    let own = words.iter().filter(|word| !is_stop(&word.folded));
    let (mut all, mut capital) = (0, 0);
    for word in own {
        all += 1;
        capital += usize::from(word.case != Case::Lower);
    }
    words.len() >= 3 || capital * 2 > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_known_without_article_bracket_and_what_follows_a_comma() {
        assert_eq!(title_keys("The Ring (2002 film)"), ["ring 2002 film", "ring"]);
        assert_eq!(title_keys("Gary, Indiana"), ["gary indiana", "gary"]);
        assert_eq!(title_keys("Nathan H. Juran"), ["nathan h juran", "nathan juran"]);
        assert_eq!(title_keys("J. R. R. Tolkien"), ["j r r tolkien"]);
        assert_eq!(title_keys("  Béla Bartók "), ["bela bartok"]);
        assert_eq!(title_keys("(What's the Story) Morning Glory?"), ["what s the story morning glory"]);
        assert_eq!(title_keys("北京"), ["北 京"]);
    }

    #[test]
    fn a_title_that_would_stand_for_too_much_is_no_key() {
        for title in ["", "May", "12", "It", "The Who", "A", "!!!", "Up", "\u{1f600}"] {
            assert_eq!(title_keys(title), Vec::<String>::new(), "{title}");
        }
        assert_eq!(title_keys("1984"), ["1984"]);
        assert_eq!(title_keys(&"word ".repeat(13)), Vec::<String>::new());
    }

    #[test]
    fn the_name_a_text_opens_with_is_an_alias_if_it_shares_words() {
        assert_eq!(alias("Albert Einstein", "Albert B. Einstein was born"), Some("Albert B. Einstein"));
        assert_eq!(alias("Washington", "The Washington Post is"), Some("Washington Post"));
        for opening in [
            "Mary Smith was his wife",
            "born in John Smith Town",
            "\"John Smith Senior\" sang",
            "",
            "John Smith is",
        ] {
            assert_eq!(alias("John Smith", opening), None, "{opening}");
        }
    }

    #[test]
    fn a_bracket_that_lost_its_end_is_a_bracket() {
        assert_eq!(title_keys("Ring (2002 film"), ["ring 2002 film", "ring"]);
        assert_eq!(title_keys("f(x) and g"), ["f x and g"]);
    }
}
