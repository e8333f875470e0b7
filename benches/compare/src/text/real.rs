//! Real passages and questions: every set of a folder, joined.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::corpus::Corpus;

/// Longer words are cut, so that no engine drops one that others keep.
const LONGEST_WORD: usize = 40;

#[derive(Deserialize)]
struct Passage {
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

/// The passages of all sets of a folder, each its title and text; those without a word are left out.
pub struct Real {
    passages: Vec<String>,
}

impl Real {
    /// The sets are the folders in `folder` with a `passages.jsonl.gz`, by name.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut passages = Vec::new();
        for file in files(folder, "passages.jsonl.gz")? {
            for Passage { title, text } in lines::<Passage>(&file)? {
                passages.push(words(&format!("{title} {text}")).join(" "));
            }
        }
        passages.retain(|text| !text.is_empty());
        ensure!(!passages.is_empty(), "{}: no folder in it has a passages.jsonl.gz", folder.display());
        Ok(Self { passages })
    }
}

impl Corpus for Real {
    fn passages(&self) -> u32 {
        u32::try_from(self.passages.len()).unwrap_or(u32::MAX)
    }

    fn passage(&mut self, at: u32, text: &mut String) {
        text.clear();
        text.push_str(self.passages.get(at as usize).map_or("", String::as_str));
    }
}

/// The questions of all sets as words, each once.
pub fn questions(folder: &Path) -> Result<Vec<Vec<String>>> {
    let mut questions = Vec::new();
    for file in files(folder, "questions.jsonl.gz")? {
        for Question { question } in lines::<Question>(&file)? {
            let mut once = words(&question);
            let mut known = std::collections::HashSet::new();
            once.retain(|word| known.insert(word.clone()));
            if !once.is_empty() {
                questions.push(once);
            }
        }
    }
    Ok(questions)
}

fn files(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let sets: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path().join(name))).collect();
    let mut files = sets?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

fn lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let open = File::open(file).with_context(|| file.display().to_string())?;
    let lines = BufReader::new(GzDecoder::new(open)).lines().enumerate();
    let parsed = lines.map(|(at, line)| {
        let place = || format!("{}, line {}", file.display(), at + 1);
        serde_json::from_str(&line.with_context(place)?).with_context(place)
    });
    parsed.collect()
}

/// Runs of ASCII letters and digits, in lower case.
fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(|run| run.chars().take(LONGEST_WORD).collect::<String>().to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn write(folder: &Path, set: &str, name: &str, text: &str) {
        std::fs::create_dir_all(folder.join(set)).expect("a folder");
        let file = File::create(folder.join(set).join(name)).expect("a file");
        let mut gz = GzEncoder::new(file, Compression::fast());
        gz.write_all(text.as_bytes()).expect("written");
        gz.finish().expect("written");
    }

    #[test]
    fn all_sets_are_joined_by_name_and_reduced_to_plain_words() {
        let folder = tempfile::tempdir().expect("a folder");
        write(
            folder.path(),
            "b",
            "passages.jsonl.gz",
            "{\"id\":1,\"title\":\"T-1\",\"text\":\"Café, 2nd!\"}\n",
        );
        write(folder.path(), "a", "passages.jsonl.gz", "{\"text\":\"one\"}\n{\"text\":\"?\"}\n");
        write(folder.path(), "b", "questions.jsonl.gz", "{\"question\":\"Who is who?\"}\n");

        let mut real = Real::read(folder.path()).expect("two sets");

        let mut text = String::new();
        assert_eq!(real.passages(), 2);
        real.passage(1, &mut text);
        assert_eq!(text, "t 1 caf 2nd");
        assert_eq!(questions(folder.path()).expect("a set"), [["who", "is"]]);
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "a", "passages.jsonl.gz", "{\"text\":\"one\"}\nnonsense\n");

        let error = Real::read(folder.path()).map(|_| ()).expect_err("line 2 is no JSON");

        assert!(error.to_string().ends_with("passages.jsonl.gz, line 2"), "{error}");
    }
}
