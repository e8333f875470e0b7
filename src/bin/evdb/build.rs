//! `evdb build` and `evdb add`: from files to a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use evdb::ingest::extract::NameRules;
use evdb::ingest::{GivenVectors, Loader, Options, Progress, RowOrder, SpaceEmbedder};
use evdb::methods::conrag::ViewCounts;
use evdb::providers::Npy;
use evdb::text::{AnalyzerConfig, TextConfig};
use evdb::{Database, ErrorKind};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::{AddArgs, AnalyzerArgs, BuildArgs, Common, LoadArgs};
use crate::failure::{Exit, Failure};
use crate::models::{BUILT_IN, Model};
use crate::open;
use crate::output::{FAINT, KEY, Output, Painted, counted};
use crate::progress;
use crate::sources::{self, Source};
use crate::views;

/// Warnings shown one by one; the rest is counted.
const SHOWN_WARNINGS: usize = 10;
/// Batches that a load is cut into at least, so that its progress shows.
const LEAST_BATCHES: u64 = 20;
/// Text of one batch: small enough to show progress, large enough to keep all threads at work.
const BATCH_BYTES: std::ops::RangeInclusive<usize> = (1 << 20)..=(16 << 20);

pub fn build(args: &BuildArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let path = &args.output;
    if path.is_dir() {
        return Err(Failure::hinted(
            format!("{} is a folder", path.display()),
            format!("name a file: -o {}", path.join("evidence.evdb").display()),
        ));
    }
    let sources = sources::find(&args.load.paths, args.load.root.as_deref())?;
    let mut builder = open::builder(common);
    if let Some(counter) = args.token_counter {
        builder = builder.token_counter(evdb::providers::token_counter(counter.name())?);
    }
    if let Some(config) = analyzer(&args.analyzer)? {
        builder = builder.analyzer(config);
    }
    let resumed = path.exists();
    let database = if resumed {
        builder.open(path).map_err(|error| open::refused(path, error))?
    } else {
        builder
            .create(path)
            .map_err(|error| Failure::from(error).or_hint("the folder must be there and writable"))?
    };
    if resumed {
        let documents = database.begin_read()?.document_count();
        let there = counted(documents.into(), "document");
        output.remark(format_args!("{} is there with {there}: resuming", path.display()));
    }
    let loaded = load(&database, &sources, &args.load, common, output);
    if loaded.is_err() && !resumed && database.begin_read()?.document_count() == 0 {
        // A file of nothing helps nobody, and would be resumed.
        drop(database);
        let _ = std::fs::remove_file(path);
    }
    report(&loaded?, path, !resumed, output)
}

pub fn add(args: &AddArgs, common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let sources = sources::find(&args.load.paths, args.load.root.as_deref())?;
    let database = open::writable(&args.file, common)?;
    let loaded = load(&database, &sources, &args.load, common, output)?;
    report(&loaded, &args.file, false, output)
}

/// What a load did.
pub struct Loaded {
    pub progress: Progress,
    pub seconds: f64,
    warnings: Vec<String>,
    unlisted_warnings: usize,
    /// Files that should have been read.
    left_out: Vec<(String, String)>,
    /// Files of kinds that are not read.
    unsupported: Vec<String>,
    /// Vectors of entities and relations, if they were asked for.
    views: Option<ViewCounts>,
}

/// Loads `sources` into `database`, with a progress bar.
pub fn load(
    database: &Database,
    sources: &[Source],
    args: &LoadArgs,
    common: &Common,
    output: &mut Output,
) -> Result<Loaded, Failure> {
    let started = Instant::now();
    let given = given_vectors(args)?;
    let has_given = given.is_some();
    let embedder = embedder(database, args, given.as_ref(), output)?;
    let max_tokens = args.max_tokens.unwrap_or(args.target_tokens.max(Options::default().max_tokens));
    let options = Options {
        target_tokens: args.target_tokens,
        max_tokens,
        max_whole_tokens: Options::default().max_whole_tokens.max(max_tokens),
        replace_invalid_utf8: args.replace_invalid_utf8,
        skip_bad_lines: args.skip_bad_lines,
        ..Options::default()
    };
    let total: u64 = sources.iter().map(|source| text_bytes(&source.path)).sum();
    let bar = progress::bytes(common, total, "reading");
    let mut loader = Loader::new(database)
        .options(options)
        .threads(threads(args.threads))
        .batch_bytes(
            usize::try_from(total / LEAST_BATCHES)
                .unwrap_or(usize::MAX)
                .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end()),
        )
        .on_batch(shown_on(&bar, total));
    if let Some(given) = given {
        loader = loader.vectors(given);
    }
    if let Some(embedder) = embedder {
        loader = loader.embedder(embedder);
    }
    if args.names {
        loader = loader.names(NameRules::default());
    }
    let mut loaded = Loaded {
        progress: Progress::default(),
        seconds: 0.0,
        warnings: Vec::new(),
        unlisted_warnings: 0,
        left_out: Vec::new(),
        unsupported: Vec::new(),
        views: None,
    };
    for source in sources {
        match loader.load(&source.path, &source.root) {
            Ok(report) => {
                loaded.warnings.extend(evdb::ingest::warnings(&source.path, &report));
                loaded.unlisted_warnings += report.unlisted_warnings;
            }
            // Rows of a matrix are counted off over all files.
            Err(error) if source.named || has_given || !is_about_source(&error, source) => {
                bar.finish_and_clear();
                return Err(with_advice(error));
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                loaded.unsupported.push(source.path.display().to_string());
            }
            Err(error) => loaded.left_out.push((source.path.display().to_string(), error.to_string())),
        }
    }
    bar.set_message("writing");
    let finished = loader.finish();
    bar.finish_and_clear();
    loaded.progress = finished?;
    loaded.views = views::make(database, args.views, args.embed.as_ref(), output)?;
    loaded.seconds = started.elapsed().as_secs_f64();
    Ok(loaded)
}

