//! Imports Postman collections, versions 2.0 and 2.1: each request becomes one tool.
//!
//! Scripts are not run, and saved responses are ignored.

mod request;
mod variables;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};
use serde_json::Value;

use self::variables::Variables;
use super::Imported;
use super::example::{ExampleOptions, Importer, Source, sanitize, snake};
use crate::generic::BaseUrl;

haft_core::templates! {
    NOT_A_COLLECTION = "import.postman.notACollection",
        "is not a Postman collection of version 2: it has no list called item; export it as Collection v2.1",
        "不是 v2 版本的 Postman 集合：缺少 item 列表；请导出为 Collection v2.1";
    TOO_DEEP = "import.postman.tooDeep",
        "its folders are nested more than {limit} levels deep",
        "文件夹嵌套超过 {limit} 层";
    SCRIPT = "import.postman.script",
        "its pre-request script was ignored",
        "已去掉请求前运行的脚本";
    CERTIFICATE = "import.postman.certificate",
        "its client certificate was ignored",
        "已去掉客户端证书";
}

/// Maximum length of a description, and of the name of a folder or request.
const LONGEST_DESCRIPTION: usize = 4000;
const LONGEST_NAME: usize = 200;

/// Maximum nesting of folders.
const DEEPEST: usize = 64;

/// Imports the requests of a collection.
pub fn postman(document: &Value, options: &ExampleOptions) -> Result<Imported, Vec<Violation>> {
    // The Postman API wraps the collection in an object; an export does not.
    let collection = document.get("collection").filter(|inner| inner.is_object()).unwrap_or(document);
    let Some(items) = collection.get("item").and_then(Value::as_array) else {
        return Err(vec![Violation::new(ROOT, Message::new(&NOT_A_COLLECTION))]);
    };
    let base_url = options.base_url.as_deref().map(str::trim).filter(|base| !base.is_empty());
    if let Some(Err(message)) = base_url.map(BaseUrl::parse) {
        return Err(vec![Violation::new("baseUrl", message)]);
    }
    let title = collection.pointer("/info/name").and_then(Value::as_str).map(sanitize);
    let importer = Importer::new(Source {
        from: "postman",
        document: title.filter(|title| !title.trim().is_empty()),
        prefix: options.name.as_deref(),
        only: &options.only,
        cancel: &options.cancel,
    });
    let mut walk = Walk { importer, variables: Variables::read(collection), base_url };
    let inherited = Inherited { auth: own_auth(collection), has_script: has_script(collection), depth: 0 };
    walk.items(items, "", inherited).map_err(|message| vec![Violation::new(ROOT, message)])?;
    Ok(walk.importer.finish())
}

/// All message templates of this module.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, request::TEMPLATES, variables::TEMPLATES].into_iter().flatten().copied()
}

fn own_auth(owner: &Value) -> Option<&Value> {
    owner.get("auth").filter(|auth| auth.is_object())
}

/// Returns true if a script runs before the requests of a collection, folder or item.
fn has_script(owner: &Value) -> bool {
    let events = owner.get("event").and_then(Value::as_array).into_iter().flatten();
    let mut before = events.filter(|event| event.get("listen").and_then(Value::as_str) == Some("prerequest"));
    let has_words = |line: &Value| line.as_str().is_some_and(|line| !line.trim().is_empty());
    before.any(|event| match event.pointer("/script/exec") {
        Some(Value::Array(lines)) => lines.iter().any(has_words),
        Some(line) => has_words(line),
        None => false,
    })
}

/// Settings that a request inherits from its folders.
#[derive(Clone, Copy)]
struct Inherited<'c> {
    auth: Option<&'c Value>,
    has_script: bool,
    depth: usize,
}

impl<'c> Inherited<'c> {
    /// Adds a folder's settings: its auth overrides the inherited one; scripts of both run.
    fn within(self, owner: &'c Value) -> Self {
        let has_script = self.has_script || has_script(owner);
        Self { auth: own_auth(owner).or(self.auth), has_script, depth: self.depth + 1 }
    }
}

struct Walk<'o> {
    importer: Importer<'o>,
    variables: Variables,
    base_url: Option<&'o str>,
}

impl Walk<'_> {
    fn items(&mut self, items: &[Value], within: &str, inherited: Inherited<'_>) -> Result<(), Message> {
        for item in items {
            self.importer.check()?;
            let name = sanitize(item.get("name").and_then(Value::as_str).unwrap_or_default().trim());
            let name: String = name.chars().take(LONGEST_NAME).collect();
            let path = if within.is_empty() { name.clone() } else { format!("{within} / {name}") };
            let of_item = inherited.within(item);
            if let Some(inner) = item.get("item").and_then(Value::as_array) {
                if of_item.depth > DEEPEST {
                    self.importer.skip(path, Message::new(&TOO_DEEP).with("limit", DEEPEST));
                } else {
                    self.items(inner, &path, of_item)?;
                }
            } else if let Some(request) = item.get("request") {
                self.importer.count_request()?;
                let auth = own_auth(request).or(inherited.auth);
                self.request(request, &name, path, Inherited { auth, ..of_item });
            }
        }
        Ok(())
    }

    fn request(&mut self, request: &Value, name: &str, path: String, inherited: Inherited<'_>) {
        let read = request::read(request, inherited.auth, &self.variables, self.base_url);
        let mut example = match read {
            Ok(example) => example,
            Err(reason) => return self.importer.skip(path, reason),
        };
        // A name that is a URL was generated.
        let is_chosen = !name.is_empty() && !name.contains('/');
        let about = format!("{name}: {} {}", example.method, example.address.authority());
        example.description = description(request).or_else(|| is_chosen.then_some(about));
        example.name = Some(snake(name)).filter(|word| !word.is_empty() && is_chosen);
        let has_certificate = request.get("certificate").is_some_and(Value::is_object);
        let dropped = [(inherited.has_script, &SCRIPT), (has_certificate, &CERTIFICATE)];
        example.notes.extend(
            dropped.into_iter().filter(|(is_there, _)| *is_there).map(|(_, template)| Message::new(template)),
        );
        example.place = Some(path.clone()).filter(|path| !path.is_empty());
        if let Err(reason) = self.importer.add(&example) {
            self.importer.skip_example(&path, &example, reason);
        }
    }
}

fn description(request: &Value) -> Option<String> {
    let described = request.get("description")?;
    let text = described.as_str().or_else(|| described.get("content")?.as_str())?.trim();
    (!text.is_empty()).then(|| text.chars().take(LONGEST_DESCRIPTION).collect())
}
