//! Engines side by side: short rounds in turn, so that a drift of the machine hits all of them alike.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::numbers::{median, millis, per_second, percentile};

/// Times of some queries in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lap {
    /// Wall time of each.
    pub nanos: Vec<u64>,
    /// CPU time of the process over all of them.
    pub cpu_nanos: u64,
}

/// Who runs the queries of a set by their places in it.
pub trait Contender {
    fn run(&mut self, queries: Range<usize>) -> Result<Lap>;
}

#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Queries in the set.
    pub queries: usize,
    /// Measured passes over the set; one more warms up.
    pub passes: usize,
    /// Queries of a round.
    pub round: usize,
    /// About the most time one contender gets in all passes; one that would need more runs the first queries only.
    pub budget: Duration,
}

/// What one contender did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// How many queries of the set it ran, from the first.
    pub queries: usize,
    /// Wall times, one list a pass, each in the order of the set.
    pub passes: Vec<Vec<u64>>,
    cpu_nanos: u64,
    /// Wall time of the pass that warms up.
    warm_nanos: u64,
}

impl Run {
    /// The `p`-th percentile of all times, in milliseconds.
    pub fn percentile_ms(&self, p: f64) -> f64 {
        let mut all: Vec<u64> = self.passes.iter().flatten().copied().collect();
        all.sort_unstable();
        millis(percentile(&all, p))
    }

    /// Median over the passes of queries a second, over the first `queries` of the set.
    pub fn rate(&self, queries: usize) -> Option<f64> {
        let rate = |pass: &Vec<u64>| {
            let times = pass.get(..queries.min(pass.len())).unwrap_or_default();
            per_second(times.len(), times.iter().sum())
        };
        median(self.passes.iter().map(rate).collect())
    }

    /// Mean CPU time of a query.
    pub fn cpu_ms(&self) -> f64 {
        let count = self.passes.iter().map(Vec::len).sum::<usize>().max(1);
        millis(self.cpu_nanos / count as u64)
    }

    /// Wall time over CPU time, of all queries together: well above 1 where others had the processor.
    pub fn waiting(&self) -> f64 {
        let wall: u64 = self.passes.iter().flatten().sum();
        millis(wall) / millis(self.cpu_nanos.max(1))
    }
}

/// Runs `contenders` over the set of `plan`. One that fails is out, with its error; the others go on.
pub fn race(contenders: &mut [&mut dyn Contender], plan: Plan) -> Vec<Result<Run>> {
    let mut runs: Vec<Result<Run>> = contenders.iter().map(|_| Ok(Run::default())).collect();
    let allowance = plan.budget / u32::try_from(plan.passes + 1).unwrap_or(u32::MAX);
    let rounds = plan.queries.div_ceil(plan.round.max(1));
    for pass in 0..=plan.passes {
        for round in 0..rounds {
            for turn in 0..contenders.len() {
                // Each comes first, second and last equally often.
                let who = (turn + round + pass) % contenders.len();
                let (Some(contender), Some(run)) = (contenders.get_mut(who), runs.get_mut(who)) else {
                    continue;
                };
                if let Ok(state) = run
                    && let Err(error) = one_round(*contender, state, plan, pass, round, allowance)
                {
                    *run = Err(error);
                }
            }
        }
    }
    runs
}

fn one_round(
    contender: &mut dyn Contender,
    run: &mut Run,
    plan: Plan,
    pass: usize,
    round: usize,
    allowance: Duration,
) -> Result<()> {
    let from = round * plan.round;
    let to = (from + plan.round).min(plan.queries);
    if pass == 0 {
        // Warms up, and shows how far to go.
        if from > run.queries || Duration::from_nanos(run.warm_nanos) > allowance {
            return Ok(());
        }
        run.queries = to;
        run.warm_nanos += contender.run(from..to)?.nanos.iter().sum::<u64>();
        return Ok(());
    }
    if run.passes.len() < pass {
        run.passes.push(Vec::new());
    }
    let to = to.min(run.queries);
    if from < to {
        let lap = contender.run(from..to)?;
        run.cpu_nanos += lap.cpu_nanos;
        if let Some(times) = run.passes.get_mut(pass - 1) {
            times.extend(lap.nanos);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::cell::RefCell;
    use std::rc::Rc;

    type Log = Rc<RefCell<Vec<(char, Range<usize>)>>>;

    struct Clockwork {
        name: char,
        nanos: u64,
        dies_at: usize,
        log: Log,
    }

    impl Contender for Clockwork {
        fn run(&mut self, queries: Range<usize>) -> Result<Lap> {
            self.log.borrow_mut().push((self.name, queries.clone()));
            anyhow::ensure!(!queries.contains(&self.dies_at), "engine {} died", self.name);
            Ok(Lap { nanos: vec![self.nanos; queries.len()], cpu_nanos: self.nanos * queries.len() as u64 })
        }
    }

    fn field(nanos: [u64; 2], dies_at: [usize; 2]) -> (Clockwork, Clockwork, Log) {
        let log = Log::default();
        let one = |name, nanos, dies_at| Clockwork { name, nanos, dies_at, log: Rc::clone(&log) };
        (one('a', nanos[0], dies_at[0]), one('b', nanos[1], dies_at[1]), log.clone())
    }

    const NEVER: usize = usize::MAX;
    const PLAN: Plan = Plan { queries: 5, passes: 2, round: 2, budget: Duration::from_secs(1) };

    #[test]
    fn rounds_alternate_and_the_first_pass_does_not_count() {
        let (mut a, mut b, log) = field([100, 200], [NEVER, NEVER]);

        let runs = race(&mut [&mut a, &mut b], PLAN);

        let run = runs[0].as_ref().expect("it lives");
        assert_eq!(run.passes, vec![vec![100; 5]; 2]);
        assert_eq!((run.queries, run.cpu_ms(), run.waiting()), (5, 1e-4, 1.0));
        assert_eq!(run.rate(3), Some(1e7));
        let begin: String = log.borrow().iter().take(6).map(|(name, _)| *name).collect();
        assert_eq!(begin, "abbaab");
    }

    #[test]
    fn one_that_dies_is_out_and_the_other_goes_on() {
        let (mut a, mut b, log) = field([100, 200], [NEVER, 3]);

        let runs = race(&mut [&mut a, &mut b], PLAN);

        assert_eq!(runs[0].as_ref().expect("it lives").passes.len(), 2);
        assert_eq!(runs[1].as_ref().expect_err("it died").to_string(), "engine b died");
        assert_eq!(log.borrow().iter().filter(|(name, _)| *name == 'b').count(), 2);
    }

    /// 6 ms for three passes are 2 ms a pass: two rounds of 2 x 1 ms go over it.
    #[test]
    fn one_that_is_too_slow_runs_the_first_queries_only() {
        let (mut a, mut b, _) = field([100, 1_000_000], [NEVER, NEVER]);
        let plan = Plan { queries: 50, budget: Duration::from_millis(6), ..PLAN };

        let runs = race(&mut [&mut a, &mut b], plan);

        assert_eq!(runs[0].as_ref().expect("it lives").queries, 50);
        let slow = runs[1].as_ref().expect("it lives");
        assert_eq!((slow.queries, slow.passes.clone()), (4, vec![vec![1_000_000; 4]; 2]));
    }
}
