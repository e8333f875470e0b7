//! Plans: sub-questions with slots for each other's answers.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::error::Error;
use crate::error::Result;

/// What stands in a slot whose answer is not known.
pub const NOT_FOUND: &str = "Information not found";

/// Most steps of a plan. The paper's have two to five; more is a model gone astray.
pub const MAX_STEPS: usize = 64;

/// A sub-question.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// Its number, from 0.
    pub id: u32,
    /// The question; `<dep:j>` stands for the answer of step `j`.
    pub sub_question: String,
    /// The steps whose answers it needs.
    #[serde(default)]
    pub dependencies: Vec<u32>,
}

/// Steps that are known to be in order: numbered from 0 without gaps, with questions, without cycles.
///
/// ```
/// use evdb::methods::conrag::Plan;
///
/// let plan = Plan::parse(r#"[
///     {"id": 0, "sub_question": "Who directed Alien?"},
///     {"id": 1, "sub_question": "Where was <dep:0> born?", "dependencies": [0]}
/// ]"#)?;
/// assert_eq!(plan.bind(1, &[Some("Ridley Scott".into()), None]), "Where was Ridley Scott born?");
/// # Ok::<(), evdb::Error>(())
/// ```
///
/// # Source
///
/// ConRAG, arXiv 2605.28093, slot-bound plans, as its first release checks, orders and binds them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Plan {
    steps: Vec<Step>,
    #[serde(skip)]
    order: Vec<u32>,
}

impl Plan {
    /// The plan of `steps`, in any order.
    ///
    /// # Errors
    ///
    /// `InvalidInput`, naming the step, if there is none or there are over [`MAX_STEPS`], numbers are not
    /// 0, 1, 2 and so on, a question is blank, a dependency is no step, or steps wait for each other.
    pub fn new(mut steps: Vec<Step>) -> Result<Self> {
        if steps.is_empty() || steps.len() > MAX_STEPS {
            let count = steps.len();
            return Err(Error::invalid(format!("a plan has {count} steps, not 1 to {MAX_STEPS}")));
        }
        steps.sort_by_key(|step| step.id);
        for (expected, step) in (0..).zip(&steps) {
            let id = step.id;
            if id != expected {
                return Err(Error::invalid(format!(
                    "the steps of a plan are numbered from 0 without gaps; step {expected} is missing or twice"
                )));
            }
            if step.sub_question.trim().is_empty() {
                return Err(Error::invalid(format!("step {id} of the plan asks nothing")));
            }
            if let Some(other) = step.dependencies.iter().find(|other| **other as usize >= steps.len()) {
                return Err(Error::invalid(format!(
                    "step {id} of the plan needs step {other}; there is none"
                )));
            }
        }
        let order = order(&steps)?;
        Ok(Self { steps, order })
    }

