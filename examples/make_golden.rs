//! Makes the golden files of the current format, or dumps the raw rows of a file.
//!
//! * `cargo run --example make_golden` writes `tests/data/golden/v1`; another folder may be named behind `--`.
//! * `cargo run --example make_golden -- --raw FILE` writes the rows of `FILE` to standard output.
//!
//! Golden files are made once, before a release, and never edited after. See `tests/data/golden/README.md`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evdb::db::{DumpOptions, RowsOf};
use evdb::graph::{EdgeText, GraphPatch, HyperedgeDraft, Target};
use evdb::ingest::{Options, html, import_statements, jsonl, markdown, plain, wiki_links};
use evdb::model::TokenCounter;
use evdb::providers::token_counter;
use evdb::tree::{Node, NodeKind};
use evdb::vector::Metric;
use evdb::{Database, Document, Result, Span, WriteTransaction};

const HANDBOOK: &str = "\
---
author: Ines Okafor
team: reactor
tags: [safety, night shift]
---
# Reactor handbook

The pumps are checked twice a day.

## Start-up

1. Open valve A.
2. Wait for **3.5 bar**.

| Step | Minutes |
|------|--------:|
| Heat | 1,200   |
| Cool | 45      |

![The control room, seen from the door](room.png)

## Shutdown

```text
pump off
valve A shut
```

### After an alarm

Read the journal first; don't reset the counter.
";

const PAGE: &str = "\
<!doctype html><html lang=\"en\"><head><title>Harbour &amp; tides</title><style>p{color:red}</style></head>
<body><nav>Home</nav><h1>Harbour &amp; tides</h1><p>High water at <b>06:12</b> and 18:40.</p>
<h2>Moorings</h2><p>Nine berths are free.</p><ul><li>Berth 4: crane</li><li>Berth 7: power</li></ul>
<table><tr><th>Berth</th><th>Depth</th></tr><tr><td>4</td><td>6.5 m</td></tr></table></body></html>";

const NOTE: &str = "The old lighthouse was sold in 1998.

Its lamp went to the museum, its stairs to a school.

Nobody knows where the log books are.
";

const PASSAGES: &str = r#"{"doc":"manual.pdf","id":"m1","title":"Pump manual","page":1,"text":"1 Overview\nThe pump moves 40 litres a minute."}
{"doc":"manual.pdf","id":"m2","title":"Pump manual","page":2,"text":"2 Service\nOil is changed every 500 hours."}
{"doc":"chat","id":"c1","title":"Gina","session":"monday","date":"2031-05-05","text":"Did the pump arrive?"}
{"doc":"chat","id":"c2","title":"Omar","session":"monday","date":"2031-05-05","text":"Yes, with two spare seals."}
{"doc":"chat","id":"c3","title":"Gina","session":"friday","date":"2031-05-09","text":"Then let us start on Monday."}
"#;

const CHINESE: &str =
    "# 北京大学\n\n## 历史\n\n学校成立于1898年，位于海淀区。\n\n## 设备\n\n把C盘清理一下，3月5日之前完成。\n";

const EMOJI: &str =
    "# Launch 🚀\n\nCafé naïve — 👩\u{200d}👩\u{200d}👧 came to see it. 🎉\n\n\u{202e}Straße\u{202c} №5 ½\n";

/// Twice the same file gives twice the same dump.
type Fill = fn(&Database) -> Result<()>;

const FILES: [(&str, Fill); 7] = [
    ("empty", |_| Ok(())),
    ("one", one),
    ("mixed", mixed),
    ("ledger", ledger),
    ("merged", merged),
    ("graph", graph),
    ("kinds", kinds),
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => make(Path::new("tests/data/golden/v1")),
        ["--raw", file] => {
            let db = Database::open_read_only(file)?;
            let mut out = BufWriter::new(std::io::stdout().lock());
            db.begin_read()?.dump(&mut out, DumpOptions { raw: true })?;
            out.flush().map_err(|error| evdb::Error::io("write", "standard output", error))
        }
        [folder] => make(Path::new(folder)),
        _ => Err(evdb::Error::invalid("arguments: none, a folder, or --raw FILE")),
    }
}

