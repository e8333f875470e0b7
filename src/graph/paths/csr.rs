//! Lists of numbers by row, one after the other.

/// Row `i` is `items[starts[i]..starts[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Default for Csr {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl Csr {
    /// The rows `0..rows` of `pairs` of row and item, which are sorted; pairs of other rows are left out.
    pub fn from_sorted(rows: usize, pairs: &[(u32, u32)]) -> Self {
        let mut csr = Self::default();
        let mut pairs = pairs.iter().peekable();
        for row in 0..as_u32(rows) {
            while let Some((_, item)) = pairs.next_if(|(of, _)| *of == row) {
                csr.items.push(*item);
            }
            csr.end_row();
        }
        csr
    }

    /// Adds to the row that is open.
    pub fn push(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Ends the row that is open.
    pub fn end_row(&mut self) {
        self.starts.push(as_u32(self.items.len()));
    }

    /// What was added to the row that is open.
    pub fn open_row(&self) -> &[u32] {
        let start = self.starts.last().copied().unwrap_or(0);
        self.items.get(start as usize..).unwrap_or_default()
    }

    /// Row `row`; empty beyond the last.
    pub fn row(&self, row: u32) -> &[u32] {
        let row = row as usize;
        let (Some(start), Some(end)) = (self.starts.get(row), self.starts.get(row + 1)) else { return &[] };
        self.items.get(*start as usize..*end as usize).unwrap_or_default()
    }

    /// Bytes of the two lists.
    pub fn size_bytes(&self) -> usize {
        (self.starts.len() + self.items.len()) * size_of::<u32>()
    }

    /// How many rows have ended.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }
}

/// An index as it is stored. Leaves, sentences and keys are numbered in 32 bits.
pub fn as_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_what_was_put_in_them() {
        let mut csr = Csr::default();
        csr.push(7);
        csr.push(8);
        assert_eq!(csr.open_row(), [7, 8]);
        csr.end_row();
        csr.end_row();

        assert_eq!((csr.row(0), csr.row(1), csr.row(2), csr.rows()), (&[7, 8][..], &[][..], &[][..], 2));
        assert_eq!(Csr::from_sorted(3, &[(0, 7), (0, 8), (2, 1), (9, 9)]).row(2), [1]);
    }
}
