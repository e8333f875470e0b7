//! Ways through small graphs that can be followed by hand, and through random ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;
use crate::format::graph::MemberRecord;
use crate::format::graph::Support;
use crate::ids::EntityId;
use crate::ids::HyperedgeId;
use crate::ids::NodeId;

/// A hyperedge: kind (1 or 2), weight, members. All are supported by node 1, which mentions all entities up to
/// `entities`.
type Edge<'a> = (u32, f32, &'a [u32]);

fn graph(entities: u32, edges: &[Edge<'_>]) -> Graph {
    let mut rows = GraphRows::default();
    for ((kind, weight, members), id) in edges.iter().zip(1..) {
        let members: Vec<MemberRecord> =
            members.iter().map(|target| MemberRecord { role: 3, is_node: false, target: *target }).collect();
        rows.add_edge(id, *kind, &members);
        rows.add_support(Support { object: id, node: 1, weight: *weight });
    }
    for id in 1..=entities {
        rows.add_mention(Support { object: id, node: 1, weight: 1.0 });
    }
    let names = [(1, "relation"), (2, "link"), (3, "")].map(|(id, name)| (id, name.to_owned()));
    Graph::new(&rows.finish(&RoaringBitmap::new()), names.into()).expect("sound rows")
}

fn entity(id: u32) -> Object {
    Object::Entity(EntityId(id))
}

fn reached(expansion: &Expansion) -> Vec<(Object, usize)> {
    expansion.reached.iter().map(|reached| (reached.object, reached.hops)).collect()
}

#[test]
fn a_graph_is_read_both_ways() {
    let graph = graph(3, &[(1, 1.0, &[1, 2]), (2, 5.0, &[2, 3, 2])]);

    let ids = |object| graph.incident(object).map(HyperedgeId::get).collect::<Vec<_>>();
    assert_eq!((ids(entity(1)), ids(entity(2)), ids(entity(3))), (vec![1], vec![2, 1], vec![2]));
    let members: Vec<Object> = graph.members(HyperedgeId(2)).map(|member| member.object).collect();
    assert_eq!(members, [entity(2), entity(3), entity(2)]);
    assert_eq!((graph.degree(entity(2)), graph.specificity(entity(2)).mentions), (3, 1));
    assert_eq!(graph.supported_by(NodeId(1)).map(HyperedgeId::get).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(graph.mentioned_by(NodeId(1)).len(), 3);
    assert_eq!((graph.kind(HyperedgeId(2)), graph.kind(HyperedgeId(9))), (Some("link"), None));
    for at in 0..graph.object_count() {
        assert_eq!(graph.index_of(graph.object_at(at)), Some(at));
    }
}

#[test]
fn an_empty_graph_answers_everything_with_nothing() {
    let graph = graph(0, &[]);

    assert_eq!(reached(&Expand::default().run(&graph, &[entity(1)])), []);
    let ranks = PageRank::default().run(&graph, &[(entity(1), 1.0)], 5).expect("no error");
    assert_eq!((ranks.best, ranks.unknown), (vec![], vec![entity(1)]));
    assert_eq!(BeamPaths::default().run(&graph, &[entity(1)], |_| Ok(1.0)).expect("no error"), []);
}

/// 1 - 2 - 3 - 1 is a circle, 4 holds itself, 3 - 5 leads out.
fn circle() -> Graph {
    graph(5, &[(1, 1.0, &[1, 2]), (1, 1.0, &[2, 3]), (1, 1.0, &[3, 1]), (1, 1.0, &[4, 4]), (2, 1.0, &[3, 5])])
}

#[test]
fn an_expansion_around_a_circle_ends() {
    let found = Expand { hops: 99, ..Expand::default() }.run(&circle(), &[entity(1), entity(1), entity(4)]);

    assert_eq!(reached(&found), [(entity(2), 1), (entity(3), 1), (entity(5), 2)]);
    assert_eq!(found.followed.iter().map(|edge| edge.0).collect::<Vec<_>>(), [1, 3, 4, 2, 5]);
    assert!(!found.cut);
}

#[test]
fn kinds_and_hops_bound_an_expansion() {
    let graph = circle();
    let links = Expand { kinds: Some(vec!["link".into()]), ..Expand::default() };
    let nothing = Expand { kinds: Some(vec!["nonsense".into()]), ..Expand::default() };

    assert_eq!(reached(&links.run(&graph, &[entity(3)])), [(entity(5), 1)]);
    assert_eq!(reached(&nothing.run(&graph, &[entity(3)])), []);
    assert_eq!(reached(&Expand { hops: 0, ..Expand::default() }.run(&graph, &[entity(1)])), []);
    let from_edge = Expand { hops: 1, ..Expand::default() }.run(&graph, &[Object::Hyperedge(HyperedgeId(2))]);
    assert_eq!(reached(&from_edge), [(entity(2), 1), (entity(3), 1)]);
}

/// graphiti #1506: a limit that held after the expansion, not before.
#[test]
fn a_star_of_100_000_spokes_costs_what_its_bounds_allow() {
    let members: Vec<[u32; 2]> = (2..=100_001).map(|spoke| [1, spoke]).collect();
    let edges: Vec<Edge<'_>> = members.iter().map(|members| (1, 1.0, members.as_slice())).collect();
    let graph = graph(100_001, &edges);

    let capped = Expand { per_anchor: 5, ..Expand::default() }.run(&graph, &[entity(1)]);
    let tight = Expand { per_anchor: usize::MAX, total: 7, ..Expand::default() }.run(&graph, &[entity(1)]);
    let filtered = Expand { kinds: Some(vec!["link".into()]), visits: 50, ..Expand::default() };
    let filtered = filtered.run(&graph, &[entity(1)]);

    assert_eq!(reached(&capped).len(), 5);
    assert!(capped.cut && capped.visits < 30, "{}", capped.visits);
    assert!(tight.cut && reached(&tight).len() == 7 && tight.visits < 30, "{}", tight.visits);
    assert_eq!((filtered.visits, filtered.cut, filtered.reached.len()), (50, true, 0));
    let rank = PageRank { precision: Precision::Push(1e-4), ..PageRank::default() };
    let ranks = rank.run(&graph, &[(entity(2), 1.0)], 1).expect("sound");
    assert_eq!(ranks.best.len(), 1);
}

#[test]
fn the_heaviest_hyperedges_are_followed_first() {
    let graph = graph(4, &[(1, 1.0, &[1, 2]), (1, 3.0, &[1, 3]), (1, 2.0, &[1, 4])]);

    let found = Expand { per_anchor: 2, ..Expand::default() }.run(&graph, &[entity(1)]);

    assert_eq!(reached(&found), [(entity(3), 1), (entity(4), 1)]);
    assert_eq!(found.reached[0].via, HyperedgeId(2));
}

fn walk(on: WalkOn, damping: f64, precision: Precision) -> PageRank {
    PageRank { on, damping, precision, ..PageRank::default() }
}

/// Two entities and one hyperedge, damping 1/2, seed 1. Members: x1 = 1/2 + x2/2, x2 = x1/2: 2/3 and 1/3. Incidence:
/// e = (x1 + x2)/2, x1 = 1/2 + e/4, x2 = e/4: e = 1/3, x1 = 7/12, x2 = 1/12.
#[test]
fn page_rank_of_two_entities_worked_by_hand() {
    let graph = graph(2, &[(1, 1.0, &[1, 2])]);
    for precision in [Precision::Full(1e-12), Precision::Push(1e-12)] {
        let rank = |on| walk(on, 0.5, precision).run(&graph, &[(entity(1), 3.0)], 9).expect("sound").best;

        let near = |found: &[(Object, f64)], wanted: &[(Object, f64)]| {
            let same = found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9);
            assert!(same, "{precision:?}: {found:?}");
        };
        near(&rank(WalkOn::Members), &[(entity(1), 2.0 / 3.0), (entity(2), 1.0 / 3.0)]);
        let edge = Object::Hyperedge(HyperedgeId(1));
        near(
            &rank(WalkOn::Incidence),
            &[(entity(1), 7.0 / 12.0), (edge, 1.0 / 3.0), (entity(2), 1.0 / 12.0)],
        );
    }
}

/// Entity 4 holds only itself: on members it leads nowhere and returns to the seeds. With seeds 1 and 4 at 1/2 each and
/// damping 1/2, it has 1/2 * 1/2 / (1 - 1/4) = 1/3; the rest walks the circle from 1.
#[test]
fn a_walker_that_can_go_nowhere_returns_to_a_seed() {
    let graph = circle();
    for precision in [Precision::Full(1e-12), Precision::Push(1e-12)] {
        let seeds = [(entity(4), 1.0), (entity(1), 1.0)];
        let ranks = walk(WalkOn::Members, 0.5, precision).run(&graph, &seeds, 9).expect("sound");

        let of =
            |id| ranks.best.iter().find(|(object, _)| *object == entity(id)).map_or(0.0, |(_, rank)| *rank);
        assert!((of(4) - 1.0 / 3.0).abs() < 1e-9, "{ranks:?}");
        assert!((ranks.best.iter().map(|(_, rank)| rank).sum::<f64>() - 1.0).abs() < 1e-9);
        let alone = walk(WalkOn::Members, 0.5, precision).run(&graph, &[(entity(4), 7.0)], 9).expect("sound");
        assert_eq!(alone.best, [(entity(4), 1.0)]);
    }
}

#[test]
fn seeds_of_no_weight_give_nothing_and_impossible_ones_an_error() {
    let graph = circle();
    let rank = |seeds: &[(Object, f64)]| PageRank::default().run(&graph, seeds, 9);

    assert_eq!(rank(&[]).expect("no seed").best, []);
    assert_eq!(rank(&[(entity(1), 0.0)]).expect("no weight").best, []);
    assert_eq!(rank(&[(entity(77), 1.0)]).expect("unknown").unknown, [entity(77)]);
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(rank(&[(entity(1), weight)]).is_err(), "{weight}");
    }
    for (damping, off) in [(1.0, 1e-6), (-0.1, 1e-6), (f64::NAN, 1e-6), (0.5, 0.0), (0.5, f64::NAN)] {
        assert!(walk(WalkOn::Members, damping, Precision::Push(off)).run(&graph, &[], 9).is_err());
    }
    let huge = rank(&[(entity(1), f64::MAX), (entity(2), f64::MAX)]).expect("finite").best;
    assert!((huge.iter().map(|(_, rank)| rank).sum::<f64>() - 1.0).abs() < 1e-6);
    let still = walk(WalkOn::Members, 0.0, Precision::Best(1e-9)).run(&graph, &[(entity(1), 1.0)], 9);
    assert_eq!(still.expect("sound").best, [(entity(1), 1.0)]);
}

