//! From a ranking to evidence that costs at most its budget.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::error::Result;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::model::TokenCounter;
use crate::query::budget::Budget;
use crate::query::evidence::Cut;
use crate::query::evidence::CutReason;
use crate::query::evidence::Evidence;
use crate::query::evidence::EvidenceList;
use crate::query::render::Format;
use crate::query::render::Headings;

/// A leaf that may be packed: what choosing needs to know, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The leaf.
    pub node: NodeId,
    /// Its document.
    pub document: DocumentId,
    /// Where its document stands in the rendered string, lower first; equal ones go by document id. 0 for all
    /// is the order of the file.
    pub order: u32,
    /// The node whose child it is.
    pub section: NodeId,
    /// Tokens of its text.
    pub tokens: usize,
    /// Bytes of its text.
    pub bytes: usize,
}

/// Where packing gets what costs a read: the file, or a test's map.
pub trait EvidenceSource {
    /// Titles above `candidate`: the document's, then those of the sections around it, outermost first. Asked
    /// once per section, only when a leaf of it fits.
    ///
    /// # Errors
    ///
    /// Whatever reading reports.
    fn headings(&self, candidate: &Candidate) -> Result<(String, Vec<String>)>;

    /// The item with its text. Asked once per chosen candidate.
    ///
    /// # Errors
    ///
    /// Whatever reading reports.
    fn evidence(&self, candidate: &Candidate) -> Result<Evidence>;
}

/// What happens when a candidate does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnOverflow {
    /// It is left out and the next is tried.
    #[default]
    Skip,
    /// Packing ends.
    Stop,
}

/// How evidence is packed.
///
/// Candidates are taken greedily in rank order by additive costs: a leaf's tokens, a heading line's tokens when
/// a section is first used, a separator between blocks. Then the whole string is rendered and counted; while it
/// is over budget the lowest-ranked items go (as many as hold half the excess, at least one). So the result is
/// within its budget whatever the counter does, and its items are those of a prefix of the greedy choice.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2: ordered truncation; skipping what does not fit: its v1 reimplementation.
/// Departure: skipping is the default, as it wins where budgets are small. Departure: the reimplementation
/// returns the best chunk, flagged, when none fits; here a budget is a promise, and the list is empty with a
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Packing {
    /// What happens when a candidate does not fit.
    pub on_overflow: OnOverflow,
    /// How the string is made.
    pub format: Format,
    /// Skips in a row after which packing ends. A skip costs a comparison, at worst a heading's read.
    pub limit_skips: usize,
    /// Packing ends at the first candidate that does not fit when fewer tokens than this are left.
    pub least_tokens: usize,
}

impl Default for Packing {
    fn default() -> Self {
        Self {
            on_overflow: OnOverflow::default(),
            format: Format::default(),
            limit_skips: 1_000,
            least_tokens: 8,
        }
    }
}

/// Costs so far, or of one candidate.
#[derive(Clone, Copy, Default)]
struct Cost {
    tokens: usize,
    bytes: usize,
}

impl Cost {
    fn of(text: &str, counter: &dyn TokenCounter) -> Self {
        let tokens = if text.is_empty() { 0 } else { counter.count(text) };
        Self { tokens, bytes: text.len() }
    }

