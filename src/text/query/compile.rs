//! From a query's words to terms.

use std::collections::HashSet;

use super::MAX_BOOST;
use super::Query;
use super::QueryField;
use crate::error::Error;
use crate::error::Result;
use crate::text::analyzer::Analyzer;
use crate::text::analyzer::Analyzers;
use crate::text::analyzer::PhraseTerm;

/// Most terms of a query, those that words expand to not counted.
pub const MAX_QUERY_TERMS: usize = 4096;

/// Most terms of a phrase with slop.
pub const MAX_SLOPPY_TERMS: usize = 64;

/// Fuzzy words of more characters are looked for as they are.
pub const MAX_FUZZY_CHARS: usize = 64;

/// Fuzzy words of fewer characters are looked for as they are: one edit makes any two of them the same.
pub const MIN_FUZZY_CHARS: usize = 3;

/// A query whose words are terms.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::text) struct Compiled {
    pub plan: Plan,
    /// In the order of the query.
    pub clauses: Vec<Clause>,
}

/// How clauses are combined.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::text) enum Plan {
    Everything,
    /// An index into the clauses; each stands once in a plan.
    Clause(usize),
    All(Vec<Self>),
    AtLeast(usize, Vec<Self>),
    Not(Box<Self>),
    Optional(Box<Self>),
}

/// A term, a group of terms that count as one, or a phrase of such.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::text) struct Clause {
    /// One, or those of a phrase.
    pub slots: Vec<Slot>,
    pub slop: u32,
    pub boost: f32,
    pub field: QueryField,
}

/// A place in a phrase.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::text) struct Slot {
    /// Its position, less that of the first.
    pub offset: u32,
    pub want: Want,
}

/// What may stand in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::text) enum Want {
    Term(String),
    /// Terms that begin so; and `whole`, the term of the whole word, if it does not.
    Prefix {
        start: String,
        whole: Option<String>,
    },
    /// Terms at most `distance` edits away, with the first `exact` characters the same.
    Fuzzy {
        word: String,
        distance: u8,
        exact: u32,
        /// Only those at just this distance.
        at: Option<u8>,
    },
}

/// What `query` means to a file analysed by `analyzers`; `None` if it has no words but such as make no term.
///
/// # Errors
///
/// As for [`Query::check`]; and `InvalidInput` if there are more than [`MAX_QUERY_TERMS`] terms.
pub(in crate::text) fn compile(query: &Query, analyzers: &Analyzers) -> Result<Option<Compiled>> {
    query.check()?;
    let is_split = analyzers.config().body != analyzers.config().title;
    let mut compiler = Compiler {
        body: Voice::new(analyzers.body()),
        title: is_split.then(|| Voice::new(analyzers.title())),
        clauses: Vec::new(),
        terms: 0,
    };
    let context = Context { boost: 1.0, field: QueryField::Both };
    let plan = compiler.plan(query, context)?;
    Ok(plan.map(|plan| Compiled { plan, clauses: compiler.clauses }))
}

struct Compiler<'a> {
    body: Voice<'a>,
    /// `None` if titles are analysed as bodies are.
    title: Option<Voice<'a>>,
    clauses: Vec<Clause>,
    terms: usize,
}

#[derive(Clone, Copy)]
struct Context {
    boost: f32,
    field: QueryField,
}

