//! Weights out of a safetensors file: `f32`, `f16`, `bf16`, or `i8` with scales beside it.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::load::{Settings, unfit};
use crate::error::Result;
use crate::kernels::ByteLinear;

/// Most layers of a model; models of this kind have 3 to 24.
const MOST_LAYERS: usize = 64;

/// A model made ready.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) words: Bytes,
    /// Embedding of each place, that of the only segment added: `max_tokens x hidden`.
    pub(super) places: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
    pub(super) heads: usize,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub(super) qkv: ByteLinear,
    pub(super) attended: ByteLinear,
    pub(super) attended_norm: Norm,
    pub(super) up: ByteLinear,
    pub(super) down: ByteLinear,
    pub(super) norm: Norm,
}

/// Gain and bias of a layer normalisation.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) gain: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// A matrix in 8 bits, one scale a row.
#[derive(Debug)]
pub(super) struct Bytes {
    columns: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Bytes {
    /// Adds row `index` to `out` as floats; zeros beyond the last.
    pub(super) fn append(&self, index: usize, out: &mut Vec<f32>) {
        let scale = self.scales.get(index).copied().unwrap_or_default();
        match self.codes.chunks_exact(self.columns).nth(index) {
            Some(row) => out.extend(row.iter().map(|code| f32::from(*code) * scale)),
            None => out.resize(out.len() + self.columns, 0.0),
        }
    }

    fn extend(&mut self, other: Self) {
        self.codes.extend(other.codes);
        self.scales.extend(other.scales);
    }
}

impl Model {
    pub(super) fn dimensions(&self) -> usize {
        self.words.columns
    }

    pub(super) fn max_tokens(&self) -> usize {
        self.places.len() / self.dimensions()
    }

    /// Rows of the embeddings of tokens.
    pub(super) fn pieces(&self) -> usize {
        self.words.scales.len()
    }

    /// The model in `bytes`, a safetensors file with the names of Hugging Face's `BertModel`.
    pub(super) fn read(bytes: &[u8], settings: &Settings) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| unfit(format!("not a safetensors file: {error}")).with_source(error))?;
        let names = file.names();
        let prefix = if names.iter().any(|name| name.starts_with("bert.")) { "bert." } else { "" };
        let file = Tensors { file: &file, prefix };
        let words = file.bytes("embeddings.word_embeddings.weight", None)?;
        let hidden = words.columns;
        let heads = settings.heads;
        if heads == 0 || !hidden.is_multiple_of(heads) || !(hidden / heads).is_multiple_of(16) {
            return Err(unfit(format!("{heads} heads do not share {hidden} dimensions in multiples of 16")));
        }
        let mut places = file.matrix("embeddings.position_embeddings.weight", hidden)?;
        let segment = file.matrix("embeddings.token_type_embeddings.weight", hidden)?;
        places.truncate(settings.max_tokens * hidden);
        if places.len() < 3 * hidden {
            return Err(unfit("fewer than three places".to_owned()));
        }
        for row in places.chunks_exact_mut(hidden) {
            for (x, segment) in row.iter_mut().zip(&segment) {
                *x += segment;
            }
        }
        let layers = (0..MOST_LAYERS)
            .take_while(|layer| file.has(&format!("encoder.layer.{layer}.output.dense.weight")))
            .map(|layer| file.layer(&format!("encoder.layer.{layer}."), hidden))
            .collect::<Result<Vec<_>>>()?;
        if layers.is_empty() || settings.layers.is_some_and(|count| count != layers.len()) {
            let (expected, found) = (settings.layers.unwrap_or(1), layers.len());
            return Err(unfit(format!("{found} layers, not {expected}")));
        }
        let norm = file.norm("embeddings.LayerNorm", hidden)?;
        Ok(Self { words, places, norm, layers, heads })
    }
}

struct Tensors<'a> {
    file: &'a SafeTensors<'a>,
    prefix: &'static str,
}

