//! What can be typed, and what `--help` says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::ask::bear::BearArgs;
use crate::ask::conrag::ConragArgs;
use crate::ask::knowforge::KnowforgeArgs;
use crate::browse::{MediaArgs, TableArgs, TocArgs};
use crate::models::Model;
use crate::views::ViewsArg;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an error; or files were left out of a build
  2  the command was typed wrongly
  3  verify found damage
  4  nothing was found

Try it: evdb demo";

/// An embedded database for evidence memory: documents, text index and vectors in one file; evidence under a
/// token budget.
#[derive(Parser)]
#[command(name = "evdb", version, after_help = EXIT_CODES, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Args)]
pub struct Common {
    /// Print JSON instead of text: one object, or one a line where there are many
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// No progress bar and no remarks, only results and errors
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN", help_heading = "Everywhere")]
    pub color: Colour,
    /// Memory for pages and decoded blocks of the file, in MiB
    #[arg(long, global = true, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1_048_576), help_heading = "Everywhere")]
    pub cache_mb: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal that shows them, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub enum Command {
    /// Make a file of documents: Markdown, HTML, plain text, JSONL passages, each also gzipped
    Build(BuildArgs),
    /// Add documents to a file, or replace those that changed
    Add(AddArgs),
    /// Remove documents by their keys
    Remove(RemoveArgs),
    /// Find the best leaves for a query: by words, by vectors, or by both
    Search(SearchArgs),
    /// Find the evidence for a question under a budget of tokens
    Ask(AskArgs),
    /// List the documents, or show the tree of one
    Outline(OutlineArgs),
    /// List the headings of a document; without one, the documents
    Toc(TocArgs),
    /// List images and tables, by page, heading or label
    Media(MediaArgs),
    /// Show the rows of tables, or those that have a text
    Table(TableArgs),
    /// Show what is around an entity: as text, or as a drawing for DOT or Mermaid
    Graph(GraphArgs),
    /// Read statements of any extractor, or the wiki links of the documents, into the graph
    ImportGraph(ImportGraphArgs),
    /// What a file is: format, settings, spaces, counts
    Info(FileArgs),
    /// Counts, and a ledger of what takes the space
    Stats(FileArgs),
    /// Read everything and check it; exit code 3 if something is damaged
    Verify(FileArgs),
    /// Bring a file that was not closed cleanly back to its last commit
    Recover(FileArgs),
    /// Write the content as JSON lines: one for the file, one a document
    Dump(DumpArgs),
    /// Build a file of the example documents and ask it five questions
    Demo(DemoArgs),
}

#[derive(Args)]
pub struct FileArgs {
    /// The .evdb file
    pub file: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
A file that exists is resumed: documents that are there unchanged cost nothing, changed ones are replaced, new ones
are added, so a build that was interrupted is finished by the same command. Token counter, analyzer and vector
spaces must be those the file was made with. To start afresh, remove the file.

A document's key is its path below the folder given (or below --root); passages in JSONL name theirs in \"doc\".

Examples:
  evdb build docs -o docs.evdb
  evdb build 'notes/**/*.md' README.md -o notes.evdb
  evdb build passages.jsonl.gz -o p.evdb --vectors passages.npy --vectors-model all-MiniLM-L6-v2")]
pub struct BuildArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// The .evdb file to make
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What counts tokens, the unit of every budget; fixed when the file is made [default: o200k_base]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Settings of the file")]
    pub token_counter: Option<Counter>,
    #[command(flatten)]
    pub analyzer: AnalyzerArgs,
}

#[derive(Args)]
#[command(after_help = "\
Leaves get vectors of the built-in embedder if the file has them. Vectors of another model come from --vectors.")]
pub struct AddArgs {
    /// The .evdb file to add to
    pub file: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// What is read, and how.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that is typed")]
pub struct LoadArgs {
    /// Files, folders (read with all that is below them), or globs such as 'docs/**/*.md'
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Folder that keys are relative to, instead of each folder given
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Threads that count tokens and embed [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Tokens a leaf of prose is filled up to
    #[arg(long, value_name = "N", default_value_t = 160, help_heading = "Reading")]
    pub target_tokens: usize,
    /// Tokens above which prose is split [default: 200, or --target-tokens if that is more]
    #[arg(long, value_name = "N", help_heading = "Reading")]
    pub max_tokens: Option<usize>,
    /// Leave bad JSONL lines out, with a warning, instead of giving up
    #[arg(long, help_heading = "Reading")]
    pub skip_bad_lines: bool,
    /// Read bytes that are not UTF-8 as U+FFFD instead of leaving the file out
    #[arg(long, help_heading = "Reading")]
    pub replace_invalid_utf8: bool,

    /// Vectors of the passages: an .npy whose row i is passage i, in the order read
    #[arg(long, value_name = "FILE.npy", conflicts_with = "leaf_vectors", help_heading = "Vectors")]
    pub vectors: Option<PathBuf>,
    /// Vectors of the leaves: an .npy whose row i is leaf i, in the order of `outline --leaves`
    #[arg(long, value_name = "FILE.npy", help_heading = "Vectors")]
    pub leaf_vectors: Option<PathBuf>,
    /// What made the vectors; kept with them [default: the name of the .npy]
    #[arg(long, value_name = "NAME", help_heading = "Vectors")]
    pub vectors_model: Option<String>,
    /// Name of the space they go into
    #[arg(long, value_name = "NAME", default_value = "vectors", help_heading = "Vectors")]
    pub space: String,
    /// Make vectors in-process, even if others are given, with MODEL: "static", a quick table; "minilm",
    /// all-MiniLM-L6-v2, which knows what sentences mean; or the directory of a model of BERT's family [default: that
    /// of the file, else static]
    #[arg(long, value_name = "MODEL", num_args = 0..=1, require_equals = true, default_missing_value = "static", conflicts_with = "no_embed", help_heading = "Vectors")]
    pub embed: Option<Model>,
    /// Make no vectors in-process
    #[arg(long, help_heading = "Vectors")]
    pub no_embed: bool,
    /// Put names, sentences and relations into the graph, as rules for English find them
    #[arg(long, help_heading = "Graph")]
    pub names: bool,
    /// Make vectors of entities and relations too, for `ask --method conrag --structure views`
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "statements", help_heading = "Graph")]
    pub views: Option<ViewsArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counter {
    /// OpenAI's newer models
    #[value(name = "o200k_base")]
    O200k,
    /// OpenAI's older models
    #[value(name = "cl100k_base")]
    Cl100k,
    /// BERT's uncased models
    #[value(name = "wordpiece")]
    WordPiece,
}

impl Counter {
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::WordPiece => "wordpiece",
        }
    }
}

