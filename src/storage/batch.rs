//! A write transaction.

use std::ops::ControlFlow;

use redb::ReadableTable;

use super::shield::{container, shield, translate};
use super::store::Definition;
use super::tables::{TABLES, position};
use crate::error::Result;
use crate::format::frame::RecordKind;

/// Changes that become visible together, or not at all. Dropping it forgets them.
#[must_use = "dropping a batch forgets its changes"]
pub struct Batch {
    transaction: redb::WriteTransaction,
}

impl Batch {
    pub(super) fn new(transaction: redb::WriteTransaction) -> Self {
        Self { transaction }
    }

    pub(super) fn create_tables(&self) -> Result<()> {
        for table in TABLES {
            self.with_table(table.name, "create a table", |_| Ok(()))?;
        }
        Ok(())
    }

    fn with_table<R>(
        &self,
        name: &str,
        operation: &str,
        call: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>) -> Result<R>,
    ) -> Result<R> {
        let known = position(name).and_then(|index| TABLES.get(index));
        let table = known.ok_or_else(|| container(operation, format!("no table {name:?}")))?;
        shield(operation, || {
            let open = self.transaction.open_table(Definition::new(table.name));
            call(&mut open.map_err(|e| translate(operation, e))?)
        })
    }

    /// Stores `payload`, framed, under `key`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is too large; `Io`.
    pub fn put(&self, kind: &RecordKind, key: &[u8], payload: &[u8]) -> Result<()> {
        self.put_value(kind, key, &kind.seal(key, payload)?)
    }

    /// Stores `value`, which is framed already, under `key`.
    ///
    /// # Errors
    ///
    /// `Io`.
    pub fn put_value(&self, kind: &RecordKind, key: &[u8], value: &[u8]) -> Result<()> {
        let operation = "write a record";
        self.with_table(kind.table, operation, |table| {
            table.insert(key, value).map(drop).map_err(|e| translate(operation, e))
        })
    }

    /// Takes the record under `key` away; whether it was there.
    ///
    /// # Errors
    ///
    /// `Io`.
    pub fn remove(&self, kind: &RecordKind, key: &[u8]) -> Result<bool> {
        let operation = "remove a record";
        self.with_table(kind.table, operation, |table| {
            table.remove(key).map(|old| old.is_some()).map_err(|e| translate(operation, e))
        })
    }

    /// Takes away every record of `kind.table` whose key starts with `prefix`; how many there were.
    ///
    /// # Errors
    ///
    /// `Io` or `Corrupt`.
    pub fn remove_prefix(&self, kind: &RecordKind, prefix: &[u8]) -> Result<usize> {
        let mut keys = Vec::new();
        self.scan_raw(kind.table, prefix, |key, _| {
            keys.push(key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        for key in &keys {
            self.remove(kind, key)?;
        }
        Ok(keys.len())
    }

    /// What `read` makes of the payload under `key`, or `None`.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `read` returns.
    pub fn get<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.get_value(kind, key, |value| read(kind.open(key, value)?))
    }

    /// As [`get`](Self::get); `read` sees the whole value, whose frame has been checked.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `read` returns.
    pub fn get_block<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.get_value(kind, key, |value| {
            kind.open(key, value)?;
            read(value)
        })
    }

    fn get_value<R>(
        &self,
        kind: &RecordKind,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let operation = "read a record";
        self.with_table(kind.table, operation, |table| {
            match table.get(key).map_err(|e| translate(operation, e))? {
                Some(guard) => read(guard.value()).map(Some),
                None => Ok(None),
            }
        })
    }

    /// Hands every record of `table` whose key starts with `prefix` to `visit`, unchecked, in key order.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, whatever `visit` returns.
    pub fn scan_raw(
        &self,
        table: &str,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let operation = "scan a table";
        self.with_table(table, operation, |table| {
            for row in table.range::<&[u8]>(prefix..).map_err(|e| translate(operation, e))? {
                let (key, value) = row.map_err(|e| translate(operation, e))?;
                if !key.value().starts_with(prefix) || visit(key.value(), value.value())?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Makes the changes durable and visible.
    ///
    /// # Errors
    ///
    /// `Io`; then none of the changes has happened, or, if the failure was in the last sync, the next open
    /// tells.
    pub fn commit(self) -> Result<()> {
        let operation = "commit";
        shield(operation, || self.transaction.commit().map_err(|e| translate(operation, e)))
    }
}
