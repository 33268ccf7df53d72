//! The options of one curl command, and the request that they describe.

use haft_core::Message;

use super::option_kinds::{OptionKind, long, option_kind};
use crate::import::example::{
    Address, Body, Content, Credentials, Example, FORM, Part, has_marks, is_browser_noise, mark_variable,
    pairs, written_path,
};
use crate::query::encode;

haft_core::templates! {
    UNKNOWN_OPTION = "import.curl.unknownOption",
        "{option} is not a known curl option",
        "{option} 不是可识别的 curl 选项";
    REFUSED_OPTION = "import.curl.refusedOption",
        "tools do not support the option {option}",
        "工具无法实现选项 {option}";
    NOTED_OPTION = "import.curl.notedOption",
        "the option {option} was ignored: tools cannot configure it",
        "已去掉选项 {option}：工具无法指定";
    NO_VALUE = "import.curl.noValue",
        "the option {option} has no value",
        "选项 {option} 后面缺少值";
    FROM_FILE = "import.curl.fromFile",
        "the option {option} reads a file, which is not available here; write its content instead",
        "选项 {option} 从文件读取，而文件不在这里；请直接写出内容";
    HEADER_FORM = "import.curl.headerForm",
        "the option {option} must be followed by a header, written Name: value",
        "选项 {option} 后面必须是形如 Name: value 的请求头";
    FIELD_FORM = "import.curl.fieldForm",
        "the option {option} must be followed by a field, written name=value",
        "选项 {option} 后面必须是形如 name=value 的字段";
    GLOB = "import.curl.glob",
        "the URL contains a list or a range, which means several URLs; write one URL, with $NAME for the variable part",
        "URL 含有列表或范围，代表多个 URL；请只写一个 URL，可变部分写成 $NAME";
    NO_URL = "import.curl.noUrl",
        "the command has no URL",
        "命令中没有 URL";
    MANY_URLS = "import.curl.manyUrls",
        "the command has several URLs; write a separate command for each",
        "命令中有多个 URL；请分别写成命令";
}

/// Maximum number of refusals that are listed.
pub(super) const MOST_REFUSED: usize = 100;

/// Maximum timeout of one attempt, in seconds.
const LONGEST_SECONDS: f64 = 600.0;

/// Maximum number of retries.
const MOST_RETRIES: u64 = 10;

#[derive(Default)]
pub(super) struct Options {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Option<String>,
    parts: Vec<Part>,
    query: Vec<String>,
    credentials: Option<Credentials>,
    timeout: Option<u64>,
    retry_count: Option<u64>,
    is_get: bool,
    is_head: bool,
    is_json: bool,
    /// The method of a request whose body is a file, if the command names none.
    assumed_method: Option<&'static str>,
    globs: Globs,
    /// The standard input of the command.
    input: Option<String>,
    notes: Vec<Message>,
    refusals: Refusals,
    /// The reason why the body is unknown: it is in a file.
    unknown_body: Option<Message>,
}

/// Expansion of braces and brackets in a URL to several URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Globs {
    #[default]
    On,
    Off,
}

/// The reasons why a command cannot become a tool: all are counted, the first are listed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) reasons: Vec<Message>,
    /// Number of unlisted reasons.
    pub(super) more: usize,
}

impl From<Message> for Refusals {
    fn from(reason: Message) -> Self {
        Self { reasons: vec![reason], more: 0 }
    }
}

