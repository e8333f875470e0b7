//! Queries against an oracle that walks lists of words: the same matches, and the same scores to the bit.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::query::any_query;
use super::support::Memory;
use super::support::Node;
use super::support::WORDS;
use super::support::forest;
use super::support::groups;
use super::support::index;
use super::support::live;
use crate::error::ErrorKind;
use crate::ids::NodeId;
use crate::ids::NodeRange;
use crate::ids::SegmentId;
use crate::text::AnalyzerConfig;
use crate::text::Analyzers;
use crate::text::FieldWeights;
use crate::text::NodeTerms;
use crate::text::Query;
use crate::text::QueryField;
use crate::text::Scored;
use crate::text::SearchOptions;
use crate::text::SegmentBuilder;
use crate::text::SegmentReader;
use crate::text::TextIndex;
use crate::text::query::compile::compile;

fn analyzers() -> Analyzers {
    Analyzers::new(AnalyzerConfig::plain().into())
}

/// The words of each node of a path: the titles above a leaf, then the leaf.
type Path = (NodeId, Vec<Vec<&'static str>>);

/// What may stand in each place of a phrase.
type Slots = Vec<BTreeSet<&'static str>>;

struct Oracle {
    leaves: Vec<Path>,
    weights: FieldWeights,
}

#[derive(Clone, Copy)]
struct Context {
    boost: f32,
    field: QueryField,
}

impl Oracle {
    fn new(live: &[Node], weights: FieldWeights) -> Self {
        let path = |leaf: &Node| {
            let above = live.iter().filter(|node| {
                !node.at.is_leaf && node.at.node <= leaf.at.node && leaf.at.node <= node.at.last
            });
            let titles = above.map(|node| node.terms.clone());
            (leaf.at.node, titles.chain([leaf.terms.clone()]).collect())
        };
        let leaves = live.iter().filter(|node| node.at.is_leaf).map(path).collect();
        Self { leaves, weights }
    }

    fn fields(&self, context: Context) -> (f64, f64) {
        let FieldWeights { body, title } = self.weights;
        (
            if context.field == QueryField::Title { 0.0 } else { f64::from(body) },
            if context.field == QueryField::Body { 0.0 } else { f64::from(title) },
        )
    }

    /// Of each leaf the sum of `count` over its own words and the titles above, as the fields weigh them.
    fn weighted(&self, (body, title): (f64, f64), count: impl Fn(&[&str]) -> usize) -> Vec<f64> {
        let leaves = self.leaves.iter().map(|(_, path)| {
            let (own, titles) = path.split_last().unwrap();
            let above: usize = titles.iter().map(|title| count(title)).sum();
            body * number(count(own)) + title * number(above)
        });
        leaves.collect()
    }

    /// What a clause adds to each leaf; nothing where it is not.
    #[expect(clippy::cast_possible_truncation, reason = "scores are of 32 bits")]
    fn clause(&self, slots: &Slots, slop: u32, context: Context) -> Vec<Option<Vec<f32>>> {
        let n = number(self.leaves.len());
        let fields = self.fields(context);
        let lens = self.weighted(fields, |words| words.len());
        let whole = self.weighted((1.0, 0.0), |words| words.len()).iter().sum::<f64>();
        let above = self.weighted((0.0, 1.0), |words| words.len()).iter().sum::<f64>();
        let mean = if n == 0.0 { 0.0 } else { (fields.0 * whole + fields.1 * above) / n };
        let mut idf = 0.0;
        for slot in slots {
            let has = |words: &[&str]| words.iter().filter(|word| slot.contains(*word)).count();
            let df = number(self.weighted(fields, has).into_iter().filter(|tf| *tf > 0.0).count());
            idf += libm::log(1.0 + (n - df + 0.5) / (df + 0.5));
        }
        let tf = self.weighted(fields, |words| occurrences(slots, words, slop));
        let most = f64::from(context.boost) * idf * 2.2;
        let score = |tf: f64, len: f64| {
            (most * tf / (tf + 1.2 * (1.0 - 0.75) + 1.2 * 0.75 / mean.max(1e-9) * len)) as f32
        };
        tf.into_iter().zip(lens).map(|(tf, len)| (tf > 0.0).then(|| vec![score(tf, len)])).collect()
    }

    /// For each leaf what it gets, in the order of the query; `None` where it does not match. `None` for a query
    /// without words.
    fn of(&self, query: &Query, context: Context) -> Option<Vec<Option<Vec<f32>>>> {
        let all = |of: &[Query]| of.iter().filter_map(|query| self.of(query, context)).collect::<Vec<_>>();
        let everything = vec![Some(Vec::new()); self.leaves.len()];
        Some(match query {
            Query::Everything => everything,
            Query::Words(text) => {
                let mut seen = BTreeSet::new();
                let words = words(text).into_iter().filter(|word| seen.insert(word.clone()));
                let of: Vec<_> =
                    words.map(|word| self.clause(&vec![set(|other| other == word)], 0, context)).collect();
                return some(&of, 1);
            }
            Query::Term(word) => self.slots(&literal(word), 0, context)?,
            Query::Phrase { words, slop, prefix: false } => self.slots(&literal(words), *slop, context)?,
            Query::Phrase { words, slop, prefix: true } => self.slots(&begun(words), *slop, context)?,
            Query::Prefix(word) => self.slots(&begun(word), 0, context)?,
            Query::Fuzzy { word, distance, exact } => {
                let words = words(word);
                let at = |word: &str, least: usize, most: usize| {
                    if word.chars().count() < 3 {
                        return set(|other| other == word);
                    }
                    set(|other| (least..=most).contains(&distance_of(word, other, *exact as usize)))
                };
                if let [word] = words.as_slice()
                    && word.chars().count() >= 3
                {
                    let mut of = Vec::new();
                    let mut boost = context.boost;
                    for edits in 0..=usize::from(*distance) {
                        of.push(self.clause(&vec![at(word, edits, edits)], 0, Context { boost, ..context }));
                        boost /= 2.0;
                    }
                    return some(&of, 1);
                }
                let slots = words.iter().map(|word| at(word, 0, usize::from(*distance))).collect();
                self.slots(&slots, 0, context)?
            }
            Query::All(of) => {
                let of = all(of);
                return some(&of, of.len());
            }
            Query::Any(of) => return some(&all(of), 1),
            Query::AtLeast { count, of } => {
                let of = all(of);
                return some(&of, of.len().min(*count as usize));
            }
            Query::Not(query) => {
                let of = self.of(query, context)?;
                of.iter().map(|scores| scores.is_none().then(Vec::new)).collect()
            }
            Query::Optional(query) => {
                let of = self.of(query, context).unwrap_or_else(|| vec![None; self.leaves.len()]);
                of.into_iter().map(|scores| Some(scores.unwrap_or_default())).collect()
            }
            Query::Boost { by, query } => self.of(query, Context { boost: context.boost * by, ..context })?,
            Query::Field { r#in, query } => self.of(query, Context { field: *r#in, ..context })?,
        })
    }

    fn slots(&self, slots: &Slots, slop: u32, context: Context) -> Option<Vec<Option<Vec<f32>>>> {
        (!slots.is_empty()).then(|| self.clause(slots, slop, context))
    }

    /// All matches with their scores, best first.
    fn search(&self, query: &Query) -> Vec<Scored> {
        let context = Context { boost: 1.0, field: QueryField::Both };
        let found = self.of(query, context).unwrap_or_default();
        let mut out: Vec<Scored> = Vec::new();
        for ((node, _), scores) in self.leaves.iter().zip(found) {
            out.extend(
                scores.map(|scores| Scored { node: *node, score: scores.iter().fold(0.0, |a, b| a + b) }),
            );
        }
        out.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        out
    }
}

/// For each leaf what those of `of` give that match, if at least `count` do; `None` if there are none.
fn some(of: &[Vec<Option<Vec<f32>>>], count: usize) -> Option<Vec<Option<Vec<f32>>>> {
    let leaves = of.first()?.len();
    let leaf = |at: usize| {
        let matching: Vec<&Vec<f32>> = of.iter().filter_map(|scores| scores[at].as_ref()).collect();
        (matching.len() >= count).then(|| matching.into_iter().flatten().copied().collect())
    };
    Some((0..leaves).map(leaf).collect())
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn set(has: impl Fn(&str) -> bool) -> BTreeSet<&'static str> {
    WORDS.into_iter().filter(|word| has(word)).collect()
}

fn literal(text: &str) -> Slots {
    words(text).iter().map(|word| set(|other| other == word)).collect()
}

fn begun(text: &str) -> Slots {
    let words = words(text);
    let mut slots = literal(text);
    if let (Some(slot), Some(word)) = (slots.last_mut(), words.last()) {
        *slot = set(|other| other.starts_with(word.as_str()));
    }
    slots
}

/// How often `slots` are in `words`, by trying every choice.
fn occurrences(slots: &Slots, words: &[&str], slop: u32) -> usize {
    let mut family: Vec<usize> = (0..slots.len()).collect();
    for _ in slots {
        for (a, of_a) in slots.iter().enumerate() {
            for (b, of_b) in slots.iter().enumerate() {
                if !of_a.is_disjoint(of_b) {
                    family[b] = family[b].min(family[a]);
                }
            }
        }
    }
    let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
    for (at, slot) in slots.iter().enumerate() {
        let places =
            words.iter().enumerate().filter(|(_, word)| slot.contains(*word)).map(|(place, _)| place);
        let places: Vec<usize> = places.collect();
        let fits = |choice: &Vec<usize>, place: usize| {
            choice.iter().zip(&family).all(|(before, of)| *of != family[at] || *before < place)
        };
        choices = choices
            .iter()
            .flat_map(|choice| {
                let places = places.iter().filter(|place| fits(choice, **place));
                places.map(|place| [choice.as_slice(), &[*place]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    let mut lowest = BTreeSet::new();
    for choice in choices {
        let moved = || (0_i64..).zip(&choice).map(|(slot, place)| i64::try_from(*place).unwrap() - slot);
        let (low, high) = (moved().min().unwrap(), moved().max().unwrap());
        if high - low <= i64::from(slop) {
            lowest.insert(low);
        }
    }
    lowest.len()
}

/// Edits between `a` and `b`, swaps of neighbours among them; many if the first `exact` letters of `a` are not `b`'s.
fn distance_of(a: &str, b: &str, exact: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = exact.min(a.len());
    if b.len() < same || a[..same] != b[..same] {
        return usize::MAX;
    }
    let (a, b) = (&a[same..], &b[same..]);
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = change.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len()][b.len()]
}

fn any_word() -> BoxedStrategy<String> {
    prop_oneof![
        6 => prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["al", "e", "alpa", "bate", "delta-eps", "alpha-alpha", "?", "zeta beta zeta"])
            .prop_map(str::to_owned),
    ]
    .boxed()
}

fn steps() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    prop::collection::vec((0_u8..10, prop::collection::vec(0_u8..6, 0..7)), 1..160)
}

fn weights() -> impl Strategy<Value = FieldWeights> {
    prop_oneof![
        2 => Just(FieldWeights::default()),
        1 => Just(FieldWeights { body: 1.0, title: 2.5 }),
        1 => Just(FieldWeights { body: 1.0, title: 0.0 }),
        1 => Just(FieldWeights { body: 0.0, title: 1.0 }),
    ]
}

proptest! {
    #[test]
    fn queries_match_and_score_as_the_oracle_says(
        steps in steps(),
        queries in prop::collection::vec(any_query(any_word()), 4),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        weights in weights(),
        limit in 1_usize..8,
    ) {
        let nodes = forest(&steps);
        let deleted: RoaringBitmap = picks.iter().map(|pick| pick.get(&nodes).at.node.0).collect();
        let index = index(&groups(&nodes), &deleted);
        let oracle = Oracle::new(&live(&nodes, &deleted), weights);
        let options = SearchOptions { limit: usize::MAX, weights, ..SearchOptions::default() };
        for query in queries {
            let expected = oracle.search(&query);
            let found = match compile(&query, &analyzers()).unwrap() {
                Some(compiled) => index.evaluate(&compiled, &options).unwrap(),
                None => Vec::new(),
            };

            prop_assert_eq!(&found, &expected, "{}", &query);
            let nodes: RoaringBitmap = expected.iter().map(|scored| scored.node.0).collect();
            prop_assert_eq!(&index.matches(&query, &analyzers(), &options).unwrap(), &nodes);
            prop_assert_eq!(index.count(&query, &analyzers(), &options).unwrap(), nodes.len());
            let best = index.query(&query, &analyzers(), &SearchOptions { limit, ..options }).unwrap();
            prop_assert_eq!(&best, &expected[..limit.min(expected.len())], "{}", &query);
        }
    }

    #[test]
    fn a_filter_and_a_range_leave_out_and_do_not_change_scores(
        steps in steps(),
        query in any_query(any_word()),
        filter in prop::collection::btree_set(1_u32..200, 0..100),
        first in 1_u32..100,
        len in 0_u32..100,
    ) {
        let nodes = forest(&steps);
        let index = index(&groups(&nodes), &RoaringBitmap::new());
        let filter: RoaringBitmap = filter.into_iter().collect();
        let range = NodeRange::new(NodeId(first), NodeId(first + len));
        let all = SearchOptions { limit: usize::MAX, ..SearchOptions::default() };
        let some = SearchOptions { filter: Some(&filter), range: Some(range), ..all };

        let found = index.query(&query, &analyzers(), &some).unwrap();

        let mut expected = index.query(&query, &analyzers(), &all).unwrap();
        expected.retain(|scored| filter.contains(scored.node.0) && range.contains(scored.node));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_query_in_its_normal_form_finds_the_same(steps in steps(), query in any_query(any_word())) {
        let nodes = forest(&steps);
        let index = index(&groups(&nodes), &RoaringBitmap::new());
        let options = SearchOptions { limit: usize::MAX, ..SearchOptions::default() };
        let find = |query: &Query| index.query(query, &analyzers(), &options).unwrap();

        prop_assert_eq!(find(&query), find(&query.clone().normalized()));
    }
}

/// A document with one leaf for each of `texts`, each a list of words.
fn corpus(texts: &[&[&'static str]]) -> TextIndex {
    let steps: Vec<(u8, Vec<u8>)> =
        std::iter::once((8, Vec::new())).chain(texts.iter().map(|_| (0, Vec::new()))).collect();
    let mut nodes = forest(&steps);
    for (node, words) in nodes.iter_mut().skip(1).zip(texts) {
        node.terms = words.to_vec();
    }
    index(&[&nodes], &RoaringBitmap::new())
}

fn found(index: &TextIndex, query: &str) -> Vec<u32> {
    let query = Query::parse(query).unwrap();
    let found = index.matches(&query, &analyzers(), &SearchOptions::default()).unwrap();
    found.iter().collect()
}

#[test]
fn a_fuzzy_word_stands_for_the_nearest_then_the_most_frequent_terms() {
    // 1,000 words within two edits of "wort000", of which "wort000" is one and 27 are one edit away.
    let names: Vec<&'static str> = (0..1000).map(|n| &*format!("wort{n:03}").leak()).collect();
    let texts: Vec<&[&'static str]> = names.chunks(1).collect();
    let index = corpus(&texts);

    assert_eq!(found(&index, "wort000~1").len(), 28);
    // Two edits away all are in one leaf each: the first in order are kept.
    assert_eq!(found(&index, "wort000~2").len(), 64);
    assert_eq!(found(&index, "wort000~2/7"), found(&index, "wort000"));
}

#[test]
fn a_phrase_does_not_reach_from_one_text_into_another() {
    let index = corpus(&[&["alpha"], &["beta"], &["alpha", "beta"]]);

    assert_eq!(found(&index, "\"alpha beta\""), [4]);
    assert_eq!(found(&index, "\"alpha beta\"~30"), [4]);
}

#[test]
fn a_search_that_is_called_off_or_late_says_so() {
    let index = corpus(&[&["alpha"]]);
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let query = Query::parse("alpha AND NOT beta").unwrap();
    let kind = |options: &SearchOptions<'_>| index.query(&query, &analyzers(), options).unwrap_err().kind();

    let cancelled = SearchOptions { cancel: Some(&cancel), ..SearchOptions::default() };
    assert_eq!(kind(&cancelled), ErrorKind::Cancelled);
    let late = SearchOptions { deadline: Some(std::time::Instant::now()), ..SearchOptions::default() };
    assert_eq!(kind(&late), ErrorKind::DeadlineExceeded);
}

#[test]
fn a_query_says_which_words_to_mark() {
    let index = corpus(&[&["alpha", "gamma"], &["alps"], &["beta"]]);
    let query = Query::parse("+al* gama~1 -beta").unwrap();

    let marks = index.highlighter(&query, &analyzers(), &SearchOptions::default()).unwrap();

    assert_eq!(marks.highlights(analyzers().body(), "alpha beta gamma alps"), [0..5, 11..16, 17..21]);
}

/// One document with a leaf for each of `texts`, analysed as files are by default.
fn analysed(texts: &[&str]) -> (TextIndex, Analyzers) {
    let analyzers = Analyzers::default();
    let mut builder = SegmentBuilder::new();
    let last = NodeId(u32::try_from(texts.len()).unwrap() + 1);
    let root = NodeTerms { node: NodeId(1), parent: NodeId(0), last, kind: 1, level: 0, is_leaf: false };
    builder.add_text(root, analyzers.title(), &[""]).unwrap();
    for (node, text) in (2..).map(NodeId).zip(texts) {
        let leaf = NodeTerms { node, parent: NodeId(1), last: node, kind: 3, level: 1, is_leaf: true };
        builder.add_text(leaf, analyzers.body(), &["", text]).unwrap();
    }
    let parts = builder.finish().unwrap();
    let mut memory = Memory::default();
    memory.put(1, &parts);
    let reader = SegmentReader::open(SegmentId(1), &parts.header, &memory).unwrap();
    let index = TextIndex::new(vec![Arc::new(reader)], Arc::default(), Arc::new(memory)).unwrap();
    (index, analyzers)
}

fn is_found((index, analyzers): &(TextIndex, Analyzers), query: &Query) -> bool {
    index.count(query, analyzers, &SearchOptions::default()).unwrap() > 0
}

#[test]
fn every_part_of_a_run_without_spaces_is_found_and_no_other_run() {
    // Fifteen letters of a plane, two beyond it, and words before and behind.
    let run = "\u{745e}\u{58eb}\u{7684}\u{5b98}\u{65b9}\u{8bed}\u{8a00}\u{662f}\u{5fb7}\u{8bed}\u{548c}\u{6cd5}\u{8bed}\u{20000}\u{20001}";
    let letters: Vec<char> = run.chars().collect();
    let index = analysed(&[&format!("API{run}wifi"), "\u{8bed}\u{5b98}"]);

    for len in 1..=letters.len() {
        for part in letters.windows(len).map(|part| part.iter().collect::<String>()) {
            assert!(is_found(&index, &Query::Term(part.clone())), "{part}");
        }
    }
    for other in ["\u{8bed}\u{58eb}", "\u{5b98}\u{65b9}\u{662f}", "\u{20001}\u{20000}"] {
        assert!(!is_found(&index, &Query::Term(other.into())), "{other}");
    }
}

#[test]
fn words_with_marks_and_numbers_are_found_as_they_are_written() {
    let index = analysed(&[
        "id 550e8400-e29b-41d4-a716-446655440000, see C\u{76d8}\u{6587}\u{4ef6} or don't, na\u{ef}ve",
    ]);

    for query in [
        "550e8400-e29b*",
        "550e8400-e29b-41d4",
        "C\u{76d8}",
        "don't",
        "naive",
        "nai\u{308}v*",
        "\"see c\u{76d8}\"",
    ] {
        assert!(is_found(&index, &Query::parse(query).unwrap()), "{query}");
    }
    for query in ["550e8400-41d4", "E\u{76d8}", "\"see don't\""] {
        assert!(!is_found(&index, &Query::parse(query).unwrap()), "{query}");
    }
}

#[test]
fn hostile_words_are_looked_for_within_bounds() {
    let index = analysed(&["alpha beta"]);
    let long = "x".repeat(100_000);

    for query in [
        Query::Fuzzy { word: long.clone(), distance: 2, exact: 0 },
        Query::Fuzzy { word: "\u{1f600}".repeat(300), distance: 2, exact: u32::MAX },
        Query::Prefix(long.clone()),
        Query::Phrase { words: "alpha ".repeat(4096), slop: 0, prefix: true },
        Query::Phrase { words: "alpha ".repeat(64), slop: u32::MAX, prefix: true },
    ] {
        assert!(!is_found(&index, &query));
    }
    let (index, analyzers) = index;
    for (count, slop) in [(5000, 0), (65, 1)] {
        let many = Query::Phrase { words: "alpha ".repeat(count), slop, prefix: false };
        let error = index.count(&many, &analyzers, &SearchOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

/// "?" is no word. What is optional leaves nothing out, so that all leaves are found, in whatever form it is asked.
#[test]
fn what_is_optional_and_no_word_leaves_nothing_out() {
    let index = corpus(&[&["red"], &["blue"]]);

    let optional = Query::Term("?".into()).optional();

    let find = |query: &Query| index.query(query, &analyzers(), &SearchOptions::default()).unwrap().len();
    assert_eq!((find(&optional), find(&optional.clone().normalized())), (2, 2));
    assert_eq!(find(&Query::Term("?".into())), 0);
}
