//! Lifting literal credentials out of a definition: saving replaces each with a reference to a new secret.

use haft_core::mask::MASKED;
use haft_core::secret::{SCHEME, SecretOwner};
use haft_core::text::Text;
use haft_core::tool::input::camel_case;
use haft_core::{SecretRef, ToolSpec};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::headers::{after_scheme, is_credential};

/// Fields of `auth` that contain a credential.
const OF_AUTH: [&str; 4] = ["token", "password", "value", "clientSecret"];

const HEADERS: &str = "headers";

/// Returns true if the field with this name contains a credential.
type IsCredential = fn(&str) -> bool;

const CREDENTIAL_FIELDS: [(&str, IsCredential); 3] =
    [(HEADERS, is_credential), ("cookies", is_cookie), ("auth", is_of_auth)];

/// Maximum length of a secret's name, and of the field's part in it.
const LONGEST: usize = 64;
const LONGEST_END: usize = 24;

/// Replaces literal credentials in headers, cookies and auth by references to secrets, and returns the
/// secrets' names and values.
/// A name is unused, or the one that the previous version has for the same field. A mask (`***`) keeps the
/// credential of the previous version; the error lists masked fields without one.
pub fn lift_credentials(
    spec: &mut ToolSpec,
    before: Option<&ToolSpec>,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Vec<(String, SecretString)>, Vec<String>> {
    let mut lift = Lift {
        tool: spec.name.as_str().to_owned(),
        before: before.map(|before| &before.config),
        is_taken: &is_taken,
        lifted: Vec::new(),
        missing: Vec::new(),
    };
    for (section, holds) in CREDENTIAL_FIELDS {
        if let Some(Value::Object(fields)) = spec.config.get_mut(section) {
            for (name, value) in fields.iter_mut().filter(|(name, _)| holds(name)) {
                lift.lift_field(section, name, value);
            }
        }
    }
    if lift.missing.is_empty() { Ok(lift.lifted) } else { Err(lift.missing) }
}

struct Lift<'a> {
    tool: String,
    /// The config of the previous version.
    before: Option<&'a Map<String, Value>>,
    is_taken: &'a dyn Fn(&str) -> bool,
    lifted: Vec<(String, SecretString)>,
    /// Masked fields without a previous credential.
    missing: Vec<String>,
}

impl<'a> Lift<'a> {
    fn lift_field(&mut self, section: &str, field: &str, value: &mut Value) {
        let text = match &*value {
            Value::String(text) => text.clone(),
            // Numbers are sent as text.
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return,
        };
        // A text with variables or secret references is not a literal.
        let is_literal = Text::parse(&text).is_ok_and(|parsed| parsed.plain().is_some());
        if !is_literal || text.trim().is_empty() {
            return;
        }
        let (scheme, credential) = match after_scheme(&text).filter(|_| section == HEADERS) {
            Some((scheme, credential)) => (format!("{scheme} "), credential.trim()),
            None => (String::new(), text.trim()),
        };
        let before = self.previous_value(section, field);
        let reference = before.and_then(reference);
        if credential == MASKED {
            match (before, reference) {
                (Some(whole), Some(_)) if scheme.is_empty() => *value = Value::from(whole),
                (_, Some(reference)) => *value = Value::from(format!("{scheme}{reference}")),
                (_, None) => self.missing.push(format!("config.{section}.{field}")),
            }
            return;
        }
        let own = reference.filter(|reference| reference.owner == SecretOwner::Space);
        let name = self.free_name(field, own.as_ref().map(|own| own.name.as_str()));
        *value = Value::from(format!("{scheme}{SCHEME}{name}"));
        self.lifted.push((name, SecretString::from(credential.to_owned())));
    }

