//! The definition of every kernel.
//!
//! Order of summation: [`LANES`] partial sums; lane `j` adds the terms of elements `j`, `j + LANES`,
//! `j + 2 * LANES`, ... in that order, each product rounded before it is added (no fused multiply-add); then
//! lane `j` adds lane `j + LANES / 2` for the lower half, and so on by halves until one lane is left. A
//! vector register holds neighbouring lanes, so wide code does the same additions in the same order.

/// Partial sums of a dot product.
pub const LANES: usize = 32;

/// What a row may be made of: a float, or its four bytes in a file.
pub(super) trait Element: Copy {
    /// The value.
    fn value(self) -> f32;
}

impl Element for f32 {
    #[inline]
    fn value(self) -> f32 {
        self
    }
}

impl Element for [u8; 4] {
    #[inline]
    fn value(self) -> f32 {
        f32::from_le_bytes(self)
    }
}

/// The sum of `term(a[i], b[i])` in the fixed order, over the shorter of both.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
fn sum<E: Element>(a: &[f32], b: &[E], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a_whole, a_tail) = a.as_chunks::<LANES>();
    let (b_whole, b_tail) = b.as_chunks::<LANES>();
    for (x, y) in a_whole.iter().zip(b_whole) {
        for j in 0..LANES {
            lanes[j] += term(x[j], y[j].value());
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_tail.iter().zip(b_tail)) {
        *lane += term(*x, y.value());
    }
    let mut width = LANES / 2;
    while width > 0 {
        for j in 0..width {
            lanes[j] += lanes[j + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
pub(super) fn dot<E: Element>(a: &[f32], b: &[E]) -> f32 {
    sum(a, b, |x, y| x * y)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
pub(super) fn l2_squared<E: Element>(a: &[f32], b: &[E]) -> f32 {
    sum(a, b, |x, y| (x - y) * (x - y))
}

/// Places of a block read at once; memory answers several streams faster than one.
const STREAMS: usize = 4;

/// `kernel(query, row)` for each of the `out.len()` rows in `rows`.
///
/// The rows are visited in `STREAMS` interleaved runs, which changes the order of visits and no result.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
pub(super) fn each_row(
    query: &[f32],
    rows: &[u8],
    out: &mut [f32],
    kernel: impl Fn(&[f32], &[[u8; 4]]) -> f32,
) {
    let (elements, _) = rows.as_chunks::<4>();
    let dimension = query.len();
    let run = out.len() / STREAMS;
    for i in 0..run {
        for stream in 0..STREAMS {
            let row = stream * run + i;
            out[row] = kernel(query, &elements[row * dimension..][..dimension]);
        }
    }
    for row in run * STREAMS..out.len() {
        out[row] = kernel(query, &elements[row * dimension..][..dimension]);
    }
}
