//! Consensus: text, entities and relations agree on leaves.

use std::collections::BTreeMap;

use crate::graph::Specificity;
use crate::ids::NodeId;
use crate::query::scores::Pooling;
use crate::query::scores::ScoreMap;

/// What three searches found, each best first, with what their objects rest on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Views {
    /// Leaves and their similarities.
    pub text: Vec<(NodeId, f32)>,
    /// Entities.
    pub entities: Vec<EntityHit>,
    /// Relations.
    pub relations: Vec<RelationHit>,
    /// Leaves of the file.
    pub leaves: u32,
}

/// An entity that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityHit {
    /// Its similarity.
    pub score: f32,
    /// How common it is.
    pub specificity: Specificity,
    /// Leaves that mention it.
    pub leaves: Vec<NodeId>,
}

/// A relation that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationHit {
    /// Its similarity.
    pub score: f32,
    /// How common its ends are.
    pub ends: Vec<Specificity>,
    /// Leaves that support it.
    pub leaves: Vec<NodeId>,
}

/// A leaf with the parts of its score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Agreed {
    /// The leaf.
    pub node: NodeId,
    /// What ranks it.
    pub score: f32,
    /// Of the text view, in `[0, 1]`.
    pub text: f32,
    /// Of the entity view, in `[0, 1]`.
    pub entities: f32,
    /// Of the relation view, in `[0, 1]`.
    pub relations: f32,
    /// What common entities leave of the entity view, in `[0, 1]`; 1 in [`ConsensusG3`].
    pub gate: f32,
}

/// Consensus as ConRAG's first release computes it.
///
/// # Source
///
/// ConRAG (arXiv 2605.28093), first public release (28 May 2026): all constants are its own.
/// Departure: ties go to the lower node; the release leaves them to the order of a set.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ConsensusG1 {
    /// Leaves and relations taken from their views.
    pub taken: usize,
    /// Entities taken.
    pub anchors: usize,
    /// Weight of relations.
    pub relations: f32,
    /// Weight of entities.
    pub entities: f32,
    /// Weight of text.
    pub text: f32,
    /// What a leaf's relations beyond the best add.
    pub residual: f32,
    /// The least that a common entity leaves of the entity view.
    pub least_gate: f32,
    /// What a leaf that all views have gains.
    pub agreement: f32,
}

impl Default for ConsensusG1 {
    fn default() -> Self {
        Self {
            taken: 16,
            anchors: 4,
            relations: 0.2,
            entities: 0.2,
            text: 0.6,
            residual: 0.02,
            least_gate: 0.8,
            agreement: 0.05,
        }
    }
}

impl ConsensusG1 {
    /// Every leaf that a view has, best first.
    #[must_use]
    pub fn rank(&self, views: &Views) -> Vec<Agreed> {
        let text: ScoreMap<NodeId> = views.text.iter().copied().take(self.taken).collect();
        let relations = views.relations.iter().take(self.taken);
        let on_leaves = relations.clone().flat_map(|hit| hit.leaves.iter().map(|leaf| (*leaf, hit.score)));
        let relation = ScoreMap::pooled(on_leaves, Pooling::MaxPlus(self.residual));
        let anchors = views.entities.iter().take(self.anchors);
        let terms = anchors.clone().flat_map(|hit| {
            let term = hit.score * hit.specificity.penalty() * std::f32::consts::LN_2;
            hit.leaves.iter().filter(move |_| term > 0.0).map(move |leaf| (*leaf, term))
        });
        let entity = ScoreMap::pooled(terms, Pooling::Sum);
        let mut gates: BTreeMap<NodeId, f32> = BTreeMap::new();
        let mut lower = |leaf: NodeId, penalty: f32| {
            let gate = gates.entry(leaf).or_insert(1.0);
            *gate = gate.min(penalty);
        };
        for hit in relations {
            let least = hit.ends.iter().map(|end| end.penalty()).fold(1.0, f32::min);
            hit.leaves.iter().for_each(|leaf| lower(*leaf, least));
        }
        for hit in anchors {
            hit.leaves.iter().for_each(|leaf| lower(*leaf, hit.specificity.penalty()));
        }
        let (text, entity, relation) = (text.min_max(), entity.min_max(), relation.min_max());
        agree(&text, &entity, &relation, |node, [t, e, r]| {
            let gate = gates.get(&node).map_or(1.0, |gate| gate.max(self.least_gate).clamp(0.0, 1.0));
            let base = self.relations * r + self.entities * e * gate + self.text * t;
            let views: f32 = [t, e, r].into_iter().map(|part| if part > 0.0 { 1.0 } else { 0.0 }).sum();
            (base * (1.0 + self.agreement * (views - 1.0).max(0.0) / 2.0), gate)
        })
    }
}

