//! Queries as data: a tree of words, phrases and conditions, with a small language to write it in.
//!
//! * [`Query`] is the tree. It is plain data: build it, store it, send it as JSON.
//! * [`Query::parse`] reads the language of `docs/queries.md`, [`Display`](std::fmt::Display) writes it.
//! * [`Query::check`] holds a tree against the limits; everything that takes a query does so first.

pub(super) mod compile;
mod parse;
mod print;

pub use compile::MAX_FUZZY_CHARS;
pub use compile::MAX_QUERY_TERMS;
pub use compile::MAX_SLOPPY_TERMS;
pub use compile::MIN_FUZZY_CHARS;

use crate::error::Error;
use crate::error::Result;

/// Deepest query: `NOT`, boost, field and brackets each count one.
pub const MAX_DEPTH: usize = 32;

/// Most nodes of a query.
pub const MAX_CLAUSES: usize = 1024;

/// Highest boost.
pub const MAX_BOOST: f32 = 1_000_000.0;

/// What to look for. A query says of each leaf whether it matches, and how well: see `docs/queries.md`.
///
/// Words are text as a user writes it: they become terms by the file's analyzer when the query is run. Words
/// that make no term (stop words, punctuation) are dropped from the conditions they stand in: they neither
/// match nor fail.
///
/// Scores: a matching leaf's score is the sum, in the order of the query, of what its matching terms, phrases
/// and groups add. `Not` and `Everything` add nothing.
///
/// # JSON
///
/// A variant's name in lower case is the key, its content the value:
///
/// ```
/// use evdb::text::Query;
///
/// let json = r#"{"all": [
///     {"term": "border"},
///     {"not": {"phrase": {"words": "the wall", "slop": 1}}},
///     {"optional": {"field": {"in": "title", "query": {"boost": {"by": 2.0, "query": {"prefix": "mount"}}}}}},
///     {"at_least": {"count": 2, "of": [{"term": "a"}, {"fuzzy": {"word": "rivr"}}, "everything"]}}
/// ]}"#;
/// let query: Query = serde_json::from_str(json).unwrap();
///
/// assert_eq!(query.to_string(), r#"+border -"the wall"~1 title:mount*^2 +(a OR rivr~1 OR *)@2"#);
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Query {
    /// Every leaf.
    Everything,
    /// Leaves with any of the terms of a text: what a search for plain words is. Each distinct term counts once.
    Words(String),
    /// Leaves with a word. If the word makes several terms, as `wi-fi` and a run of Han letters do, they must
    /// stand next to each other: it is looked for as a phrase.
    Term(String),
    /// Leaves in which words stand as in a phrase: within the leaf's own text, or within one title above it.
    Phrase {
        /// The words. Where a stop word stood, any word may stand.
        words: String,
        /// How far words may be displaced, altogether. 0: not at all; 1: one word more between; 2: two words
        /// changed places.
        #[serde(default)]
        slop: u32,
        /// Whether the last word may go on.
        #[serde(default)]
        prefix: bool,
    },
    /// Leaves with a word that begins so.
    Prefix(String),
    /// Leaves with a word at most some edits away: a letter more, less, changed, or two neighbours swapped.
    Fuzzy {
        /// The word.
        word: String,
        /// Edits: 1 or 2.
        #[serde(default = "one")]
        distance: u8,
        /// Letters at the beginning that must be the same.
        #[serde(default)]
        exact: u32,
    },
    /// Leaves that match all of these.
    All(Vec<Query>),
    /// Leaves that match any of these.
    Any(Vec<Query>),
    /// Leaves that match at least some of these.
    AtLeast {
        /// How many; 1 is the same as `Any`.
        count: u32,
        /// Of which.
        of: Vec<Query>,
    },
    /// Leaves that do not match. They score 0.
    Not(Box<Query>),
    /// Every leaf; one that matches scores by it. In `All`, what would be nice besides.
    Optional(Box<Query>),
    /// The same leaves, with another weight.
    Boost {
        /// What the scores are multiplied by: 0 to [`MAX_BOOST`].
        by: f32,
        /// The query.
        query: Box<Query>,
    },
    /// The same in one field. The innermost field counts.
    Field {
        /// Where words are looked for.
        r#in: QueryField,
        /// The query.
        query: Box<Query>,
    },
}

/// Where words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryField {
    /// The titles above a leaf.
    Title,
    /// A leaf's own title and text.
    Body,
    /// Both, as one text.
    #[default]
    Both,
}

impl QueryField {
    /// Its name in queries: `title`, `body`, `both`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Body => "body",
            Self::Both => "both",
        }
    }

    const ALL: [Self; 3] = [Self::Title, Self::Body, Self::Both];
}

const fn one() -> u8 {
    1
}

