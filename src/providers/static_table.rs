//! The built-in embedder: a table of token vectors, and their sum.

use std::sync::LazyLock;

use super::npy::Matrix;
use super::wordpiece::WordPiece;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Embedder;

/// Token vectors in int8, `30,522 x 128`.
const CODES: &[u8] = include_bytes!("../../assets/minilm_static_128.i8.npy");
/// The scale of each, `f32`.
const SCALES: &[u8] = include_bytes!("../../assets/minilm_static_128.scale.f32.npy");
/// The vocabulary the ids are of; part of the fingerprint.
const VOCABULARY: &[u8] = include_bytes!("../../assets/vocab.txt");

/// Sums the static vectors of a text's tokens, cut by [`WordPiece`]: instant and deterministic, with quality clearly below
/// a transformer's.
///
/// * The sum is not of unit length; a cosine space makes it so.
/// * `[UNK]` adds nothing: that a word is unknown says nothing about what it means. A text of unknown words
///   alone, like an empty one, gets zeros.
/// * Texts may be of any length; every token counts the same wherever it stands.
#[derive(Debug, Clone)]
pub struct StaticEmbedder {
    table: &'static Table,
}

#[derive(Debug)]
struct Table {
    tokens: &'static WordPiece,
    /// `n x d`, one `i8` a byte.
    codes: &'static [u8],
    scales: Vec<f32>,
    dimension: usize,
    fingerprint: String,
}

impl StaticEmbedder {
    /// The embedder. Its tables are made ready once, at the first call, in a few milliseconds.
    ///
    /// # Panics
    ///
    /// Never with the tables it is compiled with.
    #[must_use]
    pub fn new() -> Self {
        static SHARED: LazyLock<Table> =
            LazyLock::new(|| Table::load().expect("the tables in assets/ are sound"));
        Self { table: &SHARED }
    }
}

impl Default for StaticEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    fn load() -> Result<Self> {
        let tokens = WordPiece::bert_uncased();
        let (header, codes) = Matrix::codes(CODES)?;
        let scales = Matrix::from_bytes(SCALES)?;
        if header.0 != tokens.len() || scales.rows() != tokens.len() || scales.columns() != 1 {
            return Err(Error::new(ErrorKind::Model, "the static table is not of the vocabulary"));
        }
        let mut hash = crc32fast::Hasher::new();
        for part in [VOCABULARY, CODES, SCALES] {
            hash.update(part);
        }
        let fingerprint = format!("evdb static minilm {} {:08x}", header.1, hash.finalize());
        Ok(Self { tokens, codes, scales: scales.as_slice().to_vec(), dimension: header.1, fingerprint })
    }

    fn add(&self, id: u32, out: &mut [f32]) {
        let id = id as usize;
        let codes = self.codes.chunks_exact(self.dimension).nth(id).unwrap_or_default();
        let scale = self.scales.get(id).copied().unwrap_or_default();
        for (out, code) in out.iter_mut().zip(codes) {
            *out += f32::from(i8::from_le_bytes([*code])) * scale;
        }
    }
}

impl Embedder for StaticEmbedder {
    fn dimensions(&self) -> usize {
        self.table.dimension
    }

    fn fingerprint(&self) -> &str {
        &self.table.fingerprint
    }

    fn embed(&self, texts: &[&str], out: &mut [f32]) -> Result<()> {
        let (table, dimension) = (self.table, self.table.dimension);
        if texts.len().checked_mul(dimension) != Some(out.len()) {
            return Err(Error::invalid(format!(
                "{} texts of dimension {dimension} into {} floats",
                texts.len(),
                out.len()
            )));
        }
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(dimension)) {
            row.fill(0.0);
            table.tokens.for_each(text, |id| {
                if id != table.tokens.unknown() {
                    table.add(id, row);
                }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embed(texts: &[&str]) -> Vec<Vec<f32>> {
        let embedder = StaticEmbedder::new();
        let mut out = vec![f32::NAN; texts.len() * embedder.dimensions()];
        embedder.embed(texts, &mut out).expect("shapes fit");
        out.chunks_exact(embedder.dimensions()).map(<[f32]>::to_vec).collect()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        f64::from(crate::kernels::dot(a, b)) / (crate::kernels::norm(a) * crate::kernels::norm(b))
    }

    #[test]
    fn like_texts_are_nearer_than_unlike_ones() {
        let rows = embed(&[
            "When does the contract end?",
            "The agreement terminates on the last day of June.",
            "Penguins breed on the ice in winter.",
        ]);

        assert!(cosine(&rows[0], &rows[1]) > cosine(&rows[0], &rows[2]) + 0.1);
    }

    /// Id 7592 is `hello`; its row is that of the table times its scale.
    #[test]
    fn a_word_is_its_row() {
        let table = StaticEmbedder::new().table;
        let rows = embed(&["Hello", "hello, hello", ","]);

        let codes = &table.codes[7592 * 128..][..128];
        let expected: Vec<f32> =
            codes.iter().map(|c| f32::from(i8::from_le_bytes([*c])) * table.scales[7592]).collect();

        assert_eq!(rows[0], expected);
        let sum: Vec<f32> =
            rows[0].iter().zip(&rows[2]).map(|(hello, comma)| hello + comma + hello).collect();
        assert_eq!(rows[1], sum);
    }

    #[test]
    fn a_text_without_known_words_is_zeros() {
        for row in embed(&["", " \n\t", "\u{1f980}", &"x".repeat(101)]) {
            assert_eq!(row, [0.0; 128]);
        }
    }

    #[test]
    fn the_fingerprint_names_the_table() {
        let embedder = StaticEmbedder::new();

        assert!(embedder.fingerprint().starts_with("evdb static minilm 128 "));
        assert!(embedder.embed(&["a"], &mut [0.0; 127]).is_err());
    }
}
