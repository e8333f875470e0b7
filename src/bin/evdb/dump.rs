//! `evdb dump`: everything as JSON lines.

use evdb::db::DumpOptions;

use crate::args::{Common, DumpArgs};
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::Output;

pub fn run(args: &DumpArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let database = open::read_only(&args.file, common)?;
    database.begin_read()?.dump(output, DumpOptions { raw: args.raw })?;
    Ok(Exit::Done)
}
