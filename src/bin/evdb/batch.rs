//! Questions from a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Instant;

use evdb::ReadTransaction;
use evdb::providers::{Matrix, Npy};
use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::args::{BatchArgs, Common, VectorArgs};
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::progress;
use crate::vectors::{self, Embedding, QueryVector};

/// One line of the file.
pub struct Entry {
    /// Its `id`, or its number from 0.
    pub id: Value,
    /// Its `question`.
    pub text: String,
    /// Its `doc`.
    pub doc: Option<String>,
}

/// Where the questions' vectors come from.
enum Vectors {
    Given(String, Matrix),
    Model(Embedding),
    None,
}

/// All questions, with their vectors.
pub struct Batch {
    pub entries: Vec<Entry>,
    vectors: Vectors,
}

impl Batch {
    /// Reads the questions at `path` and their vectors.
    pub fn read(
        path: &Path,
        args: &BatchArgs,
        vector: &VectorArgs,
        read: &ReadTransaction,
    ) -> Result<Self, Failure> {
        let entries = entries(path)?;
        let space = vector.space.as_deref();
        if entries.is_empty() {
            return Err(Failure::Error(format!("{} has no questions", path.display()), None));
        }
        let vectors = match &args.question_vectors {
            Some(file) => {
                let matrix = Npy::open(file)?.into_matrix()?;
                if matrix.rows() != entries.len() {
                    return Err(Failure::Error(
                        format!(
                            "{} has {} rows, {} has {} questions: they do not belong together",
                            file.display(),
                            matrix.rows(),
                            path.display(),
                            entries.len()
                        ),
                        None,
                    ));
                }
                Vectors::Given(vectors::space_for(read, space, matrix.columns())?, matrix)
            }
            None => Embedding::of(read, space, vector.model.as_ref())?.map_or(Vectors::None, Vectors::Model),
        };
        Ok(Self { entries, vectors })
    }

    fn vector(&self, index: usize, text: &str) -> Result<Option<QueryVector>, Failure> {
        match &self.vectors {
            Vectors::Given(space, matrix) => {
                Ok(Some(QueryVector { space: space.clone(), vector: matrix.row(index).to_vec() }))
            }
            Vectors::Model(model) => model.embed(text).map(Some),
            Vectors::None => Ok(None),
        }
    }

    /// Calls `answer` with each question and its vector, and tells how long that took.
    pub fn for_each(
        &self,
        common: &Common,
        output: &mut Output,
        mut answer: impl FnMut(&Entry, Option<&QueryVector>, &mut Output) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let bar = progress::things(common, self.entries.len() as u64, "asking");
        let started = Instant::now();
        for (index, entry) in self.entries.iter().enumerate() {
            let vector = self.vector(index, &entry.text)?;
            answer(entry, vector.as_ref(), output)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        output.remark(format_args!(
            "{} in {:.2} s",
            counted(self.entries.len() as u64, "question"),
            started.elapsed().as_secs_f64()
        ));
        Ok(())
    }
}

fn entries(path: &Path) -> Result<Vec<Entry>, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| evdb::Error::io("open", &name, error))?;
    let mut file = BufReader::new(file);
    let failed = |error| Failure::from(evdb::Error::io("read", &name, error));
    let packed = evdb::ingest::is_gzip(file.fill_buf().map_err(failed)?);
    let input: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut entries = Vec::new();
    for (index, line) in BufReader::new(input).lines().enumerate() {
        let line = line.map_err(failed)?;
        if line.trim().is_empty() {
            continue;
        }
        let bad = |why: String| {
            Failure::hinted(
                format!("{name}, line {}: {why}", index + 1),
                "each line is an object such as {\"id\": 1, \"question\": \"...\"}",
            )
        };
        let value: Value = serde_json::from_str(&line).map_err(|error| bad(error.to_string()))?;
        let text = value.get("question").and_then(Value::as_str);
        let text = text.ok_or_else(|| bad("it has no \"question\"".to_owned()))?.to_owned();
        let id = value.get("id").cloned().unwrap_or_else(|| entries.len().into());
        let doc = value.get("doc").map(|doc| doc.as_str().map_or_else(|| doc.to_string(), str::to_owned));
        entries.push(Entry { id, text, doc });
    }
    Ok(entries)
}
