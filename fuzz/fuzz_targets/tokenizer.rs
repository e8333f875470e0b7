//! Any text through the analyzer, however it is configured: spans lie on characters, positions ascend, and a
//! question has only terms of the text it is made of.
#![no_main]

use evdb::text::{Analyzer, AnalyzerConfig, Analyzers, MAX_TERM_BYTES, TextConfig};
use libfuzzer_sys::fuzz_target;

const LANGUAGES: [&str; 18] = [
    "ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta",
    "tr",
];

fn config(switches: u8, language: u8) -> AnalyzerConfig {
    if switches & 0x20 != 0 {
        return AnalyzerConfig::plain();
    }
    let config = AnalyzerConfig::default()
        .language(LANGUAGES[usize::from(language) % LANGUAGES.len()])
        .expect("it is listed")
        .stemming(switches & 1 == 0)
        .stop_words(switches & 2 == 0)
        .fold_accents(switches & 4 == 0)
        .unspaced_bigrams(switches & 8 == 0);
    if switches & 0x10 == 0 { config } else { config.segmenter("zh").unwrap_or(config) }
}

fuzz_target!(|data: &[u8]| {
    let [body, title, language, data @ ..] = data else { return };
    let text = String::from_utf8_lossy(data);
    let config = TextConfig { body: config(*body, *language), title: config(*title, *language) };
    assert_eq!(TextConfig::parse(&config.fingerprint()).expect("it was made here"), config);
    let analyzers = Analyzers::new(config);
    let mut all = Vec::new();
    for analyzer in [analyzers.body(), analyzers.title()] {
        all.extend(terms(analyzer, &text));
    }
    assert!(analyzers.distinct_terms(&text).iter().all(|term| all.contains(term)));
});

fn terms(analyzer: &Analyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut next = 0;
    let taken = analyzer.terms_with_positions(text, &mut |term, position, span| {
        assert!(text.get(span).is_some(), "a span cuts a character");
        assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
        assert!(position >= next, "positions do not ascend");
        next = position;
        terms.push(term.to_owned());
    });
    assert!(terms.is_empty() || next < taken);
    let mut last = None;
    for term in analyzer.phrase_terms(text) {
        assert!(last < Some(term.position), "two terms of a phrase for one position");
        last = Some(term.position);
        assert!(terms.contains(&term.term));
    }
    terms
}
