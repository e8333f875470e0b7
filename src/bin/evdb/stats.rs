//! `evdb info` and `evdb stats`: what a file is, and what takes its space.

use std::io::Write;

use evdb::db::Stats;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::args::{Common, FileArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, STRONG};

pub fn info(args: &FileArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let stats = open::read_only(&args.file, common)?.begin_read()?.stats()?;
    if output.json {
        output.line(&json!({
            "file": args.file.display().to_string(),
            "creator": stats.creator,
            "format_version": stats.format_version,
            "token_counter": stats.token_counter,
            "analyzer": stats.analyzer,
            "documents": stats.documents,
            "leaves": stats.leaves,
            "spaces": stats.spaces,
            "file_bytes": stats.file_bytes,
        }))?;
    } else {
        summary(&stats, args, output)?;
    }
    Ok(Exit::Done)
}

pub fn stats(args: &FileArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let stats = open::read_only(&args.file, common)?.begin_read()?.stats()?;
    if output.json {
        output.line(&stats)?;
        return Ok(Exit::Done);
    }
    summary(&stats, args, output)?;
    writeln!(output)?;
    ledger(&stats, output)?;
    Ok(Exit::Done)
}

fn row(output: &mut Output, name: &str, value: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(output, "  {name:<14} {value}")?)
}

fn summary(stats: &Stats, args: &FileArgs, output: &mut Output) -> Result<(), Failure> {
    let count = |number: u32| HumanCount(number.into());
    writeln!(output, "{}", Painted(KEY, args.file.display()))?;
    row(output, "made by", format_args!("{}, format version {}", stats.creator, stats.format_version))?;
    row(output, "tokens of", &stats.token_counter)?;
    row(output, "analyzer", &stats.analyzer)?;
    row(output, "commits", HumanCount(stats.commits))?;
    row(output, "documents", count(stats.documents))?;
    row(output, "nodes", count(stats.nodes))?;
    row(
        output,
        "leaves",
        format_args!(
            "{}, of {:.0} tokens on average, {} in all",
            count(stats.leaves),
            stats.mean_leaf_tokens,
            HumanCount(stats.leaf_tokens)
        ),
    )?;
    row(output, "text", format_args!("{} before compression", HumanBytes(stats.text_bytes)))?;
    let index = format!(
        "{} in {}",
        HumanBytes(stats.segment_bytes),
        match stats.segments {
            1 => "1 segment".to_owned(),
            more => format!("{more} segments"),
        }
    );
    row(output, "text index", index)?;
    for space in &stats.spaces {
        let gone = space.rows.saturating_sub(space.live);
        let gone = if gone > 0 { format!(", {} of removed leaves", count(gone)) } else { String::new() };
        let name = format!("space {:?}", space.name);
        let shape = format!("{} x {}, {}", count(space.live), space.dimension, space.metric);
        row(output, &name, format_args!("{shape}{gone}, by {}", space.fingerprint))?;
    }
    if stats.spaces.is_empty() {
        row(output, "spaces", "none")?;
    }
    let graph = stats.graph;
    if graph.entities > 0 {
        let sizes = format!(
            "{} entities, {} hyperedges, {} mentions, {} supports",
            HumanCount(graph.entities as u64),
            HumanCount(graph.hyperedges as u64),
            HumanCount(graph.mentions as u64),
            HumanCount(graph.supports as u64)
        );
        row(output, "graph", sizes)?;
    }
    if let Some(bytes) = stats.file_bytes {
        row(output, "file", HumanBytes(bytes))?;
    }
    Ok(())
}

fn ledger(stats: &Stats, output: &mut Output) -> Result<(), Failure> {
    writeln!(output, "{}", Painted(STRONG, "where the space goes"))?;
    let heads = ["table", "rows", "stored", "overhead", "empty", "share"];
    let [name, rows, stored, overhead, empty, share] = heads;
    let line = format!("  {name:<14} {rows:>10} {stored:>12} {overhead:>12} {empty:>12} {share:>7}");
    writeln!(output, "{}", Painted(FAINT, line))?;
    let whole = stats.file_bytes.unwrap_or(stats.table_bytes);
    let mut tables: Vec<_> = stats.tables.iter().filter(|table| table.rows > 0).collect();
    let bytes = |table: &evdb::storage::TableSpace| {
        table.stored_bytes + table.metadata_bytes + table.fragmented_bytes
    };
    tables.sort_by_key(|table| std::cmp::Reverse(bytes(table)));
    for table in tables {
        writeln!(
            output,
            "  {:<14} {:>10} {:>12} {:>12} {:>12} {:>7}",
            table.name,
            HumanCount(table.rows).to_string(),
            HumanBytes(table.stored_bytes).to_string(),
            HumanBytes(table.metadata_bytes).to_string(),
            HumanBytes(table.fragmented_bytes).to_string(),
            percent(bytes(table), whole),
        )?;
    }
    if let (Some(free), Some(file)) = (stats.free_bytes, stats.file_bytes) {
        let (free_bytes, share) = (HumanBytes(free).to_string(), percent(free, file));
        writeln!(
            output,
            "  {:<14} {:>10} {free_bytes:>12} {:>12} {:>12} {share:>7}",
            "free pages", "", "", ""
        )?;
        let total = HumanBytes(file).to_string();
        writeln!(output, "  {:<14} {:>10} {total:>12} {:>12} {:>12} {:>7}", "file", "", "", "", "100 %")?;
    }
    Ok(())
}

fn percent(part: u64, whole: u64) -> String {
    format!("{} %", (part * 100 + whole / 2) / whole.max(1))
}
