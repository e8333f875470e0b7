//! Which leaf names what in which sentence, and which leaves a name leads to: the arrays paths are walked on.

use std::collections::HashMap;

use super::csr::Csr;
use super::csr::as_u32;
use super::name::key_of;
use super::title::longest_titles;
use super::title::title_keys;
use super::title::without_initials;
use super::title::written_as_name;
use super::word::Word;
use super::word::words;
use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;
use crate::ids::Span;

/// Leaves kept of those that mention a key. The number of all is kept besides; a key of more leads nowhere.
pub const MAX_POSTINGS: usize = 256;

/// A sentence of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentenceEntry {
    /// Row of its vector, in whatever holds the vectors of sentences.
    pub row: u32,
    /// Where it lies in its document's text.
    pub span: Span,
}

/// Names, titles, sentences and leaves of one state of the corpus, for [`find`](super::find).
///
/// Leaves, sentences and keys are numbered from 0: leaves in the order of their ids, sentences in reading order,
/// keys in the order of their bytes. A key is a name as it is compared: folded words with a space between.
#[derive(Debug, Default)]
pub struct PathIndex {
    leaves: Vec<NodeId>,
    sentences: Vec<SentenceEntry>,
    /// Leaf to its first sentence; one more at the end.
    first_sentence: Vec<u32>,
    keys: Vec<Box<str>>,
    /// Sentence to the keys it names, without those that are titles of its own leaf.
    named: Csr,
    /// Leaf to the keys that are its titles.
    titles: Csr,
    /// Key to the leaves it is a title of.
    titled: Csr,
    /// Key to the leaves that mention it or have it as title: all, or the first [`MAX_POSTINGS`].
    mentions: Csr,
    mention_counts: Vec<u32>,
}

impl PathIndex {
    /// Bytes of memory that it takes, about: those of its lists.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let list = |items: usize, each: usize| items.saturating_mul(each);
        let keys: usize = self.keys.iter().map(|key| key.len() + size_of::<Box<str>>()).sum();
        let rows = [&self.named, &self.titles, &self.titled, &self.mentions];
        list(self.leaves.len(), size_of::<NodeId>())
            + list(self.sentences.len(), size_of::<SentenceEntry>())
            + list(self.first_sentence.len() + self.mention_counts.len(), size_of::<u32>())
            + rows.iter().map(|rows| rows.size_bytes()).sum::<usize>()
            + keys
    }

    /// How many leaves there are.
    #[must_use]
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// The leaves, ascending.
    #[must_use]
    pub fn leaves(&self) -> &[NodeId] {
        &self.leaves
    }

    /// The sentences of all leaves, in reading order.
    #[must_use]
    pub fn sentences(&self) -> &[SentenceEntry] {
        &self.sentences
    }

    /// Numbers of the sentences of leaf `leaf`.
    #[must_use]
    pub fn sentences_of(&self, leaf: u32) -> std::ops::Range<u32> {
        let at = |index: usize| self.first_sentence.get(index).copied();
        let start = at(leaf as usize).unwrap_or(0);
        start..at(leaf as usize + 1).unwrap_or(start)
    }

    /// The leaf that sentence `sentence` is of.
    #[must_use]
    pub fn leaf_of(&self, sentence: u32) -> u32 {
        as_u32(self.first_sentence.partition_point(|first| *first <= sentence).saturating_sub(1))
    }

    /// How many keys there are.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// The words of key `key`.
    #[must_use]
    pub fn key_text(&self, key: u32) -> &str {
        self.keys.get(key as usize).map_or("", |text| text)
    }

    /// The number of the key `text`, if it is one.
    #[must_use]
    pub fn key(&self, text: &str) -> Option<u32> {
        self.keys.binary_search_by(|key| (**key).cmp(text)).ok().map(as_u32)
    }

    /// Keys named in sentence `sentence`.
    #[must_use]
    pub fn named(&self, sentence: u32) -> &[u32] {
        self.named.row(sentence)
    }

    /// Keys that are titles of leaf `leaf`, ascending.
    #[must_use]
    pub fn titles(&self, leaf: u32) -> &[u32] {
        self.titles.row(leaf)
    }

    /// Leaves that have key `key` as title, ascending.
    #[must_use]
    pub fn titled(&self, key: u32) -> &[u32] {
        self.titled.row(key)
    }

    /// Leaves that mention key `key` or have it as title, ascending: all, or the first [`MAX_POSTINGS`].
    #[must_use]
    pub fn mentions(&self, key: u32) -> &[u32] {
        self.mentions.row(key)
    }

    /// How many leaves mention key `key` or have it as title.
    #[must_use]
    pub fn mention_count(&self, key: u32) -> u32 {
        self.mention_counts.get(key as usize).copied().unwrap_or(0)
    }

    /// The titles in a question: first the longest, without overlap, that are written as names, then those of
    /// two and more words written in any case that overlap none of them.
    #[must_use]
    pub fn titles_in(&self, question: &[Word]) -> Vec<u32> {
        let is_title = |text: &str| self.key(text).filter(|key| !self.titled(*key).is_empty());
        let mut taken = vec![false; question.len()];
        let mut found = Vec::new();
        for cased in [true, false] {
            for (range, key) in longest_titles(question, &is_title) {
                let inside = question.get(range.clone()).unwrap_or_default();
                let fits = if cased { written_as_name(inside) } else { range.len() > 1 };
                if fits && !taken[range.clone()].contains(&true) {
                    taken[range].fill(true);
                    found.push(key);
                }
            }
        }
        found
    }
}

