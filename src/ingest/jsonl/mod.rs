//! JSONL: passages, one JSON object a line, to documents.
//!
//! | field | becomes |
//! |---|---|
//! | `text` | a leaf; the only field that must be there |
//! | `id` | attribute `id` of the leaf; the line's number if missing |
//! | `doc` | key of the document; the `id` if missing |
//! | `title` | title of the document, if all its passages have the same; else it stands before the text, as in `Gina: Hello!`, and the document is called by its key |
//! | `section`, else `session`, else `page` | a section; equal keys in a row make one, and one that comes again later opens another of the same title |
//! | `page` | page of section and leaves; the text is cut at lines, and a title-like line at the top is the section's title |
//! | `date` | in the title of a session; attribute `date` of a section or document that has only one |
//! | `language` or `lang` | language of the document, if all its passages have the same |
//! | other strings, numbers, truth values | attributes of the document, if short and equal in all its passages |
//! | lists and objects | nothing |
//!
//! Each leaf has as `vector_row` the number of its passage among those of the file, from 0: the row of a matrix
//! that came with the file.

mod assemble;
mod page;
mod passage;

use std::collections::HashMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;

use flate2::bufread::MultiGzDecoder;

use crate::error::Error;
use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;

use super::detect::is_gzip;
use super::options::Options;
use super::options::Report;
use super::parallel::in_parallel;

use passage::Passage;

/// Text of the documents that are made at once.
const BATCH_BYTES: usize = 4 << 20;

/// Longest line in bytes.
const MAX_LINE_BYTES: usize = Document::MAX_TEXT_BYTES;

/// Reads passages, plain or gzipped, and gives their documents to `each`, in the order in which each document
/// first appears; `name` names the source in messages and documents.
///
/// A passage without `page` is one leaf unless it has more than
/// [`max_whole_tokens`](Options::max_whole_tokens). A document may be scattered over the file, so every passage is
/// held until the last line is read: memory is about the size of the text, unpacked.
///
/// # Errors
///
/// * `InvalidInput`, naming line and column, for a line that is not a JSON object with a `text`, nests deeper than
///   128 levels or has an over-long key; with [`skip_bad_lines`](Options::skip_bad_lines) it is a warning instead.
/// * `InvalidInput` for a document above 1 GiB, or options out of their bounds.
/// * `Io` if reading or unpacking fails.
/// * Whatever `each` returns; reading ends there.
pub fn jsonl(
    input: impl Read,
    name: &str,
    options: &Options,
    counter: &dyn TokenCounter,
    each: &mut dyn FnMut(Document) -> Result<()>,
) -> Result<Report> {
    jsonl_on(1, input, name, options, counter, each)
}

/// As [`jsonl`], on `threads` threads; what it gives does not depend on them.
pub(super) fn jsonl_on(
    threads: usize,
    input: impl Read,
    name: &str,
    options: &Options,
    counter: &dyn TokenCounter,
    each: &mut dyn FnMut(Document) -> Result<()>,
) -> Result<Report> {
    options.check()?;
    let mut input = BufReader::with_capacity(64 << 10, input);
    let head = input.fill_buf().map_err(|error| Error::io("read", name, error))?;
    let mut report = Report::default();
    let documents = if is_gzip(head) {
        read(&mut BufReader::new(MultiGzDecoder::new(input)), name, options, &mut report)?
    } else {
        read(&mut input, name, options, &mut report)?
    };
    let mut documents = documents.into_iter().peekable();
    while documents.peek().is_some() {
        let mut bytes = 0;
        let mut jobs: Vec<(Vec<Passage>, Option<Result<Document>>)> = Vec::new();
        while let Some(passages) = documents.next_if(|_| bytes < BATCH_BYTES) {
            bytes += passages.iter().map(|passage| passage.text.len()).sum::<usize>();
            jobs.push((passages, None));
        }
        in_parallel(&mut jobs, threads, |(passages, document)| {
            *document = Some(assemble::document(passages, name, options, counter));
            Ok(())
        })?;
        for document in jobs.into_iter().filter_map(|(_, document)| document) {
            each(document?)?;
            report.documents += 1;
        }
    }
    Ok(report)
}

/// The passages of `input` by document.
fn read(
    input: &mut dyn BufRead,
    name: &str,
    options: &Options,
    report: &mut Report,
) -> Result<Vec<Vec<Passage>>> {
    let mut documents: Vec<Vec<Passage>> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    let mut line_of: HashMap<String, u64> = HashMap::new();
    let mut bytes = Vec::new();
    let mut row = 0_u64;
    for line in 1_u64.. {
        bytes.clear();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        let length = (&mut *input)
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| Error::io("read", format_args!("{name}, line {line}"), error))?;
        if length == 0 {
            break;
        }
        if length > MAX_LINE_BYTES {
            return Err(Error::invalid(format!("{name}, line {line}: it has over {MAX_LINE_BYTES} bytes")));
        }
        let mark: &[u8] = if line == 1 { b"\xef\xbb\xbf" } else { b"" };
        let own = bytes.strip_prefix(mark).unwrap_or(&bytes).trim_ascii();
        if own.is_empty() {
            continue;
        }
        let read = Passage::read(own, line, u32::try_from(row).ok());
        row += 1;
        let passage = match read {
            Ok(passage) => passage,
            Err(fault) => {
                let column = fault.column.map(|column| format!("column {column}: ")).unwrap_or_default();
                if options.skip_bad_lines {
                    report.warn(line, format!("{column}{}; left out", fault.message));
                    continue;
                }
                let at = if column.is_empty() { ": " } else { ", " };
                return Err(Error::invalid(format!("{name}, line {line}{at}{column}{}", fault.message)));
            }
        };
        report.passages += 1;
        if passage.text.trim().is_empty() && passage.page.is_none() {
            report.warn(line, format!("passage {:?} has no text; it has no leaf", passage.id));
        }
        match line_of.get(&passage.id) {
            Some(before) => {
                report.warn(
                    line,
                    format!("passage id {:?} stands on line {before} too; both are kept", passage.id),
                );
            }
            None => {
                line_of.insert(passage.id.clone(), line);
            }
        }
        let at = *by_key.entry(passage.document.clone()).or_insert(documents.len());
        if at == documents.len() {
            documents.push(Vec::new());
        }
        documents[at].push(passage);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests;
