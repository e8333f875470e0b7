//! The command line as a user meets it: what it prints, what it says when it cannot, and its exit codes.
#![cfg(all(feature = "cli", feature = "static-embedder"))]

#[path = "support/cli.rs"]
mod cli;

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use cli::{Run, command, evdb};

const MONGOLIA: &str = "# Mongolia\n\nA country in Asia.\n\n## Government\n\nThe capital is Ulaanbaatar.\n\n## Borders\n\n\
                        | Neighbour | km |\n| --- | ---: |\n| China | 4630 |\n| Russia | 3452 |\n";
const PORTUGAL: &str = "# Portugal\n\nA country in Europe.\n\n## Government\n\nThe capital is Lisbon.\n\n## Borders\n\n\
                        Portugal borders Spain alone.\n";
const SWISS: &str = "# \u{745e}\u{58eb}\n\n## \u{8bed}\u{8a00}\n\n\u{5b98}\u{65b9}\u{8bed}\u{8a00}\u{662f}\u{5fb7}\u{8bed}\u{3001}\u{6cd5}\u{8bed}\u{3002}\u{1f1e8}\u{1f1ed} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\n";

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    folder
}

/// A folder `docs` of three documents, and `x.evdb` made of it.
fn built() -> TempDir {
    let folder = folder(&[
        ("docs/asia/mongolia.md", MONGOLIA.as_bytes()),
        ("docs/portugal.md", PORTUGAL.as_bytes()),
        ("docs/swiss.md", SWISS.as_bytes()),
    ]);
    evdb(&folder, &["build", "docs", "-o", "x.evdb"]).succeeds();
    folder
}

#[test]
fn a_folder_is_built_and_built_again_at_no_cost() {
    let folder = folder(&[("docs/a.md", MONGOLIA.as_bytes()), ("docs/b.md", PORTUGAL.as_bytes())]);

    let first = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--json"]).succeeds().json();
    fs::write(folder.path().join("docs/b.md"), SWISS).expect("a file");
    fs::write(folder.path().join("docs/c.md"), PORTUGAL).expect("a file");
    let second = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--json"]).succeeds().json();

    let counts =
        |run: &Value| ["inserted", "replaced", "unchanged"].map(|name| run[name].as_u64().expect("a count"));
    assert_eq!(counts(&first), [2, 0, 0]);
    assert_eq!(counts(&second), [1, 1, 1]);
    assert!(evdb(&folder, &["build", "docs", "-o", "x.evdb"]).err.contains("resuming"));
}

#[test]
fn a_build_that_was_made_otherwise_is_not_resumed() {
    let folder = built();

    let counter = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--token-counter", "wordpiece"]);
    let analyzer = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--plain"]);

    counter.fails(1, &["o200k_base", "wordpiece"]);
    analyzer.fails(1, &["plain-1"]);
}

#[test]
fn how_text_becomes_terms_is_chosen_once_and_shown() {
    let folder = folder(&[("docs/a.md", b"# Vertr\xc3\xa4ge\n\nDie Schule." as &[u8])]);
    let line = "words-1 de stop bigrams; titles words-1 de stem stop bigrams";

    evdb(
        &folder,
        &[
            "build",
            "docs",
            "-o",
            "x.evdb",
            "--language",
            "de",
            "--no-stem",
            "--keep-accents",
            "--titles",
            "stem",
        ],
    )
    .succeeds();

    for command in ["info", "stats"] {
        assert!(evdb(&folder, &[command, "x.evdb"]).succeeds().out.contains(line), "{command}");
        assert_eq!(evdb(&folder, &[command, "x.evdb", "--json"]).succeeds().json()["analyzer"], line);
    }
    assert!(evdb(&folder, &["search", "x.evdb", "Verträgen"]).succeeds().out.contains("a.md"), "by its stem");
    let other = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--language", "de"]);
    other.fails(1, &[line, "words-1 de stem stop fold bigrams"]);
}

#[test]
fn a_setting_of_the_analyzer_that_is_not_known_is_refused_with_those_that_are() {
    let folder = folder(&[("docs/a.md", b"# A\n\nb" as &[u8])]);
    let build = |arguments: &[&str]| evdb(&folder, &[&["build", "docs", "-o", "x.evdb"], arguments].concat());

    build(&["--titles", "no-umlauts"]).fails(2, &["no-umlauts", "stem, stop, fold"]);
    build(&["--titles", "language=tlh"]).fails(1, &["tlh", "de, el, en"]);
    build(&["--segmenter", "ja"]).fails(1, &["\"ja\"", "zh, none"]);
    if !cfg!(feature = "zh") {
        build(&["--segmenter", "zh"]).fails(1, &["--features zh"]);
    }
}

