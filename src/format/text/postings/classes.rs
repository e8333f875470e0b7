//! Classes of lengths, and what bounds the scores of a list. format-spec.md section 7.5.

/// Frequencies a list tells apart when it bounds scores and in its nibbles; this one stands for all above too.
pub const TOP_FREQ: u32 = 15;

/// No leaf has such a frequency.
pub const NO_CLASS: u8 = 255;

/// The highest class that bounds name; it stands for the one above too.
pub const TOP_BOUND: u8 = 254;

/// `k1` of the stored maxima.
pub const BUILT_K1: f64 = 1.2;

/// `b` of the stored maxima.
pub const BUILT_B: f64 = 0.75;

/// The lowest length class, [`TOP_BOUND`] if it is higher, among the leaves with each frequency from 1 to 15 (15
/// and above), [`NO_CLASS`] if there is none; place 0 is 0.
pub type Bounds = [u8; 16];

/// What is known of the leaves of a segment when its lists are encoded.
#[derive(Debug, Clone, Copy)]
pub struct LeafColumns<'a> {
    /// For each leaf the terms of its full field.
    pub full_lens: &'a [u32],
    /// Their mean.
    pub mean_len: f64,
}

impl LeafColumns<'_> {
    /// Terms of the full field of leaf `ordinal`; 0 past the end.
    #[must_use]
    pub fn full_len(&self, ordinal: u32) -> u32 {
        self.full_lens.get(ordinal as usize).copied().unwrap_or(0)
    }

    /// The stored maximum for a leaf of `len` terms with the frequency `term_freq`: of the part of a score that
    /// frequency and length decide, in 255ths of what endless occurrences would give, rounded up.
    #[must_use]
    pub fn impact(&self, term_freq: u32, len: u32) -> u8 {
        let norm = BUILT_K1 * (1.0 - BUILT_B + BUILT_B * f64::from(len) / self.mean_len.max(1e-9));
        let part = f64::from(term_freq) / (f64::from(term_freq) + norm);
        ceil_byte(255.0 * part)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn ceil_byte(value: f64) -> u8 {
    value.ceil() as u8
}

/// The class of a text of `len` terms: the length itself below 64, above that 32 classes for each doubling, and
/// 255 from 4,032 on. Longer texts never have a lower class.
#[must_use]
pub const fn length_class(len: u32) -> u8 {
    if len < 64 {
        return low_byte(len);
    }
    let octave = len.ilog2();
    let class = 64 + (octave - 6) * 32 + ((len >> (octave - 5)) & 31);
    if class > 255 { 255 } else { low_byte(class) }
}

/// The shortest length of a class.
#[must_use]
pub const fn class_min(class: u8) -> u32 {
    let class = class as u32;
    if class < 64 { class } else { (32 + (class - 64) % 32) << ((class - 64) / 32 + 1) }
}

const fn low_byte(value: u32) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: R-7.5.3 (the worked examples)
    #[test]
    fn classes_are_the_length_below_64_and_32_for_each_doubling_above() {
        let examples = [(0, 0), (63, 63), (64, 64), (65, 64), (66, 65), (127, 95), (128, 96), (132, 97)];
        for (len, class) in examples.into_iter().chain([(4_031, 254), (4_032, 255), (u32::MAX, 255)]) {
            assert_eq!(length_class(len), class, "{len}");
        }
    }

    #[test]
    fn the_shortest_length_of_a_class_is_of_it_and_one_less_is_not() {
        for class in 0..=255 {
            let min = class_min(class);
            assert_eq!(length_class(min), class);
            assert!(min == 0 || length_class(min - 1) == class - 1);
        }
    }

    #[test]
    fn a_stored_maximum_is_rounded_up() {
        let leaves = LeafColumns { full_lens: &[10, 20], mean_len: 15.0 };

        // 255 * 1 / (1 + 1.2 * (0.25 + 0.75 * 10 / 15)) = 255 / 1.9 = 134.2
        assert_eq!(leaves.impact(1, leaves.full_len(0)), 135);
        // 255 * 3 / (3 + 1.2 * (0.25 + 0.75 * 20 / 15)) = 765 / 4.5 = 170
        assert_eq!(leaves.impact(3, leaves.full_len(1)), 170);
        assert_eq!(leaves.impact(u32::MAX, 0), 255);
    }
}
