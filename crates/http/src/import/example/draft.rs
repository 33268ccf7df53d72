//! Drafts one definition: decides whether an example value becomes a placeholder, a secret, or stays.

use std::collections::HashMap;

use haft_core::Message;
use haft_core::text::{Text, TextPart};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, Need, VariableValue};
use super::credentials;
use super::marks::{MarkKind, Piece, has_marks, only_mark, pieces};
use super::secrets::{SecretBook, SecretSource};
use super::types::of_type;
use super::{Example, url_names};

haft_core::templates! {
    UNSAYABLE = "import.unsayable",
        "{field} contains a variable, {open} or secret:// at a position where definitions do not support it",
        "{field} 在定义不支持的位置包含变量、{open} 或 secret://";
}

/// Maximum nesting of objects whose fields become arguments.
const DEEPEST: usize = 3;

/// The part of a request that contains a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Header,
    Query,
    Form,
    Multipart,
    Json,
}

pub(super) struct Draft<'a> {
    book: &'a mut SecretBook,
    example: &'a Example,
    arguments: Arguments,
    secrets: Vec<usize>,
}

/// The result of a draft: the schema of its arguments, and the secrets that it uses.
pub(super) struct Drawn {
    pub(super) schema: Value,
    pub(super) secrets: Vec<usize>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(book: &'a mut SecretBook, example: &'a Example) -> Self {
        Self { book, example, arguments: Arguments::default(), secrets: Vec::new() }
    }

    pub(super) fn finish(self) -> Drawn {
        Drawn { schema: self.arguments.into_schema(), secrets: self.secrets }
    }

    /// The reference to the secret that replaces a credential.
    pub(super) fn credential(&mut self, text: &str, what: &str) -> String {
        if let Some(mark) = only_mark(text) {
            return self.secret_of(mark);
        }
        // With variables inside, the complete value is unknown.
        let is_known = !has_marks(text) && !credentials::is_placeholder(text);
        self.add_secret(what, if is_known { SecretSource::Value(text) } else { SecretSource::Nothing })
    }

    fn secret_of(&mut self, mark: &str) -> String {
        let example = self.example;
        let value = example.value(mark).filter(|value| !credentials::is_placeholder(value));
        self.add_secret(mark, value.map_or(SecretSource::Variable(mark), SecretSource::Value))
    }

    fn add_secret(&mut self, what: &str, held: SecretSource<'_>) -> String {
        let name = credentials::name_of(self.example.address.authority(), what);
        let (at, reference) = self.book.add(&name, held);
        self.secrets.push(at);
        reference
    }

