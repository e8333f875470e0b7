//! `evdb search`: ranked leaves, without a budget.

use std::io::Write;
use std::time::Duration;

use evdb::query::{Evidence, Filter, Hit, Question, Search, SearchMode};
use evdb::text::{FieldWeights, Highlighter, Query, Snippet};
use evdb::tree::NodeKind;
use evdb::{NodeId, ReadTransaction};
use serde_json::{Value, json};

use crate::args::{Common, FieldArg, KindArg, ModeArg, SearchArgs};
use crate::batch::Batch;
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, MARK, NUMBER, Output, Painted, STRONG, clean, counted, excerpt};
use crate::question;
use crate::vectors::{self, QueryVector};

/// Characters of a text that are shown.
const SNIPPET: usize = 240;

pub fn run(args: &SearchArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let typed = match args.batch.questions {
        Some(_) => None,
        None => Some(question::text(args.query.as_deref(), args.vector.vector.is_some())?),
    };
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let mut search = Search {
        mode: args.mode.map(|mode| match mode {
            ModeArg::Text => SearchMode::Text,
            ModeArg::Dense => SearchMode::Dense,
            ModeArg::Hybrid => SearchMode::Hybrid,
        }),
        limit: args.limit as usize,
        filter: filter(args, &read)?,
        query: None,
        weights: weights(args)?,
        time_limit: args.deadline.map(Duration::from_millis),
        threads: args.vector.threads.into(),
    };
    let Some(text) = typed else { return batch(args, &search, &read, common, output) };
    if args.expression && !text.is_empty() {
        search.query = Some(expression(&text)?);
    }
    if args.count {
        return count(&search, &read, &text, output);
    }
    let vector = match search.mode {
        Some(SearchMode::Text) => None,
        _ => vectors::of_query(&read, &args.vector, &text)?,
    };
    let question = Question { text: &text, vector: vector.as_ref().map(QueryVector::as_question) };
    let hits = find(&search, &read, question)?;
    let marks = if hits.is_empty() { Highlighter::default() } else { search.highlighter(&read, question)? };
    let mut found = Vec::with_capacity(hits.len());
    for hit in &hits {
        let leaf = hit.evidence(&read)?;
        let snippet = marks.snippet(read.analyzers().body(), &leaf.text, SNIPPET);
        found.push((hit, leaf, snippet));
    }
    let mode = search.mode_for(question).name();
    if output.json {
        let hits: Vec<Value> = (1..)
            .zip(&found)
            .map(|(rank, (hit, leaf, snippet))| json_hit(rank, hit, leaf, snippet))
            .collect();
        let space = vector.as_ref().map(|vector| &vector.space);
        output.line(&json!({ "query": text, "mode": mode, "space": space, "hits": hits }))?;
    } else {
        for (rank, (hit, leaf, snippet)) in (1..).zip(&found) {
            print(rank, hit, leaf, snippet, output)?;
        }
    }
    if found.is_empty() {
        output.remark(if search.filter == Filter::default() {
            "nothing was found; try other words"
        } else {
            "nothing was found; try other words, or fewer filters"
        });
        return Ok(Exit::NothingFound);
    }
    let leaves = counted(found.len() as u64, "leaf");
    output.remark(format_args!(
        "{leaves} of {}, by {}",
        indicatif::HumanCount(read.leaf_count().into()),
        match mode {
            "hybrid" => "words and vectors",
            "dense" => "vectors",
            _ => "words",
        }
    ));
    Ok(Exit::Done)
}

/// The query that `text` says.
fn expression(text: &str) -> Result<Query, Failure> {
    Query::parse(text).map_err(|error| {
        Failure::usage(
            error.to_string(),
            "leave -e out to search for plain words; `evdb help search` shows the language",
        )
    })
}

fn weights(args: &SearchArgs) -> Result<FieldWeights, Failure> {
    let mut weights = FieldWeights::default();
    for (field, weight) in &args.boost {
        match field {
            FieldArg::Title => weights.title = *weight,
            FieldArg::Body => weights.body = *weight,
        }
    }
    if weights.title + weights.body <= 0.0 {
        return Err(Failure::usage("--boost leaves out both fields", "give one of them a weight above 0"));
    }
    Ok(weights)
}

fn count(search: &Search, read: &ReadTransaction, text: &str, output: &mut Output) -> Result<Exit, Failure> {
    let count = search.count(read, Question { text, vector: None })?;
    if output.json {
        output.line(&json!({ "query": text, "count": count }))?;
    } else {
        writeln!(output, "{count}")?;
    }
    Ok(if count == 0 { Exit::NothingFound } else { Exit::Done })
}

fn find(search: &Search, read: &ReadTransaction, question: Question<'_>) -> Result<Vec<Hit>, Failure> {
    let by_vectors = search.mode_for(question) != SearchMode::Text;
    if by_vectors && question.vector.is_none() {
        return Err(Failure::hinted(
            "the search compares vectors, and the query has none",
            "give it with --vector, or search with --mode text",
        ));
    }
    Ok(search.run(read, question)?)
}

fn filter(args: &SearchArgs, read: &ReadTransaction) -> Result<Filter, Failure> {
    if let Some(attribute) = args.attr.iter().find(|attribute| !attribute.contains('=')) {
        return Err(Failure::usage(
            format!("--attr {attribute:?} has no value"),
            format!("write --attr {attribute}=VALUE"),
        ));
    }
    let kinds = args.kind.iter().map(|kind| match kind {
        KindArg::Text => NodeKind::Text,
        KindArg::Table => NodeKind::Table,
        KindArg::Image => NodeKind::Image,
        KindArg::Example => NodeKind::Example,
    });
    Ok(Filter {
        documents: open::documents(read, &args.doc)?,
        kinds: kinds.collect(),
        level: args.level,
        attributes: args.attr.clone(),
        within: args.within.map(NodeId),
    })
}

