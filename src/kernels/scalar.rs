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

/// What is summed. A type, not a closure or function passed as a value: those are called through a shim that
/// is compiled without the caller's target features.
pub(super) trait Term {
    /// The term of two elements.
    fn of(x: f32, y: f32) -> f32;
}

/// Terms of a dot product.
pub(super) struct Product;

/// Terms of a squared distance.
pub(super) struct SquaredDifference;

impl Term for Product {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for sum")]
    fn of(x: f32, y: f32) -> f32 {
        x * y
    }
}

impl Term for SquaredDifference {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for sum")]
    fn of(x: f32, y: f32) -> f32 {
        (x - y) * (x - y)
    }
}

/// The sum of `T::of(a[i], b[i])` in the fixed order, over the shorter of both.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
pub(super) fn sum<T: Term, E: Element>(a: &[f32], b: &[E]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a_whole, a_tail) = a.as_chunks::<LANES>();
    let (b_whole, b_tail) = b.as_chunks::<LANES>();
    for (x, y) in a_whole.iter().zip(b_whole) {
        for j in 0..LANES {
            lanes[j] += T::of(x[j], y[j].value());
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_tail.iter().zip(b_tail)) {
        *lane += T::of(*x, y.value());
    }
    reduce(&lanes)
}

/// The sum of the lanes by halves. Not inlined: the optimiser would carry the pairs of its last step back into
/// the loop above and cut that into registers of two lanes.
#[inline(never)]
fn reduce(lanes: &[f32; LANES]) -> f32 {
    let mut lanes = *lanes;
    let mut width = LANES / 2;
    while width > 0 {
        for j in 0..width {
            lanes[j] += lanes[j + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Places of a block read at once; memory answers several streams faster than one.
const STREAMS: usize = 4;

/// Each of `0..rows`, in `STREAMS` interleaved runs.
pub(super) fn in_streams(rows: usize) -> impl Iterator<Item = usize> {
    let run = rows / STREAMS;
    let runs = (0..run).flat_map(move |i| (0..STREAMS).map(move |stream| stream * run + i));
    runs.chain(run * STREAMS..rows)
}

/// [`sum`] for `query` and each of the `out.len()` rows in `rows`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
pub(super) fn each_row<T: Term>(query: &[f32], rows: &[u8], out: &mut [f32]) {
    let (elements, _) = rows.as_chunks::<4>();
    let dimension = query.len();
    for row in in_streams(out.len()) {
        out[row] = sum::<T, _>(query, &elements[row * dimension..][..dimension]);
    }
}