#[test]
fn documents_are_added_and_removed() {
    let folder = built();
    fs::write(folder.path().join("new.txt"), "Iceland has the geyser Strokkur.").expect("a file");

    evdb(&folder, &["add", "x.evdb", "new.txt"]).succeeds();
    let found = evdb(&folder, &["search", "x.evdb", "geyser", "--mode", "text", "--json"]).succeeds().json();
    assert_eq!(found["hits"][0]["document"], "new.txt");

    let removed = evdb(&folder, &["remove", "x.evdb", "new.txt", "--json"]).succeeds().json();
    assert_eq!(removed["documents"], 3);
    evdb(&folder, &["search", "x.evdb", "geyser", "--mode", "text"]).fails(4, &["nothing was found"]);
    evdb(&folder, &["remove", "x.evdb", "new.txt"]).fails(1, &["no document \"new.txt\""]);
    evdb(&folder, &["remove", "x.evdb", "new.txt", "--ignore-missing"]).succeeds();
    evdb(&folder, &["verify", "x.evdb"]).succeeds();
}

#[test]
fn a_search_is_narrowed_by_each_filter() {
    let folder = built();
    let search = |more: &[&str]| {
        let mut arguments = vec!["search", "x.evdb", "capital borders country", "--mode", "text", "--json"];
        arguments.extend(more);
        let found = evdb(&folder, &arguments).json();
        let keys = found["hits"].as_array().expect("hits").iter();
        keys.map(|hit| hit["document"].as_str().expect("a key").to_owned()).collect::<Vec<_>>()
    };

    assert!(search(&[]).len() > 3);
    assert_eq!(search(&["-k", "1"]).len(), 1);
    assert!(search(&["--doc", "portugal.md"]).iter().all(|key| key == "portugal.md"));
    assert_eq!(search(&["--kind", "table"]), ["asia/mongolia.md"]);
    assert!(search(&["--attr", "no=such"]).is_empty());
    assert!(search(&["--level", "1"]).len() < search(&[]).len());
    assert!(search(&["--within", "1"]).iter().all(|key| key == "asia/mongolia.md"));
}

