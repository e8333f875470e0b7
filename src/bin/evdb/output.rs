//! What is printed: results on standard output, remarks and errors on standard error.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;
use unicode_segmentation::UnicodeSegmentation;

use crate::args::{Colour, Common};
use crate::failure::Failure;

/// Document keys and file names.
pub const KEY: Style = AnsiColor::Cyan.on_default();
/// Headings.
pub const STRONG: Style = Style::new().bold();
/// A question.
pub const QUESTION: Style = AnsiColor::Magenta.on_default().bold();
/// What matters less.
pub const FAINT: Style = Style::new().dimmed();
/// Words of the query in a text.
pub const MARK: Style = AnsiColor::Yellow.on_default().bold();
/// Numbers that answer something.
pub const NUMBER: Style = AnsiColor::Green.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Where a command prints.
pub struct Output {
    out: BufWriter<AutoStream<io::Stdout>>,
    errors: ColorChoice,
    /// Whether results are JSON.
    pub json: bool,
    quiet: bool,
}

impl Output {
    pub fn new(common: &Common) -> Self {
        let choice = |auto: ColorChoice| match common.color {
            Colour::Auto => auto,
            Colour::Always => ColorChoice::AlwaysAnsi,
            Colour::Never => ColorChoice::Never,
        };
        // JSON has nothing to strip, and holds its escapes in its own way.
        let results =
            if common.json { ColorChoice::AlwaysAnsi } else { choice(AutoStream::choice(&io::stdout())) };
        Self {
            out: BufWriter::new(AutoStream::new(io::stdout(), results)),
            errors: choice(AutoStream::choice(&io::stderr())),
            json: common.json,
            quiet: common.quiet,
        }
    }

    /// Prints `value` as one line of JSON.
    pub fn line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        Ok(writeln!(self.out, "{text}")?)
    }

    /// Says something that is no result: neither with `--json` nor with `--quiet`.
    pub fn remark(&mut self, message: impl fmt::Display) {
        if !self.quiet && !self.json {
            self.say(format_args!("evdb: {message}"));
        }
    }

    /// Says that something was not as it should be.
    pub fn warn(&mut self, message: impl fmt::Display) {
        if !self.quiet {
            self.say(format_args!("evdb: {WARNING}warning:{WARNING:#} {message}"));
        }
    }

    /// Says why the command failed; its exit code.
    pub fn fail(&mut self, failure: &Failure) -> ExitCode {
        // Results so far stand before the error; if nobody reads them, the error is not about that.
        let _ = self.out.flush();
        let (code, message, hint) = match failure {
            Failure::ReaderGone => return ExitCode::SUCCESS,
            Failure::Usage(message, hint) => (2, message, Some(hint)),
            Failure::Error(message, hint) => (1, message, hint.as_ref()),
        };
        if self.json {
            let line = json!({ "error": message, "hint": hint });
            self.say(line);
        } else {
            self.say(format_args!("evdb: {ERROR}error:{ERROR:#} {}", clean(message)));
            if let Some(hint) = hint {
                self.say(format_args!("      {FAINT}hint:{FAINT:#} {hint}"));
            }
        }
        ExitCode::from(code)
    }

    fn say(&self, message: impl fmt::Display) {
        // If standard error is closed there is nowhere to say so.
        let _ = writeln!(AutoStream::new(io::stderr(), self.errors), "{message}");
    }

    /// Hands everything printed so far on.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// `text` in `style`.
pub struct Painted<T>(pub Style, pub T);

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

/// `text` without what would steer a terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The beginning of `text` on one line, at most `limit` characters as a reader counts them.
pub fn excerpt(text: &str, limit: usize) -> String {
    let line = clean(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.grapheme_indices(true).nth(limit) {
        Some((end, _)) => format!("{}\u{2026}", line.get(..end).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// `count` and the right form of `noun`, as in `1 document` or `1,200 documents`.
pub fn counted(count: u64, noun: &str) -> String {
    let number = indicatif::HumanCount(count);
    match (count, noun) {
        (1, _) => format!("{number} {noun}"),
        (_, "leaf") => format!("{number} leaves"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_cut_between_characters_as_a_reader_counts_them() {
        // A family of three is one character to a reader, and eighteen bytes.
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let text = format!("{family}\n {family} \u{4e2d}\u{6587}");

        assert_eq!(excerpt(&text, 3), format!("{family} {family}\u{2026}"));
        assert_eq!(excerpt(&text, 6), format!("{family} {family} \u{4e2d}\u{6587}"));
    }

    #[test]
    fn what_would_steer_a_terminal_is_replaced() {
        assert_eq!(clean("a\u{1b}[2Jb\tc\nd"), "a\u{fffd}[2Jb\tc\nd");
    }

    #[test]
    fn a_count_agrees_with_its_noun() {
        assert_eq!(counted(1, "leaf"), "1 leaf");
        assert_eq!(counted(1200, "leaf"), "1,200 leaves");
        assert_eq!(counted(0, "document"), "0 documents");
    }
}