impl Options {
    /// Parses the arguments of `curl`, or returns everything wrong with them.
    pub(super) fn read(
        mut words: impl Iterator<Item = String>,
        input: Option<String>,
    ) -> Result<Self, Refusals> {
        let mut options = Self { input, ..Self::default() };
        while let Some(word) = words.next() {
            match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(""), _) => options.urls.extend(words.by_ref()),
                (Some(written), _) => options.long(written, &mut words),
                (None, Some(letters)) if !letters.is_empty() => options.short(letters, &mut words),
                (None, Some(_) | None) => options.urls.push(word.clone()),
            }
        }
        if options.refusals.reasons.is_empty() { Ok(options) } else { Err(options.refusals) }
    }

    fn long(&mut self, written: &str, words: &mut dyn Iterator<Item = String>) {
        // curl expects a separate value; `--option=value` is a common mistake.
        let (option, attached) = match written.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (written, None),
        };
        let kind = option_kind(option);
        let value = attached.or_else(|| if takes_value(kind) { words.next() } else { None });
        self.apply(option, &format!("--{option}"), kind, value);
    }

    /// Parses bundled short options. The last may take a value, the others are flags.
    fn short(&mut self, letters: &str, words: &mut dyn Iterator<Item = String>) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let option = long(letter).unwrap_or_default();
            let (kind, shown) = (option_kind(option), format!("-{letter}"));
            if takes_value(kind) {
                let attached = Some(rest.as_str().to_owned()).filter(|value| !value.is_empty());
                return self.apply(option, &shown, kind, attached.or_else(|| words.next()));
            }
            self.apply(option, &shown, kind, None);
        }
    }

    fn apply(&mut self, option: &str, shown: &str, kind: Option<OptionKind>, value: Option<String>) {
        match (kind, value) {
            (None, _) => self.refuse(Message::new(&UNKNOWN_OPTION), shown),
            (Some(OptionKind::Ignored | OptionKind::IgnoredValue), _) => {}
            (Some(OptionKind::Noted | OptionKind::NotedValue), _) => {
                let note = Message::new(&NOTED_OPTION).with("option", shown);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
            (Some(OptionKind::Refused | OptionKind::RefusedValue), _) => {
                self.refuse(Message::new(&REFUSED_OPTION), shown);
            }
            (Some(OptionKind::Flag), _) => {
                self.is_get |= option == "get";
                self.is_head |= option == "head";
                if option == "globoff" {
                    self.globs = Globs::Off;
                }
            }
            (Some(OptionKind::Value), Some(value)) => self.set(option, shown, &value),
            (Some(OptionKind::Value), None) => self.refuse(Message::new(&NO_VALUE), shown),
        }
    }

    fn refuse(&mut self, message: Message, option: &str) {
        if self.refusals.reasons.len() < MOST_REFUSED {
            self.refusals.reasons.push(message.with("option", option));
        } else {
            self.refusals.more += 1;
        }
    }

    fn set(&mut self, option: &str, shown: &str, value: &str) {
        match option {
            "url" => self.urls.push(value.to_owned()),
            "request" => self.method = Some(value.to_ascii_uppercase()),
            "header" => self.header(shown, value),
            "data" | "data-ascii" | "data-binary" | "json" if value.starts_with('@') => {
                self.data_from(option, shown, value);
            }
            "data" | "data-ascii" | "data-binary" | "data-raw" | "json" => self.add_data(option, value),
            "data-urlencode" => match urlencoded(value) {
                Some(encoded) => self.push_data(&encoded, "&"),
                None => self.take_body_from_file("POST", shown),
            },
            "upload-file" => self.take_body_from_file("PUT", shown),
            "url-query" => match (value.strip_prefix('+'), urlencoded(value)) {
                (Some(written), _) => self.query.push(written.to_owned()),
                (None, Some(encoded)) => self.query.push(encoded),
                (None, None) => self.refuse(Message::new(&FROM_FILE), shown),
            },
            "form" => self.form(shown, value),
            "form-string" => match value.split_once('=') {
                Some((name, text)) => self.push_part(name, Content::Text(text.to_owned())),
                None => self.refuse(Message::new(&FIELD_FORM), shown),
            },
            "user" => {
                let (username, password) = match value.split_once(':') {
                    Some((username, password)) => (username, Some(password.to_owned())),
                    None => (value, None),
                };
                self.credentials = Some(Credentials::Basic { username: username.to_owned(), password });
            }
            "oauth2-bearer" => self.credentials = Some(Credentials::Bearer(value.to_owned())),
            "cookie" if value.is_empty() || value.contains('=') || has_marks(value) => {
                self.push_header("Cookie", value);
            }
            "cookie" => self.refuse(Message::new(&FROM_FILE), shown),
            "user-agent" => self.push_header("User-Agent", value),
            "referer" => self.push_header("Referer", value.trim_end_matches(";auto")),
            "range" => self.push_header("Range", &format!("bytes={value}")),
            "max-time" => self.timeout = milliseconds(value),
            "retry" => self.retry_count = value.parse::<u64>().ok().map(|count| count.min(MOST_RETRIES)),
            _ => {}
        }
    }

    fn add_data(&mut self, option: &str, text: &str) {
        self.is_json |= option == "json";
        self.push_data(text, if option == "json" { "" } else { "&" });
    }

    /// Data from a file or from standard input, which is known.
    fn data_from(&mut self, option: &str, shown: &str, place: &str) {
        match self.input.take().filter(|_| place == "@-") {
            // `--data` removes line ends; the binary and raw options keep them.
            Some(text) if option == "data" || option == "data-ascii" => {
                self.add_data(option, &text.replace(['\r', '\n'], ""));
            }
            Some(text) => self.add_data(option, &text),
            None => self.take_body_from_file("POST", shown),
        }
    }

    fn take_body_from_file(&mut self, method: &'static str, shown: &str) {
        self.unknown_body.get_or_insert_with(|| Message::new(&FROM_FILE).with("option", shown));
        self.assumed_method.get_or_insert(method);
    }

    /// The reason why the body is unknown although the command is valid.
    pub(super) fn unknown_body(&self) -> Option<Message> {
        self.unknown_body.clone()
    }

    fn push_header(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn header(&mut self, shown: &str, written: &str) {
        if written.starts_with('@') {
            return self.refuse(Message::new(&FROM_FILE), shown);
        }
        match (written.split_once(':'), written.strip_suffix(';')) {
            (Some((name, value)), _) if is_browser_noise(name.trim(), value) => {}
            (Some((name, value)), _) => self.push_header(name.trim(), value.trim()),
            (None, Some(name)) => self.headers.push((name.trim().to_owned(), String::new())),
            (None, None) => self.refuse(Message::new(&HEADER_FORM), shown),
        }
    }

    fn push_data(&mut self, text: &str, between: &str) {
        match &mut self.data {
            Some(data) => {
                data.push_str(between);
                data.push_str(text);
            }
            None => self.data = Some(text.to_owned()),
        }
    }

    fn form(&mut self, shown: &str, field: &str) {
        let Some((name, written)) = field.split_once('=') else {
            return self.refuse(Message::new(&FIELD_FORM), shown);
        };
        let starts = |at: &usize| {
            let rest = written.get(at + 1..).unwrap_or_default().trim_start();
            ["type=", "filename=", "headers=", "encoder="].iter().any(|name| rest.starts_with(name))
        };
        if let Some((content, more)) = quoted(written) {
            let media = more.split(';').find_map(|part| part.trim().strip_prefix("type="));
            return self.push_part(name, Content::of_text(&content, media));
        }
        let end = written.match_indices(';').map(|(at, _)| at).find(starts).unwrap_or(written.len());
        let (content, more) = written.split_at(end);
        let attribute = |name: &str| more.split(';').find_map(|part| part.trim().strip_prefix(name));
        let typed = attribute("type=").unwrap_or_default();
        let (media, others) = typed.split_once(',').unwrap_or((typed, ""));
        let (media, content) = (Some(media).filter(|media| !media.is_empty()), content.trim_matches('"'));
        match (content.strip_prefix('@'), attribute("filename=")) {
            (Some(_), Some(filename)) => {
                self.push_part(name, Content::file(filename.trim_matches('"'), media));
            }
            (Some(path), None) if path.starts_with('"') => {
                self.push_part(name, Content::file(path.trim_matches('"'), media));
            }
            (Some(paths), None) => {
                let others = others.split(',').filter(|path| !path.is_empty());
                for path in paths.split(',').chain(others) {
                    self.push_part(name, Content::file(path.trim(), media));
                }
            }
            (None, _) if content.starts_with('<') => self.push_part(name, Content::Elsewhere),
            (None, _) => self.push_part(name, Content::of_text(content, media)),
        }
    }

    fn push_part(&mut self, name: &str, content: Content) {
        self.parts.push(Part { name: name.to_owned(), content });
    }

    /// Builds the request.
    pub(super) fn into_example(self) -> Result<Example, Message> {
        let written = match self.urls.as_slice() {
            [] => return Err(Message::new(&NO_URL)),
            [url] => url,
            [_, _, ..] => return Err(Message::new(&MANY_URLS)),
        };
        let mut address = Address::parse(&one_url(written, self.globs)?)?;
        address.mark_named_segments();
        let sends = self.data.is_some() || !self.parts.is_empty();
        let method = match &self.method {
            Some(method) => method.as_str(),
            None if self.is_head => "HEAD",
            None if self.is_get => "GET",
            None if sends => "POST",
            None => self.assumed_method.unwrap_or("GET"),
        };
        for text in self.query.iter().chain(self.data.iter().filter(|_| self.is_get)) {
            address.query.extend(pairs(text));
        }
        let mut example = Example::new(method, address);
        example.written_paths.extend(written_path(written));
        example.headers = self.headers;
        if self.is_json {
            for name in ["Content-Type", "Accept"] {
                if example.header(name).is_none() {
                    example.headers.push((name.to_owned(), "application/json".to_owned()));
                }
            }
        }
        example.body = match self.data {
            Some(_) if self.is_get => None,
            Some(text) if !text.is_empty() => Some(Body::Raw { text, assumed: FORM }),
            Some(_) | None => None,
        };
        if !self.parts.is_empty() {
            example.body = Some(Body::Multipart(self.parts));
        }
        example.credentials = self.credentials;
        example.timeout = self.timeout;
        example.retry_count = self.retry_count;
        example.notes = self.notes;
        Ok(example)
    }
}

fn takes_value(kind: Option<OptionKind>) -> bool {
    match kind {
        Some(
            OptionKind::Value | OptionKind::IgnoredValue | OptionKind::NotedValue | OptionKind::RefusedValue,
        ) => true,
        Some(OptionKind::Flag | OptionKind::Ignored | OptionKind::Noted | OptionKind::Refused) | None => {
            false
        }
    }
}

/// Splits a text after its quoted beginning, with backslash escapes resolved.
fn quoted(written: &str) -> Option<(String, &str)> {
    let mut rest = written.strip_prefix('"')?.chars();
    let mut content = String::new();
    loop {
        match rest.next()? {
            '"' => return Some((content, rest.as_str())),
            '\\' if rest.as_str().starts_with(['"', '\\']) => content.extend(rest.next()),
            other => content.push(other),
        }
    }
}

/// Encodes `content`, `=content` or `name=content`. Returns `None` for a file reference (`@`).
fn urlencoded(value: &str) -> Option<String> {
    match value.split_once('=') {
        Some(("", content)) => Some(encode(content)),
        Some((name, content)) => Some(format!("{name}={}", encode(content))),
        None if value.contains('@') => None,
        None => Some(encode(value)),
    }
}

/// Converts seconds to milliseconds, up to the maximum timeout.
fn milliseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.parse().ok()?;
    let fits = seconds.is_finite() && seconds > 0.0;
    fits.then(|| (seconds.min(LONGEST_SECONDS) * 1000.0).ceil() as u64)
}

