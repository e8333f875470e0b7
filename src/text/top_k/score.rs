//! Scores, exact and as bounds in units.

use crate::format::text::Bounds;
use crate::format::text::NO_CLASS;
use crate::format::text::class_min;
use crate::kernels::Values;
use crate::text::Bm25;
use crate::text::FieldWeights;
use crate::text::bm25::Weight;
use crate::text::bm25::idf;

/// Length classes.
const CLASSES: usize = 256;

/// The row of a table for frequencies from 15 on.
const TOP_ROW: usize = 15;

/// Units all bounds of a query share: sums of bounds fit 16 bits.
const UNITS: f64 = 64_000.0;

/// How a leaf is scored, but for the query's terms.
#[derive(Debug, Clone, Copy)]
pub struct Formula {
    pub bm25: Bm25,
    pub weights: FieldWeights,
    /// Mean weighted length of the live leaves.
    pub mean_len: f64,
    /// How many live leaves there are.
    pub live: u32,
}

impl Formula {
    /// What a term adds that `df` live leaves have.
    pub fn weight(&self, boost: f32, df: u32) -> Weight {
        Weight::new(self.bm25, f64::from(boost), idf(self.live, df), self.mean_len)
    }

    /// The weighted frequency.
    #[expect(clippy::cast_precision_loss, reason = "counts of terms stay below 2^53")]
    pub fn term_freq(&self, body: u32, title: u64) -> f64 {
        f64::from(self.weights.body) * f64::from(body) + f64::from(self.weights.title) * title as f64
    }

    /// The weighted length of a leaf of `own_len` terms, with those above it `full_len`.
    pub fn len(&self, own_len: u32, full_len: u32) -> f64 {
        let above = full_len.saturating_sub(own_len);
        f64::from(self.weights.body) * f64::from(own_len) + f64::from(self.weights.title) * f64::from(above)
    }

    fn field(&self, title: bool) -> f64 {
        f64::from(if title { self.weights.title } else { self.weights.body })
    }
}

/// The part of a score that frequency and length decide, at most: by frequency in one field (15 and above are
/// one row) and by length class, from 0 to 1.
pub struct Parts {
    freq: f64,
    weight: Weight,
    rows: [Option<Box<[f32; CLASSES]>>; TOP_ROW + 1],
}

impl Parts {
    pub fn new(formula: &Formula, title: bool) -> Self {
        let weight = formula.weight(1.0, 0);
        Self { freq: formula.field(title), weight, rows: [const { None }; TOP_ROW + 1] }
    }

    #[expect(clippy::cast_possible_truncation, reason = "what rounding takes away, every bar allows for")]
    pub fn row(&mut self, row: usize) -> &[f32; CLASSES] {
        let Self { freq, weight, rows } = self;
        let row = row.min(TOP_ROW);
        rows[row].get_or_insert_with(|| {
            let tf = *freq * f64::from(u8::try_from(row).unwrap_or(u8::MAX));
            let mut parts = Box::new([1.0; CLASSES]);
            if row < TOP_ROW {
                for (class, part) in (0..=255).zip(parts.iter_mut()) {
                    let norm = weight.base + weight.slope * f64::from(class_min(class));
                    *part = (tf / (tf + norm)) as f32;
                }
            }
            parts
        })
    }

    /// The highest part that `bounds` admit; 0 if there are no postings.
    pub fn most(&mut self, bounds: &Bounds) -> f32 {
        rows_of(bounds).fold(0.0, |most, (row, class)| self.row(row)[usize::from(class)].max(most))
    }

    /// What a posting of the list with `bounds` is worth in units, rounded up, if the whole part is worth `unit`.
    pub fn fill(&mut self, bounds: &Bounds, unit: f32, values: &mut Values) {
        let most = units(self.most(bounds), unit);
        for (row, _) in rows_of(bounds) {
            let to = values.as_chunks_mut::<CLASSES>().0;
            for (value, part) in to[row].iter_mut().zip(self.row(row)) {
                // Classes below the lowest the bounds name do not occur: no sum exceeds that of the mosts.
                *value = units(*part, unit).min(most);
            }
        }
    }
}

/// The frequencies that occur, each with the lowest class.
pub fn rows_of(bounds: &Bounds) -> impl Iterator<Item = (usize, u8)> + '_ {
    bounds.iter().copied().enumerate().skip(1).filter(|(_, class)| *class != NO_CLASS)
}

/// The next whole number above, or the one above that. Added to 2^23, a float's last bits are a whole number,
/// which needs no conversion: many are done at once.
fn units(part: f32, unit: f32) -> u16 {
    let sum = (part * unit).min(65_534.0) + 8_388_608.0;
    let [low, high, ..] = sum.to_bits().to_le_bytes();
    u16::from_le_bytes([low, high]) + 1
}

/// How many units a score of 1 is, so that the bounds of `lists` lists with a sum of `sum` fit 16 bits.
pub fn scale(sum: f64, lists: usize) -> f64 {
    let lists = f64::from(u16::try_from(lists).unwrap_or(u16::MAX));
    if sum > 0.0 { UNITS.min(65_000.0 - 2.0 * lists) / sum } else { 0.0 }
}

/// What is surely reached by a text whose bound is known: its score is at least
/// `bound * factor(class) - slack`, in units.
pub struct Lower {
    factors: [f32; CLASSES],
    slack: u32,
}

impl Lower {
    /// * `whole`: lengths are whole numbers.
    /// * `high`: a frequency from 15 on may occur.
    #[expect(clippy::cast_possible_truncation, reason = "rounded down by the last factor")]
    pub fn new(formula: &Formula, lists: usize, whole: bool, high: bool) -> Self {
        let weight = formula.weight(1.0, 0);
        let freq = formula.field(false);
        let mut factors = [0.0; CLASSES];
        // Texts of the last class may be of any length: nothing is known of them.
        for (class, factor) in (0..255_u8).zip(&mut factors) {
            let longest = class_min(class + 1) - u32::from(whole);
            let low = weight.base + weight.slope * f64::from(class_min(class));
            let norm = weight.base + weight.slope * f64::from(longest);
            let mut known = (freq + low) / (freq + norm);
            if high {
                known = known.min(15.0 * freq / (15.0 * freq + norm));
            }
            *factor = (known * (1.0 - 1e-6)) as f32;
        }
        Self { factors, slack: u32::try_from(2 * lists + 2).unwrap_or(u32::MAX) }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 65,535")]
    pub fn of(&self, bound: u16, class: u8) -> u32 {
        ((f32::from(bound) * self.factors[usize::from(class)]) as u32).saturating_sub(self.slack)
    }
}
