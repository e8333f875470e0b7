//! The paper's three views: passages, entities and relations, as texts, as vectors, and as searches.
//!
//! | view | space in the file | a row is of | its text |
//! |---|---|---|---|
//! | passages | the space of leaves, such as `static` | a leaf | what the embedder of the space was given: title or heading path, then the text |
//! | entities | `static#entities` | an entity | [`for_each_entity_text`] |
//! | relations | `static#hyperedges` | a hyperedge | [`for_each_relation_text`] |
//!
//! Departure: the paper embeds a passage as `title: text`. Here a file's leaves have one vector for all methods, of
//! heading path and text.

use std::collections::BTreeMap;

use crate::db::Database;
use crate::db::EntityInfo;
use crate::db::HyperedgeInfo;
use crate::db::ReadTransaction;
use crate::db::RowsOf;
use crate::error::Error;
use crate::error::Result;
use crate::graph::Graph;
use crate::graph::Object;
use crate::graph::paths::SENTENCE;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::model::Embedder;
use crate::vector::Metric;

/// Neighbours that the text of an entity names, at most.
pub const MAX_NEIGHBOURS: usize = 4;

/// Texts embedded at once.
const BATCH: usize = 256;

/// Which hyperedges are relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelationTexts {
    /// All that are no sentences.
    #[default]
    Statements,
    /// The sentences that rules read names off, for a file without statements. Departure: the paper has none.
    Sentences,
}

/// Names and kinds of what hyperedges have as members.
struct Labels<'a> {
    read: &'a ReadTransaction,
    entities: BTreeMap<EntityId, String>,
}

impl<'a> Labels<'a> {
    fn all(read: &'a ReadTransaction) -> Result<Self> {
        let mut entities = BTreeMap::new();
        read.for_each_entity(|entity| {
            entities.insert(entity.id, label(&entity));
            Ok(())
        })?;
        Ok(Self { read, entities })
    }

    /// Of those that `edge` has.
    fn of(read: &'a ReadTransaction, edge: &HyperedgeInfo) -> Result<Self> {
        let mut entities = BTreeMap::new();
        for (_, member) in &edge.members {
            if let Object::Entity(id) = member {
                entities.insert(*id, label(&read.entity(*id)?));
            }
        }
        Ok(Self { read, entities })
    }

    /// `name::type`; of a node its title, and `node`.
    fn get(&self, object: Object) -> Result<String> {
        match object {
            Object::Entity(id) => Ok(self.entities.get(&id).cloned().unwrap_or_default()),
            Object::Node(node) => Ok(format!("{}::node", title(self.read, node)?)),
            Object::Hyperedge(id) => Ok(format!("{}::hyperedge", self.read.hyperedge(id)?.label)),
        }
    }
}

fn label(entity: &EntityInfo) -> String {
    format!("{}::{}", entity.name, entity.kind)
}

/// The title of `node`, or else of its document.
fn title(read: &ReadTransaction, node: NodeId) -> Result<String> {
    let document = read.document_of(node)?;
    let tree = read.tree(document.id)?;
    let own = tree.node(node)?.title();
    Ok(if own.is_empty() { document.title } else { own.to_owned() })
}

/// Hands the text of every entity above `after` to `visit`, by id: `name::type`; then `Attributes:` and a line
/// `key::value; value` for each, ascending; then `Relations:` and up to four lines `neighbour::type [in|out] label`, the
/// heaviest hyperedge first. A heading without lines is left out.
///
/// The first member of a hyperedge is its source, the others are its targets; sentences are no relations.
///
/// # Errors
///
/// `Corrupt`, `Io`, whatever `visit` returns.
///
/// # Source
///
/// ConRAG (arXiv 2605.28093), first release. Departure: of a hyperedge of more than two members, each target is a
/// neighbour of the source.
pub fn for_each_entity_text(
    read: &ReadTransaction,
    after: u32,
    mut visit: impl FnMut(EntityId, String) -> Result<()>,
) -> Result<()> {
    let graph = read.graph()?;
    let labels = Labels::all(read)?;
    read.for_each_entity(|entity| {
        if entity.id.get() <= after {
            return Ok(());
        }
        let mut text = label(&entity);
        if !entity.attributes.is_empty() {
            text.push_str("\nAttributes:");
        }
        for (key, values) in &entity.attributes {
            text.push_str(&["\n", key, "::", &values.join("; ")].concat());
        }
        let neighbours = neighbours(read, &graph, &labels, entity.id)?;
        if !neighbours.is_empty() {
            text.push_str("\nRelations:");
        }
        for line in neighbours {
            text.push('\n');
            text.push_str(&line);
        }
        visit(entity.id, text)
    })
}

