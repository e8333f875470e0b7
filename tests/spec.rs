//! `format-spec.md` and the program say the same: layouts, records, tables, limits, requirement ids.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use evdb::format::document::TEXT_BLOCK_BYTES;
use evdb::format::frame::MAX_VALUE_BYTES;
use evdb::format::graph::DOCUMENT_PART_ENTRIES;
use evdb::format::text::CHUNK_BYTES;
use evdb::format::tree::TREE_CHUNK_BYTES;
use evdb::format::vector::{MAX_BLOCK_BYTES, MAX_DIMENSION};
use evdb::format::{KINDS, LAYOUTS};
use evdb::graph::{MAX_NAME_BYTES, MAX_TEXT_BYTES};
use evdb::storage::tables::TABLES;
use evdb::text::Analyzer;

/// Rows of a Markdown table as cells; the first is its head.
type Rows = Vec<Vec<String>>;

struct Spec {
    text: String,
    /// The lines below each heading, down to the next one, by its number.
    sections: BTreeMap<String, Vec<String>>,
}

impl Spec {
    fn read() -> Self {
        let text = fs::read_to_string("format-spec.md").expect("the specification");
        let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut number = String::new();
        let mut in_code = false;
        for line in text.lines() {
            in_code ^= line.starts_with("```");
            if line.starts_with('#') && !in_code {
                let title = line.trim_start_matches('#').trim();
                let word = title.trim_start_matches("Appendix ").split(' ').next();
                word.unwrap_or_default().clone_into(&mut number);
                let before = sections.insert(number.clone(), Vec::new());
                assert!(before.is_none(), "section {number} comes twice");
            } else {
                sections.entry(number.clone()).or_default().push(line.to_owned());
            }
        }
        Self { text, sections }
    }

    fn section(&self, number: &str) -> &[String] {
        self.sections.get(number).unwrap_or_else(|| panic!("the spec has no section {number}"))
    }

    /// The tables of a section whose head begins with `head`.
    fn tables(&self, number: &str, head: &[&str]) -> Vec<Rows> {
        let runs = self.section(number).split(|line| !line.starts_with('|'));
        let tables = runs.filter(|run| run.len() > 2).map(|run| {
            let rows = run.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| cells(line));
            rows.collect::<Rows>()
        });
        tables
            .filter(|rows| rows[0].iter().map(String::as_str).take(head.len()).eq(head.iter().copied()))
            .collect()
    }
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn plain(cell: &str) -> &str {
    cell.trim_matches('`')
}

const OFFSETS: [&str; 4] = ["Offset", "Size", "Field", "Meaning"];

#[test]
fn every_fixed_layout_is_the_table_of_its_section() {
    let spec = Spec::read();

    for layout in LAYOUTS {
        let tables = spec.tables(layout.section, &OFFSETS);
        let [table] = tables.as_slice() else {
            panic!("section {}: {} tables", layout.section, tables.len())
        };
        let fixed: Vec<(usize, usize, &str)> = table
            .iter()
            .filter_map(|row| Some((row[0].parse().ok()?, row[1].parse().ok()?, row[2].as_str())))
            .collect();
        let ours: Vec<_> = layout.fields.iter().map(|field| (field.offset, field.size, field.name)).collect();
        assert_eq!(fixed, ours, "section {}", layout.section);
    }
}

#[test]
fn every_offset_table_of_the_spec_is_a_layout_of_the_program() {
    let spec = Spec::read();
    let ours: BTreeSet<&str> = LAYOUTS.iter().map(|layout| layout.section).collect();

    let with_table = spec.sections.keys().filter(|number| !spec.tables(number, &OFFSETS).is_empty());

    assert_eq!(with_table.map(String::as_str).collect::<BTreeSet<_>>(), ours);
}

