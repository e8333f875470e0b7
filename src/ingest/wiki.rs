//! Links between pages, as wikis write them: `[[Target]]`, `[[Target|label]]`, `[[Target#Heading]]`.

use std::collections::BTreeMap;

use crate::graph::EntityDraft;
use crate::graph::GraphPatch;
use crate::graph::HyperedgeDraft;
use crate::graph::MAX_NAME_BYTES;
use crate::graph::Target;
use crate::graph::normalise;
use crate::tree::Document;
use crate::tree::NodeKind;

use super::outline::stem;

/// Kind of the entities that pages are.
pub const PAGE: &str = "page";
/// Kind of the hyperedges that links are.
pub const LINK: &str = "link";

/// The wiki links in the leaves of `document`, but for examples, as a graph.
///
/// * The document is an entity of kind `page`: the last part of its key without its extension, with its title as an
///   alias. A target is one too, by the last part of its path, without `#Heading`, `^block` and `.md`; a target that
///   is empty is the page itself. So links meet their pages by name, whatever folder they are in, and a page need
///   not be there.
/// * A link is a hyperedge of kind `link` with members `from` and `to`, supported by its leaf; its weight is how often
///   the leaf has it. A label is an alias of the target.
///
/// A link does not cross a line; one that is not closed, or has a name above 1,000 bytes, is text. Linear in the text.
#[must_use]
pub fn wiki_links(document: &Document) -> GraphPatch {
    let own = page_name(&document.key);
    let own = if own.is_empty() { document.title.clone() } else { own };
    let mut links: BTreeMap<(u32, String), u16> = BTreeMap::new();
    let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (index, node) in (0_u32..).zip(&document.nodes) {
        if !node.kind.is_leaf() || node.kind == NodeKind::Example {
            continue;
        }
        let text = document.text.get(node.span.as_range()).unwrap_or_default();
        for (target, label) in text.lines().flat_map(links_of) {
            let name = if target.is_empty() { own.clone() } else { target };
            if normalise(&name).is_empty() || name.len() > MAX_NAME_BYTES || label.len() > MAX_NAME_BYTES {
                continue;
            }
            let count = links.entry((index, name.clone())).or_default();
            *count = count.saturating_add(1);
            let known = labels.entry(name).or_default();
            if !label.is_empty() && !known.iter().any(|other| other == label) {
                known.push(label.to_owned());
            }
        }
    }
    let mut patch = GraphPatch::default();
    if links.is_empty() || normalise(&own).is_empty() || own.len() > MAX_NAME_BYTES {
        return patch;
    }
    let title = Some(document.title.clone()).filter(|title| title.len() <= MAX_NAME_BYTES);
    patch.entities.push(EntityDraft { aliases: title.into_iter().collect(), ..EntityDraft::new(&own, PAGE) });
    for (name, aliases) in labels {
        patch.entities.push(EntityDraft { aliases, ..EntityDraft::new(name, PAGE) });
    }
    for ((leaf, name), count) in links {
        let link = HyperedgeDraft::new(LINK, "")
            .member("from", Target::entity(&own, PAGE))
            .member("to", Target::entity(name, PAGE))
            .supported_by(leaf);
        patch.hyperedges.push(HyperedgeDraft { weight: f32::from(count), ..link });
    }
    patch
}

/// Targets and labels of the links in a line.
fn links_of(line: &str) -> impl Iterator<Item = (String, &str)> {
    line.split("[[").skip(1).filter_map(|after| {
        let (inside, _) = after.split_once("]]")?;
        let (target, label) = inside.split_once('|').unwrap_or((inside, ""));
        // A table writes the bar of a link as `\|`.
        let target = target.trim_end_matches('\\');
        let target = target.split(['#', '^']).next().unwrap_or_default();
        Some((page_name(target), label.trim()))
    })
}

/// The name of the page at `path`.
fn page_name(path: &str) -> String {
    let last = path.trim().rsplit('/').next().unwrap_or_default();
    let known = [".md", ".markdown", ".html", ".txt"].iter().any(|end| last.to_lowercase().ends_with(end));
    let name = if known { stem(last) } else { last };
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Span;
    use crate::tree::Node;

    fn page(key: &str, leaves: &[(NodeKind, &str)]) -> Document {
        let mut document = Document::new(key, "The title");
        for (kind, text) in leaves {
            let start = u32::try_from(document.text.len()).expect("short");
            document.text.push_str(text);
            let span = Span::new(start, start + u32::try_from(text.len()).expect("short"));
            document.nodes.push(Node { span, ..Node::new(Some(0), *kind) });
        }
        document
    }

    /// Target and weight of each link, by leaf.
    fn links(document: &Document) -> Vec<(String, u32, f32)> {
        let told = wiki_links(document).hyperedges.into_iter().map(|edge| {
            let Some(Target::Entity(name, _)) = edge.members.last().map(|member| member.target.clone())
            else {
                panic!("a link leads to a page")
            };
            (name, edge.support[0], edge.weight)
        });
        told.collect()
    }

    #[test]
    fn links_meet_their_pages_by_name() {
        let text =
            "See [[notes/Reactor.md|the reactor]], [[Reactor]] and [[Reactor#Pumps]]. ![[Plan^b1]] [[#Here]]";
        let document =
            page("wiki/Home.md", &[(NodeKind::Text, text), (NodeKind::Table, "| [[Reactor\\|r]] |")]);

        let found = links(&document);

        let wanted = [("Home", 1, 1.0), ("Plan", 1, 1.0), ("Reactor", 1, 3.0), ("Reactor", 2, 1.0)];
        assert_eq!(found, wanted.map(|(name, leaf, weight)| (name.to_owned(), leaf, weight)));
        let patch = wiki_links(&document);
        assert_eq!(
            (patch.entities[0].name.as_str(), &patch.entities[0].aliases[..]),
            ("Home", &["The title".into()][..])
        );
        let reactor = patch.entities.iter().find(|entity| entity.name == "Reactor").expect("it is linked");
        assert_eq!(reactor.aliases, ["the reactor", "r"]);
    }

    #[test]
    fn what_is_no_link_is_text() {
        for text in
            ["[[open", "[[a\nb]]", "[[ ]] [[|x]]", "a]] b", "[[", &format!("[[{}]]", "x".repeat(2_000)), ""]
        {
            let document = page("", &[(NodeKind::Text, text)]);
            let found: Vec<_> =
                links(&document).into_iter().filter(|(name, ..)| name != "The title").collect();
            assert_eq!(found, [], "{text:?}");
        }
        assert_eq!(links(&page("a.md", &[(NodeKind::Example, "[[b]]")])), []);
        assert_eq!(wiki_links(&page("a.md", &[(NodeKind::Text, "no link")])), GraphPatch::default());
    }

    #[test]
    fn a_megabyte_of_brackets_is_read_at_once() {
        let document = page("a.md", &[(NodeKind::Text, &"[[".repeat(500_000))]);

        assert_eq!(links(&document), []);
    }
}
