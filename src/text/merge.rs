//! Joining segments.

use fst::Streamer;
use roaring::RoaringBitmap;

use super::assemble::Assembler;
use super::assemble::Occurrences;
use super::assemble::PartSink;
use super::live::Live;
use super::reader::In;
use super::reader::SegmentReader;
use super::source::PartSource;
use super::tally::NONE;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::SegmentHeader;
use crate::format::text::prefix;

/// Sends to `sink` one segment that holds the live nodes of `segments`, equal to one built from them alone, and
/// gives its header. The dictionaries are walked side by side; in memory are the new dictionary, the node
/// records, and one list at a time. Ids do not change; those of deleted nodes are left out.
///
/// * `segments`: ascending, no two with overlapping node ranges.
/// * `deleted`: nodes; with a node its descendants are deleted too, whether named or not.
///
/// # Errors
///
/// `InvalidInput` if the segments do not ascend; `Corrupt` if one is damaged; and what `source` and `sink` report.
pub fn merge(
    segments: &[&SegmentReader],
    source: &dyn PartSource,
    deleted: &RoaringBitmap,
    sink: &mut dyn PartSink,
) -> Result<SegmentHeader> {
    if !segments.is_sorted_by(|a, b| a.header().last_node < b.header().first_node) {
        return Err(Error::invalid("segments to merge must ascend and be disjoint"));
    }
    let mut leaves = Vec::new();
    let mut inner = Vec::new();
    let mut gone = RoaringBitmap::new();
    let mut maps = Vec::new();
    for reader in segments {
        let live = Live::of(reader, deleted);
        let lives = |at| live.as_ref().is_none_or(|live| live.has_leaf(at));
        let leaf_map = renumber(reader.leaves(), lives, &mut leaves, |leaf| _ = gone.insert(leaf.node));
        let lives = |at| live.as_ref().is_none_or(|live| live.has_inner(at));
        let inner_map = renumber(reader.inner(), lives, &mut inner, |node| _ = gone.insert(node.node));
        maps.push((*reader, leaf_map, inner_map));
    }

    let mut out = Assembler::new(&leaves, &inner, sink)?;
    let mut union =
        segments.iter().fold(fst::map::OpBuilder::new(), |op, reader| op.add(reader.dictionary())).union();
    let (mut body, mut heading) = (Occurrences::default(), Occurrences::default());
    while let Some((key, found)) = union.next() {
        let mut found = found.to_vec();
        found.sort_unstable_by_key(|in_one| in_one.index);
        let found = found.iter().filter_map(|in_one| Some((maps.get(in_one.index)?, in_one.value)));
        if key.first() == Some(&prefix::TERM) {
            body.clear();
            heading.clear();
            for ((reader, leaf_map, inner_map), value) in found {
                let postings = reader.postings_at(source, value)?;
                let each = |id, positions: &[u32]| append(id, positions, leaf_map, &mut body);
                reader.occurrences(source, &postings, In::Bodies, each)?;
                let each = |id, positions: &[u32]| append(id, positions, inner_map, &mut heading);
                reader.occurrences(source, &postings, In::Headings, each)?;
            }
            if !(body.postings.is_empty() && heading.postings.is_empty()) {
                out.term(key, &body, &heading)?;
            }
        } else {
            let mut set = RoaringBitmap::new();
            for ((reader, ..), value) in found {
                set |= reader.set_at(source, value)?;
            }
            set -= &gone;
            if !set.is_empty() {
                out.set(key, &set)?;
            }
        }
    }
    out.finish()
}

/// Appends the `records` that `lives` says live to `out` and gives `gone` the others; gives for each its new
/// ordinal, [`NONE`] for a dead one.
fn renumber<T: Copy>(
    records: &[T],
    lives: impl Fn(u32) -> bool,
    out: &mut Vec<T>,
    mut gone: impl FnMut(&T),
) -> Vec<u32> {
    let number = |(at, record): (u32, &T)| {
        if !lives(at) {
            gone(record);
            return NONE;
        }
        out.push(*record);
        u32::try_from(out.len() - 1).unwrap_or(NONE)
    };
    (0..).zip(records).map(number).collect()
}

/// Appends the posting of node `id` to `out` under its new ordinal, if it lives.
fn append(id: u32, positions: &[u32], map: &[u32], out: &mut Occurrences) {
    if let Some(&ordinal) = map.get(id as usize).filter(|ordinal| **ordinal != NONE) {
        out.push(ordinal, positions);
    }
}
