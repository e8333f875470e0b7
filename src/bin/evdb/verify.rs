//! `evdb verify`: read everything and check it.

use std::io::Write;
use std::ops::ControlFlow;

use evdb::db::VerifyOptions;
use serde_json::{Value, json};

use crate::args::{Common, FileArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{KEY, Output, Painted, clean, counted};
use crate::progress;

/// Faults shown; JSON has all that were kept.
const SHOWN_FAULTS: usize = 20;

pub fn run(args: &FileArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let checked = match check(args, common) {
        // A file too damaged to open is damaged, which is what was asked.
        Err(Failure::Error(message, _)) if message.contains("corrupt: ") => Err(message),
        other => Ok(other?),
    };
    let (records, faults, more) = match checked {
        Ok(found) => found,
        Err(message) => (0, vec![json!({ "message": message })], 0),
    };
    let is_clean = faults.is_empty();
    if output.json {
        output.line(&json!({
            "file": args.file.display().to_string(),
            "clean": is_clean,
            "records": records,
            "faults": faults,
            "more_faults": more,
        }))?;
    } else if is_clean {
        let records = counted(records, "record");
        writeln!(output, "{}  {records} read, nothing wrong", Painted(KEY, args.file.display()))?;
    } else {
        for fault in faults.iter().take(SHOWN_FAULTS) {
            let message = fault.get("message").and_then(Value::as_str).unwrap_or_default();
            writeln!(output, "{}", clean(message))?;
        }
        let hidden = faults.len().saturating_sub(SHOWN_FAULTS) as u64 + more;
        if hidden > 0 {
            writeln!(output, "and {}", counted(hidden, "more fault"))?;
        }
        let total = counted(faults.len() as u64 + more, "fault");
        writeln!(output, "{}  {total}", Painted(KEY, args.file.display()))?;
        output.remark("what is named above is damaged; build the file anew or take a backup");
    }
    Ok(if is_clean { Exit::Done } else { Exit::Damaged })
}

/// Records read, faults found, faults beyond those.
fn check(args: &FileArgs, common: &Common) -> Result<(u64, Vec<Value>, u64), Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let bar = progress::things(common, read.document_count().into(), "checking");
    let mut shown = |done: u32, _: u32| {
        bar.set_position(done.into());
        ControlFlow::Continue(())
    };
    let found = read.verify(VerifyOptions { progress: Some(&mut shown) })?;
    bar.finish_and_clear();
    let faults = found.faults.iter().map(|fault| {
        let at = fault.corruption();
        json!({
            "message": fault.to_string(),
            "table": at.map(|at| at.table.as_str()),
            "key": at.map(|at| at.key.as_str()),
            "field": at.map(|at| at.field.as_str()),
            "offset": at.map(|at| at.offset),
            "section": at.map(|at| at.section),
        })
    });
    Ok((found.records, faults.collect(), found.more_faults))
}
