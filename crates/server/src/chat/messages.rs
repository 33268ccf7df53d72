//! Messages as bodies write them: a text, or parts of it, from somebody.

use haft_agent::{ChatMessage, ChatRole, MessagePart};
use haft_core::{Message, Violation};
use haft_llm::Image;
use serde_json::Value;

haft_core::templates! {
    NOT_MESSAGES = "chat.notMessages",
        "must be a list of messages {role, content}",
        "必须是消息 {role, content} 的列表";
    BAD_ROLE = "chat.badRole",
        "must be one of {roles}",
        "必须是以下之一：{roles}";
    BAD_CONTENT = "chat.badContent",
        "must be a text, or a list of text and image_url parts",
        "必须是文本，或由 text 与 image_url 部分组成的列表";
    EMPTY = "chat.empty",
        "is empty",
        "内容为空";
    BAD_IMAGE = "chat.badImage",
        "must be an image: a data: URL of type image/… in base64, an http(s) address, or artifact://ID",
        "必须是图片：类型为 image/… 的 base64 data: URL、http(s) 地址或 artifact://ID";
    TOO_MANY_IMAGES = "chat.tooManyImages",
        "contains more than {most} images",
        "包含超过 {most} 张图片";
    UNKNOWN_FIELD = "chat.unknownField",
        "is not a known field",
        "此处没有该字段";
    NOTHING_SAID = "chat.nothingSaid",
        "the last message must be the user's",
        "最后一条消息必须来自用户";
}

/// So many images a message may hold.
const MOST_IMAGES: usize = 16;

/// Reads messages, or says all that is wrong with them. One that goes on takes the user's only.
pub(crate) fn read(given: &Value, is_new: bool) -> Result<Vec<ChatMessage>, Vec<Violation>> {
    let Some(items) = given.as_array().filter(|items| !items.is_empty()) else {
        return Err(vec![Violation::new("messages", Message::new(&NOT_MESSAGES))]);
    };
    let mut violations = Vec::new();
    let mut messages = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        match message(item, is_new) {
            Ok(message) => messages.push(message),
            Err(violation) => violations.push(violation.within(&format!("messages.{place}"))),
        }
    }
    let is_asked = messages.last().is_some_and(|message| message.role == ChatRole::User);
    if violations.is_empty() && !is_asked {
        violations.push(Violation::new("messages", Message::new(&NOTHING_SAID)));
    }
    if violations.is_empty() { Ok(messages) } else { Err(violations) }
}

fn message(item: &Value, is_new: bool) -> Result<ChatMessage, Violation> {
    let Some(fields) = item.as_object() else {
        return Err(Violation::new(haft_core::error::ROOT, Message::new(&NOT_MESSAGES)));
    };
    let unknown = fields.keys().find(|name| !["role", "content"].contains(&name.as_str()));
    if let Some(unknown) = unknown {
        return Err(Violation::new(unknown.as_str(), Message::new(&UNKNOWN_FIELD)));
    }
    let roles = if is_new { "user, assistant, system" } else { "user" };
    let role = match (fields.get("role").and_then(Value::as_str), is_new) {
        (Some("user"), _) => ChatRole::User,
        (Some("assistant"), true) => ChatRole::Assistant,
        (Some("system"), true) => ChatRole::System,
        (Some(_) | None, _) => {
            return Err(Violation::new("role", Message::new(&BAD_ROLE).with("roles", roles)));
        }
    };
    let content = content(fields.get("content").unwrap_or(&Value::Null))?;
    if content.is_empty() {
        return Err(Violation::new("content", Message::new(&EMPTY)));
    }
    let images = content.iter().filter(|piece| matches!(piece, MessagePart::Image { .. })).count();
    if images > MOST_IMAGES {
        let message = Message::new(&TOO_MANY_IMAGES).with("most", MOST_IMAGES);
        return Err(Violation::new("content", message));
    }
    Ok(ChatMessage { role, name: None, content })
}

/// A text, or parts in OpenAI's form. Empty parts are left out.
pub(crate) fn content(given: &Value) -> Result<Vec<MessagePart>, Violation> {
    let bad = || Violation::new("content", Message::new(&BAD_CONTENT));
    match given {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![MessagePart::Text { text: text.clone() }]),
        Value::Array(parts) => {
            let pieces: Result<Vec<Option<MessagePart>>, Violation> = parts.iter().map(piece).collect();
            Ok(pieces?.into_iter().flatten().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(bad()),
    }
}

fn piece(part: &Value) -> Result<Option<MessagePart>, Violation> {
    let bad = || Violation::new("content", Message::new(&BAD_CONTENT));
    let kind = part["type"].as_str().ok_or_else(bad)?;
    match kind {
        "text" | "input_text" | "output_text" => {
            let text = part["text"].as_str().ok_or_else(bad)?;
            Ok((!text.is_empty()).then(|| MessagePart::Text { text: text.to_owned() }))
        }
        "image_url" | "imageUrl" | "input_image" => {
            let url = [&part["image_url"]["url"], &part["imageUrl"]["url"], &part["image_url"]];
            let url = url.into_iter().find_map(Value::as_str).ok_or_else(bad)?;
            if !is_image(url) {
                return Err(Violation::new("content", Message::new(&BAD_IMAGE)));
            }
            Ok(Some(MessagePart::Image { url: url.to_owned(), detail: None }))
        }
        _ => Err(bad()),
    }
}

fn is_image(url: &str) -> bool {
    Image::media_type(url).is_some() || url.starts_with("artifact://")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(given: Value, is_new: bool) -> Vec<String> {
        let violations = read(&given, is_new).expect_err("refused");
        violations.into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        assert_eq!(wrong(json!("hello"), true), ["messages"]);
        assert_eq!(wrong(json!([]), true), ["messages"]);
        assert_eq!(wrong(json!([{"role": "tool", "content": "x"}]), true), ["messages.0.role"]);
        assert_eq!(wrong(json!([{"role": "system", "content": "x"}]), false), ["messages.0.role"]);
        assert_eq!(wrong(json!([{"role": "user", "content": ""}]), true), ["messages.0.content"]);
        assert_eq!(wrong(json!([{"role": "user", "content": "x", "mood": 1}]), true), ["messages.0.mood"]);
        assert_eq!(wrong(json!([{"role": "assistant", "content": "x"}]), true), ["messages"]);
        for url in
            ["file:///etc", "data:application/pdf;base64,AAAA", "data:;base64,AAAA", "data:image/png,x"]
        {
            let image =
                json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]);
            assert_eq!(wrong(image, true), ["messages.0.content"], "{url}");
        }
    }

    #[test]
    fn a_text_and_its_parts_are_read() {
        let given = json!([
            {"role": "system", "content": "short"},
            {"role": "user", "content": [
                {"type": "text", "text": "what is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
        ]);
        let messages = read(&given, true).expect("good");
        assert_eq!((messages.len(), messages[1].content.len()), (2, 2));
    }
}
