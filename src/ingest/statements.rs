//! Statements in JSONL: triples, n-ary relations and entities, one a line, from any extractor.
//!
//! | field | meaning |
//! |---|---|
//! | `subject`, `relation` (or `predicate`), `object` | a triple: a hyperedge of that label with the roles `subject` and `object`; `subject_kind`, `object_kind` are the entities' kinds. A line may also be a list of the three |
//! | `members` | an n-ary relation: a list of names, or of objects with `entity` (or `name`), `kind`, `role`; `relation`, `predicate` or `label` is its label |
//! | `kind` | of a relation: what sort; of an entity: what it is |
//! | `text` | of a relation: the text that stands for it |
//! | `weight` | of a relation, from 0; 1 if missing |
//! | `entity` (or `name`) | an entity, with `aliases`, a list, and `attributes`, an object of values or lists of values |
//! | `doc` | key of the document that says so |
//! | `leaf` | there, the attribute `id` of a leaf, as passages bring it, or a list of such; without it the document as a whole says so |
//! | others | nothing |
//!
//! A statement of a document that is not in the file, or of none, gets a leaf of its own in a document of statements,
//! so that everything is supported by a text.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use serde_json::Map;
use serde_json::Value;

use crate::db::Database;
use crate::error::Error;
use crate::error::Result;
use crate::graph::EdgeText;
use crate::graph::EntityDraft;
use crate::graph::GraphCounts;
use crate::graph::GraphPatch;
use crate::graph::HyperedgeDraft;
use crate::graph::MAX_NAME_BYTES;
use crate::graph::MAX_TEXT_BYTES;
use crate::graph::Target;
use crate::graph::normalise;
use crate::ids::DocumentId;
use crate::ids::Span;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::NodeKind;

use super::detect::is_gzip;
use super::options::Report;
use super::outline::clip;
use super::outline::collapse;

/// Longest line in bytes.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Attribute of a document of statements, so that none other is replaced by one.
const MADE_OF: (&str, &str) = ("made_of", "statements");

/// One line: what it states, and where that is said.
struct Statement {
    line: u64,
    what: What,
    document: Option<String>,
    leaves: Vec<String>,
    /// The statement as a sentence.
    sentence: String,
}

enum What {
    Entity(EntityDraft),
    Relation(HyperedgeDraft),
}

/// What an import of statements did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementReport {
    /// Lines that state something.
    pub statements: usize,
    /// Of these, ones that got a leaf of their own.
    pub own_leaves: usize,
    /// Documents that support them.
    pub documents: usize,
    /// What came into the graph.
    pub counts: GraphCounts,
    /// Lines that were odd, and what was done about it.
    pub report: Report,
}

