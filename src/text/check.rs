//! Reading every byte of a segment, for `verify`.

use std::ops::Range;

use fst::Streamer;

use super::assemble::Occurrences;
use super::reader::In;
use super::reader::SegmentReader;
use super::reader::TermPostings;
use super::source::PartSource;
use crate::error::Result;
use crate::format::text::BUCKET_ORDINALS;
use crate::format::text::Damage;
use crate::format::text::Decoded;
use crate::format::text::Kind;
use crate::format::text::LeafColumns;
use crate::format::text::NO_CLASS;
use crate::format::text::Part;
use crate::format::text::Posting;
use crate::format::text::PostingList;
use crate::format::text::TOP_BOUND;
use crate::format::text::TOP_FREQ;
use crate::format::text::length_class;
use crate::format::text::prefix;

impl SegmentReader {
    /// Decodes every list, every set and all positions of the segment, and holds against them what is stored
    /// beside them: the number of leaves of the full field, bounds, and that nothing lies between two entries.
    ///
    /// # Errors
    ///
    /// `Corrupt` for the first one that is damaged; and what `source` reports.
    pub fn check(&self, source: &dyn PartSource) -> Result<()> {
        let mut keys = self.dictionary().stream();
        let mut ends = Ends { postings: 0, positions: 0 };
        let (mut body, mut heading) = (Occurrences::default(), Occurrences::default());
        while let Some((key, value)) = keys.next() {
            if key.first() == Some(&prefix::TERM) {
                let postings = self.postings_at(source, value)?;
                body.clear();
                heading.clear();
                self.occurrences(source, &postings, In::Bodies, |id, at| body.push(id, at))?;
                self.occurrences(source, &postings, In::Headings, |id, at| heading.push(id, at))?;
                let found = self.tally().full_count(&body.postings, &heading.postings);
                if postings.full_count() != found {
                    let why = format!("it is {}, the lists give {found}", postings.full_count());
                    return Err(self.wrong(Part::Postings, value >> 1, "full_count", &why));
                }
                self.check_bounds(&postings, &body.postings)?;
                if let Some((end, positions)) = self.extent(&postings) {
                    ends.entry(self, value >> 1..end)?;
                    ends.positions(self, positions)?;
                }
            } else {
                self.set_at(source, value)?;
                let (_, bytes, start) = self.set_head(source, value)?;
                ends.entry(self, value >> 1..start + u64::from(bytes))?;
            }
        }
        ends.entry(self, self.header().postings_bytes..u64::MAX)?;
        ends.positions(self, self.header().positions_bytes..u64::MAX)
    }

    /// Holds the bounds of the list of leaves of `postings` against `body`, what it holds.
    fn check_bounds(&self, postings: &TermPostings, body: &[Posting]) -> Result<()> {
        let leaves = LeafColumns { full_lens: self.full_lens(), mean_len: self.tally().mean_full_len() };
        let list = self.body_list(postings)?;
        check_bounds(&list, body, &leaves).map_err(|damage| self.body_damage(postings, damage))
    }
}

/// No bound of `list`, a list of `leaves` that holds `postings`, is below the truth.
fn check_bounds(list: &PostingList<'_>, postings: &[Posting], leaves: &LeafColumns<'_>) -> Decoded<()> {
    let bad = |field, why| Err(Damage { field, offset: 0, why });
    let Some(bounds) = list.bounds() else { return Ok(()) };
    let maxima = match list.kind() {
        Kind::Short(_) | Kind::Packed(_) => None,
        Kind::Bucket(list) => Some(list.maxima()),
        Kind::Dense(list) => Some(list.maxima()),
    };
    for posting in postings {
        let len = leaves.full_len(posting.ordinal);
        let bound = bounds.get(posting.term_freq.min(TOP_FREQ) as usize).copied().unwrap_or(NO_CLASS);
        if bound == NO_CLASS || bound > length_class(len).min(TOP_BOUND) {
            return bad("bounds", "a leaf is shorter than its bound says");
        }
        let most = maxima.map(|maxima| maxima.get(posting.ordinal as usize / BUCKET_ORDINALS).copied());
        if most.is_some_and(|most| most < Some(leaves.impact(posting.term_freq, len))) {
            return bad("maxima", "a leaf has more than the maximum of its bucket");
        }
    }
    match bounds {
        [0, ..] => Ok(()),
        _ => bad("bounds", "the bound of no occurrence is not 0"),
    }
}

/// Where the last entry and the last positions ended.
struct Ends {
    postings: u64,
    positions: u64,
}

impl Ends {
    fn entry(&mut self, reader: &SegmentReader, next: Range<u64>) -> Result<()> {
        let before = std::mem::replace(&mut self.postings, next.end);
        let why = "an entry does not begin where the one before ends";
        if next.start == before { Ok(()) } else { Err(reader.wrong(Part::Postings, before, "offset", why)) }
    }

    fn positions(&mut self, reader: &SegmentReader, next: Range<u64>) -> Result<()> {
        let before = std::mem::replace(&mut self.positions, next.end);
        let why = "positions do not begin where those before end";
        if next.start == before { Ok(()) } else { Err(reader.wrong(Part::Positions, before, "offset", why)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::text::encode_postings;

    /// 600 leaves of 3 to 9 terms; a posting for every `step`th.
    fn list(step: u32) -> (Vec<u32>, Vec<Posting>) {
        let lens = (0..600).map(|leaf| 3 + leaf % 7).collect();
        let posting = |ordinal: u32| Posting { ordinal, term_freq: 1 + ordinal % 3 };
        (lens, (0..600).step_by(step as usize).map(posting).collect())
    }

    /// spec
    #[test]
    fn bounds_below_the_truth_are_found_in_bucket_and_dense_lists() {
        // 150 of 600 postings are dense, 149 a bucket list.
        for dense in [true, false] {
            let (full_lens, mut postings) = list(4);
            postings.truncate(if dense { 150 } else { 149 });
            let leaves = LeafColumns { full_lens: &full_lens, mean_len: 6.0 };
            let mut bytes = Vec::new();
            encode_postings(&postings, Some(&leaves), &mut bytes);
            assert_eq!(bytes[0], if dense { 4 } else { 3 });
            let count = u32::try_from(postings.len()).unwrap();
            let field = |bytes: &[u8]| {
                let list = PostingList::parse(bytes, count, 600).unwrap();
                check_bounds(&list, &postings, &leaves).err().map(|damage| damage.field)
            };
            assert_eq!(field(&bytes), None);

            // The kind, 16 bounds, no escape; a bucket list has its offsets before the maxima: 4 of 4 and 4 of 2.
            let maxima = 18 + if dense { 0 } else { 4 + 4 * 2 };
            for (at, change, expected) in
                [(2, 1, "bounds"), (3, 200, "bounds"), (1, 1, "bounds"), (maxima, 255, "maxima")]
            {
                let mut wrong = bytes.clone();
                wrong[at] = wrong[at].wrapping_add(change);
                assert_eq!(field(&wrong), Some(expected), "dense {dense}, byte {at}");
            }
        }
    }
}
