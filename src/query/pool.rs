//! What several searches found and what was read since, held within a size.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ids::NodeId;

/// What a search adds between two units, in the measure's unit; counted with every unit.
const SEPARATOR: usize = 2;

/// Sizes of a typed pool. Text has what the other kinds leave, but 4,000 at least.
///
/// # Source
///
/// KnowForge, arXiv 2610.13128, as its runner `metask-ai/knowforge-bench` has it: 30,000 in all, measured in
/// characters. The paper says tokens: the caller chooses the measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pool {
    /// Size up to which nothing is dropped, whatever the kinds.
    pub cap: usize,
    /// Most of images, once `cap` is passed.
    pub images: usize,
    /// Most of tables.
    pub tables: usize,
    /// Most of examples.
    pub examples: usize,
    /// How many of each list's best, in each search, are dropped only when nothing else is left.
    pub protect: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self { cap: 30_000, images: 3_000, tables: 3_000, examples: 2_000, protect: 3 }
    }
}

/// The kinds that have a list of their own in a search, and a size of their own in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolKind {
    /// Text.
    Text,
    /// Images, by what is said of them.
    Image,
    /// Tables.
    Table,
    /// Worked examples.
    Example,
}

impl PoolKind {
    /// All kinds, in the order in which a search's lists are gone through.
    pub const ALL: [Self; 4] = [Self::Text, Self::Image, Self::Table, Self::Example];
}

/// Where a unit comes from, which says how much it is worth.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolOrigin {
    /// The text of a leaf that a search found.
    Found(NodeId),
    /// A line about an image or table that a search found.
    Media(NodeId),
    /// A line about an example.
    Example,
    /// What a reading tool gave, and the leaves it had read.
    Reading(Vec<NodeId>),
}

/// One unit: kept whole or dropped whole.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PoolUnit {
    /// Its text.
    pub text: String,
    /// Where it comes from.
    pub origin: PoolOrigin,
}

/// A leaf that a search found.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PoolHit {
    /// The leaf.
    pub node: NodeId,
    /// Ranks it within its search; comparable there only.
    pub raw: f32,
    /// Similarity, comparable between searches; what is not finite counts 0.
    pub similarity: f32,
    /// If an edge led here: the leaf it started at.
    pub anchor: Option<NodeId>,
}

/// The four lists of one search, by [`PoolKind::ALL`].
pub type PoolSearch = [Vec<PoolHit>; 4];

/// What was kept, and what it came to.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pooled {
    /// Indexes of the units kept, in the order they arrived.
    pub kept: Vec<usize>,
    /// Size of all units.
    pub total: usize,
    /// Size of those kept, for each of [`PoolKind::ALL`]; all of it under text if nothing had to be dropped.
    pub used: [usize; 4],
    /// Leaves of the kept units that a search had found, ascending.
    pub nodes: Vec<NodeId>,
    /// Least similarity of a kept unit that was not protected; `None` if there is none or nothing was dropped.
    pub weakest: Option<f32>,
}

impl Pooled {
    /// How many of `units` were dropped.
    #[must_use]
    pub fn dropped(&self, units: usize) -> usize {
        units.saturating_sub(self.kept.len())
    }
}

/// What is known of a leaf from the searches that found it.
#[derive(Debug, Clone, Copy)]
struct Worth {
    similarity: f32,
    protected: bool,
    kind: PoolKind,
}

impl Pool {
    /// The size of `kind`'s part, once the whole is too large.
    #[must_use]
    pub fn cap_of(&self, kind: PoolKind) -> usize {
        match kind {
            PoolKind::Image => self.images,
            PoolKind::Table => self.tables,
            PoolKind::Example => self.examples,
            PoolKind::Text => {
                let others = self.images.saturating_add(self.tables).saturating_add(self.examples);
                self.cap.saturating_sub(others).max(4_000)
            }
        }
    }

