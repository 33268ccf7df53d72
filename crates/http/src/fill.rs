//! Filling in: the values of one call, put where a template names them, in one pass.

use std::borrow::Cow;

use haft_core::text::{Part, Text, Variable};
use haft_core::{CallContext, CallError, Message, SecretRef, Violation};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::markers::Markers;

haft_core::templates! {
    NEEDED_IN_PATH = "http.neededInPath",
        "is required: the path of the URL holds it",
        "必填：URL 路径中用到了它";
    NEEDED_IN_TEXT = "http.neededInText",
        "is required: it is part of a longer text",
        "必填：它是一段文本的一部分";
    EMPTY_IN_PATH = "http.emptyInPath",
        "must not be empty: the path of the URL would be another",
        "不能为空：否则 URL 路径会改变";
    DOTS_IN_PATH = "http.dotsInPath",
        "must not be . or .. in the path of a URL",
        "在 URL 路径中不能是 . 或 ..";
    CONTROL_IN_HEADER = "http.controlInHeader",
        "holds a control character, which a header cannot",
        "含有控制字符，不能放入请求头";
}

/// The values of one call, and what was wrong with them so far.
pub(crate) struct Filling<'a> {
    arguments: &'a Value,
    context: &'a CallContext,
    secrets: InPlaceOfSecrets<'a>,
    violations: Vec<Violation>,
}

/// What stands where a secret belongs.
#[derive(Clone, Copy)]
enum InPlaceOfSecrets<'a> {
    /// Their values, in a call.
    Values,
    /// Their names, in a dry run.
    Names,
    /// What is found again, in a command.
    Markers(&'a Markers),
}

impl<'a> Filling<'a> {
    pub(crate) fn to_send(arguments: &'a Value, context: &'a CallContext) -> Self {
        Self { arguments, context, secrets: InPlaceOfSecrets::Values, violations: Vec::new() }
    }

    pub(crate) fn to_show(arguments: &'a Value, context: &'a CallContext) -> Self {
        Self { arguments, context, secrets: InPlaceOfSecrets::Names, violations: Vec::new() }
    }

    pub(crate) fn to_copy(arguments: &'a Value, context: &'a CallContext, markers: &'a Markers) -> Self {
        Self { arguments, context, secrets: InPlaceOfSecrets::Markers(markers), violations: Vec::new() }
    }

    pub(crate) fn shows_names(&self) -> bool {
        matches!(self.secrets, InPlaceOfSecrets::Names)
    }

    /// Somebody will see it: a credential that is written out must not stand in it.
    pub(crate) fn is_seen(&self) -> bool {
        !matches!(self.secrets, InPlaceOfSecrets::Values)
    }

    pub(crate) fn arguments(&self) -> &'a Value {
        self.arguments
    }

    pub(crate) fn context(&self) -> &'a CallContext {
        self.context
    }

    /// The value of a variable. Null is one.
    pub(crate) fn value(&self, variable: &Variable) -> Option<Cow<'a, Value>> {
        if variable.is_reserved() {
            // Whoever only looks is shown the name: an address that is given out is of use once.
            let callback = if self.is_seen() { Some("{{callbackUrl}}") } else { self.context.callback_url() };
            return variable.of_call(self.context.call_id(), callback).map(Cow::Owned);
        }
        variable.find(self.arguments).map(Cow::Borrowed)
    }

    /// The text of a variable inside a longer text; what is absent is told and nothing stands for it.
    pub(crate) fn text_of(
        &mut self,
        variable: &Variable,
        needed: &'static haft_core::Template,
    ) -> Cow<'a, str> {
        match self.value(variable) {
            None => {}
            Some(Cow::Borrowed(Value::Null)) => {}
            Some(Cow::Borrowed(value)) => return as_text(value),
            Some(Cow::Owned(value)) => return Cow::Owned(as_text(&value).into_owned()),
        }
        self.wrong(variable, needed);
        Cow::Borrowed("")
    }

    /// The value of a secret, or what stands for it.
    pub(crate) fn secret(&self, secret: &SecretRef) -> String {
        match self.secrets {
            InPlaceOfSecrets::Names => secret.to_string(),
            InPlaceOfSecrets::Markers(markers) => markers.marker(secret),
            // The engine has revealed every secret the tool named, or not begun the call.
            InPlaceOfSecrets::Values => {
                let value = self.context.secret(secret);
                value.map(|value| value.expose_secret().trim().to_owned()).unwrap_or_default()
            }
        }
    }

    /// A text with everything filled in as it is.
    pub(crate) fn text(&mut self, text: &Text) -> String {
        let mut filled = String::new();
        for part in text.parts() {
            match part {
                Part::Plain(plain) => filled.push_str(plain),
                Part::Variable(variable) => filled.push_str(&self.text_of(variable, &NEEDED_IN_TEXT)),
                Part::Secret(secret) => filled.push_str(&self.secret(secret)),
            }
        }
        filled
    }

    pub(crate) fn wrong(&mut self, variable: &Variable, template: &'static haft_core::Template) {
        let violation = Violation::new(variable.to_string(), Message::new(template));
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// The first variable that has no value.
    pub(crate) fn first_wrong(&self) -> Option<&str> {
        self.violations.first().map(|violation| violation.path.as_str())
    }

    /// Nothing is sent when anything was wrong.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        if self.violations.is_empty() { Ok(()) } else { Err(CallError::invalid(self.violations.clone())) }
    }
}

/// A value as text: strings as they are, the rest as JSON.
pub(crate) fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}
