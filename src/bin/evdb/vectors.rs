//! Vectors of queries: typed, from files, or made by the embedder that made the file's.

use std::path::Path;
use std::sync::Arc;

use evdb::ReadTransaction;
use evdb::model::Embedder;
use evdb::providers::Npy;

use crate::args::VectorArgs;
use crate::failure::Failure;
use crate::models::{BUILT_IN, Model};

/// A vector and the space it is compared in.
#[derive(Debug, Clone)]
pub struct QueryVector {
    pub space: String,
    pub vector: Vec<f32>,
}

impl QueryVector {
    pub fn as_question(&self) -> evdb::query::QuestionVector<'_> {
        evdb::query::QuestionVector { space: &self.space, vector: &self.vector }
    }
}

/// The vector of the query `text`: the one given, else one of the model named or built in whose space the file has.
pub fn of_query(
    read: &ReadTransaction,
    args: &VectorArgs,
    text: &str,
) -> Result<Option<QueryVector>, Failure> {
    match &args.vector {
        Some(typed) => {
            let vector = parse(typed)?;
            Ok(Some(QueryVector { space: space_for(read, args.space.as_deref(), vector.len())?, vector }))
        }
        None => Embedding::of(read, args.space.as_deref(), args.model.as_ref())?
            .map(|model| model.embed(text))
            .transpose(),
    }
}

/// The embedder of a space of the file.
pub struct Embedding {
    space: String,
    model: Arc<dyn Embedder>,
}

impl Embedding {
    /// The embedder `named`, else the best that is built in, whose space the file has: the space `wanted`, if one
    /// is.
    ///
    /// `None` if the file has no space of an embedder's, and nothing was asked for.
    pub fn of(
        read: &ReadTransaction,
        wanted: Option<&str>,
        named: Option<&Model>,
    ) -> Result<Option<Self>, Failure> {
        if let Some(name) = wanted
            && read.space(name).is_none()
        {
            return Err(no_space(read, name));
        }
        for candidate in named.map_or(BUILT_IN.as_slice(), std::slice::from_ref) {
            let Some(model) = candidate.of(read)? else { continue };
            let own = |name: &&str| {
                read.space(name).is_some_and(|space| space.record().fingerprint == model.fingerprint())
            };
            let space = match wanted {
                Some(name) => Some(name).filter(own),
                None => read.space_names().find(own),
            };
            if let Some(space) = space.map(str::to_owned) {
                return Ok(Some(Self { space, model }));
            }
        }
        if let Some(space) = wanted.and_then(|name| read.space(name)) {
            let (name, print) = (&space.record().name, &space.record().fingerprint);
            return Err(Failure::hinted(
                format!("the vectors of space {name:?} were made by {print:?}"),
                "name the directory of that model with --model, or give the query's vector with --vector",
            ));
        }
        if let Some(named) = named {
            return Err(Failure::hinted(
                format!("no vector space of the file was made by the model {:?}", named.space()),
                format!("its spaces: {}", listed(read)),
            ));
        }
        Ok(None)
    }

    /// The space it fills, and itself.
    pub fn parts(&self) -> (&str, &dyn Embedder) {
        (&self.space, self.model.as_ref())
    }

    pub fn embed(&self, text: &str) -> Result<QueryVector, Failure> {
        let mut vector = vec![0.0; self.model.dimensions()];
        self.model.embed(&[text], &mut vector)?;
        Ok(QueryVector { space: self.space.clone(), vector })
    }
}

/// The space for vectors of `dimension` elements: the one wanted, else the only one that fits.
pub fn space_for(read: &ReadTransaction, wanted: Option<&str>, dimension: usize) -> Result<String, Failure> {
    if let Some(name) = wanted {
        return read.space(name).map(|_| name.to_owned()).ok_or_else(|| no_space(read, name));
    }
    let fitting: Vec<&str> = read
        .space_names()
        .filter(|name| read.space(name).is_some_and(|space| space.record().dimension as usize == dimension))
        .collect();
    match fitting.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::hinted(
            format!("no vector space of the file is of dimension {dimension}"),
            format!("its spaces: {}", listed(read)),
        )),
        _ => Err(Failure::hinted(
            format!("several vector spaces are of dimension {dimension}: {}", fitting.join(", ")),
            "say which with --space",
        )),
    }
}

fn no_space(read: &ReadTransaction, name: &str) -> Failure {
    Failure::hinted(format!("there is no vector space {name:?}"), format!("the file has: {}", listed(read)))
}

/// The spaces of the file, for a hint.
fn listed(read: &ReadTransaction) -> String {
    let spaces: Vec<String> = read
        .space_names()
        .filter_map(|name| read.space(name))
        .map(|space| format!("{:?} ({} dimensions)", space.record().name, space.record().dimension))
        .collect();
    if spaces.is_empty() { "none; build one with --vectors or --embed".to_owned() } else { spaces.join(", ") }
}

/// A vector as it is typed: `[0.1, ...]`, `FILE.npy` of one row, or `FILE.npy:ROW`.
fn parse(typed: &str) -> Result<Vec<f32>, Failure> {
    const FORMS: &str = "write --vector FILE.npy, --vector FILE.npy:ROW, or --vector '[0.1, 0.2]'";
    if typed.trim_start().starts_with('[') {
        return serde_json::from_str(typed)
            .map_err(|error| Failure::usage(format!("--vector is no list of numbers: {error}"), FORMS));
    }
    let (path, row) = match typed.rsplit_once(':') {
        Some((path, row)) if !Path::new(typed).exists() => match row.parse() {
            Ok(row) => (path, Some(row)),
            Err(_) => (typed, None),
        },
        _ => (typed, None),
    };
    let mut file = Npy::open(Path::new(path)).map_err(|error| Failure::from(error).or_hint(FORMS))?;
    let row: usize = match row {
        Some(row) => row,
        None if file.rows() == 1 => 0,
        None => {
            return Err(Failure::usage(
                format!("{path} has {} rows", file.rows()),
                format!("say which: --vector {path}:0"),
            ));
        }
    };
    let mut vector = vec![0.0; file.columns()];
    file.row(row, &mut vector)?;
    Ok(vector)
}
