//! Engines in processes of their own: one JSON value a line each way over the worker's standard input and output.
//!
//! A worker whose input ends without the farewell line has lost its parent, whatever became of it. It then
//! removes its folder and ends, in the middle of a build if need be, so that Ctrl-C leaves nothing behind.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The last line a worker gets.
const FAREWELL: &str = "\"farewell\"";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer<T> {
    Done(T),
    Failed(String),
}

/// The parent's end of a worker.
pub struct Worker {
    engine: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<std::io::Result<String>>,
    patience: Duration,
}

impl Worker {
    /// This program again, as the worker of `engine` in `suite`, with `folder` to keep its files in.
    pub fn of_suite(suite: &str, engine: &str, folder: &Path, patience: Duration) -> Result<Self> {
        let program = std::env::current_exe().context("this program does not know where it lies")?;
        let mut command = Command::new(program);
        command.arg("worker").arg(suite).arg(engine).arg(folder);
        Self::start(engine, command, patience)
    }

    /// A worker for `engine` made by `command`. An answer that takes longer than `patience` is an error.
    pub fn start(engine: &str, mut command: Command, patience: Duration) -> Result<Self> {
        // Ctrl-C is for the parent alone: a worker that lost its parent can still tidy up.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("engine {engine}: its worker did not start"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("a piped child has an output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { engine: engine.to_owned(), child, input, lines, patience })
    }

    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The worker's answer to `question`. The error names the engine.
    pub fn ask<Q: Serialize, A: DeserializeOwned>(&mut self, question: &Q) -> Result<A> {
        let mut line = serde_json::to_string(question)?;
        line.push('\n');
        let input = self.input.as_mut().context("a worker has an input until the farewell")?;
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            return Err(self.death());
        }
        let answer = match self.lines.recv_timeout(self.patience) {
            Ok(Ok(line)) => line,
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(self.death()),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                bail!("engine {}: no answer within {} s", self.engine, self.patience.as_secs());
            }
        };
        match serde_json::from_str(&answer) {
            Ok(Answer::Done(answer)) => Ok(answer),
            Ok(Answer::Failed(what)) => bail!("engine {}: {what}", self.engine),
            Err(error) => bail!("engine {}: an answer that cannot be read: {error}", self.engine),
        }
    }

    /// What became of a worker whose pipes are closed.
    fn death(&mut self) -> anyhow::Error {
        self.input = None;
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        // One that closed its pipes and lives on is of no more use.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => anyhow!("engine {}: its worker ended with {status}", self.engine),
            Err(error) => anyhow!("engine {}: its worker is lost: {error}", self.engine),
        }
    }

    /// Ends the worker; its folder stays.
    pub fn end(mut self) -> Result<()> {
        if let Some(mut input) = self.input.take() {
            let _ = input.write_all(FAREWELL.as_bytes()).and_then(|()| input.write_all(b"\n"));
        }
        let status = self.child.wait()?;
        if !status.success() {
            bail!("engine {}: its worker ended with {status}", self.engine);
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker's end: answers by `handle` until the farewell.
pub fn serve<Q: DeserializeOwned, A: Serialize>(
    folder: &Path,
    mut handle: impl FnMut(Q) -> Result<A>,
) -> Result<()> {
    let (sender, questions) = channel();
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { break };
            let last = line == FAREWELL;
            if sender.send(line).is_err() || last {
                return;
            }
        }
        abandon(&folder);
    });
    for line in questions {
        if line == FAREWELL {
            return Ok(());
        }
        let answer = match serde_json::from_str(&line).map_err(anyhow::Error::from).and_then(&mut handle) {
            Ok(done) => Answer::Done(done),
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        let mut line = serde_json::to_string(&answer)?;
        line.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// Removes the worker's folder, and those above it that are empty now up to the run's own, and ends the process.
fn abandon(folder: &Path) -> ! {
    let _ = std::fs::remove_dir_all(folder);
    let mut above: Option<PathBuf> = folder.parent().map(Path::to_path_buf);
    while let Some(folder) = above.filter(|folder| folder.ends_with("corpus") || is_run_folder(folder)) {
        if std::fs::remove_dir(&folder).is_err() {
            break;
        }
        above = folder.parent().map(Path::to_path_buf);
    }
    std::process::exit(1);
}

/// Start of the name of the folder that a run keeps everything in.
pub const RUN_FOLDER: &str = "evdb-compare-";

fn is_run_folder(folder: &Path) -> bool {
    folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(RUN_FOLDER))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(engine: &str, script: &str, patience: Duration) -> Worker {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Worker::start(engine, command, patience).expect("there is a shell")
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_worker_answers_line_by_line_and_ends_at_the_farewell() {
        let script =
            r#"while read q; do [ "$q" = '"farewell"' ] && exit 0; echo "{\"done\":$q}"; done; exit 9"#;
        let mut worker = shell("echo", script, LONG);

        let answers: Vec<u32> = (1..4).map(|q| worker.ask(&q).expect("it answers")).collect();

        assert_eq!(answers, [1, 2, 3]);
        worker.end().expect("it ends well");
    }

    #[test]
    fn the_death_of_a_worker_is_an_error_that_names_the_engine_and_the_status() {
        let mut worker = shell("doomed", "read q; exit 3", LONG);

        let error = worker.ask::<_, u32>(&1).expect_err("it ends without an answer");

        assert_eq!(error.to_string(), "engine doomed: its worker ended with exit status: 3");
    }

    #[test]
    fn a_failure_that_a_worker_reports_names_the_engine_and_leaves_the_worker_alive() {
        let script = r#"read q; echo '{"failed":"disk full"}'; read q; echo '{"done":7}'"#;
        let mut worker = shell("poor", script, LONG);

        let error = worker.ask::<_, u32>(&1).expect_err("it reports a failure");

        assert_eq!(error.to_string(), "engine poor: disk full");
        assert_eq!(worker.ask::<_, u32>(&2).expect("it goes on"), 7);
    }

    #[test]
    fn a_worker_that_does_not_answer_is_given_up() {
        let mut worker = shell("slow", "read q; sleep 60", Duration::from_millis(50));

        let error = worker.ask::<_, u32>(&1).expect_err("it sleeps");

        assert_eq!(error.to_string(), "engine slow: no answer within 0 s");
    }

    #[test]
    fn an_answer_that_is_no_answer_is_an_error() {
        let mut worker = shell("mad", "read q; echo hello", LONG);

        let error = worker.ask::<_, u32>(&1).expect_err("it is no JSON");

        assert!(error.to_string().starts_with("engine mad: an answer that cannot be read"), "{error}");
    }
}
