//! Redaction of call records: removes the secrets of the tool, values hidden by its author, and signatures of
//! file links.
//!
//! Results are already free of secrets and hidden values when they get here: their kind and the call remove
//! them.

use std::borrow::Cow;

use haft_core::mask::Mask;
use haft_core::redact::Redactor;
use haft_core::{CallError, artifact};
use serde_json::Value;

use crate::truncation::TruncatedJson;

/// The secrets that a call may have received.
#[derive(Clone, Copy)]
pub(crate) enum RecordSecrets<'a> {
    None,
    Known(&'a Mask),
    /// The tool has secrets that cannot be looked up now.
    Unknown,
}

/// Redacts the record of one call.
pub(crate) struct RecordRedaction<'a> {
    pub(crate) secrets: RecordSecrets<'a>,
    pub(crate) redactor: Option<&'a Redactor>,
}

impl RecordRedaction<'_> {
    /// Redacts arguments. They may contain a secret that a model learned elsewhere.
    pub(crate) fn arguments(&self, arguments: &Value) -> TruncatedJson {
        let mask = match self.secrets {
            RecordSecrets::None => None,
            RecordSecrets::Known(mask) => Some(mask),
            RecordSecrets::Unknown => return TruncatedJson::hidden(),
        };
        let excerpt = TruncatedJson::of(arguments);
        // The cut may be within a secret, so a cut text always needs the mask.
        let may_hold = |mask: &&Mask| excerpt.is_cut() || mask.may_be_in(excerpt.text().as_bytes());
        let mask = mask.filter(may_hold);
        let may_be_signed = artifact::may_be_signed(excerpt.text());
        if mask.is_none() && self.redactor.is_none() && !may_be_signed {
            return excerpt;
        }
        let mut clean = arguments.clone();
        if may_be_signed {
            unsign(&mut clean);
        }
        if let Some(mask) = mask {
            mask.value(&mut clean);
        }
        if let Some(redactor) = self.redactor {
            redactor.value(&mut clean);
        }
        if clean == *arguments { excerpt } else { TruncatedJson::of(&clean).that_is_masked() }
    }

    /// Redacts an error. If a part of the arguments is hidden, the values that the error quotes are removed.
    pub(crate) fn error(&self, error: &CallError, arguments: &TruncatedJson) -> CallError {
        let error = error.clone();
        let error = if arguments.is_masked() { error.hiding_values() } else { error };
        let error = match self.secrets {
            RecordSecrets::Known(mask) => error.masked(mask),
            RecordSecrets::None | RecordSecrets::Unknown => error,
        };
        match self.redactor {
            Some(redactor) => error.redacted(redactor),
            None => error,
        }
    }

    /// Redacts the names of arguments.
    pub(crate) fn paths(&self, paths: Vec<String>) -> Vec<String> {
        let masked = |path: String| match self.secrets {
            RecordSecrets::Known(mask) => mask.text(&path).into_owned(),
            RecordSecrets::None | RecordSecrets::Unknown => path,
        };
        let redacted = |path: String| match self.redactor {
            Some(redactor) => redactor.text(&path).into_owned(),
            None => path,
        };
        paths.into_iter().map(masked).map(redacted).collect()
    }
}

/// Redacts a result. It may contain a signed link from the arguments.
pub(crate) fn result(excerpt: TruncatedJson, data: &Value, arguments: &TruncatedJson) -> TruncatedJson {
    if !arguments.is_masked() || !artifact::may_be_signed(excerpt.text()) {
        return excerpt;
    }
    let mut clean = data.clone();
    unsign(&mut clean);
    if clean == *data { excerpt } else { TruncatedJson::of(&clean).that_is_masked() }
}

