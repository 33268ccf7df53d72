//! Extracts literal credentials from a definition: saving replaces each with a reference to a new secret.

use haft_core::kind::CredentialField;
use haft_core::mask::MASKED;
use haft_core::secret::{SCHEME, SecretOwner};
use haft_core::text::Text;
use haft_core::{Kind, SecretRef, ToolSpec};
use secrecy::SecretString;
use serde_json::Value;

/// Maximum length of a secret's name, and of the field's part in it.
const MAX_NAME: usize = 64;
const MAX_FIELD: usize = 24;

/// Replaces literal credentials in the fields that the kind reports by references to secrets, and returns the
/// secrets' names and values.
///
/// A name is unused, or the one that the previous version has for the same field. A mask (`***`) keeps the
/// credential of the previous version; the error lists masked fields without one.
pub(crate) fn extract(
    kind: &dyn Kind,
    spec: &mut ToolSpec,
    before: Option<&ToolSpec>,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, SecretString)>, Vec<String>> {
    let mut config = before.map(|before| before.config.clone()).unwrap_or_default();
    let before = kind.credentials(&mut config);
    let mut extraction =
        Extraction { tool: spec.name.as_str(), before, is_taken, secrets: Vec::new(), missing: Vec::new() };
    for field in kind.credentials(&mut spec.config) {
        extraction.field(field);
    }
    if extraction.missing.is_empty() { Ok(extraction.secrets) } else { Err(extraction.missing) }
}

struct Extraction<'a> {
    tool: &'a str,
    /// The fields of the previous version.
    before: Vec<CredentialField<'a>>,
    is_taken: &'a dyn Fn(&str) -> bool,
    secrets: Vec<(String, SecretString)>,
    /// Masked fields without a previous credential.
    missing: Vec<String>,
}

impl Extraction<'_> {
    fn field(&mut self, field: CredentialField<'_>) {
        let CredentialField { path, name, scheme, value } = field;
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
        let behind_scheme = scheme.as_ref().and_then(|scheme| Some((scheme, text.strip_prefix(scheme)?)));
        let (scheme, credential) = match behind_scheme {
            Some((scheme, credential)) => (format!("{scheme} "), credential.trim()),
            None => (String::new(), text.trim()),
        };
        let before = self.previous_value(&path);
        let reference = before.and_then(reference);
        if credential == MASKED {
            match (before, reference) {
                (Some(whole), Some(_)) if scheme.is_empty() => *value = Value::from(whole),
                (_, Some(reference)) => *value = Value::from(format!("{scheme}{reference}")),
                (_, None) => self.missing.push(format!("config.{path}")),
            }
            return;
        }
        let own = reference.filter(|reference| reference.owner == SecretOwner::Space);
        let secret = self.free_name(&name, own.as_ref().map(|own| own.name.as_str()));
        *value = Value::from(format!("{scheme}{SCHEME}{secret}"));
        self.secrets.push((secret, SecretString::from(credential.to_owned())));
    }

    /// Returns the previous version's value of a field. Names of fields ignore case if no field has the same.
    fn previous_value(&self, path: &str) -> Option<&str> {
        let exact = self.before.iter().find(|field| field.path == path);
        let found = exact.or_else(|| self.before.iter().find(|field| field.path.eq_ignore_ascii_case(path)));
        found?.value.as_str()
    }

    /// Returns a name that is neither taken nor already assigned.
    fn free_name(&self, field: &str, own: Option<&str>) -> String {
        let preferred = name_of(self.tool, field);
        let numbered = |number: usize| {
            if number == 1 {
                return preferred.clone();
            }
            let end = format!("_{number}");
            let start = preferred.get(..MAX_NAME - end.len()).unwrap_or(&preferred);
            format!("{start}{end}")
        };
        let is_free = |name: &String| {
            let is_assigned = self.secrets.iter().any(|(assigned, _)| assigned == name);
            !is_assigned && (own == Some(name.as_str()) || !(self.is_taken)(name))
        };
        (1..).map(numbered).find(is_free).unwrap_or_else(|| preferred.clone())
    }
}

/// Returns the first secret that a text refers to.
fn reference(text: &str) -> Option<SecretRef> {
    Text::parse(text).ok()?.secrets().next().cloned()
}

/// Returns the secret's name: the tool's name and the field, in letters, digits and `_`, truncated to the limit.
fn name_of(tool: &str, field: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' }
    };
    let field: String = field.chars().map(plain).take(MAX_FIELD).collect();
    let room = MAX_NAME - field.len() - 1;
    format!("{}_{field}", tool.get(..room).unwrap_or(tool))
}
