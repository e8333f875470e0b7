//! Linear layers over 8-bit numbers: products are summed in 32-bit integers, which is exact in any order, so
//! that every level gives the same bits.
#![allow(unsafe_code, reason = "target_feature functions are called after detection and read checked ranges")]

#[cfg(target_arch = "x86_64")]
use super::dispatch::{Level, level};

/// Outputs side by side in one register of 512 bits.
const TILE: usize = 16;
/// Inputs that one 32-bit lane takes at once.
const QUAD: usize = 4;
/// Bytes of a tile's weights for four inputs.
const STEP: usize = TILE * QUAD;

/// Rows of floats, each with 8-bit codes of its own scale: `x = (code - zero) * scale`.
#[derive(Debug, Default, Clone)]
pub struct ByteRows {
    columns: usize,
    codes: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<i32>,
}

impl ByteRows {
    /// Codes for `floats`, rows of `columns` finite floats, in place of what was there.
    ///
    /// The error of an element is at most its row's scale: the range of the row, 0 included, over 255.
    ///
    /// # Panics
    ///
    /// If `columns` is 0 or `floats` are not whole rows.
    pub fn quantize(&mut self, floats: &[f32], columns: usize) {
        assert!(columns > 0 && floats.len().is_multiple_of(columns), "floats are rows of {columns}");
        self.columns = columns;
        self.codes.resize(floats.len(), 0);
        self.scales.clear();
        self.zeros.clear();
        for (row, codes) in floats.chunks_exact(columns).zip(self.codes.chunks_exact_mut(columns)) {
            let (scale, zero) = super::transformer::quantize_row(row, codes);
            self.scales.push(scale);
            self.zeros.push(zero);
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.scales.len()
    }
}

/// A linear layer `y = x W' + b`, its weights in 8 bits with one scale an output.
#[derive(Debug, Clone)]
pub struct ByteLinear {
    outputs: usize,
    inputs: usize,
    /// Tile by tile of 16 outputs; in each, four inputs at a time, 16 x 4 bytes.
    tiles: Vec<i8>,
    /// Sum of an output's weights; it undoes the zero of the inputs' codes.
    sums: Vec<i32>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

impl ByteLinear {
    /// The layer of `weights`, `outputs x inputs` row by row, with one scale and one bias an output.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit, `inputs` is no positive multiple of 4, or is over 32,768 (sums would
    /// overflow).
    #[must_use]
    pub fn new(weights: &[i8], scales: Vec<f32>, bias: Vec<f32>) -> Self {
        let outputs = scales.len();
        assert!(outputs > 0 && weights.len().is_multiple_of(outputs), "weights are rows of one length");
        let inputs = weights.len() / outputs;
        assert!(inputs > 0 && inputs.is_multiple_of(QUAD) && inputs <= 1 << 15, "{inputs} inputs");
        assert_eq!(bias.len(), outputs, "one bias an output");
        let mut tiles = vec![0_i8; outputs.next_multiple_of(TILE) * inputs];
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            let tile = &mut tiles[output / TILE * TILE * inputs..][..TILE * inputs];
            for (quad, values) in row.chunks_exact(QUAD).enumerate() {
                tile[quad * STEP + output % TILE * QUAD..][..QUAD].copy_from_slice(values);
            }
        }
        let sums = weights.chunks_exact(inputs).map(|row| row.iter().map(|w| i32::from(*w)).sum()).collect();
        Self { outputs, inputs, tiles, sums, scales, bias }
    }

    /// Length of a row of what the layer takes.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Length of a row of the result.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The layer of each row of `x`.
    ///
    /// * `out`: `rows x outputs`, written whole.
    ///
    /// # Panics
    ///
    /// If `x` has not as many columns as the layer has inputs, or `out` is of another size.
    pub fn apply(&self, x: &ByteRows, out: &mut [f32]) {
        assert_eq!(x.columns, self.inputs, "columns are inputs");
        assert_eq!(out.len(), x.rows() * self.outputs, "a row of outputs for each row");
        #[cfg(target_arch = "x86_64")]
        match level() {
            Level::Avx512 if std::arch::is_x86_feature_detected!("avx512vnni") => {
                // SAFETY: AVX-512F belongs to the level, AVX512-VNNI was detected; shapes were checked.
                return unsafe { vnni::apply(self, x, out) };
            }
            Level::Avx2 | Level::Avx512 => {
                // SAFETY: both levels are chosen only where AVX2 was detected; shapes were checked.
                return unsafe { avx2::apply(self, x, out) };
            }
            Level::Scalar => {}
        }
        self.apply_scalar(x, out);
    }