    // Saturating: a counter may answer anything, and at the top nothing fits.
    fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Packing {
    /// The evidence of `ranked` that fits `budget`.
    ///
    /// * `ranked`: best first. A leaf that comes twice counts where it first stands; one without text is passed
    ///   over.
    /// * `counter`: the one that counted the candidates' tokens; if not, the result is still within the budget.
    /// * returns: items by (`order`, document, node); `spent <= budget.tokens`, where `spent` is what `counter`
    ///   says of the whole string, and 0 for no items.
    ///
    /// # Errors
    ///
    /// Whatever `source` reports. That nothing fits is no error.
    pub fn pack(
        &self,
        ranked: &[Candidate],
        budget: Budget,
        counter: &dyn TokenCounter,
        source: &dyn EvidenceSource,
    ) -> Result<EvidenceList> {
        let Choice { mut chosen, mut cut, reached } = self.choose(ranked, budget, counter, source)?;
        let mut items = Vec::with_capacity(chosen.len());
        for rank in &chosen {
            items.push(source.evidence(&ranked[*rank])?);
        }
        // `chosen` and `items` run in rank order; `reading` holds their indexes as the string has them.
        let (text, spent, reading) = loop {
            let mut reading: Vec<usize> = (0..items.len()).collect();
            reading.sort_by_key(|index| {
                let candidate = &ranked[chosen[*index]];
                (candidate.order, candidate.document, candidate.node)
            });
            let text = self.format.render(reading.iter().map(|index| &items[*index]));
            let spent = if items.is_empty() { 0 } else { counter.count(&text) };
            if items.is_empty() || budget.admits(spent, text.len(), items.len()) {
                break (text, spent, reading);
            }
            let excess = spent.saturating_sub(budget.tokens);
            let mut freed = 0_usize;
            while let (Some(rank), Some(_)) = (chosen.pop(), items.pop()) {
                let Candidate { node, tokens, .. } = ranked[rank];
                cut.push((rank, Cut { node, tokens, reason: CutReason::Exact }));
                freed = freed.saturating_add(tokens);
                if freed >= excess / 2 {
                    break;
                }
            }
        };
        cut.sort_by_key(|(rank, _)| *rank);
        let cut: Vec<Cut> = cut.into_iter().map(|(_, cut)| cut).collect();
        let reason = items.is_empty().then(|| match cut.iter().map(|cut| cut.tokens).min() {
            Some(least) => format!(
                "none of {} candidates fits {budget}: the smallest takes {least} tokens without its heading",
                cut.len()
            ),
            None if ranked.is_empty() => "no candidates".into(),
            None => format!("{budget} leaves room for nothing"),
        });
        let mut slots: Vec<Option<Evidence>> = items.into_iter().map(Some).collect();
        let items = reading.into_iter().filter_map(|index| slots.get_mut(index)?.take()).collect();
        Ok(EvidenceList { items, text, spent, budget, cut, unreached: ranked.len() - reached, reason })
    }

    /// The greedy choice by additive costs.
    fn choose(
        &self,
        ranked: &[Candidate],
        budget: Budget,
        counter: &dyn TokenCounter,
        source: &dyn EvidenceSource,
    ) -> Result<Choice> {
        let separator = Cost::of(&self.format.separator, counter);
        let mut headings: BTreeMap<NodeId, Option<Cost>> = BTreeMap::new();
        let mut used_sections = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut spent = Cost::default();
        let mut skips = 0;
        let mut choice = Choice { chosen: Vec::new(), cut: Vec::new(), reached: ranked.len() };
        for (rank, candidate) in ranked.iter().enumerate() {
            if budget.limit_nodes.is_some_and(|limit| choice.chosen.len() >= limit) {
                choice.reached = rank;
                break;
            }
            if (candidate.tokens == 0 && candidate.bytes == 0) || !seen.insert(candidate.node) {
                continue;
            }
            let fits = |cost: Cost| budget.admits(cost.tokens, cost.bytes, choice.chosen.len() + 1);
            let mut after = spent.plus(Cost { tokens: candidate.tokens, bytes: candidate.bytes });
            if !choice.chosen.is_empty() {
                after = after.plus(separator);
            }
            let mut reason = (!fits(after)).then_some(CutReason::Text);
            if reason.is_none() && !used_sections.contains(&candidate.section) {
                let known = headings.get(&candidate.section).copied();
                let heading = match known {
                    Some(known) => known,
                    None => self.heading_cost(candidate, counter, source)?,
                };
                headings.insert(candidate.section, heading);
                if let Some(heading) = heading {
                    after = after.plus(heading).plus(separator);
                    reason = (!fits(after)).then_some(CutReason::Heading);
                }
            }
            let Some(reason) = reason else {
                used_sections.insert(candidate.section);
                choice.chosen.push(rank);
                spent = after;
                skips = 0;
                continue;
            };
            choice.cut.push((rank, Cut { node: candidate.node, tokens: candidate.tokens, reason }));
            skips += 1;
            let left = budget.tokens.saturating_sub(spent.tokens);
            if self.on_overflow == OnOverflow::Stop || left < self.least_tokens || skips >= self.limit_skips {
                choice.reached = rank + 1;
                break;
            }
        }
        Ok(choice)
    }

    fn heading_cost(
        &self,
        candidate: &Candidate,
        counter: &dyn TokenCounter,
        source: &dyn EvidenceSource,
    ) -> Result<Option<Cost>> {
        if self.format.headings == Headings::None {
            return Ok(None);
        }
        let (title, path) = source.headings(candidate)?;
        Ok(self.format.heading_line(&title, &path).map(|line| Cost::of(&line, counter)))
    }
}

struct Choice {
    /// Indexes into the ranking, ascending.
    chosen: Vec<usize>,
    /// With the index into the ranking.
    cut: Vec<(usize, Cut)>,
    /// Candidates looked at.
    reached: usize,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::Span;

    use crate::tree::NodeKind;

    /// Counts in one of several ways, kind and nasty.
    #[derive(Debug, Clone, Copy)]
    enum Counter {
        Words,
        Characters,
        ConstantPerCall(usize),
        SuperAdditive,
        Endless,
    }

