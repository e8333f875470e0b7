//! How sources are read, and what a reading reports.

use crate::error::Error;
use crate::error::Result;

/// How importers cut and check what they read. Every size in tokens is in the unit of the counter handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Tokens a leaf of prose is filled up to; 1 to `max_tokens`.
    pub target_tokens: usize,
    /// Tokens above which prose is split. Parts are counted once and added, so a leaf may differ by the few
    /// tokens that joining its parts costs or saves.
    pub max_tokens: usize,
    /// Tokens up to which a table, an example or a JSONL passage without a page is kept whole.
    pub max_whole_tokens: usize,
    /// Whether bytes that are not UTF-8 become U+FFFD; if not, they are an error that names the first one.
    pub replace_invalid_utf8: bool,
    /// Whether a bad JSONL line is a warning and left out; if not, it ends the reading with an error.
    pub skip_bad_lines: bool,
    /// Whether a document without sections gets a balanced tree, and sections get summaries, by words alone.
    /// Switch it off to call [`balance`](super::balance()) with vectors.
    pub balance: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target_tokens: 160,
            max_tokens: 200,
            max_whole_tokens: 512,
            replace_invalid_utf8: false,
            skip_bad_lines: false,
            balance: true,
        }
    }
}

impl Options {
    /// Checks `1 <= target_tokens <= max_tokens <= max_whole_tokens`.
    pub(super) fn check(&self) -> Result<()> {
        let Self { target_tokens, max_tokens, max_whole_tokens, .. } = self;
        if (1..=*max_tokens).contains(target_tokens) && max_tokens <= max_whole_tokens {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "leaf sizes of target {target_tokens}, max {max_tokens}, max whole {max_whole_tokens} tokens: \
             each must be at least the one before, and the target at least 1"
        )))
    }
}

/// What a reading found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Documents handed over.
    pub documents: usize,
    /// Passages read; for other files the same as `documents`.
    pub passages: usize,
    /// What was odd and did not end the reading, in order of lines; at most [`Report::MAX_WARNINGS`].
    pub warnings: Vec<Warning>,
    /// Warnings beyond those listed.
    pub unlisted_warnings: usize,
}

impl Report {
    /// Most warnings listed.
    pub const MAX_WARNINGS: usize = 1_000;

    pub(super) fn warn(&mut self, line: u64, message: String) {
        if self.warnings.len() < Self::MAX_WARNINGS {
            self.warnings.push(Warning { line, message });
        } else {
            self.unlisted_warnings += 1;
        }
    }
}

/// Something odd in a source that did not end the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line of the source, from 1.
    pub line: u64,
    /// What was odd, and what was done about it.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_above_the_maximum_is_refused_with_all_sizes() {
        let options = Options { target_tokens: 300, ..Options::default() };

        let error = options.check().expect_err("300 is above 200");

        assert!(error.to_string().contains("target 300, max 200"), "{error}");
        assert!(Options::default().check().is_ok());
    }

    #[test]
    fn warnings_beyond_the_limit_are_counted_not_kept() {
        let mut report = Report::default();

        for line in 0..1_005 {
            report.warn(line, String::new());
        }

        assert_eq!((report.warnings.len(), report.unlisted_warnings), (1_000, 5));
    }
}
