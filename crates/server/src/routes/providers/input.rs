//! A provider as a body writes it: its form, its address, and its key, which no message ever shows.

use std::sync::LazyLock;

use haft_core::error::ROOT;
use haft_core::mask::MASKED;
use haft_core::provider::{Provider, ProviderSpec};
use haft_core::secret::SCHEME;
use haft_core::text::TextPart;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, SpaceId, Text, Violation};
use haft_llm::Scripted;
use haft_store::SecretOwnerId;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::shown::stored;
use crate::api::Needs;
use crate::app::AppState;
use crate::routes::saving::{Form, differing, form, misfits, refuse, take};
use crate::visitors::Visitor;

haft_core::templates! {
    BAD_NAME = "providers.badName",
        "must have 1 to {most} letters, digits, _ or -, and not the form of an id",
        "只能包含 1 到 {most} 个字母、数字、_ 或 -，且不能是 id 的形式";
    BAD_BASE_URL = "providers.badBaseUrl",
        "must be an absolute http or https URL without a user name or password",
        "必须是绝对的 http 或 https URL，且不含用户名和密码";
    BAD_KEY = "providers.badKey",
        "must be a key without whitespace, or the name of a secret such as secret://openai",
        "必须是不含空白的密钥，或密钥的名称，例如 secret://openai";
    NOTHING_KEPT = "providers.nothingKept",
        "is masked, but no key is stored; send the key or the name of a secret",
        "是掩码，而目前没有可保留的密钥；请提供密钥或密钥的名称";
    NAME_TOO_LONG = "providers.nameTooLong",
        "cannot be stored under a name of more than {most} characters; create a secret and refer to it",
        "名称超过 {most} 个字符时无法保存密钥；请先将其保存为密钥并引用其名称";
    NO_SCRIPT = "providers.noScript",
        "is required for the kind scripted: a list of responses such as {example}",
        "类型为 scripted 时必须提供：应答列表，例如 {example}";
    NO_MODEL_HAS_A_SCRIPT = "providers.unexpectedScript",
        "is allowed for the kind scripted only",
        "仅用于类型 scripted";
}

static PROVIDER: Form = LazyLock::new(|| form(include_str!("provider.json")));

/// Fields the server sets. A body may carry them along, as it was read.
const KEPT_BY_SERVER: [&str; 7] =
    ["id", "spaceId", "version", "createdAt", "updatedAt", "source", "byOperator"];

const LONGEST_NAME: usize = 64;

/// As short as a script can be.
const SCRIPT: &str = r#"[{"text": "Hello."}]"#;

/// The longest name that a secret can be named after: `provider_NAME_key` has 64 characters at most.
const LONGEST_KEYED_NAME: usize = 51;

/// The longest name of a secret.
const LONGEST_SECRET: usize = 64;

/// What a body says of a provider.
pub(crate) struct Input {
    /// Its key is a reference already, to what `key` shall be kept as.
    pub(crate) spec: ProviderSpec,
    /// The name of a secret, and its value.
    pub(crate) key: Option<(String, SecretString)>,
}

/// What a body says of a provider's key.
enum Key {
    None,
    /// As it was.
    Kept,
    Reference(String),
    Literal(SecretString),
}

/// Reads a body, or says all that is wrong with it.
pub(crate) async fn read(
    state: &AppState,
    visitor: &Visitor,
    body: Value,
    before: Option<&Provider>,
) -> Result<Input, CallError> {
    let space = visitor.space;
    // A new provider has no id, version or dates yet to be equal to; its space is known.
    let kept = before.map_or_else(|| json!({"spaceId": space}), stored);
    let mut body = camel_keys(body);
    if let Value::Object(fields) = &mut body {
        fields.retain(|_, value| !value.is_null());
    }
    let mut violations = misfits(&PROVIDER, &body);
    let Value::Object(mut fields) = body else { return Err(CallError::invalid(violations)) };
    violations.extend(differing(&take(&mut fields, &KEPT_BY_SERVER), &kept));
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if fields.get("name").is_some_and(Value::is_string) && !is_name(&name) {
        violations.push(Violation::new("name", Message::new(&BAD_NAME).with("most", LONGEST_NAME)));
    }
    if fields.get("baseUrl").and_then(Value::as_str).is_some_and(|url| !is_base_url(url)) {
        violations.push(Violation::new("baseUrl", Message::new(&BAD_BASE_URL)));
    }
    violations.extend(wrong_script(&fields));
    let kept = before.and_then(|before| before.spec.api_key.clone());
    let (reference, key) = match key(fields.shift_remove("apiKey")) {
        Ok(Key::None) => (None, None),
        Ok(Key::Reference(reference)) => (Some(reference), None),
        Ok(Key::Literal(key)) => {
            if name.len() > LONGEST_KEYED_NAME {
                let message = Message::new(&NAME_TOO_LONG).with("most", LONGEST_KEYED_NAME);
                violations.push(Violation::new("apiKey", message));
            }
            let secret = secret_name(state, space, &name, kept.as_deref()).await?;
            (Some(format!("{SCHEME}{secret}")), Some((secret, key)))
        }
        Ok(Key::Kept) => {
            if kept.is_none() {
                violations.push(Violation::new("apiKey", Message::new(&NOTHING_KEPT)));
            }
            (kept, None)
        }
        Err(message) => {
            violations.push(Violation::new("apiKey", message));
            (None, None)
        }
    };
    refuse(violations)?;
    let spec = read_spec(fields, reference)?;
    let by_operator =
        visitor.may(Needs::Operator) || before.is_some_and(|before| keeps_address(before, &spec));
    Ok(Input { spec: ProviderSpec { by_operator, ..spec }, key })
}

