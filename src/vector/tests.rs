use std::collections::BTreeMap;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;
use crate::error::{ErrorKind, Result};
use crate::format::vector::{BLOCK, VectorBlock, capacity};
use crate::ids::{NodeId, NodeRange, SpaceId};
use crate::kernels;

const SPACE: SpaceId = SpaceId(1);

/// A space in memory.
struct Stored {
    record: SpaceRecord,
    blocks: BTreeMap<u32, Vec<u8>>,
}

impl BlockSource for Stored {
    fn block_count(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("few")
    }

    fn with_block(&self, index: u32, read: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        read(&self.blocks[&index])
    }
}

impl Stored {
    fn new(dimension: usize, metric: Metric) -> Self {
        let record = SpaceRecord::new("main", "test", dimension, metric).expect("it is valid");
        Self { record, blocks: BTreeMap::new() }
    }

    fn append(&mut self, rows: &[(u32, Vec<f32>)]) -> Result<()> {
        let last = self.blocks.last_key_value().map(|(_, value)| value.clone());
        let mut writer = BlockWriter::new(SPACE, &mut self.record, last.as_deref())?;
        let mut written = Vec::new();
        for (node, row) in rows {
            written.extend(writer.append(NodeId(*node), row)?);
        }
        written.extend(writer.finish()?);
        for block in written {
            BLOCK.open(&block.key, &block.value).expect("the frame is whole");
            self.blocks.insert(block.block, block.value);
        }
        Ok(())
    }

    fn flat(&self) -> Flat<'_> {
        Flat::new(SPACE, &self.record, self).expect("record and blocks agree")
    }

    /// Every row scored by the fixed-order kernel, best first.
    fn by_definition(&self, query: &Query) -> Vec<Scored> {
        let mut all = Vec::new();
        for (index, value) in &self.blocks {
            let block = VectorBlock::of_value(SPACE, *index, value).expect("sound");
            for (row, node) in block.nodes().enumerate() {
                let row: Vec<f32> = kernels::floats(block.row(row)).collect();
                let score = match self.record.metric {
                    Metric::L2 => 0.0 - kernels::l2_squared(query.vector(), &row),
                    _ => kernels::dot(query.vector(), &row),
                };
                all.push(Scored { node, score });
            }
        }
        all.sort_by(Scored::best_first);
        all
    }
}

/// Rows whose scores nearly tie, with many exact ties: a few directions, perturbed in the last bits or not.
fn near_ties(dimension: usize, rows: u32) -> Vec<(u32, Vec<f32>)> {
    let mut state = 7_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let row = |seed: u32, nudge: f32| -> Vec<f32> {
        let wave = |j: usize| u16::try_from((seed as usize * 31 + j * 17) % 41).expect("small");
        (0..dimension).map(|j| (f32::from(wave(j)) - 20.0) * nudge).collect()
    };
    (0..rows)
        .map(|i| {
            let nudge = 1.0 + f32::EPSILON * f32::from(u8::try_from(random() % 4).expect("small"));
            (3 * i + 1, row(random() % 5, nudge))
        })
        .collect()
}

