use super::*;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::ErrorKind;
use crate::ingest::split::tests::Words;
use crate::tree::NodeKind;

fn options() -> Options {
    Options { balance: false, ..Options::default() }
}

fn read_with(lines: &[u8], options: &Options) -> Result<(Vec<Document>, Report)> {
    let mut documents = Vec::new();
    let report = jsonl(lines, "p.jsonl", options, &Words::default(), &mut |document| {
        document.validate()?;
        documents.push(document);
        Ok(())
    })?;
    Ok((documents, report))
}

fn read(lines: &str) -> Vec<Document> {
    read_with(lines.as_bytes(), &options()).expect("good lines").0
}

/// Each node as its parent, title or text, and attribute `id`.
fn shape(document: &Document) -> Vec<(u32, &str, &str)> {
    let nodes = document.nodes.iter().skip(1);
    nodes
        .map(|node| {
            let leaf = node.kind.is_leaf();
            let said = if leaf { &document.text[node.span.as_range()] } else { node.title.as_str() };
            (node.parent.unwrap_or(0), said, node.attributes.get("id").map_or("", String::as_str))
        })
        .collect()
}

#[test]
fn scattered_lines_of_a_document_are_gathered_in_their_order() {
    let documents = read(
        "{\"id\": 7, \"doc\": 1, \"title\": \"T\", \"text\": \"One.\"}\n\n{\"doc\": \"b\", \"text\": \"Else.\"}\r\n\
         {\"id\": \"x\", \"doc\": \"1\", \"title\": \"T\", \"text\": \"Two.\"}",
    );

    assert_eq!(
        documents.iter().map(|d| (d.key.as_str(), d.title.as_str())).collect::<Vec<_>>(),
        [("1", "T"), ("b", "b")]
    );
    assert_eq!(documents[0].text, "One.\n\nTwo.");
    assert_eq!(shape(&documents[0]), [(0, "One.", "7"), (0, "Two.", "x")]);
    // The blank line has no row, and the passage without an id is called by its line.
    assert_eq!(shape(&documents[1]), [(0, "Else.", "3")]);
    assert_eq!(documents[1].nodes[1].vector_row, Some(1));
    assert_eq!(documents[0].nodes[2].vector_row, Some(2));
}

#[test]
fn speakers_stand_before_their_words_and_sessions_are_sections() {
    let documents = read(
        "{\"id\":1,\"doc\":\"c\",\"session\":1,\"date\":\"May 1\",\"title\":\"Gina\",\"text\":\"Hey Jon!\"}\n\
         {\"id\":2,\"doc\":\"c\",\"session\":1,\"date\":\"May 1\",\"title\":\"Jon\",\"text\":\"Hey.\"}\n\
         {\"id\":3,\"doc\":\"c\",\"session\":2,\"title\":\"Jon\",\"text\":\"Bye.\"}",
    );

    assert_eq!(documents[0].title, "c");
    assert_eq!(
        shape(&documents[0]),
        [
            (0, "session 1, May 1", ""),
            (1, "Gina: Hey Jon!", "1"),
            (1, "Jon: Hey.", "2"),
            (0, "session 2", ""),
            (4, "Jon: Bye.", "3"),
        ]
    );
    assert_eq!(documents[0].nodes[1].attributes.get("date").map(String::as_str), Some("May 1"));
}

#[test]
fn a_section_that_comes_again_opens_another_and_passages_without_one_lie_below_the_root() {
    let line = |id: u32, section: &str| {
        format!("{{\"id\":{id},\"doc\":1,\"section\":\"{section}\",\"text\":\"t{id}\"}}\n")
    };

    let documents = read(&[line(1, "A"), line(2, "A"), line(3, "B"), line(4, ""), line(5, "A")].concat());

    assert_eq!(
        shape(&documents[0]),
        [
            (0, "A", ""),
            (1, "t1", "1"),
            (1, "t2", "2"),
            (0, "B", ""),
            (4, "t3", "3"),
            (0, "t4", "4"),
            (0, "A", ""),
            (7, "t5", "5")
        ]
    );
}

#[test]
fn a_page_is_a_section_with_its_heading_and_is_cut_at_lines() {
    let row = "w ".repeat(50).trim_end().to_owned();
    let text = format!("12\\nRisk Factors\\n{}", [row.as_str(); 5].join("\\n"));

    let documents = read(&format!(
        "{{\"id\":1,\"doc\":1,\"page\":4,\"text\":\"{text}\"}}\n{{\"id\":2,\"doc\":1,\"page\":5,\"text\":\"\"}}"
    ));

    let nodes = &documents[0].nodes;
    assert_eq!(
        (nodes[1].title.as_str(), nodes[1].page, nodes[1].kind),
        ("Risk Factors", 4, NodeKind::Section)
    );
    // 3 + 4 x 50 is above 200; 3 + 3 x 50 = 153 is below 160, but the next line would make 203.
    let sizes: Vec<_> =
        shape(&documents[0]).iter().map(|(_, said, _)| said.split_whitespace().count()).collect();
    assert_eq!(sizes, [2, 153, 100, 2]);
    assert!(nodes[2..4].iter().all(|leaf| leaf.page == 4 && leaf.vector_row == Some(0)));
    assert_eq!((nodes[4].title.as_str(), nodes[4].page), ("page 5", 5));
}

