//! Fixed layouts as data: proven dense at compile time, held against the spec's tables by a test.

/// One field of a fixed layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name, as in the spec's table.
    pub name: &'static str,
    /// First byte, from the start of what the layout describes.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

impl Field {
    /// A field of `size` bytes at `offset`.
    #[must_use]
    pub const fn new(name: &'static str, offset: usize, size: usize) -> Self {
        Self { name, offset, size }
    }
}

/// The fixed fields of one structure, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Section of format-spec.md.
    pub section: &'static str,
    /// The fields.
    pub fields: &'static [Field],
}

impl Layout {
    /// Bytes of all fields, or `None` if there is a gap or an overlap.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the loop ends at the length, and `get` is no const fn")]
    pub const fn width(&self) -> Option<usize> {
        let mut end = 0;
        let mut index = 0;
        while index < self.fields.len() {
            let field = &self.fields[index];
            if field.offset != end {
                return None;
            }
            end += field.size;
            index += 1;
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_and_an_overlap_have_no_width() {
        const fn layout(fields: &'static [Field]) -> Layout {
            Layout { section: "0", fields }
        }
        const DENSE: Layout = layout(&[Field::new("a", 0, 4), Field::new("b", 4, 2)]);
        const GAP: Layout = layout(&[Field::new("a", 0, 4), Field::new("b", 5, 2)]);
        const OVERLAP: Layout = layout(&[Field::new("a", 0, 4), Field::new("b", 3, 2)]);

        assert_eq!(DENSE.width(), Some(6));
        assert_eq!(GAP.width(), None);
        assert_eq!(OVERLAP.width(), None);
    }
}
