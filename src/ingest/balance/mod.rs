//! A tree for a document that brings none, and summaries for sections.

mod extract;
mod groups;
mod lexical;

use crate::error::Error;
use crate::error::Result;
use crate::model::TokenCounter;
use crate::tree::Document;
use crate::tree::Node;
use crate::tree::NodeKind;

use groups::Dense;
use groups::Group;
use groups::Limits;
use groups::Sum;
use groups::group;
use lexical::Lexicon;
use lexical::Sparse;
use lexical::real;

/// Up to this many leaves lie directly below the root.
const MAX_FLAT_LEAVES: usize = 6;

/// Leaves of a group: wanted, at most, and their tokens at most.
const TARGET_ITEMS: usize = 5;
const MAX_ITEMS: usize = 8;
const MAX_GROUP_TOKENS: usize = 800;

/// Taken off the similarity for each leaf of the group to be, so that groups grow evenly.
const SIZE_PENALTY: f32 = 0.02;

/// More groups than this are grouped once more.
const MAX_FLAT_GROUPS: usize = 12;

/// Words of a group that count when groups are grouped.
const MAX_GROUP_WORDS: usize = 32;

/// A document with sections of its own and a longer text gets no summaries.
const MAX_SUMMARY_TEXT_BYTES: usize = 16 << 20;

/// Of a document with more leaves, as many are counted exactly.
const MAX_COUNTED_LEAVES: usize = 4_000;

/// Sentences that compete for one summary.
const MAX_CANDIDATES: usize = 128;

/// Rows of vectors for leaves: called with a leaf's number (0 for the first leaf of the document) and the leaf;
/// all of one length.
pub type Rows<'a> = dyn Fn(usize, &Node) -> Option<&'a [f32]> + 'a;

/// Gives `document` a balanced tree, if it has more than six leaves and no sections, and gives every root and
/// section of two leaves or more a summary, if it has none.
///
/// * Neighbouring leaves are joined to groups of about five, at most eight leaves and 800 tokens, the most similar
///   first; if there are more than twelve groups, these are grouped once more. So no leaf lies below level 3.
/// * `rows`: vectors that say what is similar; without them, or if a leaf has none, the words of the leaves do.
/// * Titles are the most telling words of a group; summaries are its one or two most central sentences, at most
///   300 characters.
///
/// Equal documents and rows give equal trees.
///
/// # Errors
///
/// `InvalidInput` if the document is not valid, or a row has another length than the first or holds a value that
/// is not finite; the document is left as it was.
///
/// # Complexity
///
/// `O(n log n)` for `n` leaves.
pub fn balance(document: &mut Document, counter: &dyn TokenCounter, rows: Option<&Rows<'_>>) -> Result<()> {
    document.validate()?;
    let has_sections = document.nodes.iter().any(|node| node.kind == NodeKind::Section);
    let leaves = document.nodes.iter().filter(|node| node.kind.is_leaf()).count();
    if leaves < 2 || (has_sections && document.text.len() > MAX_SUMMARY_TEXT_BYTES) {
        return Ok(());
    }
    let mut lexicon = Lexicon::default();
    let texts = document.nodes.iter().filter(|node| node.kind.is_leaf());
    let counts: Vec<Sparse> = texts.map(|leaf| lexicon.learn(text_of(document, leaf))).collect();
    if !has_sections && leaves > MAX_FLAT_LEAVES {
        let tokens = tokens(document, leaves, counter);
        let tree = if let Some(vectors) = dense(document, rows)? {
            tree(vectors, &tokens, |_| {})
        } else {
            let vectors = counts.iter().map(|counts| lexicon.weigh(counts)).collect();
            tree(vectors, &tokens, keep_heaviest)
        };
        rebuild(document, &tree, &counts, &lexicon);
    }
    summarise(document, &lexicon);
    Ok(())
}

fn text_of<'a>(document: &'a Document, leaf: &Node) -> &'a str {
    document.text.get(leaf.span.as_range()).unwrap_or_default()
}