    impl TokenCounter for Counter {
        fn count(&self, text: &str) -> usize {
            match self {
                Self::Words => text.split_whitespace().count(),
                Self::Characters => text.chars().count(),
                Self::ConstantPerCall(tokens) => *tokens,
                Self::SuperAdditive => text.len() * text.len() / 8,
                Self::Endless => usize::MAX,
            }
        }

        fn fingerprint(&self) -> &'static str {
            "test"
        }
    }

    /// Leaf `i` reads "w w .. w" (`words[i].0` of them) in section `words[i].1` of document `section / 3 + 1`.
    struct Shelf {
        words: Vec<(usize, u32)>,
        fetched: Cell<usize>,
    }

    impl Shelf {
        fn new(words: &[(usize, u32)]) -> Self {
            Self { words: words.to_vec(), fetched: Cell::new(0) }
        }

        fn text(&self, leaf: usize) -> String {
            vec!["w"; self.words[leaf].0].join(" ")
        }

        fn candidates(&self, counter: Counter) -> Vec<Candidate> {
            let candidate = |leaf: usize| Candidate {
                node: NodeId(u32::try_from(leaf).expect("few") + 100),
                document: DocumentId(self.words[leaf].1 / 3 + 1),
                order: 0,
                section: NodeId(self.words[leaf].1 + 1),
                tokens: counter.count(&self.text(leaf)),
                bytes: self.text(leaf).len(),
            };
            (0..self.words.len()).map(candidate).collect()
        }
    }

    impl EvidenceSource for Shelf {
        fn headings(&self, candidate: &Candidate) -> Result<(String, Vec<String>)> {
            Ok((format!("Title {}", candidate.document), vec![format!("S{}", candidate.section)]))
        }

        fn evidence(&self, candidate: &Candidate) -> Result<Evidence> {
            self.fetched.set(self.fetched.get() + 1);
            let (title, heading_path) = self.headings(candidate)?;
            Ok(Evidence {
                document: candidate.document,
                key: "k".into(),
                title,
                heading_path,
                section: candidate.section,
                node: candidate.node,
                kind: NodeKind::Text,
                span: Span::default(),
                page: None,
                id: None,
                text: self.text(candidate.node.index() - 100),
                tokens: candidate.tokens,
                score: 1.0,
                parts: Vec::new(),
            })
        }
    }

    fn nodes(list: &EvidenceList) -> Vec<u32> {
        list.items.iter().map(|item| item.node.0 - 100).collect()
    }

    fn bare(on_overflow: OnOverflow) -> Packing {
        Packing { on_overflow, format: Format::bare(), ..Packing::default() }
    }

    #[test]
    fn skipping_goes_on_with_smaller_leaves_and_stopping_does_not() {
        let shelf = Shelf::new(&[(10, 0), (25, 0), (9, 0)]);
        let ranked = shelf.candidates(Counter::Words);

        let pack = |on_overflow| {
            bare(on_overflow).pack(&ranked, Budget::tokens(20), &Counter::Words, &shelf).expect("packs")
        };
        let (skip, stop) = (pack(OnOverflow::Skip), pack(OnOverflow::Stop));

        // 10, then 25 does not fit 10, then 9.
        assert_eq!((nodes(&skip), skip.spent, skip.unreached), (vec![0, 2], 19, 0));
        assert_eq!((nodes(&stop), stop.spent, stop.unreached), (vec![0], 10, 1));
        assert_eq!(skip.cut, [Cut { node: NodeId(101), tokens: 25, reason: CutReason::Text }]);
    }

    #[test]
    fn packing_ends_when_fewer_than_eight_tokens_are_left() {
        let shelf = Shelf::new(&[(13, 0), (25, 0), (1, 0)]);
        let ranked = shelf.candidates(Counter::Words);

        let list = bare(OnOverflow::Skip).pack(&ranked, Budget::tokens(20), &Counter::Words, &shelf);

        // 7 are left when 25 does not fit: the leaf of one word is not reached, as in the prototype.
        let list = list.expect("packs");
        assert_eq!((nodes(&list), list.unreached), (vec![0], 1));
        assert_eq!(shelf.fetched.get(), 1);
    }

    #[test]
    fn headings_are_paid_once_per_section_and_shown_once_per_run() {
        let shelf = Shelf::new(&[(2, 1), (2, 0), (2, 0)]);
        let ranked = shelf.candidates(Counter::Words);

        let list =
            Packing::default().pack(&ranked, Budget::tokens(99), &Counter::Words, &shelf).expect("packs");

        assert_eq!(list.text, "# Title 1 > S2\n\nw w\n\n# Title 1 > S1\n\nw w\n\nw w");
        // Two headings of 5 words (#, Title, 1, >, S2) and three leaves of 2.
        assert_eq!(list.spent, 16);
        // 5 + 2 for the first, 2 + 5 = 7 > 6 left for the second.
        let list =
            Packing::default().pack(&ranked, Budget::tokens(13), &Counter::Words, &shelf).expect("packs");
        assert_eq!((nodes(&list), list.spent, list.cut[0].reason), (vec![0], 7, CutReason::Heading));
    }

