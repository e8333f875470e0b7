//! The first byte picks the record kind, the rest is its payload; a valid frame is put around it.
#![no_main]

use evdb::format::document::{DOCUMENT, DOCUMENT_KEY, DocumentRecord, ROOT, TEXT, decode_text_block};
use evdb::format::frame::RecordKind;
use evdb::format::graph::{
    DocumentPart, ENTITY, EntityRecord, GRAPH_DOCUMENT, GraphCounters, GraphManifest, GraphSegmentEntry, HYPEREDGE,
    HyperedgeRecord,
};
use evdb::format::identity::{CATALOGUE, CatalogueEntry, Counters, Identity, META};
use evdb::format::manifest::{DELETED, MANIFEST, Manifest};
use evdb::format::text::{
    Grouping, Place, PositionList, PostingList, SEGMENT, SegmentHeader, TermEntry, decode_set, take_set_head,
};
use evdb::format::tree::TREE;
use evdb::format::vector::{BLOCK, CONTEXT, VectorBlock};
use evdb::format::{codec, key};
use evdb::graph::{Graph, GraphSegment};
use evdb::tree::{Claims, Tree};
use evdb::vector::{ContextNorms, SpaceRecord};
use evdb::{DocumentId, NodeId, SpaceId};
use libfuzzer_sys::fuzz_target;

fn record<T: codec::Decode<()>>(kind: &RecordKind, payload: &[u8]) {
    if let Ok(value) = kind.seal(b"key", payload) {
        let _ = codec::open::<T>(kind, b"key", &value);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, payload)) = data.split_first() else { return };
    let one = key::one(1);
    match kind % 18 {
        0 => record::<Identity>(&META, payload),
        1 => record::<Counters>(&META, payload),
        2 => record::<CatalogueEntry>(&CATALOGUE, payload),
        3 => record::<DocumentRecord>(&DOCUMENT, payload),
        4 => record::<u32>(&DOCUMENT_KEY, payload),
        5 => record::<u32>(&ROOT, payload),
        6 => {
            let nodes = u32::from(*payload.first().unwrap_or(&0));
            let claims = Claims { first: NodeId(1), nodes, text_bytes: 1_000 };
            if let Ok(tree) = Tree::open(TREE.table.as_bytes(), payload.get(1..).unwrap_or_default(), claims) {
                for node in tree.nodes() {
                    let _ = (node.title(), node.summary(), node.span(), node.attributes().count());
                    tree.heading_path(node.id()).expect("a node of the tree");
                }
            }
        }
        7 => drop(TEXT.seal(&one, payload).map(|_| decode_text_block(&one, payload))),
        8 => record::<Manifest>(&MANIFEST, payload),
        9 => record::<SegmentHeader>(&SEGMENT, payload),
        10 => drop(DELETED.seal(&one, payload).map(|_| decode_set(payload))),
        11 => {
            let (count, bound) = (u32::from(*payload.first().unwrap_or(&0)) * 3, 1_000);
            let bytes = payload.get(1..).unwrap_or_default();
            if let Ok(list) = PostingList::parse(bytes, count, bound) {
                let _ = list.blocks(|_, _| true, |ids, counts| assert_eq!(ids.len(), counts.len()));
                let _ = (list.find(0), list.find(500), list.find(u32::MAX));
            }
        }
        16 => {
            record::<EntityRecord>(&ENTITY, payload);
            record::<HyperedgeRecord>(&HYPEREDGE, payload);
            record::<DocumentPart>(&GRAPH_DOCUMENT, payload);
            record::<GraphManifest>(&MANIFEST, payload);
            record::<GraphCounters>(&META, payload);
        }
        17 => {
            // A byte for each number of the manifest, then the parts, one after the other.
            let Some((head, mut rest)) = payload.split_first_chunk::<7>() else { return };
            let [first_node, last_node, hyperedges, members, supports, entities, mentions] = head.map(u32::from);
            let entry =
                GraphSegmentEntry { segment: 1, first_node, last_node, hyperedges, members, supports, entities, mentions };
            let mut parts = entry.parts().into_iter().map(|(_, rows, size)| {
                let (own, after) = rest.split_at(rest.len().min(rows as usize * size));
                rest = after;
                own.to_vec()
            });
            if let Ok(segment) = GraphSegment::decode(&entry, |_| Ok(parts.next().unwrap_or_default())) {
                let _ = Graph::new(&segment, std::collections::BTreeMap::new());
            }
        }
        14 => {
            let place = Place::of(u64::from_le_bytes(*payload.first_chunk().unwrap_or(&[0; 8])));
            assert_eq!(place.value().map(Place::of), Some(place));
            let _ = (TermEntry::take(&mut &*payload), take_set_head(&mut &*payload));
        }
        15 => {
            // A byte of what is asked, then a frequency for each posting, then the positions.
            let Some((&asked, rest)) = payload.split_first() else { return };
            let (freqs, bytes) = rest.split_at(rest.len().min(usize::from(asked) * 2));
            let grouping = if asked % 2 == 0 { Grouping::Blocks } else { Grouping::Buckets };
            let count = u32::try_from(freqs.len()).unwrap_or_default();
            if let Ok(positions) = PositionList::parse(bytes, grouping, count, 3 * count) {
                let (mut walk, mut out) = (positions.walk(), Vec::new());
                for (ordinal, freq) in (0..).step_by(3).zip(freqs) {
                    if walk.next(ordinal, u32::from(*freq), &mut out).is_err() {
                        return;
                    }
                    assert!(out.is_sorted() && out.len() == usize::from(*freq));
                }
                let _ = walk.finish();
            }
        }
        12 => {
            let space = key::one(1);
            if let Ok(value) = evdb::format::vector::SPACE.seal(&space, payload) {
                let _ = SpaceRecord::open(SpaceId(1), &value);
            }
            let pair = key::two(1, 0);
            if let Ok(value) = BLOCK.seal(&pair, payload)
                && let Ok(block) = VectorBlock::of_value(SpaceId(1), 0, &value)
            {
                let _ = (block.nodes().count(), (0..block.len()).map(|row| block.row(row).len()).sum::<usize>());
            }
        }
        _ => {
            let pair = key::two(1, 1);
            if let Ok(value) = CONTEXT.seal(&pair, payload) {
                let _ = ContextNorms::open(SpaceId(1), DocumentId(1), &value);
            }
        }
    }
});
