//! One definition in the making: whether an example value becomes a placeholder, a secret, or stays.

use std::collections::HashMap;

use haft_core::Message;
use haft_core::text::{Part, Text};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, Known, Need, of_type};
use super::credentials::{self, SecretBook};
use super::marks::{MarkKind, Piece, has_marks, only_mark, pieces};
use super::words;
use crate::import::secret_name;

haft_core::templates! {
    UNSAYABLE = "import.unsayable",
        "{field} holds a variable, {open} or secret:// where a definition cannot hold it",
        "{field} 在定义不支持的位置包含变量、{open} 或 secret://";
}

/// Objects are looked into so deep.
const DEEPEST: usize = 3;

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Header,
    Query,
    Form,
    Multipart,
    Json,
}

pub(super) struct Draft<'a> {
    secrets: &'a mut SecretBook,
    /// What the source says its variables are.
    values: &'a [(String, String)],
    /// What the host is known by.
    label: &'a str,
    arguments: Arguments,
}

impl<'a> Draft<'a> {
    pub(super) fn new(secrets: &'a mut SecretBook, values: &'a [(String, String)], label: &'a str) -> Self {
        Self { secrets, values, label, arguments: Arguments::default() }
    }

    pub(super) fn into_schema(self) -> Value {
        self.arguments.into_schema()
    }

    /// A reference to the secret that a credential becomes.
    pub(super) fn credential(&mut self, text: &str, what: &str) -> String {
        if let Some(mark) = only_mark(text) {
            return self.secret_of(mark);
        }
        // With variables inside, nobody knows the whole of it.
        let value = Some(text).filter(|text| !has_marks(text));
        self.secrets.keep(&credentials::name_of(self.label, what), value)
    }

    fn secret_of(&mut self, mark: &str) -> String {
        let value = self.value_of(mark);
        self.secrets.keep(&secret_name(&[mark]), value)
    }

