//! Rules for names that users choose: of users, spaces, agents, providers, tokens and secrets.

use haft_core::{CallError, Message, Violation};
use uuid::Uuid;

haft_core::templates! {
    BAD_NAME = "store.badName",
        "must have 1 to {most} characters, no control characters, and no whitespace at either end",
        "长度必须为 1 到 {most} 个字符，不能包含控制字符，首尾不能有空白";
    LIKE_ID = "store.nameLikeId",
        "must not have the form of an id",
        "不能是 id 的形式";
    BAD_SECRET_NAME = "store.badSecretName",
        "must have 1 to {most} letters, digits, _ or -",
        "只能包含 1 到 {most} 个字母、数字、_ 或 -";
}

pub(crate) const MAX_LENGTH: usize = 100;
const MAX_SECRET_LENGTH: usize = 64;

/// Checks a display name. Names never look like ids, so that a URL path can contain either.
pub(crate) fn check(name: &str) -> Result<(), CallError> {
    let length = name.chars().count();
    let is_plain = name.trim() == name && !name.chars().any(char::is_control);
    if length == 0 || length > MAX_LENGTH || !is_plain {
        return Err(invalid(Message::new(&BAD_NAME).with("most", MAX_LENGTH)));
    }
    if Uuid::try_parse(name).is_ok() {
        return Err(invalid(Message::new(&LIKE_ID)));
    }
    Ok(())
}

/// Checks a name that can be used in `secret://NAME`.
pub(crate) fn check_secret(name: &str) -> Result<(), CallError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=MAX_SECRET_LENGTH).contains(&name.len()) && name.bytes().all(is_part) {
        return Ok(());
    }
    Err(invalid(Message::new(&BAD_SECRET_NAME).with("most", MAX_SECRET_LENGTH)))
}

fn invalid(message: Message) -> CallError {
    CallError::invalid(vec![Violation::new("name", message)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_or_untrimmed_names_and_ids_are_rejected() {
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
