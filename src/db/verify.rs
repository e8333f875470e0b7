//! Reading everything, and saying what is not as it should be.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use roaring::RoaringBitmap;

use super::read::{DocumentInfo, ReadTransaction};
use super::{segments, texts};
use crate::error::{Error, ErrorKind, Result};
use crate::format::document::{DOCUMENT, DOCUMENT_KEY, ROOT, TEXT, TEXT_BLOCK_BYTES};
use crate::format::frame::HEADER_BYTES;
use crate::format::identity::{CATALOGUE, COUNTERS_KEY, CatalogueEntry, META};
use crate::format::manifest::{MANIFEST, MANIFEST_KEY};
use crate::format::tree::{TREE, TREE_CHUNK_BYTES};
use crate::format::vector::{BLOCK, CONTEXT, SPACE, VectorBlock};
use crate::format::{codec, key};
use crate::ids::{DocumentId, Span};
use crate::storage::tables::{Class, TABLES};
use crate::tree::NodeKind;
use crate::vector::BlockSource;

/// Faults listed before the rest are only counted.
const MAX_FAULTS: usize = 1_000;

/// How far [`ReadTransaction::verify`] goes, and whom it tells.
#[derive(Default)]
pub struct VerifyOptions<'a> {
    /// Called now and then with documents checked and documents in all; `Break` ends the check.
    pub progress: Option<&'a mut dyn FnMut(u32, u32) -> ControlFlow<()>>,
}

/// What [`ReadTransaction::verify`] found.
#[derive(Debug, Default)]
pub struct Verification {
    /// Records and blocks read.
    pub records: u64,
    /// What is not as it should be, in the order it was met.
    pub faults: Vec<Error>,
    /// Faults beyond those listed.
    pub more_faults: u64,
    /// Whether the caller ended the check.
    pub cancelled: bool,
}

impl Verification {
    /// Whether everything was read and nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && !self.cancelled
    }

    fn add(&mut self, fault: Error) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.more_faults += 1;
        }
    }

    fn note(&mut self, result: Result<()>) {
        if let Err(fault) = result {
            self.add(fault);
        }
    }
}

impl ReadTransaction {
    /// Reads every record and block of this state, checks their checksums and that tables agree with each
    /// other: trees with documents, texts with trees, the text index and vectors with the nodes.
    ///
    /// # Errors
    ///
    /// None for damage, which is in the result; `Io` if the file cannot be read at all.
    pub fn verify(&self, mut options: VerifyOptions<'_>) -> Result<Verification> {
        let mut found = Verification::default();
        self.check_frames(&mut found);
        let mut leaves = RoaringBitmap::new();
        let mut nodes = RoaringBitmap::new();
        let mut infos = BTreeMap::new();
        let mut done = 0;
        let scanned = self.for_each_document(|info| {
            done += 1;
            let total = self.document_count();
            if let Some(progress) = options.progress.as_deref_mut()
                && progress(done, total).is_break()
            {
                found.cancelled = true;
                return Ok(ControlFlow::Break(()));
            }
            match self.check_document(&info, &mut leaves) {
                Ok(()) => {}
                Err(fault) if fault.kind() == ErrorKind::Io => return Err(fault),
                Err(fault) => found.add(fault),
            }
            nodes.insert_range(info.nodes.first.0..=info.nodes.last.0);
            infos.insert(info.id, info);
            Ok(ControlFlow::Continue(()))
        });
        match scanned {
            Err(fault) if fault.kind() == ErrorKind::Io => return Err(fault),
            other => found.note(other),
        }
        if found.cancelled {
            return Ok(found);
        }
        found.note(self.check_rows(&infos));
        found.note(self.check_catalogue());
        found.note(self.check_index(&leaves, &nodes));
        for name in self.space_names() {
            found.note(self.check_space(name, &nodes, &infos));
        }
        for name in self.all_space_names() {
            found.note(self.check_object_space(name));
        }
        found.note(self.check_graph(&infos));
        Ok(found)
    }

