//! One definition in the making: whether an example value becomes a placeholder, a secret, or stays.

use std::collections::HashMap;

use haft_core::Message;
use haft_core::text::{Part, Text};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, Known, Need};
use super::credentials;
use super::marks::{MarkKind, Piece, has_marks, only_mark, pieces};
use super::secrets::{Held, SecretBook};
use super::types::of_type;
use super::{Example, words};

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
    book: &'a mut SecretBook,
    example: &'a Example,
    arguments: Arguments,
    secrets: Vec<usize>,
}

/// What a draft comes to: the schema of its arguments, and the secrets that it names.
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

    /// A reference to the secret that a credential becomes.
    pub(super) fn credential(&mut self, text: &str, what: &str) -> String {
        if let Some(mark) = only_mark(text) {
            return self.secret_of(mark);
        }
        // With variables inside, nobody knows the whole of it.
        let is_known = !has_marks(text) && !credentials::is_placeholder(text);
        self.keep(what, if is_known { Held::Value(text) } else { Held::Nothing })
    }

    fn secret_of(&mut self, mark: &str) -> String {
        let example = self.example;
        let value = example.value(mark).filter(|value| !credentials::is_placeholder(value));
        self.keep(mark, value.map_or(Held::Variable(mark), Held::Value))
    }

    fn keep(&mut self, what: &str, held: Held<'_>) -> String {
        let name = credentials::name_of(self.example.address.authority(), what);
        let (at, reference) = self.book.keep(&name, held);
        self.secrets.push(at);
        reference
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
        let example = self.example;
        let value = example.value(mark);
        let is_secret = kind == MarkKind::Secret || value.is_some_and(credentials::is_token);
        let known = match (value, place) {
            (None, _) => Known::Nothing,
            (Some(value), Place::Path) if is_secret || words::may_be_secret(value, None) => Known::Nothing,
            (Some(value), Place::Path) => Known::Example(value),
            (Some(value), Place::Header | Place::Query | Place::Form | Place::Multipart | Place::Json) => {
                Known::Default(value)
            }
        };
        // A path cannot hold secrets.
        if is_secret && place != Place::Path {
            return self.secret_of(mark);
        }
        self.arguments.of_mark(kind, mark, known)
    }

    /// The placeholder of an id in the path. A number is the default of a call that only reads; whoever changes
    /// something has to say what.
    pub(super) fn path_id(&mut self, before: Option<&str>, id: &str) -> String {
        let (name, value) = (words::id_name(before), scalar(id));
        let only_reads = matches!(self.example.method.as_str(), "GET" | "HEAD");
        if only_reads && words::is_number(id) && !words::may_be_secret(id, before) {
            return self.arguments.add_example(&name, &value);
        }
        let mut property = of_type(&name, &value);
        if !words::may_be_secret(id, before) {
            property.insert("examples".to_owned(), json!([value]));
        }
        self.arguments.add(&name, Value::Object(property), Need::Required)
    }

    /// The placeholder of something that a call has to bring.
    pub(super) fn wanted(&mut self, name: &str) -> String {
        self.arguments.add(name, json!({"type": "string"}), Need::Required)
    }

    /// The placeholder of a file that a call has to bring, as text or in base64.
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
            return Ok(self.example(name, &json!(texts)));
        }
        texts.iter().map(|text| self.settled_text(name, text, place)).collect()
    }

    /// A JSON body: scalars near its root and lists become placeholders, what lies deeper stays.
    pub(super) fn json(&mut self, body: &Value) -> Result<Value, Message> {
        match body {
            Value::Object(fields) if has_plain_names(fields) => self.object(fields, "", 1).map(Value::Object),
            Value::Object(_) | Value::Array(_) => self.whole("body", "body", body),
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
                Value::Object(_) | Value::Array(_) => self.whole(field, &name, value)?,
            };
            object.insert(field.clone(), made);
        }
        Ok(object)
    }

    /// A list is one argument, and so is an object in which a definition would read something else.
    /// With variables or credentials inside, either stays as it is.
    fn whole(&mut self, field: &str, name: &str, value: &Value) -> Result<Value, Message> {
        let is_argument = value.is_array() || !is_plain_throughout(value);
        if is_argument && !is_special(field, value) {
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
            Value::Number(number) if credentials::is_surely(field) => {
                Ok(self.credential(&number.to_string(), field).into())
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

/// Whether a value holds variables or credentials.
fn is_special(field: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => has_marks(text) || is_credential(field, text, Place::Json),
        Value::Number(_) => credentials::is_surely(field),
        Value::Array(items) => items.iter().any(|item| is_special(field, item)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| has_marks(name) || is_special(name, value))
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// Whether a definition reads nothing but the texts themselves in all of a value.
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
