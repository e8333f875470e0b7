//! A file to its documents.

use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::Component;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::Error;
use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;

use super::decode;
use super::detect::Kind;
use super::detect::detect;
use super::detect::is_gzip;
use super::html::html;
use super::jsonl::jsonl_on;
use super::markdown::markdown;
use super::options::Options;
use super::options::Report;
use super::plain::plain;

/// First bytes looked at to tell the kind of a file.
const HEAD_BYTES: u64 = 4 << 10;

/// Reads the file at `path` by its [kind](detect) and gives its documents to `each`. Gzipped files are unpacked.
///
/// The key of a document is its path below `root` with `/` between names (a passage file's documents have keys of
/// their own); its source is `path`.
///
/// # Errors
///
/// `NotFound` or `Io` if the file cannot be read; `Unsupported` if it is of no kind evdb reads; `InvalidInput`,
/// naming the file and the place in it, if its content or its path is not acceptable; whatever `each` returns.
pub fn read_path(
    path: &Path,
    root: &Path,
    options: &Options,
    counter: &dyn TokenCounter,
    each: &mut dyn FnMut(Document) -> Result<()>,
) -> Result<Report> {
    read_path_on(1, path, root, options, counter, each)
}

/// As [`read_path`], on `threads` threads; what it gives does not depend on them.
pub(super) fn read_path_on(
    threads: usize,
    path: &Path,
    root: &Path,
    options: &Options,
    counter: &dyn TokenCounter,
    each: &mut dyn FnMut(Document) -> Result<()>,
) -> Result<Report> {
    options.check()?;
    let name = path.display().to_string();
    let failed = |error| Error::io("read", &name, error);
    let file = File::open(path).map_err(|error| Error::io("open", &name, error))?;
    let mut file = BufReader::with_capacity(64 << 10, file);
    let packed = is_gzip(file.fill_buf().map_err(failed)?);
    let mut input: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    let kind = detect(path, &head)?;
    let mut input = head.as_slice().chain(input);
    if kind == Kind::Jsonl {
        return jsonl_on(threads, input, &name, options, counter, each);
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(Document::MAX_TEXT_BYTES).unwrap_or(u64::MAX);
    input.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > Document::MAX_TEXT_BYTES {
        return Err(Error::invalid(format!("{name}: it has over {limit} bytes; divide it")));
    }
    let text = decode::text(bytes, &name, options.replace_invalid_utf8)?;
    let key = key(path, root)?;
    let read = match kind {
        Kind::Markdown => markdown,
        Kind::Html => html,
        Kind::Plain | Kind::Jsonl => plain,
    };
    let mut document = read(&key, &text, options, counter)?;
    document.source = Some(name);
    document.validate()?;
    each(document)?;
    Ok(Report { documents: 1, passages: 1, ..Report::default() })
}

/// `path` below `root`, its names parted by `/`; the whole path if it does not lie below `root`.
fn key(path: &Path, root: &Path) -> Result<String> {
    let below = path.strip_prefix(root).ok().filter(|below| below.file_name().is_some()).unwrap_or(path);
    let mut key = String::new();
    for component in below.components().filter(|component| *component != Component::CurDir) {
        if !key.is_empty() && !key.ends_with('/') {
            key.push('/');
        }
        match component.as_os_str().to_str() {
            Some(_) if component == Component::RootDir => key.push('/'),
            Some(name) => key.push_str(name),
            None => {
                let message = format!("{}: its name is not Unicode; rename it", path.display());
                return Err(Error::invalid(message));
            }
        }
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use crate::error::ErrorKind;
    use crate::ingest::split::tests::Words;

    fn folder(files: &[(&str, &[u8])]) -> TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        folder
    }

    fn read(folder: &TempDir, name: &str) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        read_path(
            &folder.path().join(name),
            folder.path(),
            &Options::default(),
            &Words::default(),
            &mut |d| {
                documents.push(d);
                Ok(())
            },
        )?;
        Ok(documents)
    }

    #[test]
    fn each_kind_of_file_goes_to_its_importer_and_is_called_by_its_path() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(b"# Packed").expect("memory");
        let packed = packer.finish().expect("memory");
        let files: [(&str, &[u8]); 5] = [
            ("a/b.md", b"# Title\n\ntext"),
            ("page.html", b"<title>Page</title>text"),
            ("c.txt", b"# no title"),
            ("p.jsonl", b"{\"doc\": \"k\", \"title\": \"Passages\", \"text\": \"text\"}"),
            ("z.md.gz", &packed),
        ];
        let folder = folder(&files);

        let found: Vec<(String, String)> = files
            .iter()
            .flat_map(|(name, _)| read(&folder, name).expect("a good file"))
            .map(|document| (document.key, document.title))
            .collect();

        let found: Vec<_> = found.iter().map(|(key, title)| (key.as_str(), title.as_str())).collect();
        assert_eq!(
            found,
            [
                ("a/b.md", "Title"),
                ("page.html", "Page"),
                ("c.txt", "c"),
                ("k", "Passages"),
                ("z.md.gz", "Packed")
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_what_to_do() {
        let folder = folder(&[("latin.txt", b"caf\xe9"), ("paper.pdf", b"%PDF-1.4")]);

        let missing = read(&folder, "none.txt").expect_err("no such file");
        let latin = read(&folder, "latin.txt").expect_err("not UTF-8");
        let pdf = read(&folder, "paper.pdf").expect_err("a PDF");

        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(latin.to_string().contains("latin.txt: byte 0xe9 at offset 3"), "{latin}");
        assert_eq!(pdf.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn an_empty_file_is_a_document_without_leaves() {
        let folder = folder(&[("empty.txt", b""), ("empty.md", b""), ("empty.html", b"")]);

        for name in ["empty.txt", "empty.md", "empty.html"] {
            let documents = read(&folder, name).expect("an empty file is no error");
            assert_eq!(
                (documents.len(), documents[0].nodes.len(), documents[0].title.as_str()),
                (1, 1, "empty")
            );
        }
    }

    #[test]
    fn a_key_is_the_path_below_the_root_or_the_whole_path() {
        let key = |path, root| key(Path::new(path), Path::new(root)).expect("Unicode");

        assert_eq!(key("/data/a/b.md", "/data"), "a/b.md");
        assert_eq!(key("./a/b.md", "."), "a/b.md");
        assert_eq!(key("/data/a.md", "/data/a.md"), "/data/a.md");
        assert_eq!(key("/data/a.md", "/else"), "/data/a.md");
    }
}
