//! The fields of a config for credentials: in headers, cookies and auth.

use haft_core::kind::CredentialField;
use haft_core::tool::input::camel_case;
use serde_json::{Map, Value};

use crate::headers::{after_scheme, is_credential};

/// Fields of `auth` that contain a credential.
const AUTH_FIELDS: [&str; 4] = ["token", "password", "value", "clientSecret"];

const HEADERS: &str = "headers";

/// Returns true if the field with this name contains a credential.
type IsCredential = fn(&str) -> bool;

/// The sections of a config that contain credentials, in the order in which secrets are named.
const SECTIONS: [(&str, IsCredential); 3] =
    [(HEADERS, is_credential), ("cookies", is_cookie), ("auth", is_auth_field)];

/// Returns the fields for credentials, whatever they contain.
pub(crate) fn credential_fields(config: &mut Map<String, Value>) -> Vec<CredentialField<'_>> {
    let mut found = Vec::new();
    for (section, fields) in config {
        let rank = SECTIONS.iter().position(|(known, _)| known == section);
        let (Some(rank), Value::Object(fields)) = (rank, fields) else { continue };
        let (section, holds) = SECTIONS[rank];
        let credentials = fields.iter_mut().filter(|(name, _)| holds(name));
        found.extend(credentials.map(|(name, value)| (rank, field(section, name, value))));
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, field)| field).collect()
}

fn field<'a>(section: &str, name: &str, value: &'a mut Value) -> CredentialField<'a> {
    let scheme = value.as_str().filter(|_| section == HEADERS).and_then(after_scheme);
    let scheme = scheme.map(|(scheme, _)| scheme.to_owned());
    CredentialField { path: format!("{section}.{name}"), name: name.to_owned(), scheme, value }
}

fn is_cookie(name: &str) -> bool {
    is_credential(name) || name.to_ascii_lowercase().contains("session")
}

fn is_auth_field(name: &str) -> bool {
    AUTH_FIELDS.contains(&camel_case(name).as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credential_fields_are_found_by_name_in_the_order_of_sections() {
        let mut config = json!({
            "auth": {"type": "basic", "username": "ada", "password": "hunter2", "client_secret": 7},
            "url": "https://a.example/{{token}}",
            "cookies": {"theme": "dark", "SessionId": "s-1"},
            "headers": {"Accept": "text/plain", "X-API-Key": "k-1", "Authorization": "Bearer secret://mine"},
        });
        let fields = credential_fields(config.as_object_mut().expect("an object"));
        let found: Vec<_> =
            fields.iter().map(|field| (field.path.as_str(), field.scheme.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("headers.X-API-Key", None),
                ("headers.Authorization", Some("Bearer")),
                ("cookies.SessionId", None),
                ("auth.password", None),
                ("auth.client_secret", None),
            ]
        );
    }
}