/// Tokens of each leaf of a document without sections; of very many, judged from some by their bytes.
fn tokens(document: &Document, leaves: usize, counter: &dyn TokenCounter) -> Vec<usize> {
    let stride = leaves.div_ceil(MAX_COUNTED_LEAVES).max(1);
    let mut sample = (0, 0);
    let counted: Vec<Option<usize>> = document
        .nodes
        .iter()
        .skip(1)
        .enumerate()
        .map(|(at, leaf)| {
            let count = || document.counted.tokens(leaf.span, text_of(document, leaf), counter);
            let tokens = (at % stride == 0).then(count)?;
            sample = (sample.0 + tokens, sample.1 + leaf.span.size_bytes());
            Some(tokens)
        })
        .collect();
    let guess = |leaf: &Node| leaf.span.size_bytes().saturating_mul(sample.0) / sample.1.max(1);
    document
        .nodes
        .iter()
        .skip(1)
        .zip(counted)
        .map(|(leaf, tokens)| tokens.unwrap_or_else(|| guess(leaf)))
        .collect()
}

/// A row for each leaf, or `None` if there are none for all.
fn dense(document: &Document, rows: Option<&Rows<'_>>) -> Result<Option<Vec<Dense>>> {
    let Some(rows) = rows else { return Ok(None) };
    let mut found: Vec<Dense> = Vec::new();
    for (number, leaf) in document.nodes.iter().filter(|node| node.kind.is_leaf()).enumerate() {
        let Some(row) = rows(number, leaf) else { return Ok(None) };
        let length = found.first().map_or(row.len(), |first| first.0.len());
        if row.len() != length || row.iter().any(|value| !value.is_finite()) {
            return Err(Error::invalid(format!(
                "document {:?}: the vector of leaf {number} has {} values, of which all must be finite and as \
                 many as the {length} of the first",
                document.key,
                row.len()
            )));
        }
        let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        found.push(Dense(row.iter().map(|value| value * scale).collect()));
    }
    Ok(Some(found))
}

/// Sections of groups of leaves, as numbers of leaves; one section, unnamed, if one level of groups is enough.
type Tree = Vec<Vec<std::ops::Range<usize>>>;

fn tree<V: Sum>(vectors: Vec<V>, tokens: &[usize], shorten: impl Fn(&mut V)) -> Tree {
    let limits = Limits {
        want: wanted(vectors.len(), TARGET_ITEMS),
        max_items: MAX_ITEMS,
        max_tokens: MAX_GROUP_TOKENS,
        penalty: SIZE_PENALTY,
    };
    let groups = group(vectors, tokens, limits);
    if groups.len() <= MAX_FLAT_GROUPS {
        return vec![groups.into_iter().map(|group| group.items).collect()];
    }
    // As many groups in a section as sections in the document.
    let target = TARGET_ITEMS.max(groups.len().isqrt());
    let limits = Limits {
        want: wanted(groups.len(), target),
        max_items: target * MAX_ITEMS / TARGET_ITEMS,
        max_tokens: usize::MAX,
        penalty: SIZE_PENALTY * real(TARGET_ITEMS) / real(target),
    };
    let (ranges, sums): (Vec<_>, Vec<V>) = groups
        .into_iter()
        .map(|Group { items, mut sum }| {
            shorten(&mut sum);
            (items, sum)
        })
        .unzip();
    let sections = group(sums, &[], limits);
    sections.into_iter().map(|section| ranges[section.items].to_vec()).collect()
}

/// `items / target`, rounded half to even, at least 1.
fn wanted(items: usize, target: usize) -> usize {
    let (whole, rest) = (items / target, items % target);
    let up = rest * 2 > target || (rest * 2 == target && whole % 2 == 1);
    (whole + usize::from(up)).max(1)
}

