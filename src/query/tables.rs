//! Rows of tables, exactly: by what a cell has, not by likeness.

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::query::catalogue::Listed;
use crate::query::catalogue::clipped;
use crate::query::filter::Filter;
use crate::query::media::folded;
use crate::tree::NodeKind;

/// Rows that an answer shows.
///
/// # Source
///
/// The runner of KnowForge (arXiv 2610.13128).
pub const MAX_ROWS: usize = 20;

/// Columns that a row is read up to.
const MAX_COLUMNS: usize = 512;

/// Characters of a table's name.
const NAME: usize = 160;

/// A table with some of its rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Table {
    /// The leaf.
    pub node: NodeId,
    /// Its document.
    pub document: DocumentId,
    /// Its title, else the last heading above it, else its columns.
    pub name: String,
    /// Names of its columns; empty if it has none.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub row_count: usize,
    /// Rows, each with its number from 1.
    pub rows: Listed<TableRow>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TableRow {
    /// From 1.
    pub number: usize,
    /// Its cells.
    pub cells: Vec<String>,
}

/// Rows that were found, by table.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct FoundRows {
    /// The tables that have some, in the order of their ids; [`MAX_ROWS`] rows in all.
    pub tables: Vec<Table>,
    /// Tables that were looked through.
    pub looked_at: usize,
    /// Rows that were found beyond those.
    pub more: usize,
}

/// The first [`MAX_ROWS`] rows of the table `leaf`.
///
/// # Errors
///
/// `NotFound` if it is not there; `InvalidInput` if it is no table; `Corrupt`; `Io`.
pub fn table_rows(read: &ReadTransaction, leaf: NodeId) -> Result<Table> {
    let (mut table, rows) = open(read, leaf)?;
    table.rows = Listed::first(rows, MAX_ROWS);
    Ok(table)
}

/// The rows that have `item` in a cell, of the tables of `documents`, or of all.
///
/// * `item`: part of a cell; case, width and runs of spaces do not matter. If it is empty every row has it.
/// * `table`: part of the name or of a column's name, or the number of the leaf; any table if `None`.
///
/// # Errors
///
/// `NotFound` if a document is not there; `Corrupt`; `Io`.
pub fn table_lookup(
    read: &ReadTransaction,
    documents: Option<&[DocumentId]>,
    item: &str,
    table: Option<&str>,
) -> Result<FoundRows> {
    let filter = Filter {
        documents: documents.map(<[DocumentId]>::to_vec),
        kinds: vec![NodeKind::Table],
        ..Filter::default()
    };
    let (item, wanted) = (folded(item), table.map(folded));
    let mut found = FoundRows::default();
    let mut left = MAX_ROWS;
    for leaf in filter.nodes(read)?.unwrap_or_default().iter().map(NodeId) {
        if read.text_index().deleted().contains(leaf.0) {
            continue;
        }
        let (mut table, mut rows) = open(read, leaf)?;
        let is_wanted = wanted.as_ref().is_none_or(|wanted| {
            let has = |text: &String| folded(text).contains(wanted);
            *wanted == leaf.to_string() || has(&table.name) || table.columns.iter().any(has)
        });
        if !is_wanted {
            continue;
        }
        found.looked_at += 1;
        rows.retain(|row| row.cells.iter().any(|cell| folded(cell).contains(&item)));
        if rows.is_empty() {
            continue;
        }
        let shown = rows.len().min(left);
        left -= shown;
        found.more += rows.len() - shown;
        if shown > 0 {
            table.rows = Listed::first(rows, shown);
            found.tables.push(table);
        }
    }
    Ok(found)
}

fn open(read: &ReadTransaction, leaf: NodeId) -> Result<(Table, Vec<TableRow>)> {
    let document = read.document_of(leaf)?.id;
    let tree = read.tree(document)?;
    let node = tree.node(leaf)?;
    if node.kind() != NodeKind::Table {
        return Err(Error::invalid(format!("node {leaf} is no table but of kind {}", node.kind().name())));
    }
    let (columns, rows) = parse(&read.text(document, node.span())?, node.title());
    let above = tree.heading_path(leaf)?.last().map(|title| (*title).to_owned());
    let own = Some(node.title().to_owned()).filter(|title| !title.is_empty());
    let name = own.or(above).unwrap_or_else(|| columns.join(" | "));
    let rows: Vec<TableRow> = (1..).zip(rows).map(|(number, cells)| TableRow { number, cells }).collect();
    let table = Table {
        node: leaf,
        document,
        name: clipped(&name, NAME).0,
        columns,
        row_count: rows.len(),
        rows: Listed { items: Vec::new(), more: 0 },
    };
    Ok((table, rows))
}