/// Collects leaves, in the order of their ids, with titles, sentences and names.
#[derive(Debug, Default)]
pub struct PathIndexBuilder {
    leaves: Vec<NodeId>,
    first_sentence: Vec<u32>,
    sentences: Vec<SentenceEntry>,
    title_texts: Interned,
    titles: Csr,
    name_texts: Interned,
    names: Csr,
}

/// Texts by number, in the order in which they came.
#[derive(Debug, Default)]
struct Interned {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Interned {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = as_u32(self.texts.len());
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

impl PathIndexBuilder {
    /// Begins leaf `node`, which has the titles `titles`; each gives its [keys](title_keys).
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `node` is not above the leaf before.
    pub fn leaf<'a>(&mut self, node: NodeId, titles: impl IntoIterator<Item = &'a str>) -> Result<()> {
        if let Some(last) = self.leaves.last().filter(|last| **last >= node) {
            return Err(Error::invalid(format!("leaf {node} must come before leaf {last}")));
        }
        if !self.leaves.is_empty() {
            self.titles.end_row();
        }
        self.leaves.push(node);
        self.first_sentence.push(as_u32(self.sentences.len()));
        for key in titles.into_iter().flat_map(title_keys) {
            let number = self.title_texts.number(&key);
            if !self.titles.open_row().contains(&number) {
                self.titles.push(number);
            }
        }
        Ok(())
    }

    /// Adds a sentence to the leaf begun last, with the names in it as they are written there.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if no leaf was begun.
    pub fn sentence<'a>(
        &mut self,
        entry: SentenceEntry,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        if self.leaves.is_empty() {
            return Err(Error::invalid("a sentence must follow its leaf"));
        }
        self.sentences.push(entry);
        for name in names {
            let number = self.name_texts.number(name);
            if !self.names.open_row().contains(&number) {
                self.names.push(number);
            }
        }
        self.names.end_row();
        Ok(())
    }

