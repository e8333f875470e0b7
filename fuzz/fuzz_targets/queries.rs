//! Any text is a query or refused; what a query prints parses to it; and it marks words of any text at characters.
#![no_main]

use evdb::text::{Analyzer, Highlighter, Query};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [limit, data @ ..] = data else { return };
    let limit = usize::from(*limit);
    let both = String::from_utf8_lossy(data);
    let (typed, text) = both.split_at(both.floor_char_boundary(both.len() / 2));
    if let Ok(query) = Query::parse(typed) {
        assert_eq!(Query::parse(&query.to_string()).expect("it was printed"), query);
    }
    let analyzer = Analyzer::default();
    let terms = analyzer.distinct_terms(typed).into_iter().map(|term| (term, 1.0));
    let snippet = Highlighter::new(terms).snippet(&analyzer, text, limit);
    assert!(text[snippet.span].chars().count() <= limit);
    assert!(snippet.highlights.into_iter().all(|mark| text.get(mark).is_some()));
});
