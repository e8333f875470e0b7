//! An immutable part of the graph: hyperedges with their members, and which nodes support what.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::format::graph::EDGES;
use crate::format::graph::ENTITIES;
use crate::format::graph::GRAPH_PART;
use crate::format::graph::GraphSegmentEntry;
use crate::format::graph::MEMBERS;
use crate::format::graph::MENTIONS;
use crate::format::graph::MemberRecord;
use crate::format::graph::SUPPORTS;
use crate::format::graph::Support;
use crate::format::graph::row;
use crate::format::key;

/// A hyperedge of a segment; its members and supports end where it says, and begin where those of the one before
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EdgeRow {
    pub id: u32,
    /// Name id of its kind.
    pub kind: u32,
    pub member_end: u32,
    pub support_end: u32,
}

/// A node and how much it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    pub node: u32,
    pub weight: f32,
}

/// A segment, decoded and checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphSegment {
    pub(super) edges: Vec<EdgeRow>,
    pub(super) members: Vec<MemberRecord>,
    pub(super) supports: Vec<Link>,
    /// Entity, and where its mentions end.
    pub(super) entities: Vec<(u32, u32)>,
    pub(super) mentions: Vec<Link>,
}

impl GraphSegment {
    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.entities.is_empty()
    }

    /// Ids of its hyperedges, ascending.
    #[must_use]
    pub fn hyperedges(&self) -> impl ExactSizeIterator<Item = u32> {
        self.edges.iter().map(|edge| edge.id)
    }

    /// Ids of its entities, ascending.
    #[must_use]
    pub fn entities(&self) -> impl ExactSizeIterator<Item = u32> {
        self.entities.iter().map(|(id, _)| *id)
    }

    /// Whether a node of it is in `deleted`, so that it is not as a reader sees it.
    #[must_use]
    pub fn meets(&self, deleted: &RoaringBitmap) -> bool {
        let links = self.supports.iter().chain(&self.mentions).map(|link| link.node);
        let places = self.members.iter().filter(|member| member.is_node).map(|member| member.target);
        !deleted.is_empty() && links.chain(places).any(|node| deleted.contains(node))
    }

    /// What the manifest says of the segment, and the bytes of its parts.
    #[must_use]
    pub fn encode(&self, segment: u32) -> (GraphSegmentEntry, Vec<(u8, Vec<u8>)>) {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let nodes = || self.supports.iter().chain(&self.mentions).map(|link| link.node);
        let entry = GraphSegmentEntry {
            segment,
            first_node: nodes().min().unwrap_or_default(),
            last_node: nodes().max().unwrap_or_default(),
            hyperedges: count(self.edges.len()),
            members: count(self.members.len()),
            supports: count(self.supports.len()),
            entities: count(self.entities.len()),
            mentions: count(self.mentions.len()),
        };
        let numbers = |rows: &mut dyn Iterator<Item = u32>| rows.flat_map(u32::to_le_bytes).collect();
        let links = |links: &[Link]| -> Vec<u8> {
            numbers(&mut links.iter().flat_map(|link| [link.node, link.weight.to_bits()]))
        };
        let edges = self.edges.iter().flat_map(|e| [e.id, e.kind, e.member_end, e.support_end]);
        let members = self.members.iter().flat_map(|m| [m.target, m.role << 1 | u32::from(m.is_node)]);
        let entities = self.entities.iter().flat_map(|(id, end)| [*id, *end]);
        let parts = vec![
            (EDGES, numbers(&mut { edges })),
            (MEMBERS, numbers(&mut { members })),
            (SUPPORTS, links(&self.supports)),
            (ENTITIES, numbers(&mut { entities })),
            (MENTIONS, links(&self.mentions)),
        ];
        (entry, parts)
    }

    /// The segment of `entry`, whose parts have the rows the entry says.
    ///
    /// * `part`: the bytes of a part, by its number.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the rows break the format; whatever `part` returns.
    pub fn decode(entry: &GraphSegmentEntry, mut part: impl FnMut(u8) -> Result<Vec<u8>>) -> Result<Self> {
        let edges = part(EDGES)?;
        let edges = edges.as_chunks::<16>().0.iter().map(|bytes| {
            let [id, kind, member_end, support_end] = row(bytes);
            EdgeRow { id, kind, member_end, support_end }
        });
        let edges = edges.collect();
        let members = part(MEMBERS)?;
        let members = members.as_chunks::<8>().0.iter().map(|bytes| {
            let [target, role] = row(bytes);
            MemberRecord { role: role >> 1, is_node: role & 1 == 1, target }
        });
        let members = members.collect();
        let links = |bytes: Vec<u8>| -> Vec<Link> {
            let rows = bytes.as_chunks::<8>().0.iter().map(|bytes| row(bytes));
            rows.map(|[node, weight]| Link { node, weight: f32::from_bits(weight) }).collect()
        };
        let supports = links(part(SUPPORTS)?);
        let entities = part(ENTITIES)?;
        let entities = entities.as_chunks::<8>().0.iter().map(|bytes| row(bytes));
        let entities = entities.map(|[id, end]| (id, end)).collect();
        let mentions = links(part(MENTIONS)?);
        let segment = Self { edges, members, supports, entities, mentions };
        let nodes = || segment.supports.iter().chain(&segment.mentions).map(|link| link.node);
        let range = (nodes().min().unwrap_or_default(), nodes().max().unwrap_or_default());
        let fault = segment.fault().or_else(|| {
            let is_other = range != (entry.first_node, entry.last_node);
            is_other.then_some((SUPPORTS, "the manifest gives another range of nodes"))
        });
        match fault {
            None => Ok(segment),
            Some((part, why)) => {
                Err(GRAPH_PART.malformed(&key::three(entry.segment, part, 0), "rows", 0, why))
            }
        }
    }

    /// Which part breaks the format, and how.
    fn fault(&self) -> Option<(u8, &'static str)> {
        let mut before = EdgeRow { id: 0, kind: 0, member_end: 0, support_end: 0 };
        for edge in &self.edges {
            if edge.id <= before.id {
                return Some((EDGES, "hyperedges do not ascend"));
            }
            if edge.member_end <= before.member_end || edge.support_end <= before.support_end {
                return Some((EDGES, "a hyperedge has no member or no support"));
            }
            let supports = before.support_end as usize..edge.support_end as usize;
            if self.members.len() < edge.member_end as usize || !are_links(&self.supports, supports) {
                return Some((EDGES, "members or supports of a hyperedge are not there, or not in order"));
            }
            before = *edge;
        }
        if before.member_end as usize != self.members.len() {
            return Some((MEMBERS, "members follow those of the last hyperedge"));
        }
        if self.members.iter().any(|member| member.target == 0 || member.role == 0) {
            return Some((MEMBERS, "a member is nothing"));
        }
        if before.support_end as usize != self.supports.len() {
            return Some((SUPPORTS, "supports follow those of the last hyperedge"));
        }
        let mut before = (0, 0);
        for (id, end) in &self.entities {
            if *id <= before.0 || *end <= before.1 {
                return Some((ENTITIES, "entities do not ascend, or one has no mention"));
            }
            if !are_links(&self.mentions, before.1 as usize..*end as usize) {
                return Some((ENTITIES, "mentions of an entity are not there, or not in order"));
            }
            before = (*id, *end);
        }
        (before.1 as usize != self.mentions.len())
            .then_some((MENTIONS, "mentions follow those of the last entity"))
    }
}