/// How text becomes terms.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that is typed")]
pub struct AnalyzerArgs {
    /// Language whose words are stemmed, by its tag, such as de [default: en]
    #[arg(long, value_name = "TAG", help_heading = "Settings of the file")]
    pub language: Option<String>,
    /// Keep words as they are, without stemming
    #[arg(long, help_heading = "Settings of the file")]
    pub no_stem: bool,
    /// Index frequent words such as "the" too; languages with a list of them: da de en es fi fr hu it nl no
    /// pt ru sv
    #[arg(long, help_heading = "Settings of the file")]
    pub no_stop: bool,
    /// Tell letters with accents from those without
    #[arg(long, visible_alias = "keep-accents", help_heading = "Settings of the file")]
    pub no_fold: bool,
    /// Index Chinese, Japanese, Thai in whole runs instead of pairs of characters
    #[arg(long, help_heading = "Settings of the file")]
    pub no_bigrams: bool,
    /// Index the words of Chinese besides its pairs of characters: zh (if evdb was built with it)
    #[arg(long, value_name = "NAME", conflicts_with = "no_bigrams", help_heading = "Settings of the file")]
    pub segmenter: Option<String>,
    /// What is different for the titles of documents and sections, such as no-stem,language=en
    #[arg(long, value_name = "CHANGES", value_delimiter = ',', help_heading = "Settings of the file")]
    pub titles: Vec<String>,
    /// Only lower case, nothing else: for comparisons
    #[arg(long, conflicts_with_all = ["language", "no_stem", "no_stop", "no_fold", "no_bigrams", "segmenter", "titles"], help_heading = "Settings of the file")]
    pub plain: bool,
}

