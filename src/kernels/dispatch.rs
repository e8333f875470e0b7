//! The scalar code compiled for wider registers, and the choice among them.
#![allow(unsafe_code, reason = "a target_feature function is called after its feature was detected")]

use std::sync::atomic::{AtomicU8, Ordering};

use super::scalar;
use super::scalar::{Product, SquaredDifference};

/// Which compilation of the kernels runs. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The target's baseline: SSE2 on x86-64, NEON on `AArch64`.
    Scalar = 1,
    /// 256-bit registers of x86-64.
    Avx2 = 2,
    /// 512-bit registers of x86-64, with AVX-512BW and BMI.
    Avx512 = 3,
}

impl Level {
    /// Every level, narrowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("bmi1")
                    && std::arch::is_x86_feature_detected!("bmi2")
                    && std::arch::is_x86_feature_detected!("lzcnt")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// The level in use as its discriminant; 0 until the first call.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The level in use: the widest there is, or the baseline if the environment variable `EVDB_SIMD` is `scalar`
/// at the first call.
#[must_use]
pub fn level() -> Level {
    match CHOSEN.load(Ordering::Relaxed) {
        1 => Level::Scalar,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => choose(),
    }
}

#[cold]
fn choose() -> Level {
    let scalar = std::env::var_os("EVDB_SIMD").is_some_and(|value| value == "scalar");
    let widest = Level::ALL.into_iter().rev().find(|level| level.is_available());
    let level = widest.filter(|_| !scalar).unwrap_or(Level::Scalar);
    CHOSEN.store(level as u8, Ordering::Relaxed);
    level
}

/// Makes `level` the one in use, for tests and measurements; whether this processor has it. If not, nothing
/// changes.
pub fn use_level(level: Level) -> bool {
    let available = level.is_available();
    if available {
        CHOSEN.store(level as u8, Ordering::Relaxed);
    }
    available
}

macro_rules! kernel {
    ($name:ident, $avx2:ident, $avx512:ident, ($($arg:ident: $type:ty),*) $(-> $result:ty)?, $body:expr) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $avx2($($arg: $type),*) $(-> $result)? {
            $body
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn $avx512($($arg: $type),*) $(-> $result)? {
            $body
        }

        #[inline]
        fn $name(level: Level, $($arg: $type),*) $(-> $result)? {
            match level {
                // SAFETY: `level()` and `use_level` yield this level only where AVX2 was detected.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { $avx2($($arg),*) },
                // SAFETY: `level()` and `use_level` yield this level only where AVX-512F was detected.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { $avx512($($arg),*) },
                _ => $body,
            }
        }
    };
}

pub(super) use kernel;

kernel!(dot_at, dot_avx2, dot_avx512, (a: &[f32], b: &[f32]) -> f32, scalar::sum::<Product, _>(a, b));
kernel!(l2_at, l2_avx2, l2_avx512, (a: &[f32], b: &[f32]) -> f32, scalar::sum::<SquaredDifference, _>(a, b));
kernel!(
    dot_rows_at,
    dot_rows_avx2,
    dot_rows_avx512,
    (query: &[f32], rows: &[u8], out: &mut [f32]),
    scalar::each_row::<Product>(query, rows, out)
);
kernel!(
    l2_rows_at,
    l2_rows_avx2,
    l2_rows_avx512,
    (query: &[f32], rows: &[u8], out: &mut [f32]),
    scalar::each_row::<SquaredDifference>(query, rows, out)
);

/// The dot product of `a` and `b`, in the fixed order.
///
/// # Panics
///
/// If the lengths differ.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "a dot product is of two vectors of one dimension");
    dot_at(level(), a, b)
}

/// The squared Euclidean distance of `a` and `b`, in the fixed order.
///
/// # Panics
///
/// If the lengths differ.
#[must_use]
pub fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "a distance is of two vectors of one dimension");
    l2_at(level(), a, b)
}

/// [`dot`] of `query` with each row.
///
/// * `query`: `d` floats.
/// * `rows`: `n x d` floats as bytes, `f32` little-endian, row by row.
/// * `out`: `n` scores, written whole.
///
/// # Panics
///
/// If `rows` is not of `n * d * 4` bytes.
pub fn dot_rows(query: &[f32], rows: &[u8], out: &mut [f32]) {
    assert_shape(query, rows, out);
    dot_rows_at(level(), query, rows, out);
}

/// [`l2_squared`] of `query` and each row; shapes as for [`dot_rows`].
///
/// # Panics
///
/// If `rows` is not of `n * d * 4` bytes.
pub fn l2_squared_rows(query: &[f32], rows: &[u8], out: &mut [f32]) {
    assert_shape(query, rows, out);
    l2_rows_at(level(), query, rows, out);
}

pub(super) fn assert_shape(query: &[f32], rows: &[u8], out: &[f32]) {
    let expected = query.len().checked_mul(out.len()).and_then(|n| n.checked_mul(super::ELEMENT_BYTES));
    assert_eq!(expected, Some(rows.len()), "{} rows of dimension {}", out.len(), query.len());
}
