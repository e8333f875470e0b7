use super::*;
use crate::graph::paths::QuestionNames;
use crate::ids::NodeRange;
use crate::tree::Node;
use crate::tree::NodeKind;

/// A document of sections, each with one leaf: title and text.
fn document(title: &str, sections: &[(&str, &str)]) -> Document {
    let mut document = Document::new(title, title);
    for (heading, text) in sections {
        let parent = u32::try_from(document.nodes.len()).expect("few nodes");
        document.nodes.push(Node { title: (*heading).to_owned(), ..Node::new(Some(0), NodeKind::Section) });
        let start = u32::try_from(document.text.len()).expect("a short text");
        document.text.push_str(text);
        let span = Span::new(start, start + u32::try_from(text.len()).expect("a short text"));
        document.nodes.push(Node { span, ..Node::new(Some(parent), NodeKind::Text) });
    }
    document
}

fn read(document: &Document) -> Extraction {
    document.validate().expect("a sound document");
    extract(document, &NameRules::default()).expect("rules do not fail")
}

#[test]
fn a_leaf_has_the_titles_above_it_and_what_its_text_calls_its_subject() {
    let read =
        read(&document("Ann Lee (painter)", &[("Life, early", "Ann Maria Lee was born in York. She left.")]));

    let leaf = &read.leaves[0];
    assert_eq!(leaf.node, 2);
    assert_eq!(leaf.titles, ["Life, early", "Ann Lee (painter)", "Ann Maria Lee"]);
    assert_eq!(
        leaf.sentences.iter().map(|s| s.span).collect::<Vec<_>>(),
        [Span::new(0, 31), Span::new(32, 41)]
    );
}

#[test]
fn spans_are_counted_in_the_document_and_names_in_the_sentence() {
    let document = document("T", &[("", "One. "), ("", "It saw Bob Roe.")]);
    let read = read(&document);

    let sentence = &read.leaves[1].sentences[0];
    let text = &document.text[sentence.span.as_range()];
    assert_eq!((text, &text[sentence.names[0].range.clone()]), ("It saw Bob Roe.", "Bob Roe"));
}

#[test]
fn the_reading_of_a_document_does_not_depend_on_others() {
    let first = document("York", &[("", "York is a city.")]);
    let second = document("Ann", &[("", "Ann came from York Minster.")]);
    let index = |order: [&Document; 2]| {
        let mut builder = PathIndexBuilder::default();
        let mut node = 1;
        for document in order {
            read(document).add_to(&mut builder, document, NodeId(node), 0).expect("ascending");
            node += 3;
        }
        builder.finish()
    };

    // Whichever comes first, the leaf about Ann leads to the one about York.
    for (order, ann, york) in [([&first, &second], 1, 0), ([&second, &first], 0, 1)] {
        let index = index(order);
        let sentence = index.sentences_of(ann).next().expect("one sentence");
        let key = index.key("york").expect("a title");
        assert!(index.named(sentence).contains(&key));
        assert_eq!(index.titled(key), [york]);
    }
}

#[test]
fn hostile_and_empty_texts_are_read_without_harm() {
    let deep = "(".repeat(20_000);
    let dots = "A. ".repeat(20_000);
    let marks = "e\u{301}".repeat(20_000);
    for text in [
        "",
        "\u{0}",
        "\u{feff}\u{200b}",
        "\u{1f468}\u{200d}\u{1f469}",
        "他在北京。他走了。",
        &deep,
        &dots,
        &marks,
    ] {
        let document = document("\u{202e}x", &[("", text)]);
        let read = read(&document);
        assert_eq!(read.leaves.len(), 1);
        let inside = |s: &SentenceNames| document.text.get(s.span.as_range()).is_some();
        assert!(read.leaves[0].sentences.iter().all(inside));
    }
}

/// Says that every sentence has a name in these bytes.
struct Liar(std::ops::Range<usize>, usize);

impl EntityRecognizer for Liar {
    fn fingerprint(&self) -> &'static str {
        "liar"
    }

    fn recognize(&self, sentences: &[&str]) -> Result<Vec<Vec<RecognizedEntity>>> {
        let entity = RecognizedEntity { range: self.0.clone(), kind: "x".into() };
        Ok(vec![vec![entity]; sentences.len() + self.1])
    }
}

#[test]
fn names_that_are_no_text_of_the_sentence_are_refused() {
    let document = document("T", &[("", "\u{e9}a")]);

    assert!(extract(&document, &Liar(0..2, 0)).is_ok());
    for liar in [Liar(0..1, 0), Liar(0..9, 0), Liar(2..2, 0), Liar(0..2, 1)] {
        assert!(extract(&document, &liar).is_err(), "{:?}", liar.0);
    }
}

#[test]
fn a_title_in_a_script_without_case_is_found_once_it_was_learned() {
    let page = document("北京大学", &[("", "北京大学是一所大学。")]);
    let other = document("王", &[("", "他在北京大学学习。")]);
    let mut rules = NameRules::default();
    rules.learn(&page);
    let mut builder = PathIndexBuilder::default();
    for (document, first) in
        [(&page, NodeRange::new(NodeId(1), NodeId(3))), (&other, NodeRange::new(NodeId(4), NodeId(6)))]
    {
        let read = extract(document, &rules).expect("rules do not fail");
        read.add_to(&mut builder, document, first.first, 0).expect("ascending");
    }
    let index = builder.finish();

    let named = index.named(index.sentences_of(1).next().expect("one sentence"));
    assert_eq!(named.iter().map(|key| index.titled(*key)).collect::<Vec<_>>(), [&[0][..]]);
    assert_eq!(QuestionNames::new(&index, "谁在北京大学?").titles().len(), 1);
}
