//! The query language: what it reads, what it writes, and what it says about what it cannot read.

use proptest::prelude::*;

use crate::error::ErrorKind;
use crate::text::MAX_CLAUSES;
use crate::text::MAX_DEPTH;
use crate::text::Query;
use crate::text::QueryField;

fn term(word: &str) -> Query {
    Query::term(word)
}

fn read(text: &str) -> Query {
    Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fuzzy(word: &str, distance: u8, exact: u32) -> Query {
    Query::Fuzzy { word: word.into(), distance, exact }
}

#[test]
fn words_side_by_side_are_any_of_them() {
    assert_eq!(read("rust"), term("rust"));
    assert_eq!(read(" rust   database "), Query::Any(vec![term("rust"), term("database")]));
}

#[test]
fn marks_say_what_must_be_and_what_must_not() {
    let (a, b, c) = (term("a"), term("b"), term("c"));

    assert_eq!(read("+a b -c"), Query::All(vec![a.clone(), b.clone().optional(), c.clone().negated()]));
    assert_eq!(read("a b -c"), Query::All(vec![Query::Any(vec![a.clone(), b.clone()]), c.clone().negated()]));
    assert_eq!(read("-c"), c.clone().negated());
    assert_eq!(read("a NOT c"), Query::All(vec![a.clone(), c.negated()]));
    assert_eq!(read("wi-fi C++ - +"), Query::Any(["wi-fi", "C++", "-", "+"].map(term).to_vec()));
}

#[test]
fn and_binds_more_than_or_and_or_more_than_a_space() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(term);

    assert_eq!(
        read("a OR b AND NOT c d"),
        Query::Any(vec![
            Query::Any(vec![a.clone(), Query::All(vec![b.clone(), c.clone().negated()])]),
            d.clone()
        ])
    );
    assert_eq!(read("(a OR b) AND (c d)"), Query::All(vec![Query::Any(vec![a, b]), Query::Any(vec![c, d])]));
    assert_eq!(read("and or not"), Query::Any(["and", "or", "not"].map(term).to_vec()));
    assert_eq!(read("\\AND"), term("AND"));
}

#[test]
fn words_phrases_and_lists_take_what_stands_behind_them() {
    assert_eq!(read("mount*"), Query::Prefix("mount".into()));
    assert_eq!(read("rivr~"), fuzzy("rivr", 1, 0));
    assert_eq!(read("rivr~2/3"), fuzzy("rivr", 2, 3));
    assert_eq!(read("rust^2.5"), term("rust").boosted(2.5));
    assert_eq!(read("\"a b\""), Query::phrase("a b"));
    assert_eq!(
        read("\"a \\\"b\"*~2^0.5"),
        Query::Phrase { words: "a \"b".into(), slop: 2, prefix: true }.boosted(0.5)
    );
    assert_eq!(
        read("(a b c)@2^3"),
        Query::AtLeast { count: 2, of: ["a", "b", "c"].map(term).to_vec() }.boosted(3.0)
    );
    assert_eq!(read("*"), Query::Everything);
    assert_eq!(read("{what is (this): a test?}"), Query::Words("what is (this): a test?".into()));
}

#[test]
fn a_field_stands_before_a_word_phrase_or_list() {
    let (a, b) = (term("a"), term("b"));

    assert_eq!(read("title:a^2"), a.clone().boosted(2.0).within(QueryField::Title));
    assert_eq!(read("body:(a b)"), Query::Any(vec![a, b]).within(QueryField::Body));
    assert_eq!(read("12:30"), term("12:30"));
    assert_eq!(read("note: x"), Query::Any(vec![term("note:"), term("x")]));
    assert_eq!(read("http\\://x"), term("http://x"));
}

#[test]
fn an_error_names_the_byte_and_what_was_expected() {
    for (text, at, words) in [
        ("", 0, "expected a word, a phrase or `(`, it ends"),
        ("a AND", 5, "expected a word"),
        ("a )", 2, "expected `(` before this `)`"),
        ("(a b", 4, "expected `)` for the `(` at byte 0"),
        ("()", 1, "expected a word"),
        ("a \"b c", 6, "expected `\"` at the end of the phrase"),
        ("wo*rd", 3, "behind a word stand"),
        ("*word", 1, "`*` stands alone"),
        ("word~3", 5, "expected `~1` or `~2`"),
        ("word^x", 5, "expected a boost such as ^2.5, found 'x'"),
        ("(a b)@3", 6, "expected a number from 1 to 2, found 3"),
        ("(a AND b)@2", 10, "a list of at least two"),
        ("author:x", 0, "expected title:, body: or both:, found \"author\""),
        ("title: x", 6, "right behind the colon"),
        ("+a OR b", 3, "OR cannot join what has a `+`"),
        ("a OR +b", 5, "`+` cannot stand beside AND or OR"),
        ("OR a", 0, "write `\\OR` for the word"),
        ("\u{4e2d}\u{6587} \\", 8, "a character behind the last `\\`"),
        ("\"\"", 0, "words between the quotes"),
        ("a~1~1", 3, "behind a word stand"),
        ("^2", 0, "before this"),
    ] {
        let error = Query::parse(text).expect_err(text);

        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let message = error.to_string();
        assert!(message.starts_with(&format!("the query at byte {at}: ")), "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
    }
}

#[test]
fn deep_and_long_queries_are_refused_not_followed() {
    let deep = MAX_DEPTH * 1000;

    for text in [
        "(".repeat(deep),
        "NOT ".repeat(deep),
        "-".repeat(deep),
        "title:".repeat(deep),
        "a ".repeat(deep),
        format!("{}a{}", "(NOT ".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH)),
    ] {
        assert_eq!(Query::parse(&text).expect_err("too much").kind(), ErrorKind::InvalidInput);
    }
    assert!(Query::parse(&"a ".repeat(MAX_CLAUSES - 1)).is_ok());
}

