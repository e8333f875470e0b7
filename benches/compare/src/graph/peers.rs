//! Engines that are Python packages, in a virtual environment beside this program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

const INSTALL: &str = include_str!("../../peers/install.sh");
const WORKER: &str = include_str!("../../peers/graph.py");

/// How to start the worker of `engine`; an error says why it cannot take part.
pub fn command(engine: &str, folder: &Path) -> Result<Command> {
    let python = environment()?.join("bin/python");
    let import = format!("import {engine}");
    let known = Command::new(&python).args(["-c", &import]).stderr(Stdio::null()).status();
    ensure!(known.is_ok_and(|status| status.success()), "the Python package {engine} is not installed");
    let script = folder.join("worker.py");
    std::fs::write(&script, WORKER).with_context(|| script.display().to_string())?;
    let mut command = Command::new(python);
    command.arg(script).arg(engine).arg(folder);
    Ok(command)
}

/// The environment, made by its script if it is not there. It lies in the folder that `cargo` builds into.
fn environment() -> Result<PathBuf> {
    let program = std::env::current_exe().context("this program does not know where it lies")?;
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let folder = target.context("this program lies in no build folder")?.join("compare-peers");
    if folder.is_dir() {
        return Ok(folder);
    }
    eprintln!("graph: Python peers are installed into {}", folder.display());
    let done =
        Command::new("sh").args(["-c", INSTALL, "install"]).arg(&folder).stdout(Stdio::null()).status();
    ensure!(done.is_ok_and(|status| status.success()), "a Python environment cannot be made");
    Ok(folder)
}
