//! The frame around every record and block: what it is, how long, and whether it is whole.
//! format-spec.md section 3.6.

use super::layout::{Field, Layout};
use crate::error::{Corruption, Error, Result};

/// Bytes of a frame before its payload.
pub const HEADER_BYTES: usize = 16;

/// Largest value the file holds, frame included (format-spec.md section 3.7).
pub const MAX_VALUE_BYTES: usize = 16 << 20;

/// One kind of record: its tag, its version, the table it lives in and the section that describes it.
///
/// # Format
///
/// | Offset | Size | Field       | Meaning                                                       |
/// |-------:|-----:|-------------|---------------------------------------------------------------|
/// |      0 |    4 | tag         | four ASCII letters                                            |
/// |      4 |    2 | version     | version of the payload's layout                               |
/// |      6 |    2 | reserved    | zero                                                          |
/// |      8 |    4 | payload_len | bytes of payload                                              |
/// |     12 |    4 | crc32       | IEEE CRC-32 of table name, a zero byte, key, bytes 0..12, payload |
/// |     16 |    - | payload     | then one zero byte if the value would have 2^k bytes          |
///
/// Table and key are part of the checksum, so that a whole record in the wrong place is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordKind {
    /// Four ASCII letters, unique to the kind.
    pub tag: [u8; 4],
    /// Version of the payload's layout.
    pub version: u16,
    /// Name of the table.
    pub table: &'static str,
    /// Section of format-spec.md.
    pub section: &'static str,
}

impl RecordKind {
    /// Where each fixed field of the frame lies in a value.
    pub const LAYOUT: Layout = Layout {
        section: "3.6",
        fields: &[
            Field::new("tag", 0, 4),
            Field::new("version", 4, 2),
            Field::new("reserved", 6, 2),
            Field::new("payload_len", 8, 4),
            Field::new("crc32", 12, 4),
        ],
    };

    /// The value to store under `key`: `payload` in its frame.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the value would have more than [`MAX_VALUE_BYTES`].
    pub fn seal(&self, key: &[u8], payload: &[u8]) -> Result<Vec<u8>> {
        let total = HEADER_BYTES + payload.len();
        let (Ok(len), true) = (u32::try_from(payload.len()), total < MAX_VALUE_BYTES) else {
            return Err(Error::invalid(format!(
                "a record of table {} would have {total} bytes, over {MAX_VALUE_BYTES}",
                self.table
            )));
        };
        let mut value = Vec::with_capacity(total + 1);
        value.extend_from_slice(&self.tag);
        value.extend_from_slice(&self.version.to_le_bytes());
        value.extend_from_slice(&[0, 0]);
        value.extend_from_slice(&len.to_le_bytes());
        let crc = self.crc(key, &value, payload);
        value.extend_from_slice(&crc.to_le_bytes());
        value.extend_from_slice(payload);
        if value.len().is_power_of_two() {
            value.push(0);
        }
        Ok(value)
    }

    /// The payload of the value stored under `key`.
    ///
    /// # Errors
    ///
    /// `Corrupt`, naming the field, if the frame is short, of another kind, or its checksum is wrong;
    /// `Unsupported` if the frame is whole and its version is not the one this build knows.
    pub fn open<'a>(&self, key: &[u8], value: &'a [u8]) -> Result<&'a [u8]> {
        let bad = |field, offset, why: String| Err(self.malformed(key, field, offset, why));
        let Some((header, rest)) = value.split_first_chunk::<HEADER_BYTES>() else {
            return bad("payload_len", value.len(), format!("{} bytes are no frame", value.len()));
        };
        let [t0, t1, t2, t3, v0, v1, _, _, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let Some((payload, padding)) = rest.split_at_checked(len) else {
            return bad("payload_len", 8, format!("{len} bytes are claimed, {} are there", rest.len()));
        };
        let (head, _) = header.split_at(12);
        if self.crc(key, head, payload) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return bad("checksum", 12, "the bytes are not those that were written".into());
        }
        if [t0, t1, t2, t3] != self.tag {
            return bad("tag", 0, format!("it is {:?}", String::from_utf8_lossy(&[t0, t1, t2, t3])));
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version != self.version {
            let advice = if version < self.version {
                "an older build wrote it: build the file anew"
            } else {
                "it needs a newer build"
            };
            return Err(Error::new(
                crate::error::ErrorKind::Unsupported,
                format!(
                    "{}[{}] has record version {version}, this build knows {}; {advice} (format-spec {})",
                    self.table,
                    printable(key),
                    self.version,
                    self.section
                ),
            ));
        }
        if padding.len() > 1 || padding.iter().any(|byte| *byte != 0) {
            return bad("padding", HEADER_BYTES + len, format!("{} bytes follow the payload", padding.len()));
        }
        Ok(payload)
    }

    /// A corruption of `field` at byte `offset` of the record under `key`.
    pub fn malformed(&self, key: &[u8], field: &str, offset: usize, why: impl std::fmt::Display) -> Error {
        let at = Corruption {
            table: self.table.into(),
            key: printable(key),
            field: field.into(),
            offset,
            section: self.section,
        };
        Error::corrupt(at, why)
    }

    fn crc(&self, key: &[u8], head: &[u8], payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.table.as_bytes());
        hasher.update(&[0]);
        hasher.update(key);
        hasher.update(head);
        hasher.update(payload);
        hasher.finalize()
    }
}

