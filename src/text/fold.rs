//! Characters: which make words, which make bigrams, and what each is folded to.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::char::decompose_canonical;
use unicode_normalization::char::is_combining_mark;

/// What a character does to the run it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Ends every run.
    Break,
    /// A letter or digit of a script written with spaces.
    Word,
    /// A letter of a script written without spaces: runs become bigrams.
    Unspaced,
    /// A combining mark: belongs to the character before it.
    Mark,
}

/// A character after normalisation, and the bytes `start..end` of the text it came from.
#[derive(Debug, Clone, Copy)]
pub struct Folded {
    pub char: char,
    pub class: Class,
    pub start: usize,
    pub end: usize,
}

/// The class of `c`.
pub fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Word } else { Class::Break };
    }
    if is_unspaced(c) {
        Class::Unspaced
    } else if is_combining_mark(c) {
        Class::Mark
    } else if c.is_alphanumeric() {
        Class::Word
    } else {
        Class::Break
    }
}

/// Letters of Han, Hiragana, Katakana, Hangul, Bopomofo; of Thai, Lao, Khmer, Burmese without their digits.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e01..=0x0e30 | 0x0e32..=0x0e33 | 0x0e40..=0x0e46
        | 0x0e81..=0x0eb0 | 0x0eb2..=0x0eb3 | 0x0ebd..=0x0ec6 | 0x0edc..=0x0edf
        | 0x1000..=0x102a | 0x1050..=0x1055
        | 0x1100..=0x11ff | 0x1780..=0x17b3
        | 0x2e80..=0x2fd5 | 0x3005..=0x3007 | 0x3031..=0x3035 | 0x303b..=0x303c
        | 0x3041..=0x3096 | 0x309d..=0x309f | 0x30a1..=0x30fa | 0x30fc..=0x30ff | 0x3105..=0x312f
        | 0x3131..=0x318e | 0x31a0..=0x31bf | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xa960..=0xa97c | 0xac00..=0xd7fb | 0xf900..=0xfaff
        | 0x1_aff0..=0x1_b16f | 0x2_0000..=0x3_fffd)
}

/// Characters without a shape that stand inside words: soft hyphen, joiners, marks of direction, selectors.
/// Zero width space is not among them: it parts words.
fn is_ignorable(c: char) -> bool {
    matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x180b..=0x180f | 0x200c..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064
        | 0x2066..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xe_0000..=0xe_0fff)
}

/// Whether NFKC may join `c` to the character before it.
fn joins_before(c: char) -> bool {
    canonical_combining_class(c) != 0
        || is_combining_mark(c)
        || matches!(u32::from(c), 0x1160..=0x11ff | 0xff9e..=0xff9f | 0xffc2..=0xffdc)
}

/// Appends to `out` the characters of `text` after NFKC, lower case and, if `accents`, without accents.
/// `base` is the offset of `text` in the text that spans are to point into.
pub fn fold(text: &str, base: usize, accents: bool, out: &mut Vec<Folded>) {
    use unicode_normalization::IsNormalized;
    use unicode_normalization::is_nfkc_quick;

    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        for (at, c) in text.char_indices() {
            push(c, base + at, base + at + c.len_utf8(), accents, out);
        }
        return;
    }
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let mut end = at + c.len_utf8();
        // A character and what may join it are normalised together; nothing reaches across.
        while let Some((from, next)) = rest.next_if(|(_, next)| joins_before(*next)) {
            end = from + next.len_utf8();
        }
        for c in text.get(at..end).unwrap_or_default().nfkc() {
            push(c, base + at, base + end, accents, out);
        }
    }
}

fn push(c: char, start: usize, end: usize, accents: bool, out: &mut Vec<Folded>) {
    if is_ignorable(c) {
        return;
    }
    let mut put = |char| out.push(Folded { char, class: class(char), start, end });
    if c.is_ascii() {
        return put(c.to_ascii_lowercase());
    }
    match c {
        '\u{130}' => put('i'),
        '\u{df}' | '\u{1e9e}' => ['s', 's'].into_iter().for_each(put),
        '\u{3a3}' | '\u{3c2}' => put('\u{3c3}'),
        _ if !accents => c.to_lowercase().for_each(put),
        _ if is_accent(c) => (),
        _ => c.to_lowercase().for_each(|c| without_accents(c, &mut put)),
    }
}

/// Marks that are dropped with accents: the general ones, Hebrew points, Arabic vowel signs and tatweel.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36f | 0x591..=0x5bd | 0x5bf | 0x5c1..=0x5c2 | 0x5c4..=0x5c5 | 0x5c7
        | 0x20d0..=0x20ff | 0x640 | 0x64b..=0x652 | 0x670 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff)
}

/// Gives the letters `c` stands for: of Latin and Greek without accents, some Latin letters as two, digits of
/// other scripts as ASCII. Letters of other scripts stay: their marks tell words apart.
fn without_accents(c: char, put: &mut impl FnMut(char)) {
    let pair = match c {
        '\u{e6}' => ['a', 'e'],
        '\u{153}' => ['o', 'e'],
        '\u{fe}' => ['t', 'h'],
        _ => {
            let single = match c {
                '\u{f8}' => 'o',
                '\u{142}' => 'l',
                '\u{111}' | '\u{f0}' => 'd',
                '\u{127}' => 'h',
                '\u{131}' => 'i',
                '\u{451}' => '\u{435}',
                '\u{660}'..='\u{669}' => digit(c, 0x660),
                '\u{6f0}'..='\u{6f9}' => digit(c, 0x6f0),
                '\u{966}'..='\u{96f}' => digit(c, 0x966),
                '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
                    return decompose_canonical(c, |part| {
                        if !is_combining_mark(part) {
                            put(part);
                        }
                    });
                }
                _ => c,
            };
            return put(single);
        }
    };
    pair.into_iter().for_each(put);
}

fn digit(c: char, zero: u32) -> char {
    char::from_digit(u32::from(c) - zero, 10).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms must not change under a file's feet. By Unicode's stability policy a character that is assigned
    /// keeps its normal form and its case; new characters were breaks before, and make terms in documents that
    /// are added from then on. Whoever changes the number below has seen that only such characters differ,
    /// or gives `words-1` and `plain-1` another number. spec: 7.9
    #[test]
    fn what_characters_are_and_fold_to_is_what_this_version_of_unicode_says() {
        let versions = (char::UNICODE_VERSION, unicode_normalization::UNICODE_VERSION);
        let mut hasher = crc32fast::Hasher::new();
        let mut folded = Vec::new();
        let mut text = [0; 4];

        for c in '\0'..=char::MAX {
            for accents in [false, true] {
                folded.clear();
                fold(c.encode_utf8(&mut text), 0, accents, &mut folded);
                for Folded { char, class, .. } in &folded {
                    hasher.update(&u32::from(*char).to_le_bytes());
                    hasher.update(&[*class as u8]);
                }
                hasher.update(&[0xff]);
            }
        }

        assert_eq!((versions, hasher.finalize()), (((17, 0, 0), (18, 0, 0)), 0xb6b6_b144));
    }
}
