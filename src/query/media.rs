//! What stands around a leaf, and the images, tables and captions of a document.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::ids::Span;
use crate::query::catalogue::Listed;
use crate::query::catalogue::clipped;
use crate::tree::NodeKind;
use crate::tree::NodeView;
use crate::tree::Tree;

/// Things that a list of media, captions or neighbours has at most.
pub const MAX_MEDIA: usize = 80;

/// Characters of a caption.
const CAPTION: usize = 160;

/// Characters of the leaf that neighbours are shown of, unless it is an image or a table.
const ANCHOR: usize = 1_500;

/// Characters of a neighbour.
const NEIGHBOUR: usize = 500;

/// A leaf beside others.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Neighbour {
    /// The leaf.
    pub node: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Whether it is the one that neighbours were asked of.
    pub anchor: bool,
    /// Page of the source, from 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its text or the beginning of it.
    pub text: String,
    /// Whether that is less than all.
    pub clipped: bool,
}

/// An image, a table or an example in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Media {
    /// The leaf.
    pub node: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Page of the source, from 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its title, else the first line of its text, clipped.
    pub caption: String,
    /// Titles from the root to the leaf.
    pub heading_path: Vec<String>,
    /// Its attribute `path`, if it has one: where the source keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it stands on the page on which the next heading begins, so that it may belong there.
    pub boundary: bool,
}

/// Which media are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaFilter {
    /// Only of this kind; images and tables if `None`.
    pub kind: Option<NodeKind>,
    /// Only on this page.
    pub page: Option<u32>,
    /// Only under this heading.
    pub heading: Option<String>,
}

/// Where media were looked for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaScope {
    /// In the whole document, as no heading was asked for.
    Document,
    /// From this section to the next of its level.
    Section(NodeId),
    /// On the pages, or beside the leaves, whose text has the heading, as no section is called so.
    Mentioned,
    /// In the whole document, as nothing has the heading.
    HeadingNotFound,
}

/// Media in the order of the document.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MediaList {
    /// Where they were looked for.
    pub scope: MediaScope,
    /// The media.
    #[serde(flatten)]
    pub media: Listed<Media>,
}

/// A line with a label.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CaptionLine {
    /// The leaf it stands in.
    pub node: NodeId,
    /// Page of the source, from 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The line, clipped.
    pub line: String,
}

/// What a label leads to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Labelled {
    /// Lines that begin with the label; if there are none, lines that have it.
    pub lines: Listed<CaptionLine>,
    /// Whether the lines begin with it.
    pub captions: bool,
    /// Images and tables on the pages of these lines; where there are no pages, beside them in their sections.
    pub media: Listed<Media>,
}

/// What is on the page of a leaf; without pages, in its section.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PageNeighbours {
    /// The page, if the leaf has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Leaves of text, the leaf itself among them if it is one.
    pub texts: Listed<Neighbour>,
    /// Lines that begin with a label such as `Figure 5`.
    pub captions: Listed<CaptionLine>,
    /// Images and tables other than the leaf itself.
    pub media: Listed<Media>,
}

/// A document's tree with its text.
struct Whole {
    tree: std::sync::Arc<Tree>,
    text: String,
}

impl Whole {
    fn new(read: &ReadTransaction, document: DocumentId) -> Result<Self> {
        let info = read.document(document)?;
        let text = read.text(document, Span::new(0, info.text_bytes))?;
        Ok(Self { tree: read.tree(document)?, text })
    }

    /// The document of `leaf`, which is one.
    fn of_leaf(read: &ReadTransaction, leaf: NodeId) -> Result<Self> {
        let whole = Self::new(read, read.document_of(leaf)?.id)?;
        if whole.tree.node(leaf)?.is_leaf() {
            return Ok(whole);
        }
        Err(Error::invalid(format!("node {leaf} is no leaf")))
    }

    fn leaves(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.tree.nodes().filter(NodeView::is_leaf)
    }

    fn text_of(&self, leaf: &NodeView<'_>) -> &str {
        self.text.get(leaf.span().as_range()).unwrap_or_default()
    }