    fn value_of(&self, mark: &str) -> Option<&'a str> {
        let values: &'a [(String, String)] = self.values;
        values.iter().find(|(name, _)| name == mark).map(|(_, value)| value.as_str())
    }

    /// A text whose variables become placeholders or secrets, and whose rest stays as it is.
    pub(super) fn render(&mut self, text: &str, field: &str, place: Place) -> Result<String, Message> {
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
        // The words around a reference must not have become part of it.
        let is_meant = |read: Text| read.parts().iter().filter_map(reference_in).eq(references);
        if Text::parse(&rendered).is_ok_and(is_meant) { Ok(rendered) } else { Err(unsayable(field)) }
    }

    fn reference(&mut self, kind: MarkKind, mark: &str, place: Place) -> String {
        let known = match (self.value_of(mark), place) {
            (None, _) => Known::Nothing,
            (Some(value), Place::Path) => Known::Example(value),
            (Some(value), Place::Header | Place::Query | Place::Form | Place::Multipart | Place::Json) => {
                Known::Default(value)
            }
        };
        match (kind, place) {
            (
                MarkKind::Secret,
                Place::Header | Place::Query | Place::Form | Place::Multipart | Place::Json,
            ) => self.secret_of(mark),
            (MarkKind::Secret, Place::Path) => self.arguments.of_mark(kind, mark, Known::Nothing),
            (MarkKind::Text | MarkKind::Any, _) => self.arguments.of_mark(kind, mark, known),
        }
    }

    /// The placeholder of an id in the path.
    pub(super) fn path_id(&mut self, before: Option<&str>, id: &str) -> String {
        let value = scalar(id);
        let mut property = of_type(&value);
        if !words::may_be_secret(id, before) {
            property.insert("examples".to_owned(), json!([value]));
        }
        self.arguments.add(&words::id_name(before), Value::Object(property), Need::Required)
    }

    /// The placeholder of something that a call has to bring.
    pub(super) fn wanted(&mut self, name: &str) -> String {
        self.arguments.add(name, json!({"type": "string"}), Need::Required)
    }

    /// The placeholder of a value that is sent unless a call says otherwise.
    pub(super) fn example(&mut self, name: &str, value: &Value) -> Value {
        self.arguments.add_example(name, value).into()
    }

    /// What stands for one value that is no list and no object.
    pub(super) fn leaf(
        &mut self,
        field: &str,
        name: &str,
        value: &Value,
        place: Place,
    ) -> Result<Value, Message> {
        let Value::String(text) = value else { return Ok(self.example(name, value)) };
        if is_credential(field, text, place) {
            return Ok(self.credential(text, field).into());
        }
        if has_marks(text) {
            return Ok(self.render(text, field, place)?.into());
        }
        Ok(match place {
            Place::Query | Place::Form => self.example(name, &scalar(text)),
            Place::Path | Place::Header | Place::Multipart | Place::Json => self.example(name, value),
        })
    }

    /// The fields of a query or a form; a name that comes several times has a list.
    pub(super) fn fields(
        &mut self,
        pairs: &[(String, String)],
        place: Place,
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

    fn list(&mut self, name: &str, texts: &[&str], place: Place) -> Result<Value, Message> {
        let is_special = |text: &&str| has_marks(text) || is_credential(name, text, place);
        if !texts.iter().any(is_special) {
            let property = json!({"type": "array", "items": {"type": "string"}, "default": texts});
            return Ok(self.arguments.add(name, property, Need::Optional).into());
        }
        texts.iter().map(|text| self.settled_text(name, text, place)).collect()
    }

    /// A JSON body: scalars near its root become placeholders, lists and what lies deeper stay.
    pub(super) fn json(&mut self, body: &Value) -> Result<Value, Message> {
        match body {
            Value::Object(fields) if has_plain_names(fields) => self.object(fields, "", 1).map(Value::Object),
            Value::Object(_) | Value::Array(_) => self.literal("body", "body", body),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.leaf("body", "body", body, Place::Json)
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
                    self.leaf(field, &name, value, Place::Json)?
                }
                Value::Object(inner) if depth < DEEPEST && has_plain_names(inner) => {
                    Value::Object(self.object(inner, &name, depth + 1)?)
                }
                Value::Object(_) | Value::Array(_) => self.literal(field, &name, value)?,
            };
            object.insert(field.clone(), made);
        }
        Ok(object)
    }

    /// A list or an object that stays as it is, unless a definition would read something else in it.
    fn literal(&mut self, field: &str, name: &str, value: &Value) -> Result<Value, Message> {
        let mut texts = Vec::new();
        collect_texts(field, value, &mut texts);
        let is_special =
            |(field, text): &(&str, &str)| has_marks(text) || is_credential(field, text, Place::Json);
        if !texts.iter().any(is_special) && !texts.iter().all(|(_, text)| is_plain(text)) {
            return Ok(self.example(name, value));
        }
        self.settled(field, value)
    }

    fn settled(&mut self, field: &str, value: &Value) -> Result<Value, Message> {
        match value {
            Value::String(text) => self.settled_text(field, text, Place::Json),
            Value::Array(items) => items.iter().map(|item| self.settled(field, item)).collect(),
            Value::Object(fields) => {
                let mut object = Map::new();
                for (name, value) in fields {
                    check_name(name)?;
                    object.insert(name.clone(), self.settled(name, value)?);
                }
                Ok(Value::Object(object))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn settled_text(&mut self, field: &str, text: &str, place: Place) -> Result<Value, Message> {
        if is_credential(field, text, place) {
            return Ok(self.credential(text, field).into());
        }
        Ok(self.render(text, field, place)?.into())
    }
}

fn is_credential(field: &str, text: &str, place: Place) -> bool {
    match place {
        Place::Path => false,
        Place::Header => credentials::in_header(field, text),
        Place::Query => credentials::in_query(field, text),
        Place::Form | Place::Multipart | Place::Json => credentials::in_body(field, text),
    }
}

/// The texts of a value with the names of their fields, and these names too.
fn collect_texts<'v>(field: &'v str, value: &'v Value, texts: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::String(text) => texts.push((field, text)),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(field, item, texts)),
        Value::Object(fields) => {
            for (name, value) in fields {
                texts.push(("", name));
                collect_texts(name, value, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn reference_in(part: &Part) -> Option<String> {
    match part {
        Part::Plain(_) => None,
        Part::Variable(variable) => Some(format!("{{{{{variable}}}}}")),
        Part::Secret(secret) => Some(secret.to_string()),
    }
}

/// Whether a definition reads nothing but the text itself in it.
pub(super) fn is_plain(text: &str) -> bool {
    Text::parse(text).is_ok_and(|text| text.plain().is_some())
}

fn has_plain_names(fields: &Map<String, Value>) -> bool {
    !fields.is_empty() && fields.keys().all(|name| check_name(name).is_ok())
}

pub(super) fn check_name(name: &str) -> Result<(), Message> {
    if is_plain(name) && !has_marks(name) { Ok(()) } else { Err(unsayable(name)) }
}

pub(super) fn unsayable(field: &str) -> Message {
    let shown: String = pieces(field)
        .into_iter()
        .map(|piece| match piece {
            Piece::Plain(plain) => plain,
            Piece::Mark(_, name) => name,
        })
        .collect();
    Message::new(&UNSAYABLE).with("field", shown).with("open", "{{")
}

/// A text as the number or truth value it spells, where that spells the same text.
fn scalar(text: &str) -> Value {
    let is_exact = |value: &Value| {
        let written = value.to_string();
        (value.is_number() || value.is_boolean()) && written == text
    };
    // A float keeps integers of so many digits, as clients read them.
    let value: Option<Value> = if text.len() <= 15 { serde_json::from_str(text).ok() } else { None };
    value.filter(is_exact).unwrap_or_else(|| Value::from(text))
}
