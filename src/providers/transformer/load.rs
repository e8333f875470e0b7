//! A model's directory: which files, and what they must say.

use std::path::Path;

#[cfg(feature = "minilm")]
use safetensors::SafeTensors;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::wordpiece::WordPiece;

/// Name of the file of weights.
pub(super) const WEIGHTS: &str = "model.safetensors";
/// Largest file that is read: models of this kind have at most 1.4 GB in float32.
const MOST_BYTES: u64 = 4 << 30;
/// Most of a directory's name in the fingerprint, which has 255 bytes.
const MOST_NAME_BYTES: usize = 100;
/// Most tokens of a text: attention costs their square.
const MOST_TOKENS: usize = 512;

/// What must be known besides weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) heads: usize,
    pub(super) max_tokens: usize,
    pub(super) layers: Option<usize>,
}

impl Settings {
    /// As the metadata of `weights` have them.
    #[cfg(feature = "minilm")]
    pub(super) fn of_weights(weights: &[u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(weights)
            .map_err(|error| unfit(format!("not a safetensors file: {error}")).with_source(error))?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        let get = |key: &str| metadata.get(key).ok_or_else(|| unfit(format!("the metadata lack {key}")));
        let number = |key: &str| {
            get(key)?.parse().map_err(|error| unfit(format!("{key} is no number")).with_source(error))
        };
        Ok(Self {
            name: get("name")?.clone(),
            heads: number("num_attention_heads")?,
            max_tokens: number("max_seq_length")?,
            layers: None,
        })
    }
}

/// `config.json`, as far as it matters.
#[derive(Debug, Deserialize)]
struct Config {
    model_type: String,
    #[serde(default = "gelu")]
    hidden_act: String,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f64,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(rename = "_name_or_path")]
    name: Option<String>,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

fn epsilon() -> f64 {
    1e-12
}

#[derive(Debug, Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Pooling {
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

/// `tokenizer.json`, as far as it matters.
#[derive(Debug, Deserialize)]
struct Tokenizer {
    normalizer: Option<Normalizer>,
    model: TokenizerModel,
}

#[derive(Debug, Deserialize)]
struct Normalizer {
    #[serde(default)]
    lowercase: bool,
}

#[derive(Debug, Deserialize)]
struct TokenizerModel {
    vocab: std::collections::BTreeMap<String, usize>,
}

#[derive(Debug, Deserialize)]
struct TokenizerConfig {
    #[serde(default = "yes")]
    do_lower_case: bool,
}

fn yes() -> bool {
    true
}

/// What a directory holds.
pub(super) struct Files {
    pub(super) tokens: WordPiece,
    pub(super) weights: Vec<u8>,
    pub(super) settings: Settings,
}

impl Files {
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let config: Config = json(directory, "config.json")?;
        let wrong = |what: &str, own: &str, known: &str| {
            let place = directory.join("config.json");
            let message = format!("{}: {what} is {own:?}; known is {known:?}", place.display());
            Err(Error::new(ErrorKind::Unsupported, message))
        };
        if config.model_type != "bert" {
            return wrong("model_type", &config.model_type, "bert");
        }
        if config.hidden_act != "gelu" {
            return wrong("hidden_act", &config.hidden_act, "gelu");
        }
        if config.position_embedding_type != "absolute" {
            return wrong("position_embedding_type", &config.position_embedding_type, "absolute");
        }
        if (config.layer_norm_eps - 1e-12).abs() > 1e-13 {
            return wrong("layer_norm_eps", &config.layer_norm_eps.to_string(), "1e-12");
        }
        let pooling: Option<Pooling> = optional_json(directory, "1_Pooling/config.json")?;
        if pooling.is_some_and(|pooling| !pooling.pooling_mode_mean_tokens) {
            let place = directory.join("1_Pooling/config.json");
            let message = format!("{}: the pooling is not the mean of the tokens", place.display());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let sentence: SentenceConfig =
            optional_json(directory, "sentence_bert_config.json")?.unwrap_or_default();
        let named = config.name.as_deref().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
        let own = directory.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut name = own.unwrap_or_else(|| named.to_owned());
        name.truncate(name.floor_char_boundary(MOST_NAME_BYTES));
        Ok(Self {
            tokens: vocabulary(directory)?,
            weights: bytes(directory, WEIGHTS)?,
            settings: Settings {
                name,
                heads: config.num_attention_heads,
                max_tokens: sentence.max_seq_length.unwrap_or(MOST_TOKENS).clamp(3, MOST_TOKENS),
                layers: Some(config.num_hidden_layers),
            },
        })
    }
}

/// The tokenizer: of `vocab.txt`, else of `tokenizer.json`.
fn vocabulary(directory: &Path) -> Result<WordPiece> {
    let cased = |name: &str| {
        let message = format!("{}: the tokenizer keeps case", directory.join(name).display());
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    let config: Option<TokenizerConfig> = optional_json(directory, "tokenizer_config.json")?;
    if config.is_some_and(|config| !config.do_lower_case) {
        return cased("tokenizer_config.json");
    }
    if directory.join("vocab.txt").exists() {
        let text = String::from_utf8(bytes(directory, "vocab.txt")?).map_err(|error| {
            unfit(format!("{} is not UTF-8", directory.join("vocab.txt").display())).with_source(error)
        })?;
        return WordPiece::new(text);
    }
    let tokenizer: Tokenizer = json(directory, "tokenizer.json")?;
    if tokenizer.normalizer.is_some_and(|normalizer| !normalizer.lowercase) {
        return cased("tokenizer.json");
    }
    let mut pieces: Vec<(usize, String)> =
        tokenizer.model.vocab.into_iter().map(|(piece, id)| (id, piece)).collect();
    pieces.sort_unstable();
    let mut text = String::new();
    for (expected, (id, piece)) in pieces.into_iter().enumerate() {
        if id != expected || piece.contains('\n') {
            let place = directory.join("tokenizer.json");
            return Err(unfit(format!("{}: piece {expected} is missing or twice", place.display())));
        }
        text.push_str(&piece);
        text.push('\n');
    }
    WordPiece::new(text)
}

fn bytes(directory: &Path, name: &str) -> Result<Vec<u8>> {
    let path = directory.join(name);
    let failed = |error| Error::io("read", path.display(), error);
    let size = std::fs::metadata(&path).map_err(failed)?.len();
    if size > MOST_BYTES {
        return Err(unfit(format!("{} has {size} bytes, over {MOST_BYTES}", path.display())));
    }
    std::fs::read(&path).map_err(failed)
}

fn json<T: serde::de::DeserializeOwned>(directory: &Path, name: &str) -> Result<T> {
    let contents = bytes(directory, name)?;
    serde_json::from_slice(&contents)
        .map_err(|error| unfit(format!("{}: {error}", directory.join(name).display())).with_source(error))
}

fn optional_json<T: serde::de::DeserializeOwned>(directory: &Path, name: &str) -> Result<Option<T>> {
    if directory.join(name).exists() { json(directory, name).map(Some) } else { Ok(None) }
}

pub(super) fn unfit(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Model, message)
}