#[test]
fn kinds_and_mentions_change_where_a_walk_goes() {
    let graph = circle();
    let links = PageRank { kinds: Some(vec!["link".into()]), on: WalkOn::Members, ..PageRank::default() };
    let mentions = PageRank { mention_weight: 1.0, ..PageRank::default() };

    let by_links = links.run(&graph, &[(entity(5), 1.0)], 9).expect("sound").best;
    let by_mentions = mentions.run(&graph, &[(entity(5), 1.0)], 99).expect("sound").best;

    assert_eq!(by_links.iter().map(|(object, _)| *object).collect::<Vec<_>>(), [entity(5), entity(3)]);
    assert!(by_mentions.iter().any(|(object, _)| *object == Object::Node(NodeId(1))));
    assert!(by_mentions.iter().any(|(object, _)| *object == entity(4)));
}

#[test]
fn paths_of_a_beam_end_at_a_circle_and_keep_the_best() {
    let graph = circle();
    let score = |edge: HyperedgeId| Ok([0.0, 0.9, 0.5, 0.8, 1.0, f32::NAN][edge.index()]);
    let all =
        BeamPaths { least: 0.1, ..BeamPaths::default() }.run(&graph, &[entity(1)], score).expect("sound");

    let told: Vec<(Vec<u32>, f32)> =
        all.iter().map(|path| (path.steps.iter().map(|(edge, ..)| edge.0).collect(), path.score)).collect();
    // 1-2 by .9; 1-3 by .8; 1-2-3 by (.9 + .5)/2; 1-3-2 by (.8 + .5)/2. Hyperedge 5 is NaN, 4 leads nowhere.
    assert_eq!(
        told.iter().map(|(edges, _)| edges.clone()).collect::<Vec<_>>(),
        [vec![1], vec![3], vec![1, 2], vec![3, 2]]
    );
    for ((_, score), wanted) in told.iter().zip([0.9, 0.8, 0.7, 0.65]) {
        assert!((score - wanted).abs() < 1e-6, "{told:?}");
    }
    let narrow = BeamPaths { beam: 1, least: 0.1, limit: 1, ..BeamPaths::default() };
    assert_eq!(narrow.run(&graph, &[entity(1)], score).expect("sound").len(), 1);
    let failing = BeamPaths::default().run(&graph, &[entity(1)], |_| Err(crate::error::Error::invalid("no")));
    assert!(failing.is_err());
}

