//! The URL template of a tool: fixed scheme, host and port; path and query may contain variables.
//!
//! Arguments cannot change the requested resource beyond the variables of the template.

use haft_core::text::{Text, TextPart, Variable};
use haft_core::{Message, SecretRef};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use url::Url;

use crate::fill::{DOTS_IN_PATH, EMPTY_IN_PATH, Filling, NEEDED_IN_PATH, NEEDED_IN_TEXT};
use crate::generic::is_step;
use crate::headers::{is_credential, looks_secret};
use crate::query::{Pairs, append};

haft_core::templates! {
    NOT_ABSOLUTE = "http.notAbsolute",
        "must be an absolute URL that begins with http:// or https://",
        "必须是以 http:// 或 https:// 开头的完整 URL";
    VARIABLE_IN_HOST = "http.variableInHost",
        "has {variable} in its scheme, host or port, which must be fixed",
        "在协议、主机或端口中使用了 {variable}，这些部分必须是固定的";
    USERINFO = "http.userinfo",
        "contains a user name or password; use auth instead",
        "包含用户名或密码；请改用 auth";
    UNREADABLE = "http.unreadableUrl",
        "is not a URL: {reason}",
        "不是有效的 URL: {reason}";
    ODD_CHARACTER = "http.oddCharacter",
        "contains {character}, which is not allowed in a URL; percent-encode it",
        "含有 URL 不允许的字符 {character}；请使用百分号编码";
    LONE_PERCENT = "http.lonePercent",
        "contains a % that is not followed by two hexadecimal digits",
        "含有后面没有两位十六进制数的 %";
    SECRET_IN_PATH = "http.secretInPath",
        "contains a secret in its path; put it into a header, auth or the query",
        "在路径中包含密钥；请放入请求头、auth 或查询参数";
    VARIABLE_IN_FRAGMENT = "http.variableInFragment",
        "has a variable after #, which is never sent",
        "在 # 之后使用了变量，而该部分不会被发送";
}

/// Encodes everything except letters, digits and `-_.~`: for one segment or one value.
pub(crate) const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Characters of the author's text that must be encoded.
const WRITTEN: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'^').add(b'`').add(b'|').add(b'{').add(b'}');

/// A parsed URL template.
#[derive(Debug, Clone)]
pub(crate) struct UrlTemplate {
    /// Scheme, host and port only.
    origin: Url,
    /// Path segments, without the slashes.
    segments: Vec<Text>,
    query: Vec<(Text, Option<Text>)>,
}

/// The section of the URL that the parser has reached.
enum Section {
    Origin,
    Path,
    Query,
    Fragment,
}

impl UrlTemplate {
    pub(crate) fn parse(written: &str) -> Result<Self, Message> {
        let text = Text::parse(written.trim())?;
        let mut origin = String::new();
        let mut segments: Vec<Vec<TextPart>> = Vec::new();
        let mut query: Vec<Vec<TextPart>> = Vec::new();
        let mut place = Section::Origin;
        for part in text.parts() {
            let TextPart::Plain(plain) = part else {
                match place {
                    Section::Origin if origin.contains('/') && !origin.contains("://") => {
                        return Err(Message::new(&NOT_ABSOLUTE));
                    }
                    Section::Origin => {
                        let shown = display(part);
                        return Err(Message::new(&VARIABLE_IN_HOST).with("variable", shown));
                    }
                    Section::Path if matches!(part, TextPart::Secret(_)) => {
                        return Err(Message::new(&SECRET_IN_PATH));
                    }
                    Section::Path => push(&mut segments, part.clone()),
                    Section::Query => push(&mut query, part.clone()),
                    Section::Fragment => return Err(Message::new(&VARIABLE_IN_FRAGMENT)),
                }
                continue;
            };
            check_written(plain)?;
            let mut rest = plain.as_str();
            while !rest.is_empty() {
                let end = match place {
                    Section::Origin => end_of_origin(rest),
                    Section::Path => rest.find(['/', '?', '#']),
                    Section::Query => rest.find(['&', '#']),
                    Section::Fragment => None,
                };
                let (taken, after) = rest.split_at(end.unwrap_or(rest.len()));
                match place {
                    Section::Origin => origin.push_str(taken),
                    Section::Path => push(&mut segments, TextPart::Plain(encoded(taken))),
                    Section::Query => push(&mut query, TextPart::Plain(encoded(taken))),
                    Section::Fragment => {}
                }
                let mut characters = after.chars();
                match characters.next() {
                    Some('/') => {
                        segments.push(Vec::new());
                        place = Section::Path;
                    }
                    Some('?' | '&') => {
                        query.push(Vec::new());
                        place = Section::Query;
                    }
                    Some('#') => place = Section::Fragment,
                    Some(_) | None => {}
                }
                rest = characters.as_str();
            }
        }
        let query =
            query.into_iter().filter(|parts| !parts.is_empty()).map(|parts| split_pair(&parts)).collect();
        Ok(Self {
            origin: parse_origin(&origin)?,
            segments: segments.into_iter().map(Text::from_parts).collect(),
            query,
        })
    }