#[test]
fn the_catalogue_of_the_spec_is_that_of_the_program() {
    let spec = Spec::read();
    let tables = spec.tables("6.1", &["Table", "Tag"]);
    let [rows] = tables.as_slice() else { panic!("section 6.1 has {} such tables", tables.len()) };
    assert_eq!(rows.len() - 1, TABLES.len());

    for (row, table) in rows.iter().skip(1).zip(TABLES) {
        let cells: Vec<&str> = row.iter().map(|cell| plain(cell)).collect();
        let [name, tag, _, _, class, section] = cells.as_slice() else { panic!("{row:?}") };
        assert_eq!((*name, *class, *section), (table.name, table.class.name(), table.section));
        let kinds: Vec<_> = KINDS.iter().filter(|kind| kind.table == table.name).collect();
        let [kind] = kinds.as_slice() else { panic!("table {name} has {} kinds of record", kinds.len()) };
        assert_eq!((tag.as_bytes(), *section), (kind.tag.as_slice(), kind.section), "table {name}");
        let newer = matches!(&kind.tag, b"TXTS" | b"TXTP");
        assert_eq!(kind.version, if newer { 2 } else { 1 }, "table {name}: section 3.6 names the versions");
        assert!(!spec.section(kind.section).is_empty());
    }
}

/// The fields of `struct name` in the source, each with its type in the words of the spec.
fn fields(source: &str, name: &str) -> Vec<(String, String)> {
    let start = source.find(&format!("struct {name} {{")).unwrap_or_else(|| panic!("no struct {name}"));
    let body = source[start..].lines().skip(1).take_while(|line| *line != "}");
    let code = body.map(str::trim).filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    code.map(|line| {
        let (field, kind) =
            line.trim_start_matches("pub ").trim_end_matches(',').split_once(": ").expect("a field");
        let kind = match kind {
            "String" => "string",
            "Option<String>" => "option of string",
            "[u8; 8]" => "array of 8 bytes",
            "[u8; 32]" => "array of 32 bytes",
            "Vec<(String, String)>" => "sequence of pairs of strings",
            "Vec<u32>" => "sequence of u32",
            "Vec<SegmentEntry>" => "sequence of entries",
            "Vec<Fact>" => "sequence of facts",
            "Vec<MemberRecord>" => "sequence of members",
            "Vec<Support>" => "sequence of supports",
            "Option<(u32, u32, u32)>" => "option of triple",
            other => other,
        };
        (field.to_owned(), kind.to_owned())
    })
    .collect()
}

#[test]
fn every_record_in_bincode_is_the_table_of_its_section() {
    let spec = Spec::read();
    let records = [
        ("src/format/identity.rs", "Identity", "4.1", 0),
        ("src/format/identity.rs", "Counters", "4.1", 1),
        ("src/format/identity.rs", "CatalogueEntry", "6.1", 0),
        ("src/format/document.rs", "DocumentRecord", "6.2", 0),
        ("src/format/manifest.rs", "Manifest", "7.1", 0),
        ("src/format/manifest.rs", "SegmentEntry", "7.1", 1),
        ("src/format/text.rs", "SegmentHeader", "7.2", 0),
        ("src/format/vector.rs", "SpaceWire", "8.1", 0),
        ("src/format/graph.rs", "GraphCounters", "14.1", 0),
        ("src/format/graph.rs", "GraphSegmentEntry", "14.1", 1),
        ("src/format/graph.rs", "EntityRecord", "14.3", 0),
        ("src/format/graph.rs", "Fact", "14.3", 1),
        ("src/format/graph.rs", "HyperedgeRecord", "14.4", 0),
        ("src/format/graph.rs", "MemberRecord", "14.4", 1),
        ("src/format/graph.rs", "DocumentPart", "14.5", 0),
        ("src/format/graph.rs", "Support", "14.5", 1),
    ];

    for (file, name, section, index) in records {
        let source = fs::read_to_string(file).expect("a source");
        let tables = spec.tables(section, &["Field", "Type", "Meaning"]);
        let rows = tables.get(index).unwrap_or_else(|| panic!("section {section}: no table {index}"));
        let told: Vec<_> = rows.iter().skip(1).map(|row| (row[0].clone(), row[1].clone())).collect();
        assert_eq!(told, fields(&source, name), "{name}, section {section}");
    }
}

