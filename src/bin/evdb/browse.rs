//! `evdb toc`, `evdb media`, `evdb table`: what a file holds, in short lists.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use evdb::query::{
    Listed, Media, MediaFilter, MediaScope, Table, find_label, list_media, sources, table_lookup, table_rows,
    toc,
};
use evdb::tree::NodeKind;
use evdb::{NodeId, ReadTransaction};
use serde_json::json;

use crate::args::{Common, KindArg};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, STRONG, clean, counted, excerpt};

/// Characters of a title or cell that a line shows.
const LINE: usize = 90;

#[derive(Args)]
pub struct TocArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Key of the document; without it, the documents are listed
    pub doc: Option<String>,
    /// Only documents whose key or title has this
    #[arg(long, value_name = "TEXT", conflicts_with = "doc")]
    pub find: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  evdb media report.evdb report.md --heading Results
  evdb media report.evdb report.md --label 'Figure 5'")]
pub struct MediaArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Key of the document; without it, those of all
    pub doc: Option<String>,
    /// Only of this kind [default: images and tables]
    #[arg(long, value_enum)]
    pub kind: Option<KindArg>,
    /// Only on this page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub page: Option<u32>,
    /// Only under this heading
    #[arg(long, value_name = "HEADING")]
    pub heading: Option<String>,
    /// Lines with this label, such as 'Figure 5' or '表 2', and what is beside them
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["kind", "page", "heading"])]
    pub label: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  evdb table prices.evdb --find copper
  evdb table prices.evdb 'Prices 2024' --find copper --json")]
pub struct TableArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Number of the table's node, as `media` lists it, or a part of its name or of a column's; all tables without it
    pub table: Option<String>,
    /// Only rows that have this in a cell, whatever the case
    #[arg(long, value_name = "TEXT")]
    pub find: Option<String>,
    /// Only tables of this document (repeat for more)
    #[arg(long, value_name = "KEY")]
    pub doc: Vec<String>,
}

pub fn contents(args: &TocArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let Some(key) = &args.doc else {
        let list = sources(&read, args.find.as_deref().unwrap_or_default())?;
        for source in &list.items {
            if output.json {
                output.line(source)?;
                continue;
            }
            let about = counted(source.leaves.into(), "leaf");
            let said = if source.one_line.is_empty() { &source.title } else { &source.one_line };
            let key = Painted(KEY, clean(&source.key));
            writeln!(output, "{key}  {}  {}", excerpt(said, LINE), Painted(FAINT, about))?;
        }
        return Ok(ended(&list, "document", output));
    };
    let list = toc(&read, open::document(&read, key)?.id)?;
    for entry in &list.items {
        if output.json {
            output.line(entry)?;
            continue;
        }
        let indent = "  ".repeat(usize::from(entry.level.saturating_sub(1)));
        let page = entry.page.map_or_else(String::new, |page| format!("page {page}, "));
        let about = format!("{page}{}", counted(entry.tokens.into(), "token"));
        let id = Painted(FAINT, format!("{:>7}", entry.node.get()));
        let title = Painted(STRONG, excerpt(&entry.title, LINE));
        writeln!(output, "{id}  {indent}{title}  {}", Painted(FAINT, about))?;
    }
    Ok(ended(&list, "heading", output))
}

pub fn media(args: &MediaArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let Some(key) = &args.doc else {
        return if args.heading.is_none() && args.label.is_none() && args.page.is_none() {
            every(&read, args, output)
        } else {
            let hint = "give the key of one; evdb toc FILE lists them";
            Err(Failure::usage("--page, --heading and --label are about one document", hint))
        };
    };
    let document = open::document(&read, key)?.id;
    if let Some(label) = &args.label {
        let found = find_label(&read, document, label)?;
        if output.json {
            output.line(&found)?;
        } else {
            for line in &found.lines.items {
                let page = line.page.map_or_else(String::new, |page| format!("page {page}, "));
                let about = Painted(FAINT, format!("{page}node {}", line.node));
                writeln!(output, "{}  {about}", Painted(STRONG, excerpt(&line.line, LINE)))?;
            }
            print(&found.media, output)?;
        }
        let nothing = found.lines.items.is_empty();
        return Ok(if nothing { Exit::NothingFound } else { Exit::Done });
    }
    let filter = MediaFilter { kind: kind(args), page: args.page, heading: args.heading.clone() };
    let list = list_media(&read, document, &filter)?;
    if output.json {
        output.line(&list)?;
    } else {
        print(&list.media, output)?;
    }
    match list.scope {
        MediaScope::HeadingNotFound => {
            output.remark("no heading or text is called so; these are of the whole document");
        }
        MediaScope::Mentioned => output.remark("no heading is called so; these are where the text has it"),
        _ => {}
    }
    Ok(ended(&list.media, "item", output))
}

