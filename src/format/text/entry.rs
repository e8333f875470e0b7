//! What a dictionary key points at. format-spec.md section 7.4.

use super::Damage;
use super::Decoded;
use super::put_varint;
use super::take_varint;

/// Ordinals from here on have no room in a lone posting.
const LONE_BOUND: u32 = 1 << 31;

/// Most bytes of the head of an entry: eight varints.
pub const MAX_ENTRY_HEAD_BYTES: usize = 40;

/// The value of a dictionary key: where its entry lies, or the one posting there is.
///
/// # Format
///
/// | Bit 0 | The other bits                                                                             |
/// |------:|--------------------------------------------------------------------------------------------|
/// |     0 | 1 to 63: offset of the entry in part 5                                                       |
/// |     1 | 1 to 31: ordinal of the one leaf that has the term, once; 32 to 63: its position there       |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An entry begins at this byte of part 5.
    Entry(u64),
    /// The term occurs once, in a leaf's own text.
    Lone {
        /// Ordinal of the leaf, below 2^31.
        ordinal: u32,
        /// Position in the leaf's text.
        position: u32,
    },
}

impl Place {
    /// The place that `value` names.
    #[must_use]
    pub const fn of(value: u64) -> Self {
        if value & 1 == 0 {
            return Self::Entry(value >> 1);
        }
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        Self::Lone {
            ordinal: u32::from_le_bytes([a, b, c, d]) >> 1,
            position: u32::from_le_bytes([e, f, g, h]),
        }
    }

    /// The place of a term that occurs once, at `position` of leaf `ordinal`; `None` if it needs an entry.
    #[must_use]
    pub const fn lone(ordinal: u32, position: u32) -> Option<Self> {
        if ordinal < LONE_BOUND { Some(Self::Lone { ordinal, position }) } else { None }
    }

    /// The value that names it; `None` for an entry at 2^63 or later, or too high an ordinal.
    #[must_use]
    pub fn value(self) -> Option<u64> {
        match self {
            Self::Entry(offset) => offset.checked_mul(2),
            Self::Lone { ordinal, position } => {
                (ordinal < LONE_BOUND).then_some(u64::from(position) << 32 | u64::from(ordinal) << 1 | 1)
            }
        }
    }
}

/// The head of a term's entry; the list of leaves follows, then that of inner nodes.
///
/// # Format
///
/// Varints in the order of the fields; `full_count` and `heading_positions_bytes` only if `heading_count`
/// is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TermEntry {
    /// Leaves that hold the term in their own text.
    pub body_count: u32,
    /// Inner nodes that hold the term in their title.
    pub heading_count: u32,
    /// Bytes of the list of leaves.
    pub body_bytes: u32,
    /// Bytes of the list of inner nodes.
    pub heading_bytes: u32,
    /// Leaves of the segment, dead or alive, with the term in their own text or in the title of an ancestor;
    /// `body_count` if no title has it.
    pub full_count: u32,
    /// First byte of the positions in part 6.
    pub positions_offset: u64,
    /// Bytes of the positions of leaves.
    pub body_positions_bytes: u32,
    /// Bytes of the positions of inner nodes, which follow.
    pub heading_positions_bytes: u32,
}

impl TermEntry {
    /// Appends the head to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for field in [self.body_count, self.heading_count, self.body_bytes, self.heading_bytes] {
            put_varint(out, u64::from(field));
        }
        if self.heading_count > 0 {
            put_varint(out, u64::from(self.full_count));
        }
        put_varint(out, self.positions_offset);
        put_varint(out, u64::from(self.body_positions_bytes));
        if self.heading_count > 0 {
            put_varint(out, u64::from(self.heading_positions_bytes));
        }
    }

    /// Takes a head off the front of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Damage`] if it is cut short, a field is over 32 bits (35 for the offset), no node has the term, or
    /// `full_count` is below `body_count`.
    pub fn take(bytes: &mut &[u8]) -> Decoded<Self> {
        let mut entry = Self {
            body_count: take_number(bytes, "body_count")?,
            heading_count: take_number(bytes, "heading_count")?,
            body_bytes: take_number(bytes, "body_bytes")?,
            heading_bytes: take_number(bytes, "heading_bytes")?,
            ..Self::default()
        };
        let has_headings = entry.heading_count > 0;
        entry.full_count = if has_headings { take_number(bytes, "full_count")? } else { entry.body_count };
        entry.positions_offset = take_varint(bytes).ok_or(cut("positions_offset"))?;
        entry.body_positions_bytes = take_number(bytes, "body_positions_bytes")?;
        if has_headings {
            entry.heading_positions_bytes = take_number(bytes, "heading_positions_bytes")?;
        }
        let bad = |field, why| Err(Damage { field, offset: 0, why });
        if entry.body_count == 0 && !has_headings {
            return bad("body_count", "no node has the term");
        }
        if entry.full_count < entry.body_count {
            return bad(
                "full_count",
                "fewer leaves have the term in their full field than in their own text",
            );
        }
        Ok(entry)
    }
}

