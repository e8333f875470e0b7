use super::*;
use crate::kernels;

/// `v'(i)` made and multiplied, as the formula says.
fn directly(
    query: &[f32],
    rows: &[Vec<f32>],
    sections: &[Range<usize>],
    section_of: &[Option<usize>],
) -> Vec<f64> {
    let unit = |v: Vec<f64>| {
        let norm = norm(&v);
        v.into_iter().map(|x| if norm > 0.0 { x / norm } else { 0.0 }).collect::<Vec<f64>>()
    };
    let wide = |i: usize| rows[i].iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let add = |to: &mut Vec<f64>, what: &[f64], weight: f64| {
        to.iter_mut().zip(what).for_each(|(x, y)| *x += weight * y);
    };
    (0..rows.len())
        .map(|i| {
            let mut mixed = wide(i);
            if i > 0 {
                add(&mut mixed, &wide(i - 1), 0.2);
            }
            if i + 1 < rows.len() {
                add(&mut mixed, &wide(i + 1), 0.2);
            }
            if let Some(section) = section_of[i] {
                let mut sum = vec![0.0; query.len()];
                for j in sections[section].clone() {
                    add(&mut sum, &wide(j), 1.0);
                }
                add(&mut mixed, &unit(sum), 0.2);
            }
            unit(mixed).iter().zip(query).map(|(x, q)| x * f64::from(*q)).sum()
        })
        .collect()
}

#[test]
fn scores_from_norms_equal_those_of_the_mixed_vectors() {
    let wave =
        |i: usize, j: usize| f32::from(u8::try_from((i * 7 + j * 13 + i * j) % 23).expect("small")) - 11.0;
    let row = |i: usize| {
        let mut row: Vec<f32> = (0..16).map(|j| wave(i, j)).collect();
        let norm = narrow(kernels::norm(&row));
        for x in &mut row {
            *x /= norm;
        }
        if i == 4 { vec![0.0; 16] } else { row }
    };
    let rows: Vec<Vec<f32>> = (0..12).map(row).collect();
    // The whole, two parts of it, one nested in the second, one empty.
    let sections = [0..12, 0..5, 5..12, 8..11, 7..7];
    let section_of: Vec<Option<usize>> = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0]
        .iter()
        .map(|s| Some(*s))
        .enumerate()
        .map(|(i, s)| s.filter(|_| i != 6))
        .collect();
    let query = row(30);

    let norms = context_norms(&rows.concat(), 16, &sections, &section_of).expect("shapes fit");
    let scores: Vec<f32> = rows.iter().map(|row| kernels::dot(&query, row)).collect();
    let mixed = context_scores(&scores, &sections, &section_of, &norms).expect("shapes fit");

    for (i, (score, expected)) in
        mixed.iter().zip(directly(&query, &rows, &sections, &section_of)).enumerate()
    {
        assert!((f64::from(*score) - expected).abs() < 1e-6, "leaf {i}: {score} {expected}");
    }
    assert_eq!(norms.section_norms[4].to_bits(), 0);
}

/// One leaf (1, 0), its own section: 1 + 0.2 = 1.2 long, so that the score is (1 + 0.2 / 1) / 1.2 = 1.
#[test]
fn a_leaf_without_neighbours_mixes_with_zeros() {
    let norms = context_norms(&[1.0, 0.0], 2, &[0..1, 0..1], &[Some(0)]).expect("shapes fit");

    assert_eq!(norms, ContextNorms { leaf_norms: vec![1.2], section_norms: vec![1.0, 1.0] });
    let scores = context_scores(&[1.0], &[0..1, 0..1], &[Some(0)], &norms).expect("shapes fit");
    assert!((scores[0] - 1.0).abs() < 1e-6);
}

#[test]
fn zeros_score_0() {
    let sections = [0..2, 0..2];
    let norms = context_norms(&[0.0; 4], 2, &sections, &[Some(0), None]).expect("shapes fit");

    assert_eq!(norms, ContextNorms { leaf_norms: vec![0.0; 2], section_norms: vec![0.0; 2] });
    assert_eq!(context_scores(&[0.0; 2], &sections, &[Some(0), None], &norms).expect("fit"), [0.0; 2]);
    let none = context_norms(&[], 2, &[], &[]).expect("shapes fit");
    assert_eq!(context_scores(&[], &[], &[], &none).expect("shapes fit"), [0.0_f32; 0]);
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
fn shapes_that_do_not_fit_are_refused() {
    assert!(context_norms(&[1.0; 3], 2, &[], &[None]).is_err());
    for (section, of) in [(0..2, None), (1..0, None), (0..1, Some(2))] {
        assert!(context_norms(&[1.0; 2], 2, &[section, 0..1], &[of]).is_err());
    }
    assert!(context_norms(&[], 0, &[], &[]).is_err());
    let norms = ContextNorms::default();
    assert!(context_scores(&[1.0], &[], &[None], &norms).is_err());
}
