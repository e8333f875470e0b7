use proptest::prelude::*;

use super::*;

/// A file of version `major` with the dictionary `header` and `data`.
fn file(major: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([major, 0]);
    let size = u16::try_from(header.len()).expect("short");
    bytes.extend(size.to_le_bytes());
    if major > 1 {
        bytes.extend([0, 0]);
    }
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

fn f4(shape: &str, data: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}   \n");
    file(1, &header, &data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
}

fn refusal(bytes: &[u8]) -> String {
    Matrix::from_bytes(bytes).expect_err("it is refused").to_string()
}

#[test]
fn a_matrix_comes_row_by_row_in_any_order() {
    let bytes = f4("(3, 2)", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let matrix = Matrix::from_bytes(&bytes).expect("it is sound");
    let mut npy = Npy::new(Cursor::new(&bytes), "m".into()).expect("it is sound");

    assert_eq!((matrix.rows(), matrix.columns()), (3, 2));
    assert_eq!(matrix.row(1), [2.0, 3.0]);
    assert_eq!(matrix.row(3), [0.0_f32; 0]);
    let mut row = [0.0; 2];
    for index in [0, 1, 2, 0, 2, 1] {
        npy.row(index, &mut row).expect("it is there");
        assert_eq!(&row[..], matrix.row(index));
    }
    assert!(npy.row(3, &mut row).is_err());
    assert!(npy.row(0, &mut [0.0; 3]).is_err());
}

#[test]
fn every_element_type_becomes_floats() {
    let header = |descr: &str| format!("{{\"shape\": (3L,), 'fortran_order': False, 'descr': '{descr}'}}");
    let doubles: Vec<u8> = [1.0_f64, -0.5, 1e300].iter().flat_map(|x| x.to_le_bytes()).collect();
    // 1 = 0x3c00, -0.5 = 0xb800, 2^-24 = 0x0001.
    let halves = [0x00, 0x3c, 0x00, 0xb8, 0x01, 0x00];

    let read = |major, descr, data| {
        Matrix::from_bytes(&file(major, &header(descr), data)).expect("sound").as_slice().to_vec()
    };

    assert_eq!(read(2, "<f8", &doubles), [1.0, -0.5, f32::INFINITY]);
    assert_eq!(read(3, "<f2", &halves), [1.0, -0.5, 1.0 / 16_777_216.0]);
    assert_eq!(read(1, "|i1", &[1, 128, 255]), [1.0, -128.0, -1.0]);
}

/// (-1)^s 2^(e - 15) (1 + f / 1024), or (-1)^s 2^-14 f / 1024 for e = 0.
#[test]
fn every_half_has_its_value() {
    for bits in 0..=u16::MAX {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
        let magnitude = match exponent {
            0 => 2.0_f64.powi(-14) * fraction,
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => 2.0_f64.powi(exponent - 15) * (1.0 + fraction),
        };
        let expected = if bits >> 15 == 1 { -magnitude } else { magnitude };
        let value = f64::from(half(bits));
        assert!(value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan(), "{bits:x}");
    }
}

#[test]
fn what_is_not_read_is_refused_with_its_reason() {
    let shaped = |entries: &str| file(1, &format!("{{{entries}}}"), &[0; 8]);
    for (bytes, why) in [
        (b"\x93NUM".to_vec(), "ends in its magic"),
        (b"PK\x03\x04\0\0\0\0".to_vec(), "not \\x93NUMPY"),
        (file(4, "{}", &[]), "has version 4"),
        (file(1, "{}", &[])[..11].to_vec(), "ends in its header"),
        (f4("(3, 2)", &[0.0; 5]), "3 x 2 F32 make a file of"),
        (f4("(3, 2)", &[0.0; 7]), "3 x 2 F32 make a file of"),
        (f4("(4294967295, 4294967295)", &[]), "make a file of over 2^64 bytes"),
        (f4("(18446744073709551615, 18446744073709551615)", &[]), "make a file of over 2^64 bytes"),
        (f4("(99999999999999999999, 1)", &[]), "is no size"),
        (f4("(-1, 1)", &[]), "is no size"),
        (f4("(1, 2, 1)", &[0.0; 2]), "it has 3 axes"),
        (f4("()", &[0.0]), "it has 0 axes"),
        (f4("(5, 0)", &[]), "5 rows of no element"),
        (shaped("'descr': '>f4', 'fortran_order': False, 'shape': (2,)"), "elements are \">f4\""),
        (shaped("'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)"), "are records"),
        (shaped("'descr': '<f4', 'fortran_order': True, 'shape': (2,)"), "Fortran order"),
        (shaped("'descr': '<f4', 'shape': (2,)"), "lacks one of"),
        (shaped("'descr': '<f4"), "string without end"),
        (shaped("'kind': 1"), "an entry \"kind\""),
    ] {
        assert!(refusal(&bytes).contains(why), "{} / {why}", refusal(&bytes));
    }
    let mut long = b"\x93NUMPY\x02\0".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(refusal(&long).contains("over 65536"));
}

#[test]
fn a_matrix_without_rows_is_read() {
    let matrix = Matrix::from_bytes(&f4("(0, 384)", &[])).expect("it is sound");

    assert_eq!((matrix.rows(), matrix.columns()), (0, 384));
}

#[test]
fn a_file_is_opened_by_path() {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("m.npy");
    std::fs::write(&path, f4("(2,)", &[7.0, 8.0])).expect("there is room");

    assert_eq!(Matrix::open(&path).expect("it is sound").as_slice(), [7.0, 8.0]);
    let error = Matrix::open(&directory.path().join("none.npy")).expect_err("there is none");
    assert_eq!(error.kind(), crate::error::ErrorKind::NotFound);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(at in 0_usize..90, byte: u8, cut in 0_usize..120) {
        let mut bytes = f4("(3, 2)", &[1.0; 6]);
        if let Some(damaged) = bytes.get_mut(at) {
            *damaged = byte;
        }
        bytes.truncate(cut);
        let _ = Matrix::from_bytes(&bytes);
    }
}
