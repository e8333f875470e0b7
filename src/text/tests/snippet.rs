//! What of a text is shown, and which words of it are marked.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use crate::text::Analyzer;
use crate::text::Highlighter;

fn highlighter(terms: &[(&str, f64)]) -> Highlighter {
    Highlighter::new(terms.iter().map(|(term, weight)| ((*term).to_owned(), *weight)))
}

/// The snippet of `text` with its marks in brackets.
fn shown(terms: &[(&str, f64)], text: &str, limit: usize) -> String {
    let snippet = highlighter(terms).snippet(&Analyzer::default(), text, limit);
    let mut out = String::new();
    let mut at = snippet.span.start;
    for mark in snippet.highlights {
        out.push_str(&format!("{}[{}]", &text[at..mark.start], &text[mark.clone()]));
        at = mark.end;
    }
    out + &text[at..snippet.span.end]
}

#[test]
fn a_short_text_is_shown_whole_with_its_words_marked() {
    let terms = [("mountain", 1.0), ("higher", 1.0)];

    assert_eq!(shown(&terms, " Higher mountains. \n", 80), "[Higher] [mountains].");
    assert_eq!(shown(&terms, "nothing of it", 80), "nothing of it");
    assert_eq!(shown(&terms, "", 80), "");
}

#[test]
fn the_window_with_the_most_telling_terms_wins_then_the_densest_then_the_first() {
    let filler = "and so it went on for a while ".repeat(4);
    let terms = [("river", 3.0), ("lake", 1.0), ("sea", 1.0)];

    let telling = format!("A lake, a sea. {filler}A river. {filler}");
    assert_eq!(shown(&terms, &telling, 20), "A [river]. and so it");
    let dense = format!("A lake. {filler}A lake, a lake. {filler}");
    assert_eq!(shown(&terms, &dense, 20), "A [lake], a [lake]. and");
    let equal = format!("A lake. {filler}A sea. {filler}");
    assert_eq!(shown(&terms, &equal, 12), "A [lake]. and");
}

#[test]
fn a_snippet_begins_with_its_sentence_if_there_is_room_and_else_with_a_word() {
    let terms = [("river", 1.0)];
    let text =
        "The first one is of no use here. The second sentence tells of a long river and its banks. More.";

    assert_eq!(shown(&terms, text, 60), "The second sentence tells of a long [river] and its banks.");
    assert_eq!(shown(&terms, text, 24), "a long [river] and its");
}

#[test]
fn a_snippet_at_the_end_of_a_text_is_as_long_as_any() {
    let text = format!("{}the river", "word ".repeat(50));

    let snippet = highlighter(&[("river", 1.0)]).snippet(&Analyzer::default(), &text, 40);

    assert_eq!(&text[snippet.span], "word word word word word word the river");
}

#[test]
fn runs_of_han_letters_are_marked_as_one_and_cut_between_letters() {
    let text =
        "\u{8499}\u{53e4}\u{56fd}\u{7684}\u{9996}\u{90fd}\u{662f}\u{4e4c}\u{5170}\u{5df4}\u{6258}\u{3002}";

    let shown = shown(&[("\u{9996}\u{90fd}", 1.0), ("\u{90fd}\u{662f}", 1.0)], text, 5);

    assert_eq!(shown, "\u{7684}[\u{9996}\u{90fd}\u{662f}]\u{4e4c}");
}

#[test]
fn a_character_as_a_reader_sees_it_is_never_cut() {
    let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    let text = format!("{family}{family} river {family}{family}");

    assert_eq!(shown(&[("river", 1.0)], &text, 14), format!("[river] {family}"));
    // Letters under a pile of marks that is longer than the limit cannot be shown.
    let pile = format!("a{}", "\u{301}".repeat(1000));
    assert_eq!(shown(&[("a", 1.0)], &pile, 100), "");
}

proptest! {
    #[test]
    fn a_snippet_is_within_its_limit_and_its_marks_within_it(
        text in "([a-c ]|\u{301}|\u{4e2d}|\u{1f1e8}|\u{200d}|\u{1f468}|[.\\n]|river|lake ){0,60}",
        limit in 0_usize..60,
    ) {
        let highlighter = highlighter(&[("river", 2.0), ("lake", 1.0), ("\u{4e2d}\u{4e2d}", 1.0), ("c", 0.0)]);
        let analyzer = Analyzer::default();

        let snippet = highlighter.snippet(&analyzer, &text, limit);

        let bounds: Vec<usize> =
            text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        prop_assert!(text[snippet.span.clone()].chars().count() <= limit);
        let mut before = snippet.span.start;
        for mark in &snippet.highlights {
            prop_assert!(before <= mark.start && mark.start < mark.end && mark.end <= snippet.span.end);
            prop_assert!(before < mark.start || before == snippet.span.start);
            before = mark.end;
        }
        let places = snippet.highlights.iter().chain([&snippet.span]).flat_map(|span| [span.start, span.end]);
        for at in places {
            prop_assert!(bounds.contains(&at), "{at} of {text:?} is within a character");
        }
        let all = highlighter.highlights(&analyzer, &text);
        if limit >= 20 && all.iter().any(|mark| text[mark.clone()].chars().count() <= limit) {
            prop_assert!(!snippet.highlights.is_empty(), "{text:?}");
        }
    }
}
