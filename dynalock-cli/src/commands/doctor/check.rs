use anstyle::Style;
use serde_json::{Value, json};

use crate::output::{GREEN, Output, RED, YELLOW, shown};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: State,
    message: String,
    /// The advice for the user, or `None` if the state is `Ok`.
    advice: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    Warning,
    Failed,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: State::Ok, message: message.into(), advice: None }
    }

    pub(super) fn warning(name: &'static str, message: impl Into<String>, advice: &'static str) -> Self {
        Self { name, state: State::Warning, message: message.into(), advice: Some(advice) }
    }

    pub(super) fn failed(name: &'static str, message: impl Into<String>, advice: &'static str) -> Self {
        Self { name, state: State::Failed, message: message.into(), advice: Some(advice) }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "name": self.name, "state": self.state.word(), "message": self.message, "advice": self.advice })
    }
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Ok => GREEN,
            Self::Warning => YELLOW,
            Self::Failed => RED,
        }
    }
}

/// Returns a line for each check, and a line for each piece of advice.
pub(super) fn text(checks: &[Check], output: Output) -> String {
    let names = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for Check { name, state, message, advice } in checks {
        let word = output.paint(state.style(), &format!("{:7}", state.word()));
        lines.push(format!("{word}  {name:names$}  {}\n", shown(message)));
        lines.extend(advice.map(|advice| format!("{:7}  {:names$}  -> {advice}\n", "", "")));
    }
    lines.concat()
}
