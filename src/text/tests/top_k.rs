//! Searches of an index against the scores of all its leaves.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::support::Node;
use super::support::WORDS;
use super::support::forest;
use super::support::groups;
use super::support::index;
use super::support::steps;
use crate::error::ErrorKind;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::kernels::Level;
use crate::kernels::use_level;
use crate::text::Bm25;
use crate::text::FieldWeights;
use crate::text::NodeTerms;
use crate::text::Scored;
use crate::text::Scorer;
use crate::text::SearchOptions;
use crate::text::TextIndex;
use crate::text::WeightedTerm;
use crate::text::bm25::Weight;
use crate::text::bm25::idf;

/// Each live leaf with its score and how many of the terms it has, best first, by looking at every one.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn every(index: &TextIndex, terms: &[WeightedTerm<'_>], options: &SearchOptions<'_>) -> Vec<(Scored, usize)> {
    let view = index.everything();
    let words: Vec<&str> = terms.iter().map(|term| term.term).collect();
    let hits = index.hits(&view, &words).unwrap();
    let FieldWeights { body, title } = options.weights;
    let (body, title) = (f64::from(body), f64::from(title));
    let lens: Vec<f64> = view
        .own_lens()
        .iter()
        .zip(view.full_lens())
        .map(|(own, full)| body * f64::from(*own) + title * f64::from(full - own))
        .collect();
    let n = view.leaf_count();
    let mean = if n == 0 { 0.0 } else { lens.iter().sum::<f64>() / f64::from(n) };
    let mut found: Vec<(f32, usize)> = vec![(0.0, 0); n as usize];
    for (term, hits) in terms.iter().zip(&hits) {
        let mut freqs: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (leaf, freq) in hits.leaves.iter().zip(&hits.term_freqs) {
            freqs.entry(*leaf).or_default().0 += u64::from(*freq);
        }
        for heading in &hits.headings {
            for leaf in heading.leaves.clone() {
                freqs.entry(leaf).or_default().1 += u64::from(heading.term_freq);
            }
        }
        let weighted = |(own, above): &(u64, u64)| body * *own as f64 + title * *above as f64;
        freqs.retain(|_, freq| weighted(freq) > 0.0);
        let df = u32::try_from(freqs.len()).unwrap();
        let weight = Weight::new(options.bm25, f64::from(term.boost), idf(n, df), mean);
        for (leaf, freq) in &freqs {
            let (score, has) = &mut found[*leaf as usize];
            *score += weight.of_weighted(weighted(freq), lens[*leaf as usize]);
            *has += 1;
        }
    }
    let leaves = view.leaves().iter().zip(found);
    let mut scored: Vec<(Scored, usize)> =
        leaves.map(|(&node, (score, has))| (Scored { node, score }, has)).collect();
    scored.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
    scored
}

