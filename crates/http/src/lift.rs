//! Credentials that stand in a definition as they are: taken out when it is saved, a secret's name in their place.

use haft_core::ToolSpec;
use haft_core::secret::SCHEME;
use haft_core::text::Text;
use secrecy::SecretString;
use serde_json::Value;

use crate::headers::{after_scheme, is_credential};

/// Fields of `auth` that hold a credential.
const OF_AUTH: [&str; 4] = ["token", "password", "value", "clientSecret"];

/// The longest name of a secret, and of its end.
const LONGEST: usize = 64;
const LONGEST_END: usize = 24;

/// Takes literal credentials out of headers and auth, and gives their values with the names they have now.
pub fn lift_credentials(spec: &mut ToolSpec) -> Vec<(String, SecretString)> {
    let mut lifted = Vec::new();
    let tool = spec.name.as_str().to_owned();
    let mut lift = |what: &str, value: &mut Value| {
        let Value::String(text) = value else { return };
        // What has variables or a secret's name in it is no literal.
        let is_literal = Text::parse(text).is_ok_and(|parsed| parsed.plain().is_some());
        if !is_literal || text.trim().is_empty() {
            return;
        }
        let name = name_of(&tool, what);
        let (before, credential) = match after_scheme(text) {
            Some((scheme, credential)) => (format!("{scheme} "), credential.trim().to_owned()),
            None => (String::new(), text.trim().to_owned()),
        };
        *text = format!("{before}{SCHEME}{name}");
        lifted.push((name, SecretString::from(credential)));
    };
    if let Some(Value::Object(headers)) = spec.config.get_mut("headers") {
        for (name, value) in headers.iter_mut().filter(|(name, _)| is_credential(name)) {
            lift(name, value);
        }
    }
    if let Some(Value::Object(auth)) = spec.config.get_mut("auth") {
        for name in OF_AUTH {
            if let Some(value) = auth.get_mut(name) {
                lift(name, value);
            }
        }
    }
    lifted
}

/// The tool's name and what the credential is: letters, digits and `_`, no longer than a name may be.
fn name_of(tool: &str, what: &str) -> String {
    let fits = |character: char| {
        if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' }
    };
    let what: String = what.chars().map(fits).take(LONGEST_END).collect();
    let room = LONGEST - what.len() - 1;
    format!("{}_{what}", tool.get(..room).unwrap_or(tool))
}

#[cfg(test)]
mod tests {
    use haft_core::tool::input;
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_go_and_references_stay() {
        let definition = json!({
            "name": "weather", "description": "w", "url": "https://a.example/{{city}}",
            "headers": {
                "Authorization": "Bearer sk-123456", "X-API-Key": "k-1", "Accept": "text/plain",
                "X-Token": "secret://there", "Cookie": "id={{session}}", "X-Auth": "",
            },
            "auth": {"type": "basic", "username": "ada", "password": "hunter2"},
        });
        let mut spec = input::parse(definition).expect("a definition").spec;
        let lifted = lift_credentials(&mut spec);
        let found: Vec<(&str, &str)> =
            lifted.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(
            found,
            [
                ("weather_authorization", "sk-123456"),
                ("weather_x_api_key", "k-1"),
                ("weather_password", "hunter2")
            ]
        );
        assert_eq!(
            spec.config["headers"],
            json!({
                "Authorization": "Bearer secret://weather_authorization",
                "X-API-Key": "secret://weather_x_api_key", "Accept": "text/plain",
                "X-Token": "secret://there", "Cookie": "id={{session}}", "X-Auth": "",
            })
        );
        assert_eq!(spec.config["auth"]["password"], "secret://weather_password");
        assert!(lift_credentials(&mut spec).is_empty(), "what was lifted is lifted once");
    }
}
