//! Small, changing records in bincode's standard encoding, always with a limit. format-spec.md section 3.2.
//!
//! bincode is pinned and named here only: its encoding is stated in the spec, so that it can be replaced
//! without changing a byte.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};

use super::frame::RecordKind;
use crate::error::Result;

pub use bincode::{Decode, Encode};

/// Most bytes a decoder may be asked to allocate by a length it read.
const LIMIT_BYTES: usize = super::frame::MAX_VALUE_BYTES;

const CONFIG: Configuration<LittleEndian, Varint, Limit<LIMIT_BYTES>> =
    bincode::config::standard().with_limit::<LIMIT_BYTES>();

/// The framed value of `record` under `key`.
///
/// # Errors
///
/// `InvalidInput` if it is larger than a value may be.
pub fn seal<T: Encode>(kind: &RecordKind, key: &[u8], record: &T) -> Result<Vec<u8>> {
    let payload = bincode::encode_to_vec(record, CONFIG).map_err(|error| {
        crate::error::Error::invalid(format!("a record of table {} cannot be encoded", kind.table))
            .with_source(error)
    })?;
    kind.seal(key, &payload)
}

/// The record in the framed `value` under `key`.
///
/// # Errors
///
/// `Corrupt` if the frame is damaged, the payload is no such record, or bytes are left over.
pub fn open<T: Decode<()>>(kind: &RecordKind, key: &[u8], value: &[u8]) -> Result<T> {
    decode(kind, key, kind.open(key, value)?)
}

/// The record in `payload`, whose frame has been opened.
///
/// # Errors
///
/// `Corrupt` if the payload is no such record or bytes are left over.
pub fn decode<T: Decode<()>>(kind: &RecordKind, key: &[u8], payload: &[u8]) -> Result<T> {
    match bincode::decode_from_slice(payload, CONFIG) {
        Ok((record, read)) if read == payload.len() => Ok(record),
        Ok((_, read)) => {
            let why = format!("{} bytes follow the record", payload.len() - read);
            Err(kind.malformed(key, "payload", super::frame::HEADER_BYTES + read, why))
        }
        Err(error) => Err(kind.malformed(key, "payload", super::frame::HEADER_BYTES, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: RecordKind = RecordKind { tag: *b"TEST", version: 1, table: "tests", section: "3.2" };

    #[derive(Debug, PartialEq, Encode, Decode)]
    struct Record {
        number: u32,
        words: Vec<String>,
    }

    /// spec: R-3.2.1 (the worked example)
    #[test]
    fn the_worked_example_of_the_spec_holds() {
        let record = Record { number: 300, words: vec!["ab".into(), String::new()] };

        let value = seal(&KIND, b"k", &record).expect("it fits");

        assert_eq!(&value[16..], [251, 44, 1, 2, 2, b'a', b'b', 0]);
        assert_eq!(open::<Record>(&KIND, b"k", &value).expect("it is whole"), record);
    }

    /// A crafted length asked bincode for 9 exabytes and aborted the process: the limit makes it an error.
    #[test]
    fn a_crafted_length_is_an_error() {
        let value = KIND.seal(b"k", &[0, 253, 255, 255, 255, 255, 255, 255, 255, 127]).expect("it fits");

        let error = open::<Record>(&KIND, b"k", &value).expect_err("no such length");

        assert_eq!(error.corruption().map(|at| at.field.as_str()), Some("payload"));
    }
}