#[derive(Args)]
pub struct RemoveArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Keys of the documents, as `outline` lists them
    #[arg(required = true, value_name = "KEY")]
    pub keys: Vec<String>,
    /// Do not mind keys that are not there
    #[arg(long)]
    pub ignore_missing: bool,
}

/// The vector of a query.
#[derive(Args)]
pub struct VectorArgs {
    /// Vector of the query: FILE.npy, FILE.npy:ROW, or '[0.1, ...]'
    #[arg(long, value_name = "VECTOR", allow_hyphen_values = true, help_heading = "Vectors")]
    pub vector: Option<String>,
    /// Vector space to compare in [default: the one that fits the vector, else that of a model built in]
    #[arg(long, value_name = "NAME", help_heading = "Vectors")]
    pub space: Option<String>,
    /// Directory of the model that made the vectors, for one that is not built in
    #[arg(long, value_name = "DIR", conflicts_with = "vector", help_heading = "Vectors")]
    pub model: Option<Model>,
    /// Threads that compare vectors; the result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Vectors")]
    pub threads: u16,
}

/// Many queries at once, for evaluation.
#[derive(Args)]
pub struct BatchArgs {
    /// Ask every line of a JSONL file (fields "id", "question", and "doc" for --in-doc); prints JSON lines
    #[arg(long, value_name = "FILE.jsonl[.gz]", conflicts_with_all = ["query", "vector"], help_heading = "Many queries")]
    pub questions: Option<PathBuf>,
    /// Their vectors: an .npy whose row i is that of line i
    #[arg(long, value_name = "FILE.npy", requires = "questions", help_heading = "Many queries")]
    pub question_vectors: Option<PathBuf>,
    /// Ask each question of its own document alone
    #[arg(long, requires = "questions", help_heading = "Many queries")]
    pub in_doc: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  evdb search docs.evdb 'highest mountain'
  evdb search docs.evdb 'exports' --kind table --attr language=zh -k 3
  evdb search docs.evdb -e '+border -sea title:(asia europe)'
  evdb search docs.evdb -e '\"capital city\"~2 AND mongol*' --count
  echo 'highest mountain' | evdb search docs.evdb - --json

With -e the query says more than words:
  rust database     any of the words          +must -not      marks
  a AND b, a OR b, NOT a, ( )                 (a b c)@2       at least 2 of them
  \"a phrase\"        \"a phrase\"~2 with slop    \"a phr\"*       the last word goes on
  begin*            words that begin so       wrod~1 wrod~2   at most so many edits
  title:a body:(a b)                          word^2.5        weight
  {plain words?}    any of them               *               everything
A backslash takes the meaning of the character behind it.")]
pub struct SearchArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// The query; - reads it from standard input
    #[arg(required_unless_present_any = ["questions", "vector"])]
    pub query: Option<String>,
    /// The query is written in the query language, see below; else it is plain words
    #[arg(short, long)]
    pub expression: bool,
    /// What is compared [default: hybrid if there is a vector, else text]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Only say how many leaves match by words
    #[arg(long, conflicts_with_all = ["questions", "vector", "mode"])]
    pub count: bool,
    /// What words count in a field, title or body; 0 leaves it out (repeat for both) [default: 1]
    #[arg(long, value_name = "FIELD=WEIGHT", value_parser = boost)]
    pub boost: Vec<(FieldArg, f32)>,
    /// Give up a search by words after so many milliseconds
    #[arg(long, value_name = "MS")]
    pub deadline: Option<u64>,
    /// Most leaves to print
    #[arg(short = 'k', long = "limit", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// Only in this document (repeat for more)
    #[arg(long, value_name = "KEY", help_heading = "Filters")]
    pub doc: Vec<String>,
    /// Only leaves of this kind (repeat for more)
    #[arg(long, value_enum, help_heading = "Filters")]
    pub kind: Vec<KindArg>,
    /// Only leaves at this distance from the root
    #[arg(long, value_name = "N", help_heading = "Filters")]
    pub level: Option<u8>,
    /// Only with this attribute of leaf or document; repeated ones must all hold
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Filters")]
    pub attr: Vec<String>,
    /// Only below this node, as `outline FILE KEY` numbers them
    #[arg(long, value_name = "NODE", help_heading = "Filters")]
    pub within: Option<u32>,