/// Whether the links in `range` are there, ascend by node, and count something that adds up.
fn are_links(links: &[Link], range: std::ops::Range<usize>) -> bool {
    let Some(links) = links.get(range) else { return false };
    let sound = |link: &Link| link.node > 0 && link.weight >= 0.0 && link.weight.is_finite();
    links.iter().all(sound) && links.is_sorted_by(|a, b| a.node < b.node)
}

/// Rows on their way to a segment: of several documents, or of several segments.
#[derive(Debug, Default)]
pub struct GraphRows {
    /// Id, kind, and where its members lie.
    edges: Vec<(u32, u32, std::ops::Range<usize>)>,
    members: Vec<MemberRecord>,
    supports: Vec<Support>,
    mentions: Vec<Support>,
}

impl GraphRows {
    /// How many rows wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len() + self.supports.len() + self.mentions.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A hyperedge, at least when it is supported for the first time here.
    pub fn add_edge(&mut self, id: u32, kind: u32, members: &[MemberRecord]) {
        let start = self.members.len();
        self.members.extend_from_slice(members);
        self.edges.push((id, kind, start..self.members.len()));
    }

    /// A node that supports a hyperedge.
    pub fn add_support(&mut self, support: Support) {
        self.supports.push(support);
    }

    /// A node that mentions an entity.
    pub fn add_mention(&mut self, mention: Support) {
        self.mentions.push(mention);
    }