impl Tensors<'_> {
    fn has(&self, name: &str) -> bool {
        self.file.tensor(&format!("{}{name}", self.prefix)).is_ok()
    }

    fn tensor(&self, name: &str) -> Result<TensorView<'_>> {
        let name = format!("{}{name}", self.prefix);
        self.file.tensor(&name).map_err(|error| unfit(format!("no tensor {name}")).with_source(error))
    }

    fn layer(&self, at: &str, hidden: usize) -> Result<Layer> {
        let mut qkv = self.bytes(&format!("{at}attention.self.query.weight"), Some(hidden))?;
        let mut bias = self.vector(&format!("{at}attention.self.query.bias"), hidden)?;
        for part in ["key", "value"] {
            qkv.extend(self.bytes(&format!("{at}attention.self.{part}.weight"), Some(hidden))?);
            bias.extend(self.vector(&format!("{at}attention.self.{part}.bias"), hidden)?);
        }
        let up = self.linear(&format!("{at}intermediate.dense"), hidden)?;
        let layer = Layer {
            qkv: linear(qkv, bias, at)?,
            attended: self.linear(&format!("{at}attention.output.dense"), hidden)?,
            attended_norm: self.norm(&format!("{at}attention.output.LayerNorm"), hidden)?,
            down: self.linear(&format!("{at}output.dense"), up.outputs())?,
            up,
            norm: self.norm(&format!("{at}output.LayerNorm"), hidden)?,
        };
        let shapes = (layer.qkv.outputs(), layer.attended.outputs(), layer.down.outputs());
        if shapes == (3 * hidden, hidden, hidden) {
            return Ok(layer);
        }
        Err(unfit(format!("{at}: outputs {shapes:?} for {hidden} dimensions")))
    }

    fn linear(&self, name: &str, inputs: usize) -> Result<ByteLinear> {
        let weights = self.bytes(&format!("{name}.weight"), Some(inputs))?;
        let bias = self.vector(&format!("{name}.bias"), weights.scales.len())?;
        linear(weights, bias, name)
    }

    fn norm(&self, name: &str, hidden: usize) -> Result<Norm> {
        let gain = self.vector(&format!("{name}.weight"), hidden)?;
        Ok(Norm { gain, bias: self.vector(&format!("{name}.bias"), hidden)? })
    }

    /// The vector `name` of `length` finite floats.
    fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        let floats = floats(&self.tensor(name)?, name)?;
        if floats.len() == length {
            return Ok(floats);
        }
        Err(unfit(format!("{name} has {} elements, not {length}", floats.len())))
    }

    /// The matrix `name` of `columns` columns, as floats.
    fn matrix(&self, name: &str, columns: usize) -> Result<Vec<f32>> {
        let tensor = self.tensor(name)?;
        match *tensor.shape() {
            [rows, own] if rows > 0 && own == columns => floats(&tensor, name),
            ref shape => Err(unfit(format!("{name} is of shape {shape:?}, not of {columns} columns"))),
        }
    }

    /// The matrix `name` in 8 bits: as it is, or rounded here.
    fn bytes(&self, name: &str, columns: Option<usize>) -> Result<Bytes> {
        let tensor = self.tensor(name)?;
        let (rows, own) = match *tensor.shape() {
            [rows, own] if rows > 0 && own > 0 && columns.is_none_or(|columns| columns == own) => (rows, own),
            ref shape => return Err(unfit(format!("{name} is of shape {shape:?}, not {columns:?} columns"))),
        };
        if tensor.dtype() == Dtype::I8 {
            let codes = tensor.data().iter().map(|byte| byte.cast_signed()).collect();
            return Ok(Bytes { columns: own, codes, scales: self.vector(&format!("{name}.scale"), rows)? });
        }
        let mut bytes = Bytes { columns: own, codes: Vec::with_capacity(rows * own), scales: Vec::new() };
        for row in floats(&tensor, name)?.chunks_exact(own) {
            let most = row.iter().fold(1e-12_f32, |most, x| most.max(x.abs()));
            let scale = most / 127.0;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "-127 to 127 after division by the greatest"
            )]
            bytes.codes.extend(row.iter().map(|x| (x / scale).round_ties_even() as i8));
            bytes.scales.push(scale);
        }
        Ok(bytes)
    }
}

fn linear(weights: Bytes, bias: Vec<f32>, name: &str) -> Result<ByteLinear> {
    let inputs = weights.columns;
    if !inputs.is_multiple_of(4) || inputs > 1 << 15 {
        return Err(unfit(format!("{name} has {inputs} inputs, no multiple of 4 up to 32,768")));
    }
    Ok(ByteLinear::new(&weights.codes, weights.scales, bias))
}

/// The elements of `tensor`, all finite.
fn floats(tensor: &TensorView<'_>, name: &str) -> Result<Vec<f32>> {
    let data = tensor.data();
    let floats: Vec<f32> = match tensor.dtype() {
        Dtype::F32 => data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        Dtype::BF16 => {
            let halves = data.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            halves.map(|bits| f32::from_bits(u32::from(bits) << 16)).collect()
        }
        Dtype::F16 => data.as_chunks().0.iter().map(|bytes| half(u16::from_le_bytes(*bytes))).collect(),
        other => return Err(unfit(format!("{name} is of type {other:?}; known are F32, F16, BF16, I8"))),
    };
    if floats.iter().all(|x| x.is_finite()) {
        return Ok(floats);
    }
    Err(unfit(format!("{name} has elements that are not finite")))
}

/// The value of a half-precision float, IEEE 754 binary16.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 => f32::INFINITY,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    }
}
