use super::*;

use crate::db::Database;
use crate::query::catalogue::sources;
use crate::query::catalogue::toc;
use crate::query::tables::table_lookup;
use crate::query::tables::table_rows;
use crate::tree::Document;
use crate::tree::Node;

/// Adds a section under the root.
fn section(document: &mut Document, title: &str, page: u32) {
    document.nodes.push(Node { title: title.into(), page, ..Node::new(Some(0), NodeKind::Section) });
}

/// Adds a leaf under the last section.
fn leaf(document: &mut Document, kind: NodeKind, page: u32, text: &str) {
    let start = u32::try_from(document.text.len()).expect("short");
    document.text.push_str(text);
    let span = Span::new(start, start + u32::try_from(text.len()).expect("short"));
    document.text.push('\n');
    let above = document.nodes.iter().rposition(|node| node.kind == NodeKind::Section).unwrap_or(0);
    let parent = u32::try_from(above).expect("few");
    document.nodes.push(Node { span, page, ..Node::new(Some(parent), kind) });
}

/// Node 1 root; 2 Methods: 3 text, 4 image, page 1; 5 Results: 6 table, page 2, 7 text, 8 image, page 3; 9 Next: 10 image,
/// page 3, 11 text, page 4.
fn paged(pages: bool) -> Database {
    let mut d = Document::new("report.md", "Report");
    let page = |page: u32| if pages { page } else { 0 };
    section(&mut d, "Methods", 0);
    leaf(&mut d, NodeKind::Text, page(1), "As Figure 5 shows.");
    leaf(&mut d, NodeKind::Image, page(1), "**Figure 5**: A map");
    section(&mut d, "Results", page(2));
    leaf(&mut d, NodeKind::Table, page(2), "| Metal | Price |\n|---|---|\n| Copper | 9 |\n| Tin | 12 |");
    leaf(&mut d, NodeKind::Text, page(3), "Table 1. Sums\n表 2：价格");
    leaf(&mut d, NodeKind::Image, page(3), "Fig. 51 other");
    section(&mut d, "Next", page(3));
    leaf(&mut d, NodeKind::Image, page(3), "x");
    leaf(&mut d, NodeKind::Text, page(4), "see ＦＩＧ．　５");
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    write.insert_document(&d).expect("sound");
    write.commit().expect("memory");
    database
}

const REPORT: DocumentId = DocumentId(1);

fn media_of(list: &Listed<Media>) -> Vec<(u32, bool)> {
    list.items.iter().map(|media| (media.node.0, media.boundary)).collect()
}

fn listed(pages: bool, filter: &MediaFilter) -> (MediaScope, Vec<(u32, bool)>) {
    let read = paged(pages).begin_read().expect("a state");
    let list = list_media(&read, REPORT, filter).expect("sound");
    (list.scope, media_of(&list.media))
}

fn under_heading(heading: &str) -> MediaFilter {
    MediaFilter { heading: Some(heading.into()), ..MediaFilter::default() }
}

#[test]
fn a_heading_reaches_to_the_page_of_the_next_one() {
    let (scope, media) = listed(true, &under_heading(" RESULTS"));

    assert_eq!(scope, MediaScope::Section(NodeId(5)));
    assert_eq!(media, [(6, false), (8, true), (10, true)]);
    assert_eq!(listed(true, &under_heading("next")).1, [(8, false), (10, false)]);
    // Without pages, to the next one.
    assert_eq!(listed(false, &under_heading("Results")).1, [(6, false), (8, false)]);
    assert_eq!(listed(false, &under_heading("Next")).1, [(10, false)]);
}

#[test]
fn a_heading_that_no_section_has_is_looked_for_in_the_text() {
    assert_eq!(listed(true, &under_heading("sums")), (MediaScope::Mentioned, vec![(8, false), (10, false)]));
    assert_eq!(listed(false, &under_heading("sums")), (MediaScope::Mentioned, vec![(6, false), (8, false)]));
    let (scope, media) = listed(true, &under_heading("nowhere"));
    assert_eq!((scope, media.len()), (MediaScope::HeadingNotFound, 4));
}

#[test]
fn kind_and_page_filter() {
    let tables = MediaFilter { kind: Some(NodeKind::Table), ..MediaFilter::default() };
    assert_eq!(listed(true, &tables), (MediaScope::Document, vec![(6, false)]));
    let page = MediaFilter { page: Some(3), ..MediaFilter::default() };
    assert_eq!(listed(true, &page).1, [(8, false), (10, false)]);
    let read = paged(true).begin_read().expect("a state");
    let sections = MediaFilter { kind: Some(NodeKind::Section), ..MediaFilter::default() };
    assert!(list_media(&read, REPORT, &sections).is_err());
    assert!(list_media(&read, DocumentId(9), &MediaFilter::default()).is_err());
}