impl Compiler<'_> {
    fn plan(&mut self, query: &Query, context: Context) -> Result<Option<Plan>> {
        Ok(match query {
            Query::Everything => Some(Plan::Everything),
            Query::Words(text) => self.any_of(context, |voice| voice.words(text))?,
            Query::Term(word) => self.any_of(context, |voice| voice.phrase(word, 0, false))?,
            Query::Phrase { words, slop, prefix } => {
                self.any_of(context, |voice| voice.phrase(words, *slop, *prefix))?
            }
            Query::Prefix(word) => self.any_of(context, |voice| voice.phrase(word, 0, true))?,
            Query::Fuzzy { word, distance, exact } => {
                self.any_of(context, |voice| voice.fuzzy(word, *distance, *exact))?
            }
            Query::All(of) => {
                let mut of = self.plans(of, context)?;
                if of.len() > 1 { Some(Plan::All(of)) } else { of.pop() }
            }
            Query::Any(of) => any(self.plans(of, context)?, 1),
            Query::AtLeast { count, of } => any(self.plans(of, context)?, *count as usize),
            Query::Not(query) => self.plan(query, context)?.map(|plan| Plan::Not(Box::new(plan))),
            // It leaves nothing out, whether it holds a word or not.
            Query::Optional(query) => {
                let plan = self.plan(query, context)?;
                Some(plan.map_or(Plan::Everything, |plan| Plan::Optional(Box::new(plan))))
            }
            Query::Boost { by, query } => {
                let boost = (context.boost * by).min(MAX_BOOST);
                self.plan(query, Context { boost, ..context })?
            }
            Query::Field { r#in, query } => self.plan(query, Context { field: *r#in, ..context })?,
        })
    }

    /// The plans of those of `of` that have one.
    fn plans(&mut self, of: &[Query], context: Context) -> Result<Vec<Plan>> {
        let plans: Result<Vec<Option<Plan>>> = of.iter().map(|query| self.plan(query, context)).collect();
        Ok(plans?.into_iter().flatten().collect())
    }

    /// Any of what `of` makes of a word, as it is called in the bodies, in the titles, or in both.
    fn any_of(
        &mut self,
        context: Context,
        of: impl Fn(&Voice<'_>) -> Vec<Alternative>,
    ) -> Result<Option<Plan>> {
        let mut all = match (context.field, &self.title) {
            (QueryField::Title, Some(title)) => of(title),
            _ => of(&self.body),
        };
        if context.field == QueryField::Both
            && let Some(title) = &self.title
        {
            let known = all.len();
            let other = |alternative: &Alternative| !all.iter().take(known).any(|known| known == alternative);
            let more: Vec<Alternative> = of(title).into_iter().filter(other).collect();
            all.extend(more);
        }
        let mut plans = Vec::with_capacity(all.len());
        for Alternative { slots, slop, part } in all {
            self.terms += slots.len();
            if self.terms > MAX_QUERY_TERMS {
                return Err(Error::invalid(format!("the query has more than {MAX_QUERY_TERMS} terms")));
            }
            if slop > 0 && slots.len() > MAX_SLOPPY_TERMS {
                let what = format!("a phrase with slop has more than {MAX_SLOPPY_TERMS} terms");
                return Err(Error::invalid(what));
            }
            let Context { boost, field } = context;
            plans.push(Plan::Clause(self.clauses.len()));
            self.clauses.push(Clause { slots, slop, boost: boost * part, field });
        }
        Ok(any(plans, 1))
    }
}

/// A clause to be, and the part of the boost it gets.
#[derive(Debug, PartialEq)]
struct Alternative {
    slots: Vec<Slot>,
    slop: u32,
    part: f32,
}

impl Alternative {
    /// `wants` by position, as one term or a phrase; nothing if there are none.
    fn of(wants: Vec<(u32, Want)>, slop: u32, part: f32) -> Vec<Self> {
        let Some(first) = wants.first().map(|(position, _)| *position) else { return Vec::new() };
        let slots = wants.into_iter().map(|(position, want)| Slot { offset: position - first, want });
        vec![Self { slots: slots.collect(), slop, part }]
    }
}

/// How words are called in a field.
struct Voice<'a> {
    analyzer: &'a Analyzer,
    /// The same without stop words.
    loose: Analyzer,
    /// The same without stop words and stems.
    literal: Analyzer,
}

impl<'a> Voice<'a> {
    fn new(analyzer: &'a Analyzer) -> Self {
        let loose = analyzer.config().stop_words(false);
        Self { analyzer, loose: Analyzer::new(loose), literal: Analyzer::new(loose.stemming(false)) }
    }

    fn words(&self, text: &str) -> Vec<Alternative> {
        let terms = self.analyzer.distinct_terms(text).into_iter();
        terms.flat_map(|term| Alternative::of(vec![(0, Want::Term(term))], 0, 1.0)).collect()
    }