fn shown_on(bar: &ProgressBar, total: u64) -> impl FnMut(&Progress) + use<> {
    let bar = bar.clone();
    move |progress| bar.set_position(progress.text_bytes.min(total))
}

/// Whether a load failed because of the file read, rather than the file written.
fn is_about_source(error: &evdb::Error, source: &Source) -> bool {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::InvalidInput => true,
        ErrorKind::Io | ErrorKind::NotFound => {
            let read =
                File::open(&source.path).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
            // What can be read and failed all the same was badly packed, and its message names it.
            read.is_err() || error.to_string().contains(&source.path.display().to_string())
        }
        _ => false,
    }
}

fn with_advice(error: evdb::Error) -> Failure {
    let message = error.to_string();
    let failure = Failure::from(error);
    if message.contains("UTF-8") {
        return failure
            .or_hint("--replace-invalid-utf8 reads such bytes as U+FFFD; better, convert the file");
    }
    if message.contains(": line ") || message.contains("JSON") {
        return failure.or_hint("--skip-bad-lines leaves such lines out, with a warning");
    }
    failure
}

/// Threads asked for, or as many as there are processors.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, Into::into), usize::from)
}

/// Bytes of text in the file at `path`, unpacked, about.
fn text_bytes(path: &Path) -> u64 {
    let size = path.metadata().map_or(0, |meta| meta.len());
    if path.extension().is_none_or(|extension| extension != "gz") {
        return size;
    }
    // The last four bytes of a gzip file are its unpacked size, modulo 4 GiB.
    let mut unpacked = [0; 4];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut unpacked)
    });
    if read.is_ok() { u64::from(u32::from_le_bytes(unpacked)).max(size) } else { size }
}

fn given_vectors(args: &LoadArgs) -> Result<Option<GivenVectors>, Failure> {
    let (path, order) = match (&args.vectors, &args.leaf_vectors) {
        (Some(path), _) => (path, RowOrder::Passages),
        (None, Some(path)) => (path, RowOrder::Leaves),
        (None, None) => return Ok(None),
    };
    let matrix = Npy::open(path)?.into_matrix()?;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let fingerprint = args.vectors_model.clone().unwrap_or(name);
    Ok(Some(GivenVectors { space: args.space.clone(), fingerprint, matrix, order }))
}

/// The embedder that is wanted: by default the static one for a file without other vectors, and the one whose
/// space a file has. Spaces that some documents would be missing from are refused or warned about.
fn embedder(
    database: &Database,
    args: &LoadArgs,
    given: Option<&GivenVectors>,
    output: &mut Output,
) -> Result<Option<SpaceEmbedder>, Failure> {
    let read = database.begin_read()?;
    let is_new = read.document_count() == 0;
    let there: Vec<&str> = read.space_names().collect();
    let by_default = if is_new {
        given.is_none().then_some(Model::Static)
    } else {
        BUILT_IN.into_iter().find(|model| there.contains(&model.space().as_str()))
    };
    let model = args.embed.clone().or(by_default.filter(|_| !args.no_embed));
    let own = model.as_ref().map(Model::space);
    let mut filled = Vec::new();
    filled.extend(given.map(|given| given.space.as_str()));
    filled.extend(own.as_deref());
    if let [one, other] = filled.as_slice()
        && one == other
    {
        return Err(Failure::usage(
            format!("space {one:?} is that of the embedder"),
            "give the vectors another name with --space, or leave --embed out",
        ));
    }
    if !is_new {
        if let Some(new) = filled.iter().find(|space| !there.contains(space)) {
            return Err(Failure::hinted(
                format!("the documents that are there have no vectors in space {new:?}, only in {there:?}"),
                "vectors of all documents are given when a file is made: build a new one, or leave them out",
            ));
        }
        for left in there.iter().filter(|space| !filled.contains(space)) {
            output.warn(format_args!(
                "new documents get no vectors in space {left:?}: there, they are found by their words only"
            ));
        }
    }
    let made = |model: Model| Ok(SpaceEmbedder { space: model.space(), embedder: model.load()? });
    model.map(made).transpose()
}

