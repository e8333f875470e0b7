//! What can go wrong, in one opaque type.
//!
//! [`Error`] is one word wide. Programs ask [`Error::kind`] and [`Error::corruption`]; people read its
//! `Display`, which says what was wrong, where, and what to do.

use std::fmt;

/// The result of everything fallible in evdb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: what happened, where, and its cause.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    corruption: Option<Corruption>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What a program can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such file, document, node, space.
    NotFound,
    /// The file or key exists and was not to be replaced.
    AlreadyExists,
    /// An argument, option or input file is outside what is accepted; the message names value and bound.
    InvalidInput,
    /// Bytes of the file break the format; see [`Error::corruption`].
    Corrupt,
    /// The file needs a feature or version this build does not have.
    Unsupported,
    /// Another process or handle holds the file.
    Locked,
    /// The operating system refused a read, write or sync.
    Io,
    /// The caller called the operation off.
    Cancelled,
    /// The operation did not end by its deadline.
    DeadlineExceeded,
    /// A model (embedder, language model) failed or answered with something unusable.
    Model,
}

/// Where a file breaks its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// Table, or `container` when redb's own pages are damaged.
    pub table: String,
    /// Key within the table, printable; empty for the container.
    pub key: String,
    /// Field of the record, or `checksum`.
    pub field: String,
    /// Byte offset within the record.
    pub offset: usize,
    /// Section of format-spec.md that the bytes break, such as `6.2`.
    pub section: &'static str,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}[{}], field {} at byte {} (format-spec {})",
            self.table, self.key, self.field, self.offset, self.section
        )
    }
}

impl Error {
    /// An error of `kind` that reads `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), corruption: None, source: None }))
    }

    /// An [`ErrorKind::InvalidInput`] that reads `message`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// An [`ErrorKind::NotFound`] that reads `message`.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// An [`ErrorKind::Corrupt`] at a place in the file; `why` says what is wrong there.
    pub fn corrupt(at: Corruption, why: impl fmt::Display) -> Self {
        let message = format!("corrupt: {at}: {why}");
        Self(Box::new(Inner { kind: ErrorKind::Corrupt, message, corruption: Some(at), source: None }))
    }

    /// The same error with its cause attached.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error with `context` before its message, as in `context: message`.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// An [`ErrorKind::Io`] (or `NotFound`, `AlreadyExists`) for `operation` on `what`.
    pub fn io(operation: &str, what: impl fmt::Display, source: std::io::Error) -> Self {
        Self::failed(format_args!("{operation} {what}"), source)
    }

    /// As [`io`](Self::io), for an `operation` that names its object, such as `open the file`.
    pub fn failed(operation: impl fmt::Display, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("cannot {operation}: {source}")).with_source(source)
    }

    /// What a program can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where the file is damaged, if that is what happened.
    #[must_use]
    pub fn corruption(&self) -> Option<&Corruption> {
        self.0.corruption.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn a_corruption_names_table_key_field_byte_and_section() {
        let at = Corruption {
            table: "documents".into(),
            key: "17".into(),
            field: "root".into(),
            offset: 8,
            section: "6.2",
        };

        let error = Error::corrupt(at, "it is 0");

        assert_eq!(
            error.to_string(),
            "corrupt: documents[17], field root at byte 8 (format-spec 6.2): it is 0"
        );
    }
}
