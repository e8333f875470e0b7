//! Any bytes as Markdown, HTML, plain text and JSONL: what comes out is a sound document, or an error.
#![no_main]

#[path = "shared.rs"]
mod shared;

use evdb::ingest::{Options, html, jsonl, markdown, plain};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((mode, data)) = data.split_first() else { return };
    let options = Options { target_tokens: 12, max_tokens: 20, max_whole_tokens: 40, ..Options::default() };
    let text = String::from_utf8_lossy(data);
    let document = match mode % 4 {
        0 => markdown("k", &text, &options, &shared::Quarters),
        1 => html("k", &text, &options, &shared::Quarters),
        2 => plain("k", &text, &options, &shared::Quarters),
        _ => {
            let options = Options { skip_bad_lines: mode & 4 == 0, ..options };
            let _ = jsonl(data, "n", &options, &shared::Quarters, &mut |document| document.validate());
            return;
        }
    };
    if let Ok(document) = document {
        document.validate().expect("an importer makes sound documents");
    }
});
