//! The command line, run in a folder: what it did, and what tests ask of that.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a command did.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The command, without standard input, to be run in `folder`.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evdb"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn evdb(folder: &TempDir, arguments: &[&str]) -> Run {
    let done = command(folder.path(), arguments).output().expect("it runs");
    Run {
        code: done.status.code().expect("it was not killed"),
        out: String::from_utf8(done.stdout).expect("UTF-8"),
        err: String::from_utf8(done.stderr).expect("UTF-8"),
    }
}

impl Run {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}{}", self.out, self.err))
    }

    pub fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Asserts the exit code, and that nothing panicked.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.ends(0)
    }

    /// Asserts the exit code, and that standard error has each of `words`.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// Asserts that one of the outputs has each of `words`.
    #[track_caller]
    pub fn shows(&self, words: &[&str]) {
        for word in words {
            assert!(
                self.out.contains(word) || self.err.contains(word),
                "{word:?} is not in {}{}",
                self.out,
                self.err
            );
        }
    }
}
