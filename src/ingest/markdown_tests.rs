use super::*;

use crate::ingest::split::tests::Words;
use crate::tree::Node;

fn read(text: &str) -> Document {
    let options = Options { balance: false, ..Options::default() };
    let document =
        markdown("notes/plan.md", text, &options, &Words::default()).expect("Markdown never fails");
    document.validate().expect("a valid document");
    document
}

/// Each node as its depth, kind, and title or text.
fn shape(document: &Document) -> Vec<(usize, &str, &str)> {
    let depth = |node: &Node| {
        let up = |index: u32| document.nodes[index as usize].parent;
        std::iter::successors(node.parent, |index| up(*index)).count()
    };
    let said = |node: &Node| if node.kind.is_leaf() { node.span.as_range() } else { 0..0 };
    document
        .nodes
        .iter()
        .map(|node| {
            let text = if node.kind.is_leaf() { &document.text[said(node)] } else { node.title.as_str() };
            (depth(node), node.kind.name(), text)
        })
        .collect()
}

#[test]
fn headings_of_both_styles_make_the_tree_and_levels_may_skip() {
    let document = read("# Plan\n\nIntro.\n\nGoals\n-----\n\n#### Deep *one*\n\nText.\n\n## Next ##\n");

    assert_eq!(
        shape(&document),
        [
            (0, "document", "Plan"),
            (1, "text", "Intro."),
            (1, "section", "Goals"),
            (2, "section", "Deep one"),
            (3, "text", "Text."),
            (1, "section", "Next"),
        ]
    );
}

#[test]
fn the_only_first_level_heading_is_the_root_and_two_are_sections() {
    assert_eq!(shape(&read("# A\n\nx\n\n# B\n\ny"))[1], (1, "section", "A"));
    assert_eq!(shape(&read("# A\n\nx"))[1], (1, "text", "x"));
    assert_eq!(
        shape(&read("---\ntitle: T\n---\n# A\n\nx"))[..2],
        [(0, "document", "T"), (1, "section", "A")]
    );
    assert_eq!(shape(&read("## B\n\n# A\n\nx"))[1], (1, "section", "B"));
}

#[test]
fn front_matter_gives_title_language_and_attributes_and_is_no_leaf() {
    let document = read("---\ntitle: T\nlang: de\ntags: [a, b]\n---\n\nText.");

    assert_eq!((document.title.as_str(), document.language.as_deref()), ("T", Some("de")));
    assert_eq!(document.attributes.get("tags").map(String::as_str), Some("a, b"));
    assert_eq!(shape(&document)[1..], [(1, "text", "Text.")]);
}

#[test]
fn a_document_without_title_is_called_after_its_file() {
    assert_eq!(read("text").title, "plan");
    assert_eq!(read("## only a section").title, "plan");
}

#[test]
fn small_paragraphs_of_a_section_share_a_leaf_and_blocks_have_their_own() {
    let text = "One.\n\nTwo.\n\n- a\n- b\n\n> q\n\n```rust\nfn x() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![A cat](cat.png)\n\nProse with ![dog](dog.png) inside.\n";

    let document = read(text);

    assert_eq!(
        shape(&document)[1..],
        [
            (1, "text", "One.\n\nTwo.\n\n- a\n- b\n\n> q"),
            (1, "example", "```rust\nfn x() {}\n```"),
            (1, "table", "| a | b |\n|---|---|\n| 1 | 2 |"),
            (1, "image", "![A cat](cat.png)"),
            (1, "text", "Prose with ![dog](dog.png) inside."),
        ]
    );
    assert_eq!(document.nodes[4].title, "A cat");
}

#[test]
fn longer_nested_and_tilde_fences_end_where_they_should() {
    let document = read("````\n```\n# no\n```\n````\n\n~~~\n```\n# no\n~~~\n\n# yes\n\nx");

    let headings: Vec<_> = shape(&document).into_iter().filter(|(_, kind, _)| *kind != "example").collect();
    assert_eq!(headings, [(0, "document", "yes"), (1, "text", "x")]);
    assert_eq!(shape(&document).len(), 4);
}

#[test]
fn headings_and_front_matter_inside_a_fence_are_code() {
    let document = read("```\nTitle\n=====\n\n---\ntitle: no\n---\n```\n");

    assert_eq!(document.title, "plan");
    assert!(document.attributes.is_empty());
    assert_eq!(shape(&document)[1].1, "example");
}

#[test]
fn headings_inside_quotes_and_lists_are_text() {
    assert_eq!(shape(&read("> # q\n\n- # l\n"))[1..], [(1, "text", "> # q\n\n- # l")]);
}

#[test]
fn link_definitions_and_html_are_kept_as_text() {
    assert_eq!(
        shape(&read("A [b].\n\n[b]: http://c\n\n<div>d</div>\n"))[1..],
        [(1, "text", "A [b].\n\n[b]: http://c\n\n<div>d</div>")]
    );
}