    /// The plan in `json`: a list of objects `{"id", "sub_question", "dependencies"}`, or an object with such a
    /// list under `plan`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is neither, or as [`new`](Self::new).
    pub fn parse(json: &str) -> Result<Self> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Steps(Vec<Step>),
            Within { plan: Vec<Step> },
        }
        match serde_json::from_str(json) {
            Ok(Wire::Steps(steps) | Wire::Within { plan: steps }) => Self::new(steps),
            Err(error) => Err(Error::invalid(format!(
                "a plan is a list of objects with id, sub_question and dependencies: {error}"
            ))),
        }
    }

    /// The plan of one step that asks `question` itself: what a faulty plan is replaced by.
    #[must_use]
    pub fn single(question: &str) -> Self {
        let step = Step { id: 0, sub_question: question.to_owned(), dependencies: Vec::new() };
        Self { steps: vec![step], order: vec![0] }
    }

    /// The steps, by number.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The numbers of the steps, each after all it needs; of those that could come next, the one that was ready
    /// first, lower numbers before.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The steps in groups: those of a group need only steps of groups before, and may run side by side.
    #[must_use]
    pub fn waves(&self) -> Vec<Vec<u32>> {
        let mut depths = vec![0_usize; self.steps.len()];
        let mut waves: Vec<Vec<u32>> = Vec::new();
        for id in &self.order {
            let needs = self.steps[*id as usize].dependencies.iter();
            let depth = needs.map(|other| depths[*other as usize] + 1).max().unwrap_or(0);
            depths[*id as usize] = depth;
            waves.resize(waves.len().max(depth + 1), Vec::new());
            waves[depth].push(*id);
        }
        for wave in &mut waves {
            wave.sort_unstable();
        }
        waves
    }

    /// The question of step `id` with the answers it may use put in; [`NOT_FOUND`] for one that is missing.
    /// Slots of steps it does not name among its dependencies stay as they are; so do answers that look like
    /// slots.
    ///
    /// * `answers`: by step; may be shorter than the plan.
    ///
    /// # Panics
    ///
    /// If there is no step `id`.
    #[must_use]
    pub fn bind(&self, id: u32, answers: &[Option<String>]) -> String {
        let step = &self.steps[id as usize];
        let mut out = String::new();
        let mut rest = step.sub_question.as_str();
        while let Some(start) = rest.find("<dep:") {
            let (before, slot) = rest.split_at(start);
            out.push_str(before);
            let end = slot.find('>').map_or(slot.len(), |end| end + 1);
            let (slot, after) = slot.split_at(end);
            let number = slot.strip_prefix("<dep:").and_then(|slot| slot.strip_suffix('>'));
            let number: Option<u32> = number.and_then(|number| number.trim().parse().ok());
            if let Some(number) = number.filter(|number| step.dependencies.contains(number)) {
                let answer = answers.get(number as usize).and_then(Option::as_deref).map(str::trim);
                out.push_str(answer.filter(|answer| !answer.is_empty()).unwrap_or(NOT_FOUND));
                rest = after;
            } else {
                // What is no slot of this step is text; another may begin within it.
                out.push_str("<dep:");
                rest = &rest[start + "<dep:".len()..];
            }
        }
        out.push_str(rest);
        out
    }

    /// What step `id` is told: the `initial` summary, then those of the steps it needs, in the order it names
    /// them; blank ones are left out.
    ///
    /// # Panics
    ///
    /// If there is no step `id`.
    #[must_use]
    pub fn memory<'a>(&self, id: u32, initial: &'a str, summaries: &'a [Option<String>]) -> Vec<&'a str> {
        let needs = self.steps[id as usize].dependencies.iter();
        let before = needs.filter_map(|other| summaries.get(*other as usize)?.as_deref());
        std::iter::once(initial).chain(before).filter(|summary| !summary.trim().is_empty()).collect()
    }
}