/// How structure adds to text in [`ConsensusG3`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bonus {
    /// `A / (1 + A)`.
    Ratio,
    /// `A - A^2 / 2`.
    Quad,
}

/// How a leaf's entities score in [`ConsensusG3`]. `U` is the support, `V` the support times specificity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityScore {
    /// `V`.
    SupportXSpec,
    /// Min-max of `U`, times `V / U`.
    NormSupportXSpec,
}

/// How a leaf's relations are pooled in [`ConsensusG3`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationPool {
    /// The best, and this much of the others.
    MaxResidual(f32),
    /// `1 - product of (1 - max(0, s))`.
    NoisyOr,
    /// The best.
    Max,
}

/// Consensus without weights of views, as ConRAG's later text describes it.
///
/// # Source
///
/// ConRAG (arXiv 2605.28093), later text ("evidence flow").
/// Departure: its equations are not printed where they could be read; each is inferred from what is said of it, and
/// the readings are parameters.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ConsensusG3 {
    /// Objects taken from each view.
    pub taken: usize,
    /// How structure adds to text.
    pub bonus: Bonus,
    /// How a leaf's entities score.
    pub entity_score: EntityScore,
    /// How a leaf's relations are pooled.
    pub relation_pool: RelationPool,
}

impl Default for ConsensusG3 {
    fn default() -> Self {
        Self {
            taken: 16,
            bonus: Bonus::Ratio,
            entity_score: EntityScore::SupportXSpec,
            relation_pool: RelationPool::MaxResidual(0.02),
        }
    }
}

impl ConsensusG3 {
    /// Every leaf that a view has, best first; ties to the better text, then to the lower node.
    #[must_use]
    pub fn rank(&self, views: &Views) -> Vec<Agreed> {
        let text: ScoreMap<NodeId> = views.text.iter().copied().take(self.taken).collect();
        let entities = || {
            views.entities.iter().take(self.taken).flat_map(|hit| {
                let weight = if hit.score.is_finite() { hit.score.max(0.0) } else { 0.0 };
                let idf = hit.specificity.idf(views.leaves);
                // Without support an entity is no reason, as a relation is none.
                hit.leaves.iter().filter(move |_| weight > 0.0).map(move |leaf| (*leaf, weight, weight * idf))
            })
        };
        let support = ScoreMap::pooled(entities().map(|(leaf, weight, _)| (leaf, weight)), Pooling::Sum);
        let specific = ScoreMap::pooled(entities().map(|(leaf, _, specific)| (leaf, specific)), Pooling::Sum);
        let entity = match self.entity_score {
            EntityScore::SupportXSpec => specific.min_max(),
            EntityScore::NormSupportXSpec => {
                let scaled = support.min_max();
                let share = |leaf, of: f32| if of > 0.0 { specific.get(leaf) / of } else { 0.0 };
                scaled.iter().map(|(leaf, own)| (leaf, own * share(leaf, support.get(leaf)))).collect()
            }
        };
        let on_leaves = views
            .relations
            .iter()
            .take(self.taken)
            .flat_map(|hit| hit.leaves.iter().map(move |leaf| (*leaf, hit.score)));
        let pooled: ScoreMap<NodeId> = match self.relation_pool {
            RelationPool::Max => ScoreMap::pooled(on_leaves, Pooling::Max),
            RelationPool::MaxResidual(share) => ScoreMap::pooled(on_leaves, Pooling::MaxPlus(share)),
            RelationPool::NoisyOr => {
                let mut misses: BTreeMap<NodeId, f32> = BTreeMap::new();
                for (leaf, score) in on_leaves.filter(|(_, score)| score.is_finite()) {
                    *misses.entry(leaf).or_insert(1.0) *= 1.0 - score.clamp(0.0, 1.0);
                }
                misses.into_iter().map(|(leaf, miss)| (leaf, 1.0 - miss)).collect()
            }
        };
        let relation: ScoreMap<NodeId> = pooled.iter().filter(|(_, score)| *score > 0.0).collect();
        agree(&text.min_max(), &entity, &relation.min_max(), |_, [t, e, r]| {
            let structure = f32::midpoint(e, r);
            let bonus = match self.bonus {
                Bonus::Ratio => structure / (1.0 + structure),
                Bonus::Quad => structure - structure * structure / 2.0,
            };
            (t + bonus, 1.0)
        })
    }
}

