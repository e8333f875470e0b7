//! Ranked leaves for a question, by words, by vectors, or by both.

use std::time::Duration;
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::db::ReadTransaction;
use crate::error::Error;
use crate::error::Result;
use crate::ids::NodeId;
use crate::query::evidence::Evidence;
use crate::query::filter::Filter;
use crate::query::fuse::Rrf;
use crate::query::leaves::leaf_evidence;
use crate::query::scope::Question;
use crate::text::FieldWeights;
use crate::text::Highlighter;
use crate::text::Query;
use crate::text::SearchOptions;
use crate::text::WeightedTerm;

/// Leaves that each list brings to a fusion, at least.
const LEAST_FUSED: usize = 100;

/// What a search compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SearchMode {
    /// Words: BM25 over each leaf and its headings.
    Text,
    /// Vectors, every one of them: the result is exact.
    Dense,
    /// Both lists, fused by [`Rrf`].
    Hybrid,
}

impl SearchMode {
    /// The mode's name: `text`, `dense`, `hybrid`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Dense => "dense",
            Self::Hybrid => "hybrid",
        }
    }
}

/// A search for leaves, without a budget.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Search {
    /// What is compared; `None` for both if the question has a vector, else for words.
    pub mode: Option<SearchMode>,
    /// Most leaves found.
    pub limit: usize,
    /// Which leaves may be found. Statistics of words are those of all leaves all the same.
    pub filter: Filter,
    /// What is looked for by words, in place of the words of the question.
    #[serde(default)]
    pub query: Option<Query>,
    /// What a word in a leaf's own text counts, and what one in the titles above it.
    #[serde(default)]
    pub weights: FieldWeights,
    /// How long a search by words may take.
    #[serde(default)]
    pub time_limit: Option<Duration>,
    /// Threads that compare vectors; at least 1. The result does not depend on it.
    pub threads: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            mode: None,
            limit: 10,
            filter: Filter::default(),
            query: None,
            weights: FieldWeights::default(),
            time_limit: None,
            threads: 1,
        }
    }
}

/// A leaf that was found.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Hit {
    /// The leaf.
    pub node: NodeId,
    /// Higher is better: BM25, similarity or fused score, by the mode; comparable within one search only.
    pub score: f32,
    /// Where it stands in the list by words, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Place>,
    /// Where it stands in the list by vectors, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<Place>,
}

/// A place in one list.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Place {
    /// From 1.
    pub rank: usize,
    /// The list's own score.
    pub score: f32,
}

impl Search {
    /// The mode in which `question` is searched for.
    #[must_use]
    pub fn mode_for(&self, question: Question<'_>) -> SearchMode {
        let both = if question.vector.is_some() { SearchMode::Hybrid } else { SearchMode::Text };
        self.mode.unwrap_or(both)
    }

    /// The leaves found for `question`, best first, ties to the lower id.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the mode compares vectors and the question has none, or one that does not fit its space;
    /// `NotFound` if the space, a document or a node of the filter is not there; `Corrupt`; `Io`.
    ///
    /// # Complexity
    ///
    /// Linear in the leaves of the file; by vectors, in those of the blocks the filter touches.
    pub fn run(&self, read: &ReadTransaction, question: Question<'_>) -> Result<Vec<Hit>> {
        let allowed = self.filter.nodes(read)?;
        let allowed = allowed.as_ref();
        let mode = self.mode_for(question);
        let depth = if mode == SearchMode::Hybrid { self.limit.max(LEAST_FUSED) } else { self.limit };
        let text: Vec<(NodeId, f32)> = if mode == SearchMode::Dense {
            Vec::new()
        } else {
            self.by_words(read, question, &self.options(allowed, depth))?
        };
        let dense =
            if mode == SearchMode::Text { Vec::new() } else { self.dense(read, question, allowed, depth)? };
        let nodes = |list: &[(NodeId, f32)]| list.iter().map(|(node, _)| *node).collect::<Vec<_>>();
        let (by_text, by_dense) = (nodes(&text), nodes(&dense));
        let ranked: Vec<(NodeId, f32)> = match mode {
            SearchMode::Text => text.clone(),
            SearchMode::Dense => dense.clone(),
            SearchMode::Hybrid => {
                let fused = Rrf::default().fuse(&[&by_text, &by_dense], self.limit);
                fused.into_iter().map(|hit| (hit.node, hit.score)).collect()
            }
        };
        let hits = ranked.into_iter().map(|(node, score)| Hit {
            node,
            score,
            text: place(&text, node),
            dense: place(&dense, node),
        });
        Ok(hits.collect())
    }

