//! SQLite FTS5: `unicode61`, `detail=full`, no stems; text stored; filters as tables of row ids, joined.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};

use super::engine::{Builder, Engine, Hit, LIMIT, Missing, Searcher, Sizes, bytes_by_ending};
use super::queries::{Case, Filter, Kind};

pub const ENGINE: Engine = Engine { build, open };

const FILE: &str = "compare.sqlite";

/// Pages in memory, in KiB.
const CACHE_KIB: u32 = 1 << 20;

fn connect(folder: &Path) -> Result<Connection> {
    let db = Connection::open(folder.join(FILE))?;
    db.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    Ok(db)
}

struct Load {
    db: Connection,
    folder: std::path::PathBuf,
}

fn build(folder: &Path) -> Result<Box<dyn Builder>> {
    let db = connect(folder)?;
    db.execute_batch(
        "CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'unicode61', detail = full);
         CREATE TABLE p1 (id INTEGER PRIMARY KEY);
         CREATE TABLE p10 (id INTEGER PRIMARY KEY);
         BEGIN;",
    )?;
    Ok(Box::new(Load { db, folder: folder.to_path_buf() }))
}

impl Builder for Load {
    fn add(&mut self, passage: u32, text: &str) -> Result<()> {
        let insert = "INSERT INTO passages (rowid, text) VALUES (?1, ?2)";
        self.db.prepare_cached(insert)?.execute(params![passage, text])?;
        for filter in Filter::ALL {
            if filter.passes(passage) {
                let insert = format!("INSERT INTO {} (id) VALUES (?1)", filter.name());
                self.db.prepare_cached(&insert)?.execute([passage])?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Sizes> {
        self.db.execute_batch("COMMIT; INSERT INTO passages (passages) VALUES ('optimize');")?;
        let index: i64 =
            self.db.query_row("SELECT sum(length(block)) FROM passages_data", [], |row| row.get(0))?;
        drop(self.db);
        let total_bytes = bytes_by_ending(&self.folder)?.values().sum();
        let note = "1 thread, 1 transaction, text stored; then 'optimize'; index bytes without page overhead";
        Ok(Sizes { index_bytes: u64::try_from(index).ok(), total_bytes, note: note.to_owned() })
    }
}

struct Open {
    db: Connection,
    kind: Kind,
    select: String,
    found: Vec<(u32, f64)>,
}

fn open(folder: &Path) -> Result<Box<dyn Searcher>> {
    let db = connect(folder)?;
    Ok(Box::new(Open { db, kind: Kind::Any, select: String::new(), found: Vec::new() }))
}

/// The words in FTS5's query language.
fn expression(kind: Kind, words: &[String]) -> String {
    let quoted = || words.iter().map(|word| format!("\"{word}\""));
    match kind {
        Kind::Any => quoted().collect::<Vec<_>>().join(" OR "),
        Kind::All => quoted().collect::<Vec<_>>().join(" AND "),
        Kind::Phrase => format!("\"{}\"", words.join(" ")),
        Kind::Prefix => format!("\"{}\" *", words.join(" ")),
    }
}

impl Searcher for Open {
    fn prepare(&mut self, case: &Case) -> Result<(), Missing> {
        self.kind = case.kind;
        let join = case.filter.map_or_else(String::new, |filter| {
            let table = filter.name();
            format!("JOIN {table} ON {table}.id = passages.rowid ")
        });
        self.select = format!(
            "SELECT passages.rowid, rank FROM passages {join}WHERE passages MATCH ?1 ORDER BY rank LIMIT {LIMIT}"
        );
        Ok(())
    }

    fn search(&mut self, query: &[String]) -> Result<()> {
        let mut select = self.db.prepare_cached(&self.select)?;
        let rows = select.query_map([expression(self.kind, query)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.found = rows.collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "a score needs 24 bits")]
    fn found(&self) -> Result<Vec<Hit>> {
        // FTS5 ranks upwards: the best has the lowest.
        Ok(self.found.iter().map(|(passage, rank)| Hit { passage: *passage, score: -rank as f32 }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_so_that_none_is_an_operator() {
        let words = ["near".to_owned(), "or".to_owned()];

        assert_eq!(expression(Kind::Any, &words), r#""near" OR "or""#);
        assert_eq!(expression(Kind::All, &words), r#""near" AND "or""#);
        assert_eq!(expression(Kind::Phrase, &words), r#""near or""#);
        assert_eq!(expression(Kind::Prefix, &words[..1]), r#""near" *"#);
    }
}
