//! The canonical dump: what golden files are compared with, and what a second reader must reproduce.

use std::io::Write;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::read::ReadTransaction;
use crate::error::{Error, Result};
use crate::format::KINDS;
use crate::format::codec;
use crate::format::frame::RecordKind;
use crate::format::identity::{IDENTITY_KEY, Identity, META};
use crate::storage::tables::TABLES;

/// What [`ReadTransaction::dump`] writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct DumpOptions {
    /// Every row of every table, as it is stored, in hexadecimal, instead of documents: for readers that do
    /// not read the container themselves.
    pub raw: bool,
}

/// The kind of the records of a table.
pub(super) fn kind_of(table: &str) -> Option<RecordKind> {
    KINDS.into_iter().find(|kind| kind.table == table)
}

impl ReadTransaction {
    /// Writes the state as JSON lines: one for the file, one for each document with its tree and text, one for
    /// each entity and each hyperedge, in id order. Keys are in one fixed order; equal states give equal bytes. format-spec.md appendix D.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`, from the file or from `out`.
    pub fn dump(&self, out: &mut dyn Write, options: DumpOptions) -> Result<()> {
        if options.raw {
            return self.dump_raw(out);
        }
        let identity: Option<Identity> =
            self.state.snapshot.get(&META, IDENTITY_KEY, |p| codec::decode(&META, IDENTITY_KEY, p))?;
        let identity =
            identity.ok_or_else(|| META.malformed(IDENTITY_KEY, "key", 0, "the identity is missing"))?;
        let counters = &self.state.counters;
        line(
            out,
            &json!({
                "type": "file",
                "format_version": identity.format_version,
                "read_features": identity.read_features,
                "write_features": identity.write_features,
                "token_counter": identity.token_counter,
                "analyzer": identity.analyzer,
                "sealed": identity.sealed,
                "documents": counters.documents,
                "nodes": counters.nodes,
                "leaves": counters.leaves,
                "leaf_tokens": counters.leaf_tokens,
            }),
        )?;
        self.for_each_document(|info| {
            let tree = self.tree(info.id)?;
            let text = self.text(info.id, crate::ids::Span::new(0, info.text_bytes))?;
            let nodes: Vec<Value> = tree
                .nodes()
                .map(|node| {
                    json!({
                        "id": node.id(),
                        "parent": node.parent().map(|parent| parent.id()),
                        "last": node.range().last,
                        "level": node.level(),
                        "kind": node.kind().name(),
                        "title": node.title(),
                        "summary": node.summary(),
                        "start": node.span().start,
                        "end": node.span().end,
                        "tokens": node.tokens(),
                        "page": node.page(),
                        "attributes": node.attributes().collect::<std::collections::BTreeMap<_, _>>(),
                    })
                })
                .collect();
            line(
                out,
                &json!({
                    "type": "document",
                    "id": info.id,
                    "key": info.key,
                    "title": info.title,
                    "source": info.source,
                    "language": info.language,
                    "attributes": info.attributes,
                    "content_hash": hex(&info.content_hash),
                    "tokens": info.tokens,
                    "nodes": nodes,
                    "text": text,
                }),
            )?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.dump_graph(|value| line(out, value))
    }

    fn dump_raw(&self, out: &mut dyn Write) -> Result<()> {
        for table in TABLES {
            self.state.snapshot.scan_raw(table.name, &[], |key, value| {
                line(out, &json!({ "table": table.name, "key": hex(key), "value": hex(value) }))?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }
}

fn line(out: &mut dyn Write, value: &Value) -> Result<()> {
    writeln!(out, "{value}").map_err(|error| Error::io("write", "the dump", error))
}

/// `bytes` in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}