    /// The definition.
    fn apply_scalar(&self, x: &ByteRows, out: &mut [f32]) {
        for (row, out) in out.chunks_exact_mut(self.outputs).enumerate() {
            let codes = &x.codes[row * self.inputs..][..self.inputs];
            for (tile, out) in out.chunks_mut(TILE).enumerate() {
                let mut sums = [0_i32; TILE];
                let weights = &self.tiles[tile * TILE * self.inputs..][..TILE * self.inputs];
                for (codes, weights) in codes.chunks_exact(QUAD).zip(weights.chunks_exact(STEP)) {
                    for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(QUAD)) {
                        for (code, weight) in codes.iter().zip(weights) {
                            *sum += i32::from(*code) * i32::from(*weight);
                        }
                    }
                }
                self.finish(tile * TILE, &sums, x.scales[row], x.zeros[row], out);
            }
        }
    }

    /// From sums of codes to floats, for the outputs from `first` on.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is compiled for the registers of its caller")]
    #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest float, the same everywhere")]
    fn finish(&self, first: usize, sums: &[i32; TILE], scale: f32, zero: i32, out: &mut [f32]) {
        let count = out.len();
        let own = self.sums[first..][..count].iter().zip(&self.scales[first..][..count]);
        for (((out, sum), (own, own_scale)), bias) in
            out.iter_mut().zip(sums).zip(own).zip(&self.bias[first..][..count])
        {
            *out = (sum - zero * own) as f32 * (scale * own_scale) + bias;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::{
        __m512i, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_si512,
        _mm512_storeu_si512,
    };

    use super::{ByteLinear, ByteRows, QUAD, STEP, TILE};

    /// Tiles and rows whose sums are in registers at once: 24 of 32.
    const TILES: usize = 3;
    const ROWS: usize = 8;

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn apply(layer: &ByteLinear, x: &ByteRows, out: &mut [f32]) {
        let tiles = layer.outputs.div_ceil(TILE);
        let mut tile = 0;
        while tile < tiles {
            let wide = tiles - tile >= TILES;
            let mut row = 0;
            while row < x.rows() {
                let tall = x.rows() - row >= ROWS;
                match (wide, tall) {
                    (true, true) => block::<TILES, ROWS>(layer, x, out, tile, row),
                    (true, false) => block::<TILES, 1>(layer, x, out, tile, row),
                    (false, true) => block::<1, ROWS>(layer, x, out, tile, row),
                    (false, false) => block::<1, 1>(layer, x, out, tile, row),
                }
                row += if tall { ROWS } else { 1 };
            }
            tile += if wide { TILES } else { 1 };
        }
    }

    /// `R` rows from `row` on of `T` tiles from `tile` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn block<const T: usize, const R: usize>(
        layer: &ByteLinear,
        x: &ByteRows,
        out: &mut [f32],
        tile: usize,
        row: usize,
    ) {
        let inputs = layer.inputs;
        let weights: [&[i8]; T] =
            std::array::from_fn(|t| &layer.tiles[(tile + t) * TILE * inputs..][..TILE * inputs]);
        let codes: [&[u8]; R] = std::array::from_fn(|r| &x.codes[(row + r) * inputs..][..inputs]);
        let mut sums: [[__m512i; R]; T] = [[_mm512_setzero_si512(); R]; T];
        for quad in 0..inputs / QUAD {
            let mut loaded = [_mm512_setzero_si512(); T];
            for t in 0..T {
                // SAFETY: the slice has `TILE * inputs` bytes, and `quad < inputs / QUAD`.
                loaded[t] = unsafe { _mm512_loadu_si512(weights[t].as_ptr().add(quad * STEP).cast()) };
            }
            for r in 0..R {
                // SAFETY: the slice has `inputs` bytes, four for each quad.
                let four = unsafe { codes[r].as_ptr().add(quad * QUAD).cast::<i32>().read_unaligned() };
                let four = _mm512_set1_epi32(four);
                for t in 0..T {
                    sums[t][r] = _mm512_dpbusd_epi32(sums[t][r], four, loaded[t]);
                }
            }
        }
        for (t, sums) in sums.iter().enumerate() {
            let first = (tile + t) * TILE;
            let count = TILE.min(layer.outputs - first);
            for (r, sums) in sums.iter().enumerate() {
                let mut stored = [0_i32; TILE];
                // SAFETY: 16 numbers of 32 bits are 512 bits.
                unsafe { _mm512_storeu_si512(stored.as_mut_ptr().cast(), *sums) };
                let out = &mut out[(row + r) * layer.outputs + first..][..count];
                layer.finish(first, &stored, x.scales[row + r], x.zeros[row + r], out);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_madd_epi16,
        _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256,
    };

    use super::{ByteLinear, ByteRows, QUAD, STEP, TILE};

    /// Registers of pairs of sums for a tile.
    const PARTS: usize = 4;
    /// Rows whose sums are in registers at once.
    const ROWS: usize = 2;

    #[target_feature(enable = "avx2")]
    pub(super) fn apply(layer: &ByteLinear, x: &ByteRows, out: &mut [f32]) {
        for tile in 0..layer.outputs.div_ceil(TILE) {
            let mut row = 0;
            while row < x.rows() {
                if x.rows() - row >= ROWS {
                    block::<ROWS>(layer, x, out, tile, row);
                    row += ROWS;
                } else {
                    block::<1>(layer, x, out, tile, row);
                    row += 1;
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn block<const R: usize>(layer: &ByteLinear, x: &ByteRows, out: &mut [f32], tile: usize, row: usize) {
        let inputs = layer.inputs;
        let weights = &layer.tiles[tile * TILE * inputs..][..TILE * inputs];
        let mut sums: [[__m256i; PARTS]; R] = [[_mm256_setzero_si256(); PARTS]; R];
        for (quad, weights) in weights.chunks_exact(STEP).enumerate() {
            let mut wide = [_mm256_setzero_si256(); PARTS];
            for (wide, bytes) in wide.iter_mut().zip(weights.chunks_exact(STEP / PARTS)) {
                // SAFETY: the chunk has 16 bytes.
                let bytes: __m128i = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
                *wide = _mm256_cvtepi8_epi16(bytes);
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let codes = &x.codes[(row + r) * inputs + quad * QUAD..][..QUAD];
                let four = codes.iter().rev().fold(0_i64, |all, code| (all << 16) | i64::from(*code));
                let four = _mm256_set1_epi64x(four);
                for (sum, wide) in sums.iter_mut().zip(wide) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(wide, four));
                }
            }
        }
        let first = tile * TILE;
        let count = TILE.min(layer.outputs - first);
        for (r, sums) in sums.iter().enumerate() {
            let mut pairs = [0_i32; 2 * TILE];
            for (eight, sum) in pairs.chunks_exact_mut(8).zip(sums) {
                // SAFETY: 8 numbers of 32 bits are 256 bits.
                unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), *sum) };
            }
            let stored = std::array::from_fn(|output| pairs[2 * output] + pairs[2 * output + 1]);
            let out = &mut out[(row + r) * layer.outputs + first..][..count];
            layer.finish(first, &stored, x.scales[row + r], x.zeros[row + r], out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layer_and_rows() -> impl Strategy<Value = (ByteLinear, ByteRows)> {
        let shapes = (1_usize..70, 1_usize..30, 0_usize..20);
        shapes.prop_flat_map(|(outputs, quads, rows)| {
            let inputs = quads * QUAD;
            let weights = prop::collection::vec(any::<i8>(), outputs * inputs);
            let floats = || prop::collection::vec(-2.0_f32..2.0, outputs);
            let x = prop::collection::vec(-9.0_f32..9.0, rows * inputs);
            (weights, floats(), floats(), x).prop_map(move |(weights, scales, bias, x)| {
                let mut codes = ByteRows::default();
                codes.quantize(&x, inputs);
                (ByteLinear::new(&weights, scales, bias), codes)
            })
        })
    }

    proptest! {
        #[test]
        fn every_level_gives_the_same_bits((layer, x) in layer_and_rows()) {
            let mut expected = vec![f32::NAN; x.rows() * layer.outputs()];
            layer.apply_scalar(&x, &mut expected);
            let bits = |floats: &[f32]| floats.iter().map(|x| x.to_bits()).collect::<Vec<_>>();

            let mut out = vec![f32::NAN; expected.len()];
            layer.apply(&x, &mut out);
            prop_assert_eq!(bits(&out), bits(&expected));

            #[cfg(target_arch = "x86_64")]
            if Level::Avx2.is_available() {
                let mut out = vec![f32::NAN; expected.len()];
                // SAFETY: AVX2 was detected.
                unsafe { avx2::apply(&layer, &x, &mut out) };
                prop_assert_eq!(bits(&out), bits(&expected));
            }
        }
    }

    /// Codes of (1, -1, 0, .5) have the step 2/255; weights 2 and 3 by scale .5, bias 10.
    #[test]
    fn a_layer_by_hand() {
        let layer = ByteLinear::new(&[2, 0, 0, 0, 0, 3, 0, 0], vec![0.5, 0.5], vec![10.0, 10.0]);
        let mut x = ByteRows::default();
        x.quantize(&[1.0, -1.0, 0.0, 0.5], 4);
        let mut out = [f32::NAN; 2];

        layer.apply(&x, &mut out);

        assert!((out[0] - 11.0).abs() < 0.01 && (out[1] - 8.5).abs() < 0.02, "{out:?}");
    }

    /// The greatest sums there can be: 32,768 products of 255 and -128 fit 32 bits.
    #[test]
    fn the_widest_layer_does_not_overflow() {
        let inputs = 1 << 15;
        let layer = ByteLinear::new(&vec![-128; inputs], vec![1.0], vec![0.0]);
        let mut x = ByteRows::default();
        x.quantize(&vec![1.0; inputs], inputs);
        let mut out = [0.0];

        layer.apply(&x, &mut out);

        assert!((out[0] + 128.0 * 32_768.0).abs() < 16.0, "{out:?}");
    }
}
