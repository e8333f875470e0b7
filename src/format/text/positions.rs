//! Positions of terms. format-spec.md section 7.10.

use super::BLOCK;
use super::BUCKET_ORDINALS;
use super::Damage;
use super::Decoded;
use super::Posting;

const BLOCK_POSTINGS: u32 = BLOCK as u32;
const BUCKET: u32 = BUCKET_ORDINALS as u32;

/// How the postings of a list are put into groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// [`BLOCK`] postings a group, in their order; the last may be smaller.
    Blocks,
    /// The postings of [`BUCKET_ORDINALS`] ordinals a group; some may be empty.
    Buckets,
}

impl Grouping {
    /// The grouping that goes with the list `bytes`: by buckets if it is a bucket or dense list.
    #[must_use]
    pub const fn of_list(bytes: &[u8]) -> Self {
        match bytes {
            [3 | 4, ..] => Self::Buckets,
            _ => Self::Blocks,
        }
    }

    /// How many groups a list of `count` postings with ordinals below `bound` has.
    #[must_use]
    pub const fn groups(self, count: u32, bound: u32) -> u32 {
        match self {
            _ if count == 0 => 0,
            Self::Blocks => count.div_ceil(BLOCK_POSTINGS),
            Self::Buckets => bound.div_ceil(BUCKET),
        }
    }

    /// The group of posting `index` of its list, whose ordinal is `ordinal`.
    #[must_use]
    pub const fn group_of(self, index: u32, ordinal: u32) -> u32 {
        match self {
            Self::Blocks => index / BLOCK_POSTINGS,
            Self::Buckets => ordinal / BUCKET,
        }
    }
}

/// Appends to `out` the positions of `postings`, which are a list with ordinals below `bound`.
///
/// * `positions`: those of the first posting, as many as its frequency and not descending, then those of the
///   next, and so on.
pub fn encode_positions(
    postings: &[Posting],
    positions: &[u32],
    grouping: Grouping,
    bound: u32,
    out: &mut Vec<u8>,
) {
    let count = u32::try_from(postings.len()).unwrap_or(u32::MAX);
    let groups = grouping.groups(count, bound);
    let table = out.len();
    let table_bytes = if groups > 1 { 4 * groups as usize } else { 0 };
    out.resize(table + table_bytes, 0);
    let start = out.len();
    let mut numbers = Vec::new();
    let (mut index, mut rest, mut positions) = (0, postings, positions);
    for group in 0..groups {
        // A list of 4 GiB is refused by whoever asked for it.
        let offset = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        if let Some(entry) =
            out.get_mut(table..start).and_then(|t| t.as_chunks_mut::<4>().0.get_mut(group as usize))
        {
            *entry = offset.to_le_bytes();
        }
        numbers.clear();
        while let [posting, after @ ..] = rest
            && grouping.group_of(index, posting.ordinal) == group
        {
            let (of_posting, more) =
                positions.split_at_checked(posting.term_freq as usize).unwrap_or((positions, &[]));
            let mut before = 0;
            for position in of_posting {
                numbers.push(position.saturating_sub(before));
                before = *position;
            }
            (rest, positions, index) = (after, more, index + 1);
        }
        pack(&numbers, out);
    }
}

/// Appends a width and `numbers` of that width to `out`; nothing for no number.
fn pack(numbers: &[u32], out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let all = numbers.iter().fold(1, |all, number| all | number);
    let width = u32::BITS - all.leading_zeros();
    let [width_byte, ..] = width.to_le_bytes();
    out.push(width_byte);
    let (mut bits, mut filled) = (0_u64, 0);
    for number in numbers {
        bits |= u64::from(*number) << filled;
        filled += width;
        if filled >= 32 {
            let [a, b, c, d, ..] = bits.to_le_bytes();
            out.extend_from_slice(&[a, b, c, d]);
            bits >>= 32;
            filled -= 32;
        }
    }
    let last = bits.to_le_bytes();
    out.extend_from_slice(last.get(..filled.div_ceil(8) as usize).unwrap_or(&last));
}

