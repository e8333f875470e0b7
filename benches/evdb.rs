//! What the main operations cost.
//!
//! Corpus: the country profiles of `examples/data`, by the default counter and analyzer, with the built-in
//! embedder; for the flat scan 100,000 x 384 floats, for the best of many 100,000 passages of 80 words, both from
//! a fixed seed. Ranks are exact throughout, so recall against the definition is 1 by construction. One thread.
//! Figures: `docs/measurements.md`.
//!
//! Run with `cargo bench`; one of them with `cargo bench -- ask`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use evdb::format::graph::{MemberRecord, Support};
use evdb::graph::{Expand, Graph, GraphRows, Object, PageRank, Precision, WalkOn};
use evdb::ingest::{Loader, SpaceEmbedder};
use evdb::methods::bear::{Bear, Request};
use evdb::model::{Embedder, TokenCounter};
use evdb::providers::{BpeCounter, StaticEmbedder};
use evdb::query::{Format, Question, QuestionVector};
use evdb::text::{
    NodeTerms, PartSource, ReadList, SearchOptions, SegmentBuilder, SegmentReader, TextIndex, WeightedTerm,
};
use evdb::tree::expansion::Expansion;
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Budget, Database, Document, EntityId, NodeId, SegmentId, Span};

const QUESTION: &str = "How long is the border between Poland and Ukraine, and what do they trade?";

fn profiles() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir("examples/data/countries")
        .expect("the profiles are in the repository")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    paths
}

fn build() -> Database {
    let db = Database::in_memory().expect("memory");
    let embedder: Arc<dyn Embedder> = Arc::new(StaticEmbedder::new());
    let mut loader = Loader::new(&db).embedder(SpaceEmbedder { space: "static".into(), embedder });
    for path in profiles() {
        loader.load(&path, Path::new("examples/data")).expect("a sound profile");
    }
    loader.finish().expect("it is written");
    db
}

fn question_vector() -> Vec<f32> {
    let embedder = StaticEmbedder::new();
    let mut vector = vec![0.0; embedder.dimensions()];
    embedder.embed(&[QUESTION], &mut vector).expect("it never fails");
    vector
}

/// Four bytes a token: counting that costs nothing.
struct Quarters;

impl TokenCounter for Quarters {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn fingerprint(&self) -> &'static str {
        "quarters"
    }
}

/// Documents of sections of passages, whose words follow Zipf's law over 50,000; about four million bytes.
fn passages() -> Vec<Document> {
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 33).expect("31 bits")) / f64::from(1_u32 << 31)
    };
    let mut document = |number: usize| {
        let mut document = Document::new(format!("d{number}"), "Passages");
        for passage in 0..20 {
            if passage % 5 == 0 {
                document.nodes.push(Node {
                    title: format!("Section {passage}"),
                    ..Node::new(Some(0), NodeKind::Section)
                });
            }
            let start = document.text.len();
            for _ in 0..80 {
                // The inverse of a distribution whose density falls with the rank.
                let rank = 50_000_f64.powf(uniform());
                write!(document.text, "w{rank:.0} ").expect("a string takes it");
            }
            let [start, end] = [start, document.text.len()].map(|at| u32::try_from(at).expect("short"));
            let section = document.nodes.iter().rposition(|node| node.kind == NodeKind::Section);
            let parent = section.map(|at| u32::try_from(at).expect("few nodes"));
            document.nodes.push(Node { span: Span::new(start, end), ..Node::new(parent, NodeKind::Text) });
        }
        document
    };
    (0..500).map(&mut document).collect()
}

