//! SQLite: each edge both ways, with its place among those of its node, in the order of the primary key.

use std::path::Path;

use anyhow::{Result, bail};
use rusqlite::{Connection, params, params_from_iter};

use super::engine::{Answer, Case, Engine};
use super::input::{Input, PER_NODE, REACHED};

pub fn open(folder: &Path, input: &Input) -> Result<(Box<dyn Engine>, String)> {
    let mut db = Connection::open(folder.join("compare.sqlite"))?;
    db.pragma_update(None, "cache_size", -(1 << 20))?;
    db.execute_batch(
        "CREATE TABLE edges (node INTEGER, place INTEGER, other INTEGER, PRIMARY KEY (node, place)) WITHOUT ROWID;",
    )?;
    let transaction = db.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO edges VALUES (?1, ?2, ?3)")?;
        for (node, others) in (0_u32..).zip(input.neighbours()) {
            for (place, other) in (0_u32..).zip(others) {
                insert.execute(params![node, place, other])?;
            }
        }
    }
    transaction.commit()?;
    let note = "rows of (node, place, other), clustered; 1 GiB of cache; a recursive CTE, places below 16";
    Ok((Box::new(Sqlite { db, found: Vec::new() }), note.into()))
}

struct Sqlite {
    db: Connection,
    found: Answer,
}

impl Engine for Sqlite {
    fn ask(&mut self, case: Case, seeds: &[u32]) -> Result<()> {
        if case != Case::Expand {
            bail!("SQLite has no PageRank");
        }
        let list = vec!["(?)"; seeds.len()];
        let sql = format!(
            "WITH RECURSIVE anchors(node) AS (VALUES {}), reached(node, hops) AS (
               SELECT node, 0 FROM anchors
               UNION
               SELECT edges.other, reached.hops + 1 FROM reached JOIN edges ON edges.node = reached.node
               WHERE reached.hops < 2 AND edges.place < {PER_NODE})
             SELECT node, min(hops) FROM reached GROUP BY node HAVING min(hops) > 0 LIMIT {REACHED}",
            list.join(", ")
        );
        let mut select = self.db.prepare_cached(&sql)?;
        let rows = select.query_map(params_from_iter(seeds), |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.found = rows.collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    fn found(&self) -> Answer {
        self.found.clone()
    }
}
