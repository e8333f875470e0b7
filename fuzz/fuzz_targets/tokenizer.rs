//! Any text through the analyzer: spans lie on characters and ascend, and a query finds the text it is made of.
#![no_main]

use evdb::text::{Analyzer, AnalyzerConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((mode, data)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(data);
    let config = match mode % 3 {
        0 => AnalyzerConfig::default(),
        1 => AnalyzerConfig::plain(),
        _ => AnalyzerConfig::default().fold_accents(false).stop_words(false),
    };
    let analyzer = Analyzer::new(config);
    let mut terms = Vec::new();
    analyzer.terms(&text, &mut |term| terms.push(term.to_owned()));
    let mut spans = Vec::new();
    analyzer.terms_with_spans(&text, &mut |term, span| {
        assert!(text.get(span).is_some(), "a span cuts a character");
        spans.push(term.to_owned());
    });
    assert_eq!(terms, spans);
    let distinct = analyzer.distinct_terms(&text);
    assert!(terms.iter().all(|term| distinct.contains(term)));
    assert!(terms.iter().all(|term| term.len() <= evdb::text::MAX_TERM_BYTES));
});
