//! Evidence as one string.

use crate::ids::NodeId;
use crate::query::evidence::Evidence;

/// What stands above the leaves of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Headings {
    /// Nothing.
    None,
    /// A line `# Title > Section > Subsection`, once per run of leaves of one section.
    #[default]
    Path,
}

/// How evidence becomes one string.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Format {
    /// What stands above the leaves of a section.
    pub headings: Headings,
    /// What stands between two blocks, a block being a heading line or a leaf's text.
    pub separator: String,
}

impl Default for Format {
    /// Heading paths, and a blank line between blocks.
    fn default() -> Self {
        Self { headings: Headings::Path, separator: "\n\n".into() }
    }
}

impl Format {
    /// Texts alone, parted by a blank line.
    #[must_use]
    pub fn bare() -> Self {
        Self { headings: Headings::None, ..Self::default() }
    }

    /// The heading line for a document's title and the titles below it; `None` if there is nothing to say.
    ///
    /// White space within a title becomes single spaces, so the line is one line.
    #[must_use]
    pub fn heading_line(&self, title: &str, path: &[impl AsRef<str>]) -> Option<String> {
        if self.headings == Headings::None {
            return None;
        }
        let titles = std::iter::once(title).chain(path.iter().map(AsRef::as_ref));
        let clean = titles.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        let line = clean.filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" > ");
        (!line.is_empty()).then(|| format!("# {line}"))
    }

    /// `items` in their order as one string: for each run of items of one section its heading line, then their
    /// texts, all parted by the separator.
    #[must_use]
    pub fn render<'a>(&self, items: impl IntoIterator<Item = &'a Evidence>) -> String {
        let mut text = String::new();
        let mut section: Option<NodeId> = None;
        let mut block = |block: &str, first: bool| {
            if !first {
                text.push_str(&self.separator);
            }
            text.push_str(block);
        };
        let mut first = true;
        for item in items {
            if section != Some(item.section) {
                section = Some(item.section);
                if let Some(line) = self.heading_line(&item.title, &item.heading_path) {
                    block(&line, first);
                    first = false;
                }
            }
            block(&item.text, first);
            first = false;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_one_line_without_empty_titles() {
        let format = Format::default();

        assert_eq!(format.heading_line("A\nb", &["", " C  d "]).as_deref(), Some("# A b > C d"));
        assert_eq!(format.heading_line(" ", &[""; 1]), None);
        assert_eq!(Format::bare().heading_line("A", &["B"]), None);
    }
}
