//! Ranked lists of several methods over one file, for `tools/measure_paths.py`: a line a method and question.
//!
//! ```sh
//! cargo run --release --example measure_multihop -- FILE QUESTIONS VECTORS.npy [--facts FILE] [--steps FILE [--step-vectors FILE.npy]]
//! ```
//!
//! FILE was built with `--names`, QUESTIONS is JSONL with `question`, VECTORS a row a question. Facts are JSONL with
//! `subject` and `object`: a graph to walk in place of the names. Steps are JSONL with `question` (number of the
//! line) and `text`, in order, and a vector a line.
//!
//! A file has no vectors of entities and sentences by the model of its leaves: entities are compared by the built-in
//! embedder, sentences by their words and their leaf's vector, as paths do it, in the best leaves by themselves.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evdb::graph::paths::{
    PathIndex, PathIndexBuilder, QuestionNames, SENTENCE, SentenceEntry, key_of, words,
};
use evdb::graph::{Graph, Object, PageRank, Precision, WalkOn};
use evdb::model::Embedder;
use evdb::providers::{Matrix, Npy, StaticEmbedder};
use evdb::query::{
    ConsensusG1, ConsensusG3, EntityHit, FindPaths, Question, QuestionVector, RelationHit, Search,
    SearchMode, Views, page_rank,
};
use evdb::{Database, EntityId, Error, HyperedgeId, NodeId, ReadTransaction, Result, Span};
use serde_json::{Value, json};

/// Leaves of a list.
const LIMIT: usize = 60;
/// Leaves whose sentences are looked at.
const SEEN: usize = 50;
/// Hits of `KnowForge` before what they lead to, and most of that.
const BEFORE: usize = 3;
const APPENDED: usize = 7;
const EACH_ANCHOR: usize = 4;

fn main() -> Result<()> {
    let mut places = Vec::new();
    let mut options = BTreeMap::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if let Some(name) = arg.strip_prefix("--") {
            options.insert(name.to_owned(), args.next().unwrap_or_default());
        } else {
            places.push(arg);
        }
    }
    let [file, questions, vectors] = &places[..] else {
        return Err(Error::invalid("give a file, its questions and their vectors"));
    };
    let database = Database::open(Path::new(file))?;
    let read = database.begin_read()?;
    let bench = Bench::new(&read)?;
    let questions: Vec<String> = rows(questions)?.iter().map(|row| text_of(row, "question")).collect();
    let vectors = Npy::open(Path::new(vectors))?.into_matrix()?;
    let facts = options.get("facts").map(|path| bench.facts(&rows(path)?)).transpose()?;
    let steps = options.get("steps").map(|path| rows(path)).transpose()?.unwrap_or_default();
    let step_vectors = options.get("step-vectors");
    let step_vectors = step_vectors.map(|path| Npy::open(Path::new(path))?.into_matrix()).transpose()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut clock = Clock::default();
    for (at, text) in questions.iter().enumerate() {
        let vector = QuestionVector { space: &bench.space, vector: vectors.row(at) };
        let mut lists = bench.lists(Question { text, vector: Some(vector) }, &mut clock)?;
        if let Some(facts) = &facts {
            let question = Question { text, vector: Some(vector) };
            let mut links = FindPaths { limit: LIMIT, ..FindPaths::default() };
            lists.push(("PATH on gold triples", bench.paths(&links, facts, question)?));
            (links.paths.weights.shared, links.paths.weights.reverse) = (0.0, 0.0);
            lists.push(("PATH on gold triples, links alone", bench.paths(&links, facts, question)?));
        }
        if !steps.is_empty() {
            lists.push(("gold steps, bound, in turns", bench.in_turns(at, &steps, step_vectors.as_ref())?));
        }
        for (method, nodes) in lists {
            let ids: Vec<String> = nodes.iter().map(|node| bench.id(*node)).collect::<Result<_>>()?;
            let line = json!({ "method": method, "ids": ids });
            writeln!(out, "{line}").map_err(|error| Error::io("write", "the output", error))?;
        }
    }
    eprintln!("median a question: {}", clock.told());
    out.flush().map_err(|error| Error::io("write", "the output", error))
}

