//! What the tests that break things share: a counter, documents out of a seed, and ways to look at a file.
#![allow(dead_code, reason = "each test uses its part")]

use std::fmt::Write;
use std::sync::Arc;

use evdb::db::{DumpOptions, VerifyOptions};
use evdb::methods::bear::{Bear, Mode, Request};
use evdb::model::TokenCounter;
use evdb::query::{Format, Question, QuestionVector};
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Budget, Builder, Database, Document, Error, Result, Span, WriteTransaction};

/// One token for each four bytes: exact enough to count, and fast in a debug build.
pub struct Quarters;

impl TokenCounter for Quarters {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn fingerprint(&self) -> &'static str {
        "quarters"
    }
}

/// A builder that counts by [`Quarters`] and keeps little in memory.
pub fn builder() -> Builder {
    Database::builder().token_counter(Arc::new(Quarters)).cache_bytes(4 << 20)
}

/// SplitMix64: the same numbers from the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("it is below a usize")
    }

    /// From -1 to 1.
    pub fn float(&mut self) -> f32 {
        let steps = u16::try_from(self.next() & 0xffff).expect("16 bits");
        f32::from(steps) / 32_768.0 - 1.0
    }
}

const WORDS: [&str; 40] = [
    "border",
    "river",
    "mountain",
    "treaty",
    "copper",
    "harvest",
    "railway",
    "council",
    "island",
    "winter",
    "harbour",
    "empire",
    "language",
    "census",
    "export",
    "province",
    "desert",
    "glacier",
    "parliament",
    "currency",
    "festival",
    "fishery",
    "museum",
    "tariff",
    "volcano",
    "pasture",
    "monsoon",
    "plateau",
    "archive",
    "granite",
    "cathedral",
    "orchard",
    "bridge",
    "canal",
    "library",
    "market",
    "engine",
    "satellite",
    "vineyard",
    "quarry",
];

/// `count` words, separated by blanks.
pub fn words(random: &mut Random, count: usize) -> String {
    let words: Vec<&str> = (0..count).map(|_| WORDS[random.below(WORDS.len())]).collect();
    words.join(" ")
}

/// A document of `sections` sections with `leaves` leaves each, of `count` words each.
pub fn document(key: &str, seed: u64, sections: usize, leaves: usize, count: usize) -> Document {
    let mut random = Random(seed);
    let mut document = Document::new(key, words(&mut random, 2));
    document.attributes.insert("year".into(), (2000 + seed % 3).to_string());
    for _ in 0..sections {
        let parent = u32::try_from(document.nodes.len()).expect("few nodes");
        document.nodes.push(Node {
            title: words(&mut random, 2),
            summary: words(&mut random, 3),
            ..Node::new(Some(0), NodeKind::Section)
        });
        for _ in 0..leaves {
            let start = u32::try_from(document.text.len()).expect("a short text");
            document.text.push_str(&words(&mut random, count));
            let end = u32::try_from(document.text.len()).expect("a short text");
            document.text.push_str(".\n");
            document.nodes.push(Node {
                span: Span::new(start, end),
                page: 1,
                ..Node::new(Some(parent), NodeKind::Text)
            });
        }
    }
    document
}

/// One vector for each leaf of `document`.
pub fn vectors(document: &Document, dimension: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed ^ 0xabcd);
    (0..document.leaf_count() * dimension).map(|_| random.float()).collect()
}

/// Upserts `document`, with its vectors in space `s`.
pub fn put(write: &mut WriteTransaction, document: &Document, dimension: usize, seed: u64) -> Result<()> {
    let id = write.upsert_document(document)?.document();
    let space = write.open_space("s", dimension, Metric::Cosine, "made by a seed")?;
    write.put_leaf_vectors(space, document, id, &vectors(document, dimension, seed))
}

/// The canonical dump of the last committed state.
pub fn dump(db: &Database) -> Result<String> {
    let mut out = Vec::new();
    db.begin_read()?.dump(&mut out, DumpOptions::default())?;
    Ok(String::from_utf8(out).expect("JSON"))
}

/// Every row of every table.
pub fn dump_raw(db: &Database) -> Result<String> {
    let mut out = Vec::new();
    db.begin_read()?.dump(&mut out, DumpOptions { raw: true })?;
    Ok(String::from_utf8(out).expect("JSON"))
}

/// What `verify` finds.
pub fn faults(db: &Database) -> Result<Vec<Error>> {
    Ok(db.begin_read()?.verify(VerifyOptions::default())?.faults)
}

/// Panics, with the faults, if there are any.
pub fn assert_clean(db: &Database, what: &str) {
    let faults = faults(db).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(faults.is_empty(), "{what}: {faults:#?}");
}

/// Questions that the documents of [`document`] answer, and one that they do not.
pub const QUESTIONS: [&str; 3] = ["river treaty", "granite quarry near the volcano", "zeppelin"];

/// The leaves found for `question` by words, with the bits of their scores.
pub fn text_search(db: &Database, question: &str) -> Result<String> {
    let read = db.begin_read()?;
    let terms = read.analyzers().distinct_terms(question);
    let mut out = String::new();
    for hit in read.text_index().search(&terms, None, 50)? {
        write!(out, "{}:{:08x} ", hit.node, hit.score.to_bits()).expect("a string");
    }
    Ok(out)
}

/// The leaves nearest to `vector` in space `s`, with the bits of their scores.
pub fn vector_search(db: &Database, vector: &[f32], threads: usize) -> Result<String> {
    let read = db.begin_read()?;
    let space = read.space("s").ok_or_else(|| Error::not_found("there is no space"))?;
    let flat = space.flat()?;
    let query = flat.query(vector)?;
    let mut out = String::new();
    for hit in flat.search(&query, None, read.text_index().deleted(), 20, threads)? {
        write!(out, "{}:{:08x} ", hit.node, hit.score.to_bits()).expect("a string");
    }
    Ok(out)
}

/// What BEAR finds for `question`, as JSON.
pub fn ask(db: &Database, question: &str, tokens: usize) -> Result<String> {
    let found = Bear::default().ask(&db.begin_read()?, question, Budget::tokens(tokens))?;
    assert!(found.evidence.spent <= tokens);
    Ok(serde_json::to_string(&found).expect("plain data"))
}

/// What BEAR finds for `question` by words and by `vector` in space `s`, as JSON.
pub fn ask_with_vector(db: &Database, question: &str, vector: &[f32], tokens: usize) -> Result<String> {
    let question = Question { text: question, vector: Some(QuestionVector { space: "s", vector }) };
    let format = Format::default();
    let request = Request::new(question, Budget::tokens(tokens), &format);
    let bear = Bear { mode: Mode::Nodes, ..Bear::default() };
    let found = bear.retrieve(&db.begin_read()?, &request)?;
    assert!(found.evidence.spent <= tokens);
    Ok(serde_json::to_string(&found).expect("plain data"))
}
