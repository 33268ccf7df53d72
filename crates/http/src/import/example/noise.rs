//! Headers that browsers add to every request.

/// Returns true if a copied header is irrelevant for a tool.
pub(crate) fn is_browser_noise(name: &str, value: &str) -> bool {
    const NAMES: [&str; 10] = [
        "cache-control",
        "dnt",
        "if-modified-since",
        "if-none-match",
        "origin",
        "pragma",
        "priority",
        "referer",
        "te",
        "upgrade-insecure-requests",
    ];
    let name = name.to_ascii_lowercase();
    let is_browser = name == "user-agent" && value.trim_start().starts_with("Mozilla/");
    is_browser || name.starts_with("sec-") || NAMES.contains(&name.as_str())
}
