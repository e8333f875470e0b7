//! The floating-point parts of a transformer's layer: attention, normalisation, GELU, codes of 8 bits.
//!
//! Sums run over 16 lanes in a fixed order and nothing is fused, so that every level gives the same bits.
#![allow(unsafe_code, reason = "a target_feature function is called after its feature was detected")]
#![allow(clippy::inline_always, reason = "bodies are compiled for the registers of their callers")]
#![allow(clippy::excessive_precision, reason = "coefficients as their sources print them")]

use super::dispatch::{Level, kernel, level};

/// Lanes of a sum.
const WIDE: usize = 16;
/// Rows whose attention is computed side by side.
const ROWS: usize = 4;
/// Adding and taking off `1.5 * 2^23` rounds a small float to the nearest integer, ties to even.
const ROUND: f32 = 12_582_912.0;

/// Shape of the attention of one text: `heads` heads of `width` floats each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// How many heads.
    pub heads: usize,
    /// Floats of a head; a multiple of 16.
    pub width: usize,
}

/// Memory that [`attention`] uses again.
#[derive(Debug, Default, Clone)]
pub struct AttentionScratch {
    keys: Vec<f32>,
    weights: Vec<f32>,
}

kernel!(norm_at, norm_avx2, norm_avx512, (rows: &mut [f32], gain: &[f32], bias: &[f32]), norm_rows(rows, gain, bias));
kernel!(gelu_at, gelu_avx2, gelu_avx512, (x: &mut [f32]), gelu_all(x));
kernel!(
    attention_at,
    attention_avx2,
    attention_avx512,
    (heads: Heads, qkv: &[f32], scratch: &mut AttentionScratch, out: &mut [f32]),
    attend(heads, qkv, scratch, out)
);
kernel!(codes_at, codes_avx2, codes_avx512, (row: &[f32], codes: &mut [u8]) -> (f32, i32), codes_of(row, codes));

/// Layer normalisation of each row: mean 0, variance 1 (plus `1e-12`), times `gain`, plus `bias`.
///
/// # Panics
///
/// If `rows` are not rows of as many floats as `gain` and `bias` have.
pub fn layer_norm(rows: &mut [f32], gain: &[f32], bias: &[f32]) {
    assert!(!gain.is_empty() && gain.len() == bias.len() && rows.len().is_multiple_of(gain.len()));
    norm_at(level(), rows, gain, bias);
}

/// GELU of each element, `x / 2 (1 + erf(x / sqrt 2))`, to about `1e-6`.
///
/// # Source
///
/// Hendrycks, Gimpel: Gaussian Error Linear Units, arXiv 1606.08415; erf by Abramowitz, Stegun: Handbook of
/// Mathematical Functions, 7.1.26.
pub fn gelu(x: &mut [f32]) {
    gelu_at(level(), x);
}

/// Attention of all tokens of one text to all: `softmax(Q K' / sqrt width) V`, head by head.
///
/// * `qkv`: `n x 3 h` floats, `h = heads * width`; in a row queries, keys, values.
/// * `out`: `n x h` floats, written whole.
///
/// # Panics
///
/// If the shapes do not fit or a head's width is no positive multiple of 16.
///
/// # Source
///
/// Vaswani et al.: Attention Is All You Need, NeurIPS 2017, equation 1.
pub fn attention(heads: Heads, qkv: &[f32], scratch: &mut AttentionScratch, out: &mut [f32]) {
    let hidden = heads.heads * heads.width;
    assert!(hidden > 0 && heads.width.is_multiple_of(WIDE), "heads are multiples of {WIDE} wide");
    assert!(qkv.len() == 3 * out.len() && out.len().is_multiple_of(hidden), "three rows in, one out");
    attention_at(level(), heads, qkv, scratch, out);
}

/// Codes of a row: `x = (code - zero) * scale`, with 0 among the codes. Returns scale and zero.
pub(super) fn quantize_row(row: &[f32], codes: &mut [u8]) -> (f32, i32) {
    codes_at(level(), row, codes)
}

#[inline(always)]
fn lanes(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; WIDE];
    let (chunks, rest) = row.as_chunks::<WIDE>();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += term(*x);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += term(*x);
    }
    let mut width = WIDE;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "a row has far less than 2^24 elements")]
