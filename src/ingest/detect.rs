//! What kind of file it is, by its name and its first bytes.

use std::path::Path;

use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Paragraphs, no markup.
    Plain,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// Passages, one JSON object a line.
    Jsonl,
}

/// First bytes of formats that hold text but are not text, and how to get at it.
const NOT_TEXT: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF; extract its text first, for instance with pdftotext -layout"),
    (b"PK\x03\x04", "a zip archive or office document; unpack it or save it as text, HTML or Markdown"),
    (b"\xd0\xcf\x11\xe0", "an old office document; save it as text, HTML or Markdown"),
    (b"\x89PNG", "an image; describe it in a text"),
    (b"\xff\xd8\xff", "an image; describe it in a text"),
    (b"GIF8", "an image; describe it in a text"),
    (b"SQLite format 3\0", "a database; export its rows as JSONL"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it"),
    (b"BZh", "compressed by bzip2; unpack it"),
    (b"\xfd7zXZ", "compressed by xz; unpack it"),
];

/// Whether `head`, a file's first bytes, begins a gzip stream.
#[must_use]
pub fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(b"\x1f\x8b")
}

/// The kind of the file at `path` whose first bytes (unpacked, a few hundred are enough) are `head`. The
/// extension decides, if it is known (`.gz` is looked through); else the first bytes do.
///
/// # Errors
///
/// `Unsupported`, naming the file and what to do, if its first bytes are those of a PDF, an archive, an image;
/// or if its extension is unknown and they hold a NUL.
pub fn detect(path: &Path, head: &[u8]) -> Result<Kind> {
    let unsupported =
        |what: &str| Err(Error::new(ErrorKind::Unsupported, format!("{}: this is {what}", path.display())));
    if let Some((_, what)) = NOT_TEXT.iter().find(|(magic, _)| head.starts_with(magic)) {
        return unsupported(what);
    }
    let lower = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = lower.strip_suffix(".gz").unwrap_or(&lower);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => return Ok(Kind::Markdown),
        "html" | "htm" | "xhtml" => return Ok(Kind::Html),
        "jsonl" | "ndjson" => return Ok(Kind::Jsonl),
        "txt" | "text" => return Ok(Kind::Plain),
        "json" => return unsupported("JSON; write its passages as JSONL, one object a line"),
        _ => {}
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.trim_ascii_start();
    let begins = |tag: &[u8]| start.get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag));
    if begins(b"<!doctype html") || begins(b"<html") {
        return Ok(Kind::Html);
    }
    if start.starts_with(b"{\"") {
        return Ok(Kind::Jsonl);
    }
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if !is_utf16 && head.contains(&0) {
        return unsupported("binary, and of no kind known by its name; rename it to .txt if it is text");
    }
    Ok(Kind::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, head: &[u8]) -> Kind {
        detect(Path::new(name), head).expect("a supported file")
    }

    #[test]
    fn the_extension_decides_before_the_first_bytes() {
        assert_eq!(kind("a/B.MD", b"<html>"), Kind::Markdown);
        assert_eq!(kind("x.htm", b"# no"), Kind::Html);
        assert_eq!(kind("p.jsonl.gz", b"{}"), Kind::Jsonl);
        assert_eq!(kind("nul.txt", b"a\0b"), Kind::Plain);
    }

    #[test]
    fn the_first_bytes_decide_for_a_name_without_extension() {
        assert_eq!(kind("page", b"\n <!DOCTYPE HTML>"), Kind::Html);
        assert_eq!(kind("dump", b"\xef\xbb\xbf{\"id\": 1}"), Kind::Jsonl);
        assert_eq!(kind("README", b"hello"), Kind::Plain);
        assert_eq!(kind("README", b"\xff\xfeh\0"), Kind::Plain);
    }

    #[test]
    fn what_is_not_text_is_refused_with_a_way_out() {
        for (name, head, word) in [
            ("paper.txt", b"%PDF-1.7".as_slice(), "pdftotext"),
            ("report.md", b"PK\x03\x04..", "unpack"),
            ("blob", b"a\0b", "rename"),
            ("a.json", b"[", "JSONL"),
        ] {
            let error = detect(Path::new(name), head).expect_err(name);

            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(name) && error.to_string().contains(word), "{error}");
        }
    }
}
