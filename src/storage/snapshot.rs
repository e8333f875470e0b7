//! One committed state, for readers.

use std::ops::ControlFlow;

use super::shield::{container, shield, translate};
use super::store::{Definition, Verified};
use super::tables::{TABLES, position};
use crate::error::Result;
use crate::format::frame::{HEADER_BYTES, RecordKind};

type Table = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A committed state of the file; commits that come later do not show.
pub struct Snapshot {
    /// In the order of [`TABLES`]. Each keeps the read transaction alive.
    tables: Vec<Table>,
    verified: Verified,
}

impl Snapshot {
    pub(super) fn new(transaction: &redb::ReadTransaction, verified: Verified) -> Result<Self> {
        let open = |table: &super::tables::Table| {
            transaction.open_table(Definition::new(table.name)).map_err(|e| translate("open a table", e))
        };
        Ok(Self { tables: TABLES.iter().map(open).collect::<Result<_>>()?, verified })
    }

    fn table(&self, name: &str) -> Result<&Table> {
        let table = position(name).and_then(|index| self.tables.get(index));
        table.ok_or_else(|| container("find a table", format!("no table {name:?}")))
    }

    /// What `read` makes of the payload under `key`, or `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the record is damaged; `Io`; whatever `read` returns.
    pub fn get<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.get_value(kind, key, |value| read(kind.open(key, value)?))
    }

    /// As [`get`](Self::get), for large immutable blocks: `read` sees the whole value, frame included, and the
    /// checksum is computed only when this handle meets these bytes for the first time.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn get_block<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.get_value(kind, key, |value| {
            let crc = value.first_chunk::<HEADER_BYTES>().map(|header| {
                let [.., a, b, c, d] = *header;
                u32::from_le_bytes([a, b, c, d])
            });
            let mark = (key.to_vec(), crc.unwrap_or_default());
            if !self.verified.lock().contains(&mark) {
                kind.open(key, value)?;
                self.verified.lock().insert(mark);
            }
            read(value)
        })
    }

    fn get_value<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let table = self.table(kind.table)?;
        let guard = shield("read a record", || table.get(key).map_err(|e| translate("read a record", e)))?;
        match guard {
            Some(guard) => read(shield("read a record", || Ok(guard.value()))?).map(Some),
            None => self.confirm_absent(kind, key).map(|()| None),
        }
    }

    /// Fails if a lookup that found nothing was led astray: a damaged key, or a damaged page that points to the
    /// wrong child, shows in the rows before and after the place where `key` would be.
    fn confirm_absent(&self, kind: &RecordKind, key: &[u8]) -> Result<()> {
        let operation = "look for a record";
        let table = self.table(kind.table)?;
        shield(operation, || {
            let mut below = table.range::<&[u8]>(..=key).map_err(|e| translate(operation, e))?;
            let mut above = table.range::<&[u8]>(key..).map_err(|e| translate(operation, e))?;
            let below = below.next_back().transpose().map_err(|e| translate(operation, e))?;
            let above = above.next().transpose().map_err(|e| translate(operation, e))?;
            if below.as_ref().is_some_and(|(found, _)| found.value() >= key)
                || above.as_ref().is_some_and(|(found, _)| found.value() <= key)
            {
                return Err(container(operation, "keys do not ascend"));
            }
            for (key, value) in below.iter().chain(&above) {
                kind.open(key.value(), value.value())?;
            }
            Ok(())
        })
    }

    /// Hands every record of `kind.table` whose key starts with `prefix` to `visit`, in key order.
    ///
    /// # Errors
    ///
    /// `Corrupt` if a record is damaged; `Io`; whatever `visit` returns.
    pub fn scan(
        &self,
        kind: &RecordKind,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan_raw(kind.table, prefix, |key, value| visit(key, kind.open(key, value)?))
    }

    /// As [`scan`](Self::scan), with values as they are stored: nothing is checked.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the container is damaged; `Io`; whatever `visit` returns.
    pub fn scan_raw(
        &self,
        table: &str,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let operation = "scan a table";
        let table = self.table(table)?;
        let mut range =
            shield(operation, || table.range::<&[u8]>(prefix..).map_err(|e| translate(operation, e)))?;
        let mut last: Option<Vec<u8>> = None;
        loop {
            let next = shield(operation, || range.next().transpose().map_err(|e| translate(operation, e)))?;
            let Some((key, value)) = next else { return Ok(()) };
            let (key, value) = shield(operation, || Ok((key.value(), value.value())))?;
            if !key.starts_with(prefix) {
                return Ok(());
            }
            // Damaged pages may lead in a circle; keys that do not ascend are the sign.
            if last.as_deref().is_some_and(|last| last >= key) {
                return Err(container(operation, "keys do not ascend"));
            }
            if visit(key, value)?.is_break() {
                return Ok(());
            }
            last = Some(key.to_vec());
        }
    }

    /// The record with the highest key that is not above `key`, as key and what `read` makes of its payload.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `read` returns.
    pub fn get_at_or_below<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let operation = "read a record";
        let table = self.table(kind.table)?;
        let found = shield(operation, || {
            let mut range = table.range::<&[u8]>(..=key).map_err(|e| translate(operation, e))?;
            range.next_back().transpose().map_err(|e| translate(operation, e))
        })?;
        match found {
            Some((key, value)) => {
                let (key, value) = shield(operation, || Ok((key.value(), value.value())))?;
                read(key, kind.open(key, value)?).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Rows of a table.
    ///
    /// # Errors
    ///
    /// `Corrupt` or `Io`.
    pub fn rows(&self, table: &str) -> Result<u64> {
        use redb::ReadableTableMetadata;
        let table = self.table(table)?;
        shield("count rows", || table.len().map_err(|e| translate("count rows", e)))
    }
}
