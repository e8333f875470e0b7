//! The exploration path: a language model reads outlines and names ids.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::prompts;
use crate::error::Error;
use crate::error::ErrorKind;
use crate::ids::DocumentId;
use crate::ids::NodeId;
use crate::model::LanguageModel;
use crate::model::Prompt;
use crate::query::Step;
use crate::tree::NodeView;
use crate::tree::Tree;

/// What a model chose. A call that failed chose nothing: the other path carries on.
#[derive(Debug)]
pub struct Choice<Id> {
    /// The ids in the model's order, each once, all of them offered to it.
    pub chosen: Vec<Id>,
    /// Ids it named that were not offered to it, or not for the first time.
    pub dropped: usize,
    /// Things it was offered.
    pub offered: usize,
    /// Tokens it read and wrote, as it counts them.
    pub tokens: usize,
    /// Why the call failed, or why its answer could not be read.
    pub failure: Option<Error>,
}

impl<Id> Choice<Id> {
    /// The choice as a step of a trace, under `name`.
    #[must_use]
    pub fn step(&self, name: &'static str) -> Step {
        let note = match &self.failure {
            Some(failure) => format!("chose nothing: {failure}"),
            None if self.dropped > 0 => format!("{} ids were unknown or named twice", self.dropped),
            None => String::new(),
        };
        Step::new(name, self.offered, self.chosen.len()).spent(self.tokens).note(note)
    }
}

/// What a model sees of a document when it chooses documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentOutline {
    /// The document.
    pub document: DocumentId,
    /// Its title.
    pub title: String,
    /// Its summary; may be empty.
    pub summary: String,
    /// Titles and summaries of its main sections, in document order.
    pub sections: Vec<(String, String)>,
}

impl DocumentOutline {
    /// The outline of a document: its root and the inner nodes just below it.
    ///
    /// # Source
    ///
    /// BEAR, arXiv 2601.18116 v2, prompt A0.3: root and first-level sections. Departure: none.
    #[must_use]
    pub fn new(document: DocumentId, tree: &Tree) -> Self {
        let inner = tree.nodes().filter(|node| !node.is_leaf());
        let mut shallow = inner.filter(|node| node.level() <= 1);
        let own = |node: NodeView<'_>| (node.title().to_owned(), node.summary().to_owned());
        let (title, summary) = shallow.next().map(own).unwrap_or_default();
        Self { document, title, summary, sections: shallow.map(own).collect() }
    }
}

/// What a model sees of an inner node when it chooses nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOutline {
    /// The node.
    pub node: NodeId,
    /// Its document.
    pub document: DocumentId,
    /// Titles from the root to the node.
    pub path: Vec<String>,
    /// Its summary; may be empty.
    pub summary: String,
}

impl NodeOutline {
    /// The outlines of all inner nodes of a document, the root among them, in pre-order.
    ///
    /// # Source
    ///
    /// BEAR, arXiv 2601.18116 v2, prompt A0.4: non-leaf nodes with their paths and summaries. Departure: none.
    #[must_use]
    pub fn of_document(document: DocumentId, tree: &Tree) -> Vec<Self> {
        let inner = tree.nodes().filter(|node| !node.is_leaf());
        let outline = |node: NodeView<'_>| Self {
            node: node.id(),
            document,
            path: tree
                .heading_path(node.id())
                .map(|path| path.into_iter().map(str::to_owned).collect())
                .unwrap_or_default(),
            summary: node.summary().to_owned(),
        };
        inner.map(outline).collect()
    }
}

