//! Tokens that were counted while a tree was made, so that they need not be counted again.

use crate::ids::Span;
use crate::model::TokenCounter;

/// A note of the tokens of some leaves. It is no part of a document's value: it makes counting cheaper and
/// changes no count, since it holds for the same counter and the same bytes only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    /// Fingerprint of the counter.
    counter: String,
    /// By start.
    leaves: Vec<Leaf>,
}

#[derive(Debug, Clone, Copy)]
struct Leaf {
    span: Span,
    crc32: u32,
    tokens: usize,
}

impl Counted {
    /// An empty note of what `counter` counts.
    pub(crate) fn by(counter: &dyn TokenCounter) -> Self {
        Self { counter: counter.fingerprint().to_owned(), leaves: Vec::new() }
    }

    /// Notes that `text`, which lies at `span` behind all spans before, has `tokens`.
    pub(crate) fn note(&mut self, span: Span, text: &str, tokens: usize) {
        self.leaves.push(Leaf { span, crc32: crc32fast::hash(text.as_bytes()), tokens });
    }

    /// Tokens of `text`, the leaf at `span`: as noted, or else counted by `counter`.
    pub(crate) fn tokens(&self, span: Span, text: &str, counter: &dyn TokenCounter) -> usize {
        let noted = self.leaves.binary_search_by_key(&span.start, |leaf| leaf.span.start);
        let noted = noted.ok().and_then(|at| self.leaves.get(at));
        let holds = |leaf: &&Leaf| {
            leaf.span == span
                && leaf.crc32 == crc32fast::hash(text.as_bytes())
                && self.counter == counter.fingerprint()
        };
        noted.filter(holds).map_or_else(|| counter.count(text), |leaf| leaf.tokens)
    }
}

impl PartialEq for Counted {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Counted {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(&'static str);

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> usize {
            text.len()
        }

        fn fingerprint(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn a_note_holds_for_the_same_counter_span_and_bytes_only() {
        let counter = Bytes("bytes");
        let mut counted = Counted::by(&counter);
        counted.note(Span::new(0, 2), "ab", 77);
        counted.note(Span::new(3, 5), "cd", 78);

        assert_eq!(counted.tokens(Span::new(3, 5), "cd", &counter), 78);
        assert_eq!(counted.tokens(Span::new(3, 5), "ce", &counter), 2);
        assert_eq!(counted.tokens(Span::new(3, 6), "cde", &counter), 3);
        assert_eq!(counted.tokens(Span::new(1, 3), "b ", &counter), 2);
        assert_eq!(counted.tokens(Span::new(3, 5), "cd", &Bytes("others")), 2);
    }
}