/// The literal URL, without the backslashes that browsers put before brackets. `{id}` and `<id>` are
/// placeholders as in documentation.
fn one_url(written: &str, globs: Globs) -> Result<String, Message> {
    let mut url = String::with_capacity(written.len());
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        let after = rest.as_str();
        if let Some((name, behind)) = placeholder(character, after) {
            url.push_str(&mark_variable(name));
            rest = behind.chars();
            continue;
        }
        match character {
            '\\' if after.starts_with(['[', ']', '{', '}']) => url.extend(rest.next()),
            '{' | '}' if globs == Globs::On => return Err(Message::new(&GLOB)),
            '[' if globs == Globs::On && is_range(after) => return Err(Message::new(&GLOB)),
            other => url.push(other),
        }
    }
    Ok(url)
}

/// Marks every `{{name}}` in a command.
pub(super) fn mark_templates(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (plain, from) = rest.split_at(at);
        marked.push_str(plain);
        let after = from.get(1..).unwrap_or_default();
        match placeholder('{', after) {
            Some((name, behind)) => {
                marked.push_str(&mark_variable(name));
                rest = behind;
            }
            None => {
                marked.push('{');
                rest = after;
            }
        }
    }
    marked + rest
}

/// The placeholder name after an opening bracket, and the remaining text.
fn placeholder(open: char, text: &str) -> Option<(&str, &str)> {
    let (text, close) = match (open, text.strip_prefix('{')) {
        ('<', _) => (text, ">"),
        ('{', Some(inner)) => (inner, "}}"),
        ('{', None) => (text, "}"),
        _ => return None,
    };
    let text = text.trim_start();
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let end = text.find(|character: char| !is_part(character))?;
    let (name, behind) = (text.get(..end)?, text.get(end..)?);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let behind = behind.trim_start().strip_prefix(close)?;
    is_name.then_some((name, behind))
}

/// Returns true if the brackets contain a range such as `1-9`.
fn is_range(rest: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | ':');
    let end = rest.find(|character: char| !is_part(character)).unwrap_or(rest.len());
    let (inside, behind) = rest.split_at(end);
    let is_end = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let inside = inside.split_once(':').map_or(inside, |(range, _)| range);
    behind.starts_with(']') && inside.split_once('-').is_some_and(|(from, to)| is_end(from) && is_end(to))
}
