//! Multi-hop retrieval over a file: leaves that what matches a question leads to, each with the way to it. Names are
//! those of the file's graph (`evdb build --names`), or are read off its texts if it has none.
//!
//! ```sh
//! cargo run --example find_paths -- FILE --sentences                 # one line a sentence: text, names, titles
//! cargo run --example find_paths -- FILE QUESTIONS [--option value]  # one line a question: hits with paths
//! ```
//!
//! QUESTIONS is JSONL with `question`. Options: `--question-vectors FILE.npy` and `--space NAME`;
//! `--sentence-vectors FILE.npy`, row i for line i of `--sentences`; `--limit`, `--threads`, and every option and
//! weight of `FindPaths` by its name, as in `--hops 3 --link 0.5`; `--names true` adds what the anchors' sentences
//! name that has no page of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use evdb::graph::paths::{PathIndex, QuestionNames};
use evdb::ingest::extract::{NameRules, path_index};
use evdb::providers::{Matrix, Npy};
use evdb::query::{FindPaths, PathHit, Question, QuestionVector, SentenceVectors};
use evdb::{Database, Error, NodeId, ReadTransaction, Result, Span};
use serde_json::{Value, json};

/// Rows of a matrix as vectors of sentences, of unit length.
struct Sentences {
    matrix: Matrix,
    /// Which row of the matrix is of which row of the index.
    at: BTreeMap<u32, usize>,
}

impl SentenceVectors for Sentences {
    fn scores(&self, question: &[f32], rows: &[u32]) -> Result<Vec<f32>> {
        let unit = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let asked = unit(question);
        let score = |row: &u32| {
            let Some(at) = self.at.get(row) else { return 0.0 };
            let row = self.matrix.row(*at);
            let dot: f32 = row.iter().zip(question).map(|(a, b)| a * b).sum();
            dot / (unit(row) * asked)
        };
        Ok(rows.iter().map(score).collect())
    }
}

fn main() -> Result<()> {
    let mut places = Vec::new();
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--") {
            Some("sentences") => drop(options.insert("sentences".into(), String::new())),
            Some(name) => {
                let value = args.next().ok_or_else(|| Error::invalid(format!("--{name} has no value")))?;
                options.insert(name.to_owned(), value);
            }
            None => places.push(arg),
        }
    }
    let file = places.first().ok_or_else(|| Error::invalid("the first argument is a file of evdb"))?;
    let database = Database::open(Path::new(file))?;
    let read = database.begin_read()?;
    let started = std::time::Instant::now();
    let stored = read.graph()?.hyperedge_count() > 0;
    let index = if stored { read.path_index()? } else { Arc::new(path_index(&read, &NameRules::default())?) };
    eprintln!(
        "{} leaves, {} sentences, {} keys in {:.2} s",
        index.leaf_count(),
        index.sentences().len(),
        index.key_count(),
        started.elapsed().as_secs_f64()
    );
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if options.contains_key("sentences") {
        sentences(&read, &index, &mut out)
    } else {
        let questions =
            places.get(1).ok_or_else(|| Error::invalid("the second argument is a file of questions"))?;
        questions_of(questions).and_then(|questions| ask(&read, &index, &questions, &mut options, &mut out))
    };
    written.and_then(|()| out.flush().map_err(|error| Error::io("write", "the output", error)))
}

fn invalid(error: &serde_json::Error) -> Error {
    Error::invalid(error.to_string())
}

fn line(out: &mut impl Write, value: &Value) -> Result<()> {
    writeln!(out, "{value}").map_err(|error| Error::io("write", "the output", error))
}

fn sentences(read: &ReadTransaction, index: &PathIndex, out: &mut impl Write) -> Result<()> {
    for (leaf, node) in (0..).zip(index.leaves()) {
        let document = read.document_of(*node)?;
        let text = read.text(document.id, Span::new(0, document.text_bytes))?;
        let id = id_of(read, *node)?;
        let keys = |keys: &[u32]| keys.iter().map(|key| index.key_text(*key)).collect::<Vec<_>>();
        for at in index.sentences_of(leaf) {
            let span = index.sentences()[at as usize].span;
            line(
                out,
                &json!({
                    "id": id,
                    "text": format!("{}: {}", document.title, &text[span.as_range()]),
                    "names": keys(index.named(at)),
                    "titles": keys(index.titles(leaf)),
                }),
            )?;
        }
    }
    Ok(())
}

fn id_of(read: &ReadTransaction, node: NodeId) -> Result<String> {
    let tree = read.tree(read.document_of(node)?.id)?;
    Ok(tree.node(node)?.attribute("id").map_or_else(|| node.to_string(), str::to_owned))
}

