//! `evdb recover`: a file that was not closed cleanly, back to its last commit.

use std::io::Write;
use std::time::Instant;

use evdb::ErrorKind;
use serde_json::json;

use crate::args::{Common, FileArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{KEY, Output, Painted, counted};

pub fn run(args: &FileArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let started = Instant::now();
    // A read-only open refuses exactly what has to be recovered, and what another process holds.
    let needed = match open::builder(common).open_read_only(&args.file) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::Locked => true,
        Err(error) => return Err(open::refused(&args.file, error)),
    };
    let database = open::writable(&args.file, common)?;
    let read = database.begin_read()?;
    let stats = read.stats()?;
    drop(read);
    drop(database);
    let seconds = started.elapsed().as_secs_f64();
    if output.json {
        output.line(&json!({
            "file": args.file.display().to_string(),
            "recovered": needed,
            "commits": stats.commits,
            "documents": stats.documents,
            "seconds": seconds,
        }))?;
        return Ok(Exit::Done);
    }
    let state =
        format!("{} after {}", counted(stats.documents.into(), "document"), counted(stats.commits, "commit"));
    let name = Painted(KEY, args.file.display());
    if needed {
        writeln!(output, "{name}  was not closed cleanly; recovered in {seconds:.1} s: {state}")?;
        output
            .remark("what was being written and not committed is gone; to check the rest: evdb verify FILE");
    } else {
        writeln!(output, "{name}  was closed cleanly, there was nothing to recover: {state}")?;
    }
    Ok(Exit::Done)
}