/// All searches on every level against looking at every leaf.
fn check(
    index: &TextIndex,
    terms: &[WeightedTerm<'_>],
    options: &SearchOptions<'_>,
) -> Result<(), TestCaseError> {
    let every = every(index, terms, options);
    let allowed = |scored: &Scored| {
        options.filter.is_none_or(|filter| filter.contains(scored.node.0))
            && options.range.is_none_or(|range| range.contains(scored.node))
    };
    let best = |has: usize| {
        let found = every.iter().filter(|(scored, terms)| *terms >= has && allowed(scored));
        found.map(|(scored, _)| *scored).take(options.limit).collect::<Vec<_>>()
    };
    let (mut any, all) = (best(1), if terms.is_empty() { Vec::new() } else { best(terms.len()) });
    any.retain(|scored| scored.score > 0.0);
    let nodes: Vec<NodeId> = every.iter().map(|(scored, _)| scored.node).chain([NodeId(u32::MAX)]).collect();
    let scores: Vec<f32> = every.iter().map(|(scored, _)| scored.score).chain([0.0]).collect();
    for level in Level::ALL.into_iter().filter(|level| use_level(*level)) {
        prop_assert_eq!(&index.search_any(terms, options).unwrap(), &any, "any, {:?}", level);
        prop_assert_eq!(&index.search_all(terms, options).unwrap(), &all, "all, {:?}", level);
        prop_assert_eq!(&index.scores_of(terms, &nodes, options).unwrap(), &scores, "{:?}", level);
    }
    let few = nodes.len().min(9);
    prop_assert_eq!(&index.scores_of(terms, &nodes[..few], options).unwrap(), &scores[..few]);
    Ok(())
}

fn all_weights() -> impl Strategy<Value = FieldWeights> {
    prop_oneof![
        4 => Just(FieldWeights::default()),
        1 => Just(FieldWeights { body: 1.0, title: 0.0 }),
        1 => Just(FieldWeights { body: 0.0, title: 1.0 }),
        1 => Just(FieldWeights { body: 1.0, title: 2.0 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_search_gives_the_best_of_all_scores(
        steps in steps(),
        deletes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3),
        filter in prop::option::of(prop::collection::btree_set(1_u32..70, 0..40)),
        range in prop::option::of((0_u32..40, 0_u32..40)),
        limit in 0_usize..8,
        weights in all_weights(),
        question in prop::collection::btree_set(0_usize..7, 0..5),
    ) {
        let nodes = forest(&steps);
        let mut deleted = RoaringBitmap::new();
        for (pick, whole) in &deletes {
            let node = &nodes[pick.index(nodes.len())].at;
            deleted.insert_range(node.node.0..=if *whole { node.last.0 } else { node.node.0 });
        }
        let index = index(&groups(&nodes), &deleted);
        let terms: Vec<WeightedTerm<'_>> = question
            .into_iter()
            .map(|word| WeightedTerm::new(WORDS.get(word).copied().unwrap_or("absent")))
            .collect();
        let filter: Option<RoaringBitmap> = filter.map(|nodes| nodes.into_iter().collect());
        let range = range.map(|(first, more)| NodeRange::new(NodeId(first), NodeId(first + more)));
        let options = SearchOptions { filter: filter.as_ref(), range, limit, weights, ..SearchOptions::default() };

        check(&index, &terms, &options)?;
    }
}

/// Three segments with lists of all kinds, titles, frequencies up to 40 and leaves of thousands of terms.
fn library() -> Vec<Node> {
    const RARE: [&str; 5] = ["one", "two", "three", "four", "five"];
    let mut state = 5_u64;
    let mut dice = |bound: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(((state >> 33) * u64::from(bound)) >> 31).unwrap()
    };
    let mut nodes: Vec<Node> = Vec::new();
    let mut next = 1;
    for document in 0..90 {
        let root = NodeId(next);
        let leaves = 20 + dice(100);
        let last = NodeId(next + leaves);
        let at = NodeTerms { node: root, parent: NodeId(0), last, kind: 1, level: 0, is_leaf: false };
        let title = if document % 7 == 0 { vec!["alpha", "two"] } else { vec!["title"; document % 5] };
        nodes.push(Node { at, terms: title, attribute: None });
        for leaf in 1..=leaves {
            let node = NodeId(next + leaf);
            let at = NodeTerms { node, parent: root, last: node, kind: 3, level: 1, is_leaf: true };
            let most = if dice(400) == 0 { 6000 } else { 60 };
            let mut terms = vec!["filler"; 5 + dice(most) as usize];
            for (word, one_in) in WORDS.iter().zip([2, 3, 8, 15, 40, 60]) {
                if dice(one_in) == 0 {
                    let many = if dice(30) == 0 { 40 } else { 3 };
                    terms.extend(std::iter::repeat_n(*word, 1 + dice(many) as usize));
                }
            }
            for (word, one_in) in RARE.iter().zip([100, 300, 900, 2000, 4000]) {
                terms.extend((dice(one_in) == 0).then_some(*word));
            }
            nodes.push(Node { at, terms, attribute: None });
        }
        next = last.0 + 1;
    }
    nodes
}

#[test]
fn every_search_of_long_lists_gives_the_best_of_all_scores() {
    let nodes = library();
    let last = nodes.last().unwrap().at.last.0;
    let odd: RoaringBitmap = (1..=last).filter(|node| node * 7 % 11 < 2).collect();
    let runs: RoaringBitmap = (300..700).chain(2500..2600).chain(4000..last).collect();
    let questions: [&[&str]; 6] = [
        &["alpha"],
        &["alpha", "beta"],
        &["zeta", "two", "filler", "eps"],
        &["three", "five"],
        &["title", "gamma", "delta", "one", "absent"],
        &["alpha", "beta", "gamma", "delta", "eps", "zeta", "one", "two", "three", "four", "five", "title"],
    ];
    for deleted in [RoaringBitmap::new(), (1..=last).filter(|node| node % 13 == 5).collect()] {
        let index = index(&groups(&nodes), &deleted);
        for (at, question) in questions.iter().enumerate() {
            let terms: Vec<WeightedTerm<'_>> = question.iter().map(|term| WeightedTerm::new(term)).collect();
            let range = Some(NodeRange::new(NodeId(777), NodeId(4_321)));
            let plain = SearchOptions::default();
            for options in [
                plain,
                SearchOptions { limit: 200, ..plain },
                SearchOptions { limit: 100_000, ..plain },
                SearchOptions { filter: Some(&odd), ..plain },
                SearchOptions { filter: Some(&runs), range, ..plain },
                SearchOptions { weights: FieldWeights { body: 1.0, title: 3.5 }, ..plain },
                SearchOptions { weights: FieldWeights { body: 1.0, title: 0.0 }, range, ..plain },
                SearchOptions { bm25: Bm25 { k1: 0.9, b: 0.4 }, ..plain },
            ] {
                check(&index, &terms, &options).unwrap_or_else(|why| panic!("question {at}: {why}"));
            }
        }
    }
}

#[test]
fn scores_are_those_of_the_scorer_to_the_bit() {
    let index = index(&groups(&library()), &(100..200).collect());
    let question = ["title", "alpha", "three", "filler"];
    let view = index.everything();
    let hits = index.hits(&view, &question).unwrap();
    let scores = Scorer::new(&view, &hits, Bm25::default()).leaf_scores();

    let found = index.search(&question, None, usize::MAX).unwrap();

    let mut expected: Vec<Scored> =
        view.leaves().iter().zip(scores).map(|(&node, score)| Scored { node, score }).collect();
    expected.retain(|scored| scored.score > 0.0);
    expected.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
    assert_eq!(found, expected);
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    let index = index(&[&forest(&[(8, vec![0]), (0, vec![0])])], &RoaringBitmap::new());
    let plain = SearchOptions::default();
    let why = |boost: f32, options: SearchOptions<'_>| {
        let terms = [WeightedTerm { term: "alpha", boost }];
        let error = index.search_any(&terms, &options).unwrap_err();
        assert_eq!(index.search_all(&terms, &options).unwrap_err().to_string(), error.to_string());
        assert_eq!(index.scores_of(&terms, &[], &options).unwrap_err().to_string(), error.to_string());
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    let weights = |body, title| SearchOptions { weights: FieldWeights { body, title }, ..plain };

    let boost = "term \"alpha\" has the boost -1; a boost is from 0 to 1,000,000";
    assert_eq!(why(-1.0, plain), boost);
    assert!(why(f32::NAN, plain).contains("the boost NaN"));
    assert!(why(f32::INFINITY, plain).contains("the boost inf"));
    assert!(why(1.0, weights(0.0, 0.0)).contains("not both 0"));
    assert!(why(1.0, weights(f32::NAN, 1.0)).contains("NaN for the body"));
    assert!(why(1.0, weights(1.0, -2.0)).contains("-2 for the title"));
    assert!(why(1.0, SearchOptions { bm25: Bm25 { k1: f64::NAN, b: 0.5 }, ..plain }).contains("k1 NaN"));
    assert!(why(1.0, SearchOptions { bm25: Bm25 { k1: 1.0, b: 1.5 }, ..plain }).contains("b 1.5"));
}

#[test]
fn a_term_named_again_is_passed_over() {
    let index = index(&groups(&library()), &RoaringBitmap::new());
    let once = [WeightedTerm::new("alpha"), WeightedTerm::new("beta")];
    let again = [once[0], once[1], WeightedTerm { boost: 9.0, ..once[0] }];

    let options = SearchOptions::default();

    assert_eq!(index.search_any(&again, &options).unwrap(), index.search_any(&once, &options).unwrap());
    assert_eq!(index.search_all(&again, &options).unwrap(), index.search_all(&once, &options).unwrap());
}

#[test]
fn a_query_of_too_many_terms_is_refused() {
    let index = index(&[&forest(&[(8, vec![0]), (0, vec![0])])], &RoaringBitmap::new());
    let words: Vec<String> = (0..=crate::text::MAX_TERMS).map(|at| format!("w{at}")).collect();

    let error = index.search(&words, None, 3).unwrap_err();

    assert_eq!(error.to_string(), "the query has 8193 distinct terms; it may have 8192");
    assert_eq!(index.search(&words[1..], None, 3).unwrap(), []);
}

#[test]
fn a_cancelled_search_says_so() {
    let index = index(&[&forest(&[(8, vec![0]), (0, vec![0])])], &RoaringBitmap::new());
    let cancel = AtomicBool::new(true);
    let options = SearchOptions { cancel: Some(&cancel), ..SearchOptions::default() };

    let error = index.search_any(&[WeightedTerm::new("alpha")], &options).unwrap_err();

    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Cancelled, "the search was cancelled")
    );
}