    /// Which of `units`, in the order they arrived, are kept.
    ///
    /// Up to `cap` all are. Beyond, each kind has a part of its own: units go in as they arrived, and while the
    /// part is too large the one of least similarity goes, the latest of equals; protected ones only when no
    /// other is left. A unit larger than its part so empties it, and goes itself.
    ///
    /// * `searches`: in the order they were made. A leaf found again counts with its higher similarity, and is
    ///   then protected if it is now or was before; a leaf that an edge led to counts as its anchor does, if a
    ///   search before had found that.
    /// * `measure`: size of a text, in characters, tokens or bytes; 2 are added to each.
    ///
    /// # Source
    ///
    /// As [`Pool`]. Departure: a similarity that is not finite counts 0.
    #[must_use]
    pub fn merge(
        &self,
        units: &[PoolUnit],
        searches: &[PoolSearch],
        measure: impl Fn(&str) -> usize,
    ) -> Pooled {
        let sizes: Vec<usize> =
            units.iter().map(|unit| measure(&unit.text).saturating_add(SEPARATOR)).collect();
        let total = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
        let worths = self.worths(searches);
        if total <= self.cap {
            let kept: Vec<usize> = (0..units.len()).collect();
            let nodes = nodes_of(units, &kept, &worths);
            return Pooled { kept, total, used: [total, 0, 0, 0], nodes, weakest: None };
        }
        let middle = middle(&worths);
        let mut parts: [Part; 4] = std::array::from_fn(|_| Part::default());
        for (index, (unit, size)) in units.iter().zip(&sizes).enumerate() {
            let worth = worth_of(unit, &worths, middle);
            parts[worth.kind as usize].insert(index, *size, worth, self.cap_of(worth.kind), &sizes);
        }
        let weakest = parts.iter().filter_map(Part::weakest).min_by(f32::total_cmp);
        let used = parts.each_ref().map(|part| part.used);
        let mut kept: Vec<usize> =
            parts.iter().flat_map(|part| part.units.iter().map(|unit| unit.index)).collect();
        kept.sort_unstable();
        let nodes = nodes_of(units, &kept, &worths);
        Pooled { kept, total, used, nodes, weakest }
    }