    /// Every record of every known table is whole.
    fn check_frames(&self, found: &mut Verification) {
        for table in TABLES {
            let result = self.state.snapshot.scan_raw(table.name, &[], |key, value| {
                found.records += 1;
                let kind = super::dump::kind_of(table.name);
                if let Some(Err(fault)) = kind.map(|kind| kind.open(key, value)) {
                    found.add(fault);
                }
                Ok(ControlFlow::Continue(()))
            });
            found.note(result);
        }
    }

    /// A document's tree, text, key and root, and its leaves into `leaves`.
    fn check_document(&self, info: &DocumentInfo, leaves: &mut RoaringBitmap) -> Result<()> {
        let tree = self.tree(info.id)?;
        let key = key::one(info.id.0);
        let text = self.text(info.id, Span::new(0, info.text_bytes))?;
        let mut count = 0;
        let mut tokens = 0;
        let mut end = 0;
        for node in tree.nodes().filter(|node| node.kind() != NodeKind::Document) {
            if !node.is_leaf() {
                continue;
            }
            let span = node.span();
            if span.start < end || text.get(span.as_range()).is_none() {
                let why = format!("node {}: its span {span} overlaps, or cuts a character", node.id());
                return Err(TREE.malformed(&key, "start", 0, why));
            }
            end = span.end;
            count += 1;
            tokens += u64::from(node.tokens());
            leaves.insert(node.id().0);
        }
        if count != info.leaves || tokens != info.tokens {
            let why = format!("the tree has {count} leaves of {tokens} tokens, the record says otherwise");
            return Err(DOCUMENT.malformed(&key, "leaves", 0, why));
        }
        match self.document_by_key(&info.key)? {
            Some(named) if named.id == info.id => {}
            _ => {
                return Err(DOCUMENT_KEY.malformed(
                    info.key.as_bytes(),
                    "key",
                    0,
                    "it does not name the document",
                ));
            }
        }
        match self.document_of(info.nodes.last) {
            Ok(owner) if owner.id == info.id => Ok(()),
            _ => {
                Err(ROOT.malformed(&key::one(info.nodes.first.0), "key", 0, "it does not name the document"))
            }
        }
    }

    /// As many rows in each table as the documents ask for.
    fn check_rows(&self, infos: &BTreeMap<DocumentId, DocumentInfo>) -> Result<()> {
        let blocks = |bytes: u32, size: usize| u64::from(bytes).div_ceil(size as u64);
        let mut texts = 0;
        let mut trees = 0;
        for (id, info) in infos {
            texts += blocks(info.text_bytes, TEXT_BLOCK_BYTES);
            let record = texts::get_record(&self.state.snapshot, *id)?;
            trees += record.map_or(0, |record| blocks(record.tree_bytes, TREE_CHUNK_BYTES));
        }
        let documents = infos.len() as u64;
        let wanted = [
            (DOCUMENT, documents),
            (DOCUMENT_KEY, documents),
            (ROOT, documents),
            (TEXT, texts),
            (TREE, trees),
        ];
        for (kind, wanted) in wanted {
            let rows = self.state.snapshot.rows(kind.table)?;
            if rows != wanted {
                let why = format!("{rows} rows are there, the documents ask for {wanted}");
                return Err(kind.malformed(b"*", "rows", 0, why));
            }
        }
        let counters = &self.state.counters;
        let sum = |of: fn(&DocumentInfo) -> u64| infos.values().map(of).sum::<u64>();
        let sums = [
            ("nodes", u64::from(counters.nodes), sum(|info| info.nodes.len() as u64)),
            ("leaves", u64::from(counters.leaves), sum(|info| u64::from(info.leaves))),
            ("leaf_tokens", counters.leaf_tokens, sum(|info| info.tokens)),
            ("text_bytes", counters.text_bytes, sum(|info| u64::from(info.text_bytes))),
        ];
        match sums.into_iter().find(|(_, counted, summed)| counted != summed) {
            Some((field, counted, summed)) => {
                let why = format!("it is {counted}, the documents sum to {summed}");
                Err(META.malformed(COUNTERS_KEY, field, 16, why))
            }
            None => Ok(()),
        }
    }

