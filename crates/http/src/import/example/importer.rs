//! An import of example requests: drafts tools one by one, and names them when all are known.

use std::collections::{HashMap, HashSet};

use haft_core::{Message, ToolSchema};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::draft::{Draft, Drawn};
use super::request::Request;
use super::secrets::SecretBook;
use super::{Example, graphql, request, url_names};
use crate::generic::METHODS;
use crate::import::selection::Selection;
use crate::import::source::cancelled;
use crate::import::{CancelFlag, Imported, ImportedTool, Names, Skipped};

haft_core::templates! {
    NOT_A_METHOD = "import.method",
        "{method} is not a method that tools can use; they have {methods}",
        "工具不支持 {method} 方法；可用：{methods}";
    HEAD_BODY = "import.headBody",
        "a HEAD request cannot carry a body",
        "HEAD 请求不能带请求体";
    BAD_ARGUMENTS = "import.example.badArguments",
        "its values cannot be arguments of a tool: {reason}",
        "其中的值无法成为工具的参数：{reason}";
    TOO_MANY = "import.example.tooMany",
        "{count} more requests: one import makes at most {limit} tools",
        "还有 {count} 个请求：一次导入最多生成 {limit} 个工具";
    TOO_MANY_REQUESTS = "import.example.tooManyRequests",
        "contains more than {limit} requests; import a part of it",
        "包含超过 {limit} 个请求；请只导入其中一部分";
    TOO_LARGE = "import.example.toolsTooLarge",
        "its tools would have more than {limit} MB of definitions; import a part of it",
        "其工具的定义合计超过 {limit} MB；请只导入其中一部分";
    MORE_LEFT_OUT = "import.example.moreLeftOut",
        "{count} more were skipped",
        "另有 {count} 个被略去";
    NOT_FOUND = "import.example.onlyNotFound",
        "there is no request {operation}; give a tool's name, or METHOD /path",
        "没有请求 {operation}；请给出工具名称，或 METHOD /path";
}

/// Maximum number of tools per import.
const MOST_TOOLS: usize = 2_000;

/// Maximum number of requests per import. With `only`, each is drafted, since its name depends on the others.
pub(crate) const MOST_REQUESTS: usize = 20_000;

/// Maximum total size of all drafts as JSON, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// Maximum number of skipped requests in a report.
const MOST_LISTED: usize = 1_000;

/// Maximum length of a document's name.
const LONGEST_DOCUMENT: usize = 200;

/// The source of the examples, and the selection of requests.
pub(crate) struct Source<'a> {
    /// `curl`, `postman` or `har`.
    pub(crate) from: &'static str,
    /// The name of the document. Each request's host if absent.
    pub(crate) document: Option<String>,
    /// Prefix of every tool name.
    pub(crate) prefix: Option<&'a str>,
    /// The selected requests. Empty: all.
    pub(crate) only: &'a [String],
    /// Makes the import end with an error.
    pub(crate) cancel: &'a CancelFlag,
}

/// Collects the tools, secrets and skipped requests of one import.
pub(crate) struct Importer<'a> {
    source: Source<'a>,
    only: Selection<'a>,
    secrets: SecretBook,
    drafts: Vec<Drafted>,
    /// Number of requests read.
    requests: usize,
    /// Total size of all drafts as JSON, in bytes.
    bytes: usize,
    left_out: LeftOut,
    /// The first request above the limit, and the number of such requests.
    past_limit: Option<(String, usize)>,
}

/// A tool without a final name.
struct Drafted {
    definition: Map<String, Value>,
    method: String,
    path: String,
    /// The name it gets if no other draft has the same.
    wanted: String,
    /// Method and URL, stable across imports.
    operation: String,
    /// Other names by which it may be selected.
    also_called: Vec<String>,
    /// The secrets that it uses, as indexes into the secret book.
    secrets: Vec<usize>,
    notes: Vec<Message>,
}

/// Skipped requests: all are counted, the first are listed.
#[derive(Default)]
struct LeftOut {
    listed: Vec<Skipped>,
    /// Number of unlisted requests.
    more: usize,
}

impl LeftOut {
    fn add(&mut self, operation: String, reason: Message) {
        if self.listed.len() < MOST_LISTED {
            self.listed.push(Skipped { operation, reason });
        } else {
            self.more += 1;
        }
    }
}