    /// The previous version's value of a field. Header names ignore case.
    fn previous_value(&self, section: &str, field: &str) -> Option<&'a str> {
        let fields = self.before?.get(section)?.as_object()?;
        let same =
            || fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(field)).map(|(_, value)| value);
        fields.get(field).or_else(same)?.as_str()
    }

    /// A name that is neither taken nor already assigned.
    fn free_name(&self, field: &str, own: Option<&str>) -> String {
        let preferred = name_of(&self.tool, field);
        let numbered = |number: usize| {
            if number == 1 {
                return preferred.clone();
            }
            let end = format!("_{number}");
            let start = preferred.get(..LONGEST - end.len()).unwrap_or(&preferred);
            format!("{start}{end}")
        };
        let is_free = |name: &String| {
            let is_given = self.lifted.iter().any(|(given, _)| given == name);
            !is_given && (own == Some(name.as_str()) || !(self.is_taken)(name))
        };
        (1..).map(numbered).find(is_free).unwrap_or_else(|| preferred.clone())
    }
}

/// The first secret that a text refers to.
fn reference(text: &str) -> Option<SecretRef> {
    Text::parse(text).ok()?.secrets().next().cloned()
}

fn is_cookie(name: &str) -> bool {
    is_credential(name) || name.to_ascii_lowercase().contains("session")
}

fn is_of_auth(name: &str) -> bool {
    OF_AUTH.contains(&camel_case(name).as_str())
}

/// The secret's name: the tool's name and the field, in letters, digits and `_`, truncated to the limit.
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
    fn literals_are_lifted_and_references_stay() {
        let definition = json!({
            "name": "weather", "description": "w", "url": "https://a.example/{{city}}",
            "headers": {
                "Authorization": "Bearer sk-123456", "X-API-Key": "k-1", "Accept": "text/plain",
                "X-Token": "secret://there", "Cookie": "id={{session}}", "X-Auth": "",
            },
            "auth": {"type": "basic", "username": "ada", "password": "hunter2"},
        });
        let mut spec = input::parse(definition).expect("a definition").spec;
        let lifted = lift_credentials(&mut spec, None, |_| false).expect("no mask");
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
        let again = lift_credentials(&mut spec, None, |_| false).expect("no mask");
        assert!(again.is_empty(), "a lifted credential is not lifted again");
    }

    fn tool(headers: Value) -> ToolSpec {
        let definition =
            json!({"name": "shop", "description": "s", "url": "https://a.example", "headers": headers});
        input::parse(definition).expect("a definition").spec
    }

    fn names(lifted: &[(String, SecretString)]) -> Vec<&str> {
        lifted.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_name_is_unused_or_that_of_the_previous_version() {
        let mut two = tool(json!({"X-Api-Key": "one", "X_Api_Key": "two"}));
        let lifted = lift_credentials(&mut two, None, |_| false).expect("no mask");
        assert_eq!(names(&lifted), ["shop_x_api_key", "shop_x_api_key_2"]);

        let is_taken = |name: &str| ["shop_x_api_key", "shop_x_api_key_2"].contains(&name);
        let mut new = tool(json!({"X-Api-Key": "three"}));
        let lifted = lift_credentials(&mut new, None, is_taken).expect("no mask");
        assert_eq!(names(&lifted), ["shop_x_api_key_3"]);

        let mut newer = tool(json!({"X_Api_Key": 98_765, "x-api-key": "four"}));
        let lifted = lift_credentials(&mut newer, Some(&two), is_taken).expect("no mask");
        assert_eq!(names(&lifted), ["shop_x_api_key_2", "shop_x_api_key"]);
        assert_eq!(lifted[0].1.expose_secret(), "98765");
    }

    #[test]
    fn a_mask_stands_for_the_previous_credential() {
        let before = tool(json!({"Authorization": "Bearer secret://mine", "X-Token": "{{token}}"}));
        for (given, expected) in [
            ("***", "Bearer secret://mine"),
            ("Bearer ***", "Bearer secret://mine"),
            ("Token ***", "Token secret://mine"),
        ] {
            let mut spec = tool(json!({"authorization": given}));
            assert!(
                lift_credentials(&mut spec, Some(&before), |_| true)
                    .expect("no missing credential")
                    .is_empty()
            );
            assert_eq!(spec.config["headers"]["authorization"], expected, "{given}");
        }
        for (header, before) in
            [("Authorization", None), ("X-Token", Some(&before)), ("X-Key", Some(&before))]
        {
            let missing = lift_credentials(&mut tool(json!({header: "***"})), before, |_| false).map(drop);
            assert_eq!(missing, Err(vec![format!("config.headers.{header}")]));
        }
    }
}