/// The positions of a list in their stored bytes.
///
/// # Format
///
/// If there is more than one group, a table of a `u32` for each: its first byte, from the end of the table.
/// Then the groups, one after another. A group without postings has no byte; else it is a width from 1 to 32
/// in one byte and a number of that many bits for each occurrence: for each posting the first position, then
/// what each further one is above the one before. Number `i` is bits `i * width` to `i * width + width - 1` of
/// the bytes behind the width, bit `j` being bit `j % 8` of byte `j / 8`, lowest first; the bits behind the
/// last number are 0.
#[derive(Debug, Clone, Copy)]
pub struct PositionList<'a> {
    grouping: Grouping,
    groups: u32,
    table: &'a [[u8; 4]],
    data: &'a [u8],
}

impl<'a> PositionList<'a> {
    /// The positions in `bytes` of a list of `count` postings with ordinals below `bound`.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the bytes are too few for the table of groups, or there are some for no posting.
    pub fn parse(bytes: &'a [u8], grouping: Grouping, count: u32, bound: u32) -> Decoded<Self> {
        let bad = |why| Err(Damage { field: "positions", offset: 0, why });
        let groups = grouping.groups(count, bound);
        if groups < 2 {
            return match (groups, bytes) {
                (0, [_, ..]) => bad("there are positions of no posting"),
                (1, []) => bad("a list has no positions"),
                _ => Ok(Self { grouping, groups, table: &[], data: bytes }),
            };
        }
        match bytes.split_at_checked(4 * groups as usize) {
            Some((table, data)) => Ok(Self { grouping, groups, table: table.as_chunks().0, data }),
            None => bad("the positions are shorter than the table of their groups"),
        }
    }

    /// How its postings are grouped.
    #[must_use]
    pub const fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// Group `group`.
    ///
    /// # Errors
    ///
    /// [`Damage`] if there is none, it lies outside of the bytes, or its width is none.
    pub fn group(&self, group: u32) -> Decoded<PositionGroup<'a>> {
        let bad = |why| Damage { field: "positions.group", offset: 4 * group as usize, why };
        if group >= self.groups {
            return Err(bad("there is no such group"));
        }
        let at = |group: usize| self.table.get(group).map(|offset| u32::from_le_bytes(*offset) as usize);
        let first = at(group as usize).unwrap_or(0);
        let end = at(group as usize + 1).unwrap_or(self.data.len());
        let bytes = self.data.get(first..end).ok_or(bad("the group lies outside of the positions"))?;
        let offset = 4 * self.table.len() + first;
        match bytes.split_first() {
            None => Ok(PositionGroup { width: 1, bits: &[], offset }),
            Some((width @ 1..=32, bits)) => Ok(PositionGroup { width: u32::from(*width), bits, offset }),
            Some(_) => Err(Damage { offset, ..bad("a width is not 1 to 32 bits") }),
        }
    }

    /// A reader of all postings in their order.
    #[must_use]
    pub fn walk(&self) -> PositionWalk<'a> {
        let group = PositionGroup { width: 1, bits: &[], offset: 0 };
        PositionWalk { list: *self, index: 0, next_group: 0, group, used: 0 }
    }
}

/// The positions of the postings of one group.
#[derive(Debug, Clone, Copy)]
pub struct PositionGroup<'a> {
    width: u32,
    bits: &'a [u8],
    offset: usize,
}

impl PositionGroup<'_> {
    /// Puts into `out`, in place of what it had, the positions of a posting of `term_freq` occurrences, before
    /// which the postings of the group have `before` occurrences. They do not descend.
    ///
    /// # Errors
    ///
    /// [`Damage`] if the group has not so many, or a position is over 32 bits. Never more memory is asked for
    /// than four bytes for each bit of the group.
    pub fn positions(&self, before: u64, term_freq: u32, out: &mut Vec<u32>) -> Decoded<()> {
        out.clear();
        let bad = |why| Err(Damage { field: "positions", offset: self.offset, why });
        let width = u64::from(self.width);
        let end = before.checked_add(u64::from(term_freq)).and_then(|end| end.checked_mul(width));
        if end.is_none_or(|end| end > 8 * self.bits.len() as u64) {
            return bad("a group has fewer positions than occurrences");
        }
        out.reserve(term_freq as usize);
        let mask = u64::MAX >> (64 - self.width);
        let (mut at, mut position) = (before * width, 0_u32);
        for _ in 0..term_freq {
            let first = usize::try_from(at / 8).unwrap_or(usize::MAX);
            let number = (word(self.bits, first) >> (at % 8)) & mask;
            let Some(next) = u32::try_from(number).ok().and_then(|number| position.checked_add(number))
            else {
                return bad("a position is over 32 bits");
            };
            position = next;
            out.push(position);
            at += width;
        }
        Ok(())
    }

    /// Whether it has `occurrences` positions and no byte or bit more.
    fn ends_with(&self, occurrences: u64) -> bool {
        let bits = occurrences.saturating_mul(u64::from(self.width));
        let last = self.bits.last().copied().unwrap_or(0);
        bits.div_ceil(8) == self.bits.len() as u64 && (bits % 8 == 0 || last >> (bits % 8) == 0)
    }
}