#[test]
fn the_columns_of_a_tree_are_the_table_of_their_section() {
    let spec = Spec::read();
    let source = fs::read_to_string("src/format/tree.rs").expect("a source");
    let tables = spec.tables("6.4", &["Column", "Element"]);

    let told: Vec<_> =
        tables[0].iter().skip(1).map(|row| (row[0].clone(), format!("Vec<{}>", row[1]))).collect();

    let ours = fields(&source, "TreeColumns").into_iter();
    let ours = ours.map(|(field, kind)| (field, kind.replace("sequence of u32", "Vec<u32>")));
    assert_eq!(told, ours.collect::<Vec<_>>());
}

/// `number` with a comma before each group of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn sizes_and_limits_are_those_of_the_program() {
    let spec = Spec::read();
    let numbers = [
        ("3.7", MAX_VALUE_BYTES - 1),
        ("3.7", TEXT_BLOCK_BYTES),
        ("6.5", TEXT_BLOCK_BYTES),
        ("6.4", TREE_CHUNK_BYTES),
        ("3.7", CHUNK_BYTES),
        ("7.3", CHUNK_BYTES),
        ("3.7", MAX_BLOCK_BYTES),
        ("3.7", MAX_DIMENSION as usize),
        ("8.1", MAX_DIMENSION as usize),
        ("3.7", MAX_NAME_BYTES),
        ("3.7", MAX_TEXT_BYTES),
        ("14.5", DOCUMENT_PART_ENTRIES),
    ];

    for (section, number) in numbers {
        let text = spec.section(section).join("\n");
        assert!(text.contains(&grouped(number)), "section {section} does not say {}", grouped(number));
    }
}

#[test]
fn the_analyzer_gives_the_terms_of_the_spec() {
    let spec = Spec::read();
    let analyzer = Analyzer::default();
    let tables = spec.tables("7.9", &["Text", "Terms"]);
    assert!(tables[0].len() > 60);

    for row in tables[0].iter().skip(1) {
        let (text, expected) = (unescaped(plain(&row[0])), unescaped(plain(&row[1])));
        let mut terms = Vec::new();
        analyzer.terms(&text, &mut |term| terms.push(term.to_owned()));
        assert_eq!(terms.join(" "), expected, "{text:?}");
    }
}

/// The text that is written `text` in Rust.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = after.chars();
        let (c, tail) = match chars.next().expect("something behind a backslash") {
            'u' => {
                let (hex, tail) = after[2..].split_once('}').expect("a closing brace");
                let code = u32::from_str_radix(hex, 16).expect("hexadecimal");
                (char::from_u32(code).expect("a character"), tail)
            }
            'n' => ('\n', chars.as_str()),
            't' => ('\t', chars.as_str()),
            '0' => ('\0', chars.as_str()),
            other => (other, chars.as_str()),
        };
        out.push(c);
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension)) {
            found.push(path);
        }
    }
}

/// Ids such as `R-6.4.1` in `text`.
fn ids(text: &str) -> BTreeSet<String> {
    let after = text.split("R-").skip(1).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let numbers = after.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    });
    numbers.map(|number| format!("R-{number}")).collect()
}

#[test]
fn every_requirement_is_cited_and_every_citation_is_a_requirement() {
    let spec = Spec::read();
    let marked = spec.text.split("**").skip(1).step_by(2).filter(|bold| bold.starts_with("R-"));
    let required: BTreeSet<String> =
        marked.filter(|bold| !bold.contains("section")).map(str::to_owned).collect();
    let mut sources = Vec::new();
    files(Path::new("src"), &["rs"], &mut sources);
    files(Path::new("tests"), &["rs", "py"], &mut sources);
    sources.retain(|path| !path.ends_with("tests/spec.rs"));

    let mut cited = BTreeSet::new();
    for path in sources {
        let found = ids(&fs::read_to_string(&path).expect("a source"));
        let unknown: Vec<_> = found.difference(&required).collect();
        assert!(unknown.is_empty(), "{} cites {unknown:?}", path.display());
        cited.extend(found);
    }

    let untested: Vec<_> = required.difference(&cited).collect();
    assert!(untested.is_empty(), "no test cites {untested:?}");
    for id in &required {
        let section = id.trim_start_matches("R-").rsplit_once('.').expect("a number").0;
        assert!(
            spec.section(section).iter().any(|line| line.contains(&format!("**{id}**"))),
            "{id} is elsewhere"
        );
    }
}