/// Whether the address is the operator's word as it was. Another kind asks for other paths there.
fn keeps_address(before: &Provider, spec: &ProviderSpec) -> bool {
    let is_same = before.spec.kind == spec.kind && before.spec.base_url == spec.base_url;
    before.spec.by_operator && is_same
}

/// What is wrong with the answers of a scripted provider, or with their being there.
fn wrong_script(fields: &Map<String, Value>) -> Option<Violation> {
    let is_scripted = fields.get("kind").and_then(Value::as_str) == Some("scripted");
    let message = match (is_scripted, fields.get("script")) {
        (true, None) => Message::new(&NO_SCRIPT).with("example", SCRIPT),
        (false, Some(_)) => Message::new(&NO_MODEL_HAS_A_SCRIPT),
        (true, Some(script)) => Scripted::read(&script.to_string()).err()?.message().clone(),
        (false, None) => return None,
    };
    Some(Violation::new("script", message))
}

fn read_spec(fields: Map<String, Value>, api_key: Option<String>) -> Result<ProviderSpec, CallError> {
    let wrong = |error: serde_json::Error| {
        CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))])
    };
    let spec: ProviderSpec = serde_json::from_value(Value::Object(fields)).map_err(wrong)?;
    Ok(ProviderSpec { api_key, ..spec })
}

/// No message shows a value here: it may be a key.
fn key(given: Option<Value>) -> Result<Key, Message> {
    let bad = || Message::new(&BAD_KEY);
    let Some(given) = given else { return Ok(Key::None) };
    let key = given.as_str().map(str::trim).ok_or_else(bad)?;
    if key == MASKED {
        return Ok(Key::Kept);
    }
    if key.contains(SCHEME) {
        let parsed = Text::parse(key).map_err(|_| bad())?;
        return match parsed.parts() {
            [TextPart::Secret(_)] => Ok(Key::Reference(key.to_owned())),
            [..] => Err(bad()),
        };
    }
    let is_key = !key.is_empty() && key.chars().all(|c| !c.is_whitespace() && !c.is_control());
    if is_key { Ok(Key::Literal(key.to_owned().into())) } else { Err(bad()) }
}

/// The name that a provider's key is kept under: one that is free, or the one that the provider has already.
async fn secret_name(
    state: &AppState,
    space: SpaceId,
    provider: &str,
    kept: Option<&str>,
) -> Result<String, CallError> {
    let own = kept.and_then(|kept| kept.strip_prefix(SCHEME));
    let wanted = format!("provider_{provider}_key");
    let mut name = wanted.clone();
    let mut number = 1;
    while own != Some(name.as_str())
        && state.store.get_secret_info(space, SecretOwnerId::Space, &name).await?.is_some()
    {
        number += 1;
        let end = format!("_{number}");
        name = format!("{}{end}", wanted.get(..LONGEST_SECRET - end.len()).unwrap_or(&wanted));
    }
    Ok(name)
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_part);
    fits && Uuid::try_parse(name).is_err()
}

fn is_base_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let is_open = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_open
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_good() {
        assert!(PROVIDER.is_ok());
    }

    #[test]
    fn a_key_is_a_reference_a_mask_or_a_literal() {
        let sort = |given: Value| match key(Some(given)) {
            Ok(Key::None) => "none".to_owned(),
            Ok(Key::Kept) => "kept".to_owned(),
            Ok(Key::Reference(reference)) => reference,
            Ok(Key::Literal(_)) => "literal".to_owned(),
            Err(_) => "bad".to_owned(),
        };
        for (given, expected) in [
            (json!("sk-123"), "literal"),
            (json!(" sk-123\n"), "literal"),
            (json!("secret://openai"), "secret://openai"),
            (json!("secret://me/openai"), "secret://me/openai"),
            (json!("***"), "kept"),
            (json!(""), "bad"),
            (json!("a b"), "bad"),
            (json!("Bearer secret://openai"), "bad"),
            (json!("secret://"), "bad"),
            (json!(7), "bad"),
        ] {
            assert_eq!(sort(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn an_address_is_absolute_and_holds_no_credentials() {
        for good in ["https://api.example.com/v1", "http://127.0.0.1:11434", "http://localhost/"] {
            assert!(is_base_url(good), "{good}");
        }
        for bad in
            ["", "/v1", "api.example.com", "ftp://a.example", "https://u:p@a.example", "https://u@a.example"]
        {
            assert!(!is_base_url(bad), "{bad}");
        }
    }
}
