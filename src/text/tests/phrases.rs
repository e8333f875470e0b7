//! Which terms a phrase has, and that a text holds exactly the phrases that stand in it.

use proptest::prelude::*;

use crate::text::Analyzer;
use crate::text::AnalyzerConfig;

/// A phrase's terms, `term@position`, with `*` behind a prefix.
fn phrase(config: AnalyzerConfig, text: &str) -> String {
    let terms = Analyzer::new(config).phrase_terms(text);
    let shown: Vec<String> = terms
        .iter()
        .map(|term| format!("{}{}@{}", term.term, if term.prefix { "*" } else { "" }, term.position))
        .collect();
    shown.join(" ")
}

/// Whether `text` holds `phrase`, by comparing all positions.
fn holds(analyzer: &Analyzer, text: &str, phrase: &str) -> bool {
    let mut terms = Vec::new();
    analyzer.terms_with_positions(text, &mut |term, position, _| terms.push((term.to_owned(), position)));
    let wanted = analyzer.phrase_terms(phrase);
    let Some(first) = wanted.first() else { return false };
    (0..=terms.last().map_or(0, |(_, last)| *last)).any(|at| {
        wanted.iter().all(|wanted| {
            let position = at + (wanted.position - first.position);
            terms.iter().any(|(term, there)| {
                let fits = if wanted.prefix { term.starts_with(&wanted.term) } else { *term == wanted.term };
                *there == position && fits
            })
        })
    })
}

#[test]
fn a_phrase_of_words_has_their_terms_with_gaps_for_stop_words() {
    let base = AnalyzerConfig::default();

    assert_eq!(phrase(base, "The state of the art"), "state@1 art@4");
    assert_eq!(phrase(base, "of the"), "");
    assert_eq!(phrase(AnalyzerConfig::plain(), "a_b c"), "a_b@0 c@1");
}

#[test]
fn a_phrase_may_end_within_a_run_of_letters() {
    let base = AnalyzerConfig::default();

    assert_eq!(phrase(base, "北京大学"), "北京@0 京大@1 大学@2");
    assert_eq!(phrase(base, "API配置"), "api@0 配置@1");
    assert_eq!(phrase(base, "文件API"), "文件@0 api@2");
    assert_eq!(phrase(base, "猫"), "猫*@0");
    assert_eq!(phrase(base, "猫 the"), "猫@0");
    assert_eq!(phrase(base.unspaced_bigrams(false), "API配置"), "api@0 配置@1");
}

/// Its pair with the word says as much, but is not found where a blank parts them.
#[test]
fn a_letter_behind_a_word_at_a_phrase_s_end_is_found_by_what_begins_with_it() {
    let base = AnalyzerConfig::default();

    assert_eq!(phrase(base, "C盘"), "c@0 盘*@1");
    assert_eq!(phrase(base, "清理C盘"), "清理@0 c@2 盘*@3");
    assert_eq!(phrase(base, "the盘"), "盘*@1");
    // Not at the end, the letter is a run's last.
    assert_eq!(phrase(base, "C盘 X"), "c@0 盘@1 x@2");
}

#[test]
fn mixed_scripts_and_letters_beyond_the_bmp_are_found_as_phrases() {
    let analyzer = Analyzer::default();
    let held = [
        ("请清理C盘文件夹", "C盘"),
        ("请清理C盘文件夹", "C盘文件"),
        ("请清理C盘文件夹", "清理C盘"),
        ("请清理 C 盘文件夹", "C盘"),
        ("读取API配置文件", "API配置"),
        ("读取API配置文件API", "件API"),
        ("我爱喝茶", "茶"),
        ("喝茶聊天", "茶"),
        ("在𠮷野家吃饭", "𠮷野家"),
        ("在𠮷野家吃饭", "𠮷"),
        ("3月5日", "3月"),
        ("か\u{3099}っこう", "がっこう"),
        ("\u{1112}\u{1161}\u{11ab}국어", "한국"),
        ("ﾃﾞｰﾀを保存", "データ"),
        ("Cafe\u{301} Noir", "café noir"),
        ("go 🚀 launch", "go launch"),
    ];
    let not_held = [
        ("请清理C大盘", "C盘"),
        ("C 大盘", "C 盘"),
        ("文件夹 API", "文件 API"),
        ("配置 API", "API配置"),
        ("文案件", "文件"),
        ("state art", "state of the art"),
    ];

    for (text, phrase) in held {
        assert!(holds(&analyzer, text, phrase), "{phrase:?} stands in {text:?}");
    }
    for (text, phrase) in not_held {
        assert!(!holds(&analyzer, text, phrase), "{phrase:?} does not stand in {text:?}");
    }
}

/// What a text is made of, with nothing that joins two pieces to a longer word.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = ["c ", "api", "the ", " of", "盘", "文", "件", "猫", " ", "。", "3.5", "カ", "ﾞ", "\u{301}"];
    prop::collection::vec(prop::sample::select(piece.to_vec()), 1..12)
}

proptest! {
    #[test]
    fn every_part_of_a_text_that_does_not_cut_a_word_is_a_phrase_of_it(
        pieces in pieces(),
        from in 0_usize..12,
        len in 1_usize..6,
    ) {
        let text = pieces.concat();
        let from = from % pieces.len();
        let part = pieces.get(from..(from + len).min(pieces.len())).unwrap_or_default().concat();
        let before: String = pieces.get(..from).unwrap_or_default().concat();
        let after = &text[before.len() + part.len()..];
        let is_mark = |c: char| matches!(c, 'ﾞ' | '\u{301}');
        let joins = |left: &str, right: &str| {
            let in_word = |c: char| c.is_ascii_alphanumeric() || is_mark(c);
            right.starts_with(is_mark) || left.ends_with(in_word) && right.starts_with(in_word)
        };
        prop_assume!(!joins(&before, &part) && !joins(&part, after));

        for config in [AnalyzerConfig::default(), AnalyzerConfig::default().stop_words(false)] {
            let analyzer = Analyzer::new(config);
            prop_assert!(
                analyzer.phrase_terms(&part).is_empty() || holds(&analyzer, &text, &part),
                "{part:?} stands in {text:?}"
            );
        }
    }
}