    fn neighbour(&self, leaf: &NodeView<'_>, anchor: NodeId) -> Neighbour {
        let is_anchor = leaf.id() == anchor;
        let limit = match (is_anchor, is_media(leaf.kind())) {
            (true, true) => usize::MAX,
            (true, false) => ANCHOR,
            (false, _) => NEIGHBOUR,
        };
        let (text, clipped) = clipped(self.text_of(leaf), limit);
        Neighbour {
            node: leaf.id(),
            kind: leaf.kind(),
            anchor: is_anchor,
            page: page_of(leaf),
            text,
            clipped,
        }
    }

    fn media(&self, leaf: &NodeView<'_>, boundary: bool) -> Media {
        let own = self.text_of(leaf);
        let caption =
            if leaf.title().is_empty() { own.lines().next().unwrap_or_default() } else { leaf.title() };
        let path = self.tree.heading_path(leaf.id()).unwrap_or_default();
        Media {
            node: leaf.id(),
            kind: leaf.kind(),
            page: page_of(leaf),
            caption: clipped(caption, CAPTION).0,
            heading_path: path.into_iter().map(str::to_owned).collect(),
            path: leaf.attribute("path").map(str::to_owned),
            boundary,
        }
    }

    /// Leaves on the pages of `places`, or, for those without a page, in their sections.
    fn beside(&self, places: &[NodeView<'_>]) -> BTreeSet<NodeId> {
        let pages: BTreeSet<u32> = places.iter().filter_map(page_of).collect();
        let bare = places.iter().filter(|leaf| page_of(leaf).is_none());
        let sections: BTreeSet<NodeId> = bare.filter_map(NodeView::parent).map(|above| above.id()).collect();
        let beside = |leaf: &NodeView<'_>| match page_of(leaf) {
            Some(page) => pages.contains(&page),
            None => leaf.parent().is_some_and(|above| sections.contains(&above.id())),
        };
        self.leaves().filter(beside).map(|leaf| leaf.id()).collect()
    }
}

/// `leaf` with up to `radius` leaves before and after it in its document, in order. More than [`MAX_MEDIA`] on a side
/// count as that.
///
/// # Errors
///
/// `NotFound` if it is not there; `InvalidInput` if it is no leaf; `Corrupt`; `Io`.
pub fn fragment_window(read: &ReadTransaction, leaf: NodeId, radius: usize) -> Result<Vec<Neighbour>> {
    let radius = radius.min(MAX_MEDIA);
    let whole = Whole::of_leaf(read, leaf)?;
    let leaves: Vec<NodeView<'_>> = whole.leaves().collect();
    let at = leaves.partition_point(|other| other.id() < leaf);
    let from = at.saturating_sub(radius);
    Ok(leaves
        .iter()
        .skip(from)
        .take(at - from + radius + 1)
        .map(|other| whole.neighbour(other, leaf))
        .collect())
}

/// What is on the page of `leaf`; if it has none, in its section.
///
/// # Errors
///
/// As [`fragment_window`].
pub fn page_neighbours(read: &ReadTransaction, leaf: NodeId) -> Result<PageNeighbours> {
    let whole = Whole::of_leaf(read, leaf)?;
    let own = whole.tree.node(leaf)?;
    let page = page_of(&own);
    let section = own.parent().map(|above| above.id());
    let here = |other: &NodeView<'_>| match page {
        Some(page) => other.page() == page,
        None => other.parent().map(|above| above.id()) == section,
    };
    let (mut texts, mut captions, mut media) = (Vec::new(), Vec::new(), Vec::new());
    for other in whole.leaves().filter(here) {
        for line in whole.text_of(&other).lines().filter(|line| begins_with_label(&folded(line))) {
            captions.push(CaptionLine { node: other.id(), page, line: clipped(line.trim(), CAPTION).0 });
        }
        if other.kind() == NodeKind::Text {
            texts.push(whole.neighbour(&other, leaf));
        } else if is_media(other.kind()) && other.id() != leaf {
            media.push(whole.media(&other, false));
        }
    }
    Ok(PageNeighbours {
        page,
        texts: Listed::first(texts, MAX_MEDIA),
        captions: Listed::first(captions, MAX_MEDIA),
        media: Listed::first(media, MAX_MEDIA),
    })
}