    /// Replaces the variables of a text by placeholders or secrets.
    pub(super) fn render(&mut self, text: &str, field: &str, place: Location) -> Result<String, Message> {
        let mut rendered = String::new();
        let mut references = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Plain(plain) => rendered.push_str(plain),
                Piece::Mark(kind, mark) => {
                    let reference = self.reference(kind, mark, place);
                    rendered.push_str(&reference);
                    references.push(reference);
                }
            }
        }
        // The surrounding text must not extend a reference.
        let is_meant = |read: Text| read.parts().iter().filter_map(reference_in).eq(references);
        if Text::parse(&rendered).is_ok_and(is_meant) { Ok(rendered) } else { Err(unsayable(field)) }
    }

    fn reference(&mut self, kind: MarkKind, mark: &str, place: Location) -> String {
        let example = self.example;
        let value = example.value(mark);
        let is_secret = kind == MarkKind::Secret || value.is_some_and(credentials::is_token);
        let known = match (value, place) {
            (None, _) => VariableValue::Nothing,
            (Some(value), Location::Path) if is_secret || url_names::may_be_secret(value, None) => {
                VariableValue::Nothing
            }
            (Some(value), Location::Path) => VariableValue::Example(value),
            (
                Some(value),
                Location::Header | Location::Query | Location::Form | Location::Multipart | Location::Json,
            ) => VariableValue::Default(value),
        };
        // A path cannot contain secrets.
        if is_secret && place != Location::Path {
            return self.secret_of(mark);
        }
        self.arguments.of_mark(kind, mark, known)
    }

    /// The placeholder of an id in the path. A number becomes the default of read-only requests; for other
    /// methods a call must supply the id.
    pub(super) fn path_id(&mut self, before: Option<&str>, id: &str) -> String {
        let (name, value) = (url_names::id_name(before), scalar(id));
        let only_reads = matches!(self.example.method.as_str(), "GET" | "HEAD");
        if only_reads && url_names::is_number(id) && !url_names::may_be_secret(id, before) {
            return self.arguments.add_example(&name, &value);
        }
        let mut property = of_type(&name, &value);
        if !url_names::may_be_secret(id, before) {
            property.insert("examples".to_owned(), json!([value]));
        }
        self.arguments.add(&name, Value::Object(property), Need::Required)
    }

    /// The placeholder of a required argument.
    pub(super) fn required_argument(&mut self, name: &str) -> String {
        self.arguments.add(name, json!({"type": "string"}), Need::Required)
    }

    /// The placeholders of a required file, as text or in base64.
    pub(super) fn file(&mut self, name: &str, filename: &str, media: Option<&str>) -> String {
        let known = |text: Option<&str>| match text.filter(|text| !has_marks(text)) {
            Some(text) => json!({"type": "string", "default": text}),
            None => json!({"type": "string"}),
        };
        let mut property = json!({
            "type": "object",
            "description": "A file, with its content as text or in base64.",
            "properties": {
                "filename": known(Some(filename)),
                "contentType": known(media),
                "content": {"type": "string", "description": "The content, as text."},
                "base64": {"type": "string", "description": "The content in base64, instead of content."},
            },
        });
        if has_marks(filename) {
            property["required"] = json!(["filename"]);
        }
        self.arguments.add(name, property, Need::Required)
    }

    /// The placeholder of an argument with a default.
    pub(super) fn example(&mut self, name: &str, value: &Value) -> Value {
        self.arguments.add_example(name, value).into()
    }

    /// Replaces a scalar by a placeholder or a secret, or keeps it.
    pub(super) fn leaf(
        &mut self,
        field: &str,
        name: &str,
        value: &Value,
        place: Location,
    ) -> Result<Value, Message> {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) if credentials::is_surely(field) => {
                return Ok(self.credential(&number.to_string(), field).into());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return Ok(self.example(name, value));
            }
        };
        if is_credential(field, text, place) {
            return Ok(self.credential(text, field).into());
        }
        if has_marks(text) {
            return Ok(self.render(text, field, place)?.into());
        }
        Ok(match place {
            Location::Query | Location::Form => self.example(name, &scalar(text)),
            Location::Path | Location::Header | Location::Multipart | Location::Json => {
                self.example(name, value)
            }
        })
    }

    /// The fields of a query or a form; a repeated name becomes a list.
    pub(super) fn fields(
        &mut self,
        pairs: &[(String, String)],
        place: Location,
    ) -> Result<Map<String, Value>, Message> {
        let mut order: Vec<&str> = Vec::new();
        let mut values: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, value) in pairs {
            let known = values.entry(name).or_default();
            if known.is_empty() {
                order.push(name);
            }
            known.push(value);
        }
        let mut fields = Map::new();
        for name in order {
            check_name(name)?;
            let value = match values.get(name).map(Vec::as_slice) {
                Some([one]) => self.leaf(name, name, &Value::from(*one), place)?,
                Some(several) => self.list(name, several, place)?,
                None => continue,
            };
            fields.insert(name.to_owned(), value);
        }
        Ok(fields)
    }

    fn list(&mut self, name: &str, texts: &[&str], place: Location) -> Result<Value, Message> {
        let is_special = |text: &&str| has_marks(text) || is_credential(name, text, place);
        if !texts.iter().any(is_special) {
            return Ok(self.example(name, &json!(texts)));
        }
        texts.iter().map(|text| self.settled_text(name, text, place)).collect()
    }

    /// A JSON body: scalars near the root and lists become placeholders; deeper values stay.
    pub(super) fn json(&mut self, body: &Value) -> Result<Value, Message> {
        match body {
            Value::Object(fields) if has_plain_names(fields) => self.object(fields, "", 1).map(Value::Object),
            Value::Object(_) | Value::Array(_) => self.whole("body", "body", body),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.leaf("body", "body", body, Location::Json)
            }
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        within: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, Message> {
        let mut object = Map::new();
        for (field, value) in fields {
            let name = if within.is_empty() { field.clone() } else { format!("{within}_{field}") };
            let made = match value {
                Value::Null => Value::Null,
                Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    self.leaf(field, &name, value, Location::Json)?
                }
                Value::Object(inner) if depth < DEEPEST && has_plain_names(inner) => {
                    Value::Object(self.object(inner, &name, depth + 1)?)
                }
                Value::Object(_) | Value::Array(_) => self.whole(field, &name, value)?,
            };
            object.insert(field.clone(), made);
        }
        Ok(object)
    }

    /// A list becomes one argument, and so does an object with text that a definition would interpret. With
    /// variables or credentials inside, the value stays.
    fn whole(&mut self, field: &str, name: &str, value: &Value) -> Result<Value, Message> {
        let is_argument = value.is_array() || !is_plain_throughout(value);
        if is_argument && !is_special(field, value) {
            return Ok(self.example(name, value));
        }
        self.settled(field, value)
    }

    fn settled(&mut self, field: &str, value: &Value) -> Result<Value, Message> {
        match value {
            Value::String(text) => self.settled_text(field, text, Location::Json),
            Value::Array(items) => items.iter().map(|item| self.settled(field, item)).collect(),
            Value::Object(fields) => {
                let mut object = Map::new();
                for (name, value) in fields {
                    check_name(name)?;
                    object.insert(name.clone(), self.settled(name, value)?);
                }
                Ok(Value::Object(object))
            }
            Value::Number(number) if credentials::is_surely(field) => {
                Ok(self.credential(&number.to_string(), field).into())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn settled_text(&mut self, field: &str, text: &str, place: Location) -> Result<Value, Message> {
        if is_credential(field, text, place) {
            return Ok(self.credential(text, field).into());
        }
        Ok(self.render(text, field, place)?.into())
    }
}

fn is_credential(field: &str, text: &str, place: Location) -> bool {
    match place {
        Location::Path => false,
        Location::Header => credentials::in_header(field, text),
        Location::Query => credentials::in_query(field, text),
        Location::Form | Location::Multipart | Location::Json => credentials::in_body(field, text),
    }
}

/// Returns true if a value contains variables or credentials.
fn is_special(field: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => has_marks(text) || is_credential(field, text, Location::Json),
        Value::Number(_) => credentials::is_surely(field),
        Value::Array(items) => items.iter().any(|item| is_special(field, item)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| has_marks(name) || is_special(name, value))
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// Returns true if all texts of a value are literal in a definition.
fn is_plain_throughout(value: &Value) -> bool {
    match value {
        Value::String(text) => is_plain(text),
        Value::Array(items) => items.iter().all(is_plain_throughout),
        Value::Object(fields) => {
            fields.iter().all(|(name, value)| is_plain(name) && is_plain_throughout(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn reference_in(part: &TextPart) -> Option<String> {
    match part {
        TextPart::Plain(_) => None,
        TextPart::Variable(variable) => Some(format!("{{{{{variable}}}}}")),
        TextPart::Secret(secret) => Some(secret.to_string()),
    }
}

/// Returns true if a text is literal in a definition.
pub(super) fn is_plain(text: &str) -> bool {
    Text::parse(text).is_ok_and(|text| text.plain().is_some())
}

fn has_plain_names(fields: &Map<String, Value>) -> bool {
    !fields.is_empty() && fields.keys().all(|name| check_name(name).is_ok())
}

pub(super) fn check_name(name: &str) -> Result<(), Message> {
    if is_plain(name) && !has_marks(name) { Ok(()) } else { Err(unsayable(name)) }
}

fn unsayable(field: &str) -> Message {
    let shown: String = pieces(field)
        .into_iter()
        .map(|piece| match piece {
            Piece::Plain(plain) => plain,
            Piece::Mark(_, name) => name,
        })
        .collect();
    Message::new(&UNSAYABLE).with("field", shown).with("open", "{{")
}

/// Converts a text to a number or boolean, if that has the same spelling.
fn scalar(text: &str) -> Value {
    let is_exact = |value: &Value| {
        let written = value.to_string();
        (value.is_number() || value.is_boolean()) && written == text
    };
    // Integers with up to 15 digits are exact in floats, as many clients parse numbers.
    let value: Option<Value> = if text.len() <= 15 { serde_json::from_str(text).ok() } else { None };
    value.filter(is_exact).unwrap_or_else(|| Value::from(text))
}
