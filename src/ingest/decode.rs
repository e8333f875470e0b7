//! Bytes to text: UTF-8, with or without a byte order mark, and UTF-16 with one.

use crate::error::Error;
use crate::error::Result;

/// The text of `bytes`, without its byte order mark; line ends and control characters are kept.
///
/// * `what`: names the source in messages.
/// * `replace`: whether what is not a character becomes U+FFFD.
///
/// # Errors
///
/// `InvalidInput` naming the offset of the first byte that is not UTF-8 (or of the first unpaired UTF-16
/// surrogate), unless `replace`.
pub(super) fn text(bytes: Vec<u8>, what: &str, replace: bool) -> Result<String> {
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes, what, replace),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes, what, replace),
        _ => {}
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if replace => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes().get(at).copied().unwrap_or_default();
            return Err(Error::invalid(format!(
                "{what}: byte {byte:#04x} at offset {at} is not UTF-8; convert the file to UTF-8, or allow \
                 invalid bytes to be replaced"
            )));
        }
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, what: &str, replace: bool) -> Result<String> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut at = 2;
    for decoded in char::decode_utf16(pairs.iter().copied().map(unit)) {
        match decoded {
            Ok(c) => {
                text.push(c);
                at += 2 * c.len_utf16();
            }
            Err(_) if replace => {
                text.push(char::REPLACEMENT_CHARACTER);
                at += 2;
            }
            Err(error) => {
                return Err(Error::invalid(format!(
                    "{what}: the UTF-16 surrogate {:#06x} at byte offset {at} has no partner; repair the \
                     file, or allow invalid bytes to be replaced",
                    error.unpaired_surrogate()
                )));
            }
        }
    }
    match odd {
        [] => {}
        _ if replace => text.push(char::REPLACEMENT_CHARACTER),
        _ => {
            return Err(Error::invalid(format!(
                "{what}: UTF-16 text with an odd number of bytes ends in half a character at byte offset {at}"
            )));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf8_is_named_with_its_offset() {
        let error = text(b"caf\xe9 noir".to_vec(), "menu.txt", false).expect_err("0xe9 is Latin-1");

        let message = error.to_string();
        assert!(message.starts_with("menu.txt: byte 0xe9 at offset 3 is not UTF-8"), "{message}");
    }

    #[test]
    fn a_byte_that_is_not_utf8_is_replaced_on_demand() {
        let read = text(b"caf\xe9 noir".to_vec(), "menu.txt", true).expect("replacing cannot fail");

        assert_eq!(read, "caf\u{fffd} noir");
    }

    #[test]
    fn byte_order_marks_are_stripped_and_utf16_is_decoded() {
        let utf8 = text(b"\xef\xbb\xbfab".to_vec(), "x", false).expect("UTF-8 with a mark");
        let little = text(b"\xff\xfea\0\x3d\xd8\x00\xde".to_vec(), "x", false).expect("UTF-16LE");
        let big = text(b"\xfe\xff\0a\xd8\x3d\xde\x00".to_vec(), "x", false).expect("UTF-16BE");

        assert_eq!(utf8, "ab");
        assert_eq!(little, "a\u{1f600}");
        assert_eq!(big, "a\u{1f600}");
    }

    #[test]
    fn half_a_utf16_character_is_an_error_with_its_offset() {
        let odd = text(b"\xff\xfea\0b".to_vec(), "x", false).expect_err("one byte too many");
        let lone = text(b"\xff\xfea\0\x3d\xd8a\0".to_vec(), "x", false).expect_err("a lone surrogate");

        assert!(odd.to_string().contains("offset 4"), "{odd}");
        assert!(lone.to_string().contains("0xd83d at byte offset 4"), "{lone}");
        assert_eq!(text(b"\xff\xfea\0b".to_vec(), "x", true).expect("replaced"), "a\u{fffd}");
    }

    #[test]
    fn control_characters_and_nul_are_kept() {
        assert_eq!(text(b"a\0\x07\r\nb".to_vec(), "x", false).expect("ASCII"), "a\0\u{7}\r\nb");
    }
}
