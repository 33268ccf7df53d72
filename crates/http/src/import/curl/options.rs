//! One curl command, read: its options, and the request they make.

use haft_core::Message;

use super::known::{Known, known, long};
use crate::import::example::{
    Address, Body, Content, Credentials, Example, FORM, Part, has_marks, is_browser_noise, mark_variable,
    pairs, written_path,
};
use crate::query::encode;

haft_core::templates! {
    UNKNOWN_OPTION = "import.curl.unknownOption",
        "{option} is not an option of curl that is known here",
        "{option} 不是可识别的 curl 选项";
    REFUSED_OPTION = "import.curl.refusedOption",
        "a tool cannot do what the option {option} says",
        "工具无法实现选项 {option}";
    NOTED_OPTION = "import.curl.notedOption",
        "the option {option} was left out: a tool cannot choose that",
        "已去掉选项 {option}：工具无法指定";
    NO_VALUE = "import.curl.noValue",
        "the option {option} has no value behind it",
        "选项 {option} 后面缺少值";
    FROM_FILE = "import.curl.fromFile",
        "the option {option} reads from a file, which is not here; write its content instead",
        "选项 {option} 从文件读取，而文件不在这里；请直接写出内容";
    HEADER_FORM = "import.curl.headerForm",
        "the option {option} must be followed by a header, written Name: value",
        "选项 {option} 后面必须是形如 Name: value 的请求头";
    FIELD_FORM = "import.curl.fieldForm",
        "the option {option} must be followed by a field, written name=value",
        "选项 {option} 后面必须是形如 name=value 的字段";
    GLOB = "import.curl.glob",
        "the URL holds a list or a range, which stands for several URLs; write one URL, with $NAME for what changes",
        "URL 含有列表或范围，代表多个 URL；请只写一个 URL，可变部分写成 $NAME";
    NO_URL = "import.curl.noUrl",
        "the command names no URL",
        "命令中没有 URL";
    MANY_URLS = "import.curl.manyUrls",
        "the command names several URLs; write a command for each",
        "命令中有多个 URL；请分别写成命令";
}

/// The most refusals that are listed one by one.
pub(super) const MOST_REFUSED: usize = 100;

/// The longest time for one attempt that a tool can have.
const LONGEST_SECONDS: f64 = 600.0;

/// The most further attempts that a tool can have.
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
    /// What a body in a file is sent with, where the command names no method.
    assumed_method: Option<&'static str>,
    globs: Globs,
    /// What stands behind the command for it to read.
    input: Option<String>,
    notes: Vec<Message>,
    refusals: Refusals,
    /// Why the body is not known: it is in a file.
    unknown_body: Option<Message>,
}

/// Whether braces and brackets of a URL mean several URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Globs {
    #[default]
    On,
    Off,
}

/// Why a command cannot become a tool: all reasons are counted, the first are listed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) reasons: Vec<Message>,
    /// The number of unlisted reasons.
    pub(super) more: usize,
}

impl From<Message> for Refusals {
    fn from(reason: Message) -> Self {
        Self { reasons: vec![reason], more: 0 }
    }
}

impl Options {
    /// Reads what stands behind `curl`, or says all that is wrong with it.
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
        // curl wants a blank there, people write the sign.
        let (option, attached) = match written.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (written, None),
        };
        let kind = known(option);
        let value = attached.or_else(|| if takes_value(kind) { words.next() } else { None });
        self.apply(option, &format!("--{option}"), kind, value);
    }

    /// Letters behind one `-`: flags, the last of which may take what follows.
    fn short(&mut self, letters: &str, words: &mut dyn Iterator<Item = String>) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let option = long(letter).unwrap_or_default();
            let (kind, shown) = (known(option), format!("-{letter}"));
            if takes_value(kind) {
                let attached = Some(rest.as_str().to_owned()).filter(|value| !value.is_empty());
                return self.apply(option, &shown, kind, attached.or_else(|| words.next()));
            }
            self.apply(option, &shown, kind, None);
        }
    }

    fn apply(&mut self, option: &str, shown: &str, kind: Option<Known>, value: Option<String>) {
        match (kind, value) {
            (None, _) => self.refuse(Message::new(&UNKNOWN_OPTION), shown),
            (Some(Known::Ignored | Known::IgnoredValue), _) => {}
            (Some(Known::Noted | Known::NotedValue), _) => {
                let note = Message::new(&NOTED_OPTION).with("option", shown);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
            (Some(Known::Refused | Known::RefusedValue), _) => {
                self.refuse(Message::new(&REFUSED_OPTION), shown);
            }
            (Some(Known::Flag), _) => {
                self.is_get |= option == "get";
                self.is_head |= option == "head";
                if option == "globoff" {
                    self.globs = Globs::Off;
                }
            }
            (Some(Known::Value), Some(value)) => self.set(option, shown, &value),
            (Some(Known::Value), None) => self.refuse(Message::new(&NO_VALUE), shown),
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

    /// Data from elsewhere: what stands behind the command is known.
    fn data_from(&mut self, option: &str, shown: &str, place: &str) {
        match self.input.take().filter(|_| place == "@-") {
            // Line ends are kept only where nothing shall be changed.
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

    /// Why the request cannot be made although the command can be read.
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

    /// The request that the options make.
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

fn takes_value(kind: Option<Known>) -> bool {
    match kind {
        Some(Known::Value | Known::IgnoredValue | Known::NotedValue | Known::RefusedValue) => true,
        Some(Known::Flag | Known::Ignored | Known::Noted | Known::Refused) | None => false,
    }
}

/// What stands between the quotes that a field begins with, where a backslash stands before what means
/// itself, and what stands behind them.
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

/// `content`, `=content` or `name=content` with the content encoded; nothing where a file is meant.
fn urlencoded(value: &str) -> Option<String> {
    match value.split_once('=') {
        Some(("", content)) => Some(encode(content)),
        Some((name, content)) => Some(format!("{name}={}", encode(content))),
        None if value.contains('@') => None,
        None => Some(encode(value)),
    }
}

/// Seconds as milliseconds, within what a tool can have.
fn milliseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.parse().ok()?;
    let fits = seconds.is_finite() && seconds > 0.0;
    fits.then(|| (seconds.min(LONGEST_SECONDS) * 1000.0).ceil() as u64)
}

/// A URL that stands for itself, with the backslashes taken out that browsers put before brackets.
/// `{id}` and `<id>` are how documentation writes what changes.
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

/// Marks every `{{name}}` of a command, wherever it stands.
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

/// The name in brackets that were just opened, and what stands behind them.
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

/// Whether brackets that were just opened hold a range such as `1-9`.
fn is_range(rest: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | ':');
    let end = rest.find(|character: char| !is_part(character)).unwrap_or(rest.len());
    let (inside, behind) = rest.split_at(end);
    let is_end = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let inside = inside.split_once(':').map_or(inside, |(range, _)| range);
    behind.starts_with(']') && inside.split_once('-').is_some_and(|(from, to)| is_end(from) && is_end(to))
}