    /// The origin, as used by circuit breakers and policies.
    pub(crate) fn origin(&self) -> &Url {
        &self.origin
    }

    /// Variables of the path, in order.
    pub(crate) fn path_variables(&self) -> impl Iterator<Item = &Variable> {
        self.segments.iter().flat_map(Text::variables)
    }

    /// Variables of the query in the URL.
    pub(crate) fn query_variables(&self) -> impl Iterator<Item = &Variable> {
        self.query
            .iter()
            .flat_map(|(name, value)| name.variables().chain(value.iter().flat_map(Text::variables)))
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.query.iter().flat_map(|(name, value)| name.secrets().chain(value.iter().flat_map(Text::secrets)))
    }

    /// Literal credentials in the query.
    pub(crate) fn literals(&self) -> Vec<String> {
        let written = |(name, value): &(Text, Option<Text>)| {
            let value = value.as_ref()?.plain()?;
            let text = percent_decode_str(value).decode_utf8_lossy().into_owned();
            (is_credential(name.plain()?) && looks_secret(&text)).then_some(text)
        };
        self.query.iter().filter_map(written).collect()
    }

    /// Fills in path and query.
    pub(crate) fn fill(&self, filling: &mut Filling<'_>) -> String {
        let mut url = String::with_capacity(128);
        if self.segments.is_empty() {
            url.push('/');
        }
        for segment in &self.segments {
            url.push('/');
            fill_segment(segment, filling, &mut url);
        }
        let mut pairs = Pairs::default();
        for (name, value) in &self.query {
            fill_pair(name, value.as_ref(), filling, &mut pairs);
        }
        append(&mut url, &pairs);
        url
    }
}

/// Fills one segment. It stays one segment and never becomes `.` or `..`.
fn fill_segment(segment: &Text, filling: &mut Filling<'_>, url: &mut String) {
    if let Some(plain) = segment.plain() {
        return url.push_str(plain);
    }
    let mut raw = String::new();
    let mut last = None;
    for part in segment.parts() {
        match part {
            TextPart::Plain(plain) => {
                raw.push_str(plain);
                url.push_str(plain);
            }
            TextPart::Variable(variable) => {
                let text = filling.text_of(variable, &NEEDED_IN_PATH);
                url.extend(utf8_percent_encode(&text, VALUE));
                raw.push_str(&text);
                last = Some(variable);
            }
            // Secrets in the path are rejected when the tool is saved.
            TextPart::Secret(_) => {}
        }
    }
    let Some(variable) = last else { return };
    let is_given = !matches!(filling.value(variable).as_deref(), None | Some(Value::Null));
    if raw.is_empty() && is_given {
        filling.wrong(variable, &EMPTY_IN_PATH);
    }
    let may_be_step = raw.bytes().all(|byte| matches!(byte, b'.' | b'%' | b'2' | b'e' | b'E'));
    if may_be_step && is_step(&raw.to_ascii_lowercase().replace("%2e", ".")) {
        filling.wrong(variable, &DOTS_IN_PATH);
    }
}