#[test]
fn a_query_comes_from_standard_input_or_as_a_vector() {
    let folder = built();
    let mut child = command(folder.path(), &["search", "x.evdb", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(b"Ulaanbaatar\n").expect("it reads");
    let out = child.wait_with_output().expect("it ends").stdout;
    let piped: Value = serde_json::from_slice(&out).expect("JSON");
    let vector = format!("{:?}", vec![0.5; 128]);

    let by_vector = evdb(&folder, &["search", "x.evdb", "--vector", &vector, "--mode", "dense", "--json"]);

    assert_eq!((&piped["query"], &piped["mode"]), (&"Ulaanbaatar".into(), &"hybrid".into()));
    assert_eq!(piped["hits"][0]["document"], "asia/mongolia.md");
    assert_eq!(by_vector.succeeds().json()["mode"], "dense");
    evdb(&folder, &["search", "x.evdb", "--vector", "[1, 2]"]).fails(1, &["dimension 2", "128 dimensions"]);
    evdb(&folder, &["search", "x.evdb", "--vector", "[1,"]).fails(2, &["--vector FILE.npy:ROW"]);
}

#[test]
fn evidence_stays_within_its_budget() {
    let folder = built();
    for budget in ["1", "9", "15", "40", "1000"] {
        let run = evdb(&folder, &["ask", "x.evdb", "capital of Mongolia", "--budget", budget, "--json"]);
        let limit: u64 = budget.parse().expect("a number");
        let answer = run.json();
        let items = answer["items"].as_array().expect("items");
        assert!(answer["spent"].as_u64().expect("a count") <= limit);
        assert_eq!(run.code, if items.is_empty() { 4 } else { 0 });
    }

    let answer = evdb(&folder, &["ask", "x.evdb", "capital of Mongolia", "--explain"]).succeeds();

    for word in
        ["asia/mongolia.md", "Mongolia > Government", "Ulaanbaatar", "score", "bytes", "tokens spent", "kept"]
    {
        assert!(answer.out.contains(word), "{word:?} is not in {}", answer.out);
    }
    let alone = evdb(&folder, &["ask", "x.evdb", "capital of Mongolia", "--text"]).succeeds();
    assert!(alone.out.starts_with("# "), "{}", alone.out);
}

#[test]
fn every_command_prints_json() {
    let folder = built();
    for arguments in [
        &["search", "x.evdb", "capital"][..],
        &["ask", "x.evdb", "capital", "--explain"],
        &["outline", "x.evdb"],
        &["outline", "x.evdb", "portugal.md", "--summaries"],
        &["outline", "x.evdb", "--leaves"],
        &["info", "x.evdb"],
        &["stats", "x.evdb"],
        &["verify", "x.evdb"],
        &["recover", "x.evdb"],
        &["dump", "x.evdb"],
        &["dump", "x.evdb", "--raw"],
        &["add", "x.evdb", "docs"],
        &["remove", "x.evdb", "portugal.md"],
    ] {
        let mut json = arguments.to_vec();
        json.push("--json");

        let run = evdb(&folder, &json).succeeds();

        assert!(!run.lines().is_empty(), "{arguments:?}");
        assert_eq!(run.err, "", "{arguments:?}");
    }
}

#[test]
fn an_error_says_what_to_do() {
    let folder = built();
    fs::write(folder.path().join("note.txt"), "no database").expect("a file");
    fs::write(folder.path().join("empty.evdb"), "").expect("a file");
    let check = |arguments: &[&str], code: i32, words: &[&str]| evdb(&folder, arguments).fails(code, words);

    check(&["ask", "none.evdb", "q"], 1, &["there is no file none.evdb", "evdb build"]);
    check(&["ask", "note.txt", "q"], 1, &["note.txt is not an .evdb file", "evdb build"]);
    check(&["add", "note.txt", "docs"], 1, &["note.txt is not an .evdb file"]);
    check(&["ask", "empty.evdb", "q"], 1, &["empty.evdb is not an .evdb file"]);
    check(&["ask", "docs", "q"], 1, &["docs is a folder", "evdb build docs"]);
    check(&["ask", "x.evdb", "  "], 2, &["the query is empty"]);
    check(&["ask", "x.evdb"], 2, &["QUERY"]);
    check(&["ask", "x.evdb", "q", "--budget", "0"], 2, &["nothing fits into 0 tokens"]);
    check(&["ask", "x.evdb", "q", "--bugdet", "9"], 2, &["--budget"]);
    check(&["ask", "x.evdb", "q", "--doc", "Mongolia"], 1, &["did you mean \"asia/mongolia.md\""]);
    check(&["search", "x.evdb", "q", "--space", "other"], 1, &["no vector space \"other\"", "\"static\""]);
    check(&["search", "x.evdb", "q", "--attr", "k"], 2, &["--attr k=VALUE"]);
    check(&["search", "x.evdb", "q", "--within", "999"], 1, &["no node 999"]);
    check(&["outline", "x.evdb", "nothing"], 1, &["evdb outline"]);
    check(&["build", "nowhere", "-o", "y.evdb"], 1, &["no file or folder nowhere"]);
    check(&["build", "docs/*.pdf", "-o", "y.evdb"], 1, &["no file matches docs/*.pdf"]);
    check(&["build", "docs", "-o", "docs"], 1, &["docs is a folder", "-o docs"]);
    check(&["build", "docs", "-o", "no/such/y.evdb"], 1, &["the folder must be there"]);
    check(&["build", "docs"], 2, &["--output"]);
    let json = evdb(&folder, &["ask", "none.evdb", "q", "--json"]);
    let error: Value = serde_json::from_str(&json.err).expect("JSON");
    assert_eq!(error["error"], "there is no file none.evdb");
}

#[test]
fn odd_files_are_read_or_named() {
    let folder = folder(&[
        ("docs/\u{4e2d}\u{6587} \u{1f980}.md", SWISS.as_bytes()),
        ("docs/empty.md", b""),
        ("docs/latin.txt", b"caf\xe9"),
        ("docs/picture.png", b"\x89PNG\r\n\x1a\n\0"),
        ("docs/good.txt", b"The bell rings at noon."),
    ]);

    let run = evdb(&folder, &["build", "docs", "-o", "x.evdb", "--json"]);

    assert_eq!(run.code, 1, "{}", run.err);
    let report = run.json();
    assert_eq!(report["inserted"], 3);
    assert_eq!(report["left_out"][0]["path"], "docs/latin.txt");
    assert_eq!(report["unsupported"][0], "docs/picture.png");
    let found = evdb(&folder, &["search", "x.evdb", "\u{5b98}\u{65b9}\u{8bed}\u{8a00}\u{1f980}", "--json"])
        .succeeds();
    assert_eq!(found.json()["hits"][0]["document"], "\u{4e2d}\u{6587} \u{1f980}.md");
    evdb(&folder, &["build", "docs/latin.txt", "-o", "y.evdb"]).fails(1, &["--replace-invalid-utf8"]);
    assert!(!folder.path().join("y.evdb").exists());
    evdb(&folder, &["build", "docs/latin.txt", "-o", "y.evdb", "--replace-invalid-utf8"]).succeeds();
    evdb(&folder, &["verify", "x.evdb"]).succeeds();
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_left_out_and_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("docs/a.md", MONGOLIA.as_bytes()), ("docs/b.md", PORTUGAL.as_bytes())]);
    let secret = folder.path().join("docs/b.md");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).expect("it is ours");
    if fs::read(&secret).is_ok() {
        return; // whoever runs this may read everything
    }

    evdb(&folder, &["build", "docs", "-o", "x.evdb"]).fails(1, &["left out", "docs/b.md", "denied"]);
}

