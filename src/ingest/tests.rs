//! What must hold for every source.

use super::*;

use proptest::prelude::*;

use split::tests::Words;

/// Small sizes, so that short texts are cut as well.
fn options() -> Options {
    Options { target_tokens: 4, max_tokens: 6, max_whole_tokens: 9, ..Options::default() }
}

/// The text outside of all leaves.
fn outside(document: &Document) -> String {
    let mut at = 0;
    let mut outside = String::new();
    for leaf in document.nodes.iter().filter(|node| node.kind.is_leaf()) {
        outside.push_str(&document.text[at..leaf.span.start as usize]);
        outside.push('\n');
        at = leaf.span.end as usize;
    }
    outside.push_str(&document.text[at..]);
    outside
}

fn check(document: &Document) {
    document.validate().expect("every document is valid");
    for leaf in document.nodes.iter().filter(|node| node.kind.is_leaf()) {
        let text = &document.text[leaf.span.as_range()];
        assert!(!text.is_empty() && text == text.trim(), "{text:?} is not trimmed");
    }
}

/// Pieces of markup, to be put together at random.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("# "),
        Just("## "),
        Just("\n"),
        Just("\n\n"),
        Just("---\n"),
        Just("===\n"),
        Just("```\n"),
        Just("~~~~\n"),
        Just("> "),
        Just("- "),
        Just("1. "),
        Just("    "),
        Just("|a|b|\n|-|-|\n|c|d|\n"),
        Just("![x](y)"),
        Just("[a]: b\n"),
        Just("[^1]: n\n"),
        Just("<div>"),
        Just("<!--"),
        Just("-->"),
        Just("</div>"),
        Just("<table><tr><td>"),
        Just("<li>"),
        Just("<h2>"),
        Just("</h2>"),
        Just("<pre>"),
        Just("<script>"),
        Just("</script>"),
        Just("<title>"),
        Just("<nav>"),
        Just("key: value\n"),
        Just("\r\n"),
        Just("\t"),
        Just("*"),
        Just("_"),
        Just("`"),
        Just("\\"),
        Just("&amp;"),
        Just("Mr. "),
        Just("word "),
        Just("One. Two! "),
        Just("\u{4eba}\u{3002}"),
        Just("e\u{301}"),
        Just("\u{1f600}"),
        Just("\0"),
        Just("\u{a0}"),
        Just("\u{2028}"),
        Just("\u{feff}"),
        Just("longwordwithoutspaces"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Markdown blocks, each a list of words of its own, none a heading.
fn block(kind: u8, words: &[String]) -> String {
    let text = words.join(" ");
    match kind {
        0 => text,
        1 => format!("- {}\n", words.join("\n- ")),
        2 => format!("> {}", words.join("\n> ")),
        3 => format!("```\n{}\n```", words.join("\n\n")),
        4 => format!("| {} |\n| - |\n| {} |", words[0], words[1..].join(" |\n| ")),
        5 => format!("![{text}](image.png)"),
        6 => format!("<div>\n{text}\n</div>"),
        _ => format!("[{}]: {}", words[0], words[1..].join("")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_string_makes_a_valid_document_of_every_kind(text in prop_oneof![markup(), any::<String>()]) {
        for read in [plain, markdown, html] {
            for balance in [false, true] {
                let document = read("key", &text, &Options { balance, ..options() }, &Words::default());
                check(&document.expect("no text is an error"));
            }
        }
    }

    #[test]
    fn any_lines_make_valid_documents_or_an_error(
        passages in prop::collection::vec((0_u8..3, markup(), 0_u8..4, any::<bool>(), "[A-C]{0,1}"), 0..12),
        noise in any::<Vec<u8>>(),
    ) {
        let mut lines = Vec::new();
        for (doc, text, section, is_page, title) in &passages {
            let mut value = serde_json::json!({"doc": doc, "text": text, "title": title});
            let field = if *is_page { "page" } else { "section" };
            value[field] = if *section == 0 { "".into() } else { (*section).into() };
            lines.extend_from_slice(value.to_string().as_bytes());
            lines.push(b'\n');
        }
        let mut count = 0;
        let mut each = |document: Document| {
            check(&document);
            count += 1;
            Ok(())
        };
        jsonl(lines.as_slice(), "p", &options(), &Words::default(), &mut each).expect("good lines");
        let docs: std::collections::BTreeSet<u8> = passages.iter().map(|passage| passage.0).collect();
        prop_assert_eq!(count, docs.len());
        let skipping = Options { skip_bad_lines: true, ..options() };
        let _ = jsonl(noise.as_slice(), "p", &skipping, &Words::default(), &mut |document| {
            check(&document);
            Ok(())
        });
    }

    #[test]
    fn of_a_plain_text_only_white_space_lies_outside_of_leaves(text in prop_oneof![markup(), any::<String>()]) {
        let document = plain("key", &text, &options(), &Words::default()).expect("no text is an error");

        let outside = outside(&document);
        prop_assert_eq!(outside.trim(), "");
    }

    #[test]
    fn of_markdown_only_headings_lie_outside_of_leaves(
        blocks in prop::collection::vec((0_u8..8, 2_usize..9, any::<bool>()), 0..12),
    ) {
        let mut text = String::from("---\ntitle: T\n---\n");
        let mut number = 0;
        let mut expected = Vec::new();
        for (kind, words, heading) in blocks {
            if heading {
                text.push_str("\n\n## heading\n");
            }
            let words: Vec<String> = (0..words).map(|n| format!("w{}", number + n)).collect();
            number += words.len();
            text.push_str("\n\n");
            text.push_str(&block(kind, &words));
            expected.extend(words);
        }

        let document = markdown("key", &text, &options(), &Words::default()).expect("no text is an error");

        let outside = outside(&document);
        for word in outside.split_whitespace() {
            prop_assert!(["---", "title:", "T", "##", "heading"].contains(&word), "{} lies in no leaf", word);
        }
        let leaves = document.nodes.iter().filter(|node| node.kind.is_leaf());
        let inside: Vec<&str> = leaves.map(|leaf| &document.text[leaf.span.as_range()]).collect();
        let inside = inside.join(" ");
        for word in expected {
            prop_assert!(inside.contains(&word), "{} is lost", word);
        }
    }
}

#[test]
fn a_short_section_is_one_leaf() {
    let document = markdown("k", "## S\n\nOne.\n\nTwo.\n\nThree.", &Options::default(), &Words::default())
        .expect("fine");

    assert_eq!(document.nodes.len(), 3);
    assert_eq!(&document.text[document.nodes[2].span.as_range()], "One.\n\nTwo.\n\nThree.");
}

#[test]
fn ten_megabytes_without_a_space_are_read_in_every_kind() {
    let text = "\u{e9}".repeat(5 << 20);

    for read in [plain, markdown, html] {
        let document = read("k", &text, &Options { balance: false, ..Options::default() }, &Words::default());

        let document = document.expect("length is no error");
        let kept: usize = document.nodes.iter().map(|node| node.span.size_bytes()).sum();
        assert_eq!(kept, text.len());
    }
}

#[test]
fn control_characters_are_kept() {
    let document =
        plain("k", "a\0b\u{7}\n\n\u{1b}[0m", &Options::default(), &Words::default()).expect("fine");

    assert_eq!(document.text, "a\0b\u{7}\n\n\u{1b}[0m");
    assert_eq!(document.nodes.len(), 2);
}

#[test]
fn a_bad_key_and_a_bad_option_are_refused() {
    let long = "k".repeat(1_025);
    let wrong = Options { target_tokens: 0, ..Options::default() };

    let key = plain(&long, "x", &Options::default(), &Words::default()).expect_err("1025 bytes");
    let option = markdown("k", "x", &wrong, &Words::default()).expect_err("a target of 0");

    assert!(key.to_string().contains("its key has 1025 bytes"), "{key}");
    assert!(option.to_string().contains("target 0"), "{option}");
}
