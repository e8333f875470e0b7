//! Bodies and titles with configurations of their own.

use crate::error::ErrorKind;
use crate::text::AnalyzerConfig;
use crate::text::Analyzers;
use crate::text::FieldTerms;
use crate::text::TextConfig;

fn german() -> AnalyzerConfig {
    AnalyzerConfig::default().language("de").expect("there is a stemmer")
}

fn unlike() -> TextConfig {
    TextConfig { body: german(), title: german().stemming(false).stop_words(false) }
}

#[test]
fn the_line_of_equal_fields_is_that_of_one_and_of_others_names_both() {
    let unlike = unlike();

    assert_eq!(TextConfig::default().fingerprint(), "words-1 en stem stop fold bigrams");
    assert_eq!(unlike.fingerprint(), "words-1 de stem stop fold bigrams; titles words-1 de fold bigrams");
    for config in [TextConfig::default(), unlike, AnalyzerConfig::plain().into()] {
        assert_eq!(TextConfig::parse(&config.fingerprint()).expect("it was made here"), config);
    }
}

#[test]
fn a_line_that_no_configuration_makes_is_refused_with_what_to_do() {
    let lines = [
        "words-1 en; titles words-1 en",
        "words-1 en; titles",
        "words-1 en; titles ",
        "words-1 en; titles plain-1; titles plain-1",
        "; titles plain-1",
    ];

    for line in lines {
        let error = TextConfig::parse(line).expect_err(line);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("use a newer evdb, or build the file anew"), "{error}");
    }
}

#[test]
fn a_question_s_word_has_a_term_for_each_field() {
    let analyzers = Analyzers::new(unlike());
    let pieces = |question| {
        let shown: Vec<String> = analyzers
            .field_terms(question)
            .into_iter()
            .map(|FieldTerms { body, title }| {
                format!("{}/{}", body.unwrap_or_default(), title.unwrap_or_default())
            })
            .collect();
        shown.join(" ")
    };

    assert_eq!(pieces("Die Verträge, die Verträge"), "/die vertrag/vertrage");
    assert_eq!(pieces("Haus C盘 文件"), "haus/haus c/c c盘/c盘 盘/盘 文件/文件");
    assert_eq!(pieces("ﷺ"), "صلى/صلى الله/الله عليه/عليه وسلم/وسلم");
    assert_eq!(analyzers.distinct_terms("die Verträge"), ["die", "vertrag", "vertrage"]);
}

#[test]
fn equal_fields_have_equal_terms() {
    let analyzers = Analyzers::default();

    let pieces = analyzers.field_terms("the contracts");

    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].body.as_deref(), Some("contract"));
    assert_eq!(pieces[0].body, pieces[0].title);
    assert_eq!(analyzers.distinct_terms("the contracts"), ["contract"]);
    assert_eq!(analyzers.config(), TextConfig::default());
}

#[test]
fn the_segmenter_is_part_of_the_line_and_only_for_builds_that_have_it() {
    let line = "words-1 en stem stop fold bigrams jieba-1";
    let made = AnalyzerConfig::default().segmenter("zh");

    if cfg!(feature = "zh") {
        assert_eq!(made.expect("it is built in").fingerprint(), line);
        assert_eq!(AnalyzerConfig::parse(line).expect("it is built in").fingerprint(), line);
    } else {
        let parsed = AnalyzerConfig::parse(line).expect_err("it is not built in");
        assert_eq!(parsed.kind(), ErrorKind::Unsupported);
        assert!(parsed.to_string().contains("--features zh"), "{parsed}");
        assert!(made.expect_err("it is not built in").to_string().contains("--features zh"));
    }
    // Without bigrams nothing keeps unknown words findable.
    AnalyzerConfig::parse("words-1 en jieba-1").expect_err("no bigrams");
    assert!(AnalyzerConfig::default().segmenter("ja").expect_err("none").to_string().contains("zh, none"));
}

#[cfg(feature = "zh")]
#[test]
fn a_segmenter_s_words_stand_beside_the_bigrams() {
    let config = AnalyzerConfig::default().segmenter("zh").expect("it is built in");
    let mut shown = Vec::new();
    let analyzers = Analyzers::new(config.into());

    let taken = analyzers
        .body()
        .terms_with_positions("洗猫 长江大桥", &mut |term, at, _| shown.push(format!("{term}@{at}")));

    assert_eq!(shown.join(" "), "洗@0 洗猫@0 猫@1 长江大桥@2 长江@2 江大@3 大桥@4 桥@5");
    assert_eq!(taken, 6);
    assert_eq!(analyzers.distinct_terms("洗猫"), ["洗", "洗猫", "猫"]);
    let phrase = analyzers.body().phrase_terms("长江大桥");
    assert!(phrase.iter().all(|term| term.term.chars().count() == 2), "{phrase:?}");
}