#[test]
fn keys_that_would_collide_are_refused() {
    let folder = folder(&[("a/x.md", MONGOLIA.as_bytes()), ("b/x.md", PORTUGAL.as_bytes())]);

    evdb(&folder, &["build", "a", "b", "-o", "x.evdb"]).fails(1, &["\"x.md\"", "--root"]);
    evdb(&folder, &["build", "a", "b", "-o", "x.evdb", "--root", "."]).succeeds();

    let listed = evdb(&folder, &["outline", "x.evdb", "--json"]).lines();
    assert_eq!((&listed[0]["key"], &listed[1]["key"]), (&"a/x.md".into(), &"b/x.md".into()));
}

/// An .npy of `rows` x 2 floats: row `i` is `(1, i)`.
fn npy(rows: u16) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 2), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
    bytes.extend(header.as_bytes());
    for row in 0..rows {
        bytes.extend(1.0_f32.to_le_bytes());
        bytes.extend(f32::from(row).to_le_bytes());
    }
    bytes
}

#[test]
fn questions_are_asked_in_a_batch_with_given_vectors() {
    let passages = "{\"id\": 10, \"doc\": \"a\", \"text\": \"the first river\"}\n\
                    {\"id\": 11, \"doc\": \"a\", \"text\": \"the second lake\"}\n\
                    {\"id\": 12, \"doc\": \"b\", \"text\": \"the third hill\"}\n";
    let questions = "{\"id\": \"q\", \"question\": \"river\", \"doc\": \"a\"}\n{\"id\": 2, \"question\": \"hill\", \"doc\": \"b\"}\n";
    let folder = folder(&[
        ("p.jsonl", passages.as_bytes()),
        ("q.jsonl", questions.as_bytes()),
        ("p.npy", &npy(3)),
        ("q.npy", &npy(2)),
    ]);
    evdb(&folder, &["build", "p.jsonl", "-o", "x.evdb", "--vectors", "p.npy", "--vectors-model", "hand"])
        .succeeds();
    let batch = ["--questions", "q.jsonl", "--question-vectors", "q.npy"];

    let asked = evdb(
        &folder,
        &[&["ask", "x.evdb", "-b", "20", "-b", "50", "--in-doc", "--json"], &batch[..]].concat(),
    );
    let found = evdb(&folder, &[&["search", "x.evdb", "-k", "2"], &batch[..]].concat()).succeeds().lines();

    let asked = asked.succeeds().lines();
    assert_eq!(asked.len(), 4);
    assert_eq!(
        (&asked[0]["id"], &asked[0]["budget"], &asked[1]["budget"]),
        (&"q".into(), &20.into(), &50.into())
    );
    for line in &asked {
        assert!(line["spent"].as_u64() <= line["budget"].as_u64());
        let own = if line["id"] == "q" { "a" } else { "b" };
        assert!(line["items"].as_array().expect("items").iter().all(|item| item["document"] == own));
    }
    assert_eq!(asked[1]["ranking"][0][0], "10");
    assert_eq!((found.len(), &found[0]["hits"][0]["id"]), (2, &"10".into()));
    assert_eq!(found[1]["mode"], "hybrid");
    evdb(&folder, &["build", "p.jsonl", "-o", "y.evdb", "--vectors", "q.npy"]).fails(1, &["matrix"]);
    evdb(&folder, &["ask", "x.evdb", "--questions", "q.jsonl", "--question-vectors", "p.npy"])
        .fails(1, &["3 rows", "2 questions"]);
    evdb(&folder, &["search", "x.evdb", "river", "--mode", "dense"]).fails(1, &["--vector"]);
}

