//! Base URLs of operations: `servers` with the defaults of their variables, or the host of 2.0.

use serde_json::Value;
use url::Url;

use super::document::Document;

/// Maximum length of a URL.
const LONGEST: usize = 2_048;

/// Maximum number of servers that are checked for a usable URL.
const MOST_SERVERS: usize = 20;

/// The requested base URL, or the first server with an absolute URL.
pub(super) fn find<'a>(document: &Document<'a>, item: &'a Value, operation: &'a Value) -> Option<Url> {
    if let Some(base) = &document.base {
        return Some(base.clone());
    }
    let own =
        |value: &'a Value| value.get("servers").and_then(Value::as_array).filter(|list| !list.is_empty());
    let servers = own(operation).or_else(|| own(item)).or_else(|| own(document.root()));
    let written: Vec<String> = match servers {
        Some(servers) => servers.iter().take(MOST_SERVERS).filter_map(server_url).collect(),
        None if document.is_swagger => swagger_servers(document.root()),
        None => vec!["/".to_owned()],
    };
    written.iter().find_map(|written| absolute(document.source, written))
}

/// An absolute URL, without query and fragment.
pub(super) fn absolute(source: Option<&Url>, written: &str) -> Option<Url> {
    let mut url = match Url::parse(written) {
        Ok(url) => url,
        Err(_) => source?.join(written).ok()?,
    };
    url.set_query(None);
    url.set_fragment(None);
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_http.then_some(url)
}

/// Host and port, as used in names of secrets.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A server's URL. Returns `None` if a variable has no default.
fn server_url(server: &Value) -> Option<String> {
    let mut rest = server.get("url")?.as_str().filter(|url| url.len() <= LONGEST)?.trim();
    let variables = server.get("variables");
    let mut url = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        url.push_str(before);
        match variables?.get(name)?.get("default")? {
            Value::String(text) => url.push_str(text),
            value @ (Value::Number(_) | Value::Bool(_)) => url.push_str(&value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        }
        if url.len() > LONGEST {
            return None;
        }
        rest = after;
    }
    url.push_str(rest);
    (!url.contains(['{', '}'])).then_some(url)
}

fn swagger_servers(root: &Value) -> Vec<String> {
    let text = |name: &str| root.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    let (host, path) = (text("host"), text("basePath"));
    let is_fixed = |text: &str| text.len() <= LONGEST && !text.contains(['{', '}']);
    if !is_fixed(host) || !is_fixed(path) {
        return Vec::new();
    }
    let path = format!("/{}", path.trim_start_matches('/'));
    // Some documents include the scheme in `host`.
    let (own, host) = host.split_once("://").map_or((None, host), |(scheme, host)| (Some(scheme), host));
    let host = host.trim_end_matches('/');
    if host.is_empty() {
        return vec![path];
    }
    let listed = root.get("schemes").and_then(Value::as_array).into_iter().flatten();
    let mut schemes: Vec<&str> = listed.filter_map(Value::as_str).take(MOST_SERVERS).collect();
    // Prefer https if both are offered.
    schemes.sort_by_key(|scheme| *scheme != "https");
    if schemes.is_empty() {
        schemes.push(own.unwrap_or("https"));
    }
    schemes.iter().map(|scheme| format!("{scheme}://{host}{path}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_replaced_by_their_defaults_only() {
        let doubling = json!({"url": "https://x/{a}", "variables": {"a": {"default": "{b}{b}"}, "b": {"default": "{a}{a}"}}});
        assert_eq!(server_url(&doubling), None);
        let long = json!({"url": "https://x/{a}{a}", "variables": {"a": {"default": "y".repeat(2_000)}}});
        assert_eq!(server_url(&long), None);
        let fine = json!({"url": "https://{r}.example/{v}", "variables": {"r": {"default": "eu"}, "v": {"default": 2}}});
        assert_eq!(server_url(&fine).as_deref(), Some("https://eu.example/2"));
    }

    #[test]
    fn swagger_hosts_are_parsed_leniently() {
        for (root, servers) in [
            (json!({"host": "x.example", "basePath": "/v1"}), vec!["https://x.example/v1"]),
            (json!({"host": "http://x.example/", "basePath": "v1"}), vec!["http://x.example/v1"]),
            (json!({"host": "https://x.example", "schemes": ["http"]}), vec!["http://x.example/"]),
            (
                json!({"host": "x.example", "schemes": ["http", "https"]}),
                vec!["https://x.example/", "http://x.example/"],
            ),
            (json!({"basePath": "/v1"}), vec!["/v1"]),
            (json!({}), vec!["/"]),
            (json!({"host": "x.example", "basePath": "/v/{tenant}"}), vec![]),
            (json!({"host": "{tenant}.example"}), vec![]),
        ] {
            assert_eq!(swagger_servers(&root), servers, "{root}");
        }
    }
}