fn json_hit(rank: usize, hit: &Hit, leaf: &Evidence, snippet: &Snippet) -> Value {
    let start = snippet.span.start;
    let highlights: Vec<[usize; 2]> =
        snippet.highlights.iter().map(|mark| [mark.start - start, mark.end - start]).collect();
    json!({
        "rank": rank,
        "score": hit.score,
        "text_rank": hit.text.map(|place| place.rank),
        "text_score": hit.text.map(|place| place.score),
        "dense_rank": hit.dense.map(|place| place.rank),
        "dense_score": hit.dense.map(|place| place.score),
        "id": leaf.id,
        "document": leaf.key,
        "title": leaf.title,
        "heading_path": leaf.heading_path,
        "node": leaf.node,
        "kind": leaf.kind,
        "page": leaf.page,
        "span": leaf.span,
        "tokens": leaf.tokens,
        "snippet": leaf.text.get(snippet.span.clone()),
        "highlights": highlights,
        "text": leaf.text,
    })
}

fn print(
    rank: usize,
    hit: &Hit,
    leaf: &Evidence,
    snippet: &Snippet,
    output: &mut Output,
) -> Result<(), Failure> {
    let place = heading_line(leaf);
    writeln!(output, "{rank:>2}  {}  {}", Painted(KEY, clean(&leaf.key)), Painted(STRONG, place))?;
    let mut parts = vec![format!("score {}", Painted(NUMBER, format_args!("{:.4}", hit.score)))];
    parts.extend(hit.text.map(|place| format!("words {:.2} (rank {})", place.score, place.rank)));
    parts.extend(hit.dense.map(|place| format!("vectors {:.3} (rank {})", place.score, place.rank)));
    writeln!(output, "    {}  {}", parts.join("  "), Painted(FAINT, location(leaf)))?;
    writeln!(output, "    {}\n", marked(&leaf.text, snippet))?;
    Ok(())
}

/// The snippet of `text` on one line, with its marks painted.
fn marked(text: &str, snippet: &Snippet) -> String {
    let mut out = String::from(if snippet.span.start > 0 { "\u{2026}" } else { "" });
    let mut at = snippet.span.start;
    let mut is_space = true;
    let mut piece = |from: usize, to: usize| {
        let mut line = String::new();
        for letter in clean(text.get(from..to).unwrap_or_default()).chars() {
            if !letter.is_whitespace() {
                line.push(letter);
            } else if !is_space {
                line.push(' ');
            }
            is_space = letter.is_whitespace();
        }
        line
    };
    for mark in &snippet.highlights {
        out.push_str(&piece(at, mark.start));
        out.push_str(&Painted(MARK, piece(mark.start, mark.end)).to_string());
        at = mark.end;
    }
    out.push_str(&piece(at, snippet.span.end));
    out.push_str(if snippet.span.end < text.trim_end().len() { "\u{2026}" } else { "" });
    out
}

/// Title and headings of a leaf.
pub fn heading_line(leaf: &Evidence) -> String {
    let titles = std::iter::once(&leaf.title).chain(&leaf.heading_path);
    let titles: Vec<String> =
        titles.filter(|title| !title.is_empty()).map(|title| excerpt(title, 80)).collect();
    titles.join(" > ")
}

/// Where a leaf lies: node, bytes, page.
pub fn location(leaf: &Evidence) -> String {
    let page = leaf.page.map_or_else(String::new, |page| format!(", page {page}"));
    let id = leaf.id.as_ref().map_or_else(String::new, |id| format!(", id {}", clean(id)));
    format!("node {}, bytes {}{page}{id}, {}", leaf.node, leaf.span, counted(leaf.tokens as u64, "token"))
}

fn batch(
    args: &SearchArgs,
    search: &Search,
    read: &ReadTransaction,
    common: &Common,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let path = args.batch.questions.as_deref().unwrap_or_else(|| std::path::Path::new(""));
    let batch = Batch::read(path, &args.batch, &args.vector, read)?;
    batch.for_each(common, output, |entry, vector, output| {
        let mut search = search.clone();
        if args.expression && !entry.text.trim().is_empty() {
            search.query = Some(expression(&entry.text)?);
        }
        if args.batch.in_doc {
            let doc = entry.doc.as_deref().ok_or_else(|| no_doc(&entry.id))?;
            search.filter.documents = Some(vec![open::document(read, doc)?.id]);
        }
        let vector = vector.filter(|_| search.mode != Some(SearchMode::Text));
        let question = Question { text: &entry.text, vector: vector.map(QueryVector::as_question) };
        let mut hits = Vec::new();
        for hit in find(&search, read, question)? {
            let document = read.document_of(hit.node)?;
            let tree = read.tree(document.id)?;
            hits.push(json!({
                "id": tree.node(hit.node)?.attribute("id"),
                "document": document.key,
                "node": hit.node,
                "score": hit.score,
                "text_score": hit.text.map(|place| place.score),
                "dense_score": hit.dense.map(|place| place.score),
            }));
        }
        output.line(&json!({ "id": entry.id, "mode": search.mode_for(question).name(), "hits": hits }))
    })?;
    Ok(Exit::Done)
}

/// A question that is to be asked of its own document and names none.
pub fn no_doc(id: &Value) -> Failure {
    Failure::hinted(format!("question {id} has no \"doc\""), "leave --in-doc out, or name the document's key")
}
