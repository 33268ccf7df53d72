//! Filling templates: replaces variables and secrets with the values of one call, in a single pass.

use std::borrow::Cow;

use haft_core::text::{Text, TextPart, Variable};
use haft_core::{CallContext, CallError, Message, SecretRef, Violation};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::markers::Markers;

haft_core::templates! {
    NEEDED_IN_PATH = "http.neededInPath",
        "is required: the URL path uses it",
        "必填：URL 路径中用到了它";
    NEEDED_IN_TEXT = "http.neededInText",
        "is required: it is part of a longer text",
        "必填：它是一段文本的一部分";
    EMPTY_IN_PATH = "http.emptyInPath",
        "must not be empty: it would change the URL path",
        "不能为空：否则 URL 路径会改变";
    DOTS_IN_PATH = "http.dotsInPath",
        "must not be . or .. in the path of a URL",
        "在 URL 路径中不能是 . 或 ..";
    CONTROL_IN_HEADER = "http.controlInHeader",
        "contains a control character, which is not allowed in a header",
        "含有控制字符，不能放入请求头";
}

/// The values of one call, and the violations found while filling templates.
pub(crate) struct Filling<'a> {
    arguments: &'a Value,
    context: &'a CallContext,
    secrets: SecretForm<'a>,
    violations: Vec<Violation>,
}

/// How a secret is written into the request.
#[derive(Clone, Copy)]
enum SecretForm<'a> {
    /// Its value, in a call.
    Values,
    /// Its name, in a dry run.
    Names,
    /// A marker that is located again later, in a cURL command.
    Markers(&'a Markers),
}

impl<'a> Filling<'a> {
    pub(crate) fn to_send(arguments: &'a Value, context: &'a CallContext) -> Self {
        Self { arguments, context, secrets: SecretForm::Values, violations: Vec::new() }
    }

    pub(crate) fn to_show(arguments: &'a Value, context: &'a CallContext) -> Self {
        Self { arguments, context, secrets: SecretForm::Names, violations: Vec::new() }
    }

    pub(crate) fn to_copy(arguments: &'a Value, context: &'a CallContext, markers: &'a Markers) -> Self {
        Self { arguments, context, secrets: SecretForm::Markers(markers), violations: Vec::new() }
    }

    pub(crate) fn shows_names(&self) -> bool {
        matches!(self.secrets, SecretForm::Names)
    }

    /// Returns true if a person will see the result: literal credentials must not appear in it.
    pub(crate) fn is_seen(&self) -> bool {
        !matches!(self.secrets, SecretForm::Values)
    }

    pub(crate) fn arguments(&self) -> &'a Value {
        self.arguments
    }

    pub(crate) fn context(&self) -> &'a CallContext {
        self.context
    }

    /// The value of a variable. Null counts as a value.
    pub(crate) fn value(&self, variable: &Variable) -> Option<Cow<'a, Value>> {
        if variable.is_reserved() {
            // Callback addresses are single-use, so a dry run shows the placeholder.
            let callback = if self.is_seen() { Some("{{callbackUrl}}") } else { self.context.callback_url() };
            return variable.of_call(self.context.call_id(), callback).map(Cow::Owned);
        }
        variable.find(self.arguments).map(Cow::Borrowed)
    }

    /// The text of a variable inside a longer text. An absent variable is a violation and becomes empty.
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

    /// The secret's value, name or marker, as `secrets` specifies.
    pub(crate) fn secret(&self, secret: &SecretRef) -> String {
        match self.secrets {
            SecretForm::Names => secret.to_string(),
            SecretForm::Markers(markers) => markers.marker(secret),
            // The engine reveals all secrets of a tool before it starts the call.
            SecretForm::Values => {
                let value = self.context.secret(secret);
                value.map(|value| value.expose_secret().trim().to_owned()).unwrap_or_default()
            }
        }
    }

    /// Fills in a text without encoding.
    pub(crate) fn text(&mut self, text: &Text) -> String {
        let mut filled = String::new();
        for part in text.parts() {
            match part {
                TextPart::Plain(plain) => filled.push_str(plain),
                TextPart::Variable(variable) => filled.push_str(&self.text_of(variable, &NEEDED_IN_TEXT)),
                TextPart::Secret(secret) => filled.push_str(&self.secret(secret)),
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

    /// The path of the first violation: the variable that has no value.
    pub(crate) fn first_wrong(&self) -> Option<&str> {
        self.violations.first().map(|violation| violation.path.as_str())
    }

    /// Returns an error if there were violations, so that nothing is sent.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        if self.violations.is_empty() { Ok(()) } else { Err(CallError::invalid(self.violations.clone())) }
    }
}

/// A value as text: strings unchanged, everything else as JSON.
pub(crate) fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}
