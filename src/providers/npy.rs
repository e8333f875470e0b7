//! Matrices from NumPy's `.npy` files.
//!
//! Read are versions 1 to 3, little-endian `f2`, `f4`, `f8` and `i1`, C order, one or two axes; one axis counts
//! as one column. Elements become `f32`: `f8` is rounded to nearest, beyond the range to infinity.
//!
//! # Source
//!
//! NumPy enhancement proposal 1 and `numpy.lib.format`. Departure: the header is at most 64 KiB.
#![expect(clippy::doc_markdown, reason = "NumPy is a name")]

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Result};

mod header;

use header::{Element, Header};

/// An `.npy` file, read row by row.
#[derive(Debug)]
pub struct Npy<R> {
    reader: R,
    name: String,
    header: Header,
    /// Offset of the first row.
    data_offset: u64,
    /// The row that `reader` stands before.
    position: usize,
    bytes: Vec<u8>,
}

impl Npy<BufReader<File>> {
    /// The file at `path`; its size has been checked against its header.
    ///
    /// # Errors
    ///
    /// `Io` or `NotFound` if it cannot be read, `InvalidInput` if it is no such matrix.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path.display(), error))?;
        Self::new(BufReader::new(file), path.display().to_string())
    }
}

impl<R: Read + Seek> Npy<R> {
    /// The matrix in `reader`, which begins at its start; `name` is for messages.
    ///
    /// # Errors
    ///
    /// `Io` if it cannot be read, `InvalidInput` if it is no such matrix or is not as long as its header says.
    pub fn new(mut reader: R, name: String) -> Result<Self> {
        let length = reader
            .seek(SeekFrom::End(0))
            .and_then(|length| reader.rewind().map(|()| length))
            .map_err(|error| Error::io("seek in", &name, error))?;
        let (header, data_offset) = Header::read(&mut reader, length)
            .map_err(|error| error.context(format_args!("{name} as .npy")))?;
        let row_bytes = header.row_bytes()?;
        Ok(Self { reader, name, header, data_offset, position: 0, bytes: vec![0; row_bytes] })
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.header.rows
    }

    /// Elements in a row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.header.columns
    }

    /// Writes row `index` to `out`. Rows read in order need no seek.
    ///
    /// * `out`: one float a column, written whole.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no such row or `out` is of another length, `Io` if it cannot be read.
    pub fn row(&mut self, index: usize, out: &mut [f32]) -> Result<()> {
        let (rows, columns) = (self.header.rows, self.header.columns);
        if index >= rows || out.len() != columns {
            let (name, floats) = (&self.name, out.len());
            return Err(Error::invalid(format!(
                "row {index} of {name} into {floats} floats; it has {rows} rows of {columns}"
            )));
        }
        let read = self.seek(index).and_then(|()| self.reader.read_exact(&mut self.bytes));
        self.position = index + 1;
        read.map_err(|error| {
            self.position = usize::MAX;
            Error::io("read", format_args!("row {index} of {}", self.name), error)
        })?;
        self.header.element.decode(&self.bytes, out);
        Ok(())
    }

    /// All rows.
    ///
    /// # Errors
    ///
    /// `Io` if they cannot be read, `InvalidInput` if they fit no memory.
    pub fn into_matrix(mut self) -> Result<Matrix> {
        let (rows, columns) = (self.rows(), self.columns());
        let Some(elements) = rows.checked_mul(columns) else {
            return Err(Error::invalid(format!("{}: {rows} x {columns} floats fit no memory", self.name)));
        };
        let mut data = vec![0.0; elements];
        for (index, row) in data.chunks_exact_mut(columns.max(1)).enumerate() {
            self.row(index, row)?;
        }
        Ok(Matrix { rows, columns, data })
    }

    fn seek(&mut self, index: usize) -> std::io::Result<()> {
        if self.position != index {
            // The header was checked: the whole file's size fits 64 bits.
            let offset = index as u64 * self.bytes.len() as u64;
            self.reader.seek(SeekFrom::Start(self.data_offset + offset))?;
        }
        Ok(())
    }
}

/// A matrix in memory: `rows x columns`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

impl Matrix {
    /// The matrix of an `.npy` file.
    ///
    /// # Errors
    ///
    /// As [`Npy::open`] and [`Npy::into_matrix`].
    pub fn open(path: &Path) -> Result<Self> {
        Npy::open(path)?.into_matrix()
    }

    /// The matrix in the bytes of an `.npy` file.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if they are no such matrix.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Npy::new(Cursor::new(bytes), "the matrix".into())?.into_matrix()
    }

    /// Shape and elements of an int8 matrix, as they lie in the bytes of its file.
    #[cfg(feature = "static-embedder")]
    pub(super) fn codes(bytes: &[u8]) -> Result<((usize, usize), &[u8])> {
        let (header, offset) = Header::read(&mut Cursor::new(bytes), bytes.len() as u64)?;
        match usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)) {
            Some(codes) if header.element == Element::I8 => Ok(((header.rows, header.columns), codes)),
            _ => Err(Error::invalid("the matrix is not of int8")),
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements in a row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `index`; empty beyond the last.
    #[must_use]
    pub fn row(&self, index: usize) -> &[f32] {
        self.data.chunks_exact(self.columns.max(1)).nth(index).unwrap_or_default()
    }

    /// All rows, one after the other.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }
}

impl Element {
    fn decode(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F16 => fill(out, bytes.as_chunks().0, |x| half(u16::from_le_bytes(x))),
            Self::F32 => fill(out, bytes.as_chunks().0, f32::from_le_bytes),
            Self::F64 => fill(out, bytes.as_chunks().0, |x| narrow(f64::from_le_bytes(x))),
            Self::I8 => fill(out, bytes.as_chunks().0, |x| f32::from(i8::from_le_bytes(x))),
        }
    }
}

fn fill<const N: usize>(out: &mut [f32], elements: &[[u8; N]], value: impl Fn([u8; N]) -> f32) {
    for (out, element) in out.iter_mut().zip(elements) {
        *out = value(*element);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest f32, as the module says")]
fn narrow(x: f64) -> f32 {
    x as f32
}

/// The value of an IEEE 754 binary16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction. Exact.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    let magnitude = match exponent {
        // A subnormal is its fraction in units of 2^-24.
        0 => return f32::from_bits(sign | (f32::from(bits & 1023) / 16_777_216.0).to_bits()),
        31 => 255 << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests;
