//! Simplifies generated Markdown: removes backslashes that are not needed.
//!
//! Each backslash costs a model a token and breaks up words. Addresses are decoded, because a model uses them
//! literally: `?a=1&amp;b=2` would be a different URL.

/// Maximum length of a line's beginning, in which some characters are special.
const BEGINNING: usize = 16;

/// Removes unnecessary backslashes. Code stays unchanged.
pub(super) fn tidy(markdown: &str) -> String {
    let mut tidy = String::with_capacity(markdown.len());
    let mut is_code = false;
    for line in markdown.split_inclusive('\n') {
        let is_fence = line.trim_start_matches(['>', ' ']).starts_with("```");
        if is_code || is_fence {
            tidy.push_str(line);
        } else if !is_empty_item(line) {
            push_line(&mut tidy, line);
        }
        is_code ^= is_fence;
    }
    tidy
}

/// Returns true for a list marker without content, or several nested ones.
fn is_empty_item(line: &str) -> bool {
    let marks = line.trim();
    let is_rule = !marks.contains(' ') && marks.len() > 1;
    !marks.is_empty() && !is_rule && marks.bytes().all(|byte| matches!(byte, b'-' | b'*' | b'+' | b' '))
}

fn push_line(tidy: &mut String, line: &str) {
    let start = tidy.len();
    let mut is_code = false;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        if character != '\\' || is_code {
            is_code ^= character == '`';
            let is_address = character == '(' && !is_code && tidy.ends_with(']') && !tidy.ends_with("\\]");
            tidy.push(character);
            if is_address {
                let (address, after) = rest.as_str().split_at(end_of_address(rest.as_str()));
                tidy.push_str(&address.replace("&amp;", "&"));
                rest = after.chars();
            }
            continue;
        }
        let Some(escaped) = rest.next() else {
            tidy.push('\\');
            break;
        };
        let next = rest.clone().next();
        if is_needed(tidy.get(start..).unwrap_or_default(), escaped, next) {
            tidy.push('\\');
        }
        tidy.push(escaped);
    }
}

/// The end of a link's address: the closing bracket, or the space before a title.
fn end_of_address(text: &str) -> usize {
    if let Some(inside) = text.strip_prefix('<') {
        return inside.find('>').map_or(text.len(), |end| end + 1);
    }
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ if character.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns true if a character needs its backslash after this beginning of the line.
fn is_needed(before: &str, escaped: char, next: Option<char>) -> bool {
    let beginning = (before.len() < BEGINNING).then(|| before.trim_start_matches(['>', ' ']));
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    match escaped {
        '(' | ')' | '{' | '}' | '"' => false,
        '#' | '+' | '>' => beginning == Some(""),
        '.' => {
            beginning.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        }
        '!' => next == Some('['),
        '_' => !(is_letter(before.chars().next_back()) && is_letter(next)),
        '|' => before.starts_with('|'),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unnecessary_backslashes_are_removed() {
        for (careful, plain) in [
            (r"It works\. Really \(yes\)\!", "It works. Really (yes)!"),
            (r"1\. not a list, version 1\.5", r"1\. not a list, version 1.5"),
            (r"\# no heading \#1", r"\# no heading #1"),
            (r"\+ one \+ two", r"\+ one + two"),
            (r"snake\_case and \_emphasis\_", r"snake_case and \_emphasis\_"),
            (r"a \* b \[c\]\(d\)", r"a \* b \[c\](d)"),
            (r"see\![x](y) and \!\[z\]", r"see\![x](y) and !\[z\]"),
            ("`a\\.b` and c\\.", "`a\\.b` and c."),
            ("```\na\\.b\n```\nc\\.", "```\na\\.b\n```\nc."),
            ("> ```\n> a\\.b\n> ```\n> c\\.", "> ```\n> a\\.b\n> ```\n> c."),
            (r"| a \| b |", r"| a \| b |"),
            (r"a \| b", "a | b"),
            (r"C:\\dir\.", r"C:\\dir."),
            ("ends\\", "ends\\"),
            (r"\`code\` 你好\。", r"\`code\` 你好\。"),
        ] {
            assert_eq!(tidy(careful), plain, "{careful}");
        }
    }

    #[test]
    fn addresses_are_literal() {
        for (careful, plain) in [
            ("[a &amp; b](/?a=1&amp;b=2) &amp; c\\.", "[a &amp; b](/?a=1&b=2) &amp; c."),
            ("![a](/(x)?b&amp;c \"d &amp; e\") &amp;", "![a](/(x)?b&c \"d &amp; e\") &amp;"),
            ("[a](</b c?d&amp;e>)\\.", "[a](</b c?d&e>)."),
            ("[![a](/i?b&amp;c)](/l?d&amp;e)", "[![a](/i?b&c)](/l?d&e)"),
            (r"a \[b\](c&amp;d)", r"a \[b\](c&amp;d)"),
            ("`[a](b&amp;c)` [d](e&amp;f", "`[a](b&amp;c)` [d](e&f"),
        ] {
            assert_eq!(tidy(careful), plain, "{careful}");
        }
    }
}
