//! The forward pass.

use super::weights::{Layer, Model, Norm};
use crate::kernels::{self, AttentionScratch, ByteLinear, ByteRows, Heads};

/// Memory that batches use again.
#[derive(Default)]
pub(super) struct Scratch {
    states: Vec<f32>,
    qkv: Vec<f32>,
    context: Vec<f32>,
    wide: Vec<f32>,
    added: Vec<f32>,
    codes: ByteRows,
    attention: AttentionScratch,
}

impl Model {
    /// Vectors of texts, of unit length.
    ///
    /// * `ids`: tokens of all texts, one text after the other; `lengths`: how many each has, at least 1.
    /// * `out`: a row for each text, written whole.
    pub(super) fn embed(&self, ids: &[u32], lengths: &[usize], scratch: &mut Scratch, out: &mut [f32]) {
        let hidden = self.dimensions();
        self.look_up(ids, lengths, &mut scratch.states);
        for layer in &self.layers {
            self.layer(layer, lengths, scratch);
        }
        let mut states = scratch.states.as_slice();
        for (length, row) in lengths.iter().zip(out.chunks_exact_mut(hidden)) {
            let (own, rest) = states.split_at(length * hidden);
            states = rest;
            row.fill(0.0);
            for state in own.chunks_exact(hidden) {
                add(row, state);
            }
            // The mean has the same direction as the sum.
            let scale = 1.0 / kernels::dot(row, row).sqrt();
            for x in row {
                *x *= scale;
            }
        }
    }

    /// Embeddings of tokens and places, normalised.
    fn look_up(&self, ids: &[u32], lengths: &[usize], states: &mut Vec<f32>) {
        let hidden = self.dimensions();
        states.clear();
        let mut ids = ids.iter();
        for length in lengths {
            for (place, id) in ids.by_ref().take(*length).enumerate() {
                let start = states.len();
                self.words.append(*id as usize, states);
                add(&mut states[start..], &self.places[place * hidden..][..hidden]);
            }
        }
        normalize(states, &self.norm);
    }

    fn layer(&self, layer: &Layer, lengths: &[usize], scratch: &mut Scratch) {
        let hidden = self.dimensions();
        let heads = Heads { heads: self.heads, width: hidden / self.heads };
        apply(&layer.qkv, &scratch.states, &mut scratch.codes, &mut scratch.qkv);
        scratch.context.resize(scratch.states.len(), 0.0);
        let mut from = 0;
        for length in lengths {
            let (start, end) = (from * hidden, (from + length) * hidden);
            let (qkv, out) = (&scratch.qkv[3 * start..3 * end], &mut scratch.context[start..end]);
            kernels::attention(heads, qkv, &mut scratch.attention, out);
            from += length;
        }
        apply(&layer.attended, &scratch.context, &mut scratch.codes, &mut scratch.added);
        add(&mut scratch.states, &scratch.added);
        normalize(&mut scratch.states, &layer.attended_norm);
        apply(&layer.up, &scratch.states, &mut scratch.codes, &mut scratch.wide);
        kernels::gelu(&mut scratch.wide);
        apply(&layer.down, &scratch.wide, &mut scratch.codes, &mut scratch.added);
        add(&mut scratch.states, &scratch.added);
        normalize(&mut scratch.states, &layer.norm);
    }
}

fn apply(linear: &ByteLinear, x: &[f32], codes: &mut ByteRows, out: &mut Vec<f32>) {
    codes.quantize(x, linear.inputs());
    out.resize(codes.rows() * linear.outputs(), 0.0);
    linear.apply(codes, out);
}

fn normalize(rows: &mut [f32], norm: &Norm) {
    kernels::layer_norm(rows, &norm.gain, &norm.bias);
}

fn add(to: &mut [f32], x: &[f32]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += x;
    }
}
