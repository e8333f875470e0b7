//! Joining segments.

use fst::Streamer;
use roaring::RoaringBitmap;

use super::builder::Assembler;
use super::builder::SegmentParts;
use super::reader::PartSource;
use super::reader::SegmentReader;
use super::tally::NONE;
use crate::error::Error;
use crate::error::Result;
use crate::format::text::Posting;
use crate::format::text::encode_postings;
use crate::format::text::prefix;

/// Which nodes of a segment live: neither they nor an ancestor are deleted. By ordinal.
pub(super) struct Live {
    pub(super) leaves: Vec<bool>,
    pub(super) inner: Vec<bool>,
}

impl Live {
    /// The live nodes of `reader`; `None` if all are.
    pub(super) fn of(reader: &SegmentReader, deleted: &RoaringBitmap) -> Option<Self> {
        let header = reader.header();
        if header.is_empty() || deleted.range_cardinality(header.first_node..=header.last_node) == 0 {
            return None;
        }
        let mut inner: Vec<bool> = Vec::with_capacity(reader.inner().len());
        for (node, parent) in reader.inner().iter().zip(reader.inner_parents()) {
            let parent_lives = *parent == NONE || inner.get(*parent as usize).copied().unwrap_or(false);
            inner.push(parent_lives && !deleted.contains(node.node));
        }
        let lives = |parent: u32| inner.get(parent as usize).copied().unwrap_or(false);
        let pairs = reader.leaves().iter().zip(reader.leaf_parents());
        let leaves = pairs.map(|(leaf, parent)| lives(*parent) && !deleted.contains(leaf.node)).collect();
        Some(Self { leaves, inner })
    }
}

/// One segment that holds the live nodes of `segments`, equal to one built from them alone. The dictionaries
/// are walked side by side; the result is in memory. Ids do not change; those of deleted nodes are left out.
///
/// * `segments`: ascending, no two with overlapping node ranges.
/// * `deleted`: nodes; with a node its descendants are deleted too, whether named or not.
///
/// # Errors
///
/// `InvalidInput` if the segments do not ascend; `Corrupt` if one is damaged; and what `source` reports.
pub fn merge(
    segments: &[&SegmentReader],
    source: &dyn PartSource,
    deleted: &RoaringBitmap,
) -> Result<SegmentParts> {
    if !segments.is_sorted_by(|a, b| a.header().last_node < b.header().first_node) {
        return Err(Error::invalid("segments to merge must ascend and be disjoint"));
    }
    let mut leaves = Vec::new();
    let mut inner = Vec::new();
    let mut gone = RoaringBitmap::new();
    let mut maps = Vec::new();
    for reader in segments {
        let live = Live::of(reader, deleted);
        let (live_leaves, live_inner) =
            live.as_ref().map_or((None, None), |l| (Some(&l.leaves), Some(&l.inner)));
        let leaf_map = renumber(reader.leaves(), live_leaves, &mut leaves);
        let inner_map = renumber(reader.inner(), live_inner, &mut inner);
        let dead = |map: &[u32], at: usize| map.get(at) == Some(&NONE);
        let nodes = reader.leaves().iter().enumerate().filter(|(at, _)| dead(&leaf_map, *at));
        gone.extend(nodes.map(|(_, leaf)| leaf.node));
        let nodes = reader.inner().iter().enumerate().filter(|(at, _)| dead(&inner_map, *at));
        gone.extend(nodes.map(|(_, node)| node.node));
        maps.push((*reader, leaf_map, inner_map));
    }

    let mut out = Assembler::new();
    let mut union =
        segments.iter().fold(fst::map::OpBuilder::new(), |op, reader| op.add(reader.dictionary())).union();
    let (mut body, mut heading) = (Vec::new(), Vec::new());
    while let Some((key, found)) = union.next() {
        let mut found = found.to_vec();
        found.sort_unstable_by_key(|in_one| in_one.index);
        let mut set = RoaringBitmap::new();
        body.clear();
        heading.clear();
        let is_term = key.first() == Some(&prefix::TERM);
        for in_one in found {
            let Some((reader, leaf_map, inner_map)) = maps.get(in_one.index) else { continue };
            if is_term {
                let postings = reader.postings_at(source, in_one.value)?;
                reader.body_blocks(
                    &postings,
                    |_, _| true,
                    |ids, freqs| append(ids, freqs, leaf_map, &mut body),
                )?;
                let each = |ids: &[u32], freqs: &[u32]| append(ids, freqs, inner_map, &mut heading);
                reader.heading_blocks(&postings, |_, _| true, each)?;
            } else {
                set |= reader.set_at(source, in_one.value)?;
            }
        }
        if is_term && !(body.is_empty() && heading.is_empty()) {
            let count = |list: &[Posting]| u32::try_from(list.len()).unwrap_or(u32::MAX);
            out.term(
                key,
                (count(&body), count(&heading)),
                |out| encode_postings(&body, None, out),
                |out| encode_postings(&heading, None, out),
            )?;
        } else if !is_term {
            set -= &gone;
            if !set.is_empty() {
                out.set(key, &set)?;
            }
        }
    }
    out.finish(&leaves, &inner)
}

/// Appends the live `records` to `out`; gives for each its new ordinal, [`NONE`] for a dead one.
fn renumber<T: Copy>(records: &[T], live: Option<&Vec<bool>>, out: &mut Vec<T>) -> Vec<u32> {
    let lives = |at: usize| live.is_none_or(|live| live.get(at).copied().unwrap_or(false));
    let number = |(at, record): (usize, &T)| {
        if !lives(at) {
            return NONE;
        }
        out.push(*record);
        u32::try_from(out.len() - 1).unwrap_or(NONE)
    };
    records.iter().enumerate().map(number).collect()
}

fn append(ids: &[u32], freqs: &[u32], map: &[u32], out: &mut Vec<Posting>) {
    for (id, term_freq) in ids.iter().zip(freqs) {
        if let Some(&ordinal) = map.get(*id as usize).filter(|ordinal| **ordinal != NONE) {
            out.push(Posting { ordinal, term_freq: *term_freq });
        }
    }
}
