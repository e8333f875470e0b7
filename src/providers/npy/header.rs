//! The header: a Python dictionary of three entries.

use std::io::Read;

use crate::error::{Error, Result};

const MAGIC: [u8; 6] = *b"\x93NUMPY";
const MOST_HEADER_BYTES: usize = 64 << 10;

/// What an element is; all little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    F16,
    F32,
    F64,
    I8,
}

impl Element {
    fn of(descr: &str) -> Result<Self> {
        match descr {
            "<f2" => Ok(Self::F16),
            "<f4" => Ok(Self::F32),
            "<f8" => Ok(Self::F64),
            "|i1" | "<i1" => Ok(Self::I8),
            other => Err(Error::invalid(format!("elements are {other:?}; read are <f2, <f4, <f8 and |i1"))),
        }
    }

    fn size_bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::I8 => 1,
        }
    }
}

/// Shape and element of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Header {
    /// The header at the start of `reader`, a file of `length` bytes, and the offset of what follows it.
    pub(super) fn read(reader: &mut impl Read, length: u64) -> Result<(Self, u64)> {
        let mut take = |bytes: &mut [u8], what: &str| {
            reader.read_exact(bytes).map_err(|error| {
                if error.kind() == std::io::ErrorKind::UnexpectedEof {
                    Error::invalid(format!("the file of {length} bytes ends in its {what}"))
                } else {
                    Error::io("read", what, error)
                }
            })
        };
        let mut start = [0; 8];
        take(&mut start, "magic")?;
        let [magic @ .., major, _minor] = start;
        if magic != MAGIC {
            return Err(Error::invalid(format!("it begins with {magic:02x?}, not \\x93NUMPY")));
        }
        let (size, before) = match major {
            1 => {
                let mut size = [0; 2];
                take(&mut size, "header size")?;
                (usize::from(u16::from_le_bytes(size)), 10)
            }
            2 | 3 => {
                let mut size = [0; 4];
                take(&mut size, "header size")?;
                (u32::from_le_bytes(size) as usize, 12)
            }
            _ => return Err(Error::invalid(format!("it has version {major}; read are 1 to 3"))),
        };
        if size > MOST_HEADER_BYTES {
            return Err(Error::invalid(format!("its header has {size} bytes, over {MOST_HEADER_BYTES}")));
        }
        let mut text = vec![0; size];
        take(&mut text, "header")?;
        let text = std::str::from_utf8(&text).map_err(|_| Error::invalid("its header is not UTF-8"))?;
        let header = Self::parse(text)?;
        let offset = before + size as u64;
        let expected = header.data_bytes().and_then(|data| data.checked_add(offset));
        if expected != Some(length) {
            let (rows, columns, element) = (header.rows, header.columns, header.element);
            let expected = expected.map_or("over 2^64".into(), |expected| expected.to_string());
            return Err(Error::invalid(format!(
                "{rows} x {columns} {element:?} make a file of {expected} bytes; it has {length}"
            )));
        }
        Ok((header, offset))
    }

    /// Bytes of one row.
    pub(super) fn row_bytes(&self) -> Result<usize> {
        let bytes = self.columns.checked_mul(self.element.size_bytes()).filter(|_| self.rows > 0);
        match bytes {
            Some(bytes) => Ok(bytes),
            // Without rows the file's length bounds nothing.
            None if self.rows == 0 => Ok(0),
            None => Err(Error::invalid(format!("a row of {} elements fits no memory", self.columns))),
        }
    }

    fn data_bytes(&self) -> Option<u64> {
        let elements = (self.rows as u64).checked_mul(self.columns as u64)?;
        elements.checked_mul(self.element.size_bytes() as u64)
    }

    fn parse(text: &str) -> Result<Self> {
        let (mut element, mut c_order, mut shape) = (None, false, None);
        let mut rest = Literal(text);
        rest.expect('{')?;
        while !rest.accept('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" if rest.peeks('[') => {
                    return Err(Error::invalid("its elements are records; read are <f2, <f4, <f8 and |i1"));
                }
                "descr" => element = Some(Element::of(rest.string()?)?),
                "fortran_order" => match rest.word() {
                    "False" => c_order = true,
                    "True" => return Err(Error::invalid("it is in Fortran order; save it in C order")),
                    other => return Err(Error::invalid(format!("its fortran_order is {other:?}"))),
                },
                "shape" => shape = Some(rest.tuple()?),
                other => return Err(Error::invalid(format!("its header has an entry {other:?}"))),
            }
            if !rest.accept(',') {
                rest.expect('}')?;
                break;
            }
        }
        let (Some(element), true, Some(shape)) = (element, c_order, shape) else {
            return Err(Error::invalid("its header lacks one of descr, fortran_order and shape"));
        };
        let (rows, columns) = match *shape {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(Error::invalid(format!("it has {} axes; read are 1 and 2", shape.len()))),
        };
        if columns == 0 && rows > 0 {
            return Err(Error::invalid(format!("it has {rows} rows of no element")));
        }
        Ok(Self { element, rows, columns })
    }
}

/// The rest of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn peeks(&mut self, c: char) -> bool {
        self.0 = self.0.trim_start();
        self.0.starts_with(c)
    }

    fn accept(&mut self, c: char) -> bool {
        self.0 = self.0.trim_start();
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.accept(c) {
            return Ok(());
        }
        let found: String = self.0.chars().take(20).collect();
        Err(Error::invalid(format!("its header has {found:?} where {c:?} was expected")))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.accept('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect('\'')?;
        }
        let Some((text, rest)) = self.0.split_once(quote) else {
            return Err(Error::invalid("its header has a string without end"));
        };
        self.0 = rest;
        Ok(text)
    }

    fn word(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        let end = self.0.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut numbers = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let word = self.word();
            // Python 2 wrote long integers as `3L`.
            let number = word.strip_suffix('L').unwrap_or(word);
            let number = number
                .parse()
                .map_err(|_| Error::invalid(format!("its shape has {word:?}, which is no size")))?;
            numbers.push(number);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(numbers)
    }
}
