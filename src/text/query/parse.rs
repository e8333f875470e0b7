//! The query language.

use super::MAX_CLAUSES;
use super::MAX_DEPTH;
use super::Query;
use super::QueryField;
use super::any;
use crate::error::Error;
use crate::error::Result;

/// The query that `text` says.
pub(super) fn parse(text: &str) -> Result<Query> {
    let mut parser = Parser { text, at: 0, clauses: 0 };
    let query = parser.list(1)?;
    match parser.peek() {
        None => {
            query.check()?;
            Ok(query)
        }
        Some(_) => Err(parser.expected("`(` before this `)`; write `\\)` for the character")),
    }
}

/// Deepest nesting of brackets, negations and fields: each of a query's nodes is printed with at most three.
const MAX_NESTING: usize = 3 * MAX_DEPTH;

/// Whether an unescaped `letter` ends a word.
pub(super) fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '(' | ')' | '"' | '{' | '}' | '*' | '~' | '^')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    clauses: usize,
}

/// What the mark before a part of a list says.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Must,
    Should,
    MustNot,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn eat(&mut self, letter: char) -> bool {
        let found = self.peek() == Some(letter);
        self.at += if found { letter.len_utf8() } else { 0 };
        found
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, at: usize, what: impl std::fmt::Display) -> Error {
        Error::invalid(format!("the query at byte {at}: {what}; in {:?}", around(self.text, at)))
    }

    /// The error that `what` was expected here.
    fn expected(&self, what: &str) -> Error {
        let found = self.peek().map_or_else(|| "it ends".to_owned(), |letter| format!("found {letter:?}"));
        self.error(self.at, format_args!("expected {what}, {found}"))
    }

    /// A list of parts side by side, up to a closing bracket or the end.
    fn list(&mut self, depth: usize) -> Result<Query> {
        self.check_depth(depth)?;
        let mut parts = Vec::new();
        loop {
            self.skip_spaces();
            match self.peek() {
                None | Some(')') if parts.is_empty() => {
                    return Err(self.expected("a word, a phrase or `(`"));
                }
                None | Some(')') => return Ok(join(parts)),
                Some(_) => parts.push(self.part(depth)?),
            }
        }
    }

    fn part(&mut self, depth: usize) -> Result<(Mark, Query)> {
        if !self.is_mark('+') {
            let (query, is_negation) = self.either(depth)?;
            return Ok(match query {
                Query::Not(query) if is_negation => (Mark::MustNot, *query),
                query => (Mark::Should, query),
            });
        }
        self.at += 1;
        let query = self.primary(depth)?;
        self.skip_spaces();
        for word in ["AND", "OR"] {
            if self.is_keyword(word) {
                let what = format_args!("{word} cannot join what has a `+`; put what it joins in brackets");
                return Err(self.error(self.at, what));
            }
        }
        Ok((Mark::Must, query))
    }

    /// Whether `+` or `-` stands here as a mark: before something.
    fn is_mark(&self, mark: char) -> bool {
        let after = self.rest().strip_prefix(mark).and_then(|rest| rest.chars().next());
        after.is_some_and(|after| !after.is_whitespace() && after != ')')
    }

    fn is_keyword(&self, word: &str) -> bool {
        let after = self.rest().strip_prefix(word).map(|rest| rest.chars().next());
        after.is_some_and(|after| {
            after.is_none_or(|after| after.is_whitespace() || matches!(after, '(' | ')' | '"' | '{' | '}'))
        })
    }

    fn eat_keyword(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let found = self.is_keyword(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Parts joined by `OR`; and whether it is a single negation.
    fn either(&mut self, depth: usize) -> Result<(Query, bool)> {
        let first = self.both(depth)?;
        let mut of = vec![first.0];
        while self.eat_keyword("OR") {
            of.push(self.both(depth)?.0);
        }
        let alone = of.len() == 1;
        Ok((any(of), alone && first.1))
    }

    /// Parts joined by `AND`; and whether it is a single negation.
    fn both(&mut self, depth: usize) -> Result<(Query, bool)> {
        let first = self.negation(depth)?;
        let mut of = vec![first.0];
        while self.eat_keyword("AND") {
            of.push(self.negation(depth)?.0);
        }
        let alone = of.len() == 1;
        Ok((super::all(of), alone && first.1))
    }

    fn negation(&mut self, depth: usize) -> Result<(Query, bool)> {
        self.skip_spaces();
        self.check_depth(depth)?;
        if self.is_mark('+') {
            return Err(self.expected("a word; `+` cannot stand beside AND or OR"));
        }
        let is_minus = self.is_mark('-');
        if is_minus {
            self.at += 1;
        } else if !self.eat_keyword("NOT") {
            return Ok((self.primary(depth)?, false));
        }
        self.count()?;
        Ok((self.negation(depth + 1)?.0.negated(), true))
    }

    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth > MAX_NESTING {
            return Err(self.error(self.at, format_args!("it is nested deeper than {MAX_NESTING}")));
        }
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.clauses += 1;
        if self.clauses > MAX_CLAUSES {
            return Err(self.error(self.at, format_args!("it has more than {MAX_CLAUSES} parts")));
        }
        Ok(())
    }

    /// One word, phrase, text or bracket, with what stands behind it.
    fn primary(&mut self, depth: usize) -> Result<Query> {
        self.skip_spaces();
        self.count()?;
        for word in ["AND", "OR", "NOT"] {
            if self.is_keyword(word) {
                let what = format_args!("expected a word, found {word}; write `\\{word}` for the word");
                return Err(self.error(self.at, what));
            }
        }
        let query = match self.peek() {
            Some('(') => self.bracket(depth)?,
            Some('"') => self.phrase()?,
            Some('{') => {
                self.at += 1;
                let words = self.until('}', "`}` at the end of the text; write `\\}` for the character")?;
                if words.is_empty() {
                    return Err(self.error(self.at, "expected words between the braces, found none"));
                }
                Query::Words(words)
            }
            Some('}') => return Err(self.expected("`{` before this `}`; write `\\}` for the character")),
            Some('*') => {
                self.at += 1;
                self.end_of_word(
                    "`*` stands alone for everything, or ends a word; write `\\*` for the character",
                )?;
                Query::Everything
            }
            Some('~' | '^') => {
                let what = "a word or phrase before this; write a backslash before it for the character";
                return Err(self.expected(what));
            }
            Some(letter) if letter != ')' => match self.field()? {
                Some(field) => {
                    self.check_depth(depth)?;
                    return Ok(self.primary(depth + 1)?.within(field));
                }
                None => self.word()?,
            },
            _ => return Err(self.expected("a word, a phrase or `(`")),
        };
        if !self.eat('^') {
            return Ok(query);
        }
        let by = self.number("a boost such as ^2.5")?;
        self.end_of_word("a boost ends its word")?;
        Ok(query.boosted(by))
    }

    fn bracket(&mut self, depth: usize) -> Result<Query> {
        let start = self.at;
        self.at += 1;
        let query = self.list(depth + 1)?;
        if !self.eat(')') {
            return Err(
                self.error(self.at, format_args!("expected `)` for the `(` at byte {start}, it ends"))
            );
        }
        if !self.eat('@') {
            self.end_of_word("behind a bracket stand `@2`, `^2.5` or a space")?;
            return Ok(query);
        }
        let at = self.at;
        let count = self.number::<u32>("how many must match, such as @2")?;
        self.end_of_word("behind @2 stand `^2.5` or a space")?;
        match query {
            Query::Any(of) if count == 1 => Ok(Query::Any(of)),
            Query::Any(of) if (2..=of.len()).contains(&(count as usize)) => Ok(Query::AtLeast { count, of }),
            Query::Any(of) => {
                Err(self.error(at, format_args!("expected a number from 1 to {}, found {count}", of.len())))
            }
            _ => Err(self.error(
                at,
                "`@` stands behind a list of at least two without `+`, `-` or AND, such as (a b c)@2",
            )),
        }
    }

    fn phrase(&mut self) -> Result<Query> {
        let start = self.at;
        self.at += 1;
        let words = self.until('"', "`\"` at the end of the phrase; write `\\\"` for the character")?;
        if words.is_empty() {
            return Err(self.error(start, "expected words between the quotes, found none"));
        }
        let prefix = self.eat('*');
        let slop = if self.eat('~') { self.number("a slop such as ~2")? } else { 0 };
        self.end_of_word("behind a phrase stand `*`, `~2`, `^2.5` or a space")?;
        Ok(Query::Phrase { words, slop, prefix })
    }

    /// The text up to an unescaped `end`, which is passed over.
    fn until(&mut self, end: char, expected: &str) -> Result<String> {
        let start = self.at;
        let mut out = String::new();
        loop {
            match self.take() {
                Some('\\') => out.push(self.escaped()?),
                Some(letter) if letter == end => return Ok(out),
                Some(letter) => out.push(letter),
                None => {
                    let what = format_args!("expected {expected}, it ends (it began at byte {start})");
                    return Err(self.error(self.at, what));
                }
            }
        }
    }

    fn escaped(&mut self) -> Result<char> {
        self.take().ok_or_else(|| self.error(self.at, "expected a character behind the last `\\`, it ends"))
    }

    /// The field whose name and colon stand here, which are passed over.
    fn field(&mut self) -> Result<Option<QueryField>> {
        let rest = self.rest();
        let len = rest.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'_').count();
        let (Some(name), Some(after)) =
            (rest.get(..len), rest.get(len..).and_then(|rest| rest.strip_prefix(':')))
        else {
            return Ok(None);
        };
        let known = QueryField::ALL.into_iter().find(|field| field.name() == name);
        let is_followed = after.chars().next().is_some_and(|next| !next.is_whitespace() && next != ')');
        match known {
            Some(field) if is_followed => {
                self.at += len + 1;
                Ok(Some(field))
            }
            Some(_) => {
                self.at += len + 1;
                Err(self.expected("a word, a phrase or `(` right behind the colon"))
            }
            None if is_followed && len > 0 => Err(self.error(
                self.at,
                format_args!(
                    "expected title:, body: or both:, found {name:?}; write `{name}\\:` for the colon"
                ),
            )),
            None => Ok(None),
        }
    }

    fn word(&mut self) -> Result<Query> {
        let mut word = String::new();
        while let Some(letter) = self.peek().filter(|letter| !ends_word(*letter)) {
            self.at += letter.len_utf8();
            word.push(if letter == '\\' { self.escaped()? } else { letter });
        }
        let query = match self.peek() {
            Some('*') => {
                self.at += 1;
                Query::Prefix(word)
            }
            Some('~') => {
                self.at += 1;
                let has_number = self.peek().is_some_and(|next| next.is_ascii_digit());
                let at = self.at;
                let distance = if has_number { self.number("a distance")? } else { 1 };
                if !(1..=2).contains(&distance) {
                    return Err(self.error(at, "expected `~1` or `~2` behind a word"));
                }
                let exact = if self.eat('/') { self.number("how many first letters are exact")? } else { 0 };
                Query::Fuzzy { word, distance, exact }
            }
            _ => Query::Term(word),
        };
        self.end_of_word(
            "behind a word stand `*`, `~1`, `^2.5` or a space; write a backslash before other marks",
        )?;
        Ok(query)
    }

    /// Checks that what stands here does not belong to what is before it.
    fn end_of_word(&self, expected: &str) -> Result<()> {
        match self.peek() {
            None | Some('^') => Ok(()),
            Some(next) if ends_word(next) && !matches!(next, '*' | '~') => Ok(()),
            Some(_) => Err(self.expected(expected)),
        }
    }

    fn number<N: std::str::FromStr>(&mut self, expected: &str) -> Result<N> {
        let rest = self.rest();
        let len = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let number = rest.get(..len).and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.expected(expected))?;
        self.at += len;
        Ok(number)
    }
}

/// A list of parts as a query: all that must be, none that must not; the others decide if nothing must be, and
/// add to the score if something must.
fn join(parts: Vec<(Mark, Query)>) -> Query {
    if parts.iter().any(|(mark, _)| *mark == Mark::Must) {
        let of = parts.into_iter().map(|(mark, query)| match mark {
            Mark::Must => query,
            Mark::Should => query.optional(),
            Mark::MustNot => query.negated(),
        });
        return super::all(of.collect());
    }
    let (wanted, unwanted): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(mark, _)| *mark == Mark::Should);
    let wanted: Vec<Query> = wanted.into_iter().map(|(_, query)| query).collect();
    let mut of = if wanted.is_empty() { Vec::new() } else { vec![any(wanted)] };
    of.extend(unwanted.into_iter().map(|(_, query)| query.negated()));
    super::all(of)
}

/// Some of `text` around byte `at`.
fn around(text: &str, at: usize) -> &str {
    let start = text.floor_char_boundary(at.saturating_sub(20));
    let end = text.ceil_char_boundary(at.saturating_add(20).min(text.len()));
    text.get(start..end).unwrap_or_default()
}