    fn phrase(&self, words: &str, slop: u32, prefix: bool) -> Vec<Alternative> {
        let mut wants = wants(self.analyzer, words);
        if prefix
            && let Some(PhraseTerm { term: start, position, .. }) = self.literal.phrase_terms(words).pop()
        {
            // The stem of the word that goes on finds what its letters do not begin.
            let whole = wants.iter().find_map(|(other, want)| match want {
                Want::Term(term) if *other == position && !term.starts_with(&start) => Some(term.clone()),
                _ => None,
            });
            wants.retain(|(other, _)| *other < position);
            wants.push((position, Want::Prefix { start, whole }));
        }
        Alternative::of(wants, slop, 1.0)
    }

    fn fuzzy(&self, word: &str, distance: u8, exact: u32) -> Vec<Alternative> {
        let mut wants = wants(&self.loose, word);
        for (_, want) in &mut wants {
            if let Want::Term(term) = want
                && (MIN_FUZZY_CHARS..=MAX_FUZZY_CHARS).contains(&term.chars().count())
            {
                *want = Want::Fuzzy { word: std::mem::take(term), distance, exact, at: None };
            }
        }
        let [(_, Want::Fuzzy { word, .. })] = wants.as_slice() else { return Alternative::of(wants, 0, 1.0) };
        // Each edit halves what a word counts.
        let parts = std::iter::successors(Some(1.0), |part| Some(part / 2.0));
        let each = (0..=distance).zip(parts).flat_map(|(at, part)| {
            let want = Want::Fuzzy { word: word.clone(), distance, exact, at: Some(at) };
            Alternative::of(vec![(0, want)], 0, part)
        });
        each.collect()
    }
}

/// What makes the phrase `words`, by position.
fn wants(analyzer: &Analyzer, words: &str) -> Vec<(u32, Want)> {
    let want = |PhraseTerm { term, position, prefix }| {
        (position, if prefix { Want::Prefix { start: term, whole: None } } else { Want::Term(term) })
    };
    analyzer.phrase_terms(words).into_iter().map(want).collect()
}

/// At least `count` of `of`, or all if they are fewer.
fn any(mut of: Vec<Plan>, count: usize) -> Option<Plan> {
    match of.len() {
        0 | 1 => of.pop(),
        n if count >= n => Some(Plan::All(of)),
        _ => Some(Plan::AtLeast(count.max(1), of)),
    }
}

impl Compiled {
    /// The clauses that score: those below no negation.
    pub fn scoring(&self) -> Vec<&Clause> {
        let mut out = Vec::new();
        let mut open = vec![&self.plan];
        while let Some(plan) = open.pop() {
            match plan {
                Plan::Clause(at) => out.extend(self.clauses.get(*at)),
                Plan::All(of) | Plan::AtLeast(_, of) => open.extend(of.iter().rev()),
                Plan::Optional(of) => open.push(of),
                Plan::Not(_) | Plan::Everything => {}
            }
        }
        out
    }

