//! What each step of a query saw, kept and spent.

use std::fmt;

/// The steps of one query, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Trace {
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step: counts in, counts out.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Step {
    /// What was done, such as `pack`.
    pub name: &'static str,
    /// Things it was given.
    pub saw: usize,
    /// Things it passed on.
    pub kept: usize,
    /// Things it looked at and left out.
    pub cut: usize,
    /// Tokens it cost: of evidence when packing, read and written when a model was asked; else 0.
    pub spent: usize,
    /// What a reader should know: a regime chosen, a model that failed. May be empty.
    pub note: String,
}

impl Step {
    /// A step that saw `saw` things and kept `kept` of them; the difference was cut.
    #[must_use]
    pub fn new(name: &'static str, saw: usize, kept: usize) -> Self {
        Self { name, saw, kept, cut: saw.saturating_sub(kept), spent: 0, note: String::new() }
    }

    /// The same with its cost in tokens.
    #[must_use]
    pub fn spent(mut self, tokens: usize) -> Self {
        self.spent = tokens;
        self
    }

    /// The same with a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

impl Trace {
    /// Adds `step` at the end.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        for step in &self.steps {
            let Step { name, saw, kept, cut, spent, note } = step;
            write!(f, "{name:width$}  saw {saw:>6}  kept {kept:>6}  cut {cut:>6}  spent {spent:>6}")?;
            if note.is_empty() {
                writeln!(f)?;
            } else {
                writeln!(f, "  {note}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_prints_one_line_per_step_in_columns() {
        let mut trace = Trace::default();
        trace.push(Step::new("score leaves", 120, 120));
        trace.push(Step::new("pack", 120, 7).spent(498).note("skipped 3"));

        let lines = "score leaves  saw    120  kept    120  cut      0  spent      0\n\
                     pack          saw    120  kept      7  cut    113  spent    498  skipped 3\n";
        assert_eq!(trace.to_string(), lines);
    }
}