    #[test]
    fn documents_stand_in_their_given_order_and_leaves_as_they_read() {
        let shelf = Shelf::new(&[(1, 0), (1, 0), (1, 3)]);
        let mut ranked = shelf.candidates(Counter::Words);
        ranked.reverse();
        (ranked[1].order, ranked[2].order) = (1, 1);

        let list = bare(OnOverflow::Skip).pack(&ranked, Budget::tokens(9), &Counter::Words, &shelf);

        assert_eq!(nodes(&list.expect("packs")), [2, 0, 1]);
    }

    #[test]
    fn nothing_that_fits_is_an_empty_list_with_its_reason() {
        let shelf = Shelf::new(&[(30, 0), (25, 0)]);
        let ranked = shelf.candidates(Counter::Words);
        let packing = bare(OnOverflow::Skip);

        let list = packing.pack(&ranked, Budget::tokens(20), &Counter::Words, &shelf).expect("packs");
        let none = packing.pack(&[], Budget::tokens(20), &Counter::Words, &shelf).expect("packs");

        let why = "none of 2 candidates fits 20 tokens: the smallest takes 25 tokens without its heading";
        assert_eq!((list.items.len(), list.spent, list.reason.as_deref()), (0, 0, Some(why)));
        assert_eq!(none.reason.as_deref(), Some("no candidates"));
        assert_eq!(serde_json::to_value(&none).expect("it is JSON")["spent"], 0);
    }

    #[test]
    fn a_leaf_that_comes_twice_is_packed_once() {
        let shelf = Shelf::new(&[(3, 0)]);
        let ranked = shelf.candidates(Counter::Words).repeat(2);

        let list = bare(OnOverflow::Skip).pack(&ranked, Budget::tokens(9), &Counter::Words, &shelf);

        assert_eq!(list.expect("packs").spent, 3);
    }

    fn counters() -> impl Strategy<Value = Counter> {
        prop_oneof![
            Just(Counter::Words),
            Just(Counter::Characters),
            (0_usize..40).prop_map(Counter::ConstantPerCall),
            Just(Counter::SuperAdditive),
            Just(Counter::Endless),
        ]
    }

    proptest! {
        #[test]
        fn no_counter_brings_it_over_any_limit(
            words in proptest::collection::vec((0_usize..12, 0_u32..7), 0..30),
            counter in counters(),
            stored in counters(),
            tokens in 0_usize..300,
            limit_bytes in proptest::option::of(0_usize..200),
            limit_nodes in proptest::option::of(0_usize..6),
            stop: bool,
            headings: bool,
        ) {
            let shelf = Shelf::new(&words);
            let budget = Budget { tokens, limit_bytes, limit_nodes };
            let packing = Packing {
                on_overflow: if stop { OnOverflow::Stop } else { OnOverflow::Skip },
                format: if headings { Format::default() } else { Format::bare() },
                ..Packing::default()
            };

            let list = packing.pack(&shelf.candidates(stored), budget, &counter, &shelf).expect("packs");

            prop_assert!(budget.admits(list.spent, list.text.len(), list.items.len()));
            prop_assert_eq!(&list.text, &packing.format.render(&list.items));
            let counted = if list.items.is_empty() { 0 } else { counter.count(&list.text) };
            prop_assert_eq!(list.spent, counted);
            prop_assert_eq!(list.items.is_empty(), list.reason.is_some());
        }

        /// The prototype's packer, in its own words.
        #[test]
        fn without_headings_it_packs_what_the_prototype_packs(
            words in proptest::collection::vec((1_usize..40, 0_u32..7), 0..60),
            tokens in 0_usize..400,
        ) {
            let shelf = Shelf::new(&words);
            let (mut want, mut used) = (Vec::new(), 0);
            for (leaf, (size, _)) in words.iter().enumerate() {
                if used + size > tokens {
                    if used + 8 > tokens {
                        break;
                    }
                    continue;
                }
                want.push(u32::try_from(leaf).expect("few"));
                used += size;
            }

            let packing = bare(OnOverflow::Skip);
            let ranked = shelf.candidates(Counter::Words);
            let list = packing.pack(&ranked, Budget::tokens(tokens), &Counter::Words, &shelf).expect("packs");

            want.sort_by_key(|leaf| (words[*leaf as usize].1 / 3, *leaf));
            prop_assert_eq!(nodes(&list), want);
            prop_assert_eq!(list.spent, used);
            prop_assert_eq!(list.spent, list.items.iter().map(|item| item.tokens).sum::<usize>());
            prop_assert_eq!(packing.format.headings, Headings::None);
        }
    }
}
