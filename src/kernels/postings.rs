//! Kernels of the search for the best texts: sums that reach a bar, and lookups in lists of low bytes.
//!
//! All is on integers, so that every level gives the same.
#![allow(
    unsafe_code,
    reason = "a target_feature function is called after its feature was detected; masked loads"
)]

use super::dispatch::{Level, level};

/// Ordinals of a bucket: as many as a byte tells apart.
pub const BUCKET: usize = 256;

/// Rows and columns of a table of values: 16 frequencies, 256 length classes.
pub const VALUES: usize = 16 * 256;

/// What something of frequency `row` and length class `class` is worth at most, at `row * 256 + class`.
pub type Values = [u16; VALUES];

/// A text that may be among the best, and a bound on what is known of its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Candidate {
    /// Ordinal of the text.
    pub ordinal: u32,
    /// A bound on its score, in units of the caller's.
    pub bound: u16,
}

/// Ordinals as low bytes by buckets of 256, with a nibble for each.
///
/// The posting at index `i` has the low byte `low[i]` and the nibble `i`, low half of a byte first. Bucket `b`
/// has the indexes from offset `b` to offset `b + 1`; offset `b` is `coarse[b / 16] + fine[b]`.
#[derive(Debug, Clone, Copy)]
pub struct Buckets<'a> {
    /// `u32` little-endian.
    pub coarse: &'a [[u8; 4]],
    /// `u16` little-endian.
    pub fine: &'a [[u8; 2]],
    /// Low bytes, ascending within a bucket.
    pub low: &'a [u8],
    /// Half as many bytes, rounded up.
    pub nibbles: &'a [u8],
}

impl Buckets<'_> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
    fn offset(&self, bucket: usize) -> usize {
        match (self.coarse.get(bucket / 16), self.fine.get(bucket)) {
            (Some(coarse), Some(fine)) => {
                u32::from_le_bytes(*coarse) as usize + usize::from(u16::from_le_bytes(*fine))
            }
            _ => self.low.len(),
        }
    }

    /// Index of the first posting of the bucket of `ordinal`, and the low bytes of the bucket.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
    fn bucket_of(&self, ordinal: u32) -> (usize, &[u8]) {
        let bucket = (ordinal >> 8) as usize;
        let from = self.offset(bucket);
        (from, self.low.get(from..self.offset(bucket + 1)).unwrap_or_default())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
    fn nibble(&self, index: usize) -> usize {
        usize::from(self.nibbles.get(index / 2).copied().unwrap_or(0) >> (4 * (index % 2)) & 15)
    }
}