/// The media of `document` that `filter` lets through, in its order.
///
/// Under a heading are those from its page to that of the next heading of its level or above; of a document without
/// pages, those between the two. A heading that no section has is looked for in the texts; if it is not there either,
/// the list is that of the whole document and its scope says so.
///
/// # Errors
///
/// `NotFound` if there is no such document; `InvalidInput` for a kind that is no leaf; `Corrupt`; `Io`.
pub fn list_media(read: &ReadTransaction, document: DocumentId, filter: &MediaFilter) -> Result<MediaList> {
    if let Some(kind) = filter.kind.filter(|kind| !kind.is_leaf()) {
        return Err(Error::invalid(format!("a {} is no leaf", kind.name())));
    }
    let whole = Whole::new(read, document)?;
    let wanted = |leaf: &NodeView<'_>| {
        let kind = filter.kind.map_or_else(|| is_media(leaf.kind()), |kind| leaf.kind() == kind);
        kind && filter.page.is_none_or(|page| leaf.page() == page)
    };
    let all = || whole.leaves().filter(wanted);
    let heading = filter.heading.as_deref().map(folded).filter(|heading| !heading.is_empty());
    let whole_list = || all().map(|leaf| whole.media(&leaf, false)).collect();
    let (scope, media): (_, Vec<Media>) = if let Some(heading) = heading {
        if let Some(section) = section(&whole.tree, &heading) {
            let found = under(&whole, &section, all()).into_iter();
            let media = found.map(|(leaf, boundary)| whole.media(&leaf, boundary)).collect();
            (MediaScope::Section(section.id()), media)
        } else {
            let has = |leaf: &NodeView<'_>| folded(whole.text_of(leaf)).contains(&heading);
            let places: Vec<NodeView<'_>> = whole.leaves().filter(has).collect();
            if places.is_empty() {
                (MediaScope::HeadingNotFound, whole_list())
            } else {
                let beside = whole.beside(&places);
                let found = all().filter(|leaf| beside.contains(&leaf.id()));
                (MediaScope::Mentioned, found.map(|leaf| whole.media(&leaf, false)).collect())
            }
        }
    } else {
        (MediaScope::Document, whole_list())
    };
    Ok(MediaList { scope, media: Listed::first(media, MAX_MEDIA) })
}

/// The first section whose heading is `heading`, folded; else the first whose heading has it.
fn section<'a>(tree: &'a Tree, heading: &str) -> Option<NodeView<'a>> {
    let sections = || tree.nodes().skip(1).filter(|node| !node.is_leaf());
    let whole = sections().find(|node| folded(node.title()) == heading);
    whole.or_else(|| sections().find(|node| folded(node.title()).contains(heading)))
}

/// Those of `leaves` that stand under `section`, each with whether it stands on the page of the next heading.
fn under<'a>(
    whole: &'a Whole,
    section: &NodeView<'a>,
    leaves: impl Iterator<Item = NodeView<'a>>,
) -> Vec<(NodeView<'a>, bool)> {
    let range = section.range();
    let next = whole
        .tree
        .nodes()
        .find(|node| node.id() > range.last && !node.is_leaf() && node.level() <= section.level());
    let first_page =
        |from: NodeId| whole.tree.nodes().filter(|node| node.id() >= from).find_map(|node| page_of(&node));
    let first = first_page(section.id());
    let last = next.as_ref().map(|next| first_page(next.id()));
    let end = next.map(|next| next.id());
    let inside = |leaf: &NodeView<'a>| {
        let by_order = leaf.id() >= range.first && end.is_none_or(|end| leaf.id() < end);
        match (page_of(leaf), first, last) {
            (Some(page), Some(first), Some(Some(last))) => (page >= first && page <= last, page == last),
            (Some(page), Some(first), None) => (page >= first, false),
            _ => (by_order, false),
        }
    };
    let judged = leaves.map(|leaf| (leaf, inside(&leaf)));
    judged.filter(|(_, (inside, _))| *inside).map(|(leaf, (_, boundary))| (leaf, boundary)).collect()
}

