//! Reading a segment.

use std::ops::Range;
use std::sync::OnceLock;

use fst::Automaton;
use fst::IntoStreamer;
use fst::Streamer;
use roaring::RoaringBitmap;

use super::places::Places;
use super::source::ListBytes;
use super::source::PartSource;
use super::source::damaged;
use super::source::list_bytes;
use super::source::read_part;
use super::tally::Tally;
use crate::error::Error;
use crate::error::Result;
use crate::format::frame;
use crate::format::key;
use crate::format::text;
use crate::format::text::Damage;
use crate::format::text::Decoded;
use crate::format::text::Grouping;
use crate::format::text::InnerRecord;
use crate::format::text::LeafRecord;
use crate::format::text::MAX_ENTRY_HEAD_BYTES;
use crate::format::text::Part;
use crate::format::text::Place;
use crate::format::text::PositionList;
use crate::format::text::Posting;
use crate::format::text::PostingList;
use crate::format::text::SegmentHeader;
use crate::format::text::TermEntry;
use crate::format::text::encode_positions;
use crate::format::text::encode_postings;
use crate::format::text::length_class;
use crate::format::text::prefix;
use crate::format::text::take_set_head;
use crate::ids::SegmentId;

/// One segment, open: dictionary and node records in memory (about the dictionary's bytes, 21 for each leaf
/// and 28 for each inner node); lists are read when asked for.
///
/// It holds no source, so that it can outlive the snapshot it was opened in; each read names one.
pub struct SegmentReader {
    id: SegmentId,
    header: SegmentHeader,
    dictionary: fst::Map<Vec<u8>>,
    leaves: Vec<LeafRecord>,
    inner: Vec<InnerRecord>,
    tally: Tally,
    length_classes: Vec<u8>,
    /// Made on first use.
    places: OnceLock<Places>,
}

/// The postings of a term in one segment: ordinals among its leaves, and among its inner nodes.
#[derive(Debug, Clone)]
pub struct TermPostings {
    entry: TermEntry,
    /// The position of a term that occurs once and has no entry.
    lone: Option<u32>,
    /// Where its lists begin in part 5.
    start: u64,
    body: ListBytes,
    heading: ListBytes,
}

impl TermPostings {
    /// Leaves that hold the term in their own text.
    #[must_use]
    pub const fn body_count(&self) -> u32 {
        self.entry.body_count
    }

    /// Inner nodes that hold the term in their title.
    #[must_use]
    pub const fn heading_count(&self) -> u32 {
        self.entry.heading_count
    }

    /// Leaves of the segment, dead or alive, that hold the term in their own text or an ancestor's title.
    #[must_use]
    pub const fn full_count(&self) -> u32 {
        self.entry.full_count
    }
}

/// The bytes of the positions of a term in one segment.
#[derive(Debug, Clone)]
pub struct TermPositions {
    body: ListBytes,
    heading: ListBytes,
}

/// A term in the leaves' own texts, or in the titles of inner nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum In {
    Bodies,
    Headings,
}

