//! A small file, and everything one can ask of it.

#![allow(dead_code, reason = "each target uses its part")]

use std::sync::Arc;

use evdb::db::{DumpOptions, VerifyOptions};
use evdb::methods::bear::Bear;
use evdb::model::TokenCounter;
use evdb::storage::faults::Disk;
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Budget, Builder, Database, Document, Result, Span};

pub struct Quarters;

impl TokenCounter for Quarters {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn fingerprint(&self) -> &'static str {
        "quarters"
    }
}

pub fn builder() -> Builder {
    Database::builder().token_counter(Arc::new(Quarters)).cache_bytes(1 << 20)
}

/// A document of two leaves, different for each seed.
pub fn document(key: &str, seed: u8) -> Document {
    let mut document = Document::new(key, format!("title {seed}"));
    document.attributes.insert("year".into(), seed.to_string());
    document.nodes.push(Node { title: "a section".into(), ..Node::new(Some(0), NodeKind::Section) });
    for leaf in 0..2_u32 {
        let start = u32::try_from(document.text.len()).unwrap_or_default();
        document.text.push_str(&format!("river treaty {seed} of leaf {leaf}\n"));
        let end = u32::try_from(document.text.len()).unwrap_or_default();
        document.nodes.push(Node { span: Span::new(start, end), ..Node::new(Some(1), NodeKind::Text) });
    }
    document
}

/// The bytes of a file of four documents in two segments, one replaced and one removed.
pub fn small_file() -> Vec<u8> {
    let disk = Disk::new();
    let db = builder().on_disk(&disk).expect("memory");
    for batch in 0..2_u8 {
        let mut write = db.begin_write().expect("writable");
        for number in 0..3_u8 {
            let document = document(&format!("d{}", number + batch), number + 5 * batch);
            let id = write.upsert_document(&document).expect("sound").document();
            let space = write.open_space("s", 3, Metric::Cosine, "seeds").expect("3");
            let rows: Vec<f32> = (0..6).map(|at| f32::from(number + batch + at)).collect();
            write.put_leaf_vectors(space, &document, id, &rows).expect("6 floats");
        }
        if batch == 1 {
            write.remove_document("d0").expect("there");
        }
        write.commit().expect("memory");
    }
    drop(db);
    disk.bytes()
}

/// Everything one can ask; errors are answers.
pub fn ask_everything(db: &Database) -> Result<()> {
    let read = db.begin_read()?;
    let _ = read.verify(VerifyOptions::default());
    let _ = read.dump(&mut std::io::sink(), DumpOptions::default());
    let _ = read.stats();
    for key in ["d0", "d1", "d2", "d3"] {
        if let Ok(Some(info)) = read.document_by_key(key) {
            let _ = read.tree(info.id).map(|tree| tree.nodes().map(|node| node.title().len()).sum::<usize>());
            let _ = read.document_of(info.nodes.last);
        }
    }
    let _ = read.text_index().search(&["river", "treati", "leaf"], None, 10);
    if let Some(space) = read.space("s")
        && let Ok(flat) = space.flat()
        && let Ok(query) = flat.query(&vec![1.0; space.record().dimension as usize])
    {
        let _ = flat.search(&query, None, read.text_index().deleted(), 10, 1);
        let _ = space.all_context_norms();
    }
    let _ = Bear::default().ask(&read, "river treaty", Budget::tokens(60));
    Ok(())
}
