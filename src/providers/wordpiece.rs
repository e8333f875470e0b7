//! `WordPiece`, as BERT's uncased models cut text.
//!
//! Text is normalised character by character: control characters dropped, canonical decomposition, accents
//! (marks without width) dropped, lower case. White space parts words; each Chinese character and each
//! punctuation character is a word. A word is cut from the left into the longest pieces of the vocabulary,
//! pieces after the first being written there with `##`. A word that cannot be cut so, or has over 100
//! characters, is `[UNK]`.
//!
//! # Source
//!
//! Devlin et al.: BERT, NAACL 2019, and its `tokenization.py`; ids equal those of Hugging Face `tokenizers`
//! without special tokens. Departure: text is only text, so `[SEP]` in it is the words `[`, `sep` and `]`.
//! Departure: marks with width are left in the order of the text, not in canonical order.

mod unicode;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::char::decompose_canonical;

use crate::error::{Error, Result};
use crate::model::TokenCounter;

/// The vocabulary of bert-base-uncased, one piece a line.
const BERT_UNCASED: &str = include_str!("../../assets/vocab.txt");

/// Longest word that is cut, in characters.
const MOST_WORD_CHARS: usize = 100;

/// Longest piece of a vocabulary, in bytes; bounds the work of cutting a word.
const MOST_PIECE_BYTES: usize = 255;

/// A tokenizer: a vocabulary and the rules above.
#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Cow<'static, str>,
    /// Where the piece of each id lies in the vocabulary, without `##`, and whether it had it.
    pieces: Vec<(Range<usize>, bool)>,
    /// Open addressing by [`hash`] of piece and place: id + 1, 0 where free. A power of two of slots.
    slots: Vec<u32>,
    longest_bytes: usize,
    unknown: u32,
}

