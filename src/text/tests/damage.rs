//! Every byte of every part damaged: another answer or an error, never a panic.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::support::Memory;
use super::support::WORDS;
use super::support::build;
use super::support::forest;
use super::support::merged;
use crate::error::Result;
use crate::format::text::SegmentHeader;
use crate::ids::SegmentId;
use crate::text::Bm25;
use crate::text::Field;
use crate::text::Scorer;
use crate::text::SegmentReader;
use crate::text::TextIndex;

/// Asks all there is to ask.
fn use_it(header: &SegmentHeader, memory: Memory) -> Result<()> {
    let reader = Arc::new(SegmentReader::open(SegmentId(1), header, &memory)?);
    let merged = merged(&[&reader], &memory, &[3].into()).map(drop);
    let index = TextIndex::new(vec![reader], Arc::new(RoaringBitmap::from([4])), Arc::new(memory))?;
    let view = index.everything();
    let words: Vec<&str> = WORDS.into_iter().chain(["many"]).collect();
    let hits: Vec<_> = words.iter().flat_map(|word| index.hits(&view, &[word])).flatten().collect();
    let scorer = Scorer::new(&view, &hits, Bm25::default());
    let _ = scorer.leaf_scores();
    let _ = scorer.leaf_scores_by_document();
    let _ = scorer.section_scores();
    let _ = scorer.window_scores(2);
    let _ = scorer.document_scores();
    let _ = scorer.range_scores(&view.sections().iter().map(|section| section.range).collect::<Vec<_>>());
    let _ = scorer.doc_freqs(Field::Section);
    let sets = [index.nodes_of_kind(3), index.nodes_at_level(1), index.nodes_with_attribute("color=red")];
    let terms = index.terms_with_prefix("", 99).map(drop);
    index.search(&words, None, 5)?;
    sets.into_iter().try_for_each(|set| set.map(drop)).and(terms).and(merged)
}

#[test]
fn damage_anywhere_is_an_error_or_another_answer() {
    // 300 leaves so that one list is packed, with a few sections above.
    let mut steps = vec![(8, vec![0, 1]), (7, vec![2])];
    for leaf in 0..150_u8 {
        steps.push((0, vec![leaf % 6, 0]));
        if leaf % 40 == 0 {
            steps.push((6, vec![leaf % 5]));
        }
    }
    let parts = build(&forest(&steps));
    let whole = || {
        let mut memory = Memory::default();
        memory.put(1, &parts);
        memory
    };
    use_it(&parts.header, whole()).expect("it is whole");
    let mut refused = 0;

    for (part, index, bytes) in &parts.chunks {
        for at in 0..bytes.len() {
            for mask in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                let mut memory = whole();
                memory.0.insert((1, *part, *index), damaged.into());
                refused += usize::from(use_it(&parts.header, memory).is_err());
            }
        }
        for len in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let mut memory = whole();
            memory.0.insert((1, *part, *index), bytes[..len].into());
            assert!(use_it(&parts.header, memory).is_err());
        }
        let mut memory = whole();
        memory.0.remove(&(1, *part, *index));
        assert!(use_it(&parts.header, memory).is_err());
    }

    assert!(refused > 1000, "{refused}");
}

#[test]
fn a_header_that_claims_more_than_there_is_is_refused_without_allocating_it() {
    let parts = build(&forest(&[(8, vec![0]), (0, vec![1])]));
    let claims: [fn(&mut SegmentHeader); 9] = [
        |header| header.leaf_count = u32::MAX,
        |header| header.inner_count = u32::MAX,
        |header| header.list_count = u32::MAX,
        |header| header.dictionary_bytes = u64::MAX,
        |header| header.first_node = 0,
        |header| header.last_node = 9,
        |header| header.own_terms = 7,
        |header| header.section_count = 0,
        |header| header.leaf_count = 0,
    ];

    for claim in claims {
        let mut header = parts.header.clone();
        claim(&mut header);
        let mut memory = Memory::default();
        memory.put(1, &parts);
        assert!(SegmentReader::open(SegmentId(1), &header, &memory).is_err());
    }
}

#[test]
fn a_dictionary_of_half_its_bytes_names_its_part() {
    let parts = build(&forest(&[(8, vec![0]), (0, vec![1])]));
    let mut memory = Memory::default();
    memory.put(7, &parts);
    let half = parts.chunks[0].2[..20].into();
    memory.0.insert((7, 1, 0), half);

    let error = SegmentReader::open(SegmentId(7), &parts.header, &memory).expect_err("it is cut");

    let at = error.corruption().expect("it is corrupt");
    assert_eq!((at.table.as_str(), at.key.as_str()), ("text_parts", "7, 1, 0"));
}