/// Into a file in memory, bytes of text a second: documents, trees, texts, index and vectors of the profiles;
/// without vectors and with counting that costs nothing, passages, on one thread and on two, and on one with
/// memory for little, so that the index is laid aside in parts.
fn bench_build(c: &mut Criterion) {
    let bytes = profiles().iter().map(|path| path.metadata().expect("a file").len()).sum();
    build(); // the counter's vocabulary is loaded once
    let mut group = c.benchmark_group("build");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    group.bench_function("country profiles", |b| b.iter(build));
    let passages = passages();
    let bytes = passages.iter().map(|document| document.text.len() as u64).sum();
    group.throughput(Throughput::Bytes(bytes));
    for (name, threads, memory) in
        [("passages", 1, 256 << 20), ("passages, 2 threads", 2, 256 << 20), ("passages, 2 MiB", 1, 2 << 20)]
    {
        group.bench_function(name, |b| {
            b.iter_batched(
                || passages.clone(),
                |passages| {
                    let builder = Database::builder().token_counter(Arc::new(Quarters));
                    let db = builder.write_memory_bytes(memory).in_memory().expect("memory");
                    let mut loader = Loader::new(&db).threads(threads);
                    for document in passages {
                        loader.add(document).expect("sound");
                    }
                    loader.finish().expect("it is written");
                    db
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Tokens of the profiles, as the default counter counts them; bytes a second.
fn bench_count(c: &mut Criterion) {
    let texts = profiles().into_iter().map(|path| std::fs::read_to_string(path).expect("text"));
    let text: String = texts.collect();
    let mut group = c.benchmark_group("count");
    group.sample_size(20).throughput(Throughput::Bytes(text.len() as u64));
    for counter in [BpeCounter::o200k(), BpeCounter::cl100k()] {
        group.bench_function(counter.fingerprint(), |b| b.iter(|| counter.count(black_box(&text))));
    }
    group.finish();
}

/// The ten best leaves by words: analysis, dictionary, postings, scores.
fn bench_text_search(c: &mut Criterion) {
    let db = build();
    let read = db.begin_read().expect("a committed state");
    let mut group = c.benchmark_group("text search");
    for (name, question) in [("2 words", "Kilimanjaro Tanzania"), ("question", QUESTION)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let terms = read.analyzers().distinct_terms(black_box(question));
                read.text_index().search(&terms, None, 10).expect("a sound index")
            });
        });
    }
    group.finish();
}

/// A segment of passages in memory.
struct Passages(std::collections::BTreeMap<(u8, u32), Arc<[u8]>>);

impl PartSource for Passages {
    fn part(&self, _: SegmentId, part: u8, index: u32) -> evdb::Result<Arc<[u8]>> {
        Ok(Arc::clone(self.0.get(&(part, index)).expect("a chunk that was built")))
    }

    fn list(&self, _: SegmentId, _: u8, _: u64, read: &mut ReadList<'_>) -> evdb::Result<Arc<[u8]>> {
        read(self)
    }
}

/// 100,000 passages of 80 words from a vocabulary of 50,000, the word of rank r drawn in proportion to 1 / r.
fn index_of_passages() -> TextIndex {
    const LEAVES: u32 = 100_000;
    let mut builder = SegmentBuilder::new();
    let root = NodeId(1);
    let at = |node: u32, is_leaf: bool| NodeTerms {
        node: NodeId(node),
        parent: if is_leaf { root } else { NodeId(0) },
        last: if is_leaf { NodeId(node) } else { NodeId(LEAVES + 1) },
        kind: 1,
        level: u8::from(is_leaf),
        is_leaf,
    };
    builder.add_node(at(1, false), std::iter::empty::<(&str, u32)>()).expect("a root");
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = f64::from(u32::try_from(state >> 32).expect("32 bits")) / f64::from(u32::MAX);
        format!("w{}", 50_000_f64.powf(uniform).floor())
    };
    for node in 2..=LEAVES + 1 {
        builder.add_node(at(node, true), (0..80).map(|position| (word(), position))).expect("a leaf");
    }
    let parts = builder.finish().expect("a segment");
    let chunks = parts.chunks.into_iter().map(|(part, index, bytes)| ((part, index), bytes.into()));
    let source = Passages(chunks.collect());
    let reader = SegmentReader::open(SegmentId(1), &parts.header, &source).expect("a sound segment");
    TextIndex::new(vec![Arc::new(reader)], Arc::default(), Arc::new(source)).expect("one segment")
}

/// The ten best of 100,000 passages: words of ranks that questions have, any or all of them, and with a filter.
fn bench_top_k(c: &mut Criterion) {
    let index = index_of_passages();
    let questions: [(&str, &[&str]); 3] = [
        ("3 words", &["w300", "w2000", "w9000"]),
        ("frequent words", &["w10", "w20", "w40"]),
        ("10 words", &["w3", "w8", "w15", "w60", "w90", "w200", "w700", "w1500", "w5000", "w20000"]),
    ];
    let tenth: roaring::RoaringBitmap = (0..200_000).filter(|node| node % 10 == 3).collect();
    let plain = SearchOptions::default();
    let mut group = c.benchmark_group("best of 100k passages");
    for (name, question) in questions {
        let terms: Vec<WeightedTerm<'_>> = question.iter().map(|term| WeightedTerm::new(term)).collect();
        group.bench_function(format!("any of {name}"), |b| {
            b.iter(|| index.search_any(black_box(&terms), &plain).expect("a sound index"));
        });
        group.bench_function(format!("any of {name}, a filter of a tenth"), |b| {
            let options = SearchOptions { filter: Some(&tenth), ..plain };
            b.iter(|| index.search_any(black_box(&terms), &options).expect("a sound index"));
        });
        let few = terms.get(..3).expect("three terms");
        group.bench_function(format!("all of {name} (the first 3)"), |b| {
            b.iter(|| index.search_all(black_box(few), &plain).expect("a sound index"));
        });
    }
    group.finish();
}

/// 100,000 rows of 384 floats, exact top 10; bytes scanned a second.
fn bench_flat_scan(c: &mut Criterion) {
    const ROWS: u32 = 100_000;
    const DIMENSION: usize = 384;
    let db = Database::builder().cache_bytes(512 << 20).in_memory().expect("memory");
    let mut document = Document::new("vectors", "vectors");
    document.text = "x".repeat(ROWS as usize);
    document.nodes.extend(
        (0..ROWS).map(|at| Node { span: Span::new(at, at + 1), ..Node::new(Some(0), NodeKind::Text) }),
    );
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).expect("16 bits")) / 65_536.0 - 0.5
    };
    let rows: Vec<f32> = (0..ROWS as usize * DIMENSION).map(|_| uniform()).collect();
    let mut w = db.begin_write().expect("one writer");
    let space = w.open_space("v", DIMENSION, Metric::Cosine, "bench").expect("a new space");
    let id = w.insert_document(&document).expect("a sound document");
    w.put_leaf_vectors(space, &document, id, &rows).expect("one row a leaf");
    w.commit().expect("it is written");
    let read = db.begin_read().expect("a committed state");
    let space = read.space("v").expect("it was made");
    let flat = space.flat().expect("all blocks");
    let query = flat.query(rows.get(..DIMENSION).expect("a row")).expect("it fits");
    let mut group = c.benchmark_group("flat scan");
    group.sample_size(20).throughput(Throughput::Bytes(u64::from(ROWS) * DIMENSION as u64 * 4));
    group.bench_function("100k x 384, top 10", |b| {
        b.iter(|| flat.search(&query, None, &roaring::RoaringBitmap::new(), 10, 1).expect("sound blocks"));
    });
    group.finish();
}

