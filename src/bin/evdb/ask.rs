//! `evdb ask`: evidence under a budget.

use std::collections::BTreeMap;
use std::io::Write;

use evdb::methods::bear::recover::Coherent;
use evdb::methods::bear::{Bear, Mode, Request, Retrieved, Scoring};
use evdb::query::{Budget, Evidence, Format, Headings, Mmr, OnOverflow, Question};
use evdb::{DocumentId, NodeId, ReadTransaction};
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::args::{AskArgs, Common, HeadingsArg, Method, Overflow, Regime, Score};
use crate::batch::Batch;
use crate::failure::{Exit, Failure};
use crate::open;
use crate::output::{FAINT, KEY, NUMBER, Output, Painted, STRONG, clean, counted, excerpt};
use crate::question;
use crate::search::{heading_line, location, no_doc};
use crate::vectors::{self, QueryVector};

const DEFAULT_BUDGET: u32 = 1_000;
/// Leaves of the ranking that a batch prints.
const RANKING: usize = 100;
/// Cut leaves that an explanation shows.
const SHOWN_CUTS: usize = 8;
/// Characters of a text that is not printed whole.
const EXCERPT: usize = 200;

pub fn run(args: &AskArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let typed = match args.batch.questions {
        Some(_) => None,
        None => Some(question::text(args.query.as_deref(), args.vector.vector.is_some())?),
    };
    let budgets = if args.budget.is_empty() { vec![DEFAULT_BUDGET] } else { args.budget.clone() };
    if let ([_, _, ..], Some(_)) = (budgets.as_slice(), &typed) {
        return Err(Failure::usage("one question has one budget", "several are for --questions"));
    }
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let (bear, format) = method(args);
    let documents = open::documents(&read, &args.doc)?;
    let Some(text) = typed else {
        return batch(args, &bear, &format, &budgets, documents.as_deref(), &read, common, output);
    };
    let vector = vectors::of_query(&read, &args.vector, &text)?;
    let question = Question { text: &text, vector: vector.as_ref().map(QueryVector::as_question) };
    let budget = Budget::tokens(budgets.first().copied().unwrap_or(DEFAULT_BUDGET) as usize);
    let request = Request {
        documents: documents.as_deref(),
        threads: args.vector.threads.into(),
        ..Request::new(question, budget, &format)
    };
    let found = bear.retrieve(&read, &request)?;
    if output.json {
        let mut line = serde_json::to_value(&found.evidence).map_err(std::io::Error::from)?;
        if let Some(line) = line.as_object_mut() {
            line.insert("question".into(), text.clone().into());
            line.insert("space".into(), vector.as_ref().map(|vector| vector.space.clone()).into());
            if args.explain {
                line.insert("steps".into(), json!(found.trace.steps));
            } else {
                line.remove("cut");
                line.remove("unreached");
            }
        }
        output.line(&line)?;
    } else if args.text {
        writeln!(output, "{}", found.evidence.text)?;
    } else {
        print(&found, usize::MAX, output)?;
        if args.explain {
            explain(&found, &read, output)?;
        }
    }
    if found.evidence.items.is_empty() {
        output.remark(found.evidence.reason.as_deref().unwrap_or("no evidence was found"));
        return Ok(Exit::NothingFound);
    }
    Ok(Exit::Done)
}

fn method(args: &AskArgs) -> (Bear, Format) {
    let Method::Bear = args.method;
    let bear = Bear {
        mode: match args.mode {
            Regime::Auto => Mode::Auto,
            Regime::Docs => Mode::Docs,
            Regime::Nodes => Mode::Nodes,
        },
        score: match args.score {
            Score::Default => Scoring::default(),
            Score::TreeExpansion => Scoring::hybrid(),
            Score::TreeExpansionPaper => Scoring::paper(),
            Score::Coherent => Scoring::Coherent(Coherent::default()),
        },
        on_overflow: match args.on_overflow {
            Overflow::Skip => OnOverflow::Skip,
            Overflow::Stop => OnOverflow::Stop,
        },
        mmr: args.mmr.then(Mmr::default),
        ..Bear::default()
    };
    let headings = match args.headings {
        HeadingsArg::Path => Headings::Path,
        HeadingsArg::None => Headings::None,
    };
    (bear, Format { headings, ..Format::default() })
}

/// Prints the evidence, each item with where it comes from, what it costs and why it was chosen: the document of
/// the best item first, each document in reading order.
///
/// * `whole`: how many of the best items are printed with their texts; the others follow with the beginnings
///   of theirs.
pub fn print(found: &Retrieved, whole: usize, output: &mut Output) -> Result<(), Failure> {
    let evidence = &found.evidence;
    let ranks: BTreeMap<NodeId, usize> = found.ranking.iter().map(|(node, _)| *node).zip(1..).collect();
    let rank = |item: &Evidence| ranks.get(&item.node).copied().unwrap_or(usize::MAX);
    let mut best: BTreeMap<DocumentId, usize> = BTreeMap::new();
    for item in &evidence.items {
        let of_document = best.entry(item.document).or_insert(usize::MAX);
        *of_document = rank(item).min(*of_document);
    }
    let mut items: Vec<&Evidence> = evidence.items.iter().collect();
    items.sort_by_key(|item| (best.get(&item.document), item.document, item.span.start));
    let mut by_rank: Vec<usize> = items.iter().map(|item| rank(item)).collect();
    by_rank.sort_unstable();
    let last_whole = whole.checked_sub(1).and_then(|last| by_rank.get(last)).copied().unwrap_or(usize::MAX);
    let (shown, listed): (Vec<&Evidence>, Vec<&Evidence>) =
        items.into_iter().partition(|item| rank(item) <= last_whole);
    let number = |item: &Evidence| ranks.get(&item.node).map_or_else(|| "-".to_owned(), ToString::to_string);
    for item in shown {
        let (key, line) = (Painted(KEY, clean(&item.key)), Painted(STRONG, heading_line(item)));
        writeln!(output, "{:>3}  {key}  {line}", number(item))?;
        writeln!(output, "     score {}  {}", score(item), Painted(FAINT, location(item)))?;
        for line in clean(&item.text).lines() {
            writeln!(output, "     {line}")?;
        }
        writeln!(output)?;
    }
    for item in &listed {
        let (key, line) = (Painted(KEY, clean(&item.key)), Painted(STRONG, heading_line(item)));
        let about = format!("score {:.3}, {}", item.score, location(item));
        writeln!(output, "{:>3}  {key}  {line}  {}", number(item), Painted(FAINT, about))?;
        writeln!(output, "     {}", excerpt(&item.text, EXCERPT))?;
    }
    if !listed.is_empty() {
        writeln!(output)?;
    }
    let spent = HumanCount(evidence.spent as u64);
    writeln!(
        output,
        "{} of {}, headings included: {} of evidence from {}",
        Painted(NUMBER, format!("{spent} tokens spent")),
        HumanCount(evidence.budget.tokens as u64),
        counted(evidence.items.len() as u64, "item"),
        counted(best.len() as u64, "document"),
    )?;
    Ok(())
}