/// Reads statements, plain or gzipped, and puts them into the graph of `database`, in one transaction. Reading the same
/// again changes nothing.
///
/// * `name`: of the source, in messages; key and title of the document of statements without a document.
///
/// A line that states nothing is left out with a warning; so is a part of one that cannot be used, such as a weight
/// that is no number. Statements are held in memory.
///
/// # Errors
///
/// `AlreadyExists` if there is a document `name` that is not made of statements; `Io` if reading or unpacking fails;
/// `Corrupt`.
pub fn import_statements(database: &Database, input: impl Read, name: &str) -> Result<StatementReport> {
    let mut done = StatementReport::default();
    let statements = read(input, name, &mut done.report)?;
    done.statements = statements.len();
    let snapshot = database.begin_read()?;
    let mut by_document: BTreeMap<DocumentId, Vec<Statement>> = BTreeMap::new();
    let mut known: BTreeMap<String, Option<DocumentId>> = BTreeMap::new();
    let mut own = Vec::new();
    for statement in statements {
        let Some(key) = &statement.document else {
            own.push(statement);
            continue;
        };
        let id = if let Some(id) = known.get(key) {
            *id
        } else {
            let id = snapshot.document_by_key(key)?.map(|info| info.id);
            if id.is_none() {
                let message = format!("there is no document {key:?}; its statements get leaves of their own");
                done.report.warn(statement.line, message);
            }
            known.insert(key.clone(), id);
            id
        };
        match id {
            Some(id) => by_document.entry(id).or_default().push(statement),
            None => own.push(statement),
        }
    }
    let mut write = database.begin_write()?;
    for (id, statements) in by_document {
        let document = snapshot.load_document(id)?;
        let leaves: BTreeMap<&str, u32> = (0..)
            .zip(&document.nodes)
            .filter_map(|(index, node)| Some((node.attributes.get("id")?.as_str(), index)))
            .collect();
        let mut patch = GraphPatch::default();
        for statement in statements {
            let mut support = Vec::new();
            for leaf in &statement.leaves {
                if let Some(index) = leaves.get(leaf.as_str()) {
                    support.push(*index);
                } else {
                    let key = &document.key;
                    let message =
                        format!("document {key:?} has no leaf {leaf:?}; the document stands for it");
                    done.report.warn(statement.line, message);
                }
            }
            statement.what.add_to(&mut patch, &support);
        }
        done.counts += write.put_graph(id, &document, &patch)?;
        done.documents += 1;
    }
    if !own.is_empty() {
        if let Some(there) = snapshot.document_by_key(name)?
            && there.attributes.get(MADE_OF.0).is_none_or(|value| value != MADE_OF.1)
        {
            return Err(Error::new(
                crate::error::ErrorKind::AlreadyExists,
                format!("there is a document {name:?} that is not made of statements; give them another key"),
            ));
        }
        done.own_leaves = own.len();
        done.documents += 1;
        let (document, patch) = document_of(own, name);
        let id = write.upsert_document(&document)?.document();
        done.counts += write.put_graph(id, &document, &patch)?;
    }
    drop(snapshot);
    write.commit()?;
    Ok(done)
}

impl What {
    fn add_to(self, patch: &mut GraphPatch, support: &[u32]) {
        match self {
            Self::Entity(mut entity) => {
                entity.mentions = support.iter().map(|index| (*index, 1.0)).collect();
                patch.entities.push(entity);
            }
            Self::Relation(mut edge) => {
                edge.support = support.to_vec();
                patch.hyperedges.push(edge);
            }
        }
    }
}

/// A document with a leaf for each statement, and its graph.
fn document_of(statements: Vec<Statement>, name: &str) -> (Document, GraphPatch) {
    let mut document = Document::new(name, name);
    document.attributes.insert(MADE_OF.0.to_owned(), MADE_OF.1.to_owned());
    let mut patch = GraphPatch::default();
    let at = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    for statement in statements {
        let start = at(document.text.len());
        document.text.push_str(&statement.sentence);
        let span = Span::new(start, at(document.text.len()));
        document.text.push('\n');
        let index = at(document.nodes.len());
        document.nodes.push(Node { span, ..Node::new(Some(0), NodeKind::Text) });
        statement.what.add_to(&mut patch, &[index]);
    }
    (document, patch)
}

fn read(input: impl Read, name: &str, report: &mut Report) -> Result<Vec<Statement>> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let head = input.fill_buf().map_err(|error| Error::io("read", name, error))?;
    if is_gzip(head) {
        return lines(&mut BufReader::new(MultiGzDecoder::new(input)), name, report);
    }
    lines(&mut input, name, report)
}

fn lines(input: &mut dyn BufRead, name: &str, report: &mut Report) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    let mut bytes = Vec::new();
    for line in 1_u64.. {
        bytes.clear();
        let io = |error| Error::io("read", format_args!("{name}, line {line}"), error);
        let length = (&mut *input).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes).map_err(io)?;
        if length == 0 {
            break;
        }
        if length as u64 == MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
            report.warn(line, format!("it has over {MAX_LINE_BYTES} bytes; left out"));
            while bytes.last().is_some_and(|byte| *byte != b'\n') {
                bytes.clear();
                (&mut *input).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes).map_err(io)?;
            }
            continue;
        }
        let mark: &[u8] = if line == 1 { b"\xef\xbb\xbf" } else { b"" };
        let own = bytes.strip_prefix(mark).unwrap_or(&bytes).trim_ascii();
        if own.is_empty() {
            continue;
        }
        let mut odd = Vec::new();
        match Statement::read(own, line, &mut odd) {
            Ok(statement) => statements.push(statement),
            Err(why) => odd.push(format!("{why}; left out")),
        }
        for message in odd {
            report.warn(line, message);
        }
        report.passages += 1;
    }
    Ok(statements)
}