impl std::fmt::Debug for SegmentReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentReader")
            .field("id", &self.id)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl SegmentReader {
    /// Opens segment `id`, whose header has been read, from `source`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a part is not as long as the header says, the dictionary's checksum is wrong, or the node
    /// records are no forest; and what `source` reports.
    pub fn open(id: SegmentId, header: &SegmentHeader, source: &dyn PartSource) -> Result<Self> {
        let bad = |part: Part, field: &str, offset: usize, why: &dyn std::fmt::Display| {
            damaged(id, part, offset as u64, field, why)
        };
        let dictionary = fst::Map::new(read_part(id, header, Part::Dictionary, source)?)
            .map_err(|error| bad(Part::Dictionary, "dictionary", 0, &error))?;
        // Without this a damaged dictionary panics or answers wrongly; see the notes on crate fst.
        dictionary.as_fst().verify().map_err(|error| bad(Part::Dictionary, "checksum", 0, &error))?;
        if dictionary.len() != header.list_count as usize {
            return Err(bad(Part::Dictionary, "len", 0, &"its keys are not as many as the header says"));
        }
        let leaf_bytes = read_part(id, header, Part::Leaves, source)?;
        let leaves: Vec<LeafRecord> =
            (0..header.leaf_count as usize).map_while(|at| LeafRecord::decode_at(&leaf_bytes, at)).collect();
        let inner_bytes = read_part(id, header, Part::Inner, source)?;
        let inner: Vec<InnerRecord> = (0..header.inner_count as usize)
            .map_while(|at| InnerRecord::decode_at(&inner_bytes, at))
            .collect();
        let tally = Tally::of(&leaves, &inner).map_err(|Damage { field, offset, why }| {
            let (part, width) = if field.starts_with("leaf") {
                (Part::Leaves, LeafRecord::WIDTH)
            } else {
                (Part::Inner, InnerRecord::WIDTH)
            };
            bad(part, field, offset * width, &why)
        })?;
        let length_classes = tally.full_lens.iter().map(|len| length_class(*len)).collect();
        let places = OnceLock::new();
        let reader =
            Self { id, header: header.clone(), dictionary, leaves, inner, tally, length_classes, places };
        reader.check_header()?;
        Ok(reader)
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> SegmentId {
        self.id
    }

    /// Its header.
    #[must_use]
    pub const fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Its leaves, in node order.
    #[must_use]
    pub fn leaves(&self) -> &[LeafRecord] {
        &self.leaves
    }

    /// Its inner nodes, in node order.
    #[must_use]
    pub fn inner(&self) -> &[InnerRecord] {
        &self.inner
    }

    /// For each inner node the ordinal of its parent, `u32::MAX` for a root.
    pub(super) fn inner_parents(&self) -> &[u32] {
        &self.tally.inner_parents
    }

    /// For each leaf the ordinal of its parent among the inner nodes.
    pub(super) fn leaf_parents(&self) -> &[u32] {
        &self.tally.leaf_parents
    }

    /// For each leaf its terms with those of the titles of all its ancestors.
    #[must_use]
    pub fn full_lens(&self) -> &[u32] {
        &self.tally.full_lens
    }

    /// For each leaf the length class of its full length.
    #[must_use]
    pub fn length_classes(&self) -> &[u8] {
        &self.length_classes
    }

    /// The ordinals of the leaves below inner node `ordinal`.
    #[must_use]
    pub fn leaves_below(&self, ordinal: u32) -> Range<u32> {
        let (first, end) = self.tally.inner_leaves.get(ordinal as usize).copied().unwrap_or_default();
        first..end
    }

    /// Where its nodes are among its leaves.
    pub(super) fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(&self.leaves))
    }

    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(super) const fn dictionary(&self) -> &fst::Map<Vec<u8>> {
        &self.dictionary
    }

    /// The postings of `term`, or `None` if no node has it.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the term's entry is damaged or lies out of the stream; and what `source` reports.
    pub fn postings(&self, source: &dyn PartSource, term: &str) -> Result<Option<TermPostings>> {
        let key = [&[prefix::TERM], term.as_bytes()].concat();
        self.dictionary.get(key).map(|value| self.postings_at(source, value)).transpose()
    }

    /// The postings of the term whose value in the dictionary is `value`.
    pub(super) fn postings_at(&self, source: &dyn PartSource, value: u64) -> Result<TermPostings> {
        match Place::of(value) {
            Place::Lone { ordinal, position } => self.lone(ordinal, position),
            Place::Entry(offset) => {
                let (entry, start) = self.entry(source, offset, TermEntry::take)?;
                let body = self.list_bytes(source, Part::Postings, start, entry.body_bytes)?;
                let middle = start.saturating_add(u64::from(entry.body_bytes));
                let heading = self.list_bytes(source, Part::Postings, middle, entry.heading_bytes)?;
                Ok(TermPostings { entry, lone: None, start, body, heading })
            }
        }
    }

    /// The postings of a term that occurs once.
    fn lone(&self, ordinal: u32, position: u32) -> Result<TermPostings> {
        if ordinal >= self.header.leaf_count {
            let why = format!("it names leaf {ordinal} of {}", self.header.leaf_count);
            return Err(damaged(self.id, Part::Dictionary, 0, "value", &why));
        }
        let mut bytes = Vec::with_capacity(8);
        encode_postings(&[Posting { ordinal, term_freq: 1 }], None, &mut bytes);
        let entry = TermEntry { body_count: 1, full_count: 1, ..TermEntry::default() };
        let body = ListBytes::few(&bytes);
        Ok(TermPostings { entry, lone: Some(position), start: 0, body, heading: ListBytes::NONE })
    }

    /// What `take` makes of the head of the entry at `offset` of part 5, and the byte behind it.
    pub(super) fn entry<T>(
        &self,
        source: &dyn PartSource,
        offset: u64,
        take: impl FnOnce(&mut &[u8]) -> Decoded<T>,
    ) -> Result<(T, u64)> {
        let most = self.header.postings_bytes.saturating_sub(offset).min(MAX_ENTRY_HEAD_BYTES as u64);
        let head = self.list_bytes(source, Part::Postings, offset, u32::try_from(most).unwrap_or(0))?;
        let mut rest = &*head;
        let entry = take(&mut rest).map_err(|damage| self.damage(Part::Postings, offset, damage))?;
        Ok((entry, offset + (head.len() - rest.len()) as u64))
    }

    /// Where the entry of `postings` ends in part 5, and where its positions begin and end in part 6; `None` for
    /// a term that occurs once.
    pub(super) fn extent(&self, postings: &TermPostings) -> Option<(u64, Range<u64>)> {
        let entry = &postings.entry;
        let end = postings.start + u64::from(entry.body_bytes) + u64::from(entry.heading_bytes);
        let positions = u64::from(entry.body_positions_bytes) + u64::from(entry.heading_positions_bytes);
        let positions = entry.positions_offset..entry.positions_offset + positions;
        postings.lone.is_none().then_some((end, positions))
    }

    /// The list of leaves of `postings`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is none.
    pub fn body_list<'a>(&self, postings: &'a TermPostings) -> Result<PostingList<'a>> {
        PostingList::parse(&postings.body, postings.entry.body_count, self.header.leaf_count)
            .map_err(|damage| self.list_damage(In::Bodies, postings, damage))
    }

    /// The list of inner nodes of `postings`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if it is none.
    pub fn heading_list<'a>(&self, postings: &'a TermPostings) -> Result<PostingList<'a>> {
        PostingList::parse(&postings.heading, postings.entry.heading_count, self.header.inner_count)
            .map_err(|damage| self.list_damage(In::Headings, postings, damage))
    }

    /// The error that `damage` of the list of leaves of `postings` is.
    #[must_use]
    pub fn body_damage(&self, postings: &TermPostings, damage: Damage) -> Error {
        self.list_damage(In::Bodies, postings, damage)
    }

    /// Gives the leaves of `postings` block by block; see [`PostingList::blocks`].
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged; some blocks may have been given by then.
    pub fn body_blocks(
        &self,
        postings: &TermPostings,
        wanted: impl FnMut(u32, u32) -> bool,
        each: impl FnMut(&[u32], &[u32]),
    ) -> Result<()> {
        let done = self.body_list(postings)?.blocks(wanted, each);
        done.map_err(|damage| self.list_damage(In::Bodies, postings, damage))
    }

    /// Gives the inner nodes of `postings` block by block; see [`PostingList::blocks`].
    ///
    /// # Errors
    ///
    /// `Corrupt` if the list is damaged; some blocks may have been given by then.
    pub fn heading_blocks(
        &self,
        postings: &TermPostings,
        wanted: impl FnMut(u32, u32) -> bool,
        each: impl FnMut(&[u32], &[u32]),
    ) -> Result<()> {
        let done = self.heading_list(postings)?.blocks(wanted, each);
        done.map_err(|damage| self.list_damage(In::Headings, postings, damage))
    }

    /// The bytes of the positions of `postings`.
    ///
    /// # Errors
    ///
    /// `Corrupt` if they lie out of the stream; and what `source` reports.
    pub fn positions(&self, source: &dyn PartSource, postings: &TermPostings) -> Result<TermPositions> {
        if let Some(position) = postings.lone {
            let mut bytes = Vec::with_capacity(8);
            let posting = Posting { ordinal: 0, term_freq: 1 };
            encode_positions(&[posting], &[position], Grouping::Blocks, 1, &mut bytes);
            return Ok(TermPositions { body: ListBytes::few(&bytes), heading: ListBytes::NONE });
        }
        let entry = &postings.entry;
        let start = entry.positions_offset;
        let body = self.list_bytes(source, Part::Positions, start, entry.body_positions_bytes)?;
        let middle = start + u64::from(entry.body_positions_bytes);
        let heading = self.list_bytes(source, Part::Positions, middle, entry.heading_positions_bytes)?;
        Ok(TermPositions { body, heading })
    }

    /// The positions of the leaves of `postings`, whose positions `positions` are.
    ///
    /// # Errors
    ///
    /// `Corrupt` if they are none.
    pub fn body_positions<'a>(
        &self,
        postings: &TermPostings,
        positions: &'a TermPositions,
    ) -> Result<PositionList<'a>> {
        let (count, bound) = (postings.entry.body_count, self.header.leaf_count);
        PositionList::parse(&positions.body, Grouping::of_list(&postings.body), count, bound)
            .map_err(|damage| self.positions_damage(In::Bodies, postings, damage))
    }

    /// The positions of the inner nodes of `postings`, whose positions `positions` are.
    ///
    /// # Errors
    ///
    /// `Corrupt` if they are none.
    pub fn heading_positions<'a>(
        &self,
        postings: &TermPostings,
        positions: &'a TermPositions,
    ) -> Result<PositionList<'a>> {
        let (count, bound) = (postings.entry.heading_count, self.header.inner_count);
        PositionList::parse(&positions.heading, Grouping::Blocks, count, bound)
            .map_err(|damage| self.positions_damage(In::Headings, postings, damage))
    }

    /// Puts into `out`, in place of what it had, the positions of `postings`, which are `positions`, in the node of
    /// `which` with ordinal `ordinal`; none if it has no posting.
    pub(super) fn positions_of(
        &self,
        postings: &TermPostings,
        positions: &TermPositions,
        which: In,
        ordinal: u32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        let (list, positions) = match which {
            In::Bodies => (self.body_list(postings)?, self.body_positions(postings, positions)?),
            In::Headings => (self.heading_list(postings)?, self.heading_positions(postings, positions)?),
        };
        let found = list.find(ordinal).map_err(|damage| self.list_damage(which, postings, damage))?;
        let Some(found) = found else { return Ok(()) };
        let group = positions.group(found.group);
        group
            .and_then(|group| group.positions(found.before, found.term_freq, out))
            .map_err(|damage| self.positions_damage(which, postings, damage))
    }

    /// Gives every posting of `postings` in `which` with its positions, and reads every byte of both lists.
    pub(super) fn occurrences(
        &self,
        source: &dyn PartSource,
        postings: &TermPostings,
        which: In,
        mut each: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let positions = self.positions(source, postings)?;
        let mut walk = match which {
            In::Bodies => self.body_positions(postings, &positions)?.walk(),
            In::Headings => self.heading_positions(postings, &positions)?.walk(),
        };
        let mut of_one = Vec::new();
        let mut damage = None;
        let block = |ids: &[u32], freqs: &[u32]| {
            for (id, freq) in ids.iter().zip(freqs) {
                if damage.is_some() {
                    return;
                }
                match walk.next(*id, *freq, &mut of_one) {
                    Ok(()) => each(*id, &of_one),
                    Err(found) => damage = Some(found),
                }
            }
        };
        match which {
            In::Bodies => self.body_blocks(postings, |_, _| true, block)?,
            In::Headings => self.heading_blocks(postings, |_, _| true, block)?,
        }
        let done = damage.map_or_else(|| walk.finish(), Err);
        done.map_err(|damage| self.positions_damage(which, postings, damage))
    }

    /// The nodes with the attribute `key=value`, deleted ones included.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the set is damaged; and what `source` reports.
    pub fn attribute_set(&self, source: &dyn PartSource, key_value: &str) -> Result<RoaringBitmap> {
        self.set(source, &[&[prefix::ATTRIBUTE], key_value.as_bytes()].concat())
    }

    /// The nodes of kind `kind`, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`attribute_set`](Self::attribute_set).
    pub fn kind_set(&self, source: &dyn PartSource, kind: u8) -> Result<RoaringBitmap> {
        self.set(source, &[prefix::KIND, kind])
    }

    /// The nodes at `level`, the root being at 0, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`attribute_set`](Self::attribute_set).
    pub fn level_set(&self, source: &dyn PartSource, level: u8) -> Result<RoaringBitmap> {
        self.set(source, &[prefix::LEVEL, level])
    }

    /// At most `limit` terms that begin with `start`, ascending, each with the leaves and the inner nodes that
    /// hold it, deleted ones included.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a term is not UTF-8 or its entry is damaged; and what `source` reports.
    pub fn terms_with_prefix(
        &self,
        source: &dyn PartSource,
        start: &str,
        limit: usize,
    ) -> Result<Vec<(String, u32, u32)>> {
        let counts = |value| match Place::of(value) {
            Place::Lone { .. } => Ok((1, 0)),
            Place::Entry(offset) => {
                let (entry, _) = self.entry(source, offset, TermEntry::take)?;
                Ok((entry.body_count, entry.heading_count))
            }
        };
        let keys = self.keys(prefix::TERM, start, limit, counts)?;
        Ok(keys.into_iter().map(|(term, (leaves, inner))| (term, leaves, inner)).collect())
    }

    /// At most `limit` attributes `key=value` that begin with `start`, ascending, each with how many nodes
    /// have it, deleted ones included.
    ///
    /// # Errors
    ///
    /// As for [`terms_with_prefix`](Self::terms_with_prefix).
    pub fn attributes_with_prefix(
        &self,
        source: &dyn PartSource,
        start: &str,
        limit: usize,
    ) -> Result<Vec<(String, u32)>> {
        self.keys(prefix::ATTRIBUTE, start, limit, |value| Ok(self.set_head(source, value)?.0))
    }

    fn keys<T>(
        &self,
        kind: u8,
        start: &str,
        limit: usize,
        read: impl Fn(u64) -> Result<T>,
    ) -> Result<Vec<(String, T)>> {
        let whole = [char::from(kind).to_string().as_str(), start].concat();
        let mut stream = self.dictionary.search(fst::automaton::Str::new(&whole).starts_with()).into_stream();
        let mut out = Vec::new();
        while out.len() < limit
            && let Some((key, value)) = stream.next()
        {
            let text = std::str::from_utf8(key).ok().and_then(|key| key.get(1..));
            let text =
                text.ok_or_else(|| damaged(self.id, Part::Dictionary, 0, "key", &"it is not UTF-8"))?;
            out.push((text.to_owned(), read(value)?));
        }
        Ok(out)
    }

    fn set(&self, source: &dyn PartSource, key: &[u8]) -> Result<RoaringBitmap> {
        self.dictionary.get(key).map_or(Ok(RoaringBitmap::new()), |value| self.set_at(source, value))
    }

    /// The set of a key, no term, whose value in the dictionary is `value`.
    pub(super) fn set_at(&self, source: &dyn PartSource, value: u64) -> Result<RoaringBitmap> {
        let (count, bytes, start) = self.set_head(source, value)?;
        let bytes = self.list_bytes(source, Part::Postings, start, bytes)?;
        let set = text::decode_set(&bytes).map_err(|damage| self.damage(Part::Postings, start, damage))?;
        let nodes = self.header.first_node..=self.header.last_node;
        if set.min().is_some_and(|first| !nodes.contains(&first))
            || set.max().is_some_and(|last| !nodes.contains(&last))
            || set.len() != u64::from(count)
        {
            let why = "it has other nodes than the segment, or not as many as its entry says";
            return Err(damaged(self.id, Part::Postings, start, "set", &why));
        }
        Ok(set)
    }

    /// How many nodes the set of value `value` has, its bytes, and where they begin in part 5.
    pub(super) fn set_head(&self, source: &dyn PartSource, value: u64) -> Result<(u32, u32, u64)> {
        let Place::Entry(offset) = Place::of(value) else {
            return Err(damaged(self.id, Part::Dictionary, 0, "value", &"a set has no entry"));
        };
        let ((count, bytes), start) = self.entry(source, offset, take_set_head)?;
        Ok((count, bytes, start))
    }

    /// `len` bytes of `part` from `offset` on.
    fn list_bytes(&self, source: &dyn PartSource, part: Part, offset: u64, len: u32) -> Result<ListBytes> {
        list_bytes(self.id, &self.header, part, source, offset..offset.saturating_add(u64::from(len)))
    }

    fn damage(&self, part: Part, start: u64, Damage { field, offset, why }: Damage) -> Error {
        damaged(self.id, part, start.saturating_add(offset as u64), field, &why)
    }

    fn list_damage(&self, which: In, postings: &TermPostings, damage: Damage) -> Error {
        let before = if which == In::Bodies { 0 } else { postings.entry.body_bytes };
        self.damage(Part::Postings, postings.start.saturating_add(u64::from(before)), damage)
    }

    pub(super) fn positions_damage(&self, which: In, postings: &TermPostings, damage: Damage) -> Error {
        let before = if which == In::Bodies { 0 } else { postings.entry.body_positions_bytes };
        self.damage(Part::Positions, postings.entry.positions_offset + u64::from(before), damage)
    }

    /// The error for what `part` has at `offset`.
    pub(super) fn wrong(&self, part: Part, offset: u64, field: &str, why: &str) -> Error {
        damaged(self.id, part, offset, field, &why)
    }

    /// Holds what the header says about the nodes against the nodes.
    fn check_header(&self) -> Result<()> {
        let (leaves, inner) =
            (self.leaves.iter().map(|leaf| leaf.node), self.inner.iter().map(|node| node.node));
        let ids = || leaves.clone().chain(inner.clone());
        let found = (
            [ids().min().unwrap_or(0), ids().max().unwrap_or(0)],
            [self.tally.section_count, self.tally.document_count],
            [self.tally.own_terms, self.tally.full_terms],
        );
        let header = &self.header;
        let claimed = (
            [header.first_node, header.last_node],
            [header.section_count, header.document_count],
            [header.own_terms, header.full_terms],
        );
        if found == claimed {
            return Ok(());
        }
        let why = format!("it claims {claimed:?}, its nodes give {found:?}");
        Err(text::SEGMENT.malformed(&key::one(self.id.0), "header", frame::HEADER_BYTES, why))
    }
}