impl<'a> Importer<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self {
            only: Selection::new(source.only),
            source,
            secrets: SecretBook::default(),
            drafts: Vec::new(),
            requests: 0,
            bytes: 0,
            left_out: LeftOut::default(),
            past_limit: None,
        }
    }

    /// Returns an error if the import was cancelled, or if its tools are too large together.
    pub(crate) fn check(&self) -> Result<(), Message> {
        if self.source.cancel.is_cancelled() {
            return Err(cancelled());
        }
        if self.bytes > MOST_BYTES {
            return Err(Message::new(&TOO_LARGE).with("limit", MOST_BYTES >> 20));
        }
        Ok(())
    }

    /// Counts a request before it is added or skipped, and checks the import. Returns an error above the
    /// limit.
    pub(crate) fn count_request(&mut self) -> Result<(), Message> {
        self.requests += 1;
        if self.requests > MOST_REQUESTS { Err(too_many_requests()) } else { self.check() }
    }

    /// Adds the tool of an example, or returns why there is none.
    pub(crate) fn add(&mut self, example: &Example) -> Result<(), Message> {
        if self.only.is_all() && self.drafts.len() >= MOST_TOOLS {
            self.pass_limit(|| example.shape());
            return Ok(());
        }
        let drafted = self.draft(example)?;
        self.bytes += serde_json::to_vec(&drafted.definition).map_or(0, |json| json.len());
        self.drafts.push(drafted);
        Ok(())
    }

    pub(crate) fn skip(&mut self, operation: impl Into<String>, reason: Message) {
        self.leave_out(operation.into(), reason, Vec::new());
    }

    /// Skips a request that was parsed.
    pub(crate) fn skip_example(&mut self, operation: &str, example: &Example, reason: Message) {
        let also_called = if self.only.is_all() { Vec::new() } else { spellings(example) };
        self.leave_out(operation.to_owned(), reason, also_called);
    }

    fn leave_out(&mut self, operation: String, reason: Message, also_called: Vec<String>) {
        if self.only.takes(also_called.into_iter().chain([operation.clone()])) {
            self.left_out.add(operation, reason);
        }
    }

    fn pass_limit(&mut self, operation: impl FnOnce() -> String) {
        match &mut self.past_limit {
            Some((_, count)) => *count += 1,
            None => self.past_limit = Some((operation(), 1)),
        }
    }

    /// Finishes the selected tools, with names that do not depend on the order of requests.
    pub(crate) fn finish(mut self) -> Imported {
        let names = self.names();
        let mut imported = Imported::default();
        let mut used = HashSet::new();
        for (drafted, name) in std::mem::take(&mut self.drafts).into_iter().zip(names) {
            let Drafted { mut definition, method, path, operation, also_called, secrets, notes, .. } =
                drafted;
            let called = format!("{method} {path}");
            if !self.only.takes(also_called.into_iter().chain([name.clone(), called.clone()])) {
                continue;
            }
            if imported.tools.len() >= MOST_TOOLS {
                self.pass_limit(|| operation);
                continue;
            }
            used.extend(secrets);
            let note = |reason| Skipped { operation: called.clone(), reason };
            imported.notes.extend(notes.into_iter().map(note));
            definition.shift_insert(0, "name".to_owned(), name.into());
            imported.tools.push(ImportedTool { definition, method, path });
        }
        let Self { only, mut left_out, secrets, past_limit, .. } = self;
        for wanted in only.missing() {
            left_out.add(wanted.to_owned(), Message::new(&NOT_FOUND).with("operation", wanted));
        }
        imported.skipped = left_out.listed;
        let mut skip = |operation: &str, reason| {
            imported.skipped.push(Skipped { operation: operation.to_owned(), reason });
        };
        if left_out.more > 0 {
            skip("", Message::new(&MORE_LEFT_OUT).with("count", left_out.more));
        }
        if let Some((operation, count)) = past_limit {
            skip(&operation, Message::new(&TOO_MANY).with("count", count).with("limit", MOST_TOOLS));
        }
        imported.secrets = secrets.into_found(&used);
        imported
    }

    /// The names of all drafts. If several want the same name, each gets a suffix.
    fn names(&self) -> Vec<String> {
        let mut names = Names::new(self.source.prefix);
        let wanted: Vec<String> = self.drafts.iter().map(|draft| names.preferred(&draft.wanted)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in &wanted {
            *counts.entry(name).or_default() += 1;
        }
        let is_alone = |name: &String| counts.get(name.as_str()) == Some(&1);
        let plain: Vec<Option<String>> = self
            .drafts
            .iter()
            .zip(&wanted)
            .map(|(draft, name)| is_alone(name).then(|| names.unique(&draft.wanted, &draft.operation)))
            .collect();
        let mut marked = |draft: &Drafted| names.marked(&draft.wanted, &draft.operation);
        let given = self.drafts.iter().zip(plain);
        given.map(|(draft, plain)| plain.unwrap_or_else(|| marked(draft))).collect()
    }

    fn draft(&mut self, example: &Example) -> Result<Drafted, Message> {
        let Example { method, address, .. } = example;
        if !METHODS.contains(&method.as_str()) {
            let message = Message::new(&NOT_A_METHOD).with("method", method);
            return Err(message.with("methods", METHODS.join(", ")));
        }
        if method == "HEAD" && example.body.is_some() {
            return Err(Message::new(&HEAD_BODY));
        }
        let mut draft = Draft::new(&mut self.secrets, example);
        let Request { mut config, path, mut notes } = request::write(&mut draft, example)?;
        let Drawn { schema, secrets } = draft.finish();
        ToolSchema::of_arguments(&schema).map_err(|violations| {
            let reasons = violations.into_iter().take(3).map(|violation| violation.message).collect();
            Message::new(&BAD_ARGUMENTS).with_messages("reason", reasons)
        })?;
        let path = if path.is_empty() { "/".to_owned() } else { path.replace("{{", "{").replace("}}", "}") };
        let graphql = graphql::operation(example);
        let inner = graphql.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let place = example.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        let operation = format!("{method} {}{path}{inner}{place}", address.origin);
        let document = self.source.document.as_deref().unwrap_or_else(|| address.authority());
        let document: String = document.chars().take(LONGEST_DOCUMENT).collect();
        let imported = json!({"from": self.source.from, "document": document, "operation": operation});
        config.insert("imported".to_owned(), imported);
        let wanted = match (&example.name, &graphql) {
            (Some(name), _) => name.clone(),
            (None, Some(name)) => url_names::snake(name),
            (None, None) => {
                let decoded = |segment: &String| percent_decode_str(segment).decode_utf8_lossy().into_owned();
                let segments: Vec<String> = address.segments.iter().map(decoded).collect();
                url_names::tool_name(method, &segments, url_names::label(&address.host))
            }
        };
        let described = example.description.clone().filter(|text| !text.trim().is_empty());
        let described = described.unwrap_or_else(|| format!("{method} {}{path}{inner}", address.authority()));
        let mut definition = Map::new();
        let mut put = |field: &str, value: Value| definition.insert(field.to_owned(), value);
        put("description", described.into());
        put("type", "http".into());
        put("inputSchema", schema);
        for (field, number) in [("timeout", example.timeout), ("retryCount", example.retry_count)] {
            if let Some(number) = number {
                put(field, number.into());
            }
        }
        put("config", Value::Object(config));
        notes.extend(example.notes.iter().cloned());
        let also_called = if self.only.is_all() { Vec::new() } else { spellings(example) };
        Ok(Drafted {
            definition,
            method: method.clone(),
            path,
            wanted,
            operation,
            also_called,
            secrets,
            notes,
        })
    }
}

