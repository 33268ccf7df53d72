//! Artifacts: uploaded files, their metadata and names, and the trait by which calls read them.
//!
//! Storage is implemented elsewhere; nothing here does I/O.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;

use crate::id::ArtifactId;
use crate::mask::MASKED;
use crate::{BoxFuture, CallError, ErrorKind, Message, SpaceId, UserId, Violation};

crate::templates! {
    TOO_LARGE = "artifact.tooLarge",
        "the file is larger than {limit} bytes",
        "文件超过 {limit} 字节";
    LONG_NAME = "artifact.longName",
        "has a name of more than {most} characters",
        "文件名超过 {most} 个字符";
    NOT_FOUND = "artifact.notFound",
        "there is no artifact {id}",
        "没有文件 {id}";
    TOO_MUCH = "artifact.tooMuch",
        "{name} has {size} bytes, more than the {most} that can be read here",
        "{name} 有 {size} 字节，超过此处可读取的 {most} 字节";
}

/// Prefix of a reference.
pub const SCHEME: &str = "artifact://";

/// Path of files under every address of the server.
pub const PATH: &str = "/api/artifacts/";

/// The query parameter of a link that contains its signature.
pub const SIGNATURE: &str = "sig";

/// Prefix of a signature in a link.
const SIGNED: &str = "sig=";

/// Maximum size of a file in bytes.
pub const LARGEST: u64 = 32 << 20;

/// The media type of a file without a declared one.
pub const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 255;

/// Maximum length of a media type, in bytes.
const LONGEST_TYPE: usize = 255;

/// Maximum length of an invalid id in a message, in characters.
const MAX_ID_IN_MESSAGE: usize = 64;

/// A stored file, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub space_id: SpaceId,
    /// The only user who may read it.
    pub owner_id: UserId,
    pub name: String,
    /// The type declared by the uploader; the bytes may be anything.
    pub media_type: String,
    pub size: u64,
    pub sha256: [u8; 32],
    pub created_at: Timestamp,
}

/// The sanitized name and media type of a file to upload, without its bytes. The name is Unicode and must be
/// percent-encoded in a header. The media type is valid in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    name: String,
    media_type: String,
}

impl NewArtifact {
    /// Sanitizes a name and media type from a client. Removes directories and invisible characters from the
    /// name.
    pub fn new(name: &str, media_type: &str) -> Result<Self, CallError> {
        let name = file_name(name);
        if name.chars().count() > LONGEST_NAME {
            let message = Message::new(&LONG_NAME).with("most", LONGEST_NAME);
            return Err(CallError::invalid(vec![Violation::new("file", message)]));
        }
        let media_type = checked_type(media_type).unwrap_or_else(|| UNKNOWN_TYPE.to_owned());
        Ok(Self { name, media_type })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn media_type(&self) -> &str {
        &self.media_type
    }
}

/// Returns the last segment of a path, with slashes of any system.
fn file_name(written: &str) -> String {
    let last = written.rsplit(['/', '\\']).next().unwrap_or_default();
    let seen: String = last.chars().filter(|character| !is_unseen(*character)).collect();
    match seen.trim() {
        "" | "." | ".." => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns true for control characters, and for marks that change the reading direction: `exe.txt` may be
/// `txt.exe`.
fn is_unseen(character: char) -> bool {
    let is_mark = matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    );
    is_mark || character.is_control()
}

/// Returns a media type in lower case, with its charset and no other parameter. Returns `None` if the text is
/// malformed.
fn checked_type(written: &str) -> Option<String> {
    let (essence, parameters) = written.split_once(';').unwrap_or((written, ""));
    let essence = essence.trim().to_ascii_lowercase();
    let (group, name) = essence.split_once('/')?;
    if written.len() > LONGEST_TYPE || !is_word(group) || !is_word(name) {
        return None;
    }
    let mut pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let charset = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let charset = charset.map(|(_, value)| value.trim().trim_matches('"')).filter(|value| is_word(value));
    Some(match charset {
        Some(charset) => format!("{essence}; charset={charset}"),
        None => essence,
    })
}

fn is_word(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// A reference to a file that a call reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRef {
    /// The id as written; it may be malformed.
    pub id: String,
    /// The signature of a link that grants access to others than the owner.
    pub signature: Option<String>,
}

impl ArtifactRef {
    /// Parses `artifact://ID`. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.strip_prefix(SCHEME)?.trim_end_matches('/');
        Some(Self { id: id.to_owned(), signature: None })
    }
}

/// Returns true if a text may contain a signed link. A fast check with false positives.
pub fn may_be_signed(text: &str) -> bool {
    text.contains(SIGNED)
}

/// Masks the signatures of file links in a text.
pub fn unsigned(text: &str) -> Cow<'_, str> {
    if !may_be_signed(text) {
        return Cow::Borrowed(text);
    }
    let ends_address = |character: char| character.is_whitespace() || "\"'<>".contains(character);
    Cow::Owned(text.split_inclusive(ends_address).map(unsigned_address).collect())
}

