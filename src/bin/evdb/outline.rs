//! `evdb outline`: the documents of a file, the tree of one, the leaves of either.

use std::io::Write;
use std::ops::ControlFlow;

use evdb::db::DocumentInfo;
use evdb::tree::{NodeView, Tree};
use evdb::{NodeId, ReadTransaction, Span};
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::args::{Common, OutlineArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, STRONG, clean, counted, excerpt};

/// Characters of a title or text that a line shows.
const LINE: usize = 90;

pub fn run(args: &OutlineArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let one = args.key.as_deref().map(|key| open::document(&read, key)).transpose()?;
    match (&one, args.leaves) {
        (Some(info), true) => leaves(&read, info, output)?,
        (Some(info), false) => tree(&read, info, args.summaries, output)?,
        (None, true) => each(&read, |info| leaves(&read, &info, output))?,
        (None, false) => list(&read, output)?,
    }
    Ok(Exit::Done)
}

/// Calls `show` with every document, until it fails.
fn each(
    read: &ReadTransaction,
    mut show: impl FnMut(DocumentInfo) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failed = None;
    read.for_each_document(|info| {
        Ok(match show(info) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        })
    })?;
    failed.map_or(Ok(()), Err)
}

fn list(read: &ReadTransaction, output: &mut Output) -> Result<(), Failure> {
    if output.json {
        return each(read, |info| output.line(&info));
    }
    let mut width = 3;
    each(read, |info| {
        width = width.max(info.key.chars().count().min(48));
        Ok(())
    })?;
    let head = format!("{:<width$} {:>7} {:>7} {:>9}  title", "key", "nodes", "leaves", "tokens");
    writeln!(output, "{}", Painted(FAINT, head))?;
    each(read, |info| {
        let key = clean(&info.key);
        let pad = " ".repeat(width.saturating_sub(key.chars().count()));
        writeln!(
            output,
            "{}{pad} {:>7} {:>7} {:>9}  {}",
            Painted(KEY, &key),
            HumanCount(info.nodes.len() as u64).to_string(),
            HumanCount(info.leaves.into()).to_string(),
            HumanCount(info.tokens).to_string(),
            excerpt(&info.title, LINE),
        )?;
        Ok(())
    })?;
    output.remark(counted(read.document_count().into(), "document"));
    Ok(())
}

fn tree(
    read: &ReadTransaction,
    info: &DocumentInfo,
    summaries: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let tree = read.tree(info.id)?;
    let text = read.text(info.id, Span::new(0, info.text_bytes))?;
    if output.json {
        let nodes: Vec<Value> = tree.nodes().map(|node| json_node(&node, summaries)).collect();
        let mut line = serde_json::to_value(info).map_err(std::io::Error::from)?;
        if let Some(line) = line.as_object_mut() {
            line.insert("range".into(), json!(info.nodes));
            line.insert("nodes".into(), nodes.into());
        }
        return output.line(&line);
    }
    let about = format!("{} leaves, {} tokens", HumanCount(info.leaves.into()), HumanCount(info.tokens));
    writeln!(output, "{}  {}", Painted(KEY, clean(&info.key)), Painted(FAINT, about))?;
    for node in tree.nodes() {
        let indent = "  ".repeat(usize::from(node.level()));
        let page = if node.page() > 0 { format!(", page {}", node.page()) } else { String::new() };
        let about = format!("{}{page}", counted(node.tokens().into(), "token"));
        let words = if node.is_leaf() {
            let own = text.get(node.span().as_range()).unwrap_or_default();
            let kind = if node.kind().name() == "text" {
                String::new()
            } else {
                format!("[{}] ", node.kind().name())
            };
            format!("{kind}{}", excerpt(own, LINE.saturating_sub(indent.len())))
        } else {
            format!("{}", Painted(STRONG, excerpt(node.title(), LINE)))
        };
        let id = Painted(FAINT, format!("{:>7}", node.id().get()));
        writeln!(output, "{id}  {indent}{words}  {}", Painted(FAINT, about))?;
        if summaries && !node.summary().is_empty() {
            writeln!(output, "         {indent}{}", Painted(FAINT, clean(node.summary())))?;
        }
    }
    Ok(())
}

fn json_node(node: &NodeView<'_>, summaries: bool) -> Value {
    let mut value = json!({
        "node": node.id(),
        "parent": node.parent().map(|parent| parent.id()),
        "last": node.range().last,
        "level": node.level(),
        "kind": node.kind(),
        "title": node.title(),
        "tokens": node.tokens(),
        "span": node.span(),
        "page": Some(node.page()).filter(|page| *page > 0),
        "attributes": node.attributes().collect::<std::collections::BTreeMap<_, _>>(),
    });
    if summaries && let Some(value) = value.as_object_mut() {
        value.insert("summary".into(), node.summary().into());
    }
    value
}

fn leaves(read: &ReadTransaction, info: &DocumentInfo, output: &mut Output) -> Result<(), Failure> {
    let tree = read.tree(info.id)?;
    let text = read.text(info.id, Span::new(0, info.text_bytes))?;
    for leaf in tree.leaves(tree.root())? {
        let own = text.get(leaf.span().as_range()).unwrap_or_default();
        let path = tree.heading_path(leaf.id())?;
        if output.json {
            output.line(&json!({
                "node": leaf.id(),
                "id": leaf.attribute("id"),
                "document": info.key,
                "heading_path": path,
                "kind": leaf.kind(),
                "page": Some(leaf.page()).filter(|page| *page > 0),
                "tokens": leaf.tokens(),
                "text": own,
                "embed": embedded(&tree, leaf.id(), own)?,
            }))?;
        } else {
            let about = format!("node {}, {}", leaf.id(), counted(leaf.tokens().into(), "token"));
            let path = Painted(STRONG, clean(&path.join(" > ")));
            writeln!(output, "{}  {path}  {}", Painted(KEY, clean(&info.key)), Painted(FAINT, about))?;
            for line in clean(own).lines() {
                writeln!(output, "    {line}")?;
            }
            writeln!(output)?;
        }
    }
    Ok(())
}

/// What an embedder is given for `leaf`: as `evdb::ingest::leaf_texts`, the titles from the root to the leaf's
/// own, then its text.
fn embedded(tree: &Tree, leaf: NodeId, text: &str) -> Result<String, Failure> {
    let own = tree.node(leaf)?.title();
    let mut path = tree.heading_path(leaf)?;
    path.extend(Some(own).filter(|title| !title.is_empty()));
    Ok(format!("{}\n{text}", path.join(" > ")))
}