/// Writes every golden file and its dump to `folder`.
fn make(folder: &Path) -> Result<()> {
    let io = |path: &Path, error| evdb::Error::io("write", path.display(), error);
    fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
    for (name, fill) in FILES {
        let path = folder.join(format!("{name}.evdb"));
        if path.exists() {
            fs::remove_file(&path).map_err(|error| io(&path, error))?;
        }
        let db = Database::builder().token_counter(counter()?).create(&path)?;
        fill(&db)?;
        drop(db);
        let dump: PathBuf = path.with_extension("json");
        let mut out = BufWriter::new(File::create(&dump).map_err(|error| io(&dump, error))?);
        Database::open_read_only(&path)?.begin_read()?.dump(&mut out, DumpOptions::default())?;
        out.flush().map_err(|error| io(&dump, error))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn counter() -> Result<Arc<dyn TokenCounter>> {
    token_counter("wordpiece")
}

/// The smallest file with a document: one leaf.
fn one(db: &Database) -> Result<()> {
    let mut document = Document::new("k", "T");
    document.text = "one two".into();
    document.nodes.push(Node { span: Span::new(0, 7), ..Node::new(Some(0), NodeKind::Text) });
    let mut w = db.begin_write()?;
    w.insert_document(&document)?;
    w.commit()
}

/// Every importer, every kind of node, several segments, a replacement, a removal, a vector space.
fn mixed(db: &Database) -> Result<()> {
    let counter = counter()?;
    let (options, counter) = (Options::default(), counter.as_ref());
    let commit = |document: &Document| {
        let mut w = db.begin_write()?;
        w.upsert_document(document)?;
        w.commit()
    };
    commit(&markdown("handbook.md", HANDBOOK, &options, counter)?)?;
    commit(&html("harbour.html", PAGE, &options, counter)?)?;
    commit(&plain("note.txt", NOTE, &options, counter)?)?;

    let mut w = db.begin_write()?;
    jsonl(PASSAGES.as_bytes(), "passages.jsonl", &options, counter, &mut |document| {
        w.insert_document(&document).map(drop)
    })?;
    w.commit()?;

    let mut chinese = markdown("大学.md", CHINESE, &options, counter)?;
    chinese.language = Some("zh".into());
    let emoji = markdown("launch-🚀.md", EMOJI, &options, counter)?;
    let mut w = db.begin_write()?;
    let space = w.open_space("golden", 4, Metric::Cosine, "golden 4")?;
    for document in [&chinese, &emoji] {
        put_with_vectors(&mut w, space, document)?;
    }
    w.commit()?;

    let mut w = db.begin_write()?;
    w.remove_document("note.txt")?;
    let newer = HANDBOOK.replace("twice a day", "three times a day");
    w.upsert_document(&markdown("handbook.md", &newer, &options, counter)?)?;
    let emoji = markdown("launch-🚀.md", &EMOJI.replace("came", "did not come"), &options, counter)?;
    w.remove_document("launch-🚀.md")?;
    put_with_vectors(&mut w, space, &emoji)?;
    w.commit()
}

/// Each leaf `i` gets a vector that is easy to check by hand before it is made a unit vector.
fn put_with_vectors(w: &mut WriteTransaction, space: evdb::SpaceId, document: &Document) -> Result<()> {
    let id = w.insert_document(document)?;
    let rows: Vec<f32> =
        (0_u8..).take(document.leaf_count()).flat_map(|i| [f32::from(i), 1.0, -2.0, 0.5]).collect();
    w.put_leaf_vectors(space, document, id, &rows)
}

/// A text of several blocks and terms of more than 128 leaves: packed lists with a tail.
fn ledger(db: &Database) -> Result<()> {
    let mut document = Document::new("ledger", "Ledger of the harbour");
    document.source = Some("https://example.org/ledger".into());
    document.language = Some("en".into());
    document.attributes.insert("year".into(), "2031".into());
    let mut section = 0;
    for entry in 0_u32..400 {
        if entry % 50 == 0 {
            section = u32::try_from(document.nodes.len()).unwrap_or(u32::MAX);
            let title = format!("Quarter {}", entry / 50 + 1);
            let summary = if entry == 0 { "The first fifty entries.".into() } else { String::new() };
            document.nodes.push(Node { title, summary, ..Node::new(Some(0), NodeKind::Section) });
        }
        let start = u32::try_from(document.text.len()).unwrap_or(u32::MAX);
        let again = if entry % 7 == 0 { " paid paid" } else { "" };
        let line = format!(
            "Entry {entry}: vessel {:05}, berth {}, fee paid{again}.",
            entry * 7919 % 100_003,
            entry % 9
        );
        document.text.push_str(&line);
        let span = Span::new(start, start + u32::try_from(line.len()).unwrap_or(u32::MAX));
        document.text.push_str("\n\n");
        let attributes = [("id".to_owned(), format!("e{entry}"))].into();
        document.nodes.push(Node {
            span,
            attributes,
            page: entry / 50 + 1,
            ..Node::new(Some(section), NodeKind::Text)
        });
    }
    let mut w = db.begin_write()?;
    w.insert_document(&document)?;
    w.commit()
}

/// Statements, wiki links and sentences; entities that two documents mention, of which one is removed; a merge of graph
/// segments; aliases and attributes; hyperedges among nodes.
fn graph(db: &Database) -> Result<()> {
    let counter = counter()?;
    let pages = [
        ("reactor.md", "# Reactor\n\nIts water comes from the [[Pumps|feed pumps]]. See [[Plan]].\n"),
        ("pumps.md", "# Pumps\n\nThey feed the [[Reactor#Core]] twice: [[Reactor]].\n"),
        ("old.md", "# Old\n\nThe [[Reactor]] was \u{201c}painted\u{201d} by [[Ines \u{2013} Okafor]].\n"),
    ];
    for (key, text) in pages {
        let document = markdown(key, text, &Options::default(), counter.as_ref())?;
        let mut w = db.begin_write()?;
        let id = w.insert_document(&document)?;
        w.put_graph(id, &document, &wiki_links(&document))?;
        w.commit()?;
    }
    let facts = "{\"subject\":\"Reactor\",\"subject_kind\":\"page\",\"relation\":\"needs\",\"object\":\"Water\",\"doc\":\"pumps.md\"}\n\
        {\"members\":[{\"entity\":\"Ana\",\"kind\":\"person\",\"role\":\"watch\"},\"Bo\"],\"kind\":\"shift\",\"text\":\"Ana and Bo.\",\"weight\":0.1}\n\
        {\"entity\":\"Water\",\"aliases\":[\"H\u{2082}O\",\"\u{6c34}\"],\"attributes\":{\"boils at\":[\"100\",\"373.15 K\"]},\"doc\":\"old.md\"}\n\
        {\"entity\":\"Water\",\"attributes\":{\"boils at\":100,\"state\":\"liquid\"},\"doc\":\"reactor.md\"}\n";
    import_statements(db, facts.as_bytes(), "facts.jsonl")?;
    for part in 0..9 {
        let document = plain(
            &format!("log {part}"),
            "Ana read the gauge. Bo wrote it down.",
            &Options::default(),
            counter.as_ref(),
        )?;
        let leaf = u32::try_from(document.nodes.len() - 1).unwrap_or(u32::MAX);
        let sentence = |start, end, name: &str| HyperedgeDraft {
            text: EdgeText::Span { node: leaf, start, end },
            ..HyperedgeDraft::new("sentence", "")
                .member("mention", Target::entity(name, "person"))
                .member("", Target::Node(leaf))
                .supported_by(leaf)
        };
        let hyperedges = vec![sentence(0, 19, "Ana"), sentence(20, 37, "Bo")];
        let mut w = db.begin_write()?;
        let id = w.insert_document(&document)?;
        w.put_graph(id, &document, &GraphPatch { hyperedges, ..GraphPatch::default() })?;
        if part == 2 {
            w.remove_document("old.md")?;
        }
        if part == 8 {
            let space = w.open_object_space("golden", RowsOf::Entities, 3, Metric::Dot, "golden 3")?;
            w.put_object_vectors(space, &[(1, &[0.5, -8.0, 3.25]), (3, &[1.0, 2.0, 4.0])])?;
        }
        w.commit()?;
    }
    Ok(())
}

/// Eight segments become one, without the nodes of a removed document; the dictionary has an indexed node. A space
/// of each other metric.
fn merged(db: &Database) -> Result<()> {
    let counter = counter()?;
    let words = "alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa \
                 quebec romeo sierra tango uniform victor whiskey xray yankee zulu 0 1 2 3 4 5 6 7 8 9";
    for part in 0..9 {
        let text: Vec<&str> = words.split_whitespace().skip(4 * part).chain(["common"]).collect();
        let document =
            plain(&format!("part {part}"), &text.join(" "), &Options::default(), counter.as_ref())?;
        let mut w = db.begin_write()?;
        if part == 3 {
            w.remove_document("extra")?;
        }
        if part == 1 {
            w.insert_document(&plain(
                "extra",
                "an extra common text",
                &Options::default(),
                counter.as_ref(),
            )?)?;
        }
        let id = w.insert_document(&document)?;
        if part == 4 {
            for (name, metric) in [("dot", Metric::Dot), ("l2", Metric::L2)] {
                let space = w.open_space(name, 3, metric, "golden 3")?;
                w.put_leaf_vectors(space, &document, id, &[0.5, -8.0, 3.25])?;
            }
        }
        w.commit()?;
    }
    Ok(())
}

/// A posting list of each kind over 4,290 leaves in 130 sections, with frequencies that need an escape.
fn kinds(db: &Database) -> Result<()> {
    let mut document = Document::new("kinds", "Kinds of lists");
    let mut section = 0;
    for leaf in 0_u32..4_290 {
        if leaf % 33 == 0 {
            section = u32::try_from(document.nodes.len()).unwrap_or(u32::MAX);
            let title = "Of salt".to_owned();
            document.nodes.push(Node { title, ..Node::new(Some(0), NodeKind::Section) });
        }
        let start = u32::try_from(document.text.len()).unwrap_or(u32::MAX);
        let more = [
            (leaf % 10 == 0, " tenth", 1),
            (leaf % 33 == 0, " seldom", 1),
            (leaf % 500 == 40, " tenth", 14),
            (leaf == 3_880, " often", 14),
            (leaf % 900 == 7, " salt", 16),
        ];
        document.text.push_str("salt");
        for (_, word, times) in more.iter().filter(|(has, ..)| *has) {
            document.text.push_str(&word.repeat(*times));
        }
        let span = Span::new(start, u32::try_from(document.text.len()).unwrap_or(u32::MAX));
        document.text.push('\n');
        document.nodes.push(Node { span, ..Node::new(Some(section), NodeKind::Text) });
    }
    let mut w = db.begin_write()?;
    w.insert_document(&document)?;
    w.commit()
}
