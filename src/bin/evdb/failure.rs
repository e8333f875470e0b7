//! How a command ends.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

/// How a command ends that did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All of it.
    Done,
    /// But for some files.
    Incomplete,
    /// And found damage.
    Damaged,
    /// And found nothing.
    NothingFound,
}

impl Exit {
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Incomplete => 1,
            Self::Damaged => 3,
            Self::NothingFound => 4,
        })
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read the output has gone; nobody wants to hear about it.
    ReaderGone,
    /// The command was typed wrongly: the message, and what to do.
    Usage(String, String),
    /// Anything else: the message, and what to do, if there is something.
    Error(String, Option<String>),
}

impl Failure {
    /// The command was typed wrongly.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage(message.into(), hint.into())
    }

    /// An error, and what to do about it.
    pub fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Error(message.into(), Some(hint.into()))
    }

    /// The same with `hint`, unless it has one.
    pub fn or_hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Error(message, None) => Self::Error(message, Some(hint.into())),
            other => other,
        }
    }
}

impl From<evdb::Error> for Failure {
    fn from(error: evdb::Error) -> Self {
        let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
            return Self::ReaderGone;
        }
        Self::Error(error.to_string(), None)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::Error(format!("cannot write the output: {error}"), None)
    }
}