/// Keeps the heaviest words of a group, so that sections of many groups stay cheap to compare.
fn keep_heaviest(vector: &mut Sparse) {
    if vector.len() <= MAX_GROUP_WORDS {
        return;
    }
    vector.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    vector.truncate(MAX_GROUP_WORDS);
    vector.sort_unstable_by_key(|(number, _)| *number);
}

/// Puts the leaves, which all lie below the root, into the groups of `tree`.
fn rebuild(document: &mut Document, tree: &Tree, counts: &[Sparse], lexicon: &Lexicon) {
    let groups: usize = tree.iter().map(Vec::len).sum();
    if groups < 2 {
        return;
    }
    let leaves = document.nodes.get(1..).unwrap_or_default();
    let title = |counts: &Sparse, first: usize| {
        extract::title(counts, leaves.get(first).map_or("", |leaf| text_of(document, leaf)), lexicon)
    };
    let open = |nodes: &mut Vec<Node>, parent: u32, title: String| {
        let mut node = Node::new(Some(parent), NodeKind::Section);
        node.title = title;
        nodes.push(node);
        u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
    };
    let mut nodes = Vec::with_capacity(document.nodes.len() + groups + tree.len());
    nodes.extend(document.nodes.first().cloned());
    for section in tree {
        let mut sums: Vec<Sparse> =
            section.iter().map(|group| extract::sum(counts.get(group.clone()).unwrap_or_default())).collect();
        let titles: Vec<String> =
            section.iter().zip(&sums).map(|(group, sum)| title(sum, group.start)).collect();
        let first = section.first().map_or(0, |group| group.start);
        sums.iter_mut().for_each(keep_heaviest);
        let parent = if tree.len() > 1 { open(&mut nodes, 0, title(&extract::sum(&sums), first)) } else { 0 };
        for (group, title) in section.iter().zip(titles) {
            let parent = open(&mut nodes, parent, title);
            let leaves = leaves.get(group.clone()).unwrap_or_default();
            nodes.extend(leaves.iter().cloned().map(|leaf| Node { parent: Some(parent), ..leaf }));
        }
    }
    document.nodes = nodes;
}

/// Writes the summaries from the deepest sections up: a section is summed up from the sentences of its own leaves
/// and the summaries of the sections in it.
fn summarise(document: &mut Document, lexicon: &Lexicon) {
    let mut leaves_below = vec![0_usize; document.nodes.len()];
    let mut children = vec![0_usize; document.nodes.len()];
    for (at, node) in document.nodes.iter().enumerate().rev() {
        leaves_below[at] += usize::from(node.kind.is_leaf());
        if let Some(parent) = node.parent {
            leaves_below[parent as usize] += leaves_below[at];
            children[parent as usize] += 1;
        }
    }
    let mut candidates: Vec<Vec<String>> = vec![Vec::new(); document.nodes.len()];
    let mut visited = vec![0_usize; document.nodes.len()];
    for at in (0..document.nodes.len()).rev() {
        let node = &document.nodes[at];
        if !node.kind.is_leaf() {
            let mut own = std::mem::take(&mut candidates[at]);
            own.reverse();
            if leaves_below[at] > 1 && node.summary.is_empty() {
                let summary = extract::summary(&own, lexicon);
                document.nodes[at].summary = summary;
            }
        }
        let node = &document.nodes[at];
        let Some(parent) = node.parent.map(|parent| parent as usize) else { continue };
        // Of very many children, every so many-th.
        let stride = children[parent].div_ceil(MAX_CANDIDATES).max(1);
        visited[parent] += 1;
        if !visited[parent].is_multiple_of(stride) {
            continue;
        }
        let limit = (MAX_CANDIDATES / children[parent].max(1)).max(1);
        let text = match node.kind {
            NodeKind::Text => text_of(document, node),
            NodeKind::Section => node.summary.as_str(),
            _ => continue,
        };
        let mut sentences: Vec<String> = extract::candidates(text, limit).collect();
        sentences.reverse();
        candidates[parent].append(&mut sentences);
    }
}

#[cfg(test)]
mod tests;
