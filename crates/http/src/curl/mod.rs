//! Renders a call as a cURL command: the request that would be sent, with shell variables instead of secrets.
//!
//! Nothing is sent, and no secret is revealed. Bodies are in `body.rs`.

mod body;

use haft_core::mask::{MASKED, Mask};
use haft_core::shell::{Command, ShellPart};
use haft_core::{Arguments, CallContext, CallError, CurlCommand, CurlExport, ErrorKind, Message, SecretRef};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, Method};
use percent_encoding::percent_decode_str;

use self::body::Payload;
use crate::auth::Auth;
use crate::fill::Filling;
use crate::generic::is_step;
use crate::headers::is_credential;
use crate::markers::Markers;
use crate::request::Filled;
use crate::tool::{HttpTool, hidden};

haft_core::templates! {
    CANNOT = "http.curlCannot",
        "this call cannot be written as a command: it contains a NUL character, or several files together with a secret",
        "此调用无法写成命令：包含 NUL 字符，或同时包含多个文件和密钥";
    STORED_FILE = "http.curlKeptFile",
        "this call sends the stored file {file}, which a command cannot contain",
        "此调用会发送保存在此处的文件 {file}，命令中无法包含该文件";
    TOKEN = "http.curlToken",
        "{variable} is an access token, which the tool fetches from {url}",
        "{variable} 是访问令牌，工具会自行从 {url} 获取";
    HIDDEN = "http.curlHidden",
        "a credential written literally in the definition is shown as ***; store it as a secret instead",
        "定义中直接写出的凭据显示为 ***；请改为保存为密钥";
    ESCAPE = "http.curlEscape",
        "in JSON, quotes and backslashes of a secret need a backslash before them",
        "在 JSON 中，密钥里的引号和反斜杠前需要加反斜杠";
    ENCODE = "http.curlEncode",
        "a secret written directly into the URL must be percent-encoded",
        "直接写在 URL 中的密钥需要进行百分号编码";
    VERSION = "http.curlVersion",
        "--url-query needs curl 7.87 or later",
        "--url-query 需要 curl 7.87 或更高版本";
}

/// The shell variable for an access token.
const ACCESS_TOKEN: &str = "ACCESS_TOKEN";