    fn check_catalogue(&self) -> Result<()> {
        for table in TABLES {
            let key = table.name.as_bytes();
            let entry: Option<CatalogueEntry> =
                self.state.snapshot.get(&CATALOGUE, key, |p| codec::decode(&CATALOGUE, key, p))?;
            if entry.is_none_or(|entry| entry.derived != (table.class == Class::Derived)) {
                return Err(CATALOGUE.malformed(key, "derived", 16, "the entry is missing or wrong"));
            }
        }
        Ok(())
    }

    /// The text index knows the leaves that the trees have, no more and no fewer, and its chunks are all there.
    fn check_index(&self, leaves: &RoaringBitmap, nodes: &RoaringBitmap) -> Result<()> {
        for entry in &self.state.manifest.segments {
            let (chunks, bytes) = segments::count_chunks(&self.state.snapshot, entry.segment)?;
            if (chunks, bytes) != (entry.chunks, entry.bytes) {
                let why = format!("segment {} has {chunks} chunks of {bytes} bytes", entry.segment);
                return Err(MANIFEST.malformed(MANIFEST_KEY, "chunks", 16, why));
            }
        }
        let index = self.text_index();
        for segment in index.segments() {
            segment.check(index.source())?;
        }
        let indexed: RoaringBitmap = index.everything().leaves().iter().map(|node| node.0).collect();
        if indexed != *leaves {
            let node = (&indexed ^ leaves).min().unwrap_or_default();
            let why = format!("the trees and the text index disagree about leaf {node}");
            return Err(MANIFEST.malformed(MANIFEST_KEY, "segments", 16, why));
        }
        match (index.deleted() & nodes).min() {
            Some(node) => {
                let why = format!("node {node} is marked as deleted and belongs to a document");
                Err(crate::format::manifest::DELETED.malformed(b"nodes", "bitmap", 0, why))
            }
            None => Ok(()),
        }
    }

    /// The blocks of a space decode, and each row is of a node that is there or was deleted.
    fn check_space(
        &self,
        name: &str,
        nodes: &RoaringBitmap,
        infos: &BTreeMap<DocumentId, DocumentInfo>,
    ) -> Result<()> {
        let Some(space) = self.space(name) else { return Ok(()) };
        let (mut rows, mut live) = (0, 0);
        let deleted = self.text_index().deleted();
        for index in 0..space.block_count() {
            space.with_block(index, &mut |value| {
                let block = VectorBlock::of_value(space.id(), index, value)?;
                rows += block.len() as u64;
                live += block.nodes().filter(|node| nodes.contains(node.0)).count() as u64;
                match block.nodes().find(|node| !nodes.contains(node.0) && !deleted.contains(node.0)) {
                    Some(node) => {
                        let why = format!("it has a row of node {node}, which there never was");
                        Err(BLOCK.malformed(&key::two(space.id().0, index), "nodes", 64, why))
                    }
                    None => Ok(()),
                }
            })?;
        }
        let record = space.record();
        let key = key::one(space.id().0);
        for (field, claimed, found) in [("rows", record.rows, rows), ("live", record.live, live)] {
            if found != u64::from(claimed) {
                let why = format!("its blocks have {found}, its record says {claimed}");
                return Err(SPACE.malformed(&key, field, HEADER_BYTES, why));
            }
        }
        for (document, norms) in &*space.all_context_norms()? {
            if infos.get(document).is_none_or(|info| norms.leaf_norms.len() != info.leaves as usize) {
                let key = key::two(space.id().0, document.0);
                return Err(CONTEXT.malformed(
                    &key,
                    "leaves",
                    16,
                    "not one norm for each leaf of a document",
                ));
            }
        }
        Ok(())
    }
}
