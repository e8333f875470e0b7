//! Inputs and outputs of the analyzer. spec

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use crate::error::ErrorKind;
use crate::text::Analyzer;
use crate::text::AnalyzerConfig;
use crate::text::MAX_TERM_BYTES;

fn terms(config: AnalyzerConfig, text: &str) -> String {
    let mut out = Vec::new();
    Analyzer::new(config).terms(text, &mut |term| out.push(term.to_owned()));
    out.join(" ")
}

/// Texts, and their terms by the default analyzer with blanks between.
const VECTORS: &[(&str, &str)] = &[
    ("", ""),
    (" \t\n.,;'_-", ""),
    ("The contracts were terminated", "contract termin"),
    ("don't", "don"),
    ("Jon’s well-known e-mail", "jon well known e mail"),
    ("snake_case_name camelCase HTTP2", "snake case name camelcas http2"),
    (
        "3.14 1,234 1,234.50 12,34 2019,2020 1,234,567 10.0.0.1",
        "3.14 1234 1234.50 12 34 2019 2020 1234567 10.0.0.1",
    ),
    ("v1.2.3 3.5mm 5. 7,", "v1 2.3 3 5mm 5 7"),
    ("example.com U.S.A e.g. end.Start", "exampl com u e g end start"),
    ("O'Brien l'homme", "o brien l homm"),
    ("2026-11-30 12:30", "2026 11 30 12 30"),
    ("b2b covid19 0x1f", "b2b covid19 0x1f"),
    ("550e8400-e29b-41d4", "550e8400 e29b 41d4"),
    ("Straße STRASSE Größe", "strass strass gross"),
    ("İstanbul ISPARTA ısı", "istanbul isparta isi"),
    ("ΟΔΟΣ οδός Σίσυφος", "οδοσ οδοσ σισυφοσ"),
    ("ﬁnance oﬀer ŉ ſt", "financ offer ʼn st"),
    ("co\u{ad}operate zero\u{200d}width zero\u{200b}space \u{feff}bom", "cooper zerowidth zero space bom"),
    ("cafe\u{301} café résumés", "cafe cafe resum"),
    ("naïve coöperation Ångström Łódź øre æon œuvre þing", "naiv cooper angstrom lodz ore aeon oeuvr thing"),
    ("Việt Nam đường", "viet nam duong"),
    ("Ｆｕｌｌ\u{3000}ｗｉｄｔｈ １２３", "full width 123"),
    ("北京大学", "北京 京大 大学 学"),
    ("我", "我"),
    ("C盘", "c c盘 盘"),
    ("把C盘清理", "把 c c盘 盘清 清理 理"),
    ("API配置文件", "api api配 配置 置文 文件 件"),
    ("3月5日 3.5元", "3 3月 月 5 5日 日 3.5 3.5元 元"),
    ("東京タワーへ行く", "東京 京タ タワ ワー ーへ へ行 行く く"),
    ("ﾊ\u{ff9f}ﾝ ｶ\u{ff9e}ﾗｽ", "パン ン ガラ ラス ス"),
    ("がぎ か\u{3099}", "がぎ ぎ が"),
    ("안녕하세요 한국어", "안녕 녕하 하세 세요 요 한국 국어 어"),
    ("\u{1112}\u{1161}\u{11ab}", "한"),
    ("人々 〇", "人々 々 〇"),
    ("𠮷野家", "𠮷野 野家 家"),
    ("𐐀𐐁 𐐨", "𐐨𐐩 𐐨"),
    ("🚀 launch 👩\u{200d}👩\u{200d}👧 1\u{fe0f}\u{20e3}", "launch 1"),
    ("ש\u{5b8}\u{5c1}לו\u{5b9}ם עולם", "שלום עולם"),
    ("م\u{64f}ح\u{64e}م\u{64e}\u{651}د ١٢٣ می\u{200c}خواهم", "محمد 123 میخواهم"),
    ("हिन\u{94d}दी म\u{947}\u{902} १२", "हिन\u{94d}दी म\u{947}\u{902} 12"),
    ("ไทยแลนด\u{e4c}", "ไท ทย ยแ แล ลน นด\u{e4c} ด\u{e4c}"),
    ("Привет ёж й", "привет еж й"),
    ("½ ² ™ №5 ℀", "1 2 2 tm no5 c"),
    ("x² + y² = z²", "x2 y2 z2"),
    ("100% $5 €20", "100 5 20"),
    ("a\u{300}\u{301}\u{302}b", "ab"),
    ("\u{301}x", "x"),
    ("\0\u{1}\u{7f}abc\u{85}d", "abc"),
    ("tab\tsep\u{3000}ideo\u{a0}nbsp", "tab sep ideo nbsp"),
    ("running runs ran", "run run ran"),
    ("C++ C# .NET", "c c net"),
    ("①②", "12"),
    ("ﷺ", "صلى الله عليه وسلم"),
    ("κόσμε", "κοσμε"),
    ("ABC_def", "abc def"),
    ("l·l", "l l"),
    ("Öl und Häuser", "ol und hauser"),
    ("q\u{323}\u{307} q\u{323}\u{307}", "q q"),
    ("Ḿ", ""),
    ("mother‑in‐law", "mother law"),
    ("word\u{2060}joiner", "wordjoin"),
    ("١٬٢٣٤", "1 234"),
    ("𝐁𝐨𝐥𝐝 𝟙𝟚", "bold 12"),
    ("ひ ラーメン", "ひ ラー ーメ メン ン"),
    ("中文English混合text", "中文 文 english english混 混合 合 text"),
    ("a股 卡拉OK", "a股 股 卡拉 拉 ok"),
    ("x\u{336}y", "xy"),
];