    fn worths(&self, searches: &[PoolSearch]) -> BTreeMap<NodeId, Worth> {
        let mut worths: BTreeMap<NodeId, Worth> = BTreeMap::new();
        for search in searches {
            for (kind, list) in PoolKind::ALL.into_iter().zip(search) {
                let mut ranked: Vec<&PoolHit> = list.iter().collect();
                // Stable: equals stay as they were given. NaN ranks last.
                ranked.sort_by(|a, b| key(b.raw).total_cmp(&key(a.raw)));
                for (rank, hit) in ranked.into_iter().enumerate() {
                    let anchor = hit.anchor.and_then(|anchor| worths.get(&anchor));
                    let (similarity, protected) = match anchor {
                        Some(anchor) => (anchor.similarity, anchor.protected),
                        None => (finite(hit.similarity), rank < self.protect),
                    };
                    match worths.get_mut(&hit.node) {
                        None => {
                            worths.insert(hit.node, Worth { similarity, protected, kind });
                        }
                        Some(known) if similarity > known.similarity => {
                            *known = Worth { similarity, protected: protected || known.protected, kind };
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        worths
    }
}

fn key(raw: f32) -> f32 {
    if raw.is_nan() { f32::NEG_INFINITY } else { raw }
}

fn finite(similarity: f32) -> f32 {
    // Adding 0 makes -0 a 0, which compares as equal below.
    if similarity.is_finite() { similarity + 0.0 } else { 0.0 }
}

/// The middle of all similarities, the upper one of two; 0 without any.
fn middle(worths: &BTreeMap<NodeId, Worth>) -> f32 {
    let mut all: Vec<f32> = worths.values().map(|worth| worth.similarity).collect();
    all.sort_unstable_by(f32::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

fn worth_of(unit: &PoolUnit, worths: &BTreeMap<NodeId, Worth>, middle: f32) -> Worth {
    let unknown = |kind| Worth { similarity: 0.0, protected: false, kind };
    match &unit.origin {
        PoolOrigin::Found(node) => worths.get(node).copied().unwrap_or(unknown(PoolKind::Text)),
        PoolOrigin::Media(node) => worths.get(node).copied().unwrap_or(unknown(PoolKind::Image)),
        PoolOrigin::Example => Worth { similarity: middle, protected: false, kind: PoolKind::Example },
        PoolOrigin::Reading(sources) => {
            let known: Vec<&Worth> = sources.iter().filter_map(|node| worths.get(node)).collect();
            let best = known.iter().map(|worth| worth.similarity).max_by(f32::total_cmp);
            Worth {
                similarity: best.unwrap_or(1.0),
                protected: known.is_empty() || known.iter().any(|worth| worth.protected),
                kind: PoolKind::Text,
            }
        }
    }
}

fn nodes_of(units: &[PoolUnit], kept: &[usize], worths: &BTreeMap<NodeId, Worth>) -> Vec<NodeId> {
    let mut nodes = BTreeSet::new();
    for unit in kept.iter().filter_map(|index| units.get(*index)) {
        match &unit.origin {
            PoolOrigin::Found(node) | PoolOrigin::Media(node) => {
                nodes.insert(*node);
            }
            PoolOrigin::Example => {}
            PoolOrigin::Reading(sources) => nodes.extend(sources),
        }
    }
    nodes.into_iter().filter(|node| worths.contains_key(node)).collect()
}

/// The units of one kind, the first to go first.
#[derive(Debug, Default)]
struct Part {
    units: BTreeSet<Kept>,
    used: usize,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    protected: bool,
    similarity: f32,
    index: usize,
}

impl Part {
    fn insert(&mut self, index: usize, size: usize, worth: Worth, cap: usize, sizes: &[usize]) {
        self.units.insert(Kept { protected: worth.protected, similarity: worth.similarity, index });
        self.used = self.used.saturating_add(size);
        while self.used > cap {
            let Some(gone) = self.units.pop_first() else { break };
            self.used -= sizes.get(gone.index).copied().unwrap_or(0).min(self.used);
        }
    }

    fn weakest(&self) -> Option<f32> {
        self.units.first().filter(|unit| !unit.protected).map(|unit| unit.similarity)
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let similarity = self.similarity.total_cmp(&other.similarity);
        self.protected.cmp(&other.protected).then(similarity).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Kept {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Measures by characters; a unit of `size` takes `size` with the separator.
    fn unit(origin: PoolOrigin, size: usize) -> PoolUnit {
        PoolUnit { text: "x".repeat(size - SEPARATOR), origin }
    }

    fn found(node: u32, size: usize) -> PoolUnit {
        unit(PoolOrigin::Found(NodeId(node)), size)
    }

    fn hit(node: u32, similarity: f32) -> PoolHit {
        PoolHit { node: NodeId(node), raw: similarity, similarity, anchor: None }
    }

    fn texts(hits: &[PoolHit]) -> PoolSearch {
        [hits.to_vec(), Vec::new(), Vec::new(), Vec::new()]
    }

    /// A pool that is always too large: text has 4,000.
    fn tight(protect: usize) -> Pool {
        Pool { cap: 0, images: 100, tables: 100, examples: 100, protect }
    }

    fn kept(pool: Pool, units: &[PoolUnit], searches: &[PoolSearch]) -> Vec<usize> {
        pool.merge(units, searches, str::len).kept
    }

    #[test]
    fn text_has_what_the_others_leave() {
        let pool = Pool::default();

        assert_eq!(PoolKind::ALL.map(|kind| pool.cap_of(kind)), [22_000, 3_000, 3_000, 2_000]);
        assert_eq!(Pool { cap: 9_000, ..pool }.cap_of(PoolKind::Text), 4_000);
    }

    #[test]
    fn the_least_similar_goes_and_the_rest_stays_in_the_order_of_arrival() {
        let search = texts(&[hit(1, 0.2), hit(2, 0.9), hit(3, 0.5)]);

        // 2,000 each: two fit 4,000. Without protection .2 goes, though it arrived first.
        assert_eq!(kept(tight(0), &[found(1, 2_000), found(3, 2_000), found(2, 2_000)], &[search]), [1, 2]);
    }

    #[test]
    fn a_unit_larger_than_its_part_empties_it_and_goes_too() {
        let search = texts(&[hit(1, 0.9), hit(2, 0.5)]);

        assert_eq!(kept(tight(0), &[found(1, 2_000), found(2, 4_001)], std::slice::from_ref(&search)), [0]);
        // The large one is the best: what is less goes first, then itself.
        assert_eq!(kept(tight(0), &[found(2, 2_000), found(1, 4_001)], &[search]), [0; 0]);
    }

    #[test]
    fn a_later_find_of_lower_similarity_protects_nothing() {
        let searches = [texts(&[hit(1, 0.9), hit(2, 0.5), hit(3, 0.6)]), texts(&[hit(2, 0.4)])];
        let units = [found(1, 2_000), found(2, 2_000), found(3, 2_000)];

        // The second search's best is node 2, but .4 is below the .5 it had: it goes before node 3.
        assert_eq!(kept(tight(1), &units, &searches), [0, 2]);
    }

    #[test]
    fn a_later_find_of_higher_similarity_keeps_the_old_protection() {
        let searches = [texts(&[hit(1, 0.3)]), texts(&[hit(2, 0.9), hit(1, 0.5)])];

        let worths = tight(1).worths(&searches);

        assert!(worths[&NodeId(1)].protected);
        assert!((worths[&NodeId(1)].similarity - 0.5).abs() < f32::EPSILON);
    }

    #[test]
    fn an_expansion_counts_as_its_anchor_does_if_that_was_found_before() {
        let expanded = |node| PoolHit { anchor: Some(NodeId(1)), ..hit(node, 0.1) };
        // By raw score: the anchor first, then node 5; in the other search node 6 is gone through first.
        let after = texts(&[hit(1, 0.9), expanded(5)]);
        let before = texts(&[PoolHit { raw: 2.0, ..expanded(6) }, hit(1, 0.9)]);

        let (known, unknown) = (tight(1).worths(&[after]), tight(1).worths(&[before]));

        assert!((known[&NodeId(5)].similarity - 0.9).abs() < f32::EPSILON && known[&NodeId(5)].protected);
        assert!((unknown[&NodeId(6)].similarity - 0.1).abs() < f32::EPSILON);
    }

    #[test]
    fn media_have_a_part_of_their_own() {
        let search: PoolSearch =
            [vec![hit(1, 0.1)], vec![hit(2, 0.9), hit(3, 0.8)], vec![hit(4, 0.7)], Vec::new()];
        let media = |node| unit(PoolOrigin::Media(NodeId(node)), 60);
        let units = [found(1, 60), media(2), media(3), media(4), media(77)];

        let pooled = tight(0).merge(&units, &[search], str::len);

        // Images have 100: .9 stays, .8 and the unknown one, an image of similarity 0, go.
        assert_eq!(pooled.kept, [0, 1, 3]);
        assert_eq!(pooled.used, [60, 60, 60, 0]);
        assert_eq!(pooled.nodes, [NodeId(1), NodeId(2), NodeId(4)]);
    }

    #[test]
    fn what_was_read_counts_as_its_best_source_and_is_protected_without_one() {
        let search = texts(&[hit(1, 0.9), hit(2, 0.2)]);
        let read =
            |nodes: &[u32]| unit(PoolOrigin::Reading(nodes.iter().copied().map(NodeId).collect()), 2_000);
        let units = [read(&[2]), read(&[2, 1]), read(&[])];

        // .2 unprotected, .9, and 1 protected: the first goes.
        assert_eq!(kept(tight(0), &units, &[search]), [1, 2]);
    }

    #[test]
    fn an_example_counts_as_the_middle_of_all_similarities() {
        let search: PoolSearch = [vec![hit(1, 0.2), hit(2, 0.6)], Vec::new(), Vec::new(), Vec::new()];
        let pooled = Pool { examples: 100, ..tight(0) }.merge(
            &[found(1, 30), unit(PoolOrigin::Example, 60), unit(PoolOrigin::Example, 60)],
            &[search],
            str::len,
        );

        // Of two equals the later goes; the middle of .2 and .6 is the upper one.
        assert_eq!((pooled.kept, pooled.weakest), (vec![0, 1], Some(0.2)));
    }

    #[test]
    fn up_to_the_cap_nothing_is_dropped_whatever_its_kind() {
        let pool = Pool { cap: 500, ..tight(0) };
        let units: Vec<PoolUnit> = (0..5).map(|node| unit(PoolOrigin::Media(NodeId(node)), 100)).collect();

        // 500 of images where images have 100.
        let pooled = pool.merge(&units, &[], str::len);

        assert_eq!((pooled.kept.len(), pooled.total, pooled.dropped(5)), (5, 500, 0));
        assert_eq!(kept(Pool { cap: 499, ..pool }, &units, &[]), [0]);
    }

    #[test]
    fn no_units_and_no_searches_are_an_empty_pool() {
        let pooled = Pool { cap: 0, ..Pool::default() }.merge(&[], &[], str::len);

        assert_eq!((pooled.kept.len(), pooled.total, pooled.weakest), (0, 0, None));
    }

    proptest! {
        #[test]
        fn no_part_is_over_its_size_and_protected_units_go_last(
            sizes in proptest::collection::vec((2_usize..3_000, 0_u32..12), 0..40),
            scores in proptest::collection::vec(any::<f32>(), 12),
            protect in 0_usize..4,
        ) {
            let hits: Vec<PoolHit> = (0..).zip(&scores).map(|(node, score)| hit(node, *score)).collect();
            let units: Vec<PoolUnit> = sizes.iter().map(|(size, node)| found(*node, *size)).collect();
            let pool = tight(protect);
            let searches = [texts(&hits)];

            let pooled = pool.merge(&units, &searches, str::len);

            let worths = pool.worths(&searches);
            let protected = |index: &usize| worths[&NodeId(sizes[*index].1)].protected;
            prop_assert!(pooled.used[0] <= 4_000 || pooled.total == 0);
            prop_assert!(pooled.kept.is_sorted());
            prop_assert_eq!(pooled.used.iter().sum::<usize>(), pooled.kept.iter().map(|i| sizes[*i].0).sum::<usize>());
            let lost_protected = (0..units.len()).any(|i| protected(&i) && !pooled.kept.contains(&i));
            prop_assert!(!lost_protected || pool.cap_of(PoolKind::Text) < sizes.iter().enumerate().filter(|(i, _)| protected(i)).map(|(_, s)| s.0).sum::<usize>());
        }
    }
}
