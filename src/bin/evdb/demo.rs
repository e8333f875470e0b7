//! `evdb demo`: a file of the example documents, and five questions.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use evdb::methods::bear::{Bear, Request};
use evdb::query::{Budget, Format, Question};
use serde::Deserialize;
use serde_json::json;

use crate::args::{Common, DemoArgs, LoadArgs};
use crate::ask;
use crate::build;
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, QUESTION, counted};
use crate::sources;
use crate::vectors::{Embedding, QueryVector};

/// Folders of documents below `examples/data`.
const FOLDERS: [&str; 2] = ["countries", "countries-zh"];
/// The project's own documents.
const OWN: [&str; 4] = ["README.md", "ARCHITECTURE.md", "format-spec.md", "CHANGELOG.md"];
/// The question whose answer is explained: it takes two documents.
const EXPLAINED: &str = "q2";

/// Items of evidence printed whole for each question; the others with the beginnings of their texts.
const WHOLE_ITEMS: usize = 5;

#[derive(Deserialize)]
struct Prepared {
    id: String,
    question: String,
    #[serde(default)]
    note: String,
}

pub fn run(args: &DemoArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let home = home()?;
    let path = args.output.clone().unwrap_or_else(default_path);
    let questions = questions(&home.join("examples/questions.jsonl"))?;
    remove_old(&path)?;

    let data = home.join("examples/data");
    let folders: Vec<PathBuf> = FOLDERS.iter().map(|name| data.join(name)).collect();
    let mut found = sources::find(&folders, Some(&data))?;
    let own: Vec<PathBuf> = OWN.iter().map(|name| home.join(name)).filter(|path| path.is_file()).collect();
    found.extend(sources::find(&own, Some(&home))?);

    say(output, &format!("building {} from {}", path.display(), counted(found.len() as u64, "document")))?;
    let database = open::builder(common).create(&path)?;
    let loaded = build::load(&database, &found, &load_args(), common, output)?;
    let progress = loaded.progress;
    say(
        output,
        &format!(
            "{} and {} in {:.1} s",
            counted(progress.documents, "document"),
            counted(progress.leaves, "leaf"),
            loaded.seconds
        ),
    )?;
    drop(database);

    let database = open::read_only(&path, common)?;
    let read = database.begin_read()?;
    let model = Embedding::of(&read, None, None)?;
    let bear = Bear::default();
    let format = Format::default();
    for Prepared { id, question: text, note } in &questions {
        let vector = model.as_ref().map(|model| model.embed(text)).transpose()?;
        let question = Question { text, vector: vector.as_ref().map(QueryVector::as_question) };
        let request = Request::new(question, Budget::tokens(args.budget as usize), &format);
        let answer = bear.retrieve(&read, &request)?;
        if output.json {
            let steps = (id == EXPLAINED).then_some(&answer.trace.steps);
            output
                .line(&json!({ "id": id, "question": text, "evidence": answer.evidence, "steps": steps }))?;
            continue;
        }
        writeln!(output, "\n{}", Painted(QUESTION, format_args!("{id}  {text}")))?;
        if !note.is_empty() {
            writeln!(output, "{}", Painted(FAINT, note))?;
        }
        writeln!(output)?;
        ask::print(&answer, &BTreeMap::new(), if args.all { usize::MAX } else { WHOLE_ITEMS }, output)?;
        if id == EXPLAINED {
            ask::explain(&answer, &read, output)?;
        }
    }
    drop(read);
    drop(database);
    if output.json {
        return output
            .line(&json!({ "file": path.display().to_string(), "load": progress }))
            .map(|()| Exit::Done);
    }
    writeln!(output, "\nthe file: {}", Painted(KEY, path.display()))?;
    let program = std::env::args().next().unwrap_or_else(|| "evdb".to_owned());
    writeln!(
        output,
        "try next: {program} ask {} 'Which countries border Mongolia?' --budget 300 --explain",
        path.display()
    )?;
    Ok(Exit::Done)
}

fn say(output: &mut Output, message: &str) -> Result<(), Failure> {
    if !output.json {
        writeln!(output, "{message}")?;
        output.flush()?;
    }
    Ok(())
}

/// The folder that holds `examples/data`: this one, or that of the sources this program was built from.
fn home() -> Result<PathBuf, Failure> {
    let candidates = [PathBuf::new(), PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    candidates.into_iter().find(|home| home.join("examples/data").is_dir()).ok_or_else(|| {
        Failure::hinted(
            "there is no folder examples/data here",
            "run the demo in a clone of evdb; with documents of your own: evdb build PATH... -o FILE.evdb",
        )
    })
}

fn default_path() -> PathBuf {
    let target = PathBuf::from("target");
    let folder = if target.is_dir() { target } else { std::env::temp_dir() };
    folder.join("demo.evdb")
}

/// Takes the file of an earlier demo away.
fn remove_old(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(evdb::Error::io("remove", path.display(), error).into())
        }
        _ => Ok(()),
    }
}

fn questions(path: &Path) -> Result<Vec<Prepared>, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| evdb::Error::io("read", path.display(), error))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let parsed: Result<Vec<Prepared>, _> = lines.map(serde_json::from_str).collect();
    parsed.map_err(|error| Failure::Error(format!("{}: {error}", path.display()), None))
}

/// What `evdb build` does without options.
fn load_args() -> LoadArgs {
    LoadArgs {
        paths: Vec::new(),
        root: None,
        threads: None,
        target_tokens: 160,
        max_tokens: None,
        skip_bad_lines: false,
        replace_invalid_utf8: false,
        vectors: None,
        leaf_vectors: None,
        vectors_model: None,
        space: "vectors".to_owned(),
        embed: None,
        no_embed: false,
        names: false,
        views: None,
    }
}
