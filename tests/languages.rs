//! What is found in other languages than English: two test sets, and cases picked by hand.

use std::fs;

use evdb::text::{AnalyzerConfig, TextConfig};
use evdb::tree::{Node, NodeKind};
use evdb::{Database, Document, ErrorKind, Span};
use serde_json::Value;

fn rows(name: &str) -> Vec<Value> {
    let path = format!("tests/data/languages/{name}.jsonl");
    let text = fs::read_to_string(&path).expect("a test set");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn string<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().expect("a string")
}

/// A file in which each text is a document of one leaf, below the document's title.
fn file<'a>(
    config: impl Into<TextConfig>,
    texts: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Database {
    let db = Database::builder().analyzer(config).in_memory().expect("memory");
    let mut write = db.begin_write().expect("writable");
    for (key, title, text) in texts {
        let mut document = Document::new(key, title);
        text.clone_into(&mut document.text);
        let span = Span::new(0, u32::try_from(text.len()).expect("a short text"));
        document.nodes.push(Node { span, ..Node::new(Some(0), NodeKind::Text) });
        write.insert_document(&document).expect("sound");
    }
    write.commit().expect("committed");
    db
}

/// Keys of the documents found, best first.
fn search(db: &Database, question: &str) -> Vec<String> {
    let read = db.begin_read().expect("whole");
    let terms = read.analyzers().distinct_terms(question);
    let hits = read.text_index().search(&terms, None, 5).expect("whole");
    hits.iter().map(|hit| read.document_of(hit.node).expect("it has one").key.clone()).collect()
}

/// Of the questions of a set, how many have their passage first and among the first five.
fn found(set: &str, config: AnalyzerConfig) -> (usize, usize, usize) {
    let passages = rows(&format!("{set}-passages"));
    let texts = passages.iter().map(|row| (string(row, "id"), string(row, "title"), string(row, "text")));
    let db = file(config, texts);
    let questions = rows(&format!("{set}-questions"));
    let (mut first, mut first_five) = (0, 0);
    for question in &questions {
        let keys = search(&db, string(question, "question"));
        first += usize::from(keys.first().is_some_and(|key| question["gold"][0] == *key));
        first_five += usize::from(keys.iter().any(|key| question["gold"][0] == *key));
    }
    (first, first_five, questions.len())
}

