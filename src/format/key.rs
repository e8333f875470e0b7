//! Keys: big-endian, so that byte order is logical order. format-spec.md section 3.1.

/// A key of one 32-bit number.
#[must_use]
pub const fn one(a: u32) -> [u8; 4] {
    a.to_be_bytes()
}

/// A key of two 32-bit numbers, the first leading.
#[must_use]
pub const fn two(a: u32, b: u32) -> [u8; 8] {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.to_be_bytes(), b.to_be_bytes());
    [a0, a1, a2, a3, b0, b1, b2, b3]
}

/// A key of a 32-bit number, a byte and a 32-bit number.
#[must_use]
pub const fn three(a: u32, b: u8, c: u32) -> [u8; 9] {
    let ([a0, a1, a2, a3], [c0, c1, c2, c3]) = (a.to_be_bytes(), c.to_be_bytes());
    [a0, a1, a2, a3, b, c0, c1, c2, c3]
}

/// The numbers of a key made by [`one`].
#[must_use]
pub fn parse_one(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.try_into().ok()?))
}

/// The numbers of a key made by [`two`].
#[must_use]
pub fn parse_two(key: &[u8]) -> Option<(u32, u32)> {
    let (a, b) = key.split_at_checked(4)?;
    Some((parse_one(a)?, parse_one(b)?))
}

/// The numbers of a key made by [`three`].
#[must_use]
pub fn parse_three(key: &[u8]) -> Option<(u32, u8, u32)> {
    let (a, rest) = key.split_at_checked(4)?;
    let (b, c) = rest.split_first()?;
    Some((parse_one(a)?, *b, parse_one(c)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_is_logical_order() {
        assert!(two(1, 255) < two(1, 256) && two(1, 256) < two(2, 0));
        assert!(three(7, 1, u32::MAX) < three(7, 2, 0));
    }

    #[test]
    fn a_key_of_another_length_is_not_parsed() {
        assert_eq!(parse_two(&two(3, 4)), Some((3, 4)));
        assert_eq!(parse_three(&three(3, 4, 5)), Some((3, 4, 5)));
        assert_eq!(parse_one(&[0; 5]), None);
        assert_eq!(parse_three(&[0; 8]), None);
    }
}
