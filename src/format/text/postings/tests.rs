use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8], count: u32, bound: u32) -> Decoded<Vec<Posting>> {
    let mut out = Vec::new();
    PostingList::parse(bytes, count, bound)?.blocks(
        |_, _| true,
        |ids, freqs| {
            out.extend(ids.iter().zip(freqs).map(|(&ordinal, &term_freq)| Posting { ordinal, term_freq }));
        },
    )?;
    Ok(out)
}

fn list(gaps: &[(u32, u32)]) -> Vec<Posting> {
    let mut next = 0;
    let step = |&(gap, term_freq): &(u32, u32)| {
        let ordinal = next + gap;
        next = ordinal + 1;
        Posting { ordinal, term_freq }
    };
    gaps.iter().map(step).collect()
}

/// A list of leaves with `gaps`, and of a segment with `more` leaves behind the last posting.
fn leaf_list(gaps: &[(u32, u32)], more: u32) -> (Vec<Posting>, Vec<u32>, Vec<u8>) {
    let postings = list(gaps);
    let n = postings.last().map_or(0, |posting| posting.ordinal + 1) + more;
    let lens: Vec<u32> = (0..n).map(|leaf| 30 + leaf * 7 % 90 * (leaf % 97)).collect();
    let leaves = LeafColumns { full_lens: &lens, mean_len: 70.0 };
    let mut bytes = Vec::new();
    encode_postings(&postings, Some(&leaves), &mut bytes);
    (postings, lens, bytes)
}

fn count(postings: &[Posting]) -> u32 {
    u32::try_from(postings.len()).unwrap()
}

/// spec: R-7.5.1 (the worked example)
#[test]
fn the_worked_example_of_a_short_list_holds() {
    let mut bytes = Vec::new();

    encode_postings(&list(&[(3, 1), (4, 2), (0, 1)]), None, &mut bytes);

    // Ordinals 3, 8, 9: gaps 3, 4, 0. 2*3 = 6; 2*4 + 1 = 9 and 2 - 2 = 0; 2*0 = 0.
    assert_eq!(bytes, [1, 6, 9, 0, 0]);
}

/// spec: R-7.5.4 (the worked example)
#[test]
fn the_worked_example_of_a_dense_list_holds() {
    // 300 leaves of 10 terms; even ones below 256 have the term once, leaf 4 has it 20 times.
    let postings: Vec<Posting> =
        (0..128).map(|at| Posting { ordinal: 2 * at, term_freq: if at == 2 { 20 } else { 1 } }).collect();
    let leaves = LeafColumns { full_lens: &[10; 300], mean_len: 10.0 };
    let mut bytes = Vec::new();

    encode_postings(&postings, Some(&leaves), &mut bytes);

    assert_eq!(bytes[..3], [4, 0, 10], "kind, place 0, the class of length 10 for frequency 1");
    assert_eq!(bytes[3..16], [255; 13], "no leaf has 2 to 14");
    assert_eq!(bytes[16..18], [10, 1], "nor any class but 10 from 15 on; one escape");
    // 255 * 20 / (20 + 1.2) = 240.6 in the first 256 leaves, none in the others.
    assert_eq!(bytes[18..20], [241, 0]);
    assert_eq!(bytes[20..24], [1, 1, 15, 1], "leaves 0 and 1, 2 and 3, 4 and 5, 6 and 7");
    assert_eq!(bytes[20 + 150..], [4, 0, 0, 0, 20, 0, 0, 0]);
}

