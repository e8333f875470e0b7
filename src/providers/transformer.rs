//! Sentence embedders of BERT's family, run in-process on the processor.
//!
//! Weights are 8 bits with a scale a row, activations 8 bits with a scale a token; products are summed in
//! integers, everything else in a fixed order, so that a text has the same vector on every machine. Texts of a
//! batch stand one after the other, without padding.

mod forward;
mod load;
mod weights;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use self::forward::Scratch;
use self::weights::Model;
use super::wordpiece::WordPiece;
use crate::error::{Error, Result};
use crate::model::Embedder;

/// Tokens that go through the layers together: their activations stay in the near caches.
const BATCH_TOKENS: usize = 256;

/// A transformer with mean pooling over WordPiece tokens, as the models of sentence-transformers are: the mean of
/// the last layer's states, of unit length.
///
/// * A text is `[CLS]`, its tokens, `[SEP]`; what is beyond the model's length (256 tokens for all-MiniLM-L6-v2) is
///   not seen. An empty text has a vector too: that of `[CLS] [SEP]`.
/// * Cheap to clone and to share among threads; each call uses its caller's thread.
///
/// ```no_run
/// use evdb::model::Embedder;
/// use evdb::providers::TransformerEmbedder;
///
/// let model = TransformerEmbedder::open("all-MiniLM-L6-v2".as_ref())?;
/// let mut vector = vec![0.0; model.dimensions()];
/// model.embed(&["When does the contract end?"], &mut vector)?;
/// # Ok::<(), evdb::Error>(())
/// ```
///
/// # Source
///
/// Devlin et al.: BERT, NAACL 2019; Reimers, Gurevych: Sentence-BERT, EMNLP 2019. Departure: weights and activations are rounded
/// to 8 bits; against float32 the cosine is above .99 (`docs/measurements.md`).
#[derive(Debug, Clone)]
pub struct TransformerEmbedder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    tokens: Tokens,
    model: Model,
    fingerprint: String,
    /// Ids of `[CLS]` and `[SEP]`.
    frame: (u32, u32),
}

#[derive(Debug)]
enum Tokens {
    #[cfg(feature = "minilm")]
    BertUncased,
    Own(WordPiece),
}

impl Tokens {
    fn get(&self) -> &WordPiece {
        match self {
            #[cfg(feature = "minilm")]
            Self::BertUncased => WordPiece::bert_uncased(),
            Self::Own(tokens) => tokens,
        }
    }
}

impl TransformerEmbedder {
    /// all-MiniLM-L6-v2, 384 dimensions, compiled in. Its weights are made ready once, at the first call, in some
    /// tens of milliseconds.
    ///
    /// # Panics
    ///
    /// Never with the weights it is compiled with.
    #[cfg(feature = "minilm")]
    #[must_use]
    pub fn minilm() -> Self {
        /// The model, in 8 bits.
        const WEIGHTS: &[u8] = include_bytes!("../../assets/minilm_l6_v2.i8.safetensors");
        static SHARED: std::sync::LazyLock<TransformerEmbedder> = std::sync::LazyLock::new(|| {
            let settings = load::Settings::of_weights(WEIGHTS).expect("the weights in assets/ are sound");
            TransformerEmbedder::new(Tokens::BertUncased, WEIGHTS, &settings)
                .expect("the weights in assets/ are sound")
        });
        SHARED.clone()
    }

    /// The model in the directory `path`, as Hugging Face lays it out: `config.json`, `model.safetensors`, and
    /// `vocab.txt` or `tokenizer.json`; `sentence_bert_config.json` and `1_Pooling/config.json` are heeded if there.
    ///
    /// # Errors
    ///
    /// `NotFound` or `Io`, naming the file, if one is missing or cannot be read; `Unsupported` for what is not of
    /// the family (another architecture, activation or pooling, a tokenizer that keeps case); `Model`, naming file and tensor, if
    /// contents do not fit.
    pub fn open(path: &Path) -> Result<Self> {
        let files = load::Files::read(path)?;
        Self::new(Tokens::Own(files.tokens), &files.weights, &files.settings)
            .map_err(|error| error.context(path.join(load::WEIGHTS).display()))
    }

    fn new(tokens: Tokens, weights: &[u8], settings: &load::Settings) -> Result<Self> {
        let model = Model::read(weights, settings)?;
        let vocabulary = tokens.get();
        let special = |piece: &str| {
            vocabulary.id(piece).ok_or_else(|| load::unfit(format!("the vocabulary has no {piece}")))
        };
        if vocabulary.len() > model.pieces() {
            let (pieces, rows) = (vocabulary.len(), model.pieces());
            return Err(load::unfit(format!("{pieces} pieces in the vocabulary, {rows} rows of embeddings")));
        }
        let frame = (special("[CLS]")?, special("[SEP]")?);
        let name = &settings.name;
        let fingerprint = format!("evdb transformer {name} i8 {:08x}", crc32fast::hash(weights));
        Ok(Self { inner: Arc::new(Inner { tokens, model, fingerprint, frame }) })
    }

    /// Most tokens of a text that are seen, `[CLS]` and `[SEP]` included.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.inner.model.max_tokens()
    }

    /// Adds the ids of `text` with its frame.
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let (begin, end) = self.inner.frame;
        let most = ids.len() + self.max_tokens() - 1;
        ids.push(begin);
        self.inner.tokens.get().for_each(text, |id| {
            if ids.len() < most {
                ids.push(id);
            }
        });
        ids.push(end);
    }
}

impl Embedder for TransformerEmbedder {
    fn dimensions(&self) -> usize {
        self.inner.model.dimensions()
    }

    fn fingerprint(&self) -> &str {
        &self.inner.fingerprint
    }

    fn embed(&self, texts: &[&str], out: &mut [f32]) -> Result<()> {
        let dimension = self.dimensions();
        if texts.len().checked_mul(dimension) != Some(out.len()) {
            let (count, floats) = (texts.len(), out.len());
            return Err(Error::invalid(format!(
                "{count} texts of dimension {dimension} into {floats} floats"
            )));
        }
        let mut scratch = Scratch::default();
        let (mut ids, mut lengths) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (index, text) in texts.iter().enumerate() {
            let before = ids.len();
            self.encode(text, &mut ids);
            lengths.push(ids.len() - before);
            if ids.len() >= BATCH_TOKENS || index + 1 == texts.len() {
                let rows = &mut out[first * dimension..(index + 1) * dimension];
                self.inner.model.embed(&ids, &lengths, &mut scratch, rows);
                ids.clear();
                lengths.clear();
                first = index + 1;
            }
        }
        Ok(())
    }
}
