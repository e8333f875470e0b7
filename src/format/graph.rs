//! Entities, hyperedges and what supports them. format-spec.md chapter 14.

use super::codec::{Decode, Encode};
use super::frame::RecordKind;
use super::layout::{Field, Layout};

/// The `entities` table: key `entity id`.
pub const ENTITY: RecordKind = RecordKind { tag: *b"ENTY", version: 1, table: "entities", section: "14.3" };
/// The `entity_keys` table: key normalised name, a zero byte, normalised kind.
pub const ENTITY_KEY: RecordKind =
    RecordKind { tag: *b"EKEY", version: 1, table: "entity_keys", section: "14.3" };
/// The `hyperedges` table: key `hyperedge id`.
pub const HYPEREDGE: RecordKind =
    RecordKind { tag: *b"HEDG", version: 1, table: "hyperedges", section: "14.4" };
/// The `hyperedge_keys` table: key the beginning of a hash of what tells a hyperedge from others.
pub const HYPEREDGE_KEY: RecordKind =
    RecordKind { tag: *b"HKEY", version: 1, table: "hyperedge_keys", section: "14.4" };
/// The `graph_documents` table: key `document id, part`.
pub const GRAPH_DOCUMENT: RecordKind =
    RecordKind { tag: *b"GDOC", version: 1, table: "graph_documents", section: "14.5" };
/// The `graph_names` table: key `name id`.
pub const GRAPH_NAME: RecordKind =
    RecordKind { tag: *b"GNAM", version: 1, table: "graph_names", section: "14.2" };
/// The `graph_parts` table: key `segment, part, chunk`.
pub const GRAPH_PART: RecordKind =
    RecordKind { tag: *b"GPRT", version: 1, table: "graph_parts", section: "14.6" };

/// Key of [`GraphCounters`] in `meta`.
pub const GRAPH_COUNTERS_KEY: &[u8] = b"graph";
/// Key of [`GraphManifest`] in `manifest`.
pub const GRAPH_MANIFEST_KEY: &[u8] = b"graph";

/// Entries of one row of `graph_documents`, mentions and supports together.
pub const DOCUMENT_PART_ENTRIES: usize = 65_536;

/// What has been handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GraphCounters {
    /// The next entity id.
    pub next_entity: u32,
    /// The next hyperedge id.
    pub next_hyperedge: u32,
    /// The next id of a name.
    pub next_name: u32,
    /// The next id of a graph segment.
    pub next_segment: u32,
}

impl Default for GraphCounters {
    fn default() -> Self {
        Self { next_entity: 1, next_hyperedge: 1, next_name: 1, next_segment: 1 }
    }
}

/// One entity.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct EntityRecord {
    /// Normalised name.
    pub name: String,
    /// Normalised kind.
    pub kind: String,
    /// What is said of it.
    pub facts: Vec<Fact>,
}

/// An alias or one value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Fact {
    /// Key of the attribute; empty for an alias.
    pub key: String,
    /// The alias, or the value.
    pub value: String,
    /// Root of the document that says so.
    pub root: u32,
}

/// One hyperedge.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HyperedgeRecord {
    /// Name id of its kind.
    pub kind: u32,
    /// Normalised label.
    pub label: String,
    /// Text of its own.
    pub text: Option<String>,
    /// Where its text lies.
    pub place: Option<(u32, u32, u32)>,
    /// Its members, in order.
    pub members: Vec<MemberRecord>,
}

/// One member of a hyperedge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct MemberRecord {
    /// Name id of its role.
    pub role: u32,
    /// Whether it is a node.
    pub is_node: bool,
    /// Id of the entity or node.
    pub target: u32,
}

/// A part of what one document supports.
#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub struct DocumentPart {
    /// Entities it mentions.
    pub mentions: Vec<Support>,
    /// Hyperedges it supports.
    pub supports: Vec<Support>,
}

/// A node that mentions an entity or supports a hyperedge.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub struct Support {
    /// Id of the entity or hyperedge.
    pub object: u32,
    /// Id of the node.
    pub node: u32,
    /// How much it counts.
    pub weight: f32,
}

/// The live segments of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct GraphManifest {
    /// One entry a segment.
    pub segments: Vec<GraphSegmentEntry>,
}