fn neighbours(
    read: &ReadTransaction,
    graph: &Graph,
    labels: &Labels<'_>,
    entity: EntityId,
) -> Result<Vec<String>> {
    let own = Object::Entity(entity);
    let mut lines = Vec::new();
    for edge in graph.incident(own).filter(|edge| graph.kind(*edge) != Some(SENTENCE)) {
        let mut members = graph.members(edge).map(|member| member.object);
        let Some(source) = members.next() else { continue };
        let (others, way): (Vec<Object>, &str) = if source == own {
            (members.filter(|member| *member != own).collect(), "out")
        } else {
            (vec![source], "in")
        };
        let info = read.hyperedge(edge)?;
        for other in others {
            lines.push(format!("{} [{way}] {}", labels.get(other)?, name_of(&info)));
            if lines.len() == MAX_NEIGHBOURS {
                return Ok(lines);
            }
        }
    }
    Ok(lines)
}

/// What a relation is called.
fn name_of(edge: &HyperedgeInfo) -> &str {
    if edge.label.is_empty() { &edge.kind } else { &edge.label }
}

/// Hands the text of every relation above `after` to `visit`, by id: `source::type [label] target::type`, with `; `
/// between more targets than one; of sentences, the title of the document and the sentence, `title: sentence`.
///
/// # Errors
///
/// `Corrupt`, `Io`, whatever `visit` returns.
///
/// # Source
///
/// ConRAG, first release. Departure: hyperedges of more than two members; the kind stands in for a label that is empty.
pub fn for_each_relation_text(
    read: &ReadTransaction,
    which: RelationTexts,
    after: u32,
    mut visit: impl FnMut(HyperedgeId, String) -> Result<()>,
) -> Result<()> {
    let graph = read.graph()?;
    let labels = Labels::all(read)?;
    for edge in graph.hyperedges().filter(|edge| edge.get() > after) {
        let is_sentence = graph.kind(edge) == Some(SENTENCE);
        if is_sentence == (which == RelationTexts::Sentences) {
            visit(edge, relation_text(&labels, &read.hyperedge(edge)?)?)?;
        }
    }
    Ok(())
}

fn relation_text(labels: &Labels<'_>, edge: &HyperedgeInfo) -> Result<String> {
    if edge.kind == SENTENCE
        && let (Some((node, _)), Some(text)) = (edge.place, &edge.text)
    {
        return Ok(format!("{}: {text}", labels.read.document_of(node)?.title));
    }
    let mut members = edge.members.iter().map(|(_, member)| labels.get(*member));
    let source = members.next().transpose()?.unwrap_or_default();
    let targets: Vec<String> = members.collect::<Result<_>>()?;
    Ok(format!("{source} [{}] {}", name_of(edge), targets.join("; ")).trim_end().to_owned())
}

/// What an object of a view is called.
pub(super) fn object_text(read: &ReadTransaction, object: Object) -> Result<String> {
    match object {
        Object::Entity(id) => Ok(label(&read.entity(id)?)),
        Object::Hyperedge(id) => {
            let edge = read.hyperedge(id)?;
            relation_text(&Labels::of(read, &edge)?, &edge)
        }
        Object::Node(node) => title(read, node),
    }
}