#[test]
fn a_passage_is_one_leaf_unless_it_is_very_long() {
    let sentence = "Some words make up this. ";
    let line = |times: usize| format!("{{\"id\":1,\"text\":\"{}\"}}", sentence.repeat(times));

    assert_eq!(read(&line(100))[0].nodes.len(), 2);
    let cut = read(&line(110));
    // 550 tokens in pieces of 138.
    assert_eq!(cut[0].nodes.len(), 5);
    assert!(shape(&cut[0]).iter().all(|(_, said, id)| said.ends_with("this.") && *id == "1"));
}

#[test]
fn fields_equal_in_all_passages_become_attributes() {
    let documents = read(
        "{\"doc\":1,\"text\":\"a\",\"domain\":\"Law\",\"n\":1,\"k\":2,\"on\":true,\"list\":[1],\"lang\":\"en\",\"date\":\"d\"}\n\
         {\"doc\":1,\"text\":\"b\",\"domain\":\"Law\",\"n\":2,\"on\":true,\"list\":[1],\"language\":\"en\",\"date\":\"d\"}",
    );

    let attributes: Vec<_> = documents[0].attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(attributes, [("date", "d"), ("domain", "Law"), ("on", "true")]);
    assert_eq!(documents[0].language.as_deref(), Some("en"));
}

#[test]
fn a_bad_line_is_an_error_with_line_and_column_or_a_warning_on_demand() {
    let lines =
        b"{\"text\":\"a\"}\n{\"text\": oops}\n[1]\n{\"id\":4}\n{\"text\":\"caf\xe9\"}\n{\"text\":\"b\"}\n";

    let error = read_with(lines, &options()).expect_err("line 2 is bad");
    let skipping = Options { skip_bad_lines: true, ..options() };
    let (documents, report) = read_with(lines, &skipping).expect("bad lines are skipped");

    assert_eq!(error.to_string(), "p.jsonl, line 2, column 10: not JSON: expected value");
    let warnings: Vec<_> = report.warnings.iter().map(|w| (w.line, w.message.as_str())).collect();
    assert_eq!(
        warnings,
        [
            (2, "column 10: not JSON: expected value; left out"),
            (3, "a list instead of an object with a \"text\"; left out"),
            (4, "the object has no \"text\"; left out"),
            (5, "column 13: a byte that is not UTF-8; convert the file to UTF-8; left out"),
        ]
    );
    assert_eq!((documents.len(), report.documents, report.passages), (2, 2, 2));
    // Bad lines keep their rows.
    assert_eq!(documents[1].nodes[1].vector_row, Some(5));
}

#[test]
fn a_hundred_thousand_open_brackets_are_a_typed_error() {
    let line = format!("{{\"text\":\"a\",\"x\":{}", "[".repeat(100_000));

    let error = read_with(line.as_bytes(), &options()).expect_err("too deep");

    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("line 1, column 143: not JSON: recursion limit exceeded"), "{error}");
}

#[test]
fn an_id_that_comes_twice_is_kept_with_a_warning() {
    let (documents, report) =
        read_with(b"{\"id\":1,\"doc\":2,\"text\":\"a\"}\n{\"id\":1,\"doc\":2,\"text\":\"b\"}", &options())
            .expect("kept");

    assert_eq!(documents[0].nodes.len(), 3);
    assert_eq!(report.warnings[0].line, 2);
    assert!(report.warnings[0].message.contains("\"1\" stands on line 1 too"), "{:?}", report.warnings);
}

#[test]
fn a_gzipped_file_is_unpacked_and_a_cut_one_is_an_error() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(b"\xef\xbb\xbf{\"text\":\"a\"}\n").expect("memory");
    let packed = packer.finish().expect("memory");

    assert_eq!(read_with(&packed, &options()).expect("whole").0.len(), 1);
    let error = read_with(&packed[..packed.len() - 9], &options()).expect_err("cut");
    assert!(error.to_string().starts_with("cannot read p.jsonl, line"), "{error}");
}

#[test]
fn an_empty_file_has_no_documents_and_the_callers_error_comes_back() {
    assert_eq!(read_with(b"", &options()).expect("empty").0.len(), 0);
    let error = jsonl(b"{\"text\":\"a\"}".as_slice(), "p", &options(), &Words::default(), &mut |_| {
        Err(Error::invalid("full"))
    });
    assert_eq!(error.expect_err("the caller's").to_string(), "full");
}