/// Fills a pair. A value that is a single variable follows the rules of a query field; any other is text.
fn fill_pair(name: &Text, value: Option<&Text>, filling: &mut Filling<'_>, pairs: &mut Pairs) {
    let key = fill_encoded(name, filling);
    match value {
        None => pairs.push_written(key, None),
        Some(value) => match value.only_variable() {
            Some(variable) => {
                if let Some(found) = filling.value(variable) {
                    pairs.push_value(&key, &found);
                }
            }
            None => {
                let text = fill_encoded(value, filling);
                pairs.push_written(key, Some(text));
            }
        },
    }
}

/// Keeps the author's text and percent-encodes the values.
fn fill_encoded(text: &Text, filling: &mut Filling<'_>) -> String {
    let mut filled = String::new();
    for part in text.parts() {
        let value = match part {
            TextPart::Plain(plain) => {
                filled.push_str(plain);
                continue;
            }
            TextPart::Variable(variable) => filling.text_of(variable, &NEEDED_IN_TEXT),
            TextPart::Secret(secret) if filling.shows_names() => {
                filled.push_str(&filling.secret(secret));
                continue;
            }
            TextPart::Secret(secret) => filling.secret(secret).into(),
        };
        filled.extend(utf8_percent_encode(&value, VALUE));
    }
    filled
}

/// The end of the origin: the first `/`, `?` or `#` after `://`.
fn end_of_origin(text: &str) -> Option<usize> {
    let start = text.find("://")? + 3;
    text.get(start..)?.find(['/', '?', '#']).map(|at| start + at)
}

fn parse_origin(written: &str) -> Result<Url, Message> {
    let lower = written.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(Message::new(&NOT_ABSOLUTE));
    }
    if written.contains('@') {
        return Err(Message::new(&USERINFO));
    }
    let url = Url::parse(written).map_err(|error| Message::new(&UNREADABLE).with("reason", error))?;
    if url.path() != "/" || url.query().is_some() || !url.has_host() {
        return Err(Message::new(&NOT_ABSOLUTE));
    }
    Ok(url)
}

/// Rejects text that some URL parsers would interpret differently.
fn check_written(plain: &str) -> Result<(), Message> {
    if let Some(odd) = plain.chars().find(|character| character.is_control() || *character == '\\') {
        return Err(Message::new(&ODD_CHARACTER).with("character", format_args!("{odd:?}")));
    }
    let bytes = plain.as_bytes();
    let is_escape =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if (0..bytes.len()).any(|at| bytes[at] == b'%' && !is_escape(at)) {
        return Err(Message::new(&LONE_PERCENT));
    }
    Ok(())
}

fn encoded(written: &str) -> String {
    utf8_percent_encode(written, WRITTEN).to_string()
}

fn push(lists: &mut [Vec<TextPart>], part: TextPart) {
    if matches!(&part, TextPart::Plain(text) if text.is_empty()) {
        return;
    }
    if let Some(last) = lists.last_mut() {
        last.push(part);
    }
}

/// Splits `name=value` at the first `=`.
fn split_pair(parts: &[TextPart]) -> (Text, Option<Text>) {
    let equals = |part: &TextPart| match part {
        TextPart::Plain(plain) => plain.find('='),
        TextPart::Variable(_) | TextPart::Secret(_) => None,
    };
    let found = parts.iter().enumerate().find_map(|(at, part)| Some((at, equals(part)?)));
    let Some((at, place)) = found else { return (Text::from_parts(parts.to_vec()), None) };
    let (mut name, mut value) = (parts[..at].to_vec(), Vec::new());
    if let TextPart::Plain(plain) = &parts[at] {
        name.push(TextPart::Plain(plain[..place].to_owned()));
        value.push(TextPart::Plain(plain[place + 1..].to_owned()));
    }
    value.extend_from_slice(&parts[at + 1..]);
    let drop_empty = |parts: Vec<TextPart>| {
        parts.into_iter().filter(|part| !matches!(part, TextPart::Plain(text) if text.is_empty())).collect()
    };
    (Text::from_parts(drop_empty(name)), Some(Text::from_parts(drop_empty(value))))
}

fn display(part: &TextPart) -> String {
    match part {
        TextPart::Plain(text) => text.clone(),
        TextPart::Variable(variable) => format!("{{{{{variable}}}}}"),
        TextPart::Secret(secret) => secret.to_string(),
    }
}