/// Eight bytes from `first` on, as a number; zeros stand for those past the end.
fn word(bytes: &[u8], first: usize) -> u64 {
    let rest = bytes.get(first..).unwrap_or_default();
    if let Some(word) = rest.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Reads the positions of a list posting by posting, and holds every byte against the layout.
#[derive(Debug, Clone)]
pub struct PositionWalk<'a> {
    list: PositionList<'a>,
    index: u32,
    next_group: u32,
    group: PositionGroup<'a>,
    used: u64,
}

impl PositionWalk<'_> {
    /// Puts into `out` the positions of the next posting of the list; see [`PositionGroup::positions`].
    ///
    /// # Errors
    ///
    /// [`Damage`] if they, or the groups up to here, are damaged.
    pub fn next(&mut self, ordinal: u32, term_freq: u32, out: &mut Vec<u32>) -> Decoded<()> {
        let group = self.list.grouping.group_of(self.index, ordinal);
        while self.next_group <= group {
            self.open_next()?;
        }
        self.group.positions(self.used, term_freq, out)?;
        self.index += 1;
        self.used += u64::from(term_freq);
        Ok(())
    }

    /// Ends the reading behind the last posting.
    ///
    /// # Errors
    ///
    /// [`Damage`] if there are more positions, or bytes behind them.
    pub fn finish(mut self) -> Decoded<()> {
        while self.next_group < self.list.groups {
            self.open_next()?;
        }
        self.close()
    }

    fn open_next(&mut self) -> Decoded<()> {
        self.close()?;
        self.group = self.list.group(self.next_group)?;
        let table_bytes = 4 * self.list.table.len();
        if self.next_group == 0 && self.group.offset != table_bytes {
            return Err(Damage { field: "positions.group", offset: 0, why: "the first group begins late" });
        }
        (self.next_group, self.used) = (self.next_group + 1, 0);
        Ok(())
    }

    fn close(&self) -> Decoded<()> {
        let why = "a group has more positions than occurrences, or bits behind them";
        let damage = Damage { field: "positions", offset: self.group.offset, why };
        if self.group.ends_with(self.used) { Ok(()) } else { Err(damage) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Postings and their positions from (gap, differences) pairs.
    fn list(gaps: &[(u32, Vec<u32>)]) -> (Vec<Posting>, Vec<u32>) {
        let (mut postings, mut positions, mut next) = (Vec::new(), Vec::new(), 0);
        for (gap, steps) in gaps {
            let ordinal = next + gap;
            next = ordinal + 1;
            postings.push(Posting { ordinal, term_freq: u32::try_from(steps.len()).unwrap() });
            positions.extend(steps.iter().scan(0, |at, step| {
                *at += step;
                Some(*at)
            }));
        }
        (postings, positions)
    }

    fn decode(bytes: &[u8], grouping: Grouping, postings: &[Posting], bound: u32) -> Decoded<Vec<u32>> {
        let count = u32::try_from(postings.len()).unwrap();
        let mut walk = PositionList::parse(bytes, grouping, count, bound)?.walk();
        let (mut all, mut one) = (Vec::new(), Vec::new());
        for posting in postings {
            walk.next(posting.ordinal, posting.term_freq, &mut one)?;
            all.extend_from_slice(&one);
        }
        walk.finish()?;
        Ok(all)
    }

    /// spec: R-7.10.1 (the worked example)
    #[test]
    fn the_worked_example_of_positions_holds() {
        let (postings, positions) = list(&[(3, vec![1]), (4, vec![2, 5])]);
        let mut bytes = Vec::new();

        encode_positions(&postings, &positions, Grouping::Blocks, 10, &mut bytes);

        // Numbers 1, 2, 5 of 3 bits: 001 + 010 << 3 + 101 << 6 = 1 + 16 + 320 = 337 = 0x151.
        assert_eq!(bytes, [3, 0x51, 0x01]);
        assert_eq!(decode(&bytes, Grouping::Blocks, &postings, 10), Ok(vec![1, 2, 7]));
    }

    #[test]
    fn a_posting_is_found_by_its_group_and_the_occurrences_before_it() {
        let (postings, positions) = list(&vec![(9, vec![4, 1]); 300]);
        let mut bytes = Vec::new();
        encode_positions(&postings, &positions, Grouping::Buckets, 3_000, &mut bytes);
        let positions = PositionList::parse(&bytes, Grouping::Buckets, 300, 3_000).unwrap();
        let mut out = vec![99];

        // Ordinals 9, 19, ..: the fourth of bucket 1 is 289, behind 259, 269 and 279.
        positions.group(1).unwrap().positions(6, 2, &mut out).unwrap();

        assert_eq!(out, [4, 5]);
        assert!(positions.group(1).unwrap().positions(60, 1, &mut out).is_err());
        assert!(positions.group(12).is_err());
    }

    #[test]
    fn the_widest_positions_come_back() {
        let (postings, positions) = list(&[(0, vec![u32::MAX, 0]), (7, vec![0, u32::MAX]), (0, vec![0])]);
        let mut bytes = Vec::new();

        encode_positions(&postings, &positions, Grouping::Blocks, 9, &mut bytes);

        assert_eq!(decode(&bytes, Grouping::Blocks, &postings, 9), Ok(positions));
    }

    #[test]
    fn frequencies_beyond_the_bytes_are_refused_without_allocating_for_them() {
        let positions = PositionList::parse(&[1, 255], Grouping::Blocks, 1, 1).unwrap();
        let mut out = Vec::new();

        assert!(positions.group(0).unwrap().positions(0, u32::MAX, &mut out).is_err());
        assert!(positions.group(0).unwrap().positions(u64::MAX, 1, &mut out).is_err());
        assert_eq!(out.capacity(), 0);
    }

    fn lists() -> impl Strategy<Value = Vec<(u32, Vec<u32>)>> {
        let steps = prop::collection::vec(prop_oneof![9 => 0_u32..90, 1 => 0_u32..1 << 20], 1..5);
        prop::collection::vec((0_u32..40, steps), 0..400)
    }

    proptest! {
        #[test]
        fn positions_come_back_in_either_grouping(gaps in lists()) {
            let (postings, positions) = list(&gaps);
            let bound = postings.last().map_or(0, |posting| posting.ordinal + 1);
            for grouping in [Grouping::Blocks, Grouping::Buckets] {
                let mut bytes = Vec::new();
                encode_positions(&postings, &positions, grouping, bound, &mut bytes);

                prop_assert_eq!(decode(&bytes, grouping, &postings, bound), Ok(positions.clone()));
                bytes.push(0);
                prop_assert!(decode(&bytes, grouping, &postings, bound).is_err());
            }
        }

        #[test]
        fn damaged_positions_are_an_error_or_as_many_and_ascending(
            gaps in lists(),
            at in any::<prop::sample::Index>(),
            mask in 1_u8..,
            cut in 0_usize..3,
        ) {
            let (postings, positions) = list(&gaps);
            let bound = postings.last().map_or(0, |posting| posting.ordinal + 1);
            for grouping in [Grouping::Blocks, Grouping::Buckets] {
                let mut bytes = Vec::new();
                encode_positions(&postings, &positions, grouping, bound, &mut bytes);
                if bytes.is_empty() {
                    continue;
                }
                let at = at.index(bytes.len());
                bytes[at] ^= mask;
                bytes.truncate(bytes.len() - cut.min(bytes.len()));

                if let Ok(out) = decode(&bytes, grouping, &postings, bound) {
                    prop_assert_eq!(out.len(), positions.len());
                    let mut rest = out.as_slice();
                    for posting in &postings {
                        let (of_posting, after) = rest.split_at(posting.term_freq as usize);
                        prop_assert!(of_posting.is_sorted());
                        rest = after;
                    }
                }
            }
        }
    }
}
