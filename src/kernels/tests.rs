use proptest::prelude::*;

use super::*;

/// The definition, word for word, one element at a time.
fn by_definition(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = vec![0.0_f32; LANES];
    for i in 0..a.len() {
        lanes[i % LANES] += term(a[i], b[i]);
    }
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        for (lane, other) in lanes.iter_mut().zip(upper) {
            *lane += other;
        }
    }
    lanes[0]
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn two_vectors() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    let lengths = prop_oneof![
        Just(0_usize),
        Just(1),
        Just(LANES - 1),
        Just(LANES),
        Just(LANES + 1),
        Just(2 * LANES + 5),
        0_usize..400
    ];
    let element = prop_oneof![-1.0_f32..1.0, -1e12_f32..1e12, -1e-30_f32..1e-30, Just(0.0)];
    lengths.prop_flat_map(move |n| {
        (prop::collection::vec(element.clone(), n), prop::collection::vec(element.clone(), n))
    })
}

/// 33 ones: lane 0 has two, every other lane has one; 33 in all.
#[test]
fn a_tail_is_summed_in_the_first_lanes() {
    assert_eq!(dot(&[1.0; 33], &[1.0; 33]).to_bits(), 33.0_f32.to_bits());
    assert_eq!(l2_squared(&[3.0; 33], &[1.0; 33]).to_bits(), 132.0_f32.to_bits());
}

/// Lane 0 sums 2^24 + 1 = 2^24 (rounded), then the tree adds 1 from lane 1: 2^24 again. In the order of
/// elements with one more bit it would be 2^24 + 2.
#[test]
fn the_order_of_summation_is_the_documented_one() {
    let mut a = vec![0.0; LANES + 1];
    a[0] = 16_777_216.0;
    a[1] = 1.0;
    a[LANES] = 1.0;

    assert_eq!(dot(&a, &[1.0; LANES + 1]).to_bits(), 16_777_216.0_f32.to_bits());
}

#[test]
fn the_empty_vectors_have_product_and_distance_0() {
    assert_eq!(dot(&[], &[]).to_bits(), 0);
    assert_eq!(l2_squared(&[], &[]).to_bits(), 0);
    assert_eq!(dot_fast(&[], &[]).to_bits(), 0);
    let mut none = [];
    dot_rows(&[1.0], &[], &mut none);
    let mut scores = [7.0; 3];
    dot_fast_rows(&[], &[], &mut scores);
    assert_eq!(scores.map(f32::to_bits), [0; 3]);
}

proptest! {
    #[test]
    fn every_level_gives_the_bits_of_the_definition((a, b) in two_vectors()) {
        let dot_bits = by_definition(&a, &b, |x, y| x * y).to_bits();
        let l2_bits = by_definition(&a, &b, |x, y| (x - y) * (x - y)).to_bits();

        for level in Level::ALL {
            if use_level(level) {
                prop_assert_eq!(dot(&a, &b).to_bits(), dot_bits, "{:?}", level);
                prop_assert_eq!(l2_squared(&a, &b).to_bits(), l2_bits, "{:?}", level);
            }
        }
    }

    #[test]
    fn rows_at_any_alignment_score_as_they_do_alone(
        (a, b) in two_vectors(),
        shift in 0_usize..5,
        copies in 0_usize..11,
    ) {
        let mut padded = vec![0; shift];
        for copy in 0..copies {
            let factor = [1.0_f32, -0.5, 2.0][copy % 3];
            padded.extend(bytes(&b.iter().map(|x| x * factor).collect::<Vec<_>>()));
        }
        let rows = &padded[shift..];
        let row = |i: usize| floats(&rows[i * a.len() * 4..][..a.len() * 4]).collect::<Vec<_>>();

        for level in Level::ALL.into_iter().filter(|level| use_level(*level)) {
            let (mut dots, mut distances) = (vec![f32::NAN; copies], vec![f32::NAN; copies]);
            dot_rows(&a, rows, &mut dots);
            l2_squared_rows(&a, rows, &mut distances);
            for i in 0..copies {
                prop_assert_eq!(dots[i].to_bits(), dot(&a, &row(i)).to_bits(), "{:?}", level);
                prop_assert_eq!(distances[i].to_bits(), l2_squared(&a, &row(i)).to_bits(), "{:?}", level);
            }
        }
    }

    #[test]
    fn the_fast_product_keeps_its_bound((a, b) in two_vectors(), shift in 0_usize..5) {
        let bound = dot_error_bound(a.len(), norm(&a), norm(&b));
        let mut padded = vec![0; shift];
        padded.extend(bytes(&b));
        let mut score = [0.0];

        dot_fast_rows(&a, &padded[shift..], &mut score);

        let exact = f64::from(dot(&a, &b));
        prop_assert!((f64::from(dot_fast(&a, &b)) - exact).abs() <= bound);
        prop_assert!((f64::from(score[0]) - exact).abs() <= bound);
    }
}
