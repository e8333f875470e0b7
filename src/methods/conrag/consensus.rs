//! Structure as the paper has it: three views, each projected to passages, and their consensus.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::Generation;
use super::parallel::in_order;
use super::run::ConRagHit;
use super::run::Support;
use super::views::object_text;
use crate::db::ReadTransaction;
use crate::db::RowsOf;
use crate::error::Error;
use crate::error::Result;
use crate::graph::Object;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;
use crate::query::Agreed;
use crate::query::EntityHit;
use crate::query::EntityQuery;
use crate::query::Parts;
use crate::query::Question;
use crate::query::QuestionVector;
use crate::query::RelationHit;
use crate::query::Step;
use crate::query::Trace;
use crate::query::Views;
use crate::query::find_entities;
use crate::query::projected;
use crate::text::SearchOptions;
use crate::text::WeightedTerm;

/// A view that was searched: its objects with scores, or why it has none.
struct View {
    found: Vec<(u32, f32)>,
    note: &'static str,
}

/// The three views.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Entities,
    Relations,
}

impl Generation {
    /// Objects taken from each view.
    fn taken(&self) -> usize {
        match self {
            Self::G1(consensus) => consensus.taken.max(consensus.anchors),
            Self::G3(consensus) => consensus.taken,
        }
    }

    fn rank(&self, views: &Views) -> Vec<Agreed> {
        match self {
            Self::G1(consensus) => consensus.rank(views),
            Self::G3(consensus) => consensus.rank(views),
        }
    }

    /// What the score of `agreed` is the sum of.
    fn parts(&self, agreed: &Agreed) -> Parts {
        match self {
            Self::G1(consensus) => {
                let text = consensus.text * agreed.text;
                let entities = consensus.entities * agreed.entities * agreed.gate;
                let relations = consensus.relations * agreed.relations;
                let agreement = agreed.score - text - entities - relations;
                vec![
                    ("text", text),
                    ("entities", entities),
                    ("relations", relations),
                    ("agreement", agreement),
                ]
            }
            Self::G3(_) => vec![("text", agreed.text), ("structure", agreed.score - agreed.text)],
        }
    }

    /// Every leaf of `scope` that a view has, best first.
    pub(super) fn find(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        scope: Option<&RoaringBitmap>,
        threads: usize,
        trace: &mut Trace,
    ) -> Result<Vec<ConRagHit>> {
        let taken = self.taken();
        let kinds = [Kind::Text, Kind::Entities, Kind::Relations];
        let found = in_order(&kinds, threads, |kind| search(read, question, *kind, scope, taken))?;
        let inside = |leaves: Vec<NodeId>| -> Vec<NodeId> {
            leaves.into_iter().filter(|leaf| scope.is_none_or(|scope| scope.contains(leaf.get()))).collect()
        };
        let graph = read.graph()?;
        let mut views = Views { leaves: read.leaf_count(), ..Views::default() };
        let mut supports: BTreeMap<NodeId, Vec<Support>> = BTreeMap::new();
        for (kind, view) in kinds.into_iter().zip(&found) {
            for (id, score) in view.found.iter().copied() {
                let object = match kind {
                    Kind::Text => {
                        views.text.push((NodeId(id), score));
                        continue;
                    }
                    Kind::Entities => Object::Entity(EntityId(id)),
                    Kind::Relations => Object::Hyperedge(HyperedgeId(id)),
                };
                let leaves = inside(projected(read, object)?);
                let text = object_text(read, object)?;
                for leaf in &leaves {
                    let support = Support { object, text: text.clone(), score };
                    supports.entry(*leaf).or_default().push(support);
                }
                if let Object::Hyperedge(edge) = object {
                    let ends = graph.members(edge).map(|member| graph.specificity(member.object)).collect();
                    views.relations.push(RelationHit { score, ends, leaves });
                } else {
                    let specificity = graph.specificity(object);
                    views.entities.push(EntityHit { score, specificity, leaves });
                }
            }
        }
        let ranked = self.rank(&views);
        let [text, entities, relations] = [0, 1, 2].map(|at| {
            found.get(at).map_or_else(String::new, |view| format!("{} {}", view.found.len(), view.note))
        });
        let saw = found.iter().map(|view| view.found.len()).sum();
        let note = format!("{text}, {entities}, {relations}");
        trace.push(Step { cut: 0, ..Step::new(self.name(), saw, ranked.len()).note(note) });
        let hit = |agreed: Agreed| ConRagHit {
            supports: supports.get(&agreed.node).cloned().unwrap_or_default(),
            agreed: Some(agreed),
            ..ConRagHit::new(agreed.node, agreed.score, self.parts(&agreed))
        };
        Ok(ranked.into_iter().map(hit).collect())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::G1(_) => "consensus g1",
            Self::G3(_) => "consensus g3",
        }
    }
}