/// TreeExpansion as printed, over five documents.
fn bench_tree_expansion(c: &mut Criterion) {
    let db = build();
    let read = db.begin_read().expect("a committed state");
    let mut trees = Vec::new();
    for key in ["china", "russia", "india", "brazil", "germany"] {
        let info =
            read.document_by_key(&format!("countries/{key}.md")).expect("a sound file").expect("it is there");
        trees.push(read.tree(info.id).expect("a sound tree"));
    }
    let similarities: Vec<Vec<f32>> = trees
        .iter()
        .map(|tree| (0_u16..).take(tree.nodes().len()).map(|i| f32::from(i % 97) / 97.0).collect())
        .collect();
    c.bench_function("tree expansion/5 documents", |b| {
        b.iter(|| {
            for (tree, similarity) in trees.iter().zip(&similarities) {
                black_box(Expansion::PAPER.scores(tree, similarity).expect("one each"));
            }
        });
    });
}

/// From a question to evidence under 1,000 tokens.
fn bench_ask(c: &mut Criterion) {
    let db = build();
    let vector = question_vector();
    let read = db.begin_read().expect("a committed state");
    let format = Format::default();
    let mut group = c.benchmark_group("ask");
    group.bench_function("words, 1,000 tokens", |b| {
        b.iter(|| Bear::default().ask(&read, black_box(QUESTION), Budget::tokens(1_000)).expect("evidence"));
    });
    group.bench_function("words and vectors, 1,000 tokens", |b| {
        b.iter(|| {
            let vector = Some(QuestionVector { space: "static", vector: &vector });
            let question = Question { text: black_box(QUESTION), vector };
            let request = Request::new(question, Budget::tokens(1_000), &format);
            Bear::default().retrieve(&read, &request).expect("evidence")
        });
    });
    group.finish();
}

