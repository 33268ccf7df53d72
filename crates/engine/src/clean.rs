//! What a record may not hold: the secrets of its tool, what the tool's author wants nobody to see, and links
//! by which anyone could open a file.
//!
//! Results come here clean of the first two: their kind and the call itself see to that.

use std::borrow::Cow;

use haft_core::mask::Mask;
use haft_core::redact::Redactor;
use haft_core::{CallError, artifact};
use serde_json::Value;

use crate::excerpt::Excerpt;

/// What is known of the secrets that a call may have been given.
#[derive(Clone, Copy)]
pub(crate) enum Secrets<'a> {
    None,
    Known(&'a Mask),
    /// There are some, and nobody could tell which.
    Unknown,
}

/// Takes out of a record what nobody may see.
pub(crate) struct Cleaner<'a> {
    pub(crate) secrets: Secrets<'a>,
    pub(crate) redactor: Option<&'a Redactor>,
}

impl Cleaner<'_> {
    /// What is kept of arguments. They may hold a secret that a model was told elsewhere.
    pub(crate) fn arguments(&self, arguments: &Value) -> Excerpt {
        let mask = match self.secrets {
            Secrets::None => None,
            Secrets::Known(mask) => Some(mask),
            Secrets::Unknown => return Excerpt::hidden(),
        };
        let excerpt = Excerpt::of(arguments);
        // What is cut may end within a secret, so it is looked at whole.
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
        if clean == *arguments { excerpt } else { Excerpt::of(&clean).that_is_masked() }
    }

    /// What is kept of an error. Where something of the arguments is hidden, it quotes none of them.
    pub(crate) fn error(&self, error: &CallError, arguments: &Excerpt) -> CallError {
        let error = error.clone();
        let error = if arguments.is_masked() { error.hiding_values() } else { error };
        let error = match self.secrets {
            Secrets::Known(mask) => error.masked(mask),
            Secrets::None | Secrets::Unknown => error,
        };
        match self.redactor {
            Some(redactor) => error.redacted(redactor),
            None => error,
        }
    }

    /// What is kept of the names that arguments have.
    pub(crate) fn paths(&self, paths: Vec<String>) -> Vec<String> {
        let masked = |path: String| match self.secrets {
            Secrets::Known(mask) => mask.text(&path).into_owned(),
            Secrets::None | Secrets::Unknown => path,
        };
        let redacted = |path: String| match self.redactor {
            Some(redactor) => redactor.text(&path).into_owned(),
            None => path,
        };
        paths.into_iter().map(masked).map(redacted).collect()
    }
}

/// What is kept of a result. A link that the call was given may come back in it.
pub(crate) fn result(kept: Excerpt, data: &Value, arguments: &Excerpt) -> Excerpt {
    if !arguments.is_masked() || !artifact::may_be_signed(kept.text()) {
        return kept;
    }
    let mut clean = data.clone();
    unsign(&mut clean);
    if clean == *data { kept } else { Excerpt::of(&clean).that_is_masked() }
}

/// Masks what makes links to files open them, in every text of a value.
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

    fn kept(mask: &Mask, arguments: Value) -> (Option<Value>, bool) {
        let cleaner = Cleaner { secrets: Secrets::Known(mask), redactor: None };
        let excerpt = cleaner.arguments(&arguments);
        (excerpt.value(), excerpt.is_masked())
    }

    #[test]
    fn secrets_are_masked_in_arguments_and_only_then_are_they_told_to_be() {
        let mask = Mask::new(["hunter22-and-more", "abc"]);
        for (arguments, clean) in [
            (json!({"q": "my hunter22-and-more"}), json!({"q": "my ***"})),
            (json!({"hunter22-and-more": "\\"}), json!({"***": "\\"})),
            (json!({"short": ["abc"]}), json!({"short": ["***"]})),
        ] {
            assert_eq!(kept(&mask, arguments), (Some(clean), true));
        }
        let harmless = json!({"q": "*** \\ hunter"});
        assert_eq!(kept(&mask, harmless.clone()), (Some(harmless), false));
    }

    #[test]
    fn half_a_secret_at_the_cut_is_not_kept() {
        let secret = "s".repeat(100);
        let mask = Mask::new([secret.as_str()]);
        let cleaner = Cleaner { secrets: Secrets::Known(&mask), redactor: None };
        let excerpt = cleaner.arguments(&json!({"q": format!("{}{secret}", "x".repeat((16 << 10) - 50))}));
        assert!(excerpt.is_masked() && !excerpt.text().contains('s'), "{}", excerpt.text());
    }

    #[test]
    fn nothing_is_kept_where_nobody_knows_the_secrets() {
        let cleaner = Cleaner { secrets: Secrets::Unknown, redactor: None };
        let excerpt = cleaner.arguments(&json!({"q": "anything"}));
        assert_eq!((excerpt.text(), excerpt.is_masked()), ("\"***\"", true));
    }

    #[test]
    fn rules_hold_for_arguments_errors_and_paths() {
        let redactor = Redactor::parse(&json!(["user.name", {"pattern": "email"}])).expect("rules");
        let cleaner = Cleaner { secrets: Secrets::None, redactor: Some(&redactor) };
        let excerpt = cleaner.arguments(&json!({"user": {"name": "Ada", "mail": "a@b.example"}, "n": 1}));
        let clean = json!({"user": {"name": "[redacted]", "mail": "[redacted]"}, "n": 1});
        assert_eq!((excerpt.value(), excerpt.is_masked()), (Some(clean), true));
        let error = cleaner.error(&CallError::text(ErrorKind::Server, "no a@b.example"), &excerpt);
        assert_eq!(error.message().to_string(), "no [redacted]");
        assert_eq!(cleaner.paths(vec!["a@b.example".to_owned(), "n".to_owned()]), ["[redacted]", "n"]);
        assert!(!cleaner.arguments(&json!({"n": 1})).is_masked());
    }

    #[test]
    fn links_to_files_open_nothing_on_record() {
        let cleaner = Cleaner { secrets: Secrets::None, redactor: None };
        let link = |signature: &str| format!("http://h/api/artifacts/x?sig={signature}");
        let given = json!({"deep": [{"url": link("key")}], "n": 1});
        let clean = json!({"deep": [{"url": link("***")}], "n": 1});
        let arguments = cleaner.arguments(&given);
        assert_eq!((arguments.value(), arguments.is_masked()), (Some(clean.clone()), true));
        let back = result(Excerpt::of(&given), &given, &arguments);
        assert_eq!(back.value(), Some(clean));
        // What is no link of ours stays, and so does what the call was not given.
        let other = json!({"url": "https://blob.example/x?sig=key"});
        let arguments = cleaner.arguments(&other);
        assert_eq!((arguments.value(), arguments.is_masked()), (Some(other), false));
        assert_eq!(result(Excerpt::of(&given), &given, &arguments).value(), Some(given));
    }
}