/// spec: R-7.9.1 (the vectors)
#[test]
fn the_vectors_of_the_spec_hold() {
    for (text, expected) in VECTORS {
        assert_eq!(terms(AnalyzerConfig::default(), text), *expected, "{text:?}");
    }
}

/// `\w+` in lower case: what the prototypes call `raw`.
#[test]
fn the_plain_analyzer_gives_words_in_lower_case_and_nothing_else() {
    let plain = |text| terms(AnalyzerConfig::plain(), text);

    assert_eq!(plain("The contract's snake_case, 3.14"), "the contract s snake_case 3 14");
    assert_eq!(
        plain("Stra\u{df}e \u{5317}\u{4eac}\u{5927}\u{5b66}"),
        "stra\u{df}e \u{5317}\u{4eac}\u{5927}\u{5b66}"
    );
}

#[test]
fn each_switch_does_its_part_alone() {
    let base = AnalyzerConfig::default();

    assert_eq!(terms(base.stemming(false), "The running caf\u{e9}"), "running cafe");
    assert_eq!(terms(base.stop_words(false), "The running caf\u{e9}"), "the run cafe");
    assert_eq!(terms(base.fold_accents(false), "The running caf\u{e9}"), "run caf\u{e9}");
    assert_eq!(
        terms(base.unspaced_bigrams(false), "3\u{6708}\u{4e2d}\u{65ec}"),
        "3 \u{6708}\u{4e2d}\u{65ec}"
    );
    // German: Haeuser and Haus share a stem, and "the" is no stop word, but "\u{fc}ber" is one.
    let german = base.language("de").expect("there is a stemmer");
    assert_eq!(terms(german, "the H\u{e4}user Haus \u{fc}ber"), "the haus haus");
    assert_eq!(terms(german.fold_accents(false), "H\u{e4}user \u{fc}ber"), "haus");
    let tamil = base.language("ta").expect("there is a stemmer");
    assert_eq!(terms(tamil, "the"), "the");
}