/// Masks the signatures of file links in every text of a value.
pub(crate) fn unsign(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = artifact::unsigned(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unsign),
        Value::Object(fields) => fields.values_mut().for_each(unsign),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use haft_core::ErrorKind;
    use serde_json::json;

    use super::*;

    fn redacted(mask: &Mask, arguments: Value) -> (Option<Value>, bool) {
        let redaction = RecordRedaction { secrets: RecordSecrets::Known(mask), redactor: None };
        let excerpt = redaction.arguments(&arguments);
        (excerpt.value(), excerpt.is_masked())
    }

    #[test]
    fn arguments_are_marked_as_masked_only_if_they_contain_a_secret() {
        let mask = Mask::new(["hunter22-and-more", "abc"]);
        for (arguments, clean) in [
            (json!({"q": "my hunter22-and-more"}), json!({"q": "my ***"})),
            (json!({"hunter22-and-more": "\\"}), json!({"***": "\\"})),
            (json!({"short": ["abc"]}), json!({"short": ["***"]})),
        ] {
            assert_eq!(redacted(&mask, arguments), (Some(clean), true));
        }
        let harmless = json!({"q": "*** \\ hunter"});
        assert_eq!(redacted(&mask, harmless.clone()), (Some(harmless), false));
    }

    #[test]
    fn half_a_secret_at_the_cut_is_masked() {
        let secret = "s".repeat(100);
        let mask = Mask::new([secret.as_str()]);
        let redaction = RecordRedaction { secrets: RecordSecrets::Known(&mask), redactor: None };
        let excerpt = redaction.arguments(&json!({"q": format!("{}{secret}", "x".repeat((16 << 10) - 50))}));
        assert!(excerpt.is_masked() && !excerpt.text().contains('s'), "{}", excerpt.text());
    }

    #[test]
    fn arguments_are_hidden_if_the_secrets_are_unknown() {
        let redaction = RecordRedaction { secrets: RecordSecrets::Unknown, redactor: None };
        let excerpt = redaction.arguments(&json!({"q": "anything"}));
        assert_eq!((excerpt.text(), excerpt.is_masked()), ("\"***\"", true));
    }

    #[test]
    fn rules_apply_to_arguments_errors_and_paths() {
        let redactor = Redactor::parse(&json!(["user.name", {"pattern": "email"}])).expect("rules");
        let redaction = RecordRedaction { secrets: RecordSecrets::None, redactor: Some(&redactor) };
        let excerpt = redaction.arguments(&json!({"user": {"name": "Ada", "mail": "a@b.example"}, "n": 1}));
        let clean = json!({"user": {"name": "[redacted]", "mail": "[redacted]"}, "n": 1});
        assert_eq!((excerpt.value(), excerpt.is_masked()), (Some(clean), true));
        let error = redaction.error(&CallError::text(ErrorKind::Server, "no a@b.example"), &excerpt);
        assert_eq!(error.message().to_string(), "no [redacted]");
        assert_eq!(redaction.paths(vec!["a@b.example".to_owned(), "n".to_owned()]), ["[redacted]", "n"]);
        assert!(!redaction.arguments(&json!({"n": 1})).is_masked());
    }

    #[test]
    fn signatures_of_file_links_are_masked() {
        let redaction = RecordRedaction { secrets: RecordSecrets::None, redactor: None };
        let link = |signature: &str| format!("http://h/api/artifacts/x?sig={signature}");
        let given = json!({"deep": [{"url": link("key")}], "n": 1});
        let clean = json!({"deep": [{"url": link("***")}], "n": 1});
        let arguments = redaction.arguments(&given);
        assert_eq!((arguments.value(), arguments.is_masked()), (Some(clean.clone()), true));
        let back = result(TruncatedJson::of(&given), &given, &arguments);
        assert_eq!(back.value(), Some(clean));
        // Other links stay, and so do signatures that the call did not receive.
        let other = json!({"url": "https://blob.example/x?sig=key"});
        let arguments = redaction.arguments(&other);
        assert_eq!((arguments.value(), arguments.is_masked()), (Some(other), false));
        assert_eq!(result(TruncatedJson::of(&given), &given, &arguments).value(), Some(given));
    }
}