/// The error for a source with too many requests.
pub(crate) fn too_many_requests() -> Message {
    Message::new(&TOO_MANY_REQUESTS).with("limit", MOST_REQUESTS)
}

/// Names by which a request may be selected, besides its tool's name and path.
fn spellings(example: &Example) -> Vec<String> {
    let shown = example.address.display_path();
    let paths = example.written_paths.iter().chain([&shown]);
    let asked = paths.map(|path| format!("{} {path}", example.method));
    asked.chain(example.place.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Address, Body};
    use super::*;

    #[test]
    fn the_total_size_of_drafts_is_limited() {
        let (only, cancel) = (vec!["nothing".to_owned()], CancelFlag::default());
        let source = Source { from: "har", document: None, prefix: None, only: &only, cancel: &cancel };
        let mut importer = Importer::new(source);
        let mut example = Example::new("POST", Address::parse("https://a.example/x").expect("a URL"));
        let fields = (0..15).map(|number| (format!("field_{number}"), Value::from("x".repeat(16_000))));
        example.body = Some(Body::Json(Value::Object(fields.collect())));
        let refused = loop {
            match importer.count_request() {
                Ok(()) => importer.add(&example).expect("a draft"),
                Err(refused) => break refused,
            }
            assert!(importer.drafts.len() < 100, "{} bytes are not refused", importer.bytes);
        };
        let words = "its tools would have more than 16 MB of definitions; import a part of it";
        assert_eq!(refused.to_string(), words);
        assert!(importer.drafts.len() > 50, "{} drafts", importer.drafts.len());
    }
}
