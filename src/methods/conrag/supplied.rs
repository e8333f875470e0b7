//! A plan as a caller has it, with answers.

use serde_json::Value;

use super::Plan;
use crate::error::Error;
use crate::error::Result;

/// A plan and the answers that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppliedPlan {
    /// The steps.
    pub plan: Plan,
    /// Answers by step; may be shorter than the plan.
    pub answers: Vec<Option<String>>,
    /// Why `plan` asks nothing but the question, if the plan given was none.
    pub fault: Option<String>,
}

impl SuppliedPlan {
    /// The plan in `json`, `{"plan": [...], "answers": ["...", null]}` or a list of steps alone; see [`Plan::parse`]. A plan
    /// that is faulty is replaced by one step that asks `question` itself, and [`fault`](Self::fault) says why.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `json` is no JSON, or answers are no list of texts, numbers and nulls, one a step.
    ///
    /// # Source
    ///
    /// ConRAG (arXiv 2605.28093), first release: its fallback of one step.
    pub fn parse(json: &str, question: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| Error::invalid(format!("the plan is no JSON: {error}")))?;
        let plan = match Plan::parse(json) {
            Ok(plan) => plan,
            Err(fault) => {
                let (plan, fault) = (Plan::single(question), Some(fault.to_string()));
                return Ok(Self { plan, answers: Vec::new(), fault });
            }
        };
        let answers = match value.get("answers") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(answers)) => answers.iter().map(answer).collect::<Result<_>>()?,
            Some(_) => return Err(Error::invalid("the answers of a plan are a list, one a step")),
        };
        if answers.len() > plan.steps().len() {
            let (answers, steps) = (answers.len(), plan.steps().len());
            return Err(Error::invalid(format!("a plan of {steps} steps has {answers} answers")));
        }
        Ok(Self { plan, answers, fault: None })
    }

    /// Whether every step that others need has an answer.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let needed = self.plan.steps().iter().flat_map(|step| &step.dependencies);
        needed.into_iter().all(|step| self.answer(*step).is_some())
    }

    /// The answer given to `step`, unless it is blank.
    #[must_use]
    pub fn answer(&self, step: u32) -> Option<&str> {
        let answer = self.answers.get(step as usize)?.as_deref()?.trim();
        Some(answer).filter(|answer| !answer.is_empty())
    }
}

fn answer(value: &Value) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(answer) => Ok(Some(answer.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(Error::invalid(format!("{other} is no answer; write a text, or null"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &str =
        r#"[{"id": 0, "sub_question": "a"}, {"id": 1, "sub_question": "b <dep:0>", "dependencies": [0]}]"#;

    fn with(answers: &str) -> Result<SuppliedPlan> {
        SuppliedPlan::parse(&format!("{{\"plan\": {STEPS}, \"answers\": {answers}}}"), "q")
    }

    #[test]
    fn a_plan_is_answered_if_what_others_need_is() {
        assert!(with("[\"x\"]").expect("sound").is_answered());
        assert!(with("[1985, null]").expect("sound").is_answered());
        assert_eq!(with("[1985]").expect("sound").answer(0), Some("1985"));
        assert!(!with("[null, \"y\"]").expect("sound").is_answered());
        assert!(!with("[\" \"]").expect("sound").is_answered());
        assert!(!SuppliedPlan::parse(STEPS, "q").expect("sound").is_answered());
        assert!(
            SuppliedPlan::parse(r#"[{"id": 0, "sub_question": "a"}]"#, "q").expect("sound").is_answered()
        );
    }

    #[test]
    fn a_faulty_plan_is_one_step_and_says_why() {
        let cyclic = r#"[{"id": 0, "sub_question": "a", "dependencies": [1]},
            {"id": 1, "sub_question": "b", "dependencies": [0]}]"#;

        let plan = SuppliedPlan::parse(cyclic, "q").expect("a plan of one step");

        assert_eq!(plan.plan, Plan::single("q"));
        assert!(plan.fault.expect("a reason").contains("wait for each other"));
        assert!(SuppliedPlan::parse("{\"steps\": 1}", "q").expect("one step").fault.is_some());
    }

    #[test]
    fn what_is_no_json_or_has_odd_answers_is_refused() {
        for (json, words) in [("{", "no JSON"), ("", "no JSON")] {
            assert!(SuppliedPlan::parse(json, "q").expect_err("refused").to_string().contains(words));
        }
        assert!(with("{}").expect_err("refused").to_string().contains("a list"));
        assert!(with("[[]]").expect_err("refused").to_string().contains("no answer"));
        assert!(with("[null, null, null]").expect_err("refused").to_string().contains("3 answers"));
    }
}
