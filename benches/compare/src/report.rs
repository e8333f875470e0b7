//! Rows in one schema for every suite, goals, and how both are shown.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::numbers::short;

/// What one engine did in one case. What was not measured is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    pub suite: String,
    pub engine: String,
    pub case: String,
    /// Size of the corpus: passages, vectors, edges.
    pub n: u64,
    pub threads: u32,
    /// Wall time of one query.
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// Queries a second, one after the other: the median of the passes.
    pub qps: Option<f64>,
    /// CPU time of the whole process: of one query on average, or of the build.
    pub cpu_ms: Option<f64>,
    /// Share of the exhaustive top 10 that was found.
    pub recall: Option<f64>,
    pub build_s: Option<f64>,
    pub bytes: Option<u64>,
    pub rss_mb: Option<f64>,
    /// What must be known to read the row.
    pub note: String,
}

/// Which side of its target a ratio must be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    AtLeast,
    AtMost,
}

/// A ratio of medians that one run reached, beside what it should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the schema of the results names them")]
pub struct Goal {
    pub goal: String,
    /// `null` if one of the two sides is missing; the goal is not met then.
    pub ratio: Option<f64>,
    pub target: f64,
    pub met: bool,
}

impl Goal {
    /// The goal that `ours / theirs` is on the right side of `target`.
    pub fn new(
        goal: impl Into<String>,
        ours: Option<f64>,
        theirs: Option<f64>,
        bound: Bound,
        target: f64,
    ) -> Self {
        let sides = ours.zip(theirs).filter(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
        let ratio = sides.map(|(ours, theirs)| ours / theirs);
        let met = ratio.is_some_and(|ratio| match bound {
            Bound::AtLeast => ratio >= target,
            Bound::AtMost => ratio <= target,
        });
        let (goal, words) = (goal.into(), if bound == Bound::AtLeast { "at least" } else { "at most" });
        Self { goal: format!("{goal}, {words}"), ratio, target, met }
    }
}

/// What a suite brings home.
#[derive(Debug, Default)]
pub struct Outcome {
    pub rows: Vec<Row>,
    pub goals: Vec<Goal>,
    /// What went wrong without ending the run: an engine that died, answers that differ.
    pub failures: Vec<String>,
}

impl Outcome {
    pub fn append(&mut self, mut more: Self) {
        self.rows.append(&mut more.rows);
        self.goals.append(&mut more.goals);
        self.failures.append(&mut more.failures);
    }

    /// For machines: one JSON object a line, the rows, then the goals.
    pub fn write_json(&self, out: &mut impl Write) -> Result<()> {
        for row in &self.rows {
            writeln!(out, "{}", serde_json::to_string(row)?)?;
        }
        for goal in &self.goals {
            writeln!(out, "{}", serde_json::to_string(goal)?)?;
        }
        out.flush().context("the results could not be written")
    }

    /// For people: the rows, the goals, what went wrong.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if !self.rows.is_empty() {
            text.push_str(&table(&ROW_HEADS, &self.rows.iter().map(row_cells).collect::<Vec<_>>()));
        }
        if !self.goals.is_empty() {
            let cells = self.goals.iter().map(|goal| {
                let ratio = goal.ratio.map_or_else(|| "missing".to_owned(), short);
                vec![goal.goal.clone(), ratio, short(goal.target), if goal.met { "yes" } else { "NO" }.into()]
            });
            text.push('\n');
            text.push_str(&table(&["goal", "ratio", "target", "met"], &cells.collect::<Vec<_>>()));
        }
        for failure in &self.failures {
            let _ = write!(text, "\nFAILED: {failure}");
        }
        text
    }
}

const ROW_HEADS: [&str; 14] = [
    "suite", "engine", "case", "n", "threads", "p50_ms", "p99_ms", "qps", "cpu_ms", "recall", "build_s",
    "bytes", "rss_mb", "note",
];

fn row_cells(row: &Row) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    vec![
        row.suite.clone(),
        row.engine.clone(),
        row.case.clone(),
        row.n.to_string(),
        row.threads.to_string(),
        number(row.p50_ms),
        number(row.p99_ms),
        number(row.qps),
        number(row.cpu_ms),
        number(row.recall),
        number(row.build_s),
        row.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
        number(row.rss_mb),
        row.note.clone(),
    ]
}

/// Columns as wide as their widest cell; the numbers to the right.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let lines = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| {
        lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for line in lines() {
        let mut shown = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let is_number = cell == "-" || cell.parse::<f64>().is_ok();
            let _ =
                if is_number { write!(shown, "{cell:>width$}  ") } else { write!(shown, "{cell:<width$}  ") };
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_on_the_right_side_of_its_target() {
        let faster = Goal::new("or", Some(210.0), Some(100.0), Bound::AtLeast, 2.0);
        let slower = Goal::new("or", Some(190.0), Some(100.0), Bound::AtLeast, 2.0);
        let larger = Goal::new("bytes", Some(130.0), Some(100.0), Bound::AtMost, 1.25);

        assert_eq!((faster.ratio, faster.met), (Some(2.1), true));
        assert!(!slower.met);
        assert_eq!((larger.goal.as_str(), larger.met), ("bytes, at most", false));
    }

    #[test]
    fn a_goal_without_one_of_its_sides_is_not_met() {
        for (ours, theirs) in [(None, Some(1.0)), (Some(1.0), None), (Some(1.0), Some(0.0))] {
            let goal = Goal::new("and", ours, theirs, Bound::AtMost, 1.0);

            assert_eq!((goal.ratio, goal.met), (None, false));
        }
    }

    #[test]
    fn the_json_has_an_object_a_line_in_the_order_of_the_schema() {
        let row = Row { suite: "text".into(), engine: "evdb".into(), qps: Some(2.5), ..Row::default() };
        let goal = Goal::new("or", Some(2.0), Some(1.0), Bound::AtLeast, 2.0);
        let outcome = Outcome { rows: vec![row], goals: vec![goal], failures: Vec::new() };
        let mut out = Vec::new();

        outcome.write_json(&mut out).expect("memory");

        let text = String::from_utf8(out).expect("JSON is UTF-8");
        let mut lines = text.lines();
        let row = lines.next().expect("a row");
        let places: Vec<_> = ROW_HEADS.iter().map(|head| row.find(&format!("\"{head}\":"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{row}");
        assert_eq!(lines.next(), Some(r#"{"goal":"or, at least","ratio":2.0,"target":2.0,"met":true}"#));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn the_table_names_what_failed() {
        let outcome = Outcome { failures: vec!["engine x ended".into()], ..Outcome::default() };

        assert!(outcome.to_text().contains("FAILED: engine x ended"));
    }
}
