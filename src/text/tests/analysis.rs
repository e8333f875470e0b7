//! Inputs and outputs of the analyzer. spec

use proptest::prelude::*;

use crate::error::ErrorKind;
use crate::text::Analyzer;
use crate::text::AnalyzerConfig;
use crate::text::MAX_TERM_BYTES;

fn terms(config: AnalyzerConfig, text: &str) -> String {
    let mut out = Vec::new();
    Analyzer::new(config).terms(text, &mut |term| out.push(term.to_owned()));
    out.join(" ")
}

const VECTORS: &[(&str, &str)] = &[("", ""), (" \t\n.,;'_-", "")];

#[test]
fn print_them() {
    for text in [
        "The contracts were terminated",
        "don't",
        "Jon\u{2019}s well-known e-mail",
        "snake_case_name camelCase HTTP2",
        "3.14 1,234 1,234.50 12,34 2019,2020 1,234,567 10.0.0.1",
        "v1.2.3 3.5mm 5. 7,",
        "example.com U.S.A e.g. end.Start",
        "O'Brien l'homme",
        "2026-11-30 12:30",
        "b2b covid19 0x1f",
        "550e8400-e29b-41d4",
        "Straße STRASSE Größe",
        "İstanbul ISPARTA ısı",
        "ΟΔΟΣ οδός Σίσυφος",
        "ﬁnance oﬀer ŉ ſt",
        "co\u{ad}operate zero\u{200d}width zero\u{200b}space \u{feff}bom",
        "cafe\u{301} café résumés",
        "naïve coöperation Ångström Łódź øre æon œuvre þing",
        "Việt Nam đường",
        "Ｆｕｌｌ　ｗｉｄｔｈ １２３",
        "北京大学",
        "我",
        "C盘",
        "把C盘清理",
        "API配置文件",
        "3月5日 3.5元",
        "東京タワーへ行く",
        "ﾊﾟﾝ ｶﾞﾗｽ",
        "がぎ か\u{3099}",
        "안녕하세요 한국어",
        "\u{1112}\u{1161}\u{11ab}",
        "人々 〇",
        "𠮷野家",
        "𐐀𐐁 𐐨",
        "🚀 launch 👩\u{200d}👩\u{200d}👧 1\u{fe0f}\u{20e3}",
        "שָׁלוֹם עולם",
        "مُحَمَّد ١٢٣ می\u{200c}خواهم",
        "हिन्दी में १२",
        "ไทยแลนด์",
        "Привет ёж й",
        "½ ² ™ №5 ℀",
        "x² + y² = z²",
        "100% $5 €20",
        "a\u{300}\u{301}\u{302}b",
        "\u{301}x",
        "\u{0}\u{1}\u{7f}abc\u{85}d",
        "tab\tsep\u{3000}ideo\u{a0}nbsp",
        "running runs ran",
        "C++ C# .NET",
        "①②",
        "ﷺ",
        "κόσμε",
        "ABC_def",
        "l\u{b7}l",
        "Öl und Häuser",
        "q̣̇ q̣̇",
        "Ḿ",
        "mother\u{2011}in\u{2010}law",
        "word\u{2060}joiner",
        "١٬٢٣٤",
        "𝐁𝐨𝐥𝐝 𝟙𝟚",
        "ひ ラーメン",
        "中文English混合text",
        "a股 卡拉OK",
        "x\u{336}y",
    ] {
        println!("    ({text:?}, {:?}),", terms(AnalyzerConfig::default(), text));
    }
    panic!();
}