/// Appends to `out` the head of the entry of a set of `count` nodes in `bytes` bytes.
pub fn put_set_head(out: &mut Vec<u8>, count: u32, bytes: u32) {
    put_varint(out, u64::from(count));
    put_varint(out, u64::from(bytes));
}

/// Takes the head of a set's entry off the front of `bytes`: how many nodes, in how many bytes.
///
/// # Errors
///
/// [`Damage`] if it is cut short or a number is over 32 bits.
pub fn take_set_head(bytes: &mut &[u8]) -> Decoded<(u32, u32)> {
    Ok((take_number(bytes, "count")?, take_number(bytes, "bytes")?))
}

fn take_number(bytes: &mut &[u8], field: &'static str) -> Decoded<u32> {
    let number = take_varint(bytes).ok_or(cut(field))?;
    u32::try_from(number).map_err(|_| Damage { field, offset: 0, why: "the number is over 32 bits" })
}

const fn cut(field: &'static str) -> Damage {
    Damage { field, offset: 0, why: "the entry is cut short" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// spec: R-7.4.1 (the worked example)
    #[test]
    fn the_worked_example_of_a_lone_posting_holds() {
        let place = Place::lone(3, 17).expect("a low ordinal");

        // 17 * 2^32 + 3 * 2 + 1.
        assert_eq!(place.value(), Some(0x11_0000_0007));
        assert_eq!(Place::of(0x11_0000_0007), place);
        assert_eq!(Place::of(84), Place::Entry(42));
    }

    #[test]
    fn an_ordinal_of_2_to_the_31_needs_an_entry() {
        assert_eq!(Place::lone(1 << 31, 0), None);
        let last = Place::lone((1 << 31) - 1, u32::MAX).expect("it fits");
        assert_eq!(last.value().map(Place::of), Some(last));
    }

    #[test]
    fn an_entry_cut_anywhere_or_of_no_node_is_refused() {
        let entry = TermEntry { body_count: 300, heading_count: 1, full_count: 301, ..TermEntry::default() };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);

        for len in 0..bytes.len() {
            assert!(TermEntry::take(&mut &bytes[..len]).is_err(), "{len}");
        }
        for wrong in [TermEntry::default(), TermEntry { full_count: 299, ..entry }] {
            bytes.clear();
            wrong.encode(&mut bytes);
            assert!(TermEntry::take(&mut bytes.as_slice()).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn an_entry_comes_back_and_no_more_than_its_bytes_are_taken(
            counts in (1_u32.., any::<u32>(), any::<u32>(), any::<u32>()),
            positions in (0_u64..1 << 35, any::<u32>(), any::<u32>()),
        ) {
            let (body_count, heading_count, body_bytes, heading_bytes) = counts;
            let (positions_offset, body_positions_bytes, mut heading_positions_bytes) = positions;
            let full_count = if heading_count > 0 { body_count.saturating_add(9) } else { body_count };
            heading_positions_bytes *= u32::from(heading_count > 0);
            let entry = TermEntry {
                body_count, heading_count, body_bytes, heading_bytes, full_count, positions_offset,
                body_positions_bytes, heading_positions_bytes,
            };
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            prop_assert!(bytes.len() <= MAX_ENTRY_HEAD_BYTES);
            bytes.extend([7, 7]);
            let mut rest = bytes.as_slice();

            prop_assert_eq!(TermEntry::take(&mut rest), Ok(entry));
            prop_assert_eq!(rest, [7, 7]);
        }
    }
}
