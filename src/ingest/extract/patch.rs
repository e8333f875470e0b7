//! What was read off a document, as a graph.

use std::collections::BTreeMap;

use super::Extraction;
use super::LeafNames;
use super::NAME;
use super::SentenceNames;
use crate::graph::EdgeText;
use crate::graph::EntityDraft;
use crate::graph::GraphPatch;
use crate::graph::HyperedgeDraft;
use crate::graph::MAX_NAME_BYTES;
use crate::graph::RELATION;
use crate::graph::Target;
use crate::graph::normalise;
use crate::graph::paths::MENTION_ROLE;
use crate::graph::paths::SENTENCE;
use crate::graph::paths::TITLE_ROLE;
use crate::tree::Document;

/// Mentions of each name and kind, by leaf.
type Mentions = BTreeMap<(String, String), BTreeMap<u32, f32>>;

impl Extraction {
    /// What to hand to [`put_graph`](crate::WriteTransaction::put_graph) with `document`, which was read:
    ///
    /// * each name as an entity, mentioned by its leaf as often as it stands there;
    /// * each sentence as a hyperedge of kind `sentence`: its text a span; members the names in it, in the role
    ///   `mention`, and the titles of its leaf, in the role `title`; supported by its leaf;
    /// * each relation as a hyperedge of kind `relation`: its label, members in the roles `subject` and `object`.
    ///
    /// A sentence without names in a leaf without titles is left out, as are names above 1,000 bytes.
    #[must_use]
    pub fn patch(&self, document: &Document) -> GraphPatch {
        let mut patch = GraphPatch::default();
        let mut mentions = Mentions::new();
        for leaf in &self.leaves {
            for sentence in &leaf.sentences {
                let text = document.text.get(sentence.span.as_range()).unwrap_or_default();
                add_sentence(leaf, sentence, text, &mut patch, &mut mentions);
                add_relations(leaf, sentence, text, &mut patch);
            }
        }
        patch.entities = mentions
            .into_iter()
            .map(|((name, kind), leaves)| EntityDraft {
                mentions: leaves.into_iter().collect(),
                ..EntityDraft::new(name, kind)
            })
            .collect();
        patch
    }
}

/// `name` as an entity has it, if it may have it.
fn storable(name: &str) -> Option<String> {
    Some(normalise(name)).filter(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES)
}

fn add_sentence(
    leaf: &LeafNames,
    sentence: &SentenceNames,
    text: &str,
    patch: &mut GraphPatch,
    mentions: &mut Mentions,
) {
    let mut edge = HyperedgeDraft::new(SENTENCE, "").supported_by(leaf.node);
    edge.text = EdgeText::Span { node: leaf.node, start: sentence.span.start, end: sentence.span.end };
    let mut members: Vec<(&str, Target)> = Vec::new();
    for name in &sentence.names {
        let Some(entity) = text.get(name.range.clone()).and_then(storable) else { continue };
        *mentions.entry((entity.clone(), name.kind.clone())).or_default().entry(leaf.node).or_default() +=
            1.0;
        members.push((MENTION_ROLE, Target::entity(entity, name.kind.as_str())));
    }
    let titles = leaf.titles.iter().filter_map(|title| storable(title));
    members.extend(titles.map(|title| (TITLE_ROLE, Target::entity(title, NAME))));
    for (at, (role, target)) in members.iter().enumerate() {
        if !members.iter().take(at).any(|before| before == &(*role, target.clone())) {
            edge = edge.member(*role, target.clone());
        }
    }
    if !edge.members.is_empty() {
        patch.hyperedges.push(edge);
    }
}

fn add_relations(leaf: &LeafNames, sentence: &SentenceNames, text: &str, patch: &mut GraphPatch) {
    let entity = |range: &std::ops::Range<usize>| {
        let kind = sentence.names.iter().find(|name| name.range == *range).map_or(NAME, |name| &name.kind);
        let name = text.get(range.clone()).and_then(storable)?;
        Some(Target::entity(name, kind))
    };
    for relation in &sentence.relations {
        let (Some(subject), Some(object)) = (entity(&relation.subject), entity(&relation.object)) else {
            continue;
        };
        let edge = HyperedgeDraft::new(RELATION, relation.label.as_str()).supported_by(leaf.node);
        patch.hyperedges.push(edge.member("subject", subject).member("object", object));
    }
}
