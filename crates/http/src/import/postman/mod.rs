//! Postman collections, versions 2.0 and 2.1: each request becomes one tool.
//!
//! Scripts and saved answers are not looked at.

mod request;
mod variables;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};
use serde_json::Value;

use self::variables::Variables;
use super::Imported;
use super::example::{Importer, snake};

haft_core::templates! {
    NOT_A_COLLECTION = "import.postman.notACollection",
        "is not a Postman collection of version 2: it has no list called item; export it as Collection v2.1",
        "不是 v2 版本的 Postman 集合：缺少 item 列表；请导出为 Collection v2.1";
}

/// The longest description that is taken over.
const LONGEST_DESCRIPTION: usize = 4000;

/// Turns a collection into tools; `name` is put before each of theirs.
pub fn postman(document: &Value, name: Option<&str>) -> Result<Imported, Vec<Violation>> {
    // The API of Postman wraps what its export gives as it is.
    let collection = document.get("collection").filter(|inner| inner.is_object()).unwrap_or(document);
    let Some(items) = collection.get("item").and_then(Value::as_array) else {
        return Err(vec![Violation::new(ROOT, Message::new(&NOT_A_COLLECTION))]);
    };
    let mut walk = Walk { importer: Importer::new(name), variables: Variables::read(collection) };
    walk.items(items, "", own_auth(collection));
    Ok(walk.importer.finish())
}

/// Every message about collections.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, request::TEMPLATES].into_iter().flatten().copied()
}

fn own_auth(owner: &Value) -> Option<&Value> {
    owner.get("auth").filter(|auth| auth.is_object())
}

struct Walk {
    importer: Importer,
    variables: Variables,
}

impl Walk {
    /// Folders within folders; what has no auth of its own has that of its folder.
    fn items(&mut self, items: &[Value], within: &str, auth: Option<&Value>) {
        for item in items {
            let name = item.get("name").and_then(Value::as_str).unwrap_or_default().trim();
            let path = if within.is_empty() { name.to_owned() } else { format!("{within} / {name}") };
            if let Some(inner) = item.get("item").and_then(Value::as_array) {
                self.items(inner, &path, own_auth(item).or(auth));
            } else if let Some(request) = item.get("request") {
                self.request(request, name, &path, own_auth(request).or(auth));
            }
        }
    }

    fn request(&mut self, request: &Value, name: &str, path: &str, auth: Option<&Value>) {
        let added = request::read(request, auth, &self.variables).and_then(|mut example| {
            // Names that are URLs were never chosen.
            let word = Some(snake(name)).filter(|word| !word.is_empty() && !name.contains('/'));
            let described = description(request);
            example.description = described.or_else(|| {
                let is_chosen = !name.is_empty() && !name.contains('/');
                is_chosen.then(|| format!("{name}: {} {}", example.method, example.address.authority()))
            });
            example.name = word;
            self.importer.add(&example)
        });
        if let Err(reason) = added {
            self.importer.skip(path, reason);
        }
    }
}

fn description(request: &Value) -> Option<String> {
    let described = request.get("description")?;
    let text = described.as_str().or_else(|| described.get("content")?.as_str())?.trim();
    (!text.is_empty()).then(|| text.chars().take(LONGEST_DESCRIPTION).collect())
}