    /// All rows of `segment`.
    pub fn add_segment(&mut self, segment: &GraphSegment) {
        let (mut member, mut support) = (0, 0);
        for edge in &segment.edges {
            let end = edge.member_end as usize;
            self.add_edge(edge.id, edge.kind, segment.members.get(member..end).unwrap_or_default());
            member = end;
            let end = edge.support_end as usize;
            self.supports.extend(of_object(edge.id, segment.supports.get(support..end)));
            support = end;
        }
        let mut mention = 0;
        for (id, end) in &segment.entities {
            self.mentions.extend(of_object(*id, segment.mentions.get(mention..*end as usize)));
            mention = *end as usize;
        }
    }

    /// The segment of these rows, without nodes in `deleted` and what has no other. A support or mention that comes
    /// several times counts as the heaviest does.
    #[must_use]
    pub fn finish(self, deleted: &RoaringBitmap) -> GraphSegment {
        let Self { mut edges, members, supports, mentions } = self;
        let supports = settled(supports, deleted);
        let mentions = settled(mentions, deleted);
        edges.sort_by_key(|(id, ..)| *id);
        edges.dedup_by_key(|(id, ..)| *id);
        let mut out = GraphSegment::default();
        let mut rest = supports.as_slice();
        for (id, kind, place) in edges {
            let skip = rest.partition_point(|support| support.object < id);
            let own = rest.get(skip..).unwrap_or_default();
            let (own, after) = own.split_at(own.partition_point(|support| support.object == id));
            rest = after;
            let members = members.get(place).unwrap_or_default();
            let is_gone = |member: &MemberRecord| member.is_node && deleted.contains(member.target);
            if own.is_empty() || members.is_empty() || members.iter().any(is_gone) {
                continue;
            }
            out.members.extend_from_slice(members);
            out.supports.extend(own.iter().map(|s| Link { node: s.node, weight: s.weight }));
            out.edges.push(EdgeRow {
                id,
                kind,
                member_end: end_of(&out.members),
                support_end: end_of(&out.supports),
            });
        }
        for mention in &mentions {
            out.mentions.push(Link { node: mention.node, weight: mention.weight });
            let end = end_of(&out.mentions);
            match out.entities.last_mut() {
                Some((id, last)) if *id == mention.object => *last = end,
                _ => out.entities.push((mention.object, end)),
            }
        }
        out
    }
}

fn of_object(object: u32, links: Option<&[Link]>) -> impl Iterator<Item = Support> {
    links.unwrap_or_default().iter().map(move |link| Support { object, node: link.node, weight: link.weight })
}

