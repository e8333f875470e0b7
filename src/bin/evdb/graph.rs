//! `evdb graph` and `evdb import-graph`: what is around an entity, and where a graph comes from.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::ops::ControlFlow;

use evdb::graph::{Expand, Expansion, Graph, GraphCounts, Object};
use evdb::ingest::{StatementReport, import_statements, wiki_links};
use evdb::query::{EntityQuery, expand, find_entities};
use evdb::{EntityId, HyperedgeId, NodeId, ReadTransaction};
use serde_json::{Value, json};

use crate::args::{Common, GraphArgs, ImportGraphArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, STRONG, clean, counted, excerpt};
use crate::views;

/// Entities shown for a name that several have, and suggested for one that none has.
const SUGGESTIONS: usize = 5;
/// Characters of a text beside a hyperedge.
const EXCERPT: usize = 100;
/// Warnings shown one by one; the rest is counted.
const SHOWN_WARNINGS: usize = 10;

pub fn run(args: &GraphArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let graph = read.graph()?;
    if graph.entity_count() == 0 {
        return Err(Failure::hinted(
            format!("{} has no graph", args.file.display()),
            format!("evdb import-graph {} --wiki-links, or with a JSONL of statements", args.file.display()),
        ));
    }
    let Some(anchors) = anchors(&read, args)? else {
        output.remark(format_args!(
            "no entity is called {:?}{}",
            args.entity,
            suggestions(&read, &args.entity)?
        ));
        return Ok(Exit::NothingFound);
    };
    let bounds = Expand {
        hops: args.hops.into(),
        kinds: Some(args.kind.clone()).filter(|kinds| !kinds.is_empty()),
        per_anchor: args.per_anchor as usize,
        total: args.total as usize,
        visits: args.visits as usize,
    };
    let anchors: Vec<Object> = anchors.into_iter().map(Object::Entity).collect();
    let found = expand(&read, &bounds, &anchors)?;
    let shown = Shown { read: &read, graph: &graph, anchors: &anchors, found: &found };
    if output.json {
        output.line(&shown.json()?)?;
    } else if args.dot {
        write!(output, "{}", shown.dot()?)?;
    } else if args.mermaid {
        write!(output, "{}", shown.mermaid()?)?;
    } else {
        shown.text(output)?;
        if found.cut {
            output.remark("more was left out; --per-anchor, --total and --visits say how much is shown");
        }
    }
    Ok(Exit::Done)
}

/// The entities that are asked for: of just that name, else the one that the words fit best.
fn anchors(read: &ReadTransaction, args: &GraphArgs) -> Result<Option<Vec<EntityId>>, Failure> {
    let kind = args.entity_kind.as_deref();
    let exact = find_entities(read, EntityQuery::Key(&args.entity, kind), SUGGESTIONS)?;
    let mut found: Vec<EntityId> = exact.into_iter().map(|(id, _)| id).collect();
    if found.is_empty() {
        let by_words = find_entities(read, EntityQuery::Text(&args.entity), usize::MAX)?;
        for (id, _) in by_words {
            let info = read.entity(id)?;
            // An alias is a name as well.
            let wanted = args.entity.to_lowercase();
            let mut names = std::iter::once(&info.name).chain(&info.aliases);
            if names.any(|name| name.to_lowercase() == wanted) && kind.is_none_or(|kind| info.kind == kind) {
                found.push(id);
            }
        }
        found.truncate(SUGGESTIONS);
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

fn suggestions(read: &ReadTransaction, name: &str) -> Result<String, Failure> {
    let mut like = find_entities(read, EntityQuery::Text(name), SUGGESTIONS)?;
    if like.is_empty() {
        like = find_entities(read, EntityQuery::Prefix(name), SUGGESTIONS)?;
    }
    let mut names = Vec::new();
    for (id, _) in like {
        names.push(format!("{:?}", read.entity(id)?.name));
    }
    Ok(if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) })
}

/// A box: its name for the drawing, what is written in it, whether it is a hyperedge.
type Drawn = (String, String, bool);
/// Boxes, and lines from one to another with what is written on them.
type Drawing = (Vec<Drawn>, Vec<(String, String, String)>);

struct Shown<'a> {
    read: &'a ReadTransaction,
    graph: &'a Graph,
    anchors: &'a [Object],
    found: &'a Expansion,
}