impl Statement {
    /// What a line states, or why it states nothing; what is odd about it into `odd`.
    fn read(bytes: &[u8], line: u64, odd: &mut Vec<String>) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| format!("column {}: a byte that is not UTF-8", error.valid_up_to() + 1))?;
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            format!("column {}: not JSON: {message}", error.column())
        })?;
        let mut fields = match value {
            Value::Object(fields) => fields,
            Value::Array(list) => {
                let [subject, relation, object]: [Value; 3] =
                    list.try_into().map_err(|list: Vec<Value>| {
                        format!("a list of {}, not of subject, relation, object", list.len())
                    })?;
                let named = [("subject", subject), ("relation", relation), ("object", object)];
                named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }
            other => return Err(format!("{other} is no object and no list of three")),
        };
        let document = scalar(fields.remove("doc"));
        let leaves = match fields.remove("leaf") {
            Some(Value::Array(list)) => list.into_iter().filter_map(|leaf| scalar(Some(leaf))).collect(),
            other => scalar(other).into_iter().collect(),
        };
        let kind = scalar(fields.remove("kind")).unwrap_or_default();
        let own_text = scalar(fields.remove("text"));
        let label = ["relation", "predicate", "label"].map(|name| scalar(fields.remove(name)));
        let label = label.into_iter().flatten().next().unwrap_or_default();
        checked("kind", &kind, MAX_NAME_BYTES)?;
        checked("relation", &label, MAX_TEXT_BYTES)?;
        let members = if let Some(list) = fields.remove("members") {
            members(list, odd)?
        } else if let Some(subject) = scalar(fields.remove("subject")) {
            let object = scalar(fields.remove("object")).ok_or("a subject without an object")?;
            let mut kind = |name| scalar(fields.remove(name)).unwrap_or_default();
            vec![
                ("subject".to_owned(), subject, kind("subject_kind")),
                ("object".to_owned(), object, kind("object_kind")),
            ]
        } else {
            let name =
                ["entity", "name"].map(|name| scalar(fields.remove(name))).into_iter().flatten().next();
            let name = name.ok_or("no subject, no members and no entity")?;
            let entity = entity(name, kind, &mut fields, odd)?;
            let sentence = entity_sentence(&entity);
            return Ok(Self { line, what: What::Entity(entity), document, leaves, sentence });
        };
        let mut edge = HyperedgeDraft::new(kind, label);
        edge.weight = weight(fields.remove("weight"), odd);
        for (role, name, kind) in members {
            for (what, text) in [("role", &role), ("name", &name), ("kind", &kind)] {
                checked(what, text, MAX_NAME_BYTES)?;
            }
            if normalise(&name).is_empty() {
                return Err("a member has no name".to_owned());
            }
            edge = edge.member(role, Target::Entity(name, kind));
        }
        let sentence = own_text.as_deref().map_or_else(|| relation_sentence(&edge), collapse);
        if let Some(text) = own_text {
            checked("text", &text, MAX_TEXT_BYTES)?;
            edge.text = EdgeText::Own(text);
        }
        Ok(Self { line, what: What::Relation(edge), document, leaves, sentence })
    }
}

