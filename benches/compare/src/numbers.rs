//! Percentiles, medians and rates.

use std::time::Duration;

/// The smallest of `sorted` that at least the share `p` of them do not exceed (nearest rank); 0 of none.
///
/// * `sorted`: ascending.
/// * `p`: above 0, at most 1.
#[expect(clippy::cast_possible_truncation, reason = "a rank is at most the number of values")]
#[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^53 values")]
pub fn percentile(sorted: &[u64], p: f64) -> u64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// The middle of `values`, or the mean of the two in the middle; `None` of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(*values.get(half.checked_sub(1)?)?, upper))
}

/// Nanoseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "2^53 ns are a hundred days")]
pub fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// How many a second, if `count` take `nanos`; 0 if they take no time.
#[expect(clippy::cast_precision_loss, reason = "2^53 ns are a hundred days")]
pub fn per_second(count: usize, nanos: u64) -> f64 {
    if nanos == 0 { 0.0 } else { count as f64 * 1e9 / nanos as f64 }
}

/// A duration in whole nanoseconds.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// `value` with three digits that count.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_of_the_nearest_rank() {
        let values: Vec<u64> = (1..=200).collect();

        assert_eq!(percentile(&values, 0.5), 100);
        assert_eq!(percentile(&values, 0.99), 198);
        assert_eq!(percentile(&values, 1.0), 200);
        assert_eq!(percentile(&[7], 0.01), 7);
        assert_eq!(percentile(&[], 0.5), 0);
    }

    #[test]
    fn a_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_rate_over_no_time_is_zero() {
        assert!((per_second(500, 250_000_000) - 2_000.0).abs() < 1e-9);
        assert!(per_second(500, 0).abs() < 1e-9);
    }
}
