//! The words of a transaction's documents on their way to segments, on one thread or several.

use std::path::Path;
use std::sync::Arc;

use super::prepared::PreparedDocument;
use super::segments::Fresh;
use super::spill::{Spill, Spilled};
use crate::error::Result;
use crate::ids::{NodeId, NodeRange};
use crate::text::{Analyzers, NodeTerms, SegmentBuilder};

/// Text that is worth another thread.
const THREAD_BYTES: usize = 256 << 10;
/// Memory of a document that waits and of the segment it becomes, for each byte of its text, about.
const MEMORY_PER_BYTE: usize = 4;

/// Collects documents in the order of their nodes and makes segments of them, which wait in a [`Spill`] for
/// [`finish`](Self::finish). Where one segment ends and the next begins depends on threads and memory; the
/// commit makes one of them, which does not.
pub(super) struct Indexing {
    analyzers: Arc<Analyzers>,
    threads: usize,
    memory_bytes: usize,
    spill: Spill,
    spilled: Vec<Spilled>,
    /// Of a single thread: what is being built.
    builder: SegmentBuilder,
    /// Of several threads: what is to be indexed at once, with its first node.
    waiting: Vec<(PreparedDocument, NodeId)>,
    waiting_bytes: usize,
}

impl Indexing {
    /// For the database at `path`, if it is not in memory.
    ///
    /// * `memory_bytes`: what waiting documents and unfinished segments may take, about, beside one document.
    pub(super) fn new(analyzers: &Arc<Analyzers>, path: Option<&Path>, memory_bytes: usize) -> Self {
        Self {
            analyzers: Arc::clone(analyzers),
            threads: 1,
            memory_bytes,
            spill: Spill::beside(path),
            spilled: Vec::new(),
            builder: SegmentBuilder::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
        }
    }

    /// From now on works on `threads` threads.
    pub(super) fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.flush()?;
        self.threads = threads.max(1);
        Ok(())
    }

    /// Adds a document whose nodes begin at `first`, above those of all documents before.
    pub(super) fn add(&mut self, document: &PreparedDocument, first: NodeId) -> Result<()> {
        if self.threads == 1 {
            index(&mut self.builder, &self.analyzers, document, first)?;
            if self.builder.memory_bytes() > self.memory_bytes / 2 {
                self.flush()?;
            }
            return Ok(());
        }
        self.waiting.push((document.clone(), first));
        self.waiting_bytes += document.size_bytes();
        if self.waiting_bytes > self.memory_bytes / MEMORY_PER_BYTE {
            self.flush()?;
        }
        Ok(())
    }

    /// Makes segments of all that has been added.
    fn flush(&mut self) -> Result<()> {
        let builder = std::mem::take(&mut self.builder);
        self.spilled.extend(spill_segment(&self.spill, builder)?);
        let waiting = std::mem::take(&mut self.waiting);
        let threads = self.threads.min(self.waiting_bytes.div_ceil(THREAD_BYTES)).max(1);
        let share = self.waiting_bytes.div_ceil(threads);
        self.waiting_bytes = 0;
        let (spill, analyzers) = (&self.spill, &*self.analyzers);
        let limit = self.memory_bytes / threads / 2;
        let work = |group: &[(PreparedDocument, NodeId)]| -> Result<Vec<Spilled>> {
            let mut made = Vec::new();
            let mut builder = SegmentBuilder::new();
            for (document, first) in group {
                index(&mut builder, analyzers, document, *first)?;
                if builder.memory_bytes() > limit {
                    made.extend(spill_segment(spill, std::mem::take(&mut builder))?);
                }
            }
            made.extend(spill_segment(spill, builder)?);
            Ok(made)
        };
        let groups = groups(&waiting, share);
        let results: Vec<Result<Vec<Spilled>>> = if let [group] = groups.as_slice() {
            vec![work(group)]
        } else {
            std::thread::scope(|scope| {
                let running: Vec<_> =
                    groups.into_iter().map(|group| scope.spawn(move || work(group))).collect();
                let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
                // A panic in a thread goes on in this one.
                joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
            })
        };
        for result in results {
            self.spilled.extend(result?);
        }
        Ok(())
    }

    /// The segments of everything that was added.
    pub(super) fn finish(mut self) -> Result<Fresh> {
        self.flush()?;
        Ok(Fresh { spill: self.spill, segments: self.spilled })
    }
}

fn spill_segment(spill: &Spill, builder: SegmentBuilder) -> Result<Option<Spilled>> {
    if builder.is_empty() {
        return Ok(None);
    }
    spill.add(|sink| builder.finish_into(sink)).map(Some)
}

/// Cuts `documents` into groups of about `share` bytes.
fn groups(mut documents: &[(PreparedDocument, NodeId)], share: usize) -> Vec<&[(PreparedDocument, NodeId)]> {
    let mut groups = Vec::new();
    while !documents.is_empty() {
        let mut bytes = 0;
        let whole = documents.iter().take_while(|(document, _)| {
            let has_room = bytes < share;
            bytes += document.size_bytes();
            has_room
        });
        let (group, rest) = documents.split_at(whole.count());
        groups.push(group);
        documents = rest;
    }
    groups
}

/// Adds the terms and sets of a document.
fn index(
    builder: &mut SegmentBuilder,
    analyzers: &Analyzers,
    prepared: &PreparedDocument,
    first: NodeId,
) -> Result<()> {
    let (document, columns) = (prepared.document(), prepared.columns());
    let at = |offset: u32| NodeId(first.0 + offset);
    for (index, node) in (0_u32..).zip(&document.nodes) {
        let row = index as usize;
        let last = columns.last.get(row).copied().unwrap_or(index);
        let terms = NodeTerms {
            node: at(index),
            parent: node.parent.map_or(NodeId(0), at),
            last: at(last),
            kind: node.kind as u8,
            level: columns.level.get(row).copied().unwrap_or_default(),
            is_leaf: node.kind.is_leaf(),
        };
        let text = document.text.get(node.span.as_range()).unwrap_or_default();
        builder.add_text(terms, analyzers.of(terms.is_leaf), &[&node.title, text])?;
        for (key, value) in &node.attributes {
            if key != "id" {
                builder.add_set(NodeRange::new(at(index), at(last)), &format!("{key}={value}"))?;
            }
        }
    }
    let last = columns.last.first().copied().unwrap_or_default();
    let all = NodeRange::new(first, at(last));
    for (key, value) in &document.attributes {
        builder.add_set(all, &format!("{key}={value}"))?;
    }
    if let Some(language) = &document.language {
        builder.add_set(all, &format!("language={language}"))?;
    }
    Ok(())
}