/// Plain power iteration over dense matrices: the definition.
fn by_definition(n: usize, edges: &[Edge<'_>], on: WalkOn, damping: f64, seeds: &[(usize, f64)]) -> Vec<f64> {
    let size = if on == WalkOn::Members { n } else { n + edges.len() };
    let mut arcs = vec![vec![0.0_f64; size]; size];
    for (at, (_, weight, members)) in edges.iter().enumerate() {
        let mut own: Vec<usize> = members.iter().map(|id| *id as usize - 1).collect();
        own.sort_unstable();
        own.dedup();
        for u in &own {
            match on {
                WalkOn::Incidence => {
                    arcs[*u][n + at] += f64::from(*weight);
                    arcs[n + at][*u] += f64::from(*weight);
                }
                WalkOn::Members => {
                    for v in own.iter().filter(|v| *v != u) {
                        arcs[*u][*v] +=
                            f64::from(*weight / f32::from(u8::try_from(own.len() - 1).expect("few")));
                    }
                }
            }
        }
    }
    let total: f64 = seeds.iter().map(|(_, weight)| weight).sum();
    let mut start = vec![0.0; size];
    for (at, weight) in seeds {
        start[*at] += weight / total;
    }
    let mut now = start.clone();
    for _ in 0..300 {
        let mut next: Vec<f64> = start.iter().map(|x| (1.0 - damping) * x).collect();
        for u in 0..size {
            let degree: f64 = arcs[u].iter().sum();
            for v in 0..size {
                next[v] += damping * now[u] * if degree > 0.0 { arcs[u][v] / degree } else { start[v] };
            }
        }
        now = next;
    }
    now
}

fn random_edges() -> impl Strategy<Value = Vec<(f32, Vec<u32>)>> {
    let weight = prop_oneof![Just(1.0_f32), Just(0.25), Just(7.5)];
    // Up to 20 members, so that some are hubs.
    proptest::collection::vec((weight, proptest::collection::vec(1_u32..=24, 1..=20)), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn push_and_iteration_agree_with_the_definition_within_their_bounds(
        edges in random_edges(),
        seeds in proptest::collection::vec((1_u32..=24, 0.1_f64..5.0), 1..4),
        damping in 0.0_f64..0.9,
        members in any::<bool>(),
        level in prop_oneof![Just(1e-2), Just(1e-4), Just(1e-9)],
    ) {
        let edges: Vec<Edge<'_>> = edges.iter().map(|(weight, members)| (1, *weight, members.as_slice())).collect();
        let graph = graph(24, &edges);
        let on = if members { WalkOn::Members } else { WalkOn::Incidence };
        let at: Vec<(usize, f64)> = seeds.iter().map(|(id, weight)| (*id as usize - 1, *weight)).collect();
        let wanted = by_definition(24, &edges, on, damping, &at);
        let objects: Vec<(Object, f64)> = seeds.iter().map(|(id, weight)| (entity(*id), *weight)).collect();
        // Objects: entities, one node, hyperedges.
        let rank_of: BTreeMap<Object, f64> = wanted
            .iter()
            .enumerate()
            .map(|(at, rank)| (graph.object_at(if at < 24 { at } else { at + 1 }), *rank))
            .collect();

        let full = walk(on, damping, Precision::Full(1e-9)).distribution(&graph, &objects, 1e-9).expect("sound");
        let pushed = walk(on, damping, Precision::Push(level)).run(&graph, &objects, 999).expect("sound");
        let surely = walk(on, damping, Precision::Best(1e-9)).run(&graph, &objects, 3).expect("sound");

        let distance: f64 = (0..graph.object_count())
            .map(|at| (full[at] - rank_of.get(&graph.object_at(at)).copied().unwrap_or(0.0)).abs())
            .sum();
        prop_assert!(distance < 1e-8, "{distance}");
        prop_assert!((full.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let mass: f64 = pushed.best.iter().map(|(_, rank)| rank).sum();
        prop_assert!((mass - 1.0).abs() < 1e-9, "{mass}");
        let most = edges.iter().map(|(_, weight, members)| f64::from(*weight) * f64::from(u8::try_from(members.len()).expect("few"))).sum::<f64>();
        let mut apart = 0.0;
        for (object, rank) in &pushed.best {
            let off = (rank - rank_of[object]).abs();
            apart += off;
            prop_assert!(off <= pushed.off_by_degree * most + 1e-9, "{object:?} {off}");
        }
        prop_assert!(apart <= pushed.off + 1e-9, "{apart} {}", pushed.off);
        // The best are the best, but for ties.
        let mut sorted: Vec<f64> = rank_of.values().copied().collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for ((object, _), least) in surely.best.iter().zip(&sorted) {
            prop_assert!(rank_of[object] >= sorted[2.min(sorted.len() - 1)] - 1e-8, "{object:?} {least}");
        }
    }

    #[test]
    fn an_expansion_keeps_its_bounds_and_never_reaches_twice(
        edges in random_edges(),
        hops in 0_usize..5,
        per_anchor in 0_usize..6,
        total in 0_usize..20,
        visits in 0_usize..200,
    ) {
        let edges: Vec<Edge<'_>> = edges.iter().map(|(weight, members)| (1, *weight, members.as_slice())).collect();
        let graph = graph(24, &edges);
        let bounds = Expand { hops, kinds: None, per_anchor, total, visits };

        let found = bounds.run(&graph, &[entity(1), entity(2), entity(99)]);

        prop_assert!(found.reached.len() <= total && found.visits <= visits);
        prop_assert!(found.reached.iter().all(|reached| reached.hops <= hops));
        let mut objects: Vec<Object> = found.reached.iter().map(|reached| reached.object).collect();
        objects.sort_unstable();
        objects.dedup();
        prop_assert_eq!(objects.len(), found.reached.len());
        prop_assert!(!objects.contains(&entity(1)) && !objects.contains(&entity(2)));
        prop_assert_eq!(&found, &bounds.run(&graph, &[entity(1), entity(2), entity(99)]));
    }
}