impl WordPiece {
    /// The tokenizer of bert-base-uncased: 30,522 pieces. Built at the first call.
    #[must_use]
    pub fn bert_uncased() -> &'static Self {
        static SHARED: LazyLock<WordPiece> =
            LazyLock::new(|| WordPiece::new(BERT_UNCASED).expect("the vocabulary in assets/ is sound"));
        &SHARED
    }

    /// A tokenizer of `vocabulary`, one piece a line; the id of a piece is its line, from 0.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no `[UNK]`, a piece twice, or one over 255 bytes.
    pub fn new(vocabulary: impl Into<Cow<'static, str>>) -> Result<Self> {
        let vocabulary = vocabulary.into();
        let mut pieces = Vec::new();
        let mut start = 0;
        for line in vocabulary.split_inclusive('\n') {
            let piece = line.strip_suffix('\n').unwrap_or(line);
            let piece = piece.strip_suffix('\r').unwrap_or(piece);
            let continues = piece.len() > 2 && piece.starts_with("##");
            let skipped = if continues { 2 } else { 0 };
            pieces.push((start + skipped..start + piece.len(), continues));
            start += line.len();
        }
        let mut built = Self {
            slots: vec![0; (2 * pieces.len() + 1).next_power_of_two()],
            longest_bytes: pieces.iter().map(|(text, _)| text.len()).max().unwrap_or_default(),
            unknown: 0,
            vocabulary,
            pieces,
        };
        if built.longest_bytes > MOST_PIECE_BYTES {
            let longest = built.longest_bytes;
            return Err(Error::invalid(format!("a piece has {longest} bytes, over {MOST_PIECE_BYTES}")));
        }
        for (id, (range, continues)) in (0_u32..).zip(built.pieces.clone()) {
            let text = &built.vocabulary[range];
            let hash = text.bytes().fold(start_hash(continues), hash);
            match built.slot(hash, text, continues) {
                Ok(_) => return Err(Error::invalid(format!("the piece {text:?} is there twice"))),
                Err(free) => built.slots[free] = id + 1,
            }
        }
        built.unknown = built.id("[UNK]").ok_or_else(|| Error::invalid("the vocabulary has no [UNK]"))?;
        Ok(built)
    }

    /// How many pieces there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary holds at least [UNK]")]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The id of `[UNK]`.
    #[must_use]
    pub fn unknown(&self) -> u32 {
        self.unknown
    }

    /// The ids of `text`.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.for_each(text, |id| ids.push(id));
        ids
    }

    /// How many ids [`WordPiece::encode`] gives.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        let mut count = 0;
        self.for_each(text, |_| count += 1);
        count
    }

    /// Calls `each` with the ids of `text` in order. Memory does not grow with the text.
    pub fn for_each(&self, text: &str, mut each: impl FnMut(u32)) {
        let mut word = Word::default();
        for c in text.chars() {
            if c.is_ascii() {
                if !unicode::is_dropped(c) {
                    self.take(&mut word, c.to_ascii_lowercase(), &mut each);
                }
                continue;
            }
            if unicode::is_dropped(c) {
                continue;
            }
            let apart = unicode::is_chinese(c);
            if apart {
                self.finish(&mut word, &mut each);
            }
            decompose_canonical(c, |part| {
                if !unicode::is_dropped(part) {
                    for lower in part.to_lowercase() {
                        self.take(&mut word, lower, &mut each);
                    }
                }
            });
            if apart {
                self.finish(&mut word, &mut each);
            }
        }
        self.finish(&mut word, &mut each);
    }

    /// Adds a normalised character to the word, or ends the word at it.
    fn take(&self, word: &mut Word, c: char, each: &mut impl FnMut(u32)) {
        if c.is_whitespace() {
            self.finish(word, each);
        } else if unicode::is_punctuation(c) {
            self.finish(word, each);
            word.push(c);
            self.finish(word, each);
        } else {
            word.push(c);
        }
    }

    /// Cuts the word and empties it.
    fn finish(&self, word: &mut Word, each: &mut impl FnMut(u32)) {
        if word.chars == 0 {
            return;
        }
        if word.chars <= MOST_WORD_CHARS && self.cut(&word.text, &mut word.ids) {
            word.ids.iter().for_each(|id| each(*id));
        } else {
            each(self.unknown);
        }
        word.text.clear();
        word.chars = 0;
    }

    /// Whether `word` can be cut into pieces; if so, `ids` are theirs.
    fn cut(&self, word: &str, ids: &mut Vec<u32>) -> bool {
        ids.clear();
        let mut rest = word;
        while !rest.is_empty() {
            let continues = !ids.is_empty();
            let mut hashes = [0_u64; MOST_PIECE_BYTES + 1];
            let most = rest.len().min(self.longest_bytes);
            hashes[0] = start_hash(continues);
            for (index, byte) in rest.bytes().take(most).enumerate() {
                hashes[index + 1] = hash(hashes[index], byte);
            }
            let longest = (1..=most).rev().find_map(|end| {
                let text = rest.get(..end)?;
                Some((self.find(hashes[end], text, continues)?, end))
            });
            let Some((id, end)) = longest else { return false };
            ids.push(id);
            rest = &rest[end..];
        }
        true
    }

    fn find(&self, hash: u64, text: &str, continues: bool) -> Option<u32> {
        let slot = self.slot(hash, text, continues).ok()?;
        self.slots[slot].checked_sub(1)
    }

    fn is(&self, id: u32, text: &str, continues: bool) -> bool {
        let (range, own) = &self.pieces[id as usize];
        *own == continues && self.vocabulary.as_bytes()[range.clone()] == *text.as_bytes()
    }

    /// The id of the piece `text` that begins a word, if there is one: also of those that no text is cut into,
    /// such as `[CLS]`.
    #[must_use]
    pub fn id(&self, text: &str) -> Option<u32> {
        self.find(text.bytes().fold(start_hash(false), hash), text, false)
    }

    /// The slot of a piece, or the free one where it would go.
    fn slot(&self, hash: u64, text: &str, continues: bool) -> std::result::Result<usize, usize> {
        let mask = self.slots.len() - 1;
        // The upper half is better mixed. There are twice as many slots as pieces, so a free one is found.
        let mut slot = usize::try_from(hash >> 32).unwrap_or_default() & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                None => return Err(slot),
                Some(id) if self.is(id, text, continues) => return Ok(slot),
                Some(_) => slot = (slot + 1) & mask,
            }
        }
    }
}

/// FNV-1a, one byte further.
fn hash(before: u64, byte: u8) -> u64 {
    (before ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

fn start_hash(continues: bool) -> u64 {
    hash(0xcbf2_9ce4_8422_2325, u8::from(continues))
}

/// The word being read, and room for its ids.
#[derive(Default)]
struct Word {
    text: String,
    chars: usize,
    ids: Vec<u32>,
}

impl Word {
    fn push(&mut self, c: char) {
        if self.chars < MOST_WORD_CHARS {
            self.text.push(c);
        }
        self.chars += 1;
    }
}

/// Counts the pieces of [`WordPiece::bert_uncased`], without special tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordPieceCounter;

impl WordPieceCounter {
    /// What [`TokenCounter::fingerprint`] says.
    pub const FINGERPRINT: &str = "wordpiece bert-base-uncased";
}

impl TokenCounter for WordPieceCounter {
    fn count(&self, text: &str) -> usize {
        WordPiece::bert_uncased().count(text)
    }

    fn fingerprint(&self) -> &str {
        Self::FINGERPRINT
    }
}

#[cfg(test)]
mod tests;
