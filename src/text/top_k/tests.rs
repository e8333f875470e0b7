//! Searches of lists in memory against scoring every leaf.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use proptest::prelude::*;

use super::list::List;
use super::list::Run;
use super::plan::Plan;
use super::plan::Share;
use super::plan::maxima_factor;
use super::score::Formula;
use super::segment::Segment;
use super::*;
use crate::error::ErrorKind;
use crate::format::text::LeafColumns;
use crate::format::text::LeafRecord;
use crate::format::text::Posting;
use crate::format::text::PostingList;
use crate::format::text::encode_postings;
use crate::format::text::length_class;
use crate::ids::NodeId;
use crate::kernels::Level;
use crate::kernels::use_level;
use crate::text::Bm25;
use crate::text::Scored;

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(((self.0 >> 33) * u64::from(bound)) >> 31).unwrap()
    }
}

/// How a term is spread.
#[derive(Debug, Clone, Copy)]
struct Spread {
    /// A leaf in so many has it.
    one_in: u32,
    /// Frequencies are up to this.
    most: u32,
    /// How many inner nodes have it in their titles.
    titles: u32,
}

/// A segment in memory.
struct World {
    leaves: Vec<LeafRecord>,
    full_lens: Vec<u32>,
    mean_len: f64,
    bodies: Vec<Vec<Posting>>,
    lists: Vec<Vec<u8>>,
    runs: Vec<Vec<Run>>,
    live: Option<Vec<u64>>,
    filter: Option<Vec<u64>>,
}

impl World {
    fn new(dice: &mut Dice, first_node: u32, n: u32, longest: u32, spreads: &[Spread]) -> Self {
        let node = |at| first_node + 2 * at;
        let leaves: Vec<LeafRecord> = (0..n)
            .map(|at| LeafRecord { node: node(at), own_len: 1 + dice.below(longest), kind: 3, level: 1 })
            .collect();
        let full_lens: Vec<u32> = leaves.iter().map(|leaf| leaf.own_len + dice.below(20)).collect();
        let mean_len = full_lens.iter().copied().map(f64::from).sum::<f64>() / f64::from(n.max(1));
        let mut world = Self {
            leaves,
            full_lens,
            mean_len,
            bodies: Vec::new(),
            lists: Vec::new(),
            runs: Vec::new(),
            live: None,
            filter: None,
        };
        for spread in spreads {
            let mut postings = Vec::new();
            for ordinal in 0..n {
                if dice.below(spread.one_in) == 0 {
                    let many = dice.below(8) == 0;
                    let term_freq = 1 + dice.below(if many { spread.most } else { 2 });
                    postings.push(Posting { ordinal, term_freq });
                }
            }
            let mut runs = Vec::new();
            let mut start = 0;
            for _ in 0..spread.titles {
                start += dice.below(n / 4 + 1);
                let end = (start + 1 + dice.below(300)).min(n);
                if start < end {
                    runs.push(Run { start, end, freq: 1 + dice.below(spread.most) });
                }
                start = end;
            }
            let columns = LeafColumns { full_lens: &world.full_lens, mean_len };
            let mut bytes = Vec::new();
            encode_postings(&postings, Some(&columns), &mut bytes);
            world.bodies.push(postings);
            world.lists.push(bytes);
            world.runs.push(runs);
        }
        world
    }

    fn n(&self) -> u32 {
        u32::try_from(self.leaves.len()).unwrap()
    }

    fn bits(dice: &mut Dice, n: u32, one_in: u32) -> Vec<u64> {
        let mut words = vec![0; n.div_ceil(64) as usize];
        for ordinal in 0..n {
            words[ordinal as usize / 64] |= u64::from(dice.below(one_in) > 0) << (ordinal % 64);
        }
        words
    }

    fn lives(&self, ordinal: u32) -> bool {
        self.live.as_ref().is_none_or(|live| bit(live, ordinal))
    }

    /// Frequencies of `term` in the body and in the titles of every leaf.
    fn freqs(&self, term: usize) -> Vec<(u32, u32)> {
        let mut freqs = vec![(0, 0); self.leaves.len()];
        for posting in &self.bodies[term] {
            freqs[posting.ordinal as usize].0 = posting.term_freq;
        }
        for run in &self.runs[term] {
            for freq in &mut freqs[run.start as usize..run.end as usize] {
                freq.1 = run.freq;
            }
        }
        freqs
    }
}