    /// The index of what was added. Titles are found in names here, so that a name leads to a leaf that came
    /// later, and a leaf that came later changes no name.
    ///
    /// # Complexity
    ///
    /// `O(n log n)` for `n` names in sentences.
    #[must_use]
    pub fn finish(mut self) -> PathIndex {
        if !self.leaves.is_empty() {
            self.titles.end_row();
        }
        self.first_sentence.push(as_u32(self.sentences.len()));
        let resolved: Vec<Resolved> = self.name_texts.texts.iter().map(|name| self.resolve(name)).collect();
        let mut keys: Vec<Box<str>> = self.title_texts.texts.clone();
        keys.extend(resolved.iter().flat_map(|name| name.keys.iter().cloned()));
        keys.sort_unstable();
        keys.dedup();
        let mut index = PathIndex { keys, ..PathIndex::default() };
        let number = |text: &str| index.key(text).unwrap_or(u32::MAX);
        let key_of_title: Vec<u32> = self.title_texts.texts.iter().map(|text| number(text)).collect();
        let keys_of_name: Vec<Vec<u32>> =
            resolved.iter().map(|name| name.keys.iter().map(|key| number(key)).collect()).collect();
        let titled_key = |title: &u32| key_of_title.get(*title as usize).copied().unwrap_or(u32::MAX);

        let (mut titled, mut mentioned) = (Vec::new(), Vec::new());
        let (mut titles, mut named) = (Csr::default(), Csr::default());
        for leaf in 0..as_u32(self.leaves.len()) {
            let mut own: Vec<u32> = self.titles.row(leaf).iter().map(titled_key).collect();
            own.sort_unstable();
            titled.extend(own.iter().map(|key| (*key, leaf)));
            mentioned.extend(own.iter().map(|key| (*key, leaf)));
            let at = |index: usize| self.first_sentence.get(index).copied().unwrap_or(0);
            for sentence in at(leaf as usize)..at(leaf as usize + 1) {
                let names = || self.names.row(sentence).iter().map(|name| *name as usize);
                let inside = names().filter_map(|name| resolved.get(name)).flat_map(|name| &name.titles);
                for key in inside.map(titled_key).filter(|key| !own.contains(key)) {
                    if !named.open_row().contains(&key) {
                        named.push(key);
                    }
                }
                let links = named.open_row().len();
                for key in names().filter_map(|name| keys_of_name.get(name)).flatten().copied() {
                    let open = named.open_row();
                    let within = |link: &u32| is_within(index.key_text(key), index.key_text(*link));
                    let covered = open.iter().take(links).any(within);
                    if !covered && !open.contains(&key) && !own.contains(&key) {
                        named.push(key);
                    }
                }
                mentioned.extend(named.open_row().iter().map(|key| (*key, leaf)));
                named.end_row();
            }
            for key in own {
                titles.push(key);
            }
            titles.end_row();
        }
        titled.sort_unstable();
        index.titled = Csr::from_sorted(index.keys.len(), &titled);
        mentioned.sort_unstable();
        mentioned.dedup();
        for of_key in mentioned.chunk_by(|a, b| a.0 == b.0) {
            // Every key is a title or a name that was found in a sentence or left out of it.
            let key = of_key.first().map_or(u32::MAX, |(key, _)| *key);
            while index.mentions.rows() < key as usize {
                index.mentions.end_row();
                index.mention_counts.push(0);
            }
            of_key.iter().take(MAX_POSTINGS).for_each(|(_, leaf)| index.mentions.push(*leaf));
            index.mentions.end_row();
            index.mention_counts.push(as_u32(of_key.len()));
        }
        (index.titles, index.named) = (titles, named);
        (index.leaves, index.sentences) = (self.leaves, self.sentences);
        index.first_sentence = self.first_sentence;
        index
    }

    fn resolve(&self, name: &str) -> Resolved {
        let words = words(name);
        let shorter = without_initials(&words);
        let forms = || [Some(words.as_slice()), shorter.as_deref()].into_iter().flatten();
        let title = |text: &str| self.title_texts.numbers.get(text).copied();
        let mut resolved = Resolved { keys: Vec::new(), titles: Vec::new() };
        for form in forms() {
            let key = key_of(form, &(0..form.len()));
            if !key.is_empty() {
                resolved.keys.push(key.into());
            }
            for (range, title) in longest_titles(form, &title) {
                if form.get(range).is_some_and(written_as_name) && !resolved.titles.contains(&title) {
                    resolved.titles.push(title);
                }
            }
        }
        resolved
    }
}

/// What a name stands for.
struct Resolved {
    /// Its key, and that without initials.
    keys: Vec<Box<str>>,
    /// Numbers of the titles in it.
    titles: Vec<u32>,
}

/// Whether every word of `key` is one of `other`'s.
fn is_within(key: &str, other: &str) -> bool {
    key.split(' ').all(|word| other.split(' ').any(|its| its == word))
}
