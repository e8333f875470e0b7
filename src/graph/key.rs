//! What makes two names the same entity, and two statements the same hyperedge.

use sha2::Digest;
use sha2::Sha256;
use unicode_normalization::UnicodeNormalization;

/// Longest name, kind, role or alias in bytes, once normalised.
pub const MAX_NAME_BYTES: usize = 1_000;

/// Longest label or own text of a hyperedge, longest key or value of an attribute, in bytes.
pub const MAX_TEXT_BYTES: usize = 65_535;

/// `text` as it is compared: NFKC; dashes and quotes made plain; white space and control characters collapsed to
/// one blank; white space and punctuation around it taken off. Case is kept.
///
/// # Source
///
/// ConRAG (arXiv 2605.28093): the merge keys of its entities and relations.
/// Departure: dashes are U+2010 to U+2015, not U+2013 and U+2014 alone, so that a hyphen of another make parts
/// nothing; control characters count as white space. A text of punctuation alone stays as it is, so that no
/// name becomes empty.
#[must_use]
pub fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkc() {
        let c = match c {
            '\u{2010}'..='\u{2015}' => '-',
            '\u{2018}'..='\u{201b}' => '\'',
            '\u{201c}'..='\u{201f}' => '"',
            c if c.is_whitespace() || c.is_control() => ' ',
            c => c,
        };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    let around = |c: char| c == ' ' || "\"'`.,;:!?()[]{}".contains(c);
    let core = out.trim_matches(around);
    if core.is_empty() { out.trim().to_owned() } else { core.to_owned() }
}

/// The bytes that stand for an entity in the file: its normalised name, a zero byte, its normalised kind.
#[must_use]
pub fn entity_key(name: &str, kind: &str) -> Vec<u8> {
    [name.as_bytes(), &[0], kind.as_bytes()].concat()
}

/// What tells a hyperedge from others: the beginning of a SHA-256 of kind, label, members in order, and the place
/// of its text if it has one.
///
/// * `kind`, `label`: normalised. `members`: role, whether it is a node, id of the target.
#[must_use]
pub fn hyperedge_key<'a>(
    kind: &str,
    label: &str,
    place: Option<(u32, u32, u32)>,
    members: impl IntoIterator<Item = (&'a str, bool, u32)>,
) -> [u8; 16] {
    let mut hash = Sha256::new();
    let mut string = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    string(kind);
    string(label);
    let place = place.map_or_else(String::new, |(node, start, end)| format!("{node} {start} {end}"));
    string(&place);
    for (role, is_node, target) in members {
        string(role);
        string(&format!("{} {target}", if is_node { "node" } else { "entity" }));
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut key = [0; 16];
    for (to, from) in key.iter_mut().zip(digest) {
        *to = from;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_form_alone_are_one() {
        for (text, normal) in [
            ("  Anna\u{a0}\u{2013}Maria ", "Anna -Maria"),
            ("\u{201c}Ulaanbaatar\u{201d},", "Ulaanbaatar"),
            ("O\u{2019}Brien", "O'Brien"),
            ("Ｔｏｋｙｏ\u{3000}タワー", "Tokyo タワー"),
            ("(NATO)", "NATO"),
            ("U.S.", "U.S"),
            ("a\u{0}b\r\n\tc", "a b c"),
            ("Straße", "Straße"),
            ("\u{1f680}", "\u{1f680}"),
            ("...", "..."),
            (" \t", ""),
        ] {
            assert_eq!(normalise(text), normal, "{text:?}");
        }
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        for text in ["\u{2026}x\u{2026}", "( \u{ff0e}a\u{ff0e} )", "ﬁ\u{301}", "\u{2014}\u{2014}"] {
            let once = normalise(text);

            assert_eq!(normalise(&once), once, "{text:?}");
        }
    }

    #[test]
    fn case_kind_role_order_and_place_tell_apart() {
        let key = |label, place, members: &[(&'static str, bool, u32)]| {
            hyperedge_key("relation", label, place, members.iter().copied())
        };
        let one = key("capital of", None, &[("subject", false, 1), ("object", false, 2)]);

        assert_eq!(one, key("capital of", None, &[("subject", false, 1), ("object", false, 2)]));
        assert_ne!(one, key("Capital of", None, &[("subject", false, 1), ("object", false, 2)]));
        assert_ne!(one, key("capital of", None, &[("subject", false, 2), ("object", false, 1)]));
        assert_ne!(one, key("capital of", None, &[("subject", true, 1), ("object", false, 2)]));
        assert_ne!(one, key("capital of", Some((1, 0, 5)), &[("subject", false, 1), ("object", false, 2)]));
        assert_ne!(entity_key("a", "b"), entity_key("a\u{1}b", ""));
    }
}
