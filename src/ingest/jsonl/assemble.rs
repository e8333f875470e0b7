//! The passages of one document to its text and tree.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;
use crate::tree::Node;

use crate::ingest::finish;
use crate::ingest::options::Options;
use crate::ingest::outline::MAX_TITLE_BYTES;
use crate::ingest::outline::Outline;
use crate::ingest::outline::check_text;
use crate::ingest::outline::clip;

use super::page::heading;
use super::page::running_lines;
use super::passage::Passage;
use super::passage::Place;

/// The document of `passages`, which are in the order of their lines and have the same `document`.
pub(super) fn document(
    passages: &[Passage],
    source: &str,
    options: &Options,
    counter: &dyn TokenCounter,
) -> Result<Document> {
    let Some(first) = passages.first() else { return Ok(Document::new("empty", "")) };
    let key = first.document.as_str();
    let same_title = passages.iter().all(|passage| passage.title == first.title);
    let (text, ranges) = joined(passages, same_title);
    check_text(key, &text)?;
    let mut outline = Outline::new(&text, options, counter);
    let pages: Vec<&str> = passages
        .iter()
        .filter(|passage| passage.page.is_some())
        .map(|passage| passage.text.as_str())
        .collect();
    let running = running_lines(&pages);
    let mut open: Option<&Place> = None;
    for (at, (passage, range)) in passages.iter().zip(ranges).enumerate() {
        if open != Some(&passage.place) {
            open = Some(&passage.place);
            let run = passages[at..].iter().take_while(|next| next.place == passage.place);
            open_section(&mut outline, passage, run, same_title, &running);
        }
        let label = |leaf: &mut Node| {
            leaf.attributes.insert("id".into(), passage.id.clone());
            leaf.vector_row = passage.row;
            leaf.page = passage.page.unwrap_or(0);
        };
        match passage.page {
            Some(_) => outline.page(range, label),
            None => outline.passage(range, label),
        }
    }
    let grown = outline.finish();
    let title = if same_title && !first.title.is_empty() { &first.title } else { key };
    let mut document = Document::new(key, clip(title, MAX_TITLE_BYTES));
    document.source = Some(source.to_owned()).filter(|source| !source.is_empty());
    document.language = shared(passages, |passage| passage.language.as_deref()).map(str::to_owned);
    for (name, value) in &first.others {
        let same = |passage: &Passage| passage.others.iter().any(|(n, v)| n == name && v == value);
        if passages.iter().all(same) {
            document.attributes.insert(name.clone(), value.clone());
        }
    }
    if let Some(date) = shared(passages, |passage| passage.date.as_deref()).filter(|date| date.len() <= 200) {
        document.attributes.insert("date".into(), date.to_owned());
    }
    document.text = text;
    finish(&mut document, grown, options, counter)?;
    Ok(document)
}

/// The texts parted by blank lines, each after its title where titles differ, and where each lies.
fn joined(passages: &[Passage], same_title: bool) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut ranges = Vec::with_capacity(passages.len());
    for passage in passages {
        if passage.text.trim().is_empty() {
            ranges.push(text.len()..text.len());
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let start = text.len();
        if !same_title && !passage.title.is_empty() && passage.page.is_none() {
            text.push_str(&passage.title);
            text.push_str(": ");
        }
        text.push_str(&passage.text);
        ranges.push(start..text.len());
    }
    (text, ranges)
}

/// Opens the section of `passage`, the first of `run`; or closes all, if it belongs to none.
fn open_section<'a>(
    outline: &mut Outline<'_>,
    passage: &Passage,
    mut run: impl Iterator<Item = &'a Passage> + Clone,
    same_title: bool,
    running: &HashSet<&str>,
) {
    let own = match (&passage.place, passage.page) {
        (Place::Nowhere, _) => return outline.close_sections(),
        (Place::Page(_), Some(_)) if !same_title && !passage.title.is_empty() => Some(passage.title.clone()),
        (Place::Page(_), Some(_)) => heading(&passage.text, running),
        _ => None,
    };
    let section = outline.section(1, &own.unwrap_or_else(|| passage.section_title()));
    let page = passage.page.unwrap_or(0);
    if run.clone().all(|other| other.page.unwrap_or(0) == page) {
        section.page = page;
    }
    let date = passage.date.as_ref().filter(|date| date.len() <= 200);
    if let Some(date) = date.filter(|date| run.all(|other| other.date.as_ref() == Some(*date))) {
        section.attributes.insert("date".into(), date.clone());
    }
}

/// What `of` gives for all passages alike.
fn shared<'a>(passages: &'a [Passage], of: impl Fn(&'a Passage) -> Option<&'a str>) -> Option<&'a str> {
    let first = of(passages.first()?)?;
    passages.iter().all(|passage| of(passage) == Some(first)).then_some(first)
}