fn rows(path: &str) -> Result<Vec<Value>> {
    let failed = |error| Error::io("read", path, error);
    let lines = BufReader::new(File::open(path).map_err(failed)?).lines();
    let parsed = |line: String| {
        serde_json::from_str(&line).map_err(|error| Error::invalid(format!("{path}: {error}")))
    };
    lines.map(|line| parsed(line.map_err(failed)?)).collect()
}

fn text_of(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap_or_default().to_owned()
}

/// Folded words, as the keys of paths are.
fn folded(name: &str) -> String {
    let words = words(name);
    key_of(&words, &(0..words.len()))
}

/// Times by what was done.
#[derive(Default)]
struct Clock(BTreeMap<&'static str, Vec<Duration>>);

impl Clock {
    fn time<T>(&mut self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.0.entry(what).or_default().push(began.elapsed());
        done
    }

    fn told(self) -> String {
        let middle = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let told = self.0.into_iter().map(|(what, times)| format!("{what} {:.2} ms", middle(times)));
        told.collect::<Vec<_>>().join(", ")
    }
}

/// Vectors of unit length by the built-in embedder.
struct Similar {
    rows: Vec<f32>,
    dimensions: usize,
}

impl Similar {
    fn new(embedder: &StaticEmbedder, texts: &[String]) -> Result<Self> {
        let dimensions = embedder.dimensions();
        let mut rows = vec![0.0; texts.len() * dimensions];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        embedder.embed(&texts, &mut rows)?;
        for row in rows.chunks_mut(dimensions) {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            for x in row {
                *x /= norm;
            }
        }
        Ok(Self { rows, dimensions })
    }

    /// The `limit` rows nearest to `vector`, best first.
    fn nearest(&self, vector: &[f32], limit: usize) -> Vec<(usize, f32)> {
        let dot = |row: &[f32]| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>();
        let mut all: Vec<(usize, f32)> = self.rows.chunks(self.dimensions).map(dot).enumerate().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(limit);
        all
    }
}

/// Leaves by themselves.
fn base() -> FindPaths {
    let mut base = FindPaths { limit: LIMIT, ..FindPaths::default() };
    base.paths.anchors = 0;
    base
}

/// A file, ready to be asked.
struct Bench<'a> {
    read: &'a ReadTransaction,
    graph: Arc<Graph>,
    index: Arc<PathIndex>,
    space: String,
    embedder: StaticEmbedder,
    entities: Vec<EntityId>,
    names: Similar,
    by_key: BTreeMap<String, Vec<EntityId>>,
}

impl<'a> Bench<'a> {
    fn new(read: &'a ReadTransaction) -> Result<Self> {
        let embedder = StaticEmbedder::new();
        let index = read.path_index()?;
        let (mut entities, mut names) = (Vec::new(), Vec::new());
        read.for_each_entity(|entity| {
            entities.push(entity.id);
            names.push(entity.name);
            Ok(())
        })?;
        let mut by_key: BTreeMap<String, Vec<EntityId>> = BTreeMap::new();
        for (entity, name) in entities.iter().zip(&names) {
            by_key.entry(folded(name)).or_default().push(*entity);
        }
        Ok(Self {
            graph: read.graph()?,
            space: read.space_names().next().unwrap_or_default().to_owned(),
            names: Similar::new(&embedder, &names)?,
            read,
            index,
            embedder,
            entities,
            by_key,
        })
    }

    fn id(&self, node: NodeId) -> Result<String> {
        let tree = self.read.tree(self.read.document_of(node)?.id)?;
        Ok(tree.node(node)?.attribute("id").map_or_else(|| node.to_string(), str::to_owned))
    }

