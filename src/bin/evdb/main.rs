//! The command line of evdb. Every command is a file here and uses the library's public interface alone.

mod args;
mod ask;
mod batch;
mod browse;
mod build;
mod demo;
mod dump;
mod failure;
mod graph;
mod models;
mod open;
mod outline;
mod output;
mod progress;
mod question;
mod recover;
mod remove;
mod search;
mod sources;
mod stats;
mod vectors;
mod verify;
mod views;

use std::panic;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::{Exit, Failure};
use output::Output;

fn main() -> ExitCode {
    silence_shielded_panics();
    let cli = Cli::parse();
    let mut output = Output::new(&cli.common);
    let done = run(&cli, &mut output).and_then(|exit| output.flush().map(|()| exit));
    match done {
        Ok(exit) => exit.code(),
        Err(failure) => output.fail(&failure),
    }
}

fn run(cli: &Cli, output: &mut Output) -> Result<Exit, Failure> {
    let common = &cli.common;
    match &cli.command {
        Command::Build(args) => build::build(args, common, output),
        Command::Add(args) => build::add(args, common, output),
        Command::Remove(args) => remove::run(args, common, output),
        Command::Search(args) => search::run(args, common, output),
        Command::Ask(args) => ask::run(args, common, output),
        Command::Outline(args) => outline::run(args, common, output),
        Command::Toc(args) => browse::contents(args, common, output),
        Command::Media(args) => browse::media(args, common, output),
        Command::Table(args) => browse::table(args, common, output),
        Command::Graph(args) => graph::run(args, common, output),
        Command::ImportGraph(args) => graph::import(args, common, output),
        Command::Info(args) => stats::info(args, common, output),
        Command::Stats(args) => stats::stats(args, common, output),
        Command::Verify(args) => verify::run(args, common, output),
        Command::Recover(args) => recover::run(args, common, output),
        Command::Dump(args) => dump::run(args, common, output),
        Command::Demo(args) => demo::run(args, common, output),
    }
}

/// The library turns panics of redb on damaged files into errors; the hook would print them all the same.
fn silence_shielded_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|location| location.file().contains("redb")) {
            print(info);
        }
    }));
}