/// One more document, durable and searchable, into a file that holds the profiles.
fn bench_append(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::create(folder.path().join("append.evdb")).expect("a new file");
    let mut loader = Loader::new(&db);
    for path in profiles() {
        loader.load(&path, Path::new("examples/data")).expect("a sound profile");
    }
    loader.finish().expect("it is written");
    let mut next = 0;
    c.bench_function("append/one document, durable", |b| {
        b.iter_batched(
            || {
                next += 1;
                let mut document = Document::new(format!("note {next}"), "A note");
                document.text = format!("Note {next}: the ferry to the island leaves at noon.");
                let span = Span::new(0, u32::try_from(document.text.len()).expect("short"));
                document.nodes.push(Node { span, ..Node::new(Some(0), NodeKind::Text) });
                document
            },
            |document| {
                let mut w = db.begin_write().expect("one writer");
                w.insert_document(&document).expect("a sound document");
                w.commit().expect("it is written");
            },
            BatchSize::SmallInput,
        );
    });
}

/// A graph of 300,000 entities and as many hyperedges of two members: each new entity joins one that is met by
/// following a random member of a random hyperedge, so that degrees follow a power law.
fn power_law() -> Graph {
    const ENTITIES: u32 = 300_000;
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % bound as u64).expect("below a usize")
    };
    let mut rows = GraphRows::default();
    let mut ends: Vec<u32> = vec![1];
    for id in 1..=ENTITIES {
        let other = if id == 1 { 2 } else { ends[below(ends.len())] };
        ends.extend([id, other]);
        rows.add_edge(id, 1, &[id, other].map(|target| MemberRecord { role: 2, is_node: false, target }));
        rows.add_support(Support { object: id, node: id, weight: 1.0 });
        rows.add_mention(Support { object: id, node: id, weight: 1.0 });
    }
    let names = [(1, "relation".to_owned()), (2, String::new())].into();
    Graph::new(&rows.finish(&roaring::RoaringBitmap::new()), names).expect("sound rows")
}

/// Ranks and neighbourhoods from ten seeds.
fn bench_graph(c: &mut Criterion) {
    let graph = power_law();
    let seeds: Vec<(Object, f64)> =
        (0..10_u32).map(|at| (Object::Entity(EntityId(1_000 + 29_989 * at)), 1.0)).collect();
    let anchors: Vec<Object> = seeds.iter().map(|(object, _)| *object).collect();
    let mut group = c.benchmark_group("graph");
    for (on, name) in [(WalkOn::Members, "members"), (WalkOn::Incidence, "incidence")] {
        let exact = PageRank { on, ..PageRank::default() };
        group.bench_function(format!("page rank, surely the best 20, {name}"), |b| {
            b.iter(|| exact.run(&graph, black_box(&seeds), 20).expect("sound seeds"));
        });
        let full = PageRank { on, precision: Precision::Full(1e-6), ..PageRank::default() };
        group.sample_size(20).bench_function(format!("page rank, all to 1e-6, {name}"), |b| {
            b.iter(|| full.run(&graph, black_box(&seeds), 20).expect("sound seeds"));
        });
    }
    let bounds = Expand { hops: 2, ..Expand::default() };
    group.bench_function("expansion, 2 hops", |b| {
        b.iter(|| bounds.run(&graph, black_box(&anchors)));
    });
    group.sample_size(10).bench_function("from rows to a graph", |b| b.iter(power_law));
    group.finish();
}

criterion_group!(
    benches,
    bench_graph,
    bench_build,
    bench_count,
    bench_text_search,
    bench_top_k,
    bench_flat_scan,
    bench_tree_expansion,
    bench_ask,
    bench_append
);
criterion_main!(benches);
