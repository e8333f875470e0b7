//! A query in the language that [`Query::parse`] reads.

use std::fmt;
use std::fmt::Display as _;

use super::Query;

/// The query in its language: a query that [`check`](Query::check) finds sound is printed as text that parses
/// to its [normal form](Query::normalized).
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("*"),
            Self::Words(text) => write!(f, "{{{}}}", Escaped(text, &['{', '}', '\\'])),
            Self::Term(word) => word_of(word, f),
            Self::Prefix(word) => {
                word_of(word, f)?;
                f.write_str("*")
            }
            Self::Phrase { words, slop, prefix } => {
                write!(f, "\"{}\"", Escaped(words, &['"', '\\']))?;
                f.write_str(if *prefix { "*" } else { "" })?;
                if *slop > 0 { write!(f, "~{slop}") } else { Ok(()) }
            }
            Self::Fuzzy { word, distance, exact } => {
                word_of(word, f)?;
                write!(f, "~{distance}")?;
                if *exact > 0 { write!(f, "/{exact}") } else { Ok(()) }
            }
            Self::All(of) => all(of, f),
            Self::Any(of) | Self::AtLeast { count: 0 | 1, of } => joined(of, " OR ", f),
            Self::AtLeast { count, of } => {
                f.write_str("(")?;
                joined(of, " OR ", f)?;
                write!(f, ")@{count}")
            }
            Self::Not(query) => write!(f, "NOT {}", Negated(query)),
            Self::Optional(query) => write!(f, "+* {}", Operand(query)),
            Self::Boost { by, query } => write!(f, "{}^{by}", Operand(query)),
            Self::Field { r#in, query } => match &**query {
                boost @ Self::Boost { .. } => write!(f, "{}:{boost}", r#in.name()),
                other => write!(f, "{}:{}", r#in.name(), Operand(other)),
            },
        }
    }
}

fn all(of: &[Query], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let [one] = of {
        return one.fmt(f);
    }
    let is_optional = |query: &Query| matches!(query, Query::Optional(_));
    if !of.iter().any(is_optional) {
        return joined(of, " AND ", f);
    }
    if !of.iter().any(|query| !matches!(query, Query::Optional(_) | Query::Not(_))) {
        f.write_str("+* ")?;
    }
    for (at, query) in of.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { " " })?;
        match query {
            Query::Optional(query) => write!(f, "{}", Item(query))?,
            Query::Not(query) => write!(f, "-{}", Negated(query))?,
            other => write!(f, "+{}", Item(other))?,
        }
    }
    Ok(())
}

fn joined(of: &[Query], by: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let [one] = of {
        return one.fmt(f);
    }
    for (at, query) in of.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { by })?;
        match query {
            Query::Not(_) => query.fmt(f)?,
            other => Item(other).fmt(f)?,
        }
    }
    Ok(())
}

/// A part of a list: in brackets, unless it ends by itself.
struct Item<'a>(&'a Query);

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Query::Boost { .. } | Query::Field { .. } => self.0.fmt(f),
            other => Operand(other).fmt(f),
        }
    }
}

/// What is negated: a negation of a negation needs no brackets.
struct Negated<'a>(&'a Query);

impl fmt::Display for Negated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Query::Not(_) => self.0.fmt(f),
            other => Item(other).fmt(f),
        }
    }
}

/// What a mark stands before or behind: in brackets, unless it is one word, phrase or bracket.
struct Operand<'a>(&'a Query);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Query::Everything
            | Query::Words(_)
            | Query::Term(_)
            | Query::Prefix(_)
            | Query::Phrase { .. }
            | Query::Fuzzy { .. }
            | Query::AtLeast { count: 2.., .. } => self.0.fmt(f),
            compound => write!(f, "({compound})"),
        }
    }
}

/// `text` with a backslash before each of some letters.
struct Escaped<'a>(&'a str, &'static [char]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, special) = self;
        for part in text.split_inclusive(*special) {
            match part.char_indices().next_back().filter(|(_, last)| special.contains(last)) {
                Some((end, last)) => write!(f, "{}\\{last}", part.get(..end).unwrap_or_default())?,
                None => f.write_str(part)?,
            }
        }
        Ok(())
    }
}

fn word_of(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_keyword = matches!(word, "AND" | "OR" | "NOT");
    for (at, letter) in word.chars().enumerate() {
        let is_mark = at == 0 && (is_keyword || matches!(letter, '+' | '-'));
        if is_mark || super::parse::ends_word(letter) || matches!(letter, '\\' | ':') {
            f.write_str("\\")?;
        }
        write!(f, "{letter}")?;
    }
    Ok(())
}