#[test]
fn a_long_list_is_cut_between_its_items() {
    let item = format!("- {}\n", "word ".repeat(59).trim_end());

    let document = read(&item.repeat(7));

    let leaves: Vec<_> =
        document.nodes[1..].iter().map(|node| &document.text[node.span.as_range()]).collect();
    assert_eq!(leaves.len(), 3);
    assert!(leaves.iter().all(|leaf| leaf.starts_with("- word") && leaf.ends_with("word")));
}

#[test]
fn a_huge_table_is_cut_at_rows_and_each_part_has_the_header_as_title() {
    let text = format!("| Name | Sum |\n|---|---|\n{}", "| some name | 12 |\n".repeat(200));

    let document = read(&text);

    let parts = &document.nodes[1..];
    assert!(parts.len() > 3);
    assert!(parts.iter().all(|part| part.kind == NodeKind::Table && part.title == "Name | Sum"));
    let mut texts = parts.iter().map(|part| &document.text[part.span.as_range()]);
    assert!(texts.all(|text| text.starts_with("| ") && text.ends_with(" |")));
}

#[test]
fn a_heading_too_long_for_a_title_is_text() {
    let text = format!("# {}\n", "long ".repeat(200));

    assert_eq!(shape(&read(&text))[0].2, "plan");
    assert!(shape(&read(&text))[1..].iter().all(|(_, kind, _)| *kind == "text"));
}

#[test]
fn carriage_returns_stay_and_spans_stay_right() {
    let document = read("# T\r\n\r\nOne.\r\n\r\nTwo.\r\n");

    assert_eq!(shape(&document), [(0, "document", "T"), (1, "text", "One.\r\n\r\nTwo.")]);
}

#[test]
fn an_empty_text_is_a_root_without_leaves() {
    assert_eq!(shape(&read("")), [(0, "document", "plan")]);
    assert_eq!(shape(&read("\u{feff} \n")), [(0, "document", "plan")]);
}

#[test]
fn hostile_nesting_neither_overflows_the_stack_nor_takes_long() {
    let n = 100_000;
    let mut nest = String::new();
    for depth in 0..1_000 {
        nest.push_str(&" ".repeat(2 * depth));
        nest.push_str("- x\n");
    }
    for (name, text) in [
        ("quotes", ">".repeat(n)),
        ("spaced quotes", "> ".repeat(n)),
        ("bullets", "- ".repeat(n)),
        ("numbers", "1. ".repeat(n)),
        ("mixed", "> - ".repeat(n)),
        ("indented list", nest),
        ("brackets", "[".repeat(n)),
        ("images", "![".repeat(n)),
        ("links", "[a](".repeat(n)),
        ("closed", format!("{}{}", "[".repeat(n), "]".repeat(n))),
        ("stars", "*a ".repeat(n)),
        ("emphasis", "*a_ ".repeat(n)),
        ("backticks", (1..700).map(|i| "`".repeat(i) + " ").collect()),
        ("entities", "&".repeat(n)),
        ("tags", "<a ".repeat(n)),
        ("comments", "<!--".repeat(n)),
        ("fences", "```\n~~~\n".repeat(n / 4)),
        ("references", "[a]: b\n".repeat(n)),
        ("footnotes", "[^a]: b\n\n".repeat(n / 4)),
        ("table", format!("{}\n{}\n", "|a".repeat(n), "|-".repeat(n))),
        ("deep quotes on many lines", format!("{}\n", ">".repeat(90)).repeat(2_000)),
        ("lazy lines", format!("{}a\n{}", "> ".repeat(5_000), "a\n".repeat(n))),
        ("blank lines in a nest", format!("{}a\n{}", "1. ".repeat(3_000), "\n".repeat(n))),
        ("quoted blank lines", format!("{}a\n{}", "> ".repeat(3_000), ">\n".repeat(n))),
        ("bullets with a word", format!("{}a", "- ".repeat(n))),
        ("nested footnotes", "[^a]: ".repeat(n)),
        ("html", "<div>\n\n".repeat(n / 4)),
        ("definitions", format!("[a]: b\n\n{}", "[a] ".repeat(n))),
        ("autolinks", "<http:".repeat(n)),
        ("cdata", "<![CDATA[".repeat(n)),
        ("declarations", "<!a ".repeat(n)),
        ("processing", "<?".repeat(n)),
        ("strikes", "~~a ".repeat(n)),
        ("tables in a row", "|a|\n|-|\n\n".repeat(n / 4)),
        ("wide table", format!("{}\n{}\n{}", "|a".repeat(1_000), "|-".repeat(1_000), "|\n".repeat(n / 2))),
        ("setext", "a\n=\n".repeat(n / 4)),
        ("headings", "# a\n".repeat(n / 4)),
    ] {
        let start = std::time::Instant::now();

        let document = read(&text);

        let taken = start.elapsed();
        assert!(!document.nodes.is_empty());
        assert!(taken.as_secs() < 10, "{name} took {taken:?}");
    }
}