fn bit(words: &[u64], ordinal: u32) -> bool {
    words[ordinal as usize / 64] >> (ordinal % 64) & 1 == 1
}

/// A query for the first terms of some worlds, with their boosts.
struct Case<'a> {
    worlds: &'a [World],
    options: SearchOptions<'a>,
    boosts: Vec<f32>,
}

impl Case<'_> {
    fn formula(&self) -> Formula {
        let live = || {
            self.worlds.iter().flat_map(|world| {
                (0..world.n()).filter(|at| world.lives(*at)).map(move |at| (world, at as usize))
            })
        };
        let n = u32::try_from(live().count()).unwrap();
        let mut formula =
            Formula { bm25: self.options.bm25, weights: self.options.weights, mean_len: 0.0, live: n };
        let lens = live().map(|(world, at)| formula.len(world.leaves[at].own_len, world.full_lens[at]));
        formula.mean_len = lens.sum::<f64>() / f64::from(n.max(1));
        formula
    }

    /// Each leaf with a score and how many of the terms it has, by scoring every one.
    fn every(&self) -> Vec<(Scored, usize)> {
        let formula = self.formula();
        let mut found: Vec<(Scored, usize)> = Vec::new();
        let mut dfs = vec![0; self.boosts.len()];
        let freqs: Vec<Vec<Vec<(u32, u32)>>> = self
            .worlds
            .iter()
            .map(|world| (0..self.boosts.len()).map(|term| world.freqs(term)).collect())
            .collect();
        let counts = |(body, title): (u32, u32)| formula.term_freq(body, u64::from(title)) > 0.0;
        for (world, freqs) in self.worlds.iter().zip(&freqs) {
            for (df, freqs) in dfs.iter_mut().zip(freqs) {
                let live = (0..).zip(freqs).filter(|(at, freq)| world.lives(*at) && counts(**freq));
                *df += u32::try_from(live.count()).unwrap();
            }
        }
        for (world, freqs) in self.worlds.iter().zip(&freqs) {
            for at in (0..world.n()).filter(|at| world.lives(*at)) {
                let leaf = world.leaves[at as usize];
                let node = NodeId(leaf.node);
                let in_range = self.options.range.is_none_or(|range| range.contains(node));
                if !in_range || world.filter.as_ref().is_some_and(|filter| !bit(filter, at)) {
                    continue;
                }
                let len = formula.len(leaf.own_len, world.full_lens[at as usize]);
                let (mut score, mut has) = (0.0, 0);
                for ((boost, df), freqs) in self.boosts.iter().zip(&dfs).zip(freqs) {
                    let (body, title) = freqs[at as usize];
                    if counts((body, title)) {
                        has += 1;
                        let tf = formula.term_freq(body, u64::from(title));
                        score += formula.weight(*boost, *df).of_weighted(tf, len);
                    }
                }
                found.push((Scored { node, score }, has));
            }
        }
        found.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        found
    }

    fn dfs(&self) -> Vec<u32> {
        let formula = self.formula();
        let df = |term: usize| {
            let count = |world: &World| {
                let freqs = world.freqs(term);
                let has = |at: u32| {
                    let (body, title) = freqs[at as usize];
                    formula.term_freq(body, u64::from(title)) > 0.0
                };
                (0..world.n()).filter(|at| world.lives(*at) && has(*at)).count()
            };
            u32::try_from(self.worlds.iter().map(count).sum::<usize>()).unwrap()
        };
        (0..self.boosts.len()).map(df).collect()
    }

    fn search(&self, all: bool) -> Result<Vec<Scored>, crate::Error> {
        let formula = self.formula();
        let weights = self.options.weights;
        let is_full = weights == FieldWeights::default();
        let classes: Vec<Vec<u8>> = self
            .worlds
            .iter()
            .map(|world| {
                let len = |(leaf, full): (&LeafRecord, &u32)| formula.len(leaf.own_len, *full);
                let whole = |len: f64| format!("{}", len.floor()).parse::<u32>().unwrap_or(u32::MAX);
                world.leaves.iter().zip(&world.full_lens).map(|pair| length_class(whole(len(pair)))).collect()
            })
            .collect();
        let floors: Vec<Vec<u8>> = classes
            .iter()
            .map(|classes| classes.chunks(256).map(|chunk| *chunk.iter().min().unwrap()).collect())
            .collect();
        let mut shares = Vec::new();
        for ((world, classes), floors) in self.worlds.iter().zip(&classes).zip(&floors) {
            let range = self.options.range.map_or(0..world.n(), |range| {
                let below = |node: u32| world.leaves.partition_point(|leaf| leaf.node < node);
                u32::try_from(below(range.first.0)).unwrap()..u32::try_from(below(range.last.0 + 1)).unwrap()
            });
            let longest = world.full_lens.iter().copied().max().unwrap_or(0);
            let segment = Segment {
                leaves: &world.leaves,
                full_lens: &world.full_lens,
                classes,
                floors,
                is_full,
                maxima: maxima_factor(&formula, world.mean_len, longest),
                live: world.live.as_deref(),
                filter: world.filter.clone(),
                range,
            };
            let mut lists = Vec::new();
            for term in 0..self.boosts.len() {
                let count = u32::try_from(world.bodies[term].len()).unwrap();
                if count > 0 && weights.body > 0.0 {
                    let list = PostingList::parse(&world.lists[term], count, world.n()).unwrap();
                    lists.push(List::of_bodies(2 * term, list, &segment, None)?);
                }
                if !world.runs[term].is_empty() && weights.title > 0.0 {
                    lists.push(List::of_titles(2 * term + 1, world.runs[term].clone(), &segment));
                }
            }
            shares.push(Share { segment, lists });
        }
        let terms =
            self.boosts.iter().zip(self.dfs()).map(|(boost, df)| formula.weight(*boost, df)).collect();
        let plan = Plan::new(&self.options, formula, terms, &mut shares);
        if all { search_all(&plan, &mut shares) } else { search_any(&plan, &mut shares) }
    }

    /// Both searches, on every level, against scoring every leaf.
    fn check(&self) -> Result<(), TestCaseError> {
        let every = self.every();
        let any = every.iter().filter(|(scored, _)| scored.score > 0.0).map(|(scored, _)| *scored);
        let any: Vec<Scored> = any.take(self.options.limit).collect();
        let all = every.iter().filter(|(_, has)| *has == self.boosts.len()).map(|(scored, _)| *scored);
        let all: Vec<Scored> = all.take(self.options.limit).collect();
        for level in Level::ALL.into_iter().filter(|level| use_level(*level)) {
            prop_assert_eq!(&self.search(false).unwrap(), &any, "any, {:?}", level);
            prop_assert_eq!(&self.search(true).unwrap(), &all, "all, {:?}", level);
        }
        Ok(())
    }
}