impl Shown<'_> {
    /// What people call an object.
    fn name(&self, object: Object) -> Result<String, Failure> {
        Ok(match object {
            Object::Entity(id) => self.read.entity(id)?.name,
            Object::Hyperedge(id) => self.read.hyperedge(id)?.label,
            Object::Node(node) => {
                let document = self.read.document_of(node)?;
                let tree = self.read.tree(document.id)?;
                let title = tree.node(node)?.title().to_owned();
                let title = if title.is_empty() { format!("node {node}") } else { title };
                format!("{}: {title}", document.key)
            }
        })
    }

    /// Where a hyperedge is said: keys of documents and nodes.
    fn supports(&self, edge: HyperedgeId) -> Result<Vec<(String, NodeId)>, Failure> {
        let mut places = Vec::new();
        for (node, _) in self.graph.supports(edge) {
            places.push((self.read.document_of(node)?.key, node));
        }
        Ok(places)
    }

    fn text(&self, output: &mut Output) -> Result<(), Failure> {
        for anchor in self.anchors {
            let Object::Entity(id) = anchor else { continue };
            let info = self.read.entity(*id)?;
            let mentions = counted(self.graph.mentions(*id).len() as u64, "mention");
            let about = Painted(FAINT, format!("{}, {mentions}", clean(&info.kind)));
            writeln!(output, "{}  {about}", Painted(KEY, clean(&info.name)))?;
            if !info.aliases.is_empty() {
                writeln!(output, "  also {}", clean(&info.aliases.join(", ")))?;
            }
            for (key, values) in &info.attributes {
                writeln!(output, "  {}: {}", clean(key), excerpt(&values.join(", "), EXCERPT))?;
            }
        }
        for edge in &self.found.followed {
            let info = self.read.hyperedge(*edge)?;
            let mut names = Vec::new();
            for (role, object) in &info.members {
                let name = clean(&self.name(*object)?);
                names.push(if role.is_empty() { name } else { format!("{name} ({})", clean(role)) });
            }
            let label = if info.label.is_empty() { &info.kind } else { &info.label };
            writeln!(output, "{}  {}", Painted(STRONG, excerpt(label, EXCERPT)), names.join(", "))?;
            if let Some(text) = &info.text {
                writeln!(output, "    {}", excerpt(text, EXCERPT))?;
            }
            let places = self.supports(*edge)?;
            let shown: Vec<String> =
                places.iter().take(3).map(|(key, node)| format!("{} {node}", clean(key))).collect();
            let more = places.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            writeln!(output, "    {}", Painted(FAINT, format!("{}{more}", shown.join(", "))))?;
        }
        Ok(())
    }

    fn json(&self) -> Result<Value, Failure> {
        let object = |object: Object| -> Result<Value, Failure> {
            let (kind, id) = match object {
                Object::Entity(id) => ("entity", id.0),
                Object::Node(id) => ("node", id.0),
                Object::Hyperedge(id) => ("hyperedge", id.0),
            };
            Ok(json!({ "object": kind, "id": id, "name": self.name(object)? }))
        };
        let mut anchors = Vec::new();
        for anchor in self.anchors {
            if let Object::Entity(id) = anchor {
                anchors.push(serde_json::to_value(self.read.entity(*id)?).map_err(std::io::Error::from)?);
            }
        }
        let mut reached = Vec::new();
        for found in &self.found.reached {
            let mut value = object(found.object)?;
            value["hops"] = json!(found.hops);
            value["via"] = json!(found.via);
            reached.push(value);
        }
        let mut edges = Vec::new();
        for edge in &self.found.followed {
            let info = self.read.hyperedge(*edge)?;
            let mut members = Vec::new();
            for (role, member) in &info.members {
                let mut value = object(*member)?;
                value["role"] = json!(role);
                members.push(value);
            }
            let supports: Vec<Value> = self
                .supports(*edge)?
                .into_iter()
                .map(|(document, node)| json!({ "document": document, "node": node }))
                .collect();
            edges.push(json!({
                "id": info.id,
                "kind": info.kind,
                "label": info.label,
                "text": info.text,
                "weight": info.weight,
                "members": members,
                "supports": supports,
            }));
        }
        Ok(json!({
            "entities": anchors,
            "reached": reached,
            "hyperedges": edges,
            "cut": self.found.cut,
        }))
    }

    /// Every member of the hyperedges followed, by a name for graph languages, and the hyperedges as pairs or hubs.
    fn drawn(&self) -> Result<Drawing, Failure> {
        let mut nodes: Vec<Drawn> = Vec::new();
        let mut lines = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut name = |object: Object, shown: &Self| -> Result<String, Failure> {
            let id = match object {
                Object::Entity(id) => format!("e{id}"),
                Object::Node(id) => format!("n{id}"),
                Object::Hyperedge(id) => format!("h{id}"),
            };
            if seen.insert(object) {
                nodes.push((id.clone(), shown.name(object)?, false));
            }
            Ok(id)
        };
        for anchor in self.anchors {
            name(*anchor, self)?;
        }
        let mut hubs = Vec::new();
        for edge in &self.found.followed {
            let info = self.read.hyperedge(*edge)?;
            let label = if info.label.is_empty() { info.kind } else { info.label };
            if let [(_, from), (_, to)] = info.members.as_slice() {
                lines.push((name(*from, self)?, name(*to, self)?, label));
                continue;
            }
            let hub = format!("h{edge}");
            for (role, member) in &info.members {
                lines.push((hub.clone(), name(*member, self)?, role.clone()));
            }
            hubs.push((hub, label, true));
        }
        nodes.append(&mut hubs);
        Ok((nodes, lines))
    }

    fn dot(&self) -> Result<String, Failure> {
        let (nodes, lines) = self.drawn()?;
        let quoted = |text: &str| clean(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        let mut out = String::from("digraph evdb {\n  rankdir=LR;\n  node [shape=box];\n");
        for (id, name, is_hub) in nodes {
            let shape = if is_hub { ", shape=ellipse" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(out, "  {id} [label=\"{}\"{shape}];", quoted(&name));
        }
        for (from, to, label) in lines {
            let _ = writeln!(out, "  {from} -> {to} [label=\"{}\"];", quoted(&label));
        }
        out.push_str("}\n");
        Ok(out)
    }

    fn mermaid(&self) -> Result<String, Failure> {
        let (nodes, lines) = self.drawn()?;
        // Mermaid reads entities of HTML by number, with a hash.
        let quoted = |text: &str| {
            let mut out = String::new();
            for c in clean(text).chars() {
                match c {
                    '\n' | '\t' => out.push(' '),
                    '"' | '#' | ';' | '<' | '>' | '&' | '|' | '[' | ']' | '{' | '}' | '(' | ')' | '\\'
                    | '`' => {
                        let _ = write!(out, "#{};", u32::from(c));
                    }
                    c => out.push(c),
                }
            }
            out
        };
        let mut out = String::from("flowchart LR\n");
        for (id, name, is_hub) in nodes {
            let (open, close) = if is_hub { ("([", "])") } else { ("[", "]") };
            let _ = writeln!(out, "  {id}{open}\"{}\"{close}", quoted(&name));
        }
        for (from, to, label) in lines {
            let label = if label.is_empty() { String::new() } else { format!("|\"{}\"|", quoted(&label)) };
            let _ = writeln!(out, "  {from} -->{label} {to}");
        }
        Ok(out)
    }
}

pub fn import(args: &ImportGraphArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    if args.graph.is_empty() && !args.wiki_links {
        return Err(Failure::usage(
            "there is nothing to import",
            "name a JSONL of statements, or give --wiki-links",
        ));
    }
    let database = open::writable(&args.file, common)?;
    let mut whole = StatementReport::default();
    let mut warnings = Vec::new();
    for path in &args.graph {
        let file = File::open(path)
            .map_err(|error| Failure::from(evdb::Error::io("open", path.display(), error)))?;
        let name = path
            .file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let name = args.key.clone().unwrap_or(name);
        let done = import_statements(&database, file, &name)?;
        warnings.extend(evdb::ingest::warnings(path, &done.report));
        whole.report.unlisted_warnings += done.report.unlisted_warnings;
        whole.statements += done.statements;
        whole.own_leaves += done.own_leaves;
        whole.documents += done.documents;
        whole.counts += done.counts;
    }
    let mut linking = 0;
    if args.wiki_links {
        let (documents, counts) = link(&database)?;
        linking = documents;
        whole.counts += counts;
    }
    let made = views::make(&database, args.views, None, output)?;
    let stats = database.begin_read()?.stats()?.graph;
    if output.json {
        output.line(&json!({
            "statements": whole.statements,
            "own_leaves": whole.own_leaves,
            "documents": whole.documents,
            "linking_documents": linking,
            "new": whole.counts,
            "entities": stats.entities,
            "hyperedges": stats.hyperedges,
            "views": made,
            "warnings": warnings,
            "unlisted_warnings": whole.report.unlisted_warnings,
        }))?;
        return Ok(Exit::Done);
    }
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        output.warn(warning);
    }
    let more = warnings.len().saturating_sub(SHOWN_WARNINGS) + whole.report.unlisted_warnings;
    if more > 0 {
        output.warn(format_args!("and {} (--json lists them)", counted(more as u64, "more warning")));
    }
    let entities = "entities";
    let new = whole.counts;
    writeln!(
        output,
        "{}  {} read, {} with links; {} new {entities}, {} new; {} {entities}, {} in all",
        Painted(KEY, args.file.display()),
        counted(whole.statements as u64, "statement"),
        counted(linking, "document"),
        indicatif::HumanCount(new.new_entities),
        counted(new.new_hyperedges, "hyperedge"),
        indicatif::HumanCount(stats.entities as u64),
        counted(stats.hyperedges as u64, "hyperedge"),
    )?;
    Ok(Exit::Done)
}

/// Puts the wiki links of all documents into the graph, in one transaction; how many documents have some.
fn link(database: &evdb::Database) -> Result<(u64, GraphCounts), Failure> {
    let read = database.begin_read()?;
    let mut write = database.begin_write()?;
    let (mut documents, mut counts) = (0, GraphCounts::default());
    read.for_each_document(|info| {
        let document = read.load_document(info.id)?;
        let patch = wiki_links(&document);
        if !patch.hyperedges.is_empty() {
            documents += 1;
            counts += write.put_graph(info.id, &document, &patch)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    write.commit()?;
    Ok((documents, counts))
}