/// Kahn's order. The queue begins with the steps that need nothing, by number; a step that became ready goes to
/// its end, those that one step makes ready by number.
fn order(steps: &[Step]) -> Result<Vec<u32>> {
    let needs: Vec<BTreeSet<u32>> =
        steps.iter().map(|step| step.dependencies.iter().copied().collect()).collect();
    let mut waiting: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (id, needs) in (0..).zip(&needs) {
        for other in needs {
            children.entry(*other).or_default().push(id);
        }
    }
    let mut order: Vec<u32> =
        (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(id, _)| id).collect();
    let mut next = 0;
    while let Some(id) = order.get(next) {
        for child in children.get(id).into_iter().flatten().copied().collect::<Vec<_>>() {
            waiting[child as usize] -= 1;
            if waiting[child as usize] == 0 {
                order.push(child);
            }
        }
        next += 1;
    }
    if order.len() == steps.len() {
        return Ok(order);
    }
    let stuck: Vec<String> =
        (0..steps.len()).filter(|id| waiting[*id] > 0).map(|id| id.to_string()).collect();
    Err(Error::invalid(format!("steps {} of the plan wait for each other", stuck.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: u32, question: &str, dependencies: &[u32]) -> Step {
        Step { id, sub_question: question.into(), dependencies: dependencies.into() }
    }

    fn message(steps: Vec<Step>) -> String {
        Plan::new(steps).expect_err("a faulty plan").to_string()
    }

    #[test]
    fn each_fault_is_named() {
        assert!(message(Vec::new()).contains("0 steps"));
        assert!(message(vec![step(1, "a", &[])]).contains("step 0 is missing"));
        assert!(message(vec![step(0, "a", &[]), step(0, "b", &[])]).contains("step 1 is missing or twice"));
        assert!(message(vec![step(0, " ", &[])]).contains("step 0 of the plan asks nothing"));
        assert!(message(vec![step(0, "a", &[7])]).contains("needs step 7"));
        assert!(message(vec![step(0, "a", &[0])]).contains("steps 0 of the plan wait"));
        assert!(message(vec![step(0, "a", &[]), step(1, "b", &[2]), step(2, "c", &[1])]).contains("1, 2"));
        assert!(message((0..65).map(|id| step(id, "a", &[])).collect()).contains("65 steps"));
    }

    #[test]
    fn ready_steps_go_by_number_and_their_children_after_them() {
        // 0 and 3 need nothing; 3 makes 1 ready, 0 and 1 make 2 ready.
        let plan = Plan::new(vec![
            step(3, "d", &[]),
            step(1, "b", &[3]),
            step(0, "a", &[]),
            step(2, "c", &[0, 1, 0]),
        ])
        .expect("a sound plan");

        assert_eq!(plan.order(), [0, 3, 1, 2]);
        assert_eq!(plan.waves(), [vec![0, 3], vec![1], vec![2]]);
    }

    #[test]
    fn only_declared_slots_are_filled() {
        let plan = Plan::new(vec![
            step(0, "a", &[]),
            step(1, "b", &[]),
            step(2, "<dep:0> or <dep:1> or <dep:9> or <dep:0", &[0]),
        ])
        .expect("a sound plan");
        let answers = [Some(" X ".into()), Some("Y".into()), None];

        assert_eq!(plan.bind(2, &answers), "X or <dep:1> or <dep:9> or <dep:0");
        assert_eq!(plan.bind(2, &[]), "Information not found or <dep:1> or <dep:9> or <dep:0");
        assert_eq!(plan.bind(0, &answers), "a");
    }

    #[test]
    fn an_answer_that_looks_like_a_slot_is_not_filled_again() {
        let plan = Plan::new(vec![step(0, "a", &[]), step(1, "b", &[]), step(2, "<dep:0>é<dep:1>", &[0, 1])]);
        let answers = [Some("<dep:1>".into()), Some("Y".into())];

        assert_eq!(plan.expect("a sound plan").bind(2, &answers), "<dep:1>éY");
    }

    #[test]
    fn a_slot_may_begin_within_what_is_none() {
        let plan = Plan::new(vec![step(0, "a", &[]), step(1, "<dep:<dep:0>", &[0])]).expect("a sound plan");

        assert_eq!(plan.bind(1, &[Some("X".into())]), "<dep:X");
    }

    #[test]
    fn a_step_is_told_the_first_summary_and_those_it_needs_in_its_order() {
        let plan = Plan::new(vec![step(0, "a", &[]), step(1, "b", &[]), step(2, "c", &[1, 0])]);
        let plan = plan.expect("a sound plan");
        let summaries = [Some("zero".into()), Some("one".into()), Some("two".into())];

        assert_eq!(plan.memory(2, "first", &summaries), ["first", "one", "zero"]);
        assert_eq!(plan.memory(2, " ", &[None, Some("one".into())]), ["one"]);
    }

    #[test]
    fn a_plan_may_stand_alone_or_under_its_name() {
        let steps = r#"[{"id": 0, "sub_question": "a"}]"#;

        assert_eq!(Plan::parse(steps).expect("a list"), Plan::single("a"));
        assert_eq!(Plan::parse(&format!("{{\"plan\": {steps}}}")).expect("an object"), Plan::single("a"));
        assert!(Plan::parse("{}").is_err());
        assert!(Plan::parse(r#"[{"id": -1, "sub_question": "a"}]"#).is_err());
    }
}