/// An option and its value, which may hold markers.
pub(crate) type CurlOption = (&'static str, String);

/// The curl options for name/value pairs.
#[derive(Clone, Copy)]
pub(crate) struct PairOptions {
    /// The option that takes a pair unchanged, with `before` as prefix.
    pub(crate) raw: &'static str,
    pub(crate) before: &'static str,
    /// The option that percent-encodes the value.
    pub(crate) encoding: &'static str,
}

/// Pairs of a form, or of a query without a body.
pub(crate) const AS_DATA: PairOptions =
    PairOptions { raw: "--data-raw", before: "", encoding: "--data-urlencode" };

/// Pairs of a query in a request with a body.
const AS_QUERY: PairOptions = PairOptions { raw: "--url-query", before: "+", encoding: "--url-query" };

/// A request as curl options, before it is written as a command.
struct Options {
    /// Bytes to pipe into curl, base64-encoded.
    input: Option<String>,
    method: Method,
    url: String,
    pairs: Vec<CurlOption>,
    /// The pairs use data options, but belong in the URL (`-G`).
    pairs_are_data: bool,
    headers: Vec<(HeaderName, String)>,
    user: Option<(String, String)>,
    /// The shell variable that contains the access token.
    token: Option<String>,
    body: Option<Vec<CurlOption>>,
}

impl CurlExport for HttpTool {
    fn curl(&self, arguments: &Arguments, context: &CallContext) -> Result<CurlCommand, CallError> {
        let markers = Markers::of(&self.secrets);
        let mut filling = Filling::to_copy(arguments.as_value(), context, &markers);
        let filled = self.request.fill(&mut filling);
        let user = match &self.request.auth {
            Auth::Basic { username, password } => {
                let is_written_out = password.plain().is_some_and(|password| !password.is_empty());
                let shown = if is_written_out { MASKED.to_owned() } else { filling.text(password) };
                Some((filling.text(username), shown))
            }
            Auth::None | Auth::Header { .. } | Auth::Query { .. } | Auth::ClientCredentials(_) => None,
        };
        filling.check()?;
        let mut notes = Vec::new();
        let token = match &self.request.auth {
            Auth::ClientCredentials(client) => {
                let variable = markers.free(ACCESS_TOKEN);
                let note = Message::new(&TOKEN).with("variable", &variable).with("url", client.token_url());
                notes.push(note);
                Some(variable)
            }
            Auth::None | Auth::Header { .. } | Auth::Basic { .. } | Auth::Query { .. } => None,
        };
        let payload = filled.body.as_ref().map(|body| Payload::of(&self.request, body, &markers));
        let payload = payload.transpose()?;
        notes.extend(payload.iter().flat_map(|payload| payload.notes.clone()));
        let pair_options = if payload.is_some() { AS_QUERY } else { AS_DATA };
        let (url, pairs) = self.address(&filled.path, pair_options, &markers, &mut notes);
        if payload.is_some() && !pairs.is_empty() {
            notes.push(Message::new(&VERSION));
        }
        let headers = self.masked_headers(&filled, payload.as_ref());
        let (input, body) = match payload {
            Some(Payload { input, options, .. }) => (input, Some(options)),
            None => (None, None),
        };
        let pairs_are_data = body.is_none() && !pairs.is_empty();
        let method = filled.method;
        let options = Options { input, method, url, pairs, pairs_are_data, headers, user, token, body };
        if self.literals.is_some() {
            notes.push(Message::new(&HIDDEN));
        }
        let (command, secrets) = options.write(&markers, self.literals.as_deref());
        let cannot = || CallError::new(ErrorKind::Conflict, Message::new(&CANNOT));
        Ok(CurlCommand { command: command.finish().ok_or_else(cannot)?, secrets, notes })
    }
}

impl HttpTool {
    /// Splits the URL before the first pair that contains a secret: the plain URL, and the remaining pairs.
    fn address(
        &self,
        path: &str,
        options: PairOptions,
        markers: &Markers,
        notes: &mut Vec<Message>,
    ) -> (String, Vec<CurlOption>) {
        let origin = self.to.url().as_str().trim_end_matches('/');
        let first = markers.first_in(path).and_then(|at| path.get(..at)?.rfind(['?', '&']));
        let Some(start) = first else { return (format!("{origin}{path}"), Vec::new()) };
        let (before, behind) = path.split_at(start);
        let behind = behind.get(1..).unwrap_or_default();
        (format!("{origin}{before}"), pairs(behind, options, markers, notes))
    }

    /// The headers with credentials masked, without headers that curl writes itself.
    fn masked_headers(&self, filled: &Filled, payload: Option<&Payload>) -> Vec<(HeaderName, String)> {
        let has_user = matches!(self.request.auth, Auth::Basic { .. });
        let writes_media = payload.is_some_and(|payload| payload.media.is_none());
        let is_written = |name: &HeaderName| {
            (has_user && *name == AUTHORIZATION) || (writes_media && *name == CONTENT_TYPE)
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut headers: Vec<(HeaderName, String)> = Vec::new();
        for (name, value) in filled.headers.iter().filter(|(name, _)| !is_written(name)) {
            let value = text(value.as_bytes());
            let is_hidden = is_credential(name.as_str()) && self.request.headers.is_fixed(name);
            headers.push((name.clone(), if is_hidden { hidden(&value) } else { value }));
        }
        if let Some(media) = payload.and_then(|payload| payload.media.as_ref())
            && !filled.headers.contains_key(CONTENT_TYPE)
        {
            headers.push((CONTENT_TYPE, text(media.as_bytes())));
        }
        headers
    }
}

impl Options {
    fn write(self, markers: &Markers, literals: Option<&Mask>) -> (Command, Vec<SecretRef>) {
        let mut writer = Writer { command: Command::default(), markers, literals, secrets: Vec::new() };
        if let Some(input) = &self.input {
            writer.command.bare("printf").bare("%s");
            writer.word(input);
            writer.command.bare("|").bare("base64").bare("-d").bare("|");
        }
        writer.command.bare("curl");
        if self.url.contains(['[', ']', '{', '}']) {
            writer.command.bare("--globoff");
        }
        if has_steps(&self.url) {
            writer.command.bare("--path-as-is");
        }
        match (&self.method, &self.body) {
            (&Method::GET, None) | (&Method::POST, Some(_)) => {}
            (&Method::HEAD, _) => {
                writer.command.bare("--head");
            }
            (method, _) => {
                writer.command.bare("-X").bare(method.as_str());
            }
        }
        writer.word(&self.url);
        if self.pairs_are_data {
            writer.command.bare("-G");
        }
        writer.options(&self.pairs);
        for (name, value) in &self.headers {
            // curl does not send an empty header unless it ends with a semicolon.
            let header = if value.trim().is_empty() {
                format!("{};", capitalized(name))
            } else {
                format!("{}: {value}", capitalized(name))
            };
            writer.option("-H", &header);
        }
        if let Some(variable) = &self.token {
            let pieces = [ShellPart::Plain("Authorization: Bearer "), ShellPart::Variable(variable)];
            writer.command.option("-H", &pieces);
        }
        if let Some((username, password)) = &self.user {
            writer.option("-u", &format!("{username}:{password}"));
        }
        match &self.body {
            Some(options) => writer.options(options),
            // Some servers require a content length even for an empty body.
            None if matches!(self.method, Method::POST | Method::PUT | Method::PATCH) => {
                writer.option("-H", "Content-Length: 0");
            }
            None => {}
        }
        (writer.command, writer.secrets)
    }
}

/// Writes texts with markers into the command, and collects the secrets they stand for.
struct Writer<'a> {
    command: Command,
    markers: &'a Markers,
    literals: Option<&'a Mask>,
    secrets: Vec<SecretRef>,
}

impl Writer<'_> {
    fn options(&mut self, options: &[CurlOption]) {
        for (name, value) in options {
            self.option(name, value);
        }
    }

    fn option(&mut self, name: &str, value: &str) {
        self.command.bare(name);
        self.word(value);
    }

    fn word(&mut self, text: &str) {
        let clean = self.literals.map(|mask| mask.text(text));
        let pieces = self.markers.pieces(clean.as_deref().unwrap_or(text));
        for piece in &pieces {
            if let ShellPart::Variable(name) = piece {
                let secret = self.markers.secret_of(name).filter(|secret| !self.secrets.contains(secret));
                self.secrets.extend(secret.cloned());
            }
        }
        self.command.word(&pieces);
    }
}