/// Takes every sum that reaches the bar of its 256, in order, and sets all sums to 0.
///
/// * `sums`: those of consecutive ordinals from `base` on.
/// * `bars`: one for each 256 sums, at least 1; sums without a bar are not taken.
/// * `keep`: bits for the sums, 64 a word, lowest first; only sums with a bit are taken.
/// * `out`: what is taken is put behind what it holds.
pub fn take_sums(sums: &mut [u16], bars: &[u16], base: u32, keep: Option<&[u64]>, out: &mut Vec<Candidate>) {
    match level() {
        // SAFETY: `level` yields this level only where AVX-512F, AVX-512BW and BMI were detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { take_sums_avx512(sums, bars, base, keep, out) },
        // SAFETY: `level` yields this level only where AVX2 was detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { take_sums_avx2(sums, bars, base, keep, out) },
        _ => take_sums_with(sums, bars, base, keep, out, take_bucket_scalar),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt")]
fn take_sums_avx512(
    sums: &mut [u16],
    bars: &[u16],
    base: u32,
    keep: Option<&[u64]>,
    out: &mut Vec<Candidate>,
) {
    take_sums_with(sums, bars, base, keep, out, |sums, bar, base, keep, out| {
        take_bucket_avx512(sums, bar, base, keep, out);
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn take_sums_avx2(sums: &mut [u16], bars: &[u16], base: u32, keep: Option<&[u64]>, out: &mut Vec<Candidate>) {
    take_sums_with(sums, bars, base, keep, out, |sums, bar, base, keep, out| {
        take_bucket_avx2(sums, bar, base, keep, out);
    });
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
fn take_sums_with(
    sums: &mut [u16],
    bars: &[u16],
    base: u32,
    keep: Option<&[u64]>,
    out: &mut Vec<Candidate>,
    take: impl Fn(&mut [u16; BUCKET], u16, u32, [u64; 4], &mut Vec<Candidate>),
) {
    let (buckets, rest) = sums.as_chunks_mut::<BUCKET>();
    let mut at = base;
    for (index, (bucket, bar)) in buckets.iter_mut().zip(bars).enumerate() {
        let words = match keep {
            None => [u64::MAX; 4],
            Some(keep) => std::array::from_fn(|word| keep.get(4 * index + word).copied().unwrap_or(0)),
        };
        take(bucket, *bar, at, words, out);
        at += 256;
    }
    for bucket in buckets.iter_mut().skip(bars.len()) {
        bucket.fill(0);
    }
    for (index, sum) in rest.iter_mut().enumerate() {
        let bar = bars.get(buckets.len()).copied();
        let place = buckets.len() * BUCKET + index;
        let word = keep.map_or(u64::MAX, |keep| keep.get(place / 64).copied().unwrap_or(0));
        if bar.is_some_and(|bar| *sum >= bar) && word >> (place % 64) & 1 == 1 {
            out.push(Candidate { ordinal: at + low_u32(index), bound: *sum });
        }
        *sum = 0;
    }
}

fn take_bucket_scalar(
    sums: &mut [u16; BUCKET],
    bar: u16,
    base: u32,
    keep: [u64; 4],
    out: &mut Vec<Candidate>,
) {
    for (at, sum) in (0..).zip(sums.iter()) {
        if *sum >= bar && keep[at as usize / 64] >> (at % 64) & 1 == 1 {
            out.push(Candidate { ordinal: base + at, bound: *sum });
        }
    }
    sums.fill(0);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt")]
fn take_bucket_avx512(
    sums: &mut [u16; BUCKET],
    bar: u16,
    base: u32,
    keep: [u64; 4],
    out: &mut Vec<Candidate>,
) {
    use std::arch::x86_64::{_mm512_cmpge_epu16_mask, _mm512_loadu_si512, _mm512_set1_epi16};
    let bars = _mm512_set1_epi16(bar.cast_signed());
    for ((first, lanes), keep) in (base..).step_by(64).zip(sums.as_chunks_mut::<64>().0).zip(keep) {
        // SAFETY: the 64 sums are 128 bytes; the loads need no alignment.
        let (low, high) = unsafe {
            (_mm512_loadu_si512(lanes.as_ptr().cast()), _mm512_loadu_si512(lanes[32..].as_ptr().cast()))
        };
        let reach = u64::from(_mm512_cmpge_epu16_mask(low, bars))
            | u64::from(_mm512_cmpge_epu16_mask(high, bars)) << 32;
        let mut found = reach & keep;
        while found != 0 {
            let lane = found.trailing_zeros();
            out.push(Candidate { ordinal: first + lane, bound: lanes[lane as usize & 63] });
            found &= found - 1;
        }
        lanes.fill(0);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn take_bucket_avx2(sums: &mut [u16; BUCKET], bar: u16, base: u32, keep: [u64; 4], out: &mut Vec<Candidate>) {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_max_epu16, _mm256_movemask_epi8, _mm256_set1_epi16,
    };
    let bars = _mm256_set1_epi16(bar.cast_signed());
    for (part, lanes) in sums.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: the 16 sums are 32 bytes; the load needs no alignment.
        let values = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
        let reach = _mm256_cmpeq_epi16(_mm256_max_epu16(values, bars), values);
        // Two bits for each sum; the lower of them is enough.
        let mut found = _mm256_movemask_epi8(reach).cast_unsigned() & 0x5555_5555;
        while found != 0 {
            let lane = found.trailing_zeros() / 2;
            let place = part * 16 + lane as usize;
            if keep[place / 64] >> (place % 64) & 1 == 1 {
                out.push(Candidate { ordinal: base + low_u32(place), bound: lanes[lane as usize & 15] });
            }
            found &= found - 1;
        }
    }
    sums.fill(0);
}

/// Moves the bits of a set to where its members are among those of a larger set.
///
/// * `bits`: words of the set, 64 members a word, lowest first.
/// * `among`: as many words of the larger set.
/// * `ranks`: for each word how many members of the larger set lie before it.
/// * `out`: bit `r` is set for each member of both sets that has `r` of the larger before it.
pub fn rank_bits(bits: &[u64], among: &[u64], ranks: &[u32], out: &mut [u64]) {
    match level() {
        // SAFETY: `level` yields this level only where BMI2 was detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { rank_bits_bmi2(bits, among, ranks, out) },
        _ => rank_bits_with(bits, among, ranks, out, extract),
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
fn rank_bits_with(
    bits: &[u64],
    among: &[u64],
    ranks: &[u32],
    out: &mut [u64],
    extract: impl Fn(u64, u64) -> u64,
) {
    for ((bits, among), rank) in bits.iter().zip(among).zip(ranks) {
        let found = u128::from(extract(*bits, *among)) << (rank % 64);
        let place = *rank as usize / 64;
        let [low, high] = [found, found >> 64].map(low_u64);
        // Most words of a small set are empty.
        if found != 0 {
            if let Some(word) = out.get_mut(place) {
                *word |= low;
            }
            if let Some(word) = out.get_mut(place + 1) {
                *word |= high;
            }
        }
    }
}

/// The bits of `bits` at the places of the ones of `among`, close together.
fn extract(bits: u64, among: u64) -> u64 {
    let mut left = bits & among;
    let mut found = 0;
    while left != 0 {
        found |= 1 << (among & (left & left.wrapping_neg()).wrapping_sub(1)).count_ones();
        left &= left - 1;
    }
    found
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
fn rank_bits_bmi2(bits: &[u64], among: &[u64], ranks: &[u32], out: &mut [u64]) {
    rank_bits_with(bits, among, ranks, out, |bits, among| std::arch::x86_64::_pext_u64(bits, among));
}

/// Adds to the bound of every candidate what its posting in `list` is worth, 0 if it has none, and keeps those
/// that then reach `need`, in their order.
///
/// * `classes`: the length class of each ordinal.
/// * `values`: what a frequency is worth in a text of a class.
/// * `must`: candidates without a posting are not kept.
pub fn narrow(
    list: &Buckets<'_>,
    classes: &[u8],
    values: &Values,
    need: u16,
    must: bool,
    candidates: &mut Vec<Candidate>,
) {
    match level() {
        // SAFETY: `level` yields this level only where AVX-512F, AVX-512BW and BMI were detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { narrow_avx512(list, classes, values, need, must, candidates) },
        // SAFETY: `level` yields this level only where AVX2 was detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { narrow_avx2(list, classes, values, need, must, candidates) },
        _ => narrow_with(list, classes, values, need, must, candidates, |low, byte| {
            low.iter().position(|other| *other == byte)
        }),
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled anew within each target_feature function")]
fn narrow_with(
    list: &Buckets<'_>,
    classes: &[u8],
    values: &Values,
    need: u16,
    must: bool,
    candidates: &mut Vec<Candidate>,
    find: impl Fn(&[u8], u8) -> Option<usize>,
) {
    let mut kept = 0;
    for at in 0..candidates.len() {
        let Candidate { ordinal, bound } = candidates[at];
        let (from, low) = list.bucket_of(ordinal);
        let found = find(low, ordinal.to_le_bytes()[0]);
        let row = list.nibble(from + found.unwrap_or(0));
        let class = usize::from(classes.get(ordinal as usize).copied().unwrap_or(0));
        // Every candidate writes its place, only those that reach the need keep it: no branch on the outcome.
        let value = if found.is_some() { values[(row << 8 | class) & (VALUES - 1)] } else { 0 };
        let bound = bound.saturating_add(value);
        candidates[kept] = Candidate { ordinal, bound };
        kept += usize::from((bound >= need) & (!must | found.is_some()));
    }
    candidates.truncate(kept);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt")]
fn narrow_avx512(
    list: &Buckets<'_>,
    classes: &[u8],
    values: &Values,
    need: u16,
    must: bool,
    candidates: &mut Vec<Candidate>,
) {
    use std::arch::x86_64::{
        _bzhi_u64, _mm512_mask_cmpeq_epi8_mask, _mm512_maskz_loadu_epi8, _mm512_set1_epi8,
    };
    narrow_with(list, classes, values, need, must, candidates, |low, byte| {
        let mut from = 0;
        loop {
            let rest = &low[from..];
            let mask = _bzhi_u64(u64::MAX, low_u32(rest.len().min(64)));
            // SAFETY: only the bytes of `rest` are in the mask, and no others are loaded.
            let bytes = unsafe { _mm512_maskz_loadu_epi8(mask, rest.as_ptr().cast()) };
            let hit = _mm512_mask_cmpeq_epi8_mask(mask, bytes, _mm512_set1_epi8(byte.cast_signed()));
            if hit != 0 || rest.len() <= 64 {
                return (hit != 0).then_some(from + hit.trailing_zeros() as usize);
            }
            from += 64;
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn narrow_avx2(
    list: &Buckets<'_>,
    classes: &[u8],
    values: &Values,
    need: u16,
    must: bool,
    candidates: &mut Vec<Candidate>,
) {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8};
    narrow_with(list, classes, values, need, must, candidates, |low, byte| {
        let (whole, rest) = low.as_chunks::<32>();
        for (at, chunk) in whole.iter().enumerate() {
            // SAFETY: the chunk has 32 bytes; the load needs no alignment.
            let bytes = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
            let hit = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed())));
            if hit != 0 {
                return Some(at * 32 + hit.trailing_zeros() as usize);
            }
        }
        rest.iter().position(|other| *other == byte).map(|at| whole.len() * 32 + at)
    });
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is asked for")]
const fn low_u64(value: u128) -> u64 {
    value as u64
}

/// A number known to fit.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "lengths of buckets and windows")]
const fn low_u32(value: usize) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::use_level;

    struct Owned {
        coarse: Vec<[u8; 4]>,
        fine: Vec<[u8; 2]>,
        low: Vec<u8>,
        nibbles: Vec<u8>,
    }

    /// Sorted ordinals as a list; the nibble of ordinal `o` is `o % 15 + 1`.
    fn list(ordinals: &[u32], n: u32) -> Owned {
        let buckets = n.div_ceil(256);
        let offset = |bucket: u32| ordinals.partition_point(|ordinal| ordinal >> 8 < bucket);
        let base = |bucket: u32| offset(bucket / 16 * 16);
        let coarse = (0..=buckets).step_by(16).map(|b| low_u32(offset(b)).to_le_bytes()).collect();
        let fine = (0..=buckets).map(|b| u16::try_from(offset(b) - base(b)).unwrap().to_le_bytes()).collect();
        let low = ordinals.iter().map(|ordinal| ordinal.to_le_bytes()[0]).collect();
        let nibble = |ordinal: &u32| u8::try_from(ordinal % 15 + 1).unwrap();
        let nibbles = ordinals
            .chunks(2)
            .map(|two| nibble(&two[0]) | two.get(1).map_or(0, |o| nibble(o) << 4))
            .collect();
        Owned { coarse, fine, low, nibbles }
    }

    fn levels() -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(|level| use_level(*level))
    }

    proptest! {
        #[test]
        fn bits_move_to_their_ranks(
            words in prop::collection::vec((any::<u64>(), prop_oneof![any::<u64>(), Just(u64::MAX), Just(0)]), 0..40),
        ) {
            let (bits, among): (Vec<u64>, Vec<u64>) = words.into_iter().unzip();
            let ranks: Vec<u32> =
                (0..among.len()).map(|at| among[..at].iter().map(|word| word.count_ones()).sum()).collect();
            let has = |words: &[u64], at: usize| words[at / 64] >> (at % 64) & 1 == 1;
            let members: Vec<usize> = (0..among.len() * 64).filter(|at| has(&among, *at)).collect();
            let mut expected = vec![0; members.len().div_ceil(64)];
            for (at, member) in members.iter().enumerate() {
                expected[at / 64] |= u64::from(has(&bits, *member)) << (at % 64);
            }

            for level in levels() {
                let mut out = vec![0; expected.len()];
                rank_bits(&bits, &among, &ranks, &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", level);
            }
        }

        #[test]
        fn sums_that_reach_their_bar_are_taken_in_order_and_all_are_cleared(
            sums in prop::collection::vec(0_u16..40, 0..1300),
            bars in prop::collection::vec(1_u16..50, 6),
            keep in prop::option::of(prop::collection::vec(any::<u64>(), 0..22)),
        ) {
            let bit = |at: usize| keep.as_ref().is_none_or(|keep| {
                keep.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
            });
            let expected: Vec<Candidate> = (0..)
                .zip(&sums)
                .filter(|(at, sum)| **sum >= bars[*at as usize / 256] && bit(*at as usize))
                .map(|(at, sum)| Candidate { ordinal: 512 + at, bound: *sum })
                .collect();

            for level in levels() {
                let mut left = sums.clone();
                let mut found = Vec::new();
                take_sums(&mut left, &bars, 512, keep.as_deref(), &mut found);
                prop_assert_eq!(&found, &expected, "{:?}", level);
                prop_assert!(left.iter().all(|sum| *sum == 0));
            }
        }

        #[test]
        fn candidates_are_narrowed_as_a_search_for_each_says(
            ordinals in prop::collection::btree_set(0_u32..5000, 0..3000),
            asked in prop::collection::vec((0_u32..6000, 0_u16..100), 0..300),
            need in 0_u16..600,
            must in any::<bool>(),
        ) {
            let ordinals: Vec<u32> = ordinals.into_iter().collect();
            let Owned { coarse, fine, low, nibbles } = list(&ordinals, 5000);
            let list = Buckets { coarse: &coarse, fine: &fine, low: &low, nibbles: &nibbles };
            let classes: Vec<u8> = (0..5000_u32).map(|ordinal| ordinal.to_le_bytes()[0]).collect();
            let values: Values = std::array::from_fn(|at| u16::try_from(at % 500).unwrap() + 1);
            let asked: Vec<Candidate> =
                asked.into_iter().map(|(ordinal, bound)| Candidate { ordinal, bound }).collect();
            let expected: Vec<Candidate> = asked
                .iter()
                .filter_map(|candidate| {
                    let found = ordinals.binary_search(&candidate.ordinal).is_ok();
                    let row = (candidate.ordinal % 15 + 1) as usize;
                    let value = if found { values[row * 256 + candidate.ordinal as usize % 256] } else { 0 };
                    let bound = candidate.bound + value;
                    (bound >= need && (found || !must)).then_some(Candidate { bound, ..*candidate })
                })
                .collect();

            for level in levels() {
                let mut narrowed = asked.clone();
                narrow(&list, &classes, &values, need, must, &mut narrowed);
                prop_assert_eq!(&narrowed, &expected, "{:?}", level);
            }
        }
    }
}
