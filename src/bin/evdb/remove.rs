//! `evdb remove`: documents out of a file.

use std::io::Write;

use serde_json::json;

use crate::args::{Common, RemoveArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{KEY, Output, Painted, counted};

pub fn run(args: &RemoveArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::writable(&args.file, common)?;
    if !args.ignore_missing {
        let read = database.begin_read()?;
        for key in &args.keys {
            open::document(&read, key)?;
        }
    }
    // All of them or none.
    let mut write = database.begin_write()?;
    let (mut removed, mut missing) = (Vec::new(), Vec::new());
    for key in &args.keys {
        if write.remove_document(key)? {
            removed.push(key);
        } else if !removed.contains(&key) {
            missing.push(key);
        }
    }
    let left = write.document_count();
    if !removed.is_empty() {
        write.commit()?;
    }
    if output.json {
        output.line(&json!({ "removed": removed, "missing": missing, "documents": left }))?;
    } else {
        let count = counted(removed.len() as u64, "document");
        let left = counted(left.into(), "document");
        writeln!(output, "{}  {count} removed, {left} left", Painted(KEY, args.file.display()))?;
    }
    Ok(Exit::Done)
}