#[test]
fn a_search_gives_what_scoring_every_row_gives_with_any_threads_and_level() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        let mut stored = Stored::new(200, metric);
        // A row takes 804 bytes, so a block holds 325: 7 blocks and a bit.
        stored.append(&near_ties(200, 2_500)).expect("they are valid");
        assert_eq!(stored.blocks.len(), 8);
        let flat = stored.flat();
        let query = flat.query(&near_ties(200, 1)[0].1).expect("it is valid");
        let all = stored.by_definition(&query);
        let odd: RoaringBitmap = (0..8_000).filter(|node| node % 2 == 1).collect();
        let few: RoaringBitmap = (0..8_000).step_by(1_000).chain([4, 7]).collect();
        let deleted: RoaringBitmap = all.iter().step_by(3).map(|scored| scored.node.get()).collect();

        for level in kernels::Level::ALL.into_iter().filter(|level| kernels::use_level(*level)) {
            for (threads, limit) in [(0, 1), (1, 10), (2, 10), (2, 700), (9, 5_000), (1, 0)] {
                for filter in [None, Some(&odd), Some(&few)] {
                    for deleted in [&RoaringBitmap::new(), &deleted] {
                        let expected: Vec<Scored> = all
                            .iter()
                            .filter(|s| filter.is_none_or(|f| f.contains(s.node.get())))
                            .filter(|s| !deleted.contains(s.node.get()))
                            .take(limit)
                            .copied()
                            .collect();

                        let found = flat.search(&query, filter, deleted, limit, threads).expect("it runs");

                        assert_eq!(found, expected, "{metric:?} {level:?} {threads} {limit}");
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn ranges_and_ids_are_scored_as_alone_and_only_touched_blocks_are_read(
        bounds in prop::collection::vec((0_u32..8_000, 0_u32..300), 0..6),
        ids in prop::collection::vec(0_u32..8_000, 0..40),
    ) {
        static STORED: std::sync::LazyLock<Stored> = std::sync::LazyLock::new(|| {
            let mut stored = Stored::new(200, Metric::Cosine);
            stored.append(&near_ties(200, 2_500)).expect("they are valid");
            stored
        });
        let query = STORED.flat().query(&[1.0; 200]).expect("it is valid");
        let scores: BTreeMap<NodeId, f32> =
            STORED.by_definition(&query).into_iter().map(|s| (s.node, s.score)).collect();
        let ranges: Vec<NodeRange> =
            bounds.iter().map(|(a, n)| NodeRange::new(NodeId(*a), NodeId(a + n))).collect();
        let ids: Vec<NodeId> = ids.into_iter().map(NodeId).collect();

        let in_ranges: Vec<_> = scores
            .iter()
            .filter(|(node, _)| ranges.iter().any(|range| range.contains(**node)))
            .map(|(node, score)| (*node, *score))
            .collect();
        for threads in [1, 2] {
            prop_assert_eq!(&STORED.flat().score_all(&query, &ranges, threads).expect("it runs"), &in_ranges);
        }

        let by_id: Vec<_> = ids.iter().map(|id| scores.get(id).copied()).collect();
        prop_assert_eq!(STORED.flat().score_ids(&query, &ids).expect("it runs"), by_id);
        let rows = STORED.flat().rows(&ids).expect("it runs");
        for (i, id) in ids.iter().enumerate() {
            let score = kernels::dot(query.vector(), rows.row(i));
            prop_assert_eq!(score.to_bits(), scores.get(id).copied().unwrap_or_default().to_bits());
        }
    }
}

/// Dimension 20,000: a row takes 80,004 bytes, so a block holds 3.
#[test]
fn only_the_blocks_of_a_range_are_read() {
    struct Counting<'a>(&'a Stored, parking_lot::Mutex<Vec<u32>>);
    impl BlockSource for Counting<'_> {
        fn block_count(&self) -> u32 {
            self.0.block_count()
        }
        fn with_block(&self, index: u32, read: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
            self.1.lock().push(index);
            self.0.with_block(index, read)
        }
    }
    let mut stored = Stored::new(20_000, Metric::Dot);
    // Blocks hold nodes 1 4 7, 10 13 16, 19 22 25, 28.
    stored.append(&near_ties(20_000, 10)).expect("they are valid");
    assert_eq!(stored.record.last_nodes, [7, 16, 25, 28]);
    let counting = Counting(&stored, parking_lot::Mutex::default());
    let flat = Flat::new(SPACE, &stored.record, &counting).expect("they agree");
    let query = flat.query(&vec![0.5; 20_000]).expect("it is valid");
    let range = |a, b| NodeRange::new(NodeId(a), NodeId(b));
    let read = || std::mem::take(&mut *counting.1.lock());

    flat.score_all(&query, &[range(12, 14), range(20, 20)], 1).expect("it runs");
    assert_eq!(read(), [1, 2]);
    flat.score_all(&query, &[range(29, u32::MAX)], 1).expect("it runs");
    assert_eq!(read(), [0_u32; 0]);
    flat.score_ids(&query, &[NodeId(26), NodeId(2), NodeId(1), NodeId(99)]).expect("it runs");
    assert_eq!(read(), [0, 3]);
    let filter: RoaringBitmap = [5, 6, 22].into_iter().collect();
    flat.search(&query, Some(&filter), &RoaringBitmap::new(), 5, 1).expect("it runs");
    assert_eq!(read(), [0, 2]);
}

#[test]
fn rows_appended_one_commit_at_a_time_make_the_blocks_of_one_commit() {
    let rows = near_ties(300, 500);
    let (mut at_once, mut piecewise) = (Stored::new(300, Metric::Cosine), Stored::new(300, Metric::Cosine));

    at_once.append(&rows).expect("they are valid");
    for piece in rows.chunks(7) {
        piecewise.append(piece).expect("they are valid");
    }
    piecewise.append(&[]).expect("nothing to do");

    // floor(262,064 / 1204) = 217 rows a block.
    assert_eq!(capacity(300), 217);
    assert_eq!(at_once.blocks.len(), 3);
    assert_eq!((at_once.record.rows, at_once.record.generation), (500, 4));
    assert_eq!(at_once.record.last_nodes, piecewise.record.last_nodes);
    for (index, value) in &at_once.blocks {
        let other = &piecewise.blocks[index];
        assert_eq!(value[64..], other[64..], "rows and ids of block {index}");
    }
    let query = at_once.flat().query(&rows[3].1).expect("it is valid");
    let none = RoaringBitmap::new();
    assert_eq!(
        at_once.flat().search(&query, None, &none, 20, 1).expect("it runs"),
        piecewise.flat().search(&query, None, &none, 20, 1).expect("it runs"),
    );
}

#[test]
fn a_vector_that_is_not_finite_is_refused_by_node_and_dimension() {
    let mut stored = Stored::new(2, Metric::Cosine);

    let nan = stored.append(&[(5, vec![1.0, f32::NAN])]).expect_err("NaN");
    let infinite = stored.append(&[(6, vec![f32::INFINITY, 0.0])]).expect_err("infinite");

    assert_eq!(nan.to_string(), "the vector of node 5 is NaN in dimension 1, not a finite number");
    assert_eq!(infinite.to_string(), "the vector of node 6 is inf in dimension 0, not a finite number");
    assert!(stored.flat().query(&[f32::NAN, 0.0]).is_err());
}

#[test]
fn another_dimension_is_refused_with_both_named() {
    let mut stored = Stored::new(2, Metric::Cosine);

    let row = stored.append(&[(5, vec![1.0; 3])]).expect_err("three");
    let query = stored.flat().query(&[]).expect_err("none");

    assert_eq!(row.to_string(), "the vector of node 5 has dimension 3; space \"main\" has 2");
    assert_eq!(query.to_string(), "the query has dimension 0; space \"main\" has 2");
}

#[test]
fn another_embedder_is_refused_with_both_named() {
    let record = SpaceRecord::new("main", "minilm 1", 384, Metric::Cosine).expect("it is valid");

    let error = expect_embedder(&record, "minilm 2", 384).expect_err("another revision");

    assert_eq!(error.kind(), ErrorKind::Model);
    assert!(error.to_string().contains("\"minilm 1\"") && error.to_string().contains("\"minilm 2\""));
    assert!(expect_embedder(&record, "minilm 1", 384).is_ok());
    assert!(expect_embedder(&record, "minilm 1", 383).is_err());
}

#[test]
fn a_zero_vector_in_a_cosine_space_scores_0() {
    let mut stored = Stored::new(2, Metric::Cosine);
    stored.append(&[(1, vec![0.0, 0.0]), (2, vec![-3.0, 4.0]), (3, vec![1e-40, 0.0])]).expect("valid");
    let none = RoaringBitmap::new();

    let query = stored.flat().query(&[0.0, 2.0]).expect("valid");
    let found = stored.flat().search(&query, None, &none, 9, 1).expect("it runs");
    // 4/5 = 0.8; the zero vector and the orthogonal one tie at 0.
    let expected = [(2, 0.8), (1, 0.0), (3, 0.0)].map(|(n, score)| Scored { node: NodeId(n), score });
    assert_eq!(found, expected);

    let zero = stored.flat().query(&[0.0, 0.0]).expect("accepted");
    let found = stored.flat().search(&zero, None, &none, 2, 1).expect("it runs");
    assert_eq!(found, [1, 2].map(|n| Scored { node: NodeId(n), score: 0.0 }));
}

/// L2 to (1, 1): 0 for itself, 1 + 4 = 5 for (2, 3); higher is better, so the scores are 0 and -5.
#[test]
fn l2_scores_are_minus_the_squared_distance() {
    let mut stored = Stored::new(2, Metric::L2);
    stored.append(&[(1, vec![2.0, 3.0]), (2, vec![1.0, 1.0])]).expect("valid");

    let query = stored.flat().query(&[1.0, 1.0]).expect("valid");
    let found = stored.flat().search(&query, None, &RoaringBitmap::new(), 2, 1).expect("it runs");

    assert_eq!(found.iter().map(|s| (s.node.get(), s.score)).collect::<Vec<_>>(), [(2, 0.0), (1, -5.0)]);
    assert_eq!(found[0].score.to_bits(), 0);
}

#[test]
fn vectors_so_long_that_scores_would_overflow_are_refused() {
    let mut stored = Stored::new(2, Metric::Dot);

    assert!(stored.append(&[(1, vec![1.2e18, 0.0])]).is_err());
    assert!(Stored::new(2, Metric::Cosine).append(&[(1, vec![f32::MAX, f32::MAX])]).is_ok());
    let mut stored = Stored::new(2, Metric::Dot);
    stored.append(&[(1, vec![1.1e18, 0.0])]).expect("just short enough");
    let query = stored.flat().query(&[-1.1e18, 0.0]).expect("valid");
    let found = stored.flat().search(&query, None, &RoaringBitmap::new(), 1, 1).expect("it runs");
    assert!(found[0].score.is_finite());
}

#[test]
fn nodes_must_ascend_across_commits() {
    let mut stored = Stored::new(1, Metric::Dot);
    stored.append(&[(5, vec![1.0])]).expect("valid");

    let error = stored.append(&[(5, vec![1.0])]).expect_err("twice");

    assert_eq!(error.to_string(), "the vector of node 5 comes after that of node 5");
}

#[test]
fn an_empty_space_has_no_results() {
    let stored = Stored::new(3, Metric::Cosine);
    let query = stored.flat().query(&[1.0, 0.0, 0.0]).expect("valid");

    assert_eq!(stored.flat().search(&query, None, &RoaringBitmap::new(), 3, 2).expect("it runs"), []);
    let all = NodeRange::new(NodeId(0), NodeId(u32::MAX));
    assert_eq!(stored.flat().score_all(&query, &[all], 2).expect("it runs"), []);
    assert_eq!(stored.flat().score_ids(&query, &[NodeId(1)]).expect("it runs"), [None]);
    assert_eq!(stored.flat().rows(&[NodeId(1)]).expect("it runs").row(0), [0.0; 3]);
}

#[test]
fn a_damaged_block_is_an_error_wherever_it_is_read() {
    let mut stored = Stored::new(200, Metric::Cosine);
    stored.append(&near_ties(200, 2_500)).expect("valid");
    let value = stored.blocks.get_mut(&5).expect("it is there");
    value[36..40].copy_from_slice(&100_u32.to_le_bytes());
    let query = stored.flat().query(&[1.0; 200]).expect("valid");

    for threads in [1, 2] {
        let error =
            stored.flat().search(&query, None, &RoaringBitmap::new(), 3, threads).expect_err("damaged");
        assert_eq!(error.corruption().map(|at| at.key.as_str()), Some("1, 5"));
    }
    stored.blocks.remove(&7);
    assert!(Flat::new(SPACE, &stored.record, &stored).is_err());
}