    /// How many leaves match by words, which is how many `run` finds without a limit in mode `Text`.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run), and those of [`TextIndex::count`](crate::text::TextIndex::count).
    pub fn count(&self, read: &ReadTransaction, question: Question<'_>) -> Result<u64> {
        let allowed = self.filter.nodes(read)?;
        let Some(query) = self.words(question) else { return Ok(0) };
        read.text_index().count(&query, read.analyzers(), &self.options(allowed.as_ref(), 0))
    }

    /// What marks the words of `question`, or those of the search's query, in the texts of what is found.
    ///
    /// # Errors
    ///
    /// Those of [`TextIndex::highlighter`](crate::text::TextIndex::highlighter).
    pub fn highlighter(&self, read: &ReadTransaction, question: Question<'_>) -> Result<Highlighter> {
        let Some(query) = self.words(question) else { return Ok(Highlighter::default()) };
        read.text_index().highlighter(&query, read.analyzers(), &self.options(None, 0))
    }

    /// What is looked for by words, if it is anything.
    fn words(&self, question: Question<'_>) -> Option<Query> {
        let words = || Some(Query::Words(question.text.to_owned())).filter(|_| !question.text.is_empty());
        self.query.clone().or_else(words)
    }

    fn options<'a>(&self, filter: Option<&'a RoaringBitmap>, limit: usize) -> SearchOptions<'a> {
        // A limit beyond what clocks can say is none.
        let deadline = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        SearchOptions { filter, limit, weights: self.weights, deadline, ..SearchOptions::default() }
    }

    fn by_words(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        options: &SearchOptions<'_>,
    ) -> Result<Vec<(NodeId, f32)>> {
        let index = read.text_index();
        let found = if let Some(query) = &self.query {
            index.query(query, read.analyzers(), options)?
        } else {
            let terms = read.analyzers().distinct_terms(question.text);
            let terms: Vec<WeightedTerm<'_>> = terms.iter().map(|term| WeightedTerm::new(term)).collect();
            index.search_any(&terms, options)?
        };
        Ok(found.into_iter().map(|hit| (hit.node, hit.score)).collect())
    }

    fn dense(
        &self,
        read: &ReadTransaction,
        question: Question<'_>,
        allowed: Option<&RoaringBitmap>,
        depth: usize,
    ) -> Result<Vec<(NodeId, f32)>> {
        let Some(given) = question.vector else {
            return Err(Error::invalid("the search compares vectors and the question has none"));
        };
        let space = read.expect_space(given.space)?;
        let flat = space.flat()?;
        let query = flat.query(given.vector)?;
        let deleted = read.text_index().deleted();
        let found = flat.search(&query, allowed, deleted, depth, self.threads)?;
        Ok(found.into_iter().map(|hit| (hit.node, hit.score)).collect())
    }
}

fn place(list: &[(NodeId, f32)], node: NodeId) -> Option<Place> {
    let index = list.iter().position(|(other, _)| *other == node)?;
    list.get(index).map(|(_, score)| Place { rank: index + 1, score: *score })
}