    fn lists(&self, question: Question<'_>, clock: &mut Clock) -> Result<Vec<(&'static str, Vec<NodeId>)>> {
        let mut own = Similar::new(&self.embedder, &[question.text.to_owned()])?.rows;
        own.resize(self.embedder.dimensions(), 0.0);
        let agreed = |list: Vec<evdb::query::Agreed>| list.into_iter().map(|leaf| leaf.node).collect();
        let found = clock.time("BASE", || self.paths(&base(), &self.index, question))?;
        let sentences = self.sentences(question, &found)?;
        let views = self.views(question, &own, &sentences)?;
        let two = FindPaths { limit: LIMIT, ..FindPaths::default() };
        let mut three = two.clone();
        three.paths.hops = 3;
        Ok(vec![
            ("ConRAG G1", agreed(ConsensusG1::default().rank(&views))),
            ("ConRAG G3", agreed(ConsensusG3::default().rank(&views))),
            ("PPR", clock.time("PPR", || self.page_rank(question, &sentences))?),
            ("KnowForge, expanded", self.expanded(question, &found)?),
            ("BASE and KnowForge without expansion", found),
            ("PATH", clock.time("PATH", || self.paths(&two, &self.index, question))?),
            ("PATH, 3 hops", clock.time("PATH, 3 hops", || self.paths(&three, &self.index, question))?),
        ])
    }

    fn paths(&self, search: &FindPaths, index: &PathIndex, question: Question<'_>) -> Result<Vec<NodeId>> {
        Ok(search.run(self.read, index, question, None)?.into_iter().map(|hit| hit.node).collect())
    }

    /// Sentences of the first of `leaves`, best first.
    fn sentences(&self, question: Question<'_>, leaves: &[NodeId]) -> Result<Vec<(usize, f32)>> {
        let numbers =
            leaves.iter().take(SEEN).filter_map(|node| self.index.leaves().binary_search(node).ok());
        let mut asked: Vec<u32> = numbers
            .flat_map(|leaf| self.index.sentences_of(u32::try_from(leaf).unwrap_or(u32::MAX)))
            .collect();
        asked.sort_unstable();
        let scores = base().sentence_matches(self.read, &self.index, question, None, &asked)?;
        let mut found: Vec<(usize, f32)> = asked.into_iter().map(|at| at as usize).zip(scores).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(found)
    }

    /// Leaves by vectors, entities by the built-in embedder, `sentences` as they are.
    fn views(&self, question: Question<'_>, own: &[f32], sentences: &[(usize, f32)]) -> Result<Views> {
        let taken = ConsensusG1::default().taken;
        let search = Search { mode: Some(SearchMode::Dense), limit: taken, ..Search::default() };
        let text = search.run(self.read, question)?;
        let graph = &self.graph;
        let entities = self.names.nearest(own, taken).into_iter().map(|(at, score)| {
            let entity = self.entities[at];
            EntityHit {
                score,
                specificity: graph.specificity(Object::Entity(entity)),
                leaves: graph.mentions(entity).map(|(node, _)| node).collect(),
            }
        });
        let relations = sentences.iter().take(taken).map(|&(at, score)| {
            let edge = HyperedgeId(self.index.sentences()[at].row);
            let ends = graph.members(edge).map(|member| graph.specificity(member.object));
            RelationHit {
                score,
                ends: ends.collect(),
                leaves: graph.supports(edge).map(|(node, _)| node).collect(),
            }
        });
        Ok(Views {
            text: text.into_iter().map(|hit| (hit.node, hit.score)).collect(),
            entities: entities.collect(),
            relations: relations.collect(),
            leaves: u32::try_from(self.index.leaf_count()).unwrap_or(u32::MAX),
        })
    }

    /// As HippoRAG 2: seeds are what the five best of `sentences` and the question name, each the rarer the more, and
    /// every leaf by its own similarity with a weight of .05; damping .5.
    fn page_rank(&self, question: Question<'_>, sentences: &[(usize, f32)]) -> Result<Vec<NodeId>> {
        let mut seeds: Vec<(Object, f64)> = Vec::new();
        let mut add = |entity: EntityId, weight: f32| {
            let mentions = self.graph.specificity(Object::Entity(entity)).mentions.max(1);
            seeds.push((Object::Entity(entity), f64::from(weight.max(0.0)) / f64::from(mentions)));
        };
        for &(at, score) in sentences.iter().take(5) {
            for member in self.graph.members(HyperedgeId(self.index.sentences()[at].row)) {
                if let Object::Entity(entity) = member.object {
                    add(entity, score);
                }
            }
        }
        for key in QuestionNames::new(&self.index, question.text).titles() {
            let entities = self.by_key.get(self.index.key_text(*key));
            entities.into_iter().flatten().for_each(|entity| add(*entity, 1.0));
        }
        let total: f64 = seeds.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut seeds {
            *weight /= total.max(f64::MIN_POSITIVE);
        }
        let dense =
            Search { mode: Some(SearchMode::Dense), limit: self.index.leaf_count(), ..Search::default() };
        let dense = dense.run(self.read, question)?;
        let (high, low) =
            (dense.first().map_or(1.0, |hit| hit.score), dense.last().map_or(0.0, |hit| hit.score));
        for hit in &dense {
            let share = f64::from((hit.score - low) / (high - low).max(f32::MIN_POSITIVE));
            seeds.push((Object::Node(hit.node), 0.05 * share));
        }
        let settings = PageRank {
            on: WalkOn::Members,
            kinds: Some(vec![SENTENCE.to_owned()]),
            mention_weight: 1.0,
            damping: 0.5,
            precision: Precision::Full(1e-6),
        };
        let ranks = page_rank(self.read, &settings, &seeds, usize::MAX)?;
        let nodes = ranks.best.into_iter().filter_map(|(object, _)| match object {
            Object::Node(node) => Some(node),
            _ => None,
        });
        Ok(nodes.take(LIMIT).collect())
    }

