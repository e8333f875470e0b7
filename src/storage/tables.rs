//! Every table of the file, with the section of format-spec.md that describes it.

/// Whether a table can be made again from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Cannot be recomputed: losing it loses evidence.
    Canonical,
    /// Can be rebuilt from canonical tables; a reader may ignore it.
    Derived,
}

impl Class {
    /// `canonical` or `derived`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Derived => "derived",
        }
    }
}

/// One table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name in the container.
    pub name: &'static str,
    /// Whether it can be rebuilt.
    pub class: Class,
    /// Section of format-spec.md.
    pub section: &'static str,
}

const fn table(name: &'static str, class: Class, section: &'static str) -> Table {
    Table { name, class, section }
}

/// All tables, in the order of the spec.
pub const TABLES: [Table; 21] = [
    table("meta", Class::Canonical, "4.1"),
    table("catalogue", Class::Canonical, "6.1"),
    table("documents", Class::Canonical, "6.2"),
    table("document_keys", Class::Derived, "6.3"),
    table("roots", Class::Derived, "6.3"),
    table("trees", Class::Canonical, "6.4"),
    table("texts", Class::Canonical, "6.5"),
    table("manifest", Class::Derived, "7.1"),
    table("text_segments", Class::Derived, "7.2"),
    table("text_parts", Class::Derived, "7.3"),
    table("deleted", Class::Derived, "7.7"),
    table("spaces", Class::Canonical, "8.1"),
    table("vectors", Class::Canonical, "8.2"),
    table("contexts", Class::Derived, "8.3"),
    table("graph_names", Class::Canonical, "14.2"),
    table("entities", Class::Canonical, "14.3"),
    table("entity_keys", Class::Derived, "14.3"),
    table("hyperedges", Class::Canonical, "14.4"),
    table("hyperedge_keys", Class::Derived, "14.4"),
    table("graph_documents", Class::Canonical, "14.5"),
    table("graph_parts", Class::Derived, "14.6"),
];

/// Where the table called `name` stands in [`TABLES`].
pub(crate) fn position(name: &str) -> Option<usize> {
    TABLES.iter().position(|table| table.name == name)
}