fn spreads() -> impl Strategy<Value = Vec<Spread>> {
    let one_in = prop_oneof![1_u32..4, 4_u32..32, 32_u32..300];
    let titles = prop_oneof![3 => Just(0_u32), 1 => 1_u32..4];
    let spread = (one_in, prop_oneof![3 => 1_u32..5, 1 => 5_u32..40], titles)
        .prop_map(|(one_in, most, titles)| Spread { one_in, most, titles });
    prop::collection::vec(spread, 1..6)
}

fn weights() -> impl Strategy<Value = FieldWeights> {
    prop_oneof![
        5 => Just(FieldWeights::default()),
        1 => Just(FieldWeights { body: 1.0, title: 0.0 }),
        1 => Just(FieldWeights { body: 0.0, title: 1.0 }),
        1 => Just(FieldWeights { body: 0.7, title: 2.5 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_best_are_those_of_scoring_every_leaf(
        seed in any::<u64>(),
        sizes in prop::collection::vec(prop_oneof![0_u32..40, 200_u32..3000], 0..4),
        longest in prop_oneof![2 => Just(90_u32), 1 => Just(400_u32), 1 => Just(6000_u32)],
        spreads in spreads(),
        limit in prop_oneof![3 => 1_usize..20, 1 => 20_usize..200, 1 => Just(10_000_usize)],
        weights in weights(),
        dead in prop::option::of(2_u32..30),
        kept in prop::option::of(prop_oneof![2_u32..20, Just(1)]),
        range in prop::option::of((0_u32..8000, 0_u32..6000)),
        is_boosted in any::<bool>(),
        bm25 in prop_oneof![4 => Just(Bm25::default()), 1 => (0.0_f64..3.0, 0.0_f64..=1.0).prop_map(|(k1, b)| Bm25 { k1, b })],
    ) {
        let mut dice = Dice(seed);
        let mut worlds: Vec<World> = Vec::new();
        let mut node = 1;
        for n in sizes {
            // Means differ, so that stored maxima must be made to hold.
            let longest = longest * (1 + dice.below(3));
            let mut world = World::new(&mut dice, node, n, longest, &spreads);
            world.live = dead.map(|one_in| World::bits(&mut dice, n, one_in));
            world.filter = kept.map(|one_in| match one_in {
                1 => vec![0; n.div_ceil(64) as usize],
                _ => World::bits(&mut dice, n, one_in),
            });
            node += 2 * n + 7;
            worlds.push(world);
        }
        let boosts = spreads.iter().map(|_| if is_boosted { [0.5, 1.0, 3.0][dice.below(3) as usize] } else { 1.0 });
        let boosts = boosts.collect();
        let range = range.map(|(first, more)| crate::NodeRange::new(NodeId(first), NodeId(first + more)));
        let options = SearchOptions { limit, weights, bm25, range, ..SearchOptions::default() };

        Case { worlds: &worlds, options, boosts }.check()?;
    }
}

/// 40,000 leaves: several windows, all four kinds of lists, and a bar that rises from window to window.
#[test]
fn the_best_of_many_windows_are_those_of_scoring_every_leaf() {
    let spread = |one_in, most, titles| Spread { one_in, most, titles };
    let spreads = [
        spread(2, 3, 0),
        spread(9, 20, 0),
        spread(60, 4, 0),
        spread(900, 6, 0),
        spread(14, 2, 3),
        spread(3000, 40, 0),
    ];
    for terms in [1, 2, 3, 4, 5, 6] {
        for limit in [1, 10, 100, 50_000] {
            let mut dice = Dice(terms as u64);
            let worlds = [
                World::new(&mut dice, 1, 40_000, 90, &spreads[6 - terms..]),
                World::new(&mut dice, 90_000, 20_000, 120, &spreads[6 - terms..]),
            ];
            let options = SearchOptions { limit, ..SearchOptions::default() };

            Case { worlds: &worlds, options, boosts: vec![1.0; terms] }.check().unwrap();
        }
    }
}

#[test]
fn a_term_with_boost_0_is_required_but_adds_nothing() {
    let spread = |one_in| Spread { one_in, most: 3, titles: 0 };
    let worlds = [World::new(&mut Dice(7), 1, 1000, 90, &[spread(3), spread(5)])];
    let options = SearchOptions { limit: 30, ..SearchOptions::default() };

    for boosts in [vec![1.0, 0.0], vec![0.0, 0.0]] {
        Case { worlds: &worlds, options, boosts }.check().unwrap();
    }
}

#[test]
fn a_search_ends_when_it_is_cancelled_or_its_time_is_over() {
    let worlds = [World::new(&mut Dice(7), 1, 1000, 90, &[Spread { one_in: 2, most: 3, titles: 0 }])];
    let cancelled = AtomicBool::new(true);
    let deadline = Some(Instant::now());
    let none = SearchOptions::default();

    for all in [false, true] {
        let kind = |options| {
            let case = Case { worlds: &worlds, options, boosts: vec![1.0] };
            case.search(all).unwrap_err().kind()
        };
        assert_eq!(kind(SearchOptions { cancel: Some(&cancelled), ..none }), ErrorKind::Cancelled);
        assert_eq!(kind(SearchOptions { deadline, ..none }), ErrorKind::DeadlineExceeded);
    }
}

/// The bytes of a list may be damaged where no check of a search looks.
#[test]
fn damaged_lists_give_leaves_or_an_error() {
    let spread = |one_in, titles| Spread { one_in, most: 20, titles };
    let spreads = [spread(2, 0), spread(9, 0), spread(60, 1), spread(400, 0)];
    let mut dice = Dice(11);
    let options = SearchOptions { limit: 20, ..SearchOptions::default() };
    for _ in 0..400 {
        let mut world = World::new(&mut dice, 1, 5000, 90, &spreads);
        for term in 0..4 {
            let intact = world.lists[term].clone();
            let at = dice.below(u32::try_from(intact.len()).unwrap()) as usize;
            world.lists[term][at] ^= 1 << dice.below(8);
            let count = u32::try_from(world.bodies[term].len()).unwrap();
            if PostingList::parse(&world.lists[term], count, world.n()).is_err() {
                world.lists[term] = intact;
            }
        }
        let worlds = [world];
        let case = Case { worlds: &worlds, options, boosts: vec![1.0; 4] };
        for all in [false, true] {
            if let Ok(found) = case.search(all) {
                assert!(found.len() <= 20);
                assert!(found.iter().all(|scored| worlds[0].leaves.iter().any(|l| l.node == scored.node.0)));
            }
        }
    }
}