#[test]
fn vectors_of_leaves_come_in_the_order_of_the_outline() {
    let folder = folder(&[("docs/a.md", PORTUGAL.as_bytes())]);
    evdb(&folder, &["build", "docs", "-o", "x.evdb", "--no-embed"]).succeeds();
    let leaves = evdb(&folder, &["outline", "x.evdb", "--leaves", "--json"]).succeeds().lines();
    assert_eq!(leaves[1]["embed"], "Portugal > Government\nThe capital is Lisbon.");
    let rows = u16::try_from(leaves.len()).expect("few");
    fs::write(folder.path().join("l.npy"), npy(rows)).expect("a file");

    evdb(&folder, &["build", "docs", "-o", "y.evdb", "--leaf-vectors", "l.npy", "--embed"]).succeeds();

    let spaces = evdb(&folder, &["info", "y.evdb", "--json"]).succeeds().json();
    assert_eq!(
        (&spaces["spaces"][0]["name"], &spaces["spaces"][1]["name"]),
        (&"vectors".into(), &"static".into())
    );
    let found =
        evdb(&folder, &["search", "y.evdb", "--vector", "l.npy:1", "--mode", "dense", "--json"]).succeeds();
    assert_eq!(found.json()["hits"][0]["node"], leaves[1]["node"]);
    evdb(&folder, &["search", "y.evdb", "--vector", "l.npy"]).fails(2, &["3 rows", "l.npy:0"]);
}

#[test]
fn a_file_that_was_not_closed_is_recovered() {
    let folder = built();
    let path = folder.path().join("x.evdb");
    {
        let _open = evdb::Database::open(&path).expect("a sound file");
        fs::copy(&path, folder.path().join("crashed.evdb")).expect("a copy");
        evdb(&folder, &["ask", "x.evdb", "capital"]).fails(1, &["open in another process"]);
    }

    evdb(&folder, &["ask", "crashed.evdb", "capital"]).fails(1, &["evdb recover"]);
    let recovered = evdb(&folder, &["recover", "crashed.evdb", "--json"]).succeeds().json();

    assert_eq!((&recovered["recovered"], &recovered["documents"]), (&true.into(), &3.into()));
    evdb(&folder, &["ask", "crashed.evdb", "capital"]).succeeds();
    assert_eq!(evdb(&folder, &["recover", "crashed.evdb", "--json"]).json()["recovered"], false);
}

