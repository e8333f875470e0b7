//! `--views`: vectors of entities and relations.

use clap::ValueEnum;
use evdb::Database;
use evdb::methods::conrag::{RelationTexts, ViewCounts, embed_views};

use crate::failure::Failure;
use crate::models::Model;
use crate::output::{Output, counted};
use crate::vectors::Embedding;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewsArg {
    /// Relations are all that is stated: relations by rule, statements imported, links
    Statements,
    /// Relations are the sentences that name something
    Sentences,
}

/// Makes the vectors that are missing, if they are asked for, by the embedder of the leaves: that which is `named`, else
/// one that is built in.
pub fn make(
    database: &Database,
    asked: Option<ViewsArg>,
    named: Option<&Model>,
    output: &mut Output,
) -> Result<Option<ViewCounts>, Failure> {
    let Some(asked) = asked else { return Ok(None) };
    let read = database.begin_read()?;
    let Some(embedding) = Embedding::of(&read, None, named)? else {
        return Err(Failure::hinted(
            "--views needs vectors of the leaves by an embedder that is built in",
            "build the file with --embed",
        ));
    };
    drop(read);
    let which = match asked {
        ViewsArg::Statements => RelationTexts::Statements,
        ViewsArg::Sentences => RelationTexts::Sentences,
    };
    let (space, model) = embedding.parts();
    let made = embed_views(database, space, model, which)?;
    let vectors = counted((made.entities + made.relations) as u64, "vector");
    output.remark(format_args!("{vectors} made, {} of entities", made.entities));
    Ok(Some(made))
}
