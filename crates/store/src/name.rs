//! The rules that names keep which people give: of users, spaces, agents, providers, tokens and secrets.

use haft_core::{CallError, Message, Violation};
use uuid::Uuid;

haft_core::templates! {
    BAD_NAME = "store.badName",
        "must have 1 to {most} characters, none of them a control character, and no blank at either end",
        "长度必须为 1 到 {most} 个字符，不能包含控制字符，首尾不能有空白";
    LIKE_ID = "store.nameLikeId",
        "must not have the form of an id",
        "不能是 id 的形式";
    BAD_SECRET_NAME = "store.badSecretName",
        "must have 1 to {most} letters, digits, _ or -",
        "只能包含 1 到 {most} 个字母、数字、_ 或 -";
}

pub(crate) const LONGEST: usize = 100;
const LONGEST_SECRET: usize = 64;

/// A name for people. It never looks like an id, so that a path can hold either.
pub(crate) fn check(name: &str) -> Result<(), CallError> {
    let length = name.chars().count();
    let is_plain = name.trim() == name && !name.chars().any(char::is_control);
    if length == 0 || length > LONGEST || !is_plain {
        return Err(invalid(Message::new(&BAD_NAME).with("most", LONGEST)));
    }
    if Uuid::try_parse(name).is_ok() {
        return Err(invalid(Message::new(&LIKE_ID)));
    }
    Ok(())
}

/// A name that can stand in `secret://NAME`.
pub(crate) fn check_secret(name: &str) -> Result<(), CallError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=LONGEST_SECRET).contains(&name.len()) && name.bytes().all(is_part) {
        return Ok(());
    }
    Err(invalid(Message::new(&BAD_SECRET_NAME).with("most", LONGEST_SECRET)))
}

fn invalid(message: Message) -> CallError {
    CallError::invalid(vec![Violation::new("name", message)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_plain_and_no_ids() {
        for good in ["a", "Ada Lovelace", "天气助手", &"x".repeat(100)] {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for bad in ["", " a", "a\n", "a\0b", &"x".repeat(101), "0190b5a0-0000-7000-8000-000000000000"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a b", "a/b", "密钥", &"x".repeat(65)] {
            assert!(check_secret(bad).is_err(), "{bad:?}");
        }
        assert!(check_secret("API_KEY-2").is_ok());
    }
}
