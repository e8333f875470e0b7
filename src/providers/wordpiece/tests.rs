use super::*;

/// Texts and their ids by Hugging Face `tokenizers` with the tokenizer of all-MiniLM-L6-v2, without special tokens.
#[rustfmt::skip]
const KNOWN: &[(&str, &[u32])] = &[
    ("", &[]),
    ("Hello, world!", &[7592, 1010, 2088, 999]),
    ("The contract ends on 30 June 2027.", &[1996, 3206, 4515, 2006, 2382, 2238, 16798, 2581, 1012]),
    ("unaffable", &[14477, 20961, 3468]),
    ("Caf\u{e9} na\u{ef}ve \u{c5}ngstr\u{f6}m", &[7668, 15743, 17076, 15687]),
    ("\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}", &[100, 100, 1989, 1745, 100]),
    ("\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}", &[1879, 1755, 1709, 30262, 30265]),
    ("\u{d55c}\u{ad6d}\u{c5b4} \u{d14d}\u{c2a4}\u{d2b8}", &[1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1467, 30009, 30020, 29997, 30017, 30003, 30017]),
    ("\u{130}stanbul \u{131}", &[9960, 1104]),
    ("stra\u{df}e \u{1e9e}", &[2358, 27807, 1096]),
    ("\u{645}\u{631}\u{62d}\u{628}\u{627} \u{628}\u{627}\u{644}\u{639}\u{627}\u{644}\u{645}", &[1295, 17149, 29820, 29816, 25573, 1271, 25573, 23673, 29830, 25573, 23673, 22192]),
    ("\u{5e9}\u{5b8}\u{5dc}\u{5d5}\u{5b9}\u{5dd}", &[1266, 29799, 29792, 29800]),
    ("\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}", &[1339, 29877, 29863, 29861, 29878]),
    ("\u{1f980} crab", &[100, 18081]),
    ("e\u{301} = \u{e9}", &[1041, 1027, 1041]),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", &[22038, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348, 20348]),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", &[100]),
    ("a\u{ad}b\u{200b}c\u{feff}d", &[5925, 2094]),
    ("tab\u{9}new\u{a}line\u{d}\u{b}x\u{0}y", &[21628, 2047, 2240, 1060, 2100]),
    ("don't (re)use [brackets] {x} <y> $5 + 3 = 8^2 | `z` ~", &[2123, 1005, 1056, 1006, 2128, 1007, 2224, 1031, 19719, 1033, 1063, 1060, 1065, 1026, 1061, 1028, 1002, 1019, 1009, 1017, 1027, 1022, 1034, 1016, 1064, 1036, 1062, 1036, 1066]),
    ("\u{2018}quotes\u{2019} \u{201c}double\u{201d} \u{2014} dash \u{2026}", &[1520, 16614, 1521, 1523, 3313, 1524, 1517, 11454, 1529]),
    ("\u{fb01}ne \u{2460} \u{210c} \u{bd}", &[1984, 2638, 100, 100, 1092]),
    ("\u{1e69}\u{323}\u{307}", &[1055]),
    ("zqxj blorfq", &[1062, 4160, 2595, 3501, 1038, 10626, 2546, 4160]),
    ("1234567890 3.14159 1,000", &[13138, 19961, 2575, 2581, 2620, 21057, 1017, 1012, 15471, 28154, 1015, 1010, 2199]),
    ("C++ C# .NET foo_bar fooBar", &[1039, 1009, 1009, 1039, 1001, 1012, 5658, 29379, 1035, 3347, 29379, 8237]),
    ("\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2} \u{39f}\u{394}\u{39f}\u{3a3}", &[1173, 18199, 29733, 29735, 29736, 15297, 1169, 29722, 29730, 29733]),
    ("\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43c}\u{438}\u{440}", &[1194, 16856, 10325, 25529, 15290, 22919, 1010, 1191, 10325, 16856]),
    ("\u{fffd}\u{fffe}", &[100]),
    ("U.S.A. e.g. 10%", &[1057, 1012, 1055, 1012, 1037, 1012, 1041, 1012, 1043, 1012, 2184, 1003]),
];

#[test]
fn known_texts_have_their_known_ids() {
    for (text, ids) in KNOWN {
        assert_eq!(WordPiece::bert_uncased().encode(text), *ids, "{text:?}");
        assert_eq!(WordPieceCounter.count(text), ids.len());
    }
}

/// 101 characters are [UNK], id 100, as is a character the vocabulary lacks.
#[test]
fn a_word_that_cannot_be_cut_is_one_unknown() {
    let tokens = WordPiece::bert_uncased();

    assert_eq!(tokens.unknown(), 100);
    assert_eq!(tokens.encode(&"a".repeat(1_000_000)), [100]);
    assert_eq!(tokens.encode("\u{1f980}"), [100]);
    assert_eq!(tokens.encode("ab\u{1f980}"), [100]);
}

/// `[SEP]` is three words: a text cannot smuggle a special token in.
#[test]
fn a_special_token_in_a_text_is_text() {
    let tokens = WordPiece::bert_uncased();

    let ids = tokens.encode("[SEP]");

    assert_eq!(ids, [tokens.encode("["), tokens.encode("sep"), tokens.encode("]")].concat());
    assert!(!ids.contains(&102));
}

#[test]
fn an_unsound_vocabulary_is_refused() {
    let why =
        |vocabulary: &'static str| WordPiece::new(vocabulary).map(|_| ()).expect_err("unsound").to_string();

    assert_eq!(why("a\nb"), "the vocabulary has no [UNK]");
    assert_eq!(why("[UNK]\na\n##a\na"), "the piece \"a\" is there twice");
    assert_eq!(why(""), "the vocabulary has no [UNK]");
    let long: &'static str = format!("[UNK]\n{}", "a".repeat(256)).leak();
    assert_eq!(why(long), "a piece has 256 bytes, over 255");
}

/// The longest piece first: `ab`, then `##c`, though `a` and `##bc` would do as well.
#[test]
fn a_word_is_cut_greedily_from_the_left() {
    let tokens = WordPiece::new("[UNK]\na\nab\n##bc\n##c\n##").expect("it is sound");

    assert_eq!(tokens.encode("ABC abd"), [2, 4, 0]);
}