/// Converts pairs into options: curl encodes pairs with a secret; the others are already encoded.
pub(crate) fn pairs(
    text: &str,
    options: PairOptions,
    markers: &Markers,
    notes: &mut Vec<Message>,
) -> Vec<CurlOption> {
    let mut given: Vec<CurlOption> = Vec::new();
    let mut joins = false;
    for pair in text.split('&') {
        if let Some(decoded) = encodable(pair, markers) {
            given.push((options.encoding, decoded));
            joins = false;
            continue;
        }
        let note = Message::new(&ENCODE);
        if markers.are_in(pair) && !notes.contains(&note) {
            notes.push(note);
        }
        match given.last_mut().filter(|_| joins) {
            Some((_, raw)) => {
                raw.push('&');
                raw.push_str(pair);
            }
            None => given.push((options.raw, format!("{}{pair}", options.before))),
        }
        joins = true;
    }
    given
}

/// Returns the decoded pair if its value contains a secret and curl would encode the rest as written.
fn encodable(pair: &str, markers: &Markers) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
    let fits = !name.is_empty() && !markers.are_in(name) && markers.are_in(value);
    if !fits || !value.bytes().all(is_kept) {
        return None;
    }
    let decoded = percent_decode_str(value).decode_utf8().ok()?;
    Some(format!("{name}={decoded}"))
}

/// Returns true if curl would normalize the path (`.` or `..` steps).
fn has_steps(url: &str) -> bool {
    let path = url.split('?').next().unwrap_or_default();
    path.split('/').skip(3).any(|step| is_step(&step.to_ascii_lowercase().replace("%2e", ".")))
}

/// Capitalizes a header name: `x-api-key` becomes `X-Api-Key`.
fn capitalized(name: &HeaderName) -> String {
    let mut is_first = true;
    let capital = |letter: char| {
        let written = if is_first { letter.to_ascii_uppercase() } else { letter };
        is_first = letter == '-';
        written
    };
    name.as_str().chars().map(capital).collect()
}