fn analyzer(args: &AnalyzerArgs) -> Result<Option<TextConfig>, Failure> {
    if args.plain {
        return Ok(Some(AnalyzerConfig::plain().into()));
    }
    let switches = [args.no_stem, args.no_stop, args.no_fold, args.no_bigrams];
    let named = args.language.is_some() || args.segmenter.is_some() || !args.titles.is_empty();
    if !named && switches == [false; 4] {
        return Ok(None);
    }
    let mut body = AnalyzerConfig::default()
        .stemming(!args.no_stem)
        .stop_words(!args.no_stop)
        .fold_accents(!args.no_fold)
        .unspaced_bigrams(!args.no_bigrams);
    if let Some(tag) = &args.language {
        body = body.language(tag)?;
    }
    if let Some(tag) = &args.segmenter {
        body = body.segmenter(tag)?;
    }
    let title = args.titles.iter().try_fold(body, |title, change| title_change(title, change))?;
    Ok(Some(TextConfig { body, title }))
}

/// `config` with what `--titles` says of it.
fn title_change(config: AnalyzerConfig, change: &str) -> Result<AnalyzerConfig, Failure> {
    if let Some(tag) = change.strip_prefix("language=") {
        return Ok(config.language(tag)?);
    }
    if let Some(tag) = change.strip_prefix("segmenter=") {
        return Ok(config.segmenter(tag)?);
    }
    let (name, on) = change.strip_prefix("no-").map_or((change, true), |name| (name, false));
    match name {
        "stem" => Ok(config.stemming(on)),
        "stop" => Ok(config.stop_words(on)),
        "fold" => Ok(config.fold_accents(on)),
        "bigrams" => Ok(config.unspaced_bigrams(on)),
        _ => Err(Failure::usage(
            format!("--titles does not know {change:?}"),
            "it takes stem, stop, fold, bigrams, each also with no- before it, language=TAG and \
             segmenter=NAME, with commas between",
        )),
    }
}

/// Prints what was done.
fn report(loaded: &Loaded, path: &Path, is_new: bool, output: &mut Output) -> Result<Exit, Failure> {
    let Loaded { progress, seconds, warnings, unlisted_warnings, left_out, unsupported, views } = loaded;
    let exit = if left_out.is_empty() { Exit::Done } else { Exit::Incomplete };
    if output.json {
        let left_out: Vec<_> =
            left_out.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect();
        output.line(&json!({
            "file": path.display().to_string(),
            "documents": progress.documents,
            "inserted": progress.inserted,
            "replaced": progress.replaced,
            "unchanged": progress.unchanged,
            "leaves": progress.leaves,
            "text_bytes": progress.text_bytes,
            "seconds": seconds,
            "warnings": warnings,
            "unlisted_warnings": unlisted_warnings,
            "left_out": left_out,
            "unsupported": unsupported,
            "views": views,
        }))?;
        return Ok(exit);
    }
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        output.warn(warning);
    }
    let more = warnings.len().saturating_sub(SHOWN_WARNINGS) + unlisted_warnings;
    if more > 0 {
        output.warn(format_args!("and {} (--json lists them)", counted(more as u64, "more warning")));
    }
    if !unsupported.is_empty() {
        let shown: Vec<&str> = unsupported.iter().take(3).map(String::as_str).collect();
        let more = if unsupported.len() > 3 { ", ..." } else { "" };
        let files = counted(unsupported.len() as u64, "file");
        output.remark(format_args!("{files} of no kind evdb reads passed over: {}{more}", shown.join(", ")));
    }
    for (_, why) in left_out {
        output.warn(format_args!("left out: {why}"));
    }
    if is_new && progress.replaced > 0 {
        output.warn(format_args!(
            "{} had the key of an earlier one and took its place",
            counted(progress.replaced, "document")
        ));
    }
    let rate = indicatif::HumanBytes(rate(progress.text_bytes, *seconds));
    let changes: Vec<String> =
        [(progress.inserted, "new"), (progress.replaced, "replaced"), (progress.unchanged, "unchanged")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", indicatif::HumanCount(count)))
            .collect();
    writeln!(
        output,
        "{}  {} ({}), {}, {} of text in {seconds:.1} s ({rate}/s)",
        Painted(KEY, path.display()),
        counted(progress.documents, "document"),
        if changes.is_empty() { "nothing new".to_owned() } else { changes.join(", ") },
        counted(progress.leaves, "leaf"),
        indicatif::HumanBytes(progress.text_bytes),
    )?;
    if is_new {
        writeln!(
            output,
            "{}",
            Painted(FAINT, format_args!("next: evdb ask {} 'your question'", path.display()))
        )?;
    }
    Ok(exit)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate to look at"
)]
fn rate(bytes: u64, seconds: f64) -> u64 {
    (bytes as f64 / seconds.max(1e-3)) as u64
}
