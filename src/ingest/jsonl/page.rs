//! The heading of a page of extracted text.

use std::collections::HashMap;
use std::collections::HashSet;

/// Lines looked at for a heading.
const MAX_LINES: usize = 12;

/// Longest heading in characters.
const MAX_CHARACTERS: usize = 90;

/// The lines that stand on so many of `pages` that they are running heads: on at least three and on 15 %.
pub(super) fn running_lines<'a>(pages: &[&'a str]) -> HashSet<&'a str> {
    let mut on_pages: HashMap<&str, usize> = HashMap::new();
    let mut running = HashSet::new();
    for page in pages {
        let mut lines: Vec<&str> = page.lines().map(str::trim).collect();
        lines.sort_unstable();
        lines.dedup();
        for line in lines {
            let count = on_pages.entry(line).or_default();
            *count += 1;
            if *count >= 3 && *count * 100 >= pages.len() * 15 {
                running.insert(line);
            }
        }
    }
    running
}

/// The first of a page's lines that looks like a title, else its first line; lines of `running` apart. `None` if
/// there is none.
pub(super) fn heading(page: &str, running: &HashSet<&str>) -> Option<String> {
    let mut lines = page.lines().map(str::trim).filter(|line| !line.is_empty() && !running.contains(line));
    let first = lines.clone().next()?;
    if let Some(line) = lines.by_ref().take(MAX_LINES).find(|line| is_title_like(line)) {
        return Some(line.to_owned());
    }
    Some(first.chars().take(MAX_CHARACTERS).collect())
}

fn is_title_like(line: &str) -> bool {
    let characters = line.chars().count();
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    (4..=MAX_CHARACTERS).contains(&characters)
        && line.split_whitespace().count() <= 12
        && letters * 10 > characters * 6
        && line.starts_with(|c: char| c.is_alphanumeric() && !c.is_lowercase())
        && !line.ends_with([',', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_is_the_first_title_like_line_that_is_no_running_head() {
        let pages =
            ["ACME Report\n17\nnot a title,\nRisk Factors\ntext", "ACME Report\nNotes", "ACME Report\n..."];

        let running = running_lines(&pages);

        assert_eq!(running, HashSet::from(["ACME Report"]));
        let headings: Vec<_> = pages.iter().map(|page| heading(page, &running)).collect();
        assert_eq!(headings, [Some("Risk Factors".into()), Some("Notes".into()), Some("...".into())]);
        assert_eq!(heading("ACME Report\n \n", &running), None);
    }

    #[test]
    fn a_line_on_three_of_a_hundred_pages_is_no_running_head() {
        let texts: Vec<String> =
            (0..100).map(|n| format!("{}\n{n}", if n < 3 { "Few" } else { "" })).collect();
        let pages: Vec<&str> = texts.iter().map(String::as_str).collect();

        assert!(!running_lines(&pages).contains("Few"));
    }
}