/// What `label`, such as `Figure 5`, `Fig. 5`, `Table 2.1` or `图5`, leads to in `document`.
///
/// Case, spaces and width do not matter. A bare number stands for figures and tables.
///
/// # Errors
///
/// `NotFound` if there is no such document; `InvalidInput` if `label` has no number, or another word than that of a
/// figure or table; `Corrupt`; `Io`.
pub fn find_label(read: &ReadTransaction, document: DocumentId, label: &str) -> Result<Labelled> {
    let wanted = Label::parse(label).ok_or_else(|| {
        Error::invalid(format!("{label:?} is no label; write it as \"Figure 5\", \"Table 2.1\" or \"图5\""))
    })?;
    let whole = Whole::new(read, document)?;
    let (mut begin, mut have) = (Vec::new(), Vec::new());
    for leaf in whole.leaves() {
        for line in std::iter::once(leaf.title()).chain(whole.text_of(&leaf).lines()) {
            match wanted.find(&folded(line)) {
                Some(true) => begin.push((leaf, line)),
                Some(false) => have.push((leaf, line)),
                None => {}
            }
        }
    }
    let captions = !begin.is_empty();
    let found = if captions { begin } else { have };
    let places: Vec<NodeView<'_>> = found.iter().map(|(leaf, _)| *leaf).collect();
    let beside = whole.beside(&places);
    let media = whole.leaves().filter(|leaf| is_media(leaf.kind()) && beside.contains(&leaf.id()));
    let media: Vec<Media> = media.map(|leaf| whole.media(&leaf, false)).collect();
    let lines = found.iter().map(|(leaf, line)| CaptionLine {
        node: leaf.id(),
        page: page_of(leaf),
        line: clipped(line.trim(), CAPTION).0,
    });
    Ok(Labelled {
        lines: Listed::first(lines.collect(), MAX_MEDIA),
        captions,
        media: Listed::first(media, MAX_MEDIA),
    })
}

/// Words that stand before the number of a figure, the longest first, and of a table.
const FIGURE: &[&str] = &["figure", "fig.", "fig", "图", "圖", "図"];
const TABLE: &[&str] = &["table", "tab.", "tbl.", "tab", "tbl", "表"];

/// A label, folded.
struct Label {
    words: Vec<&'static str>,
    number: String,
}

impl Label {
    fn parse(label: &str) -> Option<Self> {
        let label = folded(label);
        for words in [FIGURE, TABLE] {
            if let Some(rest) = words.iter().find_map(|word| label.strip_prefix(word)) {
                let number = rest.trim_start_matches(['.', ' ']).trim_end_matches(['.', ':', ' ']);
                return is_number(number).then(|| Self { words: words.to_vec(), number: number.to_owned() });
            }
        }
        let words = FIGURE.iter().chain(TABLE).copied().collect();
        is_number(&label).then_some(Self { words, number: label })
    }

    /// Whether `line`, folded, begins with the label; `None` if it does not have it.
    fn find(&self, line: &str) -> Option<bool> {
        let start = line.len() - line.trim_start_matches(|c: char| !c.is_alphanumeric()).len();
        let mut found = None;
        for word in &self.words {
            for (at, _) in line.match_indices(word) {
                if !stands_alone(line, at, word) {
                    continue;
                }
                let rest = line.get(at + word.len()..).unwrap_or_default().trim_start_matches(['.', ' ']);
                let Some(after) = rest.strip_prefix(self.number.as_str()) else { continue };
                if goes_on(after) {
                    continue;
                }
                if at == start {
                    return Some(true);
                }
                found = Some(false);
            }
        }
        found
    }
}

/// Whether what follows a number makes it another one: `5` in `51`, `5.2`, `5a`.
fn goes_on(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some(c) if c.is_ascii_alphanumeric() => true,
        Some('.' | '-') => chars.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    }
}

/// Whether `word`, at `at` in `line`, is no end of a longer word of Latin letters.
fn stands_alone(line: &str, at: usize, word: &str) -> bool {
    let before = line.get(..at).and_then(|before| before.chars().next_back());
    !word.is_ascii() || !before.is_some_and(|c| c.is_ascii_alphanumeric())
}

/// Whether `text` is a number of a label: `5`, `2.1`, `3-2`, `5a`, `a.1`; a digit in it, and no space.
fn is_number(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    let rest = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    rest && letters <= 2 && text.len() <= 16 && text.chars().any(|c| c.is_ascii_digit())
}

/// Whether `line`, folded, begins with any label.
fn begins_with_label(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    FIGURE.iter().chain(TABLE).any(|word| {
        line.strip_prefix(word).is_some_and(|rest| {
            rest.trim_start_matches(['.', ' ']).chars().next().is_some_and(|c| c.is_ascii_digit())
        })
    })
}

/// `text` in compatibility form and lower case, each run of spaces one.
pub(super) fn folded(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_media(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Image | NodeKind::Table)
}

fn page_of(node: &NodeView<'_>) -> Option<u32> {
    Some(node.page()).filter(|page| *page > 0)
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