    #[command(flatten)]
    pub vector: VectorArgs,
    #[command(flatten)]
    pub batch: BatchArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Words: BM25
    Text,
    /// Vectors: exact, over all of them
    Dense,
    /// Both, by reciprocal rank fusion
    Hybrid,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FieldArg {
    Title,
    Body,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    Text,
    Table,
    Image,
    Example,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  evdb ask docs.evdb 'What is the capital of Mongolia?'
  evdb ask docs.evdb 'Who borders Portugal?' --budget 300 --explain
  evdb ask docs.evdb 'Where was the director of Alien born?' --method conrag --explain
  evdb ask docs.evdb 'Who borders Portugal?' --text | llm 'answer from this'")]
pub struct AskArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// The question; - reads it from standard input
    #[arg(required_unless_present_any = ["questions", "vector"])]
    pub query: Option<String>,
    /// Most tokens of evidence, headings included; with --questions it may be repeated [default: 1000]
    #[arg(short, long, value_name = "TOKENS", value_parser = budget)]
    pub budget: Vec<u32>,
    /// How evidence is chosen
    #[arg(long, value_enum, default_value_t = Method::Bear)]
    pub method: Method,
    /// Print what every step saw, kept and cut
    #[arg(long, conflicts_with = "text")]
    pub explain: bool,
    /// Print the evidence alone, as it was counted: what to put into a prompt
    #[arg(long, conflicts_with = "json")]
    pub text: bool,
    /// Ask only this document (repeat for more)
    #[arg(long, value_name = "KEY")]
    pub doc: Vec<String>,

    /// What happens when a leaf does not fit into what is left
    #[arg(long, value_enum, default_value_t = Overflow::Skip)]
    pub on_overflow: Overflow,
    /// What stands above the leaves of a section, and counts
    #[arg(long, value_enum, default_value_t = HeadingsArg::Path)]
    pub headings: HeadingsArg,

    #[command(flatten)]
    pub bear: BearArgs,
    #[command(flatten)]
    pub conrag: ConragArgs,
    #[command(flatten)]
    pub knowforge: KnowforgeArgs,
    #[command(flatten)]
    pub vector: VectorArgs,
    #[command(flatten)]
    pub batch: BatchArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Coarse to fine over document trees (arXiv 2601.18116), here without a language model
    Bear,
    /// Paths of names, for questions that need several passages (arXiv 2605.28093)
    Conrag,
    /// Text, tables and images each ranked by itself, expanded over the graph (arXiv 2610.13128)
    Knowforge,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bear => "bear",
            Self::Conrag => "conrag",
            Self::Knowforge => "knowforge",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overflow {
    /// It is left out, the next is tried
    Skip,
    /// Packing ends
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeadingsArg {
    /// One line with title and sections
    Path,
    None,
}

#[derive(Args)]
pub struct OutlineArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Key of the document whose tree to show; without it, the documents are listed
    pub key: Option<String>,
    /// Show the summaries of sections
    #[arg(long, requires = "key")]
    pub summaries: bool,
    /// Print the leaves with their texts; with --json also what an embedder should see
    #[arg(long)]
    pub leaves: bool,
}

#[derive(Args)]
#[command(after_help = "\
An entity is found by its name, else by an alias or in another case. Hyperedges are followed the heaviest first; the
bounds hold before anything is followed.

Examples:
  evdb graph notes.evdb Reactor
  evdb graph notes.evdb Mongolia --hops 2 --kind relation --total 40
  evdb graph notes.evdb Mongolia --dot | dot -Tsvg > mongolia.svg")]
pub struct GraphArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Name of the entity
    pub entity: String,
    /// Only an entity of this kind, where several have the name
    #[arg(long, value_name = "KIND")]
    pub entity_kind: Option<String>,
    /// Print a drawing for Graphviz
    #[arg(long, conflicts_with_all = ["mermaid", "json"])]
    pub dot: bool,
    /// Print a drawing for Mermaid
    #[arg(long, conflicts_with = "json")]
    pub mermaid: bool,

    /// Most hyperedges between the entity and what is shown
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Bounds")]
    pub hops: u8,
    /// Follow only hyperedges of this kind (repeat for more, those named first followed first)
    #[arg(long, value_name = "KIND", help_heading = "Bounds")]
    pub kind: Vec<String>,
    /// Most hyperedges followed from one entity
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Bounds")]
    pub per_anchor: u32,
    /// Most entities and nodes reached
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Bounds")]
    pub total: u32,
    /// Most hyperedges and members looked at
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Bounds")]
    pub visits: u32,
}

#[derive(Args)]
#[command(after_help = "\
A line is a triple, an n-ary relation or an entity:
  {\"subject\": \"Ulaanbaatar\", \"relation\": \"capital of\", \"object\": \"Mongolia\", \"doc\": \"atlas\", \"leaf\": \"a1\"}
  [\"Ulaanbaatar\", \"capital of\", \"Mongolia\"]
  {\"members\": [{\"entity\": \"Mongolia\", \"role\": \"seller\"}, \"China\"], \"kind\": \"trade\", \"weight\": 2}
  {\"entity\": \"Mongolia\", \"kind\": \"country\", \"aliases\": [\"Mongol Uls\"], \"attributes\": {\"area\": \"1,566,000\"}}

\"doc\" is the key of the document that says so, \"leaf\" the id of a passage there. A statement without a document, or
of one that is not in the file, gets a leaf of its own in a document of statements. A bad line is left out with a
warning. Reading the same again changes nothing.

Examples:
  evdb import-graph atlas.evdb triples.jsonl
  evdb import-graph notes.evdb --wiki-links")]
pub struct ImportGraphArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Statements, one JSON a line, perhaps gzipped
    #[arg(value_name = "GRAPH.jsonl")]
    pub graph: Vec<PathBuf>,
    /// Read the links [[Target|label]] of the documents in the file
    #[arg(long)]
    pub wiki_links: bool,
    /// Key of the document of statements without one [default: the name of the JSONL file]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Make vectors of entities and relations too, for `ask --method conrag --structure views`
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "statements")]
    pub views: Option<ViewsArg>,
}

#[derive(Args)]
pub struct DumpArgs {
    /// The .evdb file
    pub file: PathBuf,
    /// Every row of every table as stored, in hexadecimal
    #[arg(long)]
    pub raw: bool,
}

#[derive(Args)]
pub struct DemoArgs {
    /// The file to make; one that is there is replaced [default: target/demo.evdb]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Tokens of evidence for each question
    #[arg(short, long, value_name = "TOKENS", default_value_t = 1000, value_parser = budget)]
    pub budget: u32,
    /// Print all evidence whole, not only the best
    #[arg(long)]
    pub all: bool,
}

/// A field and its weight as typed.
fn boost(typed: &str) -> Result<(FieldArg, f32), String> {
    let (field, weight) = typed.split_once('=').ok_or("write title=2 or body=0.5")?;
    let field = match field {
        "title" => FieldArg::Title,
        "body" => FieldArg::Body,
        _ => return Err(format!("{field:?} is no field; there are title and body")),
    };
    let weight = weight.parse().ok().filter(|weight| (0.0..=1e6).contains(weight));
    Ok((field, weight.ok_or("a weight is a number from 0 to 1,000,000")?))
}

/// A budget as typed.
fn budget(typed: &str) -> Result<u32, String> {
    match typed.replace([',', '_'], "").parse() {
        Ok(0) => Err("nothing fits into 0 tokens; give at least 1, or leave it out for 1,000".to_owned()),
        Ok(tokens) => Ok(tokens),
        Err(_) => Err("it is no number of tokens".to_owned()),
    }
}