/// spec: R-7.5.5 (the worked example)
#[test]
fn the_worked_example_of_a_bucket_list_holds() {
    // 1,000 leaves of 10 terms; every fifth of the first 640 has the term twice.
    let postings: Vec<Posting> = (0..128).map(|at| Posting { ordinal: 5 * at, term_freq: 2 }).collect();
    let leaves = LeafColumns { full_lens: &[10; 1000], mean_len: 10.0 };
    let mut bytes = Vec::new();

    encode_postings(&postings, Some(&leaves), &mut bytes);

    assert_eq!(bytes[..4], [3, 0, 255, 10], "kind; no frequency 1; class 10 for frequency 2");
    assert_eq!(bytes[17], 0, "no escape");
    assert_eq!(bytes[18..22], [0; 4], "the offset of the first 16 buckets");
    // Ordinals below 256: 0 to 255, 52 of them; below 512: 103; below 640: 128.
    assert_eq!(bytes[22..32], [0, 0, 52, 0, 103, 0, 128, 0, 128, 0]);
    // 255 * 2 / (2 + 1.2) = 159.4
    assert_eq!(bytes[32..36], [160, 160, 160, 0]);
    assert_eq!(bytes[36..39], [0, 5, 10]);
    assert_eq!(bytes[36 + 52], 4, "260 is the fifth of bucket 1");
    assert_eq!(bytes[36 + 128..], [0x22; 64]);
}

#[test]
fn the_kind_of_a_list_follows_from_its_length_and_the_count_of_leaves() {
    let kind = |postings: u32, leaves: usize| {
        let postings: Vec<Posting> = (0..postings).map(|ordinal| Posting { ordinal, term_freq: 1 }).collect();
        let lens = vec![10; leaves];
        let mut bytes = Vec::new();
        let columns = LeafColumns { full_lens: &lens, mean_len: 10.0 };
        encode_postings(&postings, Some(&columns), &mut bytes);
        bytes[0]
    };

    assert_eq!([kind(127, 127), kind(127, 100_000)], [SHORT; 2]);
    assert_eq!([kind(128, 4_097), kind(200, 100_000)], [PACKED; 2]);
    assert_eq!([kind(128, 4_096), kind(128, 513)], [BUCKET; 2]);
    assert_eq!([kind(128, 512), kind(128, 128)], [DENSE; 2]);
}

#[test]
fn a_block_that_is_not_wanted_is_not_read() {
    let mut bytes = Vec::new();
    encode_postings(&list(&[(1, 1); 300]), None, &mut bytes);
    let mut seen = Vec::new();

    // Ordinals 1, 3, .. 599: blocks end at 255, 511; the tail is 513 .. 599.
    PostingList::parse(&bytes, 300, 600)
        .unwrap()
        .blocks(|first, last| first <= 300 && 300 <= last, |ids, _| seen.extend_from_slice(ids))
        .unwrap();

    assert_eq!((seen.len(), seen[0], seen[127]), (128, 257, 511));
}

#[test]
fn a_bucket_that_is_not_wanted_is_not_read() {
    for (gap, more) in [(5, 0), (1, 0)] {
        let (postings, lens, bytes) = leaf_list(&[(gap, 1); 300], more);
        let mut seen = Vec::new();

        PostingList::parse(&bytes, count(&postings), u32::try_from(lens.len()).unwrap())
            .unwrap()
            .blocks(|first, last| first <= 300 && 300 <= last, |ids, _| seen.extend_from_slice(ids))
            .unwrap();

        let bucket = postings.iter().map(|posting| posting.ordinal).filter(|id| id >> 8 == 1);
        assert_eq!(seen, bucket.collect::<Vec<_>>());
    }
}

/// Gaps that lead to each of the four kinds.
fn gaps() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let freq = || prop_oneof![8 => 1_u32..4, 2 => 4_u32..20, 1 => 20_u32..5000];
    prop_oneof![
        prop::collection::vec((0_u32..2000, freq()), 0..700),
        prop::collection::vec((0_u32..40, freq()), 120..700),
        prop::collection::vec((0_u32..6, freq()), 120..700),
    ]
}