/// One live segment of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GraphSegmentEntry {
    /// Its id.
    pub segment: u32,
    /// Lowest node that supports or mentions something in it.
    pub first_node: u32,
    /// Highest such node.
    pub last_node: u32,
    /// Hyperedges it has.
    pub hyperedges: u32,
    /// Members of these.
    pub members: u32,
    /// Supports of these.
    pub supports: u32,
    /// Entities it has.
    pub entities: u32,
    /// Mentions of these.
    pub mentions: u32,
}

/// Where each field of a hyperedge's row lies, in part 1.
pub const EDGE_LAYOUT: Layout = Layout {
    section: "14.6.1",
    fields: &[
        Field::new("hyperedge", 0, 4),
        Field::new("kind", 4, 4),
        Field::new("member_end", 8, 4),
        Field::new("support_end", 12, 4),
    ],
};
/// Where each field of a member's row lies, in part 2.
pub const MEMBER_LAYOUT: Layout =
    Layout { section: "14.6.2", fields: &[Field::new("target", 0, 4), Field::new("role", 4, 4)] };
/// Where each field of a support's or mention's row lies, in parts 3 and 5.
pub const SUPPORT_LAYOUT: Layout =
    Layout { section: "14.6.3", fields: &[Field::new("node", 0, 4), Field::new("weight", 4, 4)] };
/// Where each field of an entity's row lies, in part 4.
pub const MENTIONED_LAYOUT: Layout =
    Layout { section: "14.6.4", fields: &[Field::new("entity", 0, 4), Field::new("mention_end", 4, 4)] };

/// Part 1 of a segment.
pub const EDGES: u8 = 1;
/// Part 2 of a segment.
pub const MEMBERS: u8 = 2;
/// Part 3 of a segment.
pub const SUPPORTS: u8 = 3;
/// Part 4 of a segment.
pub const ENTITIES: u8 = 4;
/// Part 5 of a segment.
pub const MENTIONS: u8 = 5;

impl GraphSegmentEntry {
    /// The parts of the segment: number, rows, bytes of a row.
    #[must_use]
    pub const fn parts(&self) -> [(u8, u32, usize); 5] {
        [
            (EDGES, self.hyperedges, 16),
            (MEMBERS, self.members, 8),
            (SUPPORTS, self.supports, 8),
            (ENTITIES, self.entities, 8),
            (MENTIONS, self.mentions, 8),
        ]
    }

    /// Bytes of all its parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts().into_iter().map(|(_, rows, size)| u64::from(rows) * size as u64).sum()
    }
}

/// The numbers of a row of `N` u32.
#[must_use]
pub fn row<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = u32::from_le_bytes(*bytes);
    }
    numbers
}

// A gap or an overlap in a layout is a compile error.
const _: () = assert!(matches!(EDGE_LAYOUT.width(), Some(16)));
const _: () = assert!(matches!(MEMBER_LAYOUT.width(), Some(8)));
const _: () = assert!(matches!(SUPPORT_LAYOUT.width(), Some(8)));
const _: () = assert!(matches!(MENTIONED_LAYOUT.width(), Some(8)));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::codec;

    /// spec: R-14.4.1 (the worked example)
    #[test]
    fn the_worked_example_of_a_hyperedge_holds() {
        let record = HyperedgeRecord {
            kind: 2,
            label: "ab".into(),
            text: None,
            place: Some((300, 0, 5)),
            members: vec![
                MemberRecord { role: 1, is_node: false, target: 7 },
                MemberRecord { role: 3, is_node: true, target: 9 },
            ],
        };

        let value = codec::seal(&HYPEREDGE, &[0, 0, 0, 1], &record).expect("it fits");

        let payload = [2, 2, b'a', b'b', 0, 1, 251, 44, 1, 0, 5, 2, 1, 0, 7, 3, 1, 9];
        assert_eq!(value[16..], payload);
        assert_eq!(codec::open::<HyperedgeRecord>(&HYPEREDGE, &[0, 0, 0, 1], &value).expect("whole"), record);
    }

    #[test]
    fn a_row_gives_its_numbers() {
        assert_eq!(row::<2>(&[1, 0, 0, 0, 0, 1, 0, 0]), [1, 256]);
    }
}