fn norm_rows(rows: &mut [f32], gain: &[f32], bias: &[f32]) {
    let count = gain.len() as f32;
    for row in rows.chunks_exact_mut(gain.len()) {
        let mean = lanes(row, |x| x) / count;
        let variance = lanes(row, |x| (x - mean) * (x - mean)) / count;
        let scale = 1.0 / (variance + 1e-12).sqrt();
        for ((x, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *x = (*x - mean) * scale * gain + bias;
        }
    }
}

/// `e^x`, relative error below `1e-6`; 0 far below, at most `e^88`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts (Cody, Waite), so that the difference is exact.
    let f = x - whole * 0.693_359_375 + whole * 2.121_944_4e-4;
    let series = 1.0
        + f * (1.0
            + f * (0.5 + f * (0.166_666_67 + f * (0.041_666_67 + f * (0.008_333_33 + f * 0.001_388_9)))));
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    f32::from_bits(power) * series
}

#[inline(always)]
fn gelu_all(x: &mut [f32]) {
    for x in x {
        let z = *x * std::f32::consts::FRAC_1_SQRT_2;
        let a = z.abs();
        let t = 1.0 / (1.0 + 0.327_591_1 * a);
        let series = ((((1.061_405_429 * t - 1.453_152_027) * t) + 1.421_413_741) * t - 0.284_496_736) * t
            + 0.254_829_592;
        let erf = (1.0 - series * t * exp(-a * a)).copysign(z);
        *x = 0.5 * *x * (1.0 + erf);
    }
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "a code's count of 255 and a head's width are small")]
fn attend(heads: Heads, qkv: &[f32], scratch: &mut AttentionScratch, out: &mut [f32]) {
    let (width, hidden) = (heads.width, heads.heads * heads.width);
    let tokens = out.len() / hidden;
    let padded = tokens.next_multiple_of(WIDE);
    let scale = 1.0 / (width as f32).sqrt();
    scratch.keys.clear();
    scratch.keys.resize(width * padded, 0.0);
    scratch.weights.resize(ROWS * padded, 0.0);
    for head in 0..heads.heads {
        for token in 0..tokens {
            let key = &qkv[token * 3 * hidden + hidden + head * width..][..width];
            for (d, x) in key.iter().enumerate() {
                scratch.keys[d * padded + token] = *x;
            }
        }
        for first in (0..tokens).step_by(ROWS) {
            let rows = ROWS.min(tokens - first);
            // Beyond the last token a row is computed twice, and stored once.
            let at: [usize; ROWS] = std::array::from_fn(|r| first + r.min(rows - 1));
            let queries: [&[f32]; ROWS] =
                std::array::from_fn(|r| &qkv[at[r] * 3 * hidden + head * width..][..width]);
            scores(&queries, &scratch.keys, padded, scale, &mut scratch.weights);
            for weights in scratch.weights.chunks_exact_mut(padded) {
                softmax(&mut weights[..tokens]);
            }
            let [w0, w1, w2, w3] = quarters(&scratch.weights, padded);
            for part in (0..width).step_by(WIDE) {
                // Four arrays, not an array of four: each stays in a register.
                let (mut s0, mut s1, mut s2, mut s3) = ([0.0; WIDE], [0.0; WIDE], [0.0; WIDE], [0.0; WIDE]);
                let values = &qkv[2 * hidden + head * width + part..];
                for (token, value) in values.chunks(3 * hidden).enumerate() {
                    let Some(value) = value.first_chunk::<WIDE>() else { break };
                    add_scaled(&mut s0, w0[token], value);
                    add_scaled(&mut s1, w1[token], value);
                    add_scaled(&mut s2, w2[token], value);
                    add_scaled(&mut s3, w3[token], value);
                }
                for (r, sums) in [s0, s1, s2, s3].iter().enumerate().take(rows) {
                    out[(first + r) * hidden + head * width + part..][..WIDE].copy_from_slice(sums);
                }
            }
        }
    }
}

#[inline(always)]
fn quarters(rows: &[f32], width: usize) -> [&[f32]; ROWS] {
    std::array::from_fn(|r| &rows[r * width..][..width])
}

#[inline(always)]
fn add_scaled(sums: &mut [f32; WIDE], x: f32, row: &[f32; WIDE]) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += x * value;
    }
}

/// Products of the queries with all keys, times `scale`: `ROWS x padded`.
#[inline(always)]
fn scores(queries: &[&[f32]; ROWS], keys: &[f32], padded: usize, scale: f32, out: &mut [f32]) {
    let [q0, q1, q2, q3] = *queries;
    let products = q0.iter().zip(q1).zip(q2).zip(q3);
    for block in (0..padded).step_by(WIDE) {
        let (mut s0, mut s1, mut s2, mut s3) = ([0.0; WIDE], [0.0; WIDE], [0.0; WIDE], [0.0; WIDE]);
        for (keys, (((x0, x1), x2), x3)) in keys.chunks_exact(padded).zip(products.clone()) {
            let Some(keys) = keys[block..].first_chunk::<WIDE>() else { break };
            add_scaled(&mut s0, *x0, keys);
            add_scaled(&mut s1, *x1, keys);
            add_scaled(&mut s2, *x2, keys);
            add_scaled(&mut s3, *x3, keys);
        }
        for (r, sums) in [s0, s1, s2, s3].iter().enumerate() {
            for (out, sum) in out[r * padded + block..][..WIDE].iter_mut().zip(sums) {
                *out = sum * scale;
            }
        }
    }
}

