//! Ten seconds of evdb: a file, a document, a question.
//!
//! Run with `cargo run --example ten_seconds`.

use evdb::ingest::{Options, markdown};
use evdb::methods::bear::Bear;
use evdb::{Budget, Database};

const CONTRACT: &str = "# Service agreement\n\n## Term\n\nThe contract ends on 31 May 2031.\n\n## Fees\n\nThe fee \
                        is 4,000 euros a month, payable in advance.\n";

fn main() -> evdb::Result<()> {
    let db = Database::in_memory()?; // Database::create("case.evdb") for a file
    let contract = markdown("contract.md", CONTRACT, &Options::default(), db.token_counter().as_ref())?;

    let mut w = db.begin_write()?;
    w.insert_document(&contract)?;
    w.commit()?;

    let found = Bear::default().ask(&db.begin_read()?, "when does the contract end?", Budget::tokens(40))?;
    for e in &found.evidence.items {
        println!("{:.2}  {} {}  {}", e.score, e.key, e.span, e.text);
    }
    assert!(found.evidence.spent <= 40);
    Ok(())
}