proptest! {
    #[test]
    fn a_list_comes_back(gaps in gaps(), more in 0_u32..700) {
        let (postings, lens, bytes) = leaf_list(&gaps, more);
        let mut inner = Vec::new();
        encode_postings(&postings, None, &mut inner);
        let n = u32::try_from(lens.len()).unwrap();
        let last = postings.last().map_or(0, |posting| posting.ordinal);

        prop_assert_eq!(decode(&bytes, count(&postings), n), Ok(postings.clone()));
        prop_assert_eq!(decode(&inner, count(&postings), n), Ok(postings.clone()));
        prop_assert!(postings.is_empty() || decode(&bytes, count(&postings), last).is_err());
        prop_assert!(postings.is_empty() || decode(&inner, count(&postings), last).is_err());
    }

    #[test]
    fn every_posting_is_found_in_its_place_and_no_other(gaps in gaps(), more in 0_u32..700) {
        let (postings, lens, bytes) = leaf_list(&gaps, more);
        let n = u32::try_from(lens.len()).unwrap();
        let list = PostingList::parse(&bytes, count(&postings), n).unwrap();
        let by_bucket = matches!(list.kind(), Kind::Bucket(_) | Kind::Dense(_));

        let (mut index, mut before, mut group) = (0, 0, 0);
        for (at, posting) in (0_u32..).zip(&postings) {
            let own = if by_bucket { posting.ordinal / 256 } else { at / 128 };
            if own != group {
                (index, before, group) = (0, 0, own);
            }
            let expected = Found { group, index, before, term_freq: posting.term_freq };
            prop_assert_eq!(list.find(posting.ordinal), Ok(Some(expected)));
            index += 1;
            before += u64::from(posting.term_freq);
            let next = posting.ordinal + 1;
            if postings.get(at as usize + 1).is_none_or(|posting| posting.ordinal != next) {
                prop_assert_eq!(list.find(next), Ok(None));
            }
        }
        prop_assert_eq!(list.find(u32::MAX), Ok(None));
    }

    #[test]
    fn the_groups_of_a_range_hold_its_postings_and_have_their_numbers(
        gaps in gaps(),
        more in 0_u32..700,
        range in (0_u32..3_000, 0_u32..3_000),
    ) {
        let (postings, lens, bytes) = leaf_list(&gaps, more);
        let list = PostingList::parse(&bytes, count(&postings), u32::try_from(lens.len()).unwrap()).unwrap();
        let range = range.0.min(range.1)..range.0.max(range.1);
        let (mut found, mut asked) = (Vec::new(), Vec::new());

        let wanted = |group, first, last| {
            asked.push((group, first, last));
            true
        };
        list.groups_in(range.clone(), wanted, |group, ids, freqs| {
            found.extend(ids.iter().zip(freqs).map(|(id, freq)| (group, *id, *freq)));
        }).unwrap();

        prop_assert!(asked.iter().all(|(_, first, last)| *first < range.end && *last >= range.start));
        let inside = found.iter().filter(|(_, id, _)| range.contains(id)).map(|(_, id, freq)| (*id, *freq));
        let expected = postings.iter().filter(|posting| range.contains(&posting.ordinal));
        prop_assert!(inside.eq(expected.map(|posting| (posting.ordinal, posting.term_freq))));
        for (group, id, _) in found {
            prop_assert_eq!(list.find(id).unwrap().map(|place| place.group), Some(group));
        }
    }

    #[test]
    fn bounds_and_maxima_are_those_of_the_postings(gaps in gaps(), more in 0_u32..700) {
        let (postings, lens, bytes) = leaf_list(&gaps, more);
        let n = u32::try_from(lens.len()).unwrap();
        let list = PostingList::parse(&bytes, count(&postings), n).unwrap();
        let class = |posting: &Posting| length_class(lens[posting.ordinal as usize]);

        if let Some(bounds) = list.bounds() {
            for (freq, bound) in (0..).zip(bounds).skip(1) {
                let such = postings.iter().filter(|posting| posting.term_freq.min(15) == freq);
                prop_assert_eq!(*bound, such.map(class).min().map_or(NO_CLASS, |class| class.min(TOP_BOUND)));
            }
        }
        let (Kind::Bucket(_) | Kind::Dense(_)) = list.kind() else { return Ok(()) };
        let maxima = match list.kind() {
            Kind::Bucket(list) => list.maxima(),
            Kind::Dense(list) => list.maxima(),
            _ => &[],
        };
        prop_assert_eq!(maxima.len(), lens.len().div_ceil(256));
        for posting in &postings {
            let (tf, len) = (f64::from(posting.term_freq), f64::from(lens[posting.ordinal as usize]));
            let part = tf / (tf + 1.2 * (0.25 + 0.75 * len / 70.0));
            prop_assert!(f64::from(maxima[posting.ordinal as usize / 256]) >= 255.0 * part);
        }
    }

    #[test]
    fn damaged_lists_give_ascending_ordinals_below_the_bound_or_an_error(
        gaps in gaps(),
        more in 0_u32..700,
        at in any::<prop::sample::Index>(),
        mask in 1_u8..,
        cut in 0_usize..3,
    ) {
        let (postings, lens, mut bytes) = leaf_list(&gaps, more);
        prop_assume!(!bytes.is_empty());
        let n = u32::try_from(lens.len()).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= mask;
        bytes.truncate(bytes.len() - cut.min(bytes.len()));

        if let Ok(out) = decode(&bytes, count(&postings), n) {
            prop_assert!(out.is_sorted_by(|a, b| a.ordinal < b.ordinal));
            prop_assert!(out.iter().all(|p| p.ordinal < n && p.term_freq > 0));
            prop_assert_eq!(out.len(), postings.len());
        }
        if let Ok(list) = PostingList::parse(&bytes, count(&postings), n) {
            for ordinal in (0..n).step_by(97).chain([u32::MAX]) {
                let found = list.find(ordinal);
                prop_assert!(found.is_err() || found.unwrap().is_none_or(|found| found.term_freq > 0));
            }
        }
    }

    #[test]
    fn any_bytes_are_a_list_or_an_error(
        kind in 1_u8..5,
        rest in prop::collection::vec(any::<u8>(), 0..900),
        count in 0_u32..400,
        bound in 0_u32..2000,
    ) {
        let bytes = [&[kind][..], &rest].concat();

        if let Ok(out) = decode(&bytes, count, bound) {
            prop_assert_eq!(out.len(), count as usize);
            prop_assert!(out.iter().all(|posting| posting.ordinal < bound));
        }
    }
}