    /// The list `base` with what its first three lead to after them.
    fn expanded(&self, question: Question<'_>, base: &[NodeId]) -> Result<Vec<NodeId>> {
        let mut search = FindPaths { limit: self.index.leaf_count(), ..FindPaths::default() };
        search.paths.anchors = BEFORE;
        let mut hits = search.run(self.read, &self.index, question, None)?;
        hits.retain(|hit| !hit.path.is_empty());
        hits.sort_by(|a, b| b.into.total_cmp(&a.into));
        let mut list: Vec<NodeId> = base.iter().copied().take(BEFORE).collect();
        let mut led: BTreeMap<NodeId, usize> = BTreeMap::new();
        for hit in hits {
            let Some(anchor) = hit.path.last().map(|step| step.from) else { continue };
            let own = led.entry(anchor).or_default();
            if *own < EACH_ANCHOR && list.len() < BEFORE + APPENDED && !list.contains(&hit.node) {
                *own += 1;
                list.push(hit.node);
            }
        }
        let rest: Vec<NodeId> = base.iter().copied().filter(|node| !list.contains(node)).collect();
        list.extend(rest);
        Ok(list)
    }

    /// An index whose sentences are `facts`: a leaf titled as the subject names the object.
    fn facts(&self, facts: &[Value]) -> Result<PathIndex> {
        let mut by_subject: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for fact in facts {
            by_subject.entry(folded(&text_of(fact, "subject"))).or_default().push(text_of(fact, "object"));
        }
        let mut builder = PathIndexBuilder::default();
        for (leaf, node) in (0..).zip(self.index.leaves()) {
            let titles: Vec<&str> =
                self.index.titles(leaf).iter().map(|key| self.index.key_text(*key)).collect();
            builder.leaf(*node, titles.iter().copied())?;
            let entries: Vec<SentenceEntry> = self
                .index
                .sentences_of(leaf)
                .filter_map(|at| self.index.sentences().get(at as usize).copied())
                .collect();
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else { continue };
            let span = Span::new(first.span.start, last.span.end);
            for object in titles.iter().filter_map(|title| by_subject.get(*title)).flatten() {
                builder.sentence(SentenceEntry { row: first.row, span }, [object.as_str()])?;
            }
        }
        Ok(builder.finish())
    }

    /// The lists of the steps of question `at`, each by itself, one leaf of each in turn.
    fn in_turns(&self, at: usize, steps: &[Value], vectors: Option<&Matrix>) -> Result<Vec<NodeId>> {
        let mut lists = Vec::new();
        for (row, step) in steps.iter().enumerate() {
            if step["question"].as_u64() == u64::try_from(at).ok() {
                let text = text_of(step, "text");
                let vector = vectors.map(|all| QuestionVector { space: &self.space, vector: all.row(row) });
                lists.push(self.paths(&base(), &self.index, Question { text: &text, vector })?);
            }
        }
        let mut list: Vec<NodeId> = Vec::new();
        for place in 0..LIMIT {
            for node in lists.iter().filter_map(|list| list.get(place)) {
                if !list.contains(node) {
                    list.push(*node);
                }
            }
        }
        Ok(list)
    }
}
