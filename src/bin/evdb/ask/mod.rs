//! `evdb ask`: evidence under a budget. Every method is a file here.

pub mod bear;
pub mod conrag;
pub mod knowforge;

use std::collections::BTreeMap;
use std::io::Write;

use evdb::methods::Retrieved;
use evdb::query::{Budget, Evidence, Format, Headings, OnOverflow, PathStep, Question};
use evdb::{DocumentId, NodeId, ReadTransaction};
use indicatif::HumanCount;
use serde_json::{Map, Value, json};

use crate::args::{AskArgs, Common, HeadingsArg, Method, Overflow};
use crate::batch::Batch;
use crate::failure::{Exit, Failure};
use crate::models::Model;
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

/// What a method is asked.
pub struct Asked<'a> {
    pub read: &'a ReadTransaction,
    pub question: Question<'a>,
    /// The documents it is asked of; all if `None`.
    pub documents: Option<&'a [DocumentId]>,
    pub budget: Budget,
    pub format: &'a Format,
    pub on_overflow: OnOverflow,
    pub threads: usize,
    /// The embedder that is named, if one is.
    pub model: Option<&'a Model>,
}

/// What a method answers.
pub struct Answer {
    pub found: Retrieved,
    /// Lines that stand below the score of an item when the evidence is explained.
    pub notes: BTreeMap<NodeId, Vec<String>>,
    /// Fields of the JSON beside those of the evidence.
    pub fields: Map<String, Value>,
    /// What was not as it should be.
    pub warning: Option<String>,
}

impl From<Retrieved> for Answer {
    fn from(found: Retrieved) -> Self {
        Self { found, notes: BTreeMap::new(), fields: Map::new(), warning: None }
    }
}

/// A way to choose evidence.
pub trait Chooses {
    /// The evidence for a question.
    fn choose(&self, asked: &Asked<'_>) -> Result<Answer, Failure>;
}

/// A step of a path in words.
fn way(asked: &Asked<'_>, step: &PathStep) -> Result<String, Failure> {
    let from = asked.read.document_of(step.from)?;
    let sentence = match step.sentence {
        Some(span) => format!(": {}", asked.read.text(from.id, span)?),
        None => String::new(),
    };
    Ok(format!("by {:?}, {:.3}, from node {} of {}{sentence}", step.name, step.score, step.from, from.key))
}

/// The method that is asked for, with its options. An option of another one is refused.
fn method(args: &AskArgs) -> Result<Box<dyn Chooses>, Failure> {
    let typed = [
        (Method::Bear, args.bear.typed()),
        (Method::Conrag, args.conrag.typed()),
        (Method::Knowforge, args.knowforge.typed()),
    ];
    for (method, option) in typed {
        if let Some(option) = option.filter(|_| method != args.method) {
            let name = method.name();
            return Err(Failure::usage(
                format!("{option} is an option of --method {name}"),
                format!("give --method {name}, or leave it out"),
            ));
        }
    }
    match args.method {
        Method::Bear => Ok(Box::new(args.bear.method())),
        Method::Conrag => Ok(Box::new(args.conrag.method()?)),
        Method::Knowforge => Ok(Box::new(args.knowforge.method())),
    }
}

pub fn run(args: &AskArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let typed = match args.batch.questions {
        Some(_) => None,
        None => Some(question::text(args.query.as_deref(), args.vector.vector.is_some())?),
    };
    let budgets = if args.budget.is_empty() { vec![DEFAULT_BUDGET] } else { args.budget.clone() };
    if let ([_, _, ..], Some(_)) = (budgets.as_slice(), &typed) {
        return Err(Failure::usage("one question has one budget", "several are for --questions"));
    }
    let method = method(args)?;
    let database = open::read_only(&args.file, common)?;
    let read = database.begin_read()?;
    let format = format(args);
    let documents = open::documents(&read, &args.doc)?;
    let asked = Asked {
        read: &read,
        question: Question { text: "", vector: None },
        documents: documents.as_deref(),
        budget: Budget::tokens(budgets.first().copied().unwrap_or(DEFAULT_BUDGET) as usize),
        format: &format,
        on_overflow: match args.on_overflow {
            Overflow::Skip => OnOverflow::Skip,
            Overflow::Stop => OnOverflow::Stop,
        },
        threads: args.vector.threads.into(),
        model: args.vector.model.as_ref(),
    };
    let Some(text) = typed else {
        return batch(args, method.as_ref(), &budgets, &asked, common, output);
    };
    let vector = vectors::of_query(&read, &args.vector, &text)?;
    let question = Question { text: &text, vector: vector.as_ref().map(QueryVector::as_question) };
    let answer = method.choose(&Asked { question, ..asked })?;
    if let Some(warning) = &answer.warning {
        output.warn(warning);
    }
    let found = &answer.found;
    if output.json {
        let mut line = serde_json::to_value(&found.evidence).map_err(std::io::Error::from)?;
        if let Some(line) = line.as_object_mut() {
            line.insert("question".into(), text.clone().into());
            line.insert("space".into(), vector.as_ref().map(|vector| vector.space.clone()).into());
            line.extend(answer.fields);
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
        let none = BTreeMap::new();
        print(found, if args.explain { &answer.notes } else { &none }, usize::MAX, output)?;
        if args.explain {
            explain(found, &read, output)?;
        }
    }
    if found.evidence.items.is_empty() {
        output.remark(found.evidence.reason.as_deref().unwrap_or("no evidence was found"));
        return Ok(Exit::NothingFound);
    }
    Ok(Exit::Done)
}

fn format(args: &AskArgs) -> Format {
    let headings = match args.headings {
        HeadingsArg::Path => Headings::Path,
        HeadingsArg::None => Headings::None,
    };
    Format { headings, ..Format::default() }
}

/// Prints the evidence, each item with where it comes from, what it costs and why it was chosen: the document of
/// the best item first, each document in reading order.
///
/// * `notes`: lines that stand below the score of an item.
/// * `whole`: how many of the best items are printed with their texts; the others follow with the beginnings
///   of theirs.
pub fn print(
    found: &Retrieved,
    notes: &BTreeMap<NodeId, Vec<String>>,
    whole: usize,
    output: &mut Output,
) -> Result<(), Failure> {
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
        for note in notes.get(&item.node).into_iter().flatten() {
            writeln!(output, "     {}", Painted(FAINT, clean(note)))?;
        }
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

fn batch(
    args: &AskArgs,
    method: &dyn Chooses,
    budgets: &[u32],
    asked: &Asked<'_>,
    common: &Common,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let path = args.batch.questions.as_deref().unwrap_or_else(|| std::path::Path::new(""));
    let read = asked.read;
    let batch = Batch::read(path, &args.batch, &args.vector, read)?;
    batch.for_each(common, output, |entry, vector, output| {
        let mut own = Vec::new();
        if args.batch.in_doc {
            let doc = entry.doc.as_deref().ok_or_else(|| no_doc(&entry.id))?;
            own.push(open::document(read, doc)?.id);
        }
        let question = Question { text: &entry.text, vector: vector.map(QueryVector::as_question) };
        for budget in budgets {
            let documents = if own.is_empty() { asked.documents } else { Some(own.as_slice()) };
            let budget_of = Budget::tokens(*budget as usize);
            let answer = method.choose(&Asked { question, documents, budget: budget_of, ..*asked })?;
            output.line(&json_line(&entry.id, *budget, &answer.found, read)?)?;
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
