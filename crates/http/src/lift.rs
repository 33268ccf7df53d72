//! Credentials that stand in a definition as they are: taken out when it is saved, a secret's name in their place.

use haft_core::mask::MASKED;
use haft_core::secret::{SCHEME, SecretOwner};
use haft_core::text::Text;
use haft_core::tool::input::camel_case;
use haft_core::{SecretRef, ToolSpec};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::headers::{after_scheme, is_credential};

/// Fields of `auth` that hold a credential.
const OF_AUTH: [&str; 4] = ["token", "password", "value", "clientSecret"];

const HEADERS: &str = "headers";

/// Where credentials stand in a config, and which fields there hold one.
type IsCredential = fn(&str) -> bool;

const PLACES: [(&str, IsCredential); 3] =
    [(HEADERS, is_credential), ("cookies", is_cookie), ("auth", is_of_auth)];

/// The longest name of a secret, and of its end.
const LONGEST: usize = 64;
const LONGEST_END: usize = 24;

/// Takes literal credentials out of headers, cookies and auth, and gives their values with the names they have
/// now: free ones, or those that the version before has at the same place. A mask stands for what that version
/// has there; the error names the places where there is nothing.
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
    for (place, holds) in PLACES {
        if let Some(Value::Object(fields)) = spec.config.get_mut(place) {
            for (name, value) in fields.iter_mut().filter(|(name, _)| holds(name)) {
                lift.look_at(place, name, value);
            }
        }
    }
    if lift.missing.is_empty() { Ok(lift.lifted) } else { Err(lift.missing) }
}

struct Lift<'a> {
    tool: String,
    /// The config of the version before.
    before: Option<&'a Map<String, Value>>,
    is_taken: &'a dyn Fn(&str) -> bool,
    lifted: Vec<(String, SecretString)>,
    /// Places whose mask stands for nothing.
    missing: Vec<String>,
}

impl<'a> Lift<'a> {
    fn look_at(&mut self, place: &str, field: &str, value: &mut Value) {
        let text = match &*value {
            Value::String(text) => text.clone(),
            // It is sent as it is written.
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return,
        };
        // What has variables or a secret's name in it is no literal.
        let is_literal = Text::parse(&text).is_ok_and(|parsed| parsed.plain().is_some());
        if !is_literal || text.trim().is_empty() {
            return;
        }
        let (scheme, credential) = match after_scheme(&text).filter(|_| place == HEADERS) {
            Some((scheme, credential)) => (format!("{scheme} "), credential.trim()),
            None => (String::new(), text.trim()),
        };
        let before = self.before_at(place, field);
        let reference = before.and_then(reference);
        if credential == MASKED {
            match (before, reference) {
                (Some(whole), Some(_)) if scheme.is_empty() => *value = Value::from(whole),
                (_, Some(reference)) => *value = Value::from(format!("{scheme}{reference}")),
                (_, None) => self.missing.push(format!("config.{place}.{field}")),
            }
            return;
        }
        let own = reference.filter(|reference| reference.owner == SecretOwner::Space);
        let name = self.free_name(field, own.as_ref().map(|own| own.name.as_str()));
        *value = Value::from(format!("{scheme}{SCHEME}{name}"));
        self.lifted.push((name, SecretString::from(credential.to_owned())));
    }

    /// What the version before has at a place. Headers are the same in any case.
    fn before_at(&self, place: &str, field: &str) -> Option<&'a str> {
        let fields = self.before?.get(place)?.as_object()?;
        let same =
            || fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(field)).map(|(_, value)| value);
        fields.get(field).or_else(same)?.as_str()
    }

    /// A name that nobody else has, and that is not given twice.
    fn free_name(&self, field: &str, own: Option<&str>) -> String {
        let wanted = name_of(&self.tool, field);
        let numbered = |number: usize| {
            if number == 1 {
                return wanted.clone();
            }
            let end = format!("_{number}");
            let start = wanted.get(..LONGEST - end.len()).unwrap_or(&wanted);
            format!("{start}{end}")
        };
        let is_free = |name: &String| {
            let is_given = self.lifted.iter().any(|(given, _)| given == name);
            !is_given && (own == Some(name.as_str()) || !(self.is_taken)(name))
        };
        (1..).map(numbered).find(is_free).unwrap_or_else(|| wanted.clone())
    }
}

/// The secret that a text names first.
fn reference(text: &str) -> Option<SecretRef> {
    Text::parse(text).ok()?.secrets().next().cloned()
}

fn is_cookie(name: &str) -> bool {
    is_credential(name) || name.to_ascii_lowercase().contains("session")
}

fn is_of_auth(name: &str) -> bool {
    OF_AUTH.contains(&camel_case(name).as_str())
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
        assert!(again.is_empty(), "what was lifted is lifted once");
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
    fn a_name_is_free_or_the_tools_own_at_that_place() {
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
    fn a_mask_stands_for_what_was_there() {
        let before = tool(json!({"Authorization": "Bearer secret://mine", "X-Token": "{{token}}"}));
        for (given, kept) in [
            ("***", "Bearer secret://mine"),
            ("Bearer ***", "Bearer secret://mine"),
            ("Token ***", "Token secret://mine"),
        ] {
            let mut spec = tool(json!({"authorization": given}));
            assert!(lift_credentials(&mut spec, Some(&before), |_| true).expect("kept").is_empty());
            assert_eq!(spec.config["headers"]["authorization"], kept, "{given}");
        }
        for (header, before) in
            [("Authorization", None), ("X-Token", Some(&before)), ("X-Key", Some(&before))]
        {
            let missing = lift_credentials(&mut tool(json!({header: "***"})), before, |_| false).map(drop);
            assert_eq!(missing, Err(vec![format!("config.headers.{header}")]));
        }
    }
}
