//! Embedders by the names they have on the command line.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use evdb::ReadTransaction;
use evdb::model::Embedder;
use evdb::providers::{StaticEmbedder, TransformerEmbedder};

use crate::failure::Failure;

/// An embedder that is built in or lies in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// The table of token vectors.
    Static,
    /// all-MiniLM-L6-v2.
    MiniLm,
    /// A model of BERT's family, as Hugging Face lays it out.
    Directory(PathBuf),
}

/// Those that need no directory, best first.
pub const BUILT_IN: [Model; 2] = [Model::MiniLm, Model::Static];

impl FromStr for Model {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<Self, Infallible> {
        Ok(match typed {
            "static" => Self::Static,
            "minilm" => Self::MiniLm,
            _ => Self::Directory(typed.into()),
        })
    }
}

impl Model {
    /// The space its vectors go into.
    pub fn space(&self) -> String {
        match self {
            Self::Static => "static".to_owned(),
            Self::MiniLm => "minilm".to_owned(),
            Self::Directory(path) => path
                .canonicalize()
                .unwrap_or_else(|_| path.clone())
                .file_name()
                .map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned()),
        }
    }

    pub fn load(&self) -> Result<Arc<dyn Embedder>, Failure> {
        Ok(match self {
            Self::Static => Arc::new(StaticEmbedder::new()),
            Self::MiniLm => Arc::new(TransformerEmbedder::minilm()),
            Self::Directory(path) => {
                let hint = "a model is static, minilm, or a directory with config.json, model.safetensors and vocab.txt";
                Arc::new(TransformerEmbedder::open(path).map_err(|error| Failure::from(error).or_hint(hint))?)
            }
        })
    }

    /// Whether some space of the file may be its own; says so without loading it.
    fn may_own(&self, fingerprint: &str) -> bool {
        match self {
            Self::Static => fingerprint.starts_with("evdb static "),
            Self::MiniLm | Self::Directory(_) => fingerprint.starts_with("evdb transformer "),
        }
    }

    /// The embedder, if some space of the file is its own.
    pub fn of(&self, read: &ReadTransaction) -> Result<Option<Arc<dyn Embedder>>, Failure> {
        let prints = || {
            read.space_names()
                .filter_map(|name| read.space(name))
                .map(|space| space.record().fingerprint.clone())
        };
        if !prints().any(|print| self.may_own(&print)) {
            return Ok(None);
        }
        let model = self.load()?;
        let own = prints().any(|print| print == model.fingerprint());
        Ok(own.then_some(model))
    }
}
