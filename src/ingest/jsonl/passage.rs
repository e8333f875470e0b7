//! One line of JSONL: a passage.

use serde_json::Map;
use serde_json::Value;

use crate::tree::Document;

use crate::ingest::outline::clip;
use crate::ingest::outline::collapse;

/// Longest value of an unknown field that may become an attribute of the document, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 200;

/// Longest id, in bytes.
const MAX_ID_BYTES: usize = 1_024;

/// A passage as its line gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub id: String,
    /// Key of its document.
    pub document: String,
    pub title: String,
    pub text: String,
    pub place: Place,
    /// Whether it is a page, and its number; 0 if it is not a number.
    pub page: Option<u32>,
    pub date: Option<String>,
    pub language: Option<String>,
    /// Other fields that are short strings, numbers or truth values, in order of their names.
    pub others: Vec<(String, String)>,
    /// Its number among the passages of the file, from 0.
    pub row: Option<u32>,
}

/// The section of a document that a passage belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Section(String),
    Session(String),
    Page(String),
}

/// What is wrong with a line, and in which column if it is not even JSON.
pub(super) struct Fault {
    pub column: Option<usize>,
    pub message: String,
}

impl Passage {
    /// Reads a line that is not blank; `line` is its number, from 1, and stands in for a missing id.
    pub(super) fn read(bytes: &[u8], line: u64, row: Option<u32>) -> Result<Self, Fault> {
        let fault = |message: String| Fault { column: None, message };
        let text = std::str::from_utf8(bytes).map_err(|error| Fault {
            column: Some(error.valid_up_to() + 1),
            message: "a byte that is not UTF-8; convert the file to UTF-8".into(),
        })?;
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            Fault { column: Some(error.column()), message: format!("not JSON: {message}") }
        })?;
        let Value::Object(mut fields) = value else {
            return Err(fault(format!("{} instead of an object with a \"text\"", kind(&value))));
        };
        let text = match fields.remove("text") {
            Some(Value::String(text)) => text,
            None => return Err(fault("the object has no \"text\"".into())),
            Some(other) => return Err(fault(format!("its \"text\" is {}, not a string", kind(&other)))),
        };
        let id = take(&mut fields, "id").unwrap_or_else(|| line.to_string());
        let document = take(&mut fields, "doc").unwrap_or_else(|| id.clone());
        for (what, string, limit) in [("id", &id, MAX_ID_BYTES), ("doc", &document, Document::MAX_KEY_BYTES)]
        {
            if string.len() > limit {
                return Err(fault(format!("its \"{what}\" has {} bytes, over {limit}", string.len())));
            }
        }
        let title = take(&mut fields, "title").map(|title| collapse(&title)).unwrap_or_default();
        let section = take(&mut fields, "section").map(|section| collapse(&section)).unwrap_or_default();
        let session = take(&mut fields, "session");
        let page = take(&mut fields, "page");
        let number = page.as_ref().map(|page| page.trim().parse().unwrap_or(0));
        let place = match (section.is_empty(), session, page) {
            (false, _, _) => Place::Section(section),
            (true, Some(session), _) => Place::Session(session),
            (true, None, Some(page)) => Place::Page(page),
            (true, None, None) => Place::Nowhere,
        };
        let date = take(&mut fields, "date");
        let language =
            take(&mut fields, "language").or_else(|| take(&mut fields, "lang")).filter(|tag| tag.len() <= 35);
        let others = fields.into_iter().filter_map(|(key, value)| {
            let value = scalar(value)?;
            (key.len() <= MAX_ATTRIBUTE_BYTES && value.len() <= MAX_ATTRIBUTE_BYTES).then_some((key, value))
        });
        let others = others.collect();
        Ok(Self { id, document, title, text, place, page: number, date, language, others, row })
    }

    /// The title of the section the passage belongs to, without what a page's text may add.
    pub(super) fn section_title(&self) -> String {
        match &self.place {
            Place::Nowhere => String::new(),
            Place::Section(section) => section.clone(),
            Place::Page(page) => format!("page {}", collapse(clip(page, 80))),
            Place::Session(session) => {
                let word = if session.to_lowercase().starts_with("session") { "" } else { "session " };
                let date = self.date.as_deref().map(|date| format!(", {date}")).unwrap_or_default();
                collapse(&format!("{word}{session}{date}"))
            }
        }
    }
}

/// Removes `key` and gives it as a string, unless it is empty, null, a list or an object.
fn take(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    fields.remove(key).and_then(scalar)
}

fn scalar(value: Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