fn score(item: &Evidence) -> String {
    let parts: Vec<String> = item
        .parts
        .iter()
        .filter(|(_, value)| *value != 0.0)
        .map(|(name, value)| format!("{name} {value:.2}"))
        .collect();
    let sum = format!("{}", Painted(NUMBER, format_args!("{:.3}", item.score)));
    if parts.is_empty() { sum } else { format!("{sum} = {}", parts.join(" + ")) }
}

/// Prints what every step saw, kept and cut, and what was left out.
pub fn explain(found: &Retrieved, read: &ReadTransaction, output: &mut Output) -> Result<(), Failure> {
    writeln!(output, "\n{}", Painted(STRONG, "how it was found"))?;
    let steps = &found.trace.steps;
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    writeln!(
        output,
        "    {}",
        Painted(
            FAINT,
            format_args!("{:width$} {:>9} {:>9} {:>9} {:>9}", "step", "saw", "kept", "cut", "spent")
        )
    )?;
    for step in steps {
        writeln!(
            output,
            "    {:width$} {:>9} {:>9} {:>9} {:>9}  {}",
            step.name,
            step.saw,
            step.kept,
            step.cut,
            step.spent,
            Painted(FAINT, clean(&step.note))
        )?;
    }
    let evidence = &found.evidence;
    if !evidence.cut.is_empty() {
        writeln!(output, "\n{}", Painted(STRONG, "looked at and left out, best first"))?;
        for cut in evidence.cut.iter().take(SHOWN_CUTS) {
            let document = read.document_of(cut.node)?;
            let tree = read.tree(document.id)?;
            let path = tree.heading_path(cut.node)?.join(" > ");
            writeln!(
                output,
                "    node {}, {}  {}  {}: {}",
                cut.node,
                counted(cut.tokens as u64, "token"),
                Painted(KEY, clean(&document.key)),
                clean(&path),
                Painted(FAINT, cut.reason.name())
            )?;
        }
        if let Some(more) = evidence.cut.len().checked_sub(SHOWN_CUTS).filter(|more| *more > 0) {
            writeln!(output, "    and {} more", HumanCount(more as u64))?;
        }
    }
    if evidence.unreached > 0 {
        let leaves = counted(evidence.unreached as u64, "leaf");
        writeln!(output, "    {leaves} further down the ranking were not looked at: the budget was full")?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "they are what one question has, for many")]
fn batch(
    args: &AskArgs,
    bear: &Bear,
    format: &Format,
    budgets: &[u32],
    documents: Option<&[DocumentId]>,
    read: &ReadTransaction,
    common: &Common,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let path = args.batch.questions.as_deref().unwrap_or_else(|| std::path::Path::new(""));
    let batch = Batch::read(path, &args.batch, args.vector.space.as_deref(), read)?;
    batch.for_each(common, output, |entry, vector, output| {
        let mut own = Vec::new();
        if args.batch.in_doc {
            let doc = entry.doc.as_deref().ok_or_else(|| no_doc(&entry.id))?;
            own.push(open::document(read, doc)?.id);
        }
        let question = Question { text: &entry.text, vector: vector.map(QueryVector::as_question) };
        for budget in budgets {
            let request = Request {
                documents: if own.is_empty() { documents } else { Some(&own) },
                threads: args.vector.threads.into(),
                ..Request::new(question, Budget::tokens(*budget as usize), format)
            };
            let found = bear.retrieve(read, &request)?;
            output.line(&json_line(&entry.id, *budget, &found, read)?)?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn json_line(id: &Value, budget: u32, found: &Retrieved, read: &ReadTransaction) -> Result<Value, Failure> {
    let items: Vec<Value> = found
        .evidence
        .items
        .iter()
        .map(|item| {
            json!({
                "id": item.id,
                "document": item.key,
                "node": item.node,
                "score": item.score,
                "tokens": item.tokens,
            })
        })
        .collect();
    let mut ranking = Vec::new();
    for (node, score) in found.ranking.iter().take(RANKING) {
        let document = read.document_of(*node)?;
        let tree = read.tree(document.id)?;
        ranking.push(json!([tree.node(*node)?.attribute("id"), node, score]));
    }
    Ok(json!({
        "id": id,
        "budget": budget,
        "spent": found.evidence.spent,
        "items": items,
        "ranking": ranking,
    }))
}