#[test]
fn every_gold_passage_of_a_set_is_there_and_no_id_occurs_twice() {
    for set in ["zh", "ja"] {
        let passages = rows(&format!("{set}-passages"));
        let mut ids: Vec<&str> = passages.iter().map(|row| string(row, "id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();

        assert_eq!(ids.len(), count);
        assert!(count >= 40);
        for question in rows(&format!("{set}-questions")) {
            let gold = question["gold"].as_array().expect("a list");
            assert!(!gold.is_empty() && !string(&question, "answer").is_empty());
            assert!(gold.iter().all(|id| ids.contains(&id.as_str().expect("an id"))), "{question}");
        }
    }
}

/// What bigrams miss is single letters in another order: "how is tea brewed" has none of its pairs in the text.
#[test]
fn bigrams_find_the_passages_of_chinese_questions() {
    let (first, first_five, all) = found("zh", AnalyzerConfig::default());

    assert_eq!(all, 44);
    assert!(first >= 38 && first_five >= 40, "{first} first, {first_five} in five, of {all}");
}

#[test]
fn bigrams_find_the_passages_of_japanese_questions() {
    let (first, first_five, all) = found("ja", AnalyzerConfig::default());

    assert_eq!(all, 40);
    assert!(first >= 40 && first_five >= 40, "{first} first, {first_five} in five, of {all}");
}

#[cfg(feature = "zh")]
#[test]
fn the_segmenter_finds_the_chinese_words_of_one_letter_too() {
    let config = AnalyzerConfig::default().segmenter("zh").expect("it is built in");

    let (first, first_five, all) = found("zh", config);

    assert!(first >= 42 && first_five >= 42, "{first} first, {first_five} in five, of {all}");
}

#[test]
fn words_of_mixed_scripts_and_forms_are_found_whichever_way_they_are_written() {
    let texts = [
        ("drive", "", "清理C盘的临时文件"),
        ("config", "", "读取API配置文件"),
        ("kana", "", "データを保存する"),
        ("hangul", "", "한국어 문서 검색"),
        ("beyond", "", "昨天在𠮷野家吃饭"),
        ("emoji", "", "launch🚀rocket 👩\u{200d}🚀 pilot"),
        ("marks", "", "हिन\u{94d}दी भाषा"),
        ("cafe", "", "Cafe\u{301} Zoe\u{308}"),
    ];
    let db = file(AnalyzerConfig::default(), texts);
    let cases = [
        ("C盘", "drive"),
        ("ｃ盘", "drive"),
        ("API配置", "config"),
        ("ａｐｉ", "config"),
        ("ﾃﾞｰﾀ", "kana"),
        ("テ\u{3099}ータ", "kana"),
        // Jamo in place of syllables, as some file systems write names.
        ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "hangul"),
        ("𠮷野家", "beyond"),
        ("rocket", "emoji"),
        ("pilot", "emoji"),
        ("हिन\u{94d}दी", "marks"),
        ("café", "cafe"),
        ("ZOE", "cafe"),
    ];

    for (question, key) in cases {
        assert_eq!(search(&db, question), [key], "{question}");
    }
}

/// They are different letters, and no table that maps them is exact: 后 is both 後 and itself.
#[test]
fn traditional_and_simplified_letters_are_not_the_same() {
    let db = file(AnalyzerConfig::default(), [("simplified", "", "数据库"), ("traditional", "", "資料庫")]);

    assert_eq!(search(&db, "数据库"), ["simplified"]);
    assert_eq!(search(&db, "資料庫"), ["traditional"]);
    assert!(search(&db, "數據庫").is_empty());
}

#[test]
fn german_words_are_found_by_their_stems_with_and_without_umlauts() {
    let german = AnalyzerConfig::default().language("de").expect("there is a stemmer");
    let texts = [
        ("houses", "Häuser", "Die Häuser über dem Fluss wurden verkauft."),
        ("contract", "Verträge", "Der Vertrag endet im Mai."),
        ("drinks", "", "schwüles Wetter"),
    ];
    let folded = file(german, texts);
    let kept = file(german.fold_accents(false), texts);
    let whole = file(german.fold_accents(false).stemming(false), texts);

    assert_eq!(search(&folded, "haus"), ["houses"]);
    assert_eq!(search(&folded, "hauser"), ["houses"]);
    assert_eq!(search(&folded, "VERTRÄGEN"), ["contract"]);
    assert!(search(&folded, "über die").is_empty(), "both are stop words");
    assert_eq!(search(&kept, "Häusern"), ["houses"]);
    assert_eq!(search(&folded, "schwul"), ["drinks"]);
    // The stemmer drops umlauts by itself.
    assert_eq!(search(&kept, "schwul"), ["drinks"]);
    assert_eq!(search(&whole, "schwüles"), ["drinks"]);
    assert!(search(&whole, "schwules").is_empty(), "another word, if accents are kept");
}

#[test]
fn french_words_are_found_by_their_stems_with_and_without_accents() {
    let french = AnalyzerConfig::default().language("fr").expect("there is a stemmer");
    let texts = [
        ("school", "L'école", "Les élèves préparaient leurs leçons à l'école."),
        ("sales", "", "Il vend du poisson salé près de la côte."),
    ];
    let folded = file(french, texts);
    let kept = file(french.fold_accents(false), texts);

    assert_eq!(search(&folded, "eleve"), ["school"]);
    assert_eq!(search(&folded, "écoles"), ["school"]);
    assert_eq!(search(&folded, "preparait"), ["school"]);
    assert!(search(&folded, "les à la").is_empty(), "all are stop words");
    assert_eq!(search(&kept, "élève"), ["school"]);
    assert!(search(&kept, "cote").is_empty(), "another word, if accents are kept");
    assert_eq!(search(&folded, "cote"), ["sales"]);
}

#[test]
fn titles_may_have_a_configuration_of_their_own_which_the_file_keeps() {
    let body = AnalyzerConfig::default();
    let config = TextConfig { body, title: body.stemming(false).stop_words(false) };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("titles.evdb");
    let db = Database::builder().analyzer(config).create(&path).expect("new");
    let mut write = db.begin_write().expect("writable");
    for (key, title) in [("running", "The Running Man"), ("runs", "Runs of the Man")] {
        let mut document = Document::new(key, title);
        document.text = "a runner".to_owned();
        document.nodes.push(Node { span: Span::new(0, 8), ..Node::new(Some(0), NodeKind::Text) });
        write.insert_document(&document).expect("sound");
    }
    write.commit().expect("committed");
    drop(db);

    let db = Database::open(&path).expect("it keeps its configuration");
    assert_eq!(search(&db, "running"), ["running"]);
    assert_eq!(search(&db, "runs"), ["runs"]);
    assert_eq!(search(&db, "of"), ["runs"], "no stop word in titles");
    let line = db.begin_read().expect("whole").stats().expect("whole").analyzer;
    assert_eq!(line, config.fingerprint());
    drop(db);
    let other = Database::builder().analyzer(body).open(&path).err().expect("another configuration");
    assert_eq!(other.kind(), ErrorKind::InvalidInput);
    for line in [config.fingerprint(), body.fingerprint()] {
        assert!(other.to_string().contains(&format!("{line:?}")), "{other}");
    }
}