impl Hit {
    /// The leaf with its text, its place in its document, and what its score is made of.
    ///
    /// # Errors
    ///
    /// `NotFound` if `read` is of a state without it; `Corrupt`; `Io`.
    pub fn evidence(&self, read: &ReadTransaction) -> Result<Evidence> {
        let parts = [("text", self.text), ("dense", self.dense)];
        let parts = parts.into_iter().filter_map(|(name, place)| place.map(|place| (name, place.score)));
        leaf_evidence(read, self.node, self.score, parts.collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use crate::db::Database;
    use crate::ids::Span;
    use crate::query::QuestionVector;
    use crate::tree::Document;
    use crate::tree::Node;
    use crate::tree::NodeKind;
    use crate::vector::Metric;

    /// Nodes: 1 document a (2 text "the border", 3 table "a table of rivers"), 4 document b in Chinese
    /// (5 section "Rivers" (6 text "the longest river")). Vectors of 2, 3, 6: east, north, north-east.
    pub fn two_documents() -> Database {
        let leaf =
            |parent, kind, start, end| Node { span: Span::new(start, end), ..Node::new(Some(parent), kind) };
        let mut a = Document::new("a", "A");
        a.text = "the border\na table of rivers".into();
        a.nodes.extend([leaf(0, NodeKind::Text, 0, 10), leaf(0, NodeKind::Table, 11, 28)]);
        let mut b = Document::new("b", "B");
        b.text = "the longest river".into();
        b.language = Some("zh".into());
        b.nodes.push(Node { title: "Rivers".into(), ..Node::new(Some(0), NodeKind::Section) });
        b.nodes.push(leaf(1, NodeKind::Text, 0, 17));
        let database = Database::in_memory().expect("memory");
        let mut write = database.begin_write().expect("a writer");
        let space = write.open_space("plane", 2, Metric::Cosine, "by hand").expect("a new space");
        for (document, rows) in [(&a, &[1.0, 0.0, 0.0, 1.0][..]), (&b, &[1.0, 1.0])] {
            let id = write.insert_document(document).expect("a sound document");
            write.put_leaf_vectors(space, document, id, rows).expect("as many rows as leaves");
        }
        write.commit().expect("memory");
        database
    }

    fn nodes(search: &Search, text: &str, vector: Option<&[f32]>) -> Vec<u32> {
        let database = two_documents();
        let read = database.begin_read().expect("a state");
        let vector = vector.map(|vector| QuestionVector { space: "plane", vector });
        let hits = search.run(&read, Question { text, vector }).expect("a sound question");
        hits.iter().map(|hit| hit.node.get()).collect()
    }

    #[test]
    fn words_are_found_in_leaves_and_their_headings_and_vectors_everywhere() {
        let by = |mode| Search { mode: Some(mode), ..Search::default() };

        assert_eq!(nodes(&by(SearchMode::Text), "border", None), [2]);
        assert_eq!(nodes(&by(SearchMode::Text), "river", None), [6, 3]);
        assert_eq!(nodes(&by(SearchMode::Dense), "", Some(&[0.0, 2.0])), [3, 6, 2]);
    }

    #[test]
    fn both_lists_are_fused_if_there_is_a_vector() {
        // By words 6, 3; by vectors 2, 6, 3: 6 has 1/61 + 1/62, 3 has 1/62 + 1/63, 2 has 1/61.
        let search = Search::default();

        assert_eq!(nodes(&search, "river", Some(&[1.0, 0.1])), [6, 3, 2]);
        assert_eq!(nodes(&search, "river", None), [6, 3]);
        assert_eq!(nodes(&Search { limit: 1, ..search }, "river", Some(&[1.0, 0.1])), [6]);
    }

    #[test]
    fn a_query_takes_the_place_of_the_words_of_the_question() {
        let search = |query: &str| Search { query: Query::parse(query).ok(), ..Search::default() };

        assert_eq!(nodes(&search("river*"), "border", None), [6, 3]);
        assert_eq!(nodes(&search("+rivers -table"), "", None), [6]);
        assert_eq!(nodes(&search("title:river OR bordr~1"), "", None), [2, 6]);
        assert_eq!(nodes(&search("\"longest river\""), "border", Some(&[1.0, 0.0])), [6, 2, 3]);
    }

    #[test]
    fn matches_are_counted_whatever_the_limit() {
        let database = two_documents();
        let read = database.begin_read().expect("a state");
        let search = Search { limit: 1, ..Search::default() };
        let count =
            |search: &Search, text| search.count(&read, Question { text, vector: None }).expect("sound");

        assert_eq!((count(&search, "river"), count(&search, "")), (2, 0));
        let tables = Filter { kinds: vec![NodeKind::Table], ..Filter::default() };
        assert_eq!(count(&Search { query: Some(Query::Everything), filter: tables, ..search }, ""), 1);
    }

    #[test]
    fn a_search_of_one_field_finds_nothing_by_the_other() {
        let by = |body, title| Search { weights: FieldWeights { body, title }, ..Search::default() };

        assert_eq!(nodes(&by(1.0, 0.0), "rivers", None), [3, 6]);
        assert_eq!(nodes(&by(0.0, 1.0), "rivers", None), [6]);
    }

    #[test]
    fn a_filter_narrows_both_lists() {
        let filter = Filter { kinds: vec![NodeKind::Table], ..Filter::default() };

        assert_eq!(nodes(&Search { filter, ..Search::default() }, "river", Some(&[1.0, 0.0])), [3]);
    }

    #[test]
    fn a_hit_tells_its_place_in_each_list_and_in_the_document() {
        let database = two_documents();
        let read = database.begin_read().expect("a state");
        let vector = Some(QuestionVector { space: "plane", vector: &[1.0, 0.1] });

        let hits =
            Search::default().run(&read, Question { text: "longest", vector }).expect("a sound question");
        let evidence = hits[0].evidence(&read).expect("it is there");

        assert_eq!((hits[0].text.map(|p| p.rank), hits[0].dense.map(|p| p.rank)), (Some(1), Some(2)));
        assert_eq!((hits[1].text, hits[1].dense.map(|p| p.rank)), (None, Some(1)));
        assert_eq!((evidence.key.as_str(), evidence.text.as_str()), ("b", "the longest river"));
        assert_eq!(evidence.heading_path, ["Rivers"]);
    }

    #[test]
    fn a_dense_search_without_a_vector_is_refused() {
        let database = two_documents();
        let read = database.begin_read().expect("a state");
        let search = Search { mode: Some(SearchMode::Dense), ..Search::default() };

        let error = search.run(&read, Question { text: "river", vector: None }).expect_err("no vector");

        assert_eq!(error.kind(), crate::error::ErrorKind::InvalidInput);
    }
}