/// Masks the signatures in a single address. Parsers treat a backslash as a slash.
fn unsigned_address(text: &str) -> Cow<'_, str> {
    let found = if may_be_signed(text) { text.replace('\\', "/").find(PATH) } else { None };
    let Some(found) = found else { return Cow::Borrowed(text) };
    let (before, mut rest) = text.split_at(found);
    let mut clean = before.to_owned();
    while let Some((before, after)) = rest.split_once(SIGNED) {
        clean.extend([before, SIGNED]);
        rest = after.trim_start_matches(|character: char| {
            character.is_ascii_alphanumeric() || "-_%".contains(character)
        });
        if rest.len() < after.len() {
            clean.push_str(MASKED);
        }
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactBytes {
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

/// A store of files.
pub trait Artifacts: Send + Sync {
    /// Returns the file that a URL of this server refers to. Returns `None` for any other URL.
    fn of_url(&self, url: &str) -> Option<ArtifactRef>;

    /// Reads a whole file that is visible to a caller, up to `most` bytes.
    fn read<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        artifact: &'a ArtifactRef,
        most: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>>;
}

/// Returns the message for a file over [`LARGEST`].
pub fn too_large() -> Message {
    Message::new(&TOO_LARGE).with("limit", LARGEST)
}

/// Returns the error for a missing file. A file of another user gives the same error.
pub fn not_found(id: &str) -> CallError {
    let shown: String = id.chars().take(MAX_ID_IN_MESSAGE).collect();
    CallError::new(ErrorKind::NotFound, Message::new(&NOT_FOUND).with("id", shown)).detail("what", "artifact")
}

/// Returns the error for a file that is larger than its reader accepts.
pub fn too_much(artifact: &Artifact, most: u64) -> CallError {
    let message = Message::new(&TOO_MUCH).with("name", &artifact.name).with("size", artifact.size);
    CallError::new(ErrorKind::Execution, message.with("most", most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_part_of_a_path_and_can_be_seen() {
        for (written, name) in [
            ("notes.txt", "notes.txt"),
            ("报告 2026.pdf", "报告 2026.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ada\\a.txt", "a.txt"),
            ("a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"),
            ("say \"hi\".txt", "say \"hi\".txt"),
            ("\u{202e}txt.exe\0", "txt.exe"),
            ("", "file"),
            ("..", "file"),
            ("dir/", "file"),
            (" \t", "file"),
        ] {
            let file = NewArtifact::new(written, "").expect("a name");
            assert_eq!(file.name(), name, "{written:?}");
        }
        assert!(NewArtifact::new(&"长".repeat(255), "").is_ok());
        let refused = NewArtifact::new(&"长".repeat(256), "").expect_err("too long");
        assert_eq!(refused.violations()[0].path, "file");
    }

    #[test]
    fn a_type_is_one_or_is_unknown() {
        for (written, kept) in [
            ("text/plain", "text/plain"),
            ("Text/HTML; Charset=\"GBK\"; x=y", "text/html; charset=GBK"),
            (" image/svg+xml ", "image/svg+xml"),
            ("text/plain; charset=a b", "text/plain"),
            ("", UNKNOWN_TYPE),
            ("text", UNKNOWN_TYPE),
            ("*/*", UNKNOWN_TYPE),
            ("text/", UNKNOWN_TYPE),
            ("text/plain\r\nX: y", UNKNOWN_TYPE),
            ("text/ä", UNKNOWN_TYPE),
        ] {
            let file = NewArtifact::new("a", written).expect("a type");
            assert_eq!(file.media_type(), kept, "{written:?}");
        }
        let long = NewArtifact::new("a", &format!("text/{}", "x".repeat(300))).expect("a type");
        assert_eq!(long.media_type(), UNKNOWN_TYPE);
    }

    #[test]
    fn a_reference_is_the_whole_text() {
        let id = |text: &str| ArtifactRef::parse(text).map(|found| found.id);
        assert_eq!(id("artifact://0190b5a0").as_deref(), Some("0190b5a0"));
        assert_eq!(id("artifact://0190b5a0/").as_deref(), Some("0190b5a0"));
        for text in ["", "0190b5a0", "see artifact://0190b5a0", "https://a.example/artifact://x"] {
            assert_eq!(id(text), None, "{text:?}");
        }
    }

    #[test]
    fn links_are_masked_and_nothing_else_is() {
        for (written, clean) in [
            ("https://h.example/api/artifacts/x1?sig=Ab-_9", "https://h.example/api/artifacts/x1?sig=***"),
            ("https://h/t/api/artifacts/x?a=b&sig=A%2D#f", "https://h/t/api/artifacts/x?a=b&sig=***#f"),
            ("http://h\\api\\artifacts\\x?sig=Ab", "http://h\\api\\artifacts\\x?sig=***"),
            ("see <http://h/api/artifacts/x?sig=Ab> 读", "see <http://h/api/artifacts/x?sig=***> 读"),
            ("/api/artifacts/x?sig=A, sig=B.", "/api/artifacts/x?sig=***, sig=B."),
            ("http://h/api/artifacts/x?sig=***", "http://h/api/artifacts/x?sig=***"),
            ("https://blob.example/file?sig=Ab", "https://blob.example/file?sig=Ab"),
            ("http://h/api/artifacts/x and ?sig=Ab", "http://h/api/artifacts/x and ?sig=Ab"),
            ("http://h/api/artifacts/x", "http://h/api/artifacts/x"),
            ("", ""),
        ] {
            assert_eq!(unsigned(written), clean, "{written}");
        }
        assert_eq!(SIGNED.strip_prefix(SIGNATURE), Some("="));
    }
}