#[test]
fn a_fingerprint_gives_back_its_configuration_and_nothing_else_is_one() {
    let base = AnalyzerConfig::default();
    let german = base.language("de").expect("there is a stemmer");

    for config in [base, AnalyzerConfig::plain(), base.stemming(false), german.fold_accents(false)] {
        assert_eq!(AnalyzerConfig::parse(&config.fingerprint()).expect("it was made here"), config);
    }
    assert_eq!(base.fingerprint(), "words-1 en stem stop fold bigrams");
    for line in
        ["", "words-2 en", "words-1", "words-1 xx stem", "words-1 en stop stem", "words-1 en stem stem"]
    {
        let error = AnalyzerConfig::parse(line).expect_err(line);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    assert!(base.language("tlh").expect_err("no stemmer").to_string().contains("de, el, en"));
}

#[test]
fn a_word_longer_than_a_term_is_cut_at_a_character() {
    // 200 letters of two bytes: 255 is within the 128th, so 127 remain.
    let word = "\u{416}".repeat(200);

    assert_eq!(terms(AnalyzerConfig::default(), &word), "\u{436}".repeat(127));
    assert_eq!(terms(AnalyzerConfig::plain(), &word), "\u{436}".repeat(127));
}

#[test]
fn a_question_s_terms_are_distinct_and_in_order() {
    assert_eq!(Analyzer::default().distinct_terms("cats, dogs and a cat"), ["cat", "dog"]);
    assert_eq!(Analyzer::default().distinct_terms("北京大学 我"), ["北京", "京大", "大学", "我"]);
}

/// claude-mem#3801, openclaw#20730, edda#402: substrings of one long run of Chinese must be found.
#[test]
fn substrings_of_two_and_more_letters_of_an_unspaced_run_share_all_their_terms_with_it() {
    let run = "\u{4e2d}\u{534e}\u{4eba}\u{6c11}\u{5171}\u{548c}\u{56fd}\u{5408}\u{540c}";
    let all = Analyzer::default().distinct_terms(run);
    let letters: Vec<char> = run.chars().collect();

    for len in 2..=6 {
        for part in letters.windows(len) {
            let part: String = part.iter().collect();
            assert!(
                Analyzer::default().distinct_terms(&part).iter().all(|term| all.contains(term)),
                "{part}"
            );
        }
    }
}

#[test]
fn spans_point_at_the_words_also_where_normalisation_changes_lengths() {
    let text = "\u{fb01}nance, Cafe\u{301}s: 1,234 C\u{76d8}";
    let mut spans = Vec::new();
    Analyzer::default()
        .terms_with_spans(text, &mut |term, span| spans.push((term.to_owned(), text[span].to_owned())));

    let expected = [
        ("financ", "\u{fb01}nance"),
        ("cafe", "Cafe\u{301}s"),
        ("1234", "1,234"),
        ("c", "C"),
        ("c\u{76d8}", "C\u{76d8}"),
        ("\u{76d8}", "\u{76d8}"),
    ];
    assert_eq!(spans, expected.map(|(term, text)| (term.to_owned(), text.to_owned())));
}

/// Terms with their positions, `term@position`, and how many positions the text took.
fn positions(config: AnalyzerConfig, text: &str) -> (String, u32) {
    let mut out = Vec::new();
    let taken =
        Analyzer::new(config).terms_with_positions(text, &mut |term, at, _| out.push(format!("{term}@{at}")));
    (out.join(" "), taken)
}

#[test]
fn a_dropped_stop_word_leaves_a_gap_in_the_positions() {
    let base = AnalyzerConfig::default();
    let dropped = |text| positions(base, text);

    assert_eq!(dropped("The state of the art"), ("state@1 art@4".to_owned(), 5));
    assert_eq!(dropped("state art"), ("state@0 art@1".to_owned(), 2));
    assert_eq!(dropped("art of the"), ("art@0".to_owned(), 3));
    assert_eq!(dropped("the of"), (String::new(), 2));
    assert_eq!(dropped(" ... "), (String::new(), 0));
    let kept = positions(base.stop_words(false), "The state of the art");
    assert_eq!(kept, ("the@0 state@1 of@2 the@3 art@4".to_owned(), 5));
}

/// Each letter takes one: what follows a run is as far from its last letter as from a run of one.
#[test]
fn letters_of_a_run_take_a_position_each_and_what_follows_the_run_has_the_next() {
    let base = AnalyzerConfig::default();

    assert_eq!(positions(base, "北京大学 北京"), ("北京@0 京大@1 大学@2 学@3 北京@4 京@5".to_owned(), 6));
    assert_eq!(positions(base, "学 the 文"), ("学@0 文@2".to_owned(), 3));
    assert_eq!(positions(base, "배터리 and 수명"), ("배터@0 터리@1 리@2 수명@4 명@5".to_owned(), 6));
    assert_eq!(positions(base.unspaced_bigrams(false), "北京大学x"), ("北京大学@0 x@1".to_owned(), 2));
}

#[test]
fn a_word_s_pair_with_the_letter_behind_it_has_the_word_s_position() {
    let base = AnalyzerConfig::default();

    let alone = positions(base, "C盘");
    let within = positions(base, "清理C盘文件 API");

    assert_eq!(alone, ("c@0 c盘@0 盘@1".to_owned(), 2));
    assert_eq!(within, ("清理@0 理@1 c@2 c盘@2 盘文@3 文件@4 件@5 api@6".to_owned(), 7));
    assert_eq!(positions(base, "the盘"), ("the盘@0 盘@1".to_owned(), 2));
}

/// As many words as a ligature stands for, and as the plain analyzer parts a word into.
#[test]
fn each_word_that_one_character_stands_for_takes_a_position() {
    assert_eq!(positions(AnalyzerConfig::default(), "ﷺ x").1, 5);
    assert_eq!(positions(AnalyzerConfig::plain(), "a_b, c-d"), ("a_b@0 c@1 d@2".to_owned(), 3));
}

/// One of each way that text takes.
fn configurations() -> Vec<AnalyzerConfig> {
    let base = AnalyzerConfig::default();
    let mut all = vec![
        base,
        AnalyzerConfig::plain(),
        base.fold_accents(false),
        base.unspaced_bigrams(false),
        base.language("de").expect("there is a stemmer").stop_words(false),
    ];
    all.extend(base.segmenter("zh"));
    all
}

/// Letters with marks of many scripts, and what stands between them.
const MARKED: &str = "[a-e \u{c0}-\u{24f}\u{300}-\u{345}\u{1e00}-\u{1fff}\u{5d0}-\u{5d5}\u{5b0}-\u{5bd}\u{627}-\u{655}\u{915}-\u{94d}\u{3041}-\u{309a}\u{4e00}-\u{4e20}\u{ac00}-\u{ac80}\u{1100}-\u{11c2}\u{1f600}]{0,40}";

proptest! {
    #[test]
    fn positions_ascend_without_repeating_a_term_and_end_before_what_the_text_took(text in any::<String>()) {
        for config in configurations() {
            let mut seen = Vec::new();
            let taken = Analyzer::new(config)
                .terms_with_positions(&text, &mut |term, position, _| seen.push((position, term.to_owned())));

            prop_assert!(seen.is_sorted_by_key(|(position, _)| *position));
            prop_assert!(seen.last().is_none_or(|(last, _)| *last < taken));
            let all = seen.len();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), all);
        }
    }

    #[test]
    fn any_text_gives_terms_within_bounds_and_spans_at_characters(text in any::<String>()) {
        for config in configurations() {
            let mut last = 0;
            Analyzer::new(config).terms_with_spans(&text, &mut |term, span| {
                assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
                assert!(text.get(span.clone()).is_some_and(|word| !word.is_empty()));
                assert!(span.start >= last || config != AnalyzerConfig::plain());
                last = span.start;
            });
        }
    }

    #[test]
    fn composed_and_decomposed_text_has_the_same_terms(text in MARKED) {
        for config in configurations() {
            if config != AnalyzerConfig::plain() {
                let composed: String = text.nfc().collect();
                let decomposed: String = text.nfd().collect();
                prop_assert_eq!(terms(config, &composed), terms(config, &decomposed));
            }
        }
    }

    #[test]
    fn no_stemmer_panics(text in "[a-zA-Z\u{c0}-\u{24f}\u{370}-\u{45f}\u{5d0}-\u{64a}\u{b80}-\u{bff}' ]{0,60}") {
        for language in ["ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta", "tr"] {
            for fold in [true, false] {
                let config = AnalyzerConfig::default().language(language).expect("it is listed").fold_accents(fold);
                terms(config, &text);
            }
        }
    }

    #[test]
    fn the_fast_way_for_ascii_gives_what_the_slow_one_does(text in "[ -~]{0,80}") {
        // A letter of another script at the end of each chunk sends it the slow way; it makes a term of its own.
        let other = "\u{b7}";
        let slow: String = text.split(' ').flat_map(|chunk| [chunk, other, " "]).collect();

        prop_assert_eq!(terms(AnalyzerConfig::default(), &text), terms(AnalyzerConfig::default(), &slow));
    }
}
