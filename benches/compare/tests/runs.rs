//! Whole runs of the program over small inputs.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_compare"))
}

fn text(scratch: &Path, passages: &str, more: &[&str]) -> Command {
    let mut command = program();
    command.args(["text", "--passages", passages, "--passes", "1", "--scratch"]).arg(scratch).args(more);
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// Asks `done` again and again; whether it became true within a minute.
fn comes_true(mut done: impl FnMut() -> bool) -> bool {
    (0..1_200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        done()
    })
}

#[test]
fn a_run_checks_every_engine_and_leaves_rows_goals_and_no_files() {
    let scratch = tempfile::tempdir().expect("a folder");
    let json = tempfile::NamedTempFile::new().expect("a file");
    let name = json.path().to_str().expect("a plain name");

    let output = text(scratch.path(), "3000", &["--limit", "30", "--json", name]).output().expect("it runs");

    assert!(output.status.success(), "{}", said(&output));
    let lines = std::fs::read_to_string(json.path()).expect("it was written");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let has =
        |engine: &str, case: &str| lines.iter().any(|row| row["engine"] == engine && row["case"] == case);
    for engine in ["evdb", "tantivy", "fts5"] {
        assert!(
            has(engine, "build") && has(engine, "or") && has(engine, "or, alone"),
            "{engine}: {lines:#?}"
        );
    }
    let note = |row: &Value| row["note"].as_str().unwrap_or_default().to_owned();
    let checked = |row: &&Value| note(row).contains("30 checked") && row["p50_ms"].as_f64() > Some(0.0);
    assert!(lines.iter().filter(checked).count() >= 3 * 4, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line["goal"].is_string()).count(), 8);
    assert!(is_empty(scratch.path()));
}

#[test]
fn an_unknown_engine_or_set_is_refused_with_those_there_are() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (more, wanted) in
        [(["--only", "lucene"], "evdb, tantivy, fts5"), (["--queries", "xor"], "or, nat, and")]
    {
        let output = text(scratch.path(), "100", &more).output().expect("it runs");

        assert!(!output.status.success());
        assert!(said(&output).contains(wanted), "{}", said(&output));
    }
}

#[test]
fn a_worker_that_lost_its_parent_removes_its_folder_and_ends() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("evdb-compare-x/corpus/evdb");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut worker = program();
    worker.args(["worker", "text", "evdb"]).arg(&folder).stdin(Stdio::piped());
    let mut worker = worker.spawn().expect("it starts");

    drop(worker.stdin.take());

    assert!(worker.wait().is_ok_and(|status| !status.success()));
    assert!(is_empty(scratch.path()));
}

/// The process that runs `engine` below `scratch`, by its command line.
#[cfg(target_os = "linux")]
fn worker_of(engine: &str, scratch: &Path) -> Option<String> {
    let wanted = format!("worker\0text\0{engine}\0{}", scratch.display());
    std::fs::read_dir("/proc").ok()?.filter_map(Result::ok).find_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        String::from_utf8_lossy(&line).contains(&wanted).then_some(name)
    })
}

#[cfg(target_os = "linux")]
fn kill(process: &str) {
    let status = Command::new("kill").args(["-9", process]).status().expect("there is kill");
    assert!(status.success());
}

#[cfg(target_os = "linux")]
fn started(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_worker_is_named_and_the_run_goes_on_without_it() {
    let scratch = tempfile::tempdir().expect("a folder");
    let run = started(text(scratch.path(), "20000", &["--limit", "30", "--queries", "or,nat"]));

    assert!(comes_true(|| worker_of("fts5", scratch.path()).map(|process| kill(&process)).is_some()));
    let output = run.wait_with_output().expect("it ends");

    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("FAILED: engine fts5: its worker ended with signal: 9"), "{said}");
    assert!(said.contains("nat at 20000: queries a second"), "{said}");
    assert!(is_empty(scratch.path()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_neither_workers_nor_files() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut run = started(text(scratch.path(), "2000000", &[]));
    assert!(comes_true(|| worker_of("evdb", scratch.path()).is_some()));

    run.kill().expect("it runs");
    run.wait().expect("it ends");

    assert!(comes_true(|| is_empty(scratch.path()) && worker_of("evdb", scratch.path()).is_none()));
}