/// Role, name and kind of each member.
fn members(list: Value, odd: &mut Vec<String>) -> Result<Vec<(String, String, String)>, String> {
    let Value::Array(list) = list else { return Err("its members are no list".to_owned()) };
    let mut members = Vec::with_capacity(list.len());
    for (at, member) in list.into_iter().enumerate() {
        let named = match member {
            Value::Object(mut own) => {
                let mut take = |name: &str| scalar(own.remove(name));
                let name = take("entity").or_else(|| take("name"));
                name.map(|name| (take("role").unwrap_or_default(), name, take("kind").unwrap_or_default()))
            }
            other => scalar(Some(other)).map(|name| (String::new(), name, String::new())),
        };
        match named {
            Some(named) => members.push(named),
            None => odd.push(format!("member {} has no name; left out", at + 1)),
        }
    }
    if members.is_empty() { Err("it has no member".to_owned()) } else { Ok(members) }
}

fn entity(
    name: String,
    kind: String,
    fields: &mut Map<String, Value>,
    odd: &mut Vec<String>,
) -> Result<EntityDraft, String> {
    checked("name", &name, MAX_NAME_BYTES)?;
    if normalise(&name).is_empty() {
        return Err("the entity has no name".to_owned());
    }
    let mut draft = EntityDraft::new(name, kind);
    let mut keep = |what: &str, text: &str, limit: usize| match checked(what, text, limit) {
        Ok(()) => true,
        Err(why) => {
            odd.push(format!("{why}; left out"));
            false
        }
    };
    for alias in list(fields.remove("aliases")) {
        if keep("alias", &alias, MAX_NAME_BYTES) {
            draft.aliases.push(alias);
        }
    }
    if let Some(Value::Object(attributes)) = fields.remove("attributes") {
        for (key, values) in attributes {
            let mut values = list(Some(values));
            values.retain(|value| keep("value", value, MAX_TEXT_BYTES));
            if keep("key", &key, MAX_TEXT_BYTES) && !values.is_empty() {
                draft.attributes.insert(key, values);
            }
        }
    }
    Ok(draft)
}

/// The strings, numbers and truth values of a list, or of a list of one.
fn list(value: Option<Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => list.into_iter().filter_map(|value| scalar(Some(value))).collect(),
        other => scalar(other).into_iter().collect(),
    }
}

fn weight(value: Option<Value>, odd: &mut Vec<String>) -> f32 {
    let Some(value) = value.filter(|value| !value.is_null()) else { return 1.0 };
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    #[expect(clippy::cast_possible_truncation, reason = "a weight is an f32")]
    let number = number.map(|number| number as f32).filter(|number| *number >= 0.0 && number.is_finite());
    number.unwrap_or_else(|| {
        odd.push(format!("the weight {value} is no number from 0; it counts 1"));
        1.0
    })
}

fn checked(what: &str, text: &str, limit: usize) -> Result<(), String> {
    // Normalising can make a text longer; one that becomes too long is as bad as one that is.
    if text.len() <= limit && (text.is_ascii() || normalise(text).len() <= limit) {
        return Ok(());
    }
    Err(format!("the {what} {:?}... has {} bytes, over {limit}", clip(text, 40), text.len()))
}

fn scalar(value: Option<Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn entity_sentence(entity: &EntityDraft) -> String {
    let mut parts = vec![entity.name.clone()];
    if !entity.kind.is_empty() {
        parts.push(format!(" ({})", entity.kind));
    }
    if !entity.aliases.is_empty() {
        parts.push(format!(", also {}", entity.aliases.join(", ")));
    }
    parts.extend(entity.attributes.iter().map(|(key, values)| format!("; {key}: {}", values.join(", "))));
    collapse(&parts.concat())
}

fn relation_sentence(edge: &HyperedgeDraft) -> String {
    let mut names = edge.members.iter().map(|member| match &member.target {
        Target::Entity(name, _) => name.as_str(),
        Target::Node(_) | Target::Place(_) => "",
    });
    let first = names.next().unwrap_or_default();
    let rest: Vec<&str> = names.collect();
    let label = if edge.label.is_empty() { &edge.kind } else { &edge.label };
    collapse(&[first, label, &rest.join(", ")].join(" "))
}

#[cfg(test)]
#[path = "statements_tests.rs"]
mod tests;