/// The best objects of a view, best first, ties to the lower id.
fn search(
    read: &ReadTransaction,
    question: Question<'_>,
    kind: Kind,
    scope: Option<&RoaringBitmap>,
    taken: usize,
) -> Result<View> {
    let view = |found, note| Ok(View { found, note });
    match (kind, question.vector) {
        (Kind::Text, Some(given)) => view(passages(read, given, scope, taken)?, "passages by vector"),
        (Kind::Text, None) => view(passages_by_words(read, question, scope, taken)?, "passages by words"),
        (Kind::Entities, Some(given)) => match objects(read, given, RowsOf::Entities, taken)? {
            Some(found) => view(found, "entities by vector"),
            None => view(Vec::new(), "entities: the file has no vectors of them"),
        },
        (Kind::Entities, None) => {
            let found = find_entities(read, EntityQuery::Text(question.text), taken)?;
            view(found.into_iter().map(|(id, score)| (id.get(), score)).collect(), "entities by words")
        }
        (Kind::Relations, Some(given)) => match objects(read, given, RowsOf::Hyperedges, taken)? {
            Some(found) => view(found, "relations by vector"),
            None => view(Vec::new(), "relations: the file has no vectors of them"),
        },
        (Kind::Relations, None) => view(Vec::new(), "relations: the question has no vector"),
    }
}

fn passages(
    read: &ReadTransaction,
    given: QuestionVector<'_>,
    scope: Option<&RoaringBitmap>,
    taken: usize,
) -> Result<Vec<(u32, f32)>> {
    let space = read.expect_space(given.space)?;
    let flat = space.flat()?;
    let query = flat.query(given.vector)?;
    let found = flat.search(&query, scope, read.text_index().deleted(), taken, 1)?;
    Ok(found.into_iter().map(|hit| (hit.node.get(), hit.score)).collect())
}

/// Departure: the paper has vectors.
fn passages_by_words(
    read: &ReadTransaction,
    question: Question<'_>,
    scope: Option<&RoaringBitmap>,
    taken: usize,
) -> Result<Vec<(u32, f32)>> {
    let terms = read.analyzers().distinct_terms(question.text);
    let terms: Vec<WeightedTerm<'_>> = terms.iter().map(|term| WeightedTerm::new(term)).collect();
    let options = SearchOptions { filter: scope, limit: taken, ..SearchOptions::default() };
    let found = read.text_index().search_any(&terms, &options)?;
    Ok(found.into_iter().map(|hit| (hit.node.get(), hit.score)).collect())
}

/// The best entities or hyperedges; `None` if the file has no vectors of them.
fn objects(
    read: &ReadTransaction,
    given: QuestionVector<'_>,
    rows: RowsOf,
    taken: usize,
) -> Result<Option<Vec<(u32, f32)>>> {
    let Some(space) = read.object_space(given.space, rows) else { return Ok(None) };
    let made_by = read.space(given.space).map(|leaves| leaves.record().fingerprint.clone());
    if let Some(made_by) = made_by.filter(|made_by| *made_by != space.record().fingerprint) {
        return Err(Error::invalid(format!(
            "vectors of leaves in space {:?} are by {made_by:?}, those of its {rows:?} by {:?}",
            given.space,
            space.record().fingerprint
        )));
    }
    read.nearest_objects(given.space, rows, given.vector, taken).map(Some)
}