/// Columns and rows of a table as it lies in a text: with pipes, with tabs, or with commas.
///
/// With a line of dashes below the first, that is the names of columns. A part of a table that was cut has them as its
/// `title`, `A | B`. Else the first row is taken for them, as in the files that commas come from.
fn parse(text: &str, title: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let Some(first) = lines.first() else { return (Vec::new(), Vec::new()) };
    let by_pipes = first.contains('|');
    let mut rows: Vec<Vec<String>> = if by_pipes {
        lines.iter().map(|line| pipes(line)).collect()
    } else if first.contains('\t') {
        lines
            .iter()
            .map(|line| line.split('\t').take(MAX_COLUMNS).map(|cell| cell.trim().to_owned()).collect())
            .collect()
    } else {
        commas(text)
    };
    let has_dashes = by_pipes && lines.get(1).is_some_and(|line| is_dashes(line));
    if has_dashes {
        rows.remove(1);
        return (rows.remove(0), rows);
    }
    let of_title = pipes(title);
    if by_pipes && title.contains('|') && rows.first().is_some_and(|row| row.len() == of_title.len()) {
        return (of_title, rows);
    }
    if rows.is_empty() {
        return (Vec::new(), rows);
    }
    (rows.remove(0), rows)
}

fn is_dashes(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '-' | ':' | '|' | ' ' | '\t'))
}

/// The cells of a line with pipes; `\|` is none.
fn pipes(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            _ => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !cell.trim().is_empty() || !line.ends_with('|') {
        cells.push(cell.trim().to_owned());
    }
    cells.truncate(MAX_COLUMNS);
    cells
}

/// The rows of a text with commas, as RFC 4180 has it: a quoted cell may hold commas, quotes twice, and line ends.
fn commas(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted => quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            ',' if !quoted => row.push(std::mem::take(&mut cell).trim().to_owned()),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell).trim().to_owned());
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(c),
        }
    }
    row.push(cell.trim().to_owned());
    rows.push(row);
    rows.retain(|row: &Vec<String>| row.iter().any(|cell| !cell.is_empty()));
    for row in &mut rows {
        row.truncate(MAX_COLUMNS);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, title: &str) -> (Vec<String>, Vec<Vec<String>>) {
        parse(text, title)
    }

    #[test]
    fn pipes_tabs_and_commas_are_read() {
        let (columns, rows) = parsed("| a | b |\n|---|:-:|\n| x \\| y | 2 |\n|  | 3 |", "");
        assert_eq!(
            (columns, rows),
            (
                vec!["a".into(), "b".into()],
                vec![vec!["x | y".into(), "2".into()], vec![String::new(), "3".into()]]
            )
        );

        assert_eq!(parsed("a\tb\n1\t2", "").1, [["1", "2"]]);
        assert_eq!(
            parsed("n,v\n\"x, y\",\"say \"\"hi\"\"\"\n中,2\n", "").1,
            [["x, y", "say \"hi\""], ["中", "2"]]
        );
        assert_eq!(parsed("Name | Sum\nA | 1", "").0, ["Name", "Sum"]);
    }

    #[test]
    fn a_part_of_a_table_has_its_columns_from_its_title() {
        let (columns, rows) = parsed("| some | 12 |\n| other | 13 |", "Name | Sum");

        assert_eq!(columns, ["Name", "Sum"]);
        assert_eq!(rows, [["some", "12"], ["other", "13"]]);
    }

    #[test]
    fn odd_tables_do_not_break() {
        assert_eq!(parsed("", ""), (Vec::new(), Vec::new()));
        assert_eq!(parsed("|", "").1, Vec::<Vec<String>>::new());
        assert_eq!(parsed("\"open, never closed\n1,2", "").1.len(), 0);
        assert_eq!(parsed(&"a,".repeat(5_000), "").0.len(), MAX_COLUMNS);
        assert_eq!(parsed("|---|---|\n|---|---|", "").1.len(), 0);
    }
}