/// The documents a model chooses for `question`.
///
/// Without outlines the model is not asked.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, procedure A1 and prompt A0.3; ids that were not offered are dropped, and failure
/// is an empty choice, as in the reimplementation of v1.
/// Departure: the words of the prompt are ours; the model ranks by order and gives no number.
pub fn choose_documents(
    model: &dyn LanguageModel,
    question: &str,
    outlines: &[DocumentOutline],
) -> Choice<DocumentId> {
    let mut lines = String::new();
    for outline in outlines {
        line(&mut lines, "", outline.document.0, &outline.title, &outline.summary);
        for (title, summary) in &outline.sections {
            lines.push_str("  - ");
            lines.push_str(&described(title, summary));
            lines.push('\n');
        }
    }
    let offered: Vec<u32> = outlines.iter().map(|outline| outline.document.0).collect();
    ask(model, &prompts::documents(question, &lines), &offered, DocumentId)
}

/// The inner nodes a model chooses for `question`; each stands for its subtree.
///
/// Without outlines the model is not asked.
///
/// # Source
///
/// BEAR, arXiv 2601.18116 v2, prompt A0.4, and as [`choose_documents`].
/// Departure: the words of the prompt are ours; they warn of the paper's known failure, a conclusion chosen in
/// place of its siblings.
pub fn choose_nodes(model: &dyn LanguageModel, question: &str, outlines: &[NodeOutline]) -> Choice<NodeId> {
    let mut lines = String::new();
    let mut document = None;
    for outline in outlines {
        if document != Some(outline.document) {
            document = Some(outline.document);
            let title = outline.path.first().map_or("", String::as_str);
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "Document {} {}", outline.document, one_line(title));
        }
        line(&mut lines, "  ", outline.node.0, &outline.path.join(" > "), &outline.summary);
    }
    let offered: Vec<u32> = outlines.iter().map(|outline| outline.node.0).collect();
    ask(model, &prompts::nodes(question, &lines), &offered, NodeId)
}

fn line(lines: &mut String, indent: &str, id: u32, title: &str, summary: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{indent}[{id}] {}", described(title, summary));
}