    /// Its terms, if it is any of distinct terms, or all of them, in both fields: whether all, and each with its
    /// boost.
    pub fn as_terms(&self) -> Option<(bool, Vec<(&str, f32)>)> {
        let is_all = match &self.plan {
            Plan::Clause(_) => false,
            Plan::All(of) if of.iter().all(|plan| matches!(plan, Plan::Clause(_))) => true,
            Plan::AtLeast(1, of) if of.iter().all(|plan| matches!(plan, Plan::Clause(_))) => false,
            _ => return None,
        };
        let mut seen = HashSet::new();
        let terms = self.clauses.iter().map(|clause| match clause.slots.as_slice() {
            [Slot { want: Want::Term(term), .. }]
                if clause.field == QueryField::Both && seen.insert(term.as_str()) =>
            {
                Some((term.as_str(), clause.boost))
            }
            _ => None,
        });
        terms.collect::<Option<_>>().map(|terms| (is_all, terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::text::AnalyzerConfig;
    use crate::text::TextConfig;

    /// The plan of `text` in English, with each clause as its terms.
    fn plan(text: &str) -> String {
        plan_by(&Analyzers::default(), text)
    }

    fn plan_by(analyzers: &Analyzers, text: &str) -> String {
        let compiled = compile(&Query::parse(text).expect("a query"), analyzers).expect("a sound one");
        compiled.map_or_else(|| "nothing".to_owned(), |compiled| shown(&compiled.plan, &compiled.clauses))
    }

    fn shown(plan: &Plan, clauses: &[Clause]) -> String {
        let list = |of: &[Plan]| of.iter().map(|plan| shown(plan, clauses)).collect::<Vec<_>>().join(" ");
        match plan {
            Plan::Everything => "*".to_owned(),
            Plan::Clause(at) => {
                let slots = clauses[*at].slots.iter().map(|slot| match &slot.want {
                    Want::Term(term) => format!("{}:{term}", slot.offset),
                    Want::Prefix { start, whole } => {
                        format!("{}:{start}*{}", slot.offset, whole.clone().unwrap_or_default())
                    }
                    Want::Fuzzy { word, at, .. } => format!("{}:{word}~{at:?}", slot.offset),
                });
                let boost = format!("^{}", clauses[*at].boost);
                slots.collect::<Vec<_>>().join("+") + if boost == "^1" { "" } else { &boost }
            }
            Plan::All(of) => format!("all({})", list(of)),
            Plan::AtLeast(count, of) => format!("{count}of({})", list(of)),
            Plan::Not(of) => format!("-{}", shown(of, clauses)),
            Plan::Optional(of) => format!("?{}", shown(of, clauses)),
        }
    }

    #[test]
    fn words_become_stems_and_stop_words_are_dropped_from_their_lists() {
        assert_eq!(plan("Rivers AND the AND Mountains"), "all(0:river 0:mountain)");
        assert_eq!(plan("(the a rivers)@2"), "0:river");
        assert_eq!(plan("(the rivers lakes seas)@3"), "all(0:river 0:lake 0:sea)");
        assert_eq!(plan("rivers -the"), "0:river");
        assert_eq!(plan("the AND ?!"), "nothing");
        assert_eq!(plan("{What is the longest river, what?}"), "1of(0:longest 0:river)");
    }

    #[test]
    fn a_word_of_several_terms_is_a_phrase() {
        assert_eq!(plan("wi-fi"), "0:wi+1:fi");
        assert_eq!(plan("\u{4e2d}\u{6587}\u{5206}"), "0:\u{4e2d}\u{6587}+1:\u{6587}\u{5206}");
        assert_eq!(plan("\u{5c71}"), "0:\u{5c71}*");
        assert_eq!(plan("C\u{76d8}"), "0:c+1:\u{76d8}*");
        assert_eq!(plan("API\u{914d}\u{7f6e}"), "0:api+1:\u{914d}\u{7f6e}");
    }

    #[test]
    fn a_stop_word_in_a_phrase_leaves_its_place() {
        assert_eq!(plan("\"state of the art\""), "0:state+3:art");
        assert_eq!(plan("\"the state\""), "0:state");
    }

    #[test]
    fn a_word_that_goes_on_is_not_stemmed_but_its_stem_is_found_too() {
        assert_eq!(plan("mount*"), "0:mount*");
        assert_eq!(plan("universities*"), "0:universities*univers");
        assert_eq!(plan("the*"), "0:the*");
        assert_eq!(plan("\"longest riv\"*"), "0:longest+1:riv*");
    }

    #[test]
    fn a_word_that_titles_call_otherwise_is_looked_for_by_both_names() {
        let title = AnalyzerConfig::default().stemming(false);
        let analyzers = Analyzers::new(TextConfig { body: AnalyzerConfig::default(), title });

        assert_eq!(plan_by(&analyzers, "rivers"), "1of(0:river 0:rivers)");
        assert_eq!(plan_by(&analyzers, "sea"), "0:sea");
        assert_eq!(plan_by(&analyzers, "title:rivers AND body:rivers"), "all(0:rivers 0:river)");
    }

    #[test]
    fn a_fuzzy_word_is_a_group_for_each_distance() {
        assert_eq!(plan("rivers~1^2"), "1of(0:river~Some(0)^2 0:river~Some(1))");
        assert_eq!(plan("ab~2"), "0:ab");
        assert_eq!(plan(&format!("{}~2", "x".repeat(300))).len(), 2 + 255);
        assert_eq!(plan("wifi-router~1"), "0:wifi~None+1:router~None");
    }
}
