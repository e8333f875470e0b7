//! YAML front matter, as far as notes and static sites use it: `key: value` and lists of scalars.
//!
//! It never fails. A line that is neither is left out of the attributes, like nested maps and block scalars.

use std::collections::BTreeMap;

/// What stands before a Markdown text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub title: Option<String>,
    pub language: Option<String>,
    pub attributes: BTreeMap<String, String>,
    /// Where the text after it begins.
    pub end: usize,
}

/// Longest key and value kept, in bytes.
const MAX_KEY_BYTES: usize = 200;
const MAX_VALUE_BYTES: usize = 2_000;

/// The front matter of `text`, or the default if it has none: a first line `---`, then lines of which at least
/// one is `key: value`, up to a line `---` or `...`.
pub(super) fn front_matter(text: &str) -> FrontMatter {
    let mut lines = text.split_inclusive('\n');
    let mut at = match lines.next() {
        Some(first) if first.trim_end() == "---" => first.len(),
        _ => return FrontMatter::default(),
    };
    let mut found = FrontMatter::default();
    let mut keys = 0;
    // The key whose list may follow, and the list.
    let mut open: Option<(String, Vec<String>)> = None;
    for line in lines {
        at += line.len();
        let line = line.trim_end();
        if line == "---" || line == "..." {
            if let Some((key, list)) = open {
                found.keep(key, &list.join(", "));
            }
            if keys == 0 {
                break;
            }
            found.end = at;
            return found;
        }
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            if let Some((_, list)) = &mut open {
                list.extend(scalar(item));
            }
            continue;
        }
        let Some((key, value)) = key_value(line) else { continue };
        keys += 1;
        if let Some((key, list)) = open.take() {
            found.keep(key, &list.join(", "));
        }
        match value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
            Some(list) => {
                let items: Vec<String> = flow_items(list).into_iter().filter_map(scalar).collect();
                found.keep(key.to_owned(), &items.join(", "));
            }
            None => match scalar(value) {
                Some(value) => found.keep(key.to_owned(), &value),
                None if value.is_empty() => open = Some((key.to_owned(), Vec::new())),
                None => {}
            },
        }
    }
    FrontMatter::default()
}

impl FrontMatter {
    fn keep(&mut self, key: String, value: &str) {
        if value.is_empty() || key.len() > MAX_KEY_BYTES || value.len() > MAX_VALUE_BYTES {
            return;
        }
        match key.to_ascii_lowercase().as_str() {
            "title" => self.title = Some(value.to_owned()),
            "language" | "lang" => self.language = Some(value.to_owned()),
            _ => {
                self.attributes.insert(key, value.to_owned());
            }
        }
    }
}

/// `key: value` of a line without indentation; the value may be empty.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && !key.starts_with(char::is_whitespace)
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    (is_key && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key.trim_end(), value.trim()))
}

/// A scalar without its quotes and comment; `None` if it is empty or no scalar.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let inner = match value.chars().next()? {
        '"' => value[1..]
            .split_once('"')
            .map(|(inner, _)| inner.to_owned())
            .filter(|s| !s.ends_with('\\'))
            .or_else(|| {
            Some(value[1..].rsplit_once('"')?.0.replace("\\\"", "\"").replace("\\\\", "\\"))
        })?,
        '\'' => value[1..].rsplit_once('\'')?.0.replace("''", "'"),
        '{' | '[' | '|' | '>' | '&' | '*' | '!' | '#' => return None,
        _ => value.split_once(" #").map_or(value, |(value, _)| value).trim_end().to_owned(),
    };
    (!inner.is_empty()).then_some(inner)
}

/// The items of `a, "b, c", d`, quotes still on.
fn flow_items(list: &str) -> Vec<&str> {
    let mut quote = None;
    list.split(|c: char| {
        match quote {
            Some(open) if open == c => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        c == ',' && quote.is_none()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_lists_become_attributes_and_title_and_language_are_known() {
        let text = "---\ntitle: \"A: \\\"plan\\\"\"\nlang: en\nauthor: 'O''Brien' \ntags: [a, \"b, c\", d]\nteam:\n  - x \
                    # lead\n  - \"y\"\nyear: 2024 # ok\n---\nBody";

        let found = front_matter(text);

        assert_eq!(found.title.as_deref(), Some("A: \"plan\""));
        assert_eq!(found.language.as_deref(), Some("en"));
        let attributes: Vec<_> = found.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            attributes,
            [("author", "O'Brien"), ("tags", "a, b, c, d"), ("team", "x, y"), ("year", "2024")]
        );
        assert_eq!(&text[found.end..], "Body");
    }

    #[test]
    fn odd_lines_are_left_out_and_nothing_fails() {
        let found =
            front_matter("---\r\n: no\r\nmap: {a: 1}\r\n  nested: 1\r\nhttp://x\r\nok: 1\r\n???\r\n...\r\nB");

        assert_eq!(found.attributes.into_iter().collect::<Vec<_>>(), [("ok".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_thematic_break_is_no_front_matter() {
        for text in ["---\nprose\n---\n", "---\na: 1\n", "--- \n\n---\n", "text\n---\na: 1\n---\n", "---"] {
            assert_eq!(front_matter(text), FrontMatter::default(), "{text:?}");
        }
    }
}