fn described(title: &str, summary: &str) -> String {
    match (one_line(title), one_line(summary)) {
        (title, summary) if summary.is_empty() => title,
        (title, summary) if title.is_empty() => summary,
        (title, summary) => format!("{title}: {summary}"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ask<Id>(model: &dyn LanguageModel, prompt: &Prompt, offered: &[u32], id: fn(u32) -> Id) -> Choice<Id> {
    let mut choice =
        Choice { chosen: Vec::new(), dropped: 0, offered: offered.len(), tokens: 0, failure: None };
    if offered.is_empty() {
        return choice;
    }
    let completion = match model.complete(prompt) {
        Ok(completion) => completion,
        Err(error) => {
            choice.failure = Some(error);
            return choice;
        }
    };
    choice.tokens = completion.prompt_tokens.saturating_add(completion.completion_tokens);
    let Some(named) = ids_in(&completion.text) else {
        let why = format!("the answer of {} bytes holds no JSON list", completion.text.len());
        choice.failure = Some(Error::new(ErrorKind::Model, why));
        return choice;
    };
    let known: BTreeSet<u32> = offered.iter().copied().collect();
    let mut seen = BTreeSet::new();
    for named in named {
        match named.filter(|number| known.contains(number) && seen.insert(*number)) {
            Some(number) => choice.chosen.push(id(number)),
            None => choice.dropped += 1,
        }
    }
    choice
}

/// The elements of the first JSON list in `text`, each as the id it names, if it names one; `None` if there is
/// no list.
///
/// An element may be a number, a string with one number in it (`"12"`, `"doc 12"`), or an object with such an
/// `id`, `node_id`, `document_id` or `doc_id`.
fn ids_in(text: &str) -> Option<Vec<Option<u32>>> {
    // Bounded, so that an answer of brackets alone does not take quadratic time.
    const ATTEMPTS: usize = 64;
    let starts = text.match_indices('[').map(|(at, _)| at).take(ATTEMPTS);
    let list = starts.filter_map(|at| {
        let mut values = serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Vec<Value>>();
        values.next()?.ok()
    });
    let list = list.into_iter().next()?;
    Some(list.iter().map(id_of).collect())
}

fn id_of(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => {
            let mut runs = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
            let run = runs.next()?;
            if runs.next().is_some() { None } else { run.parse().ok() }
        }
        Value::Object(fields) => {
            let names = ["id", "node_id", "document_id", "doc_id"];
            let field = names.iter().find_map(|name| fields.get(*name))?;
            if field.is_object() { None } else { id_of(field) }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::scripted::ScriptedModel;
    use crate::tree::expansion::tests::tree;

    fn outlines() -> Vec<NodeOutline> {
        NodeOutline::of_document(DocumentId(1), &tree(10, "(ab)(c(d))"))
    }

    #[test]
    fn the_model_s_order_stands_and_unknown_ids_and_repeats_are_dropped() {
        // 10 root, 11 s1 ( 12 13 ), 14 s2 ( 15 16 s3 ( 17 ) ): leaves are not offered.
        let model = ScriptedModel::new(["Sure: [16, 11, 12, 16, 99]"]);

        let choice = choose_nodes(&model, "why?", &outlines());

        assert_eq!(choice.chosen, [NodeId(16), NodeId(11)]);
        assert_eq!((choice.dropped, choice.offered), (3, 4));
        let prompt = &model.prompts()[0].user;
        let lines = "Sections:\nDocument 1 t\n  [10] t\n  [11] t > s1\n  [14] t > s2\n  [16] t > s2 > s3\n";
        assert!(prompt.starts_with("Question: why?") && prompt.contains(lines), "{prompt}");
    }

    #[test]
    fn documents_are_shown_with_their_main_sections() {
        let model = ScriptedModel::new(["[4]"]);
        let outline = DocumentOutline {
            summary: "on\nones".into(),
            ..DocumentOutline::new(DocumentId(4), &tree(10, "(ab)(c(d))"))
        };

        let choice = choose_documents(&model, "why?", &[outline]);

        assert_eq!(choice.chosen, [DocumentId(4)]);
        let prompt = &model.prompts()[0].user;
        assert!(prompt.contains("Documents:\n[4] t: on ones\n  - s1\n  - s2\n"), "{prompt}");
    }

    #[test]
    fn a_failure_is_an_empty_choice_that_says_why() {
        let model = ScriptedModel::new(["I would read the second one."]).then_failing();

        for _ in 0..2 {
            let choice = choose_nodes(&model, "why?", &outlines());

            assert!(choice.chosen.is_empty());
            assert_eq!(choice.failure.as_ref().map(Error::kind), Some(ErrorKind::Model));
            assert!(choice.step("explore nodes").note.starts_with("chose nothing: "));
        }
    }

    #[test]
    fn an_empty_list_is_an_answer_and_no_outlines_ask_no_question() {
        let model = ScriptedModel::new(["[]"]);

        let nothing = choose_nodes(&model, "why?", &outlines());
        let unasked = choose_nodes(&model, "why?", &[]);

        assert!(nothing.failure.is_none() && nothing.chosen.is_empty());
        assert!(unasked.failure.is_none() && model.prompts().len() == 1);
    }

    #[test]
    fn lists_are_read_leniently() {
        assert_eq!(ids_in("```json\n[\"12\", \"doc-7\", {\"id\": 3, \"relevance\": 0.4}]\n```"), {
            Some(vec![Some(12), Some(7), Some(3)])
        });
        assert_eq!(ids_in("[see below] [1, -1, 2.5, null, \"1-2\", 99999999999]"), {
            Some(vec![Some(1), None, None, None, None, None])
        });
        assert_eq!(ids_in("no list"), None);
        assert_eq!(ids_in(&"[".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn no_answer_panics_or_chooses_what_was_not_offered(answer in "[\\[\\]{}\",:0-9a-z \u{e9}]{0,60}") {
            let choice = choose_nodes(&ScriptedModel::new([answer]), "q", &outlines());

            prop_assert!(choice.chosen.iter().all(|node| [10, 11, 14, 16].contains(&node.0)));
        }
    }
}