/// Leaves of three views with their parts, by `score`, which gives the gate too, best first; ties to the better text, then to the lower node.
fn agree(
    text: &ScoreMap<NodeId>,
    entities: &ScoreMap<NodeId>,
    relations: &ScoreMap<NodeId>,
    score: impl Fn(NodeId, [f32; 3]) -> (f32, f32),
) -> Vec<Agreed> {
    let mut nodes: Vec<NodeId> =
        [text, entities, relations].into_iter().flat_map(|map| map.iter().map(|(node, _)| node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let agreed = nodes.into_iter().map(|node| {
        let parts = [text.get(node), entities.get(node), relations.get(node)];
        let [text, entities, relations] = parts;
        let (score, gate) = score(node, parts);
        Agreed { node, score, text, entities, relations, gate }
    });
    let mut agreed: Vec<Agreed> = agreed.collect();
    agreed.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.text.total_cmp(&a.text)));
    agreed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    fn common(degree: u32, mentions: u32) -> Specificity {
        Specificity { degree, mentions }
    }

    /// Text: 1 at .9, 2 at .5, 3 at .1. Entity A (.8, degree 1) in 2; B (.4, degree 3) in 2 and 4. Relations: .6 on 2
    /// and 3, ends of degree 1 and 3; .5 on 2, ends of degree 1.
    fn views() -> Views {
        let entity = |score, degree, mentions, leaves: &[u32]| EntityHit {
            score,
            specificity: common(degree, mentions),
            leaves: nodes(leaves),
        };
        let relation = |score, ends: &[u32], leaves: &[u32]| RelationHit {
            score,
            ends: ends.iter().map(|degree| common(*degree, 1)).collect(),
            leaves: nodes(leaves),
        };
        Views {
            text: vec![(NodeId(1), 0.9), (NodeId(2), 0.5), (NodeId(3), 0.1)],
            entities: vec![entity(0.8, 1, 1, &[2]), entity(0.4, 3, 2, &[2, 4])],
            relations: vec![relation(0.6, &[1, 3], &[2, 3]), relation(0.5, &[1, 1], &[2])],
            leaves: 10,
        }
    }

    #[track_caller]
    fn near(found: &[Agreed], wanted: &[(u32, f32)]) {
        let found: Vec<(u32, f32)> = found.iter().map(|agreed| (agreed.node.0, agreed.score)).collect();
        let same = found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-4);
        assert!(same, "{found:?}, not {wanted:?}");
    }

    /// T: 1 -> 1, 2 -> .5, 3 -> 0. E: 2: (.8 + .4 * .4765) ln 2 -> 1, 4: (.4 * .4765) ln 2 -> 0. R: 2: .6 + .02 * .5 =
    /// .61 -> 1; 3: .6 -> 0. Penalty of degree 3: 1 / (1 + ln 3) = .4765, so that gates are .8.
    /// 1: .6. 2: (.2 + .2 * .8 + .6 * .5) * (1 + .05 * 2 / 2) = .66 * 1.05 = .693. 3 and 4: 0.
    #[test]
    fn the_first_release_s_consensus_worked_by_hand() {
        let ranked = ConsensusG1::default().rank(&views());

        near(&ranked, &[(2, 0.693), (1, 0.6), (3, 0.0), (4, 0.0)]);
        assert!((ranked[0].text - 0.5).abs() < 1e-6);
        assert_eq!((ranked[0].entities, ranked[0].relations), (1.0, 1.0));
        assert!((ranked[0].gate - 0.8).abs() < 1e-6);
        assert!((ranked[1].gate - 1.0).abs() < 1e-6);
    }

    /// sigma(A) = ln(1 + 10/1) / ln 11 = 1; sigma(B) = ln(1 + 10/2) / ln 11 = .7472. V: 2: .8 + .4 * .7472 = 1.0989 ->
    /// 1; 4: .2989 -> 0. R as above. A of 2: 1, so the bonus is 1/2 by either form: 2: .5 + .5 = 1. 1: 1. Better text
    /// first.
    #[test]
    fn the_later_text_s_consensus_worked_by_hand() {
        near(&ConsensusG3::default().rank(&views()), &[(1, 1.0), (2, 1.0), (3, 0.0), (4, 0.0)]);
        let quad = ConsensusG3 { bonus: Bonus::Quad, ..ConsensusG3::default() };
        near(&quad.rank(&views()), &[(1, 1.0), (2, 1.0), (3, 0.0), (4, 0.0)]);
    }

    /// U: 2: 1.2 -> 1, 4: .4 -> 0. Of 2: V / U = 1.0989 / 1.2 = .9157. Noisy or: 2: 1 - .4 * .5 = .8 -> 1, 3: .6 -> 0.
    /// A = (.9157 + 1) / 2 = .9579; bonus .9579 / 1.9579 = .4892.
    #[test]
    fn the_other_readings_worked_by_hand() {
        let other = ConsensusG3 {
            entity_score: EntityScore::NormSupportXSpec,
            relation_pool: RelationPool::NoisyOr,
            ..ConsensusG3::default()
        };

        near(&other.rank(&views()), &[(1, 1.0), (2, 0.9892), (3, 0.0), (4, 0.0)]);
    }

    #[test]
    fn the_penalty_and_the_idf_of_an_entity_worked_by_hand() {
        assert!((common(1, 1).penalty() - 1.0).abs() < 1e-6 && (common(0, 0).penalty() - 1.0).abs() < 1e-6);
        assert!((common(10, 1).penalty() - 0.3028).abs() < 1e-4);
        assert!((common(1, 5).idf(10) - 0.4582).abs() < 1e-4);
        assert!((common(1, 0).idf(0) - 1.0).abs() < 1e-6);
    }

    /// A constant view is all ones; NaN takes no part; an empty view is none.
    #[test]
    fn constant_empty_and_nan_views_rank_all_the_same() {
        let constant =
            Views { text: vec![(NodeId(7), 0.3), (NodeId(5), 0.3)], leaves: 2, ..Views::default() };
        let nan = Views { text: vec![(NodeId(7), f32::NAN), (NodeId(5), 0.3)], ..constant.clone() };

        near(&ConsensusG1::default().rank(&constant), &[(5, 0.6), (7, 0.6)]);
        near(&ConsensusG3::default().rank(&constant), &[(5, 1.0), (7, 1.0)]);
        near(&ConsensusG3::default().rank(&nan), &[(5, 1.0)]);
        assert_eq!(ConsensusG1::default().rank(&Views::default()), []);
        assert_eq!(ConsensusG3::default().rank(&Views::default()), []);
    }

    /// A relation that scores 0 or below is no relation, a similarity below 0 no support.
    #[test]
    fn what_speaks_against_a_leaf_takes_no_part() {
        let against = Views {
            text: vec![(NodeId(1), 0.5)],
            entities: vec![EntityHit { score: -0.5, specificity: common(1, 1), leaves: nodes(&[1]) }],
            relations: vec![RelationHit { score: -0.5, ends: Vec::new(), leaves: nodes(&[1, 2]) }],
            leaves: 2,
        };

        let ranked = ConsensusG3::default().rank(&against);

        assert_eq!(ranked.iter().map(|agreed| agreed.node.0).collect::<Vec<_>>(), [1]);
        assert!(ranked[0].relations.abs() < 1e-6 && ranked[0].entities.abs() < 1e-6);
    }
}
