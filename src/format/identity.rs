//! What the file is and what a reader must know to read it. format-spec.md chapter 4.

use super::codec::{Decode, Encode};
use super::frame::RecordKind;
use crate::error::{Error, ErrorKind, Result};

/// The `meta` table.
pub const META: RecordKind = RecordKind { tag: *b"META", version: 1, table: "meta", section: "4.1" };
/// The `catalogue` table.
pub const CATALOGUE: RecordKind =
    RecordKind { tag: *b"TABL", version: 1, table: "catalogue", section: "6.1" };

/// Key of [`Identity`] in `meta`.
pub const IDENTITY_KEY: &[u8] = b"identity";
/// Key of [`Counters`] in `meta`.
pub const COUNTERS_KEY: &[u8] = b"counters";

/// The magic number: text that no text file holds, with both line ends and an end-of-file mark.
pub const MAGIC: [u8; 8] = *b"evdb\r\n\x1a\n";
/// The version of the format this build writes, and the only one it reads.
pub const FORMAT_VERSION: u32 = 1;
/// Read-feature bits this build knows.
pub const KNOWN_READ_FEATURES: u64 = 0;
/// Write-feature bits this build knows.
pub const KNOWN_WRITE_FEATURES: u64 = GRAPH_FEATURE;
/// Write-feature bit 0: the file has a graph, which whoever removes a document must bring up to date.
pub const GRAPH_FEATURE: u64 = 1;

/// Who made the file, and what it takes to read and to write it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Identity {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// A reader that does not know one of these bits refuses the file.
    pub read_features: u64,
    /// A writer that does not know one of these bits opens the file for reading only.
    pub write_features: u64,
    /// Program and version that made the file, for people.
    pub creator: String,
    /// Fingerprint of the token counter: the unit of every token count in the file.
    pub token_counter: String,
    /// Fingerprint of the analyzer: how text became terms.
    pub analyzer: String,
    /// Whether the file is never to be changed again.
    pub sealed: bool,
}

impl Identity {
    /// Whether this build can read the file.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the version or the first unknown bit.
    pub fn check_readable(&self) -> Result<()> {
        if self.magic != MAGIC {
            return Err(META.malformed(IDENTITY_KEY, "magic", 16, "this is a redb file but no evdb file"));
        }
        if self.format_version != FORMAT_VERSION {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the file has format version {}, made by {:?}; this build reads version {FORMAT_VERSION} \
                     (format-spec 4.1): open it with a newer evdb",
                    self.format_version, self.creator
                ),
            ));
        }
        match first_bit(self.read_features & !KNOWN_READ_FEATURES) {
            None => Ok(()),
            Some(bit) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the file needs read feature {bit}, which this build does not know (format-spec 4.2): \
                     open it with a newer evdb"
                ),
            )),
        }
    }

    /// Whether this build may write to the file.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the first unknown bit; `InvalidInput` if the file is sealed.
    pub fn check_writable(&self) -> Result<()> {
        if self.sealed {
            return Err(Error::invalid("the file is sealed: it is never changed again"));
        }
        match first_bit(self.write_features & !KNOWN_WRITE_FEATURES) {
            None => Ok(()),
            Some(bit) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the file has write feature {bit}, which this build does not know (format-spec 4.2): \
                     open it for reading only"
                ),
            )),
        }
    }
}

fn first_bit(bits: u64) -> Option<u32> {
    (bits != 0).then(|| bits.trailing_zeros())
}

/// What has been handed out, and how much is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Counters {
    /// Commits so far; a reader's cache is as old as this number.
    pub commits: u64,
    /// The next document id.
    pub next_document: u32,
    /// The next node id.
    pub next_node: u32,
    /// The next segment id.
    pub next_segment: u32,
    /// The next vector space id.
    pub next_space: u32,
    /// Documents in the file.
    pub documents: u32,
    /// Nodes in the file.
    pub nodes: u32,
    /// Leaves in the file.
    pub leaves: u32,
    /// Tokens of all leaves.
    pub leaf_tokens: u64,
    /// Bytes of all texts, before compression.
    pub text_bytes: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            commits: 0,
            next_document: 1,
            next_node: 1,
            next_segment: 1,
            next_space: 1,
            documents: 0,
            nodes: 0,
            leaves: 0,
            leaf_tokens: 0,
            text_bytes: 0,
        }
    }
}

/// One table, as the catalogue tells a reader that does not know it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CatalogueEntry {
    /// Whether the table can be rebuilt from the others.
    pub derived: bool,
    /// Section of the format specification.
    pub section: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            magic: MAGIC,
            format_version: FORMAT_VERSION,
            read_features: 0,
            write_features: 0,
            creator: "a test".into(),
            token_counter: "t".into(),
            analyzer: "a".into(),
            sealed: false,
        }
    }

    /// spec
    #[test]
    fn an_unknown_feature_bit_is_named() {
        let reading = Identity { read_features: 1 << 5, ..identity() }.check_readable();
        let writing = Identity { write_features: 1 << 63, ..identity() };

        assert!(reading.expect_err("unknown").to_string().contains("read feature 5"));
        assert!(writing.check_readable().is_ok());
        assert!(writing.check_writable().expect_err("unknown").to_string().contains("write feature 63"));
    }

    /// spec
    #[test]
    fn a_newer_version_is_refused_by_its_number() {
        let error = Identity { format_version: 2, ..identity() }.check_readable().expect_err("newer");

        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("version 2"));
    }
}