#[test]
fn an_unsound_tree_is_refused() {
    for query in [
        Query::All(vec![]),
        term(""),
        fuzzy("a", 3, 0),
        term("a").boosted(f32::NAN),
        term("a").boosted(-1.0),
        Query::AtLeast { count: 3, of: vec![term("a"), term("b")] },
        (0..MAX_DEPTH).fold(term("a"), |query, _| query.negated()),
        Query::Any(vec![term("a"); MAX_CLAUSES]),
    ] {
        assert_eq!(query.check().expect_err("unsound").kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn json_that_is_no_query_is_refused() {
    for json in [r#"{"phrase": {"words": "a", "slip": 1}}"#, r#"{"near": "a"}"#, r#"{"term": 1}"#, "[]"] {
        assert!(serde_json::from_str::<Query>(json).is_err(), "{json}");
    }
}

/// Words with everything that means something in the language.
fn any_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}",
        "[-+a:()\"{}*~^\\\\@ 1\u{4e2d}\u{3000}\u{1f600}?/]{1,5}",
        Just("AND".to_owned()),
        Just("NOT".to_owned()),
        Just("title:x".to_owned()),
    ]
}

fn any_field() -> impl Strategy<Value = QueryField> {
    prop_oneof![Just(QueryField::Title), Just(QueryField::Body), Just(QueryField::Both)]
}

pub fn any_query(word: BoxedStrategy<String>) -> impl Strategy<Value = Query> {
    let leaf = prop_oneof![
        4 => word.clone().prop_map(Query::Term),
        1 => word.clone().prop_map(Query::Words),
        1 => word.clone().prop_map(Query::Prefix),
        1 => Just(Query::Everything),
        2 => (word.clone(), word.clone(), 0_u32..4, any::<bool>()).prop_map(|(a, b, slop, prefix)| {
            Query::Phrase { words: format!("{a} {b}"), slop, prefix }
        }),
        1 => (word, 1_u8..3, 0_u32..3).prop_map(|(word, distance, exact)| fuzzy(&word, distance, exact)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => list.clone().prop_map(Query::All),
            3 => list.clone().prop_map(Query::Any),
            2 => (list, 0_usize..4).prop_map(|(of, count)| Query::AtLeast {
                count: u32::try_from(count % of.len() + 1).unwrap(),
                of
            }),
            2 => inner.clone().prop_map(Query::negated),
            1 => inner.clone().prop_map(Query::optional),
            1 => (inner.clone(), 0_u16..500).prop_map(|(query, by)| query.boosted(f32::from(by) / 64.0)),
            1 => (inner, any_field()).prop_map(|(query, field)| query.within(field)),
        ]
    })
}

proptest! {
    #[test]
    fn a_query_is_printed_as_text_that_parses_to_it(query in any_query(any_word().boxed())) {
        let normal = query.clone().normalized();

        prop_assert_eq!(&Query::parse(&query.to_string()).unwrap(), &normal);
        prop_assert_eq!(&Query::parse(&normal.to_string()).unwrap(), &normal);
        prop_assert_eq!(&normal.clone().normalized(), &normal);
    }

    #[test]
    fn a_query_is_the_same_after_json(query in any_query(any_word().boxed())) {
        let json = serde_json::to_string(&query).unwrap();

        prop_assert_eq!(serde_json::from_str::<Query>(&json).unwrap(), query);
    }

    #[test]
    fn any_text_parses_or_is_refused(text in "\\PC{0,40}", soup in "[-+ab:()\"{}*~^\\\\@ 12./ANDORT]{0,30}") {
        for text in [text, soup] {
            if let Ok(query) = Query::parse(&text) {
                prop_assert_eq!(Query::parse(&query.to_string()).unwrap(), query);
            }
        }
    }
}