#[test]
fn labels_are_found_whatever_case_spaces_and_width() {
    let read = paged(true).begin_read().expect("a state");
    let found = |label: &str| {
        let found = find_label(&read, REPORT, label).expect("a label");
        let lines: Vec<u32> = found.lines.items.iter().map(|line| line.node.0).collect();
        (found.captions, lines, media_of(&found.media).into_iter().map(|(node, _)| node).collect::<Vec<_>>())
    };

    for label in ["Figure 5", "fig.5", "FIG  5.", "ＦＩＧ．　５", "figure5"] {
        assert_eq!(found(label), (true, vec![4], vec![4]), "{label}");
    }
    assert_eq!(found("Fig 51"), (true, vec![8], vec![8, 10]));
    assert_eq!(found("Tab. 1"), (true, vec![7], vec![8, 10]));
    assert_eq!(found("表2"), (true, vec![7], vec![8, 10]));
    assert_eq!(found("Figure 6"), (false, vec![], vec![]));
    assert_eq!(found("Figure 5.1"), (false, vec![], vec![]));
    for wrong in ["", "Figure", "Chapter 5", "Figure five", "图"] {
        assert!(find_label(&read, REPORT, wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_label_that_nothing_begins_with_is_found_where_it_is_mentioned() {
    assert_eq!(Label::parse("图3").and_then(|label| label.find(&folded("如图 3 所示"))), Some(false));
    assert_eq!(Label::parse("Figure 5").and_then(|label| label.find("configure 5 nodes")), None);
    assert_eq!(Label::parse("5").and_then(|label| label.find("> table 5: x")), Some(true));
}

#[test]
fn a_window_marks_its_leaf_and_ends_with_the_document() {
    let read = paged(true).begin_read().expect("a state");
    let window = |leaf, radius| {
        let window = fragment_window(&read, NodeId(leaf), radius).expect("a leaf");
        window.iter().map(|other| (other.node.0, other.anchor)).collect::<Vec<_>>()
    };

    assert_eq!(window(4, 1), [(3, false), (4, true), (6, false)]);
    assert_eq!(window(3, 1), [(3, true), (4, false)]);
    assert_eq!(window(11, 0), [(11, true)]);
    assert_eq!(window(7, usize::MAX).len(), 7);
    assert!(fragment_window(&read, NodeId(2), 1).is_err());
}

#[test]
fn texts_are_clipped_between_characters() {
    let mut d = Document::new("k", "");
    for text in ["界".repeat(2_000), "b".repeat(2_000)] {
        leaf(&mut d, NodeKind::Text, 0, &text);
    }
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    write.insert_document(&d).expect("sound");
    write.commit().expect("memory");

    let window = fragment_window(&database.begin_read().expect("a state"), NodeId(2), 1).expect("a leaf");

    let lengths: Vec<usize> = window.iter().map(|other| other.text.chars().count()).collect();
    assert_eq!((lengths, window[0].clipped), (vec![1_500, 500], true));
}

#[test]
fn a_page_has_its_texts_captions_and_media() {
    let read = paged(true).begin_read().expect("a state");

    let page = page_neighbours(&read, NodeId(3)).expect("a leaf");

    assert_eq!(page.page, Some(1));
    assert_eq!(page.texts.items.iter().map(|text| text.node.0).collect::<Vec<_>>(), [3]);
    assert_eq!(page.captions.items[0].line, "**Figure 5**: A map");
    assert_eq!(media_of(&page.media), [(4, false)]);
}

#[test]
fn contents_and_sources_are_listed() {
    let read = paged(true).begin_read().expect("a state");

    let contents = toc(&read, REPORT).expect("there");
    let lines: Vec<(&str, Option<u32>)> =
        contents.items.iter().map(|entry| (entry.title.as_str(), entry.page)).collect();
    assert_eq!(lines, [("Methods", Some(1)), ("Results", Some(2)), ("Next", Some(3))]);
    assert_eq!(sources(&read, "REPORT").expect("sound").items[0].leaves, 7);
    assert!(sources(&read, "other").expect("sound").items.is_empty());
}

#[test]
fn rows_are_found_by_what_a_cell_has() {
    let read = paged(true).begin_read().expect("a state");
    let rows = |item: &str, table: Option<&str>| {
        let found = table_lookup(&read, None, item, table).expect("sound");
        let rows = found.tables.iter().flat_map(|table| &table.rows.items);
        rows.map(|row| (row.number, row.cells.join(","))).collect::<Vec<_>>()
    };

    assert_eq!(rows("COPPER", None), [(1, "Copper,9".to_owned())]);
    assert_eq!(rows("12", Some("results")), [(2, "Tin,12".to_owned())]);
    assert_eq!(rows("", Some("metal")).len(), 2);
    assert_eq!(rows("copper", Some("other")), []);
    assert_eq!(rows("gold", None), []);
    let table = table_rows(&read, NodeId(6)).expect("a table");
    assert_eq!(
        (table.name.as_str(), table.columns, table.row_count),
        ("Results", vec!["Metal".into(), "Price".into()], 2)
    );
    assert!(table_rows(&read, NodeId(3)).is_err());
}

#[test]
fn an_answer_has_twenty_rows_of_a_long_table() {
    let mut d = Document::new("t", "");
    leaf(&mut d, NodeKind::Table, 0, &format!("| n |\n|---|\n{}", "| 7 |\n".repeat(30)));
    let database = Database::in_memory().expect("memory");
    let mut write = database.begin_write().expect("a writer");
    write.insert_document(&d).expect("sound");
    write.commit().expect("memory");
    let read = database.begin_read().expect("a state");

    let found = table_lookup(&read, None, "7", None).expect("sound");

    assert_eq!((found.tables[0].rows.items.len(), found.more), (20, 10));
    assert_eq!(table_rows(&read, NodeId(2)).expect("a table").rows.more, 10);
}