/// The media of every document, as far as a list goes.
fn every(read: &ReadTransaction, args: &MediaArgs, output: &mut Output) -> Result<Exit, Failure> {
    let filter = MediaFilter { kind: kind(args), ..MediaFilter::default() };
    let list = sources(read, "")?;
    let mut any = false;
    for source in &list.items {
        let found = list_media(read, source.document, &filter)?;
        if found.media.items.is_empty() {
            continue;
        }
        any = true;
        if output.json {
            output.line(
                &json!({ "document": source.key, "items": found.media.items, "more": found.media.more }),
            )?;
        } else {
            writeln!(output, "{}", Painted(KEY, clean(&source.key)))?;
            print(&found.media, output)?;
        }
    }
    if list.more > 0 {
        output.remark(format_args!("and {} more", counted(list.more as u64, "document")));
    }
    Ok(if any { Exit::Done } else { Exit::NothingFound })
}

fn kind(args: &MediaArgs) -> Option<NodeKind> {
    args.kind.map(|kind| match kind {
        KindArg::Text => NodeKind::Text,
        KindArg::Table => NodeKind::Table,
        KindArg::Image => NodeKind::Image,
        KindArg::Example => NodeKind::Example,
    })
}

fn print(list: &Listed<Media>, output: &mut Output) -> Result<(), Failure> {
    for item in &list.items {
        let page = item.page.map_or_else(String::new, |page| format!(", page {page}"));
        let edge = if item.boundary { ", where the next heading begins" } else { "" };
        let path = clean(&item.heading_path.join(" > "));
        let about = format!("{}{page}{edge}  {path}", item.kind.name());
        let id = Painted(FAINT, format!("{:>7}", item.node.get()));
        writeln!(output, "{id}  {}  {}", excerpt(&item.caption, LINE), Painted(FAINT, about))?;
    }
    Ok(())
}

pub fn table(args: &TableArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let number = args.table.as_deref().and_then(|table| table.parse().ok()).map(NodeId);
    if let (Some(leaf), None) = (number, &args.find) {
        let table = table_rows(&read, leaf)?;
        show(&read, &table, output)?;
        return Ok(Exit::Done);
    }
    let documents = open::documents(&read, &args.doc)?;
    let item = args.find.as_deref().unwrap_or_default();
    let found = table_lookup(&read, documents.as_deref(), item, args.table.as_deref())?;
    for table in &found.tables {
        show(&read, table, output)?;
    }
    if found.more > 0 {
        output.remark(format_args!("and {} more", counted(found.more as u64, "row")));
    }
    output.remark(format_args!("{} looked through", counted(found.looked_at as u64, "table")));
    Ok(if found.tables.is_empty() { Exit::NothingFound } else { Exit::Done })
}

fn show(read: &ReadTransaction, table: &Table, output: &mut Output) -> Result<(), Failure> {
    if output.json {
        return output.line(table);
    }
    let key = read.document(table.document)?.key;
    let about = format!("node {}, {}", table.node, counted(table.row_count as u64, "row"));
    let name = Painted(STRONG, excerpt(&table.name, LINE));
    writeln!(output, "{}  {name}  {}", Painted(KEY, clean(&key)), Painted(FAINT, about))?;
    let line =
        |cells: &[String]| cells.iter().map(|cell| excerpt(cell, LINE)).collect::<Vec<_>>().join(" | ");
    writeln!(output, "{:>7}  {}", "", Painted(STRONG, line(&table.columns)))?;
    for row in &table.rows.items {
        writeln!(output, "{}  {}", Painted(FAINT, format!("{:>7}", row.number)), line(&row.cells))?;
    }
    Ok(())
}

fn ended<T>(list: &Listed<T>, noun: &str, output: &mut Output) -> Exit {
    if list.more > 0 {
        output.remark(format_args!("and {} more", counted(list.more as u64, noun)));
    }
    if list.items.is_empty() { Exit::NothingFound } else { Exit::Done }
}
