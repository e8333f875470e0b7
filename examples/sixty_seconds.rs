//! Sixty seconds of evdb: files, vectors, filters, a budget, and an explanation.
//!
//! Run with `cargo run --example sixty_seconds`.

use std::path::Path;
use std::sync::Arc;

use evdb::ingest::{Loader, SpaceEmbedder};
use evdb::methods::bear::{Bear, Mode, Request};
use evdb::model::Embedder;
use evdb::providers::StaticEmbedder;
use evdb::query::{Format, Question, QuestionVector};
use evdb::{Budget, Database};

fn main() -> evdb::Result<()> {
    // A file with a cache of 32 MiB, and vectors of the built-in embedder for every leaf.
    let path = std::env::temp_dir().join(format!("sixty-seconds-{}.evdb", std::process::id()));
    let db = Database::builder().cache_bytes(32 << 20).create(&path)?;
    let embedder = Arc::new(StaticEmbedder::new());
    let mut loader = Loader::new(&db)
        .threads(2)
        .embedder(SpaceEmbedder { space: "static".into(), embedder: Arc::clone(&embedder) as _ });
    let folder = Path::new("examples/data/countries");
    for name in ["mongolia.md", "china.md", "russia.md"] {
        loader.load(&folder.join(name), folder)?;
    }
    println!("{:?}", loader.finish()?);

    // A question with its vector, asked of one document, then of all.
    let read = db.begin_read()?;
    let text = "how long is the border between Mongolia and China?";
    let mut vector = vec![0.0; embedder.dimensions()];
    embedder.embed(&[text], &mut vector)?;
    let question = Question { text, vector: Some(QuestionVector { space: "static", vector: &vector }) };
    let mongolia = read.document_by_key("mongolia.md")?.map(|document| document.id);
    let bear = Bear { mode: Mode::Nodes, ..Bear::default() };
    for documents in [mongolia.as_slice(), &[]] {
        let found = bear.retrieve(
            &read,
            &Request {
                documents: (!documents.is_empty()).then_some(documents),
                ..Request::new(question, Budget::tokens(300), &Format::default())
            },
        )?;
        assert!(found.evidence.spent <= 300);
        println!("\n{}\n\n{}", found.evidence, found.trace);
    }
    drop(read);
    drop(db);
    std::fs::remove_file(&path).map_err(|error| evdb::Error::io("remove", path.display(), error))
}
