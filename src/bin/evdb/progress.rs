//! A progress bar on standard error, if somebody watches.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Common;

/// A bar in bytes, with rate and remaining time.
pub fn bytes(common: &Common, total: u64, what: &'static str) -> ProgressBar {
    let template =
        "{msg:12} {bar:30.cyan} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
    bar(common, total, what, template)
}

/// A bar in things, with rate and remaining time.
pub fn things(common: &Common, total: u64, what: &'static str) -> ProgressBar {
    bar(common, total, what, "{msg:12} {bar:30.cyan} {human_pos} of {human_len}  {per_sec}  {eta} left")
}

fn bar(common: &Common, total: u64, what: &'static str, template: &str) -> ProgressBar {
    if common.json || common.quiet || !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