fn questions_of(path: &str) -> Result<Vec<String>> {
    let failed = |error| Error::io("read", path, error);
    let lines = BufReader::new(File::open(path).map_err(failed)?).lines();
    let mut questions = Vec::new();
    for line in lines {
        let value: Value = serde_json::from_str(&line.map_err(failed)?)
            .map_err(|error| Error::invalid(format!("{path}: {error}")))?;
        questions.push(value["question"].as_str().unwrap_or_default().to_owned());
    }
    Ok(questions)
}

fn ask(
    read: &ReadTransaction,
    index: &PathIndex,
    questions: &[String],
    options: &mut BTreeMap<String, String>,
    out: &mut impl Write,
) -> Result<()> {
    let matrix =
        |path: Option<String>| path.map(|path| Npy::open(Path::new(&path))?.into_matrix()).transpose();
    let vectors = matrix(options.remove("question-vectors"))?;
    let rows = || index.sentences().iter().enumerate().map(|(at, entry)| (entry.row, at));
    let sentences = matrix(options.remove("sentence-vectors"))?;
    let sentences = sentences.map(|matrix| Sentences { matrix, at: rows().collect() });
    let space = options.remove("space").or_else(|| read.space_names().next().map(str::to_owned));
    let names = options.remove("names").is_some();
    let search = search(options)?;
    let mut seconds = 0.0;
    for (at, text) in questions.iter().enumerate() {
        let vector = vectors.as_ref().zip(space.as_deref());
        let vector = vector.map(|(matrix, space)| QuestionVector { space, vector: matrix.row(at) });
        let given = sentences.as_ref().map(|given| given as &dyn SentenceVectors);
        let started = std::time::Instant::now();
        let hits = search.run(read, index, Question { text, vector }, given)?;
        seconds += started.elapsed().as_secs_f64();
        let rows: Vec<Value> = hits
            .iter()
            .map(|hit| Ok(json!({ "id": id_of(read, hit.node)?, "hit": hit })))
            .collect::<Result<_>>()?;
        let mut answer = json!({ "question": text, "hits": rows });
        if names {
            let strengths = Strengths { search: &search, vector, text, given };
            answer["names"] = strengths.nameless(read, index)?.into();
        }
        line(out, &answer)?;
    }
    eprintln!("{} questions in {seconds:.2} s", questions.len());
    Ok(())
}

/// The search that `options` describe, which must all be of its own.
fn search(options: &BTreeMap<String, String>) -> Result<FindPaths> {
    let mut value = serde_json::to_value(FindPaths::default()).map_err(|error| invalid(&error))?;
    for (name, text) in options {
        let given: Value = serde_json::from_str(text).map_err(|error| invalid(&error))?;
        let places = ["", "/base", "/paths", "/paths/weights"].map(|place| format!("{place}/{name}"));
        let place = places.iter().find(|place| value.pointer(place).is_some());
        let place = place.ok_or_else(|| Error::invalid(format!("there is no option --{name}")))?;
        if let Some(slot) = value.pointer_mut(place) {
            *slot = given;
        }
    }
    serde_json::from_value(value).map_err(|error| invalid(&error))
}

/// A question, as it is asked.
struct Strengths<'a> {
    search: &'a FindPaths,
    vector: Option<QuestionVector<'a>>,
    text: &'a str,
    given: Option<&'a dyn SentenceVectors>,
}

impl Strengths<'_> {
    /// What the anchors' sentences name that no leaf has as title: name, the anchor's share of the best score, the
    /// sentence's match, whether the question holds it.
    fn nameless(&self, read: &ReadTransaction, index: &PathIndex) -> Result<Vec<Value>> {
        let mut base = self.search.clone();
        (base.limit, base.paths.anchors) = (self.search.paths.anchors, 0);
        let anchors: Vec<PathHit> =
            base.run(read, index, Question { text: self.text, vector: self.vector }, None)?;
        let top = anchors.first().map_or(1.0, |hit| hit.score);
        let names = QuestionNames::new(index, self.text);
        let titled = names.title_scores(index);
        let question = Question { text: self.text, vector: self.vector };
        let mut found = Vec::new();
        for anchor in anchors {
            let Ok(leaf) = index.leaves().binary_search(&anchor.node) else { continue };
            let sentences: Vec<u32> = index.sentences_of(u32::try_from(leaf).unwrap_or(u32::MAX)).collect();
            let matches = self.search.sentence_matches(read, index, question, self.given, &sentences)?;
            let strength = (anchor.score / top).max(titled[leaf]);
            for (at, similarity) in sentences.into_iter().zip(matches) {
                for key in index.named(at).iter().filter(|key| index.titled(**key).is_empty()) {
                    let name = index.key_text(*key);
                    found.push(json!([name, strength, similarity, names.holds(name)]));
                }
            }
        }
        Ok(found)
    }
}