/// Refuses a space that has vectors of live relations other than `which`: nearest to a question would be now a statement, now a
/// sentence.
fn refuse_others(read: &ReadTransaction, space: &str, which: RelationTexts) -> Result<()> {
    let Some(there) = read.object_space(space, RowsOf::Hyperedges) else { return Ok(()) };
    let graph = read.graph()?;
    let other =
        |edge: &HyperedgeId| (graph.kind(*edge) == Some(SENTENCE)) != (which == RelationTexts::Sentences);
    let others: Vec<NodeId> = graph.hyperedges().filter(other).map(|edge| NodeId(edge.get())).collect();
    if !there.flat()?.has_rows(&others)?.contains(&true) {
        return Ok(());
    }
    let (has, asked) = match which {
        RelationTexts::Statements => ("sentences", "statements"),
        RelationTexts::Sentences => ("statements", "sentences"),
    };
    Err(Error::invalid(format!(
        "space {space:?} has vectors of {has} as its relations, and {asked} are asked for; ask for {has}, or build a file anew"
    )))
}

/// How many vectors [`embed_views`] made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ViewCounts {
    /// Of entities.
    pub entities: usize,
    /// Of relations.
    pub relations: usize,
}

/// Embeds the texts of all entities and relations that have no vectors yet, in one transaction, in the spaces of entities
/// and of hyperedges called `space`: that of the leaves' vectors by the same embedder.
///
/// A vector stays as it is: an entity that gets attributes or relations later keeps that of its first text. Texts are held
/// in memory a few hundred at a time, names of entities all.
///
/// # Errors
///
/// `InvalidInput` if a space of that name is of another embedder, or has vectors of what `which` leaves out; whatever `embedder` reports; `Corrupt`; `Io`.
pub fn embed_views(
    database: &Database,
    space: &str,
    embedder: &dyn Embedder,
    which: RelationTexts,
) -> Result<ViewCounts> {
    let read = database.begin_read()?;
    let after = |rows: RowsOf| {
        let space = read.object_space(space, rows)?;
        space.record().last_nodes.last().copied()
    };
    refuse_others(&read, space, which)?;
    let mut write = database.begin_write()?;
    let mut counts = ViewCounts::default();
    for rows in [RowsOf::Entities, RowsOf::Hyperedges] {
        let mut batch: Vec<(u32, String)> = Vec::new();
        let mut id = None;
        let mut done = 0;
        let mut put = |batch: &mut Vec<(u32, String)>| -> Result<()> {
            if batch.is_empty() {
                return Ok(());
            }
            let (dimensions, made_by) = (embedder.dimensions(), embedder.fingerprint());
            let id = match id {
                Some(id) => id,
                None => {
                    *id.insert(write.open_object_space(space, rows, dimensions, Metric::Cosine, made_by)?)
                }
            };
            let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let mut vectors = vec![0.0; texts.len() * dimensions];
            embedder.embed(&texts, &mut vectors)?;
            let rows: Vec<(u32, &[f32])> =
                batch.iter().map(|(id, _)| *id).zip(vectors.chunks_exact(dimensions)).collect();
            write.put_object_vectors(id, &rows)?;
            done += rows.len();
            batch.clear();
            Ok(())
        };
        let mut add = |id: u32, text: String| {
            batch.push((id, text));
            if batch.len() == BATCH { put(&mut batch) } else { Ok(()) }
        };
        let after = after(rows).unwrap_or_default();
        match rows {
            RowsOf::Entities => for_each_entity_text(&read, after, |id, text| add(id.get(), text))?,
            RowsOf::Hyperedges => {
                for_each_relation_text(&read, which, after, |id, text| add(id.get(), text))?;
            }
        }
        put(&mut batch)?;
        match rows {
            RowsOf::Entities => counts.entities = done,
            RowsOf::Hyperedges => counts.relations = done,
        }
    }
    write.commit()?;
    Ok(counts)
}