/// Every byte of every other page is turned over: what is damaged is named, or was not in use.
#[test]
fn damage_is_found_and_never_a_panic() {
    let folder = built();
    let mut bytes = fs::read(folder.path().join("x.evdb")).expect("a file");
    for page in bytes.chunks_mut(4096).skip(1).step_by(2) {
        for byte in page {
            *byte = !*byte;
        }
    }
    fs::write(folder.path().join("bad.evdb"), bytes).expect("a file");

    let verified = evdb(&folder, &["verify", "bad.evdb", "--json"]);
    let asked = evdb(&folder, &["ask", "bad.evdb", "capital"]);

    verified.fails(3, &[]);
    assert_eq!(verified.json()["clean"], false);
    asked.fails(1, &["evdb: error:", "corrupt"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let text = "A sentence that fills the pipe with words. ".repeat(20_000);
    let folder = folder(&[("long.txt", text.as_bytes())]);
    evdb(&folder, &["build", "long.txt", "-o", "x.evdb", "--no-embed"]).succeeds();
    for arguments in [&["dump", "x.evdb"][..], &["outline", "x.evdb", "--leaves"]] {
        let mut child = command(folder.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut some = [0; 100];
        child.stdout.take().expect("a pipe").read_exact(&mut some).expect("it writes");
        let done = child.wait_with_output().expect("it ends");

        assert!(done.status.success(), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    }
}

#[test]
fn colours_and_remarks_are_for_those_who_want_them() {
    let folder = built();

    let plain = evdb(&folder, &["search", "x.evdb", "capital"]).succeeds();
    let coloured = evdb(&folder, &["search", "x.evdb", "capital", "--color", "always"]).succeeds();
    let quiet = evdb(&folder, &["search", "x.evdb", "capital", "--quiet"]).succeeds();

    assert!(!plain.out.contains('\u{1b}') && coloured.out.contains('\u{1b}'));
    assert!(!plain.err.is_empty() && quiet.err.is_empty());
    let help = evdb(&folder, &["--help"]).succeeds();
    assert!(help.out.contains("3  verify found damage"), "{}", help.out);
}

fn highlighted(hit: &Value) -> Vec<String> {
    let snippet = hit["snippet"].as_str().expect("a snippet");
    let spans = hit["highlights"].as_array().expect("a list").iter();
    let at =
        |span: &Value, end: usize| usize::try_from(span[end].as_u64().expect("a byte")).expect("a small one");
    spans.map(|span| snippet[at(span, 0)..at(span, 1)].to_owned()).collect()
}

#[test]
fn a_query_in_the_query_language_finds_and_marks_what_it_says() {
    let folder = built();
    let ask = |query: &str| {
        evdb(&folder, &["search", "x.evdb", "-e", query, "--mode", "text", "--json"]).succeeds().json()
    };

    let found = ask("+capital -lisbon");
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["hits"][0]["snippet"], "The capital is Ulaanbaatar.");
    assert_eq!(highlighted(&found["hits"][0]), ["capital"]);
    assert_eq!(highlighted(&ask("\"capital is ulaan\"*")["hits"][0]), ["capital", "Ulaanbaatar"]);
    assert_eq!(
        highlighted(&ask("\u{5b98}\u{65b9}\u{8bed}\u{8a00}")["hits"][0]),
        ["\u{5b98}\u{65b9}\u{8bed}\u{8a00}"]
    );
    assert_eq!(highlighted(&ask("ulanbaatar~1")["hits"][0]), ["Ulaanbaatar"]);
    assert_eq!(ask("title:mongolia AND body:countr*")["hits"][0]["document"], "asia/mongolia.md");
}

#[test]
fn plain_words_may_have_any_character_and_a_query_says_where_it_is_wrong() {
    let folder = built();

    evdb(&folder, &["search", "x.evdb", "what's \"the capital\" (of: Mongolia* -- ^or~ {AND?"]).succeeds();
    evdb(&folder, &["search", "x.evdb", "-e", "wo*rd"]).fails(2, &["byte 3", "behind a word", "plain words"]);
    evdb(&folder, &["search", "x.evdb", "-e", "(a b"]).fails(2, &["byte 4", "expected `)`"]);
}

#[test]
fn matches_are_counted_and_nothing_found_has_its_exit_code() {
    let folder = built();

    let count = evdb(&folder, &["search", "x.evdb", "-e", "capital", "--count"]).succeeds();
    let none = evdb(&folder, &["search", "x.evdb", "-e", "capital AND geyser", "--count", "--json"]);

    assert_eq!(count.out, "2\n");
    assert_eq!((none.code, none.json()["count"].as_u64()), (4, Some(0)));
}

#[test]
fn a_field_may_weigh_more_or_nothing() {
    let folder = built();
    let ask = |boost: &str| {
        evdb(&folder, &["search", "x.evdb", "portugal", "--mode", "text", "--json", "--boost", boost])
    };
    let count = |run: Run| run.json()["hits"].as_array().map(Vec::len);

    assert_eq!(count(ask("title=3")), Some(3));
    assert_eq!(count(ask("title=0")), Some(1));
    ask("author=1").fails(2, &["no field"]);
    ask("body=-1").fails(2, &["from 0"]);
}

#[test]
fn a_search_over_its_deadline_says_so() {
    let folder = built();

    let run = evdb(
        &folder,
        &["search", "x.evdb", "-e", "capital AND lisbon~", "--mode", "text", "--deadline", "0"],
    );

    run.fails(1, &["deadline"]);
}

#[test]
fn words_of_the_query_are_painted_where_there_are_colours() {
    let folder = built();
    let ask = |colour| {
        evdb(&folder, &["search", "x.evdb", "capitals", "--mode", "text", "--color", colour]).succeeds().out
    };

    assert!(ask("never").contains("The capital is Ulaanbaatar."));
    let painted = ask("always");
    assert!(!painted.contains("The capital is") && painted.contains("capital\u{1b}[0m is"), "{painted}");
}
