//! A language model that says what it was told to say. For tests, ours and yours.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::Completion;
use super::LanguageModel;
use super::Prompt;
use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::Result;

/// Answers prompts in order from a script, and remembers them. Beyond its script it fails.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    script: Mutex<VecDeque<Option<String>>>,
    prompts: Mutex<Vec<Prompt>>,
}

impl ScriptedModel {
    /// A model that gives `answers` one after the other.
    pub fn new(answers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let script = answers.into_iter().map(|answer| Some(answer.into())).collect();
        Self { script: Mutex::new(script), prompts: Mutex::default() }
    }

    /// The same model, failing once after what it has been told so far.
    #[must_use]
    pub fn then_failing(self) -> Self {
        self.script.lock().push_back(None);
        self
    }

    /// The same model, giving `answer` after what it has been told so far.
    #[must_use]
    pub fn then(self, answer: impl Into<String>) -> Self {
        self.script.lock().push_back(Some(answer.into()));
        self
    }

    /// The prompts it was given, in order.
    #[must_use]
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().clone()
    }
}

impl LanguageModel for ScriptedModel {
    /// The next answer; its usage is counted in white-space words.
    fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        self.prompts.lock().push(prompt.clone());
        let words = |text: &str| text.split_whitespace().count();
        match self.script.lock().pop_front() {
            Some(Some(text)) => Ok(Completion {
                prompt_tokens: words(&prompt.system) + words(&prompt.user),
                completion_tokens: words(&text),
                text,
            }),
            Some(None) => Err(Error::new(ErrorKind::Model, "the script says to fail here")),
            None => Err(Error::new(ErrorKind::Model, "the script has ended")),
        }
    }

    fn name(&self) -> &'static str {
        "scripted"
    }
}