fn end_of<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// `rows` without deleted nodes, by object and node, each once, the heaviest.
fn settled(mut rows: Vec<Support>, deleted: &RoaringBitmap) -> Vec<Support> {
    if !deleted.is_empty() {
        rows.retain(|row| !deleted.contains(row.node));
    }
    // The heaviest first, which is the one that stays.
    rows.sort_by(|a, b| (a.object, a.node).cmp(&(b.object, b.node)).then(b.weight.total_cmp(&a.weight)));
    rows.dedup_by_key(|row| (row.object, row.node));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(object: u32, node: u32, weight: f32) -> Support {
        Support { object, node, weight }
    }

    fn entity(role: u32, target: u32) -> MemberRecord {
        MemberRecord { role, is_node: false, target }
    }

    fn node(role: u32, target: u32) -> MemberRecord {
        MemberRecord { role, is_node: true, target }
    }

    /// Hyperedge 2 joins entities 1 and 5, supported by nodes 10 and 20; hyperedge 4 joins entity 5 and node 20.
    fn rows() -> GraphRows {
        let mut rows = GraphRows::default();
        rows.add_edge(4, 9, &[entity(1, 5), node(2, 20)]);
        rows.add_edge(2, 8, &[entity(1, 1), entity(1, 5)]);
        for row in [support(2, 20, 1.0), support(2, 10, 0.5), support(2, 20, 3.0), support(4, 10, 1.0)] {
            rows.add_support(row);
        }
        for row in [support(5, 10, 1.0), support(1, 10, 1.0), support(1, 20, 2.0), support(5, 20, 0.0)] {
            rows.add_mention(row);
        }
        rows
    }

    fn decoded(segment: &GraphSegment) -> Result<GraphSegment> {
        let (entry, parts) = segment.encode(7);
        GraphSegment::decode(&entry, |part| {
            Ok(parts.iter().find(|(own, _)| *own == part).map(|(_, bytes)| bytes.clone()).unwrap_or_default())
        })
    }

    /// spec
    #[test]
    fn rows_come_out_in_order_the_heaviest_of_equal_ones() {
        let segment = rows().finish(&RoaringBitmap::new());

        assert_eq!(segment.hyperedges().collect::<Vec<_>>(), [2, 4]);
        assert_eq!(segment.entities, [(1, 2), (5, 4)]);
        let supports: Vec<_> = segment.supports.iter().map(|link| (link.node, link.weight)).collect();
        assert_eq!(supports, [(10, 0.5), (20, 3.0), (10, 1.0)]);
        assert_eq!(decoded(&segment).expect("as it was written"), segment);
    }

    #[test]
    fn what_loses_its_last_node_goes_and_so_does_a_hyperedge_that_loses_a_member() {
        let gone = |nodes: &[u32]| rows().finish(&nodes.iter().copied().collect());

        assert_eq!(gone(&[20]).hyperedges().collect::<Vec<_>>(), [2]);
        assert_eq!(gone(&[10]).hyperedges().collect::<Vec<_>>(), [2]);
        assert!(gone(&[10, 20]).is_empty());
        assert!(rows().finish(&RoaringBitmap::new()).meets(&[20].into_iter().collect()));
    }

    #[test]
    fn joining_segments_is_the_same_as_writing_their_rows_at_once() {
        let mut first = GraphRows::default();
        first.add_edge(2, 8, &[entity(1, 1), entity(1, 5)]);
        first.add_support(support(2, 20, 1.0));
        first.add_mention(support(1, 10, 1.0));
        let first = first.finish(&RoaringBitmap::new());
        let whole = rows().finish(&RoaringBitmap::new());

        let mut both = GraphRows::default();
        both.add_segment(&first);
        both.add_segment(&whole);

        assert_eq!(both.finish(&RoaringBitmap::new()), whole);
    }

    /// spec
    #[test]
    fn rows_that_break_the_format_are_refused() {
        let whole = rows().finish(&RoaringBitmap::new());
        let broken: [fn(&mut GraphSegment); 10] = [
            |s| s.edges[1].id = 2,
            |s| s.edges[0].member_end = 0,
            |s| s.edges[0].support_end = 99,
            |s| s.edges[1].member_end = 3,
            |s| s.members[0].target = 0,
            |s| s.supports[0].node = 20,
            |s| s.supports[0].weight = f32::NAN,
            |s| s.mentions[0].weight = -1.0,
            |s| s.entities[1].1 = 3,
            |s| s.entities[1].0 = 0,
        ];

        for (at, breaks) in broken.into_iter().enumerate() {
            let mut segment = whole.clone();
            breaks(&mut segment);
            let error = decoded(&segment).expect_err(&format!("case {at}"));
            assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt, "case {at}");
        }
    }
}