#[test]
fn offsets_that_go_back_and_escapes_out_of_place_are_refused() {
    let (postings, lens, bytes) = leaf_list(&[(5, 20); 300], 0);
    let n = u32::try_from(lens.len()).unwrap();
    let why = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        PostingList::parse(&bytes, count(&postings), n).map(|list| list.count()).unwrap_err().field
    };

    // 18 bytes to the offsets (300 escapes take two more bytes of varint), then 4 for 8 buckets, then 9 x 2.
    let fine = 19 + 4;
    assert_eq!(bytes[0], BUCKET);
    assert_eq!(why(fine, 1), "offsets");
    assert_eq!(why(fine + 2, 255), "offsets");
    assert_eq!(why(fine + 17, 9), "offsets");
    // The last escape: its ordinal, then its frequency of 20.
    assert_eq!(why(bytes.len() - 4, 14), "escapes");
    assert_eq!(why(bytes.len() - 8, 0), "escapes");
}

#[test]
fn the_largest_ordinals_and_frequencies_come_back() {
    let mut postings = list(&[(5, u32::MAX); 127]);
    postings.push(Posting { ordinal: u32::MAX - 2, term_freq: u32::MAX });
    postings.push(Posting { ordinal: u32::MAX - 1, term_freq: u32::MAX });
    let mut bytes = Vec::new();
    encode_postings(&postings, None, &mut bytes);

    assert_eq!(decode(&bytes, 129, u32::MAX), Ok(postings));
}