// A gap or an overlap in the layout is a compile error.
const _: () = assert!(matches!(RecordKind::LAYOUT.width(), Some(HEADER_BYTES)));

/// A key for people: numbers by their value (4 bytes each), text as text, anything else in hex.
#[must_use]
pub fn printable(key: &[u8]) -> String {
    if let Some(a) = super::key::parse_one(key).filter(|a| *a < 1 << 24) {
        return a.to_string();
    }
    if let Some((a, b)) = super::key::parse_two(key).filter(|(a, b)| *a < 1 << 24 && *b < 1 << 24) {
        return format!("{a}, {b}");
    }
    if let Some((a, b, c)) = super::key::parse_three(key).filter(|(a, ..)| *a < 1 << 24) {
        return format!("{a}, {b}, {c}");
    }
    match std::str::from_utf8(key) {
        Ok(text) if !text.contains(char::is_control) => format!("{text:?}"),
        _ => key.iter().fold(String::from("0x"), |hex, byte| format!("{hex}{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: RecordKind = RecordKind { tag: *b"TEST", version: 1, table: "tests", section: "3.6" };

    /// spec: R-3.6.1 (a frame gives back its payload)
    #[test]
    fn a_sealed_payload_comes_back() {
        for len in [0, 1, 15, 16, 17, 48, 4_080] {
            let payload = vec![7; len];

            let value = KIND.seal(b"k", &payload).expect("it fits");

            assert_eq!(KIND.open(b"k", &value).expect("it is whole"), payload);
        }
    }

    /// spec: R-3.6.2 (no value has 2^k bytes: redb would round its page up to twice as much)
    #[test]
    fn no_value_has_a_power_of_two_of_bytes() {
        for len in [0, 16, 48, 65_520, (1 << 20) - 16] {
            assert!(!KIND.seal(b"k", &vec![0; len]).expect("it fits").len().is_power_of_two());
        }
    }

    /// spec: R-3.6.3 (the checksum covers table, key, header and payload)
    #[test]
    fn every_flipped_bit_and_every_other_key_is_found_out() {
        let value = KIND.seal(b"k", b"some payload").expect("it fits");

        for bit in 0..value.len() * 8 {
            let mut damaged = value.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(KIND.open(b"k", &damaged).is_err(), "bit {bit}");
        }
        assert!(KIND.open(b"l", &value).is_err());
        assert!(RecordKind { table: "others", ..KIND }.open(b"k", &value).is_err());
    }

    #[test]
    fn a_record_of_another_version_is_whole_but_refused_with_advice() {
        let newer = RecordKind { version: 2, ..KIND };
        let refusal = |by: RecordKind, value: &[u8]| {
            let error = by.open(b"k", value).expect_err("another version");
            assert_eq!(error.kind(), crate::error::ErrorKind::Unsupported);
            error.to_string()
        };

        assert!(refusal(newer, &KIND.seal(b"k", b"x").expect("it fits")).contains("build the file anew"));
        assert!(refusal(KIND, &newer.seal(b"k", b"x").expect("it fits")).contains("needs a newer build"));
    }

    #[test]
    fn a_cut_or_lengthened_value_is_refused() {
        let value = KIND.seal(b"k", b"some payload").expect("it fits");

        for len in 0..value.len() {
            assert!(KIND.open(b"k", &value[..len]).is_err(), "{len}");
        }
        let error = KIND.open(b"k", &[&value[..], &[0, 0]].concat()).expect_err("two bytes too many");
        assert_eq!(error.corruption().map(|at| at.field.as_str()), Some("padding"));
    }

    #[test]
    fn a_value_over_16_mib_is_refused_before_it_is_written() {
        assert!(KIND.seal(b"k", &vec![0; MAX_VALUE_BYTES - HEADER_BYTES]).is_err());
    }
}