impl Query {
    /// The query that `text` says in the language of `docs/queries.md`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is not in that language; the message names the byte, and what was expected there.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text)
    }

    /// A query for the word `word`.
    pub fn term(word: impl Into<String>) -> Self {
        Self::Term(word.into())
    }

    /// A query for `words` one after the other.
    pub fn phrase(words: impl Into<String>) -> Self {
        Self::Phrase { words: words.into(), slop: 0, prefix: false }
    }

    /// The leaves that do not match this.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Every leaf, scored by this.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    /// The same with scores multiplied by `by`.
    #[must_use]
    pub fn boosted(self, by: f32) -> Self {
        Self::Boost { by, query: Box::new(self) }
    }

    /// The same in `field`.
    #[must_use]
    pub fn within(self, field: QueryField) -> Self {
        Self::Field { r#in: field, query: Box::new(self) }
    }

    /// Whether it is a sound query.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is deeper than [`MAX_DEPTH`], has more than [`MAX_CLAUSES`] nodes, an empty word or
    /// list, a distance that is neither 1 nor 2, a boost outside of 0 to
    /// [`MAX_BOOST`], or asks for none or
    /// for more than there are of a list.
    pub fn check(&self) -> Result<()> {
        let mut open: Vec<(&Self, usize)> = vec![(self, 1)];
        let mut seen = 0;
        while let Some((query, depth)) = open.pop() {
            seen += 1;
            if depth > MAX_DEPTH {
                return Err(Error::invalid(format!("the query is deeper than {MAX_DEPTH}")));
            }
            if seen > MAX_CLAUSES {
                return Err(Error::invalid(format!("the query has more than {MAX_CLAUSES} parts")));
            }
            query.check_node()?;
            open.extend(query.children().iter().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    fn check_node(&self) -> Result<()> {
        let why = match self {
            Self::Words(words) | Self::Term(words) | Self::Prefix(words) | Self::Phrase { words, .. }
                if words.is_empty() =>
            {
                "a word or phrase of the query is empty".to_owned()
            }
            Self::Fuzzy { word, .. } if word.is_empty() => "a fuzzy word of the query is empty".to_owned(),
            Self::Fuzzy { word, distance, .. } if !(1..=2).contains(distance) => {
                format!("the fuzzy word {word:?} has distance {distance}; it must be 1 or 2")
            }
            Self::All(of) | Self::Any(of) | Self::AtLeast { of, .. } if of.is_empty() => {
                "a list of the query is empty".to_owned()
            }
            Self::AtLeast { count, of } if *count == 0 || *count as usize > of.len() => {
                format!("the query asks for at least {count} of {}", of.len())
            }
            Self::Boost { by, .. } if !(0.0..=MAX_BOOST).contains(by) || by.is_sign_negative() => {
                format!("the query has boost {by}; it must be from 0 to {MAX_BOOST}")
            }
            _ => return Ok(()),
        };
        Err(Error::invalid(why))
    }

    fn children(&self) -> &[Self] {
        match self {
            Self::All(of) | Self::Any(of) | Self::AtLeast { of, .. } => of,
            Self::Not(query)
            | Self::Optional(query)
            | Self::Boost { query, .. }
            | Self::Field { query, .. } => std::slice::from_ref(query),
            _ => &[],
        }
    }

    /// The same query as [`parse`](Self::parse) would give it: lists of one are that one, at least one is any,
    /// and what is optional stands in a list of all beside something that is not. Matches and scores do not
    /// change.
    #[must_use]
    pub fn normalized(self) -> Self {
        let inner = |query: Box<Self>| Box::new(query.normalized());
        match self {
            Self::All(of) => all(of.into_iter().map(Self::normalized_operand).collect()),
            Self::Any(of) | Self::AtLeast { count: 1, of } => {
                any(of.into_iter().map(Self::normalized).collect())
            }
            Self::AtLeast { count, of } => {
                Self::AtLeast { count, of: of.into_iter().map(Self::normalized).collect() }
            }
            Self::Not(query) => Self::Not(inner(query)),
            Self::Optional(query) => Self::All(vec![Self::Everything, Self::Optional(inner(query))]),
            Self::Boost { by, query } => Self::Boost { by, query: inner(query) },
            Self::Field { r#in, query } => Self::Field { r#in, query: inner(query) },
            plain => plain,
        }
    }

    /// An operand of a list of all, where what is optional may stay so.
    fn normalized_operand(self) -> Self {
        match self {
            Self::Optional(query) => query.normalized().optional(),
            other => other.normalized(),
        }
    }
}

/// All of `of`, which is not empty, in normal form.
fn all(mut of: Vec<Query>) -> Query {
    let has_optional = of.iter().any(|query| matches!(query, Query::Optional(_)));
    let has_other = of.iter().any(|query| !matches!(query, Query::Optional(_) | Query::Not(_)));
    if has_optional && !has_other {
        of.insert(0, Query::Everything);
    }
    sole(of).unwrap_or_else(Query::All)
}

/// Any of `of`, which is not empty, in normal form.
fn any(of: Vec<Query>) -> Query {
    sole(of).unwrap_or_else(Query::Any)
}

fn sole(mut of: Vec<Query>) -> std::result::Result<Query, Vec<Query>> {
    if of.len() == 1 { of.pop().ok_or(of) } else { Err(of) }
}

impl std::str::FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