#[inline(always)]
fn softmax(row: &mut [f32]) {
    let most = row.iter().fold(f32::NEG_INFINITY, |most, x| if *x > most { *x } else { most });
    for x in row.iter_mut() {
        *x = exp(*x - most);
    }
    let inverse = 1.0 / lanes(row, |x| x);
    for x in row.iter_mut() {
        *x *= inverse;
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low byte of a rounded number from 0 to 255")]
fn codes_of(row: &[f32], codes: &mut [u8]) -> (f32, i32) {
    let (mut low, mut high) = ([0.0_f32; WIDE], [0.0_f32; WIDE]);
    let (chunks, rest) = row.as_chunks::<WIDE>();
    for chunk in chunks {
        for ((low, high), x) in low.iter_mut().zip(&mut high).zip(chunk) {
            *low = if *x < *low { *x } else { *low };
            *high = if *x > *high { *x } else { *high };
        }
    }
    for ((low, high), x) in low.iter_mut().zip(&mut high).zip(rest) {
        *low = if *x < *low { *x } else { *low };
        *high = if *x > *high { *x } else { *high };
    }
    let low = low.into_iter().fold(0.0_f32, |all, x| if x < all { x } else { all });
    let high = high.into_iter().fold(0.0_f32, |all, x| if x > all { x } else { all });
    let scale = (high - low) / 255.0;
    if !(scale > 0.0 && scale.is_finite()) {
        codes.fill(0);
        return (0.0, 0);
    }
    let inverse = 1.0 / scale;
    let zero = (ROUND - low * inverse) - ROUND;
    let shift = ROUND + zero;
    for (code, x) in codes.iter_mut().zip(row) {
        let rounded = (*x * inverse + shift).clamp(ROUND, ROUND + 255.0);
        *code = rounded.to_bits() as u8;
    }
    (scale, i32::from((ROUND + zero).to_bits() as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_gelu_are_close_to_their_definitions() {
        for step in -2_000_i16..2_000 {
            let x = f32::from(step) / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) - expected).abs() <= 2e-6 * expected, "exp {x}");
            let mut y = [x];
            gelu(&mut y);
            let gelu = 0.5 * f64::from(x) * (1.0 + libm::erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2));
            assert!((f64::from(y[0]) - gelu).abs() <= 2e-6 * (1.0 + gelu.abs()), "gelu {x}: {} {gelu}", y[0]);
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    /// Mean 3, variance 2: the outer elements are 2 / sqrt 2 from the mean.
    #[test]
    fn layer_norm_by_hand() {
        let mut rows = [1.0, 2.0, 3.0, 4.0, 5.0];

        layer_norm(&mut rows, &[1.0; 5], &[10.0; 5]);

        for (x, expected) in rows.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]) {
            assert!((x - 10.0 - expected / 2.0_f32.sqrt()).abs() < 1e-5);
        }
    }

    /// One token sees only itself: its value comes out. Two tokens with equal keys give the mean of values.
    #[test]
    fn attention_by_hand() {
        let heads = Heads { heads: 2, width: 16 };
        let mut scratch = AttentionScratch::default();
        let value: Vec<f32> = (0..32_u8).map(f32::from).collect();
        let row = [vec![0.5; 64], value.clone()].concat();
        let mut out = vec![f32::NAN; 32];
        attention(heads, &row, &mut scratch, &mut out);
        assert_eq!(out, value);

        let other = [vec![0.5; 64], vec![0.0; 32]].concat();
        let mut out = vec![f32::NAN; 64];
        attention(heads, &[row, other].concat(), &mut scratch, &mut out);
        let half: Vec<f32> = value.iter().map(|x| x / 2.0).collect();
        assert_eq!(out, [half.clone(), half].concat());
    }

    #[test]
    fn codes_keep_zero_and_stay_within_a_step() {
        let row: Vec<f32> = (0..37_u8).map(|i| f32::from(i) * 0.1 - 1.0).collect();
        let mut codes = vec![0; 37];

        let (scale, zero) = quantize_row(&row, &mut codes);

        for (x, code) in row.iter().zip(&codes) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let back = (i32::from(*code) - zero) as f32 * scale;
            assert!((x - back).abs() <= scale, "{x} {back}");
        }
        assert_eq!(quantize_row(&[0.0; 20], &mut codes[..20]), (0.0, 0));
    }
}
