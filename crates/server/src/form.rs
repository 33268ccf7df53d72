//! Forms with a file in them: `multipart/form-data`, read piece by piece, so that no file is ever held whole.
//!
//! There is one field, `file`, and nothing else. What becomes of its bytes is decided elsewhere.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Buf, Bytes, BytesMut};
use haft_core::{CallError, Message, Template, Violation};
use memchr::memmem::{self, Finder};
use percent_encoding::percent_decode_str;

use crate::body::{BodyReader, interrupted};
use crate::error::Failure;

haft_core::templates! {
    NOT_A_FORM = "form.notAForm",
        "The body must be a form with a file. Send the header Content-Type: multipart/form-data",
        "请求体必须是带文件的表单：请发送请求头 Content-Type: multipart/form-data";
    MALFORMED = "form.malformed",
        "The form is invalid: it does not follow its boundary, or the header of a part is too long.",
        "请求体不是合法的表单：未遵循其 boundary，或某一部分的头过长";
    NO_FILE = "form.noFile",
        "is required: send a file in this field",
        "必填：请在此字段中发送文件";
    SECOND_FILE = "form.secondFile",
        "occurs twice; send one file at a time",
        "出现了两次；请一次只发送一个文件";
    UNKNOWN_FIELD = "form.unknownField",
        "is unknown; the only field is file",
        "未知字段；只有 file 字段";
}

/// The only field.
const FIELD: &str = "file";

/// What may stand before a file: the start of the form, or the head of a part.
const LONGEST_HEAD: usize = 8 << 10;

const LONGEST_BOUNDARY: usize = 200;

/// So much of a field's name is shown.
const LONGEST_SHOWN: usize = 64;

/// Of a form that is refused so much more is read, in so much time.
const DRAINED: usize = 4 << 20;
const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum time for a whole form: files may be large, and networks slow.
const DEADLINE: Duration = Duration::from_secs(3600);

/// A form on its way in.
pub(crate) struct FileForm {
    body: BodyReader,
    buffer: BytesMut,
    /// What stands between parts.
    delimiter: Finder<'static>,
    /// Whether the file has been read to its end.
    is_read: bool,
}

/// What a part says of itself.
pub(crate) struct Head {
    field: String,
    /// As the client wrote it; empty where it did not.
    pub(crate) name: String,
    pub(crate) media_type: String,
}

impl FileForm {
    pub(crate) fn of(headers: &HeaderMap, body: Body) -> Result<Self, Failure> {
        let media =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("multipart/form-data") {
            let message = Message::new(&NOT_A_FORM);
            return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let boundary = parameter(media, "boundary").unwrap_or_default();
        if !(1..=LONGEST_BOUNDARY).contains(&boundary.len()) {
            return Err(malformed());
        }
        let delimiter = Finder::new(&format!("\r\n--{boundary}")).into_owned();
        // As if a line had ended just before: the first boundary is found like all others.
        let body = BodyReader::new(body, DEADLINE);
        Ok(Self { body, buffer: BytesMut::from(&b"\r\n"[..]), delimiter, is_read: false })
    }

    /// Reads up to the file, and gives what is said of it.
    pub(crate) async fn file(&mut self) -> Result<Head, Failure> {
        let start = loop {
            match self.delimiter.find(&self.buffer) {
                Some(start) => break short(start)?,
                None => self.fill_head().await?,
            }
        };
        self.buffer.advance(start + self.delimiter.needle().len());
        match self.head().await? {
            Some(head) if head.field == FIELD => Ok(head),
            Some(head) => Err(unknown(&head.field)),
            None => Err(wrong(FIELD, &NO_FILE)),
        }
    }

    /// What comes next of the file; nothing at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        while !self.is_read {
            if let Some(end) = self.delimiter.find(&self.buffer) {
                let piece = self.buffer.split_to(end).freeze();
                self.buffer.advance(self.delimiter.needle().len());
                self.is_read = true;
                return Ok(Some(piece));
            }
            // All but what may be the beginning of a delimiter.
            let certain = (self.buffer.len() + 1).saturating_sub(self.delimiter.needle().len());
            if certain > 0 {
                return Ok(Some(self.buffer.split_to(certain).freeze()));
            }
            self.fill().await?;
        }
        Ok(None)
    }

    /// After the file: that nothing else is in the form.
    pub(crate) async fn end(&mut self) -> Result<(), Failure> {
        match self.head().await? {
            None => Ok(()),
            Some(head) if head.field == FIELD => Err(wrong(FIELD, &SECOND_FILE)),
            Some(head) => Err(unknown(&head.field)),
        }
    }

    /// Reads on for a little: who is still sending would not get to see the answer otherwise.
    pub(crate) async fn drain(&mut self) {
        let reading = async {
            let mut left = DRAINED;
            while left > 0 {
                self.buffer.clear();
                if self.fill().await.is_err() {
                    break;
                }
                left = left.saturating_sub(self.buffer.len());
            }
        };
        let _ = tokio::time::timeout(PATIENCE, reading).await;
    }

    /// The head of the part that begins after a delimiter; nothing where the form ends there.
    async fn head(&mut self) -> Result<Option<Head>, Failure> {
        let end = loop {
            if self.buffer.starts_with(b"--") {
                return Ok(None);
            }
            match memmem::find(&self.buffer, b"\r\n\r\n") {
                Some(end) => break short(end)?,
                None => self.fill_head().await?,
            }
        };
        let bytes = self.buffer.split_to(end);
        self.buffer.advance(4);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.split("\r\n");
        // A delimiter ends its line.
        if lines.next().is_some_and(|rest| !rest.trim().is_empty()) {
            return Err(malformed());
        }
        let (mut disposition, mut media_type) = ("", "");
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.trim().eq_ignore_ascii_case("content-disposition") {
                disposition = value;
            } else if name.trim().eq_ignore_ascii_case("content-type") {
                media_type = value;
            }
        }
        let extended = parameter(disposition, "filename*").and_then(|value| decoded(&value));
        let plain = || parameter(disposition, "filename").map(|name| unescaped(&name));
        Ok(Some(Head {
            field: parameter(disposition, "name").unwrap_or_default(),
            name: extended.or_else(plain).unwrap_or_default(),
            media_type: media_type.trim().to_owned(),
        }))
    }

    /// Reads on where only a little is expected.
    async fn fill_head(&mut self) -> Result<(), Failure> {
        short(self.buffer.len())?;
        self.fill().await
    }

    async fn fill(&mut self) -> Result<(), Failure> {
        let bytes = self.body.next().await?.ok_or_else(interrupted)?;
        self.buffer.extend_from_slice(&bytes);
        Ok(())
    }
}

/// The length of what stands before a file, when that is not too long.
fn short(length: usize) -> Result<usize, Failure> {
    if length > LONGEST_HEAD { Err(malformed()) } else { Ok(length) }
}

fn malformed() -> Failure {
    Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&MALFORMED))
}

fn wrong(field: &str, template: &'static Template) -> Failure {
    CallError::invalid(vec![Violation::new(field, Message::new(template))]).into()
}

fn unknown(field: &str) -> Failure {
    let shown: String = field.chars().take(LONGEST_SHOWN).collect();
    wrong(&shown, &UNKNOWN_FIELD)
}

/// The value of a parameter behind the first `;` of a header, in quotes or without.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.rsplit(';').next().unwrap_or_default().trim();
        let (value, next) = value(after.trim_start());
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = next;
    }
}

/// The value at the start of a text, and what stands behind it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(';').unwrap_or((text, ""));
        return (value.trim().to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            // These two alone are written with a backslash: it is part of paths too.
            '\\' if characters.as_str().starts_with(['"', '\\']) => value.extend(characters.next()),
            character => value.push(character),
        }
    }
    (value, characters.as_str())
}

/// What browsers write otherwise within quotes.
fn unescaped(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

/// A value with its charset before it: `UTF-8''na%C3%AFve.txt`.
fn decoded(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    let is_known = charset.eq_ignore_ascii_case("utf-8");
    is_known.then(|| percent_decode_str(encoded).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::http::HeaderValue;
    use axum::response::IntoResponse;
    use futures_util::{StreamExt, stream};

    use super::*;

    const KIND: &str = "multipart/form-data; boundary=xYz";

    /// A form whose bytes come in portions of one length.
    fn form(kind: &str, bytes: &[u8], portion: usize) -> Result<FileForm, Failure> {
        let portions: Vec<Result<Bytes, Infallible>> =
            bytes.chunks(portion).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
        let headers =
            HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_str(kind).expect("a header"))]);
        FileForm::of(&headers, Body::from_stream(stream::iter(portions)))
    }

    async fn read(kind: &str, bytes: &[u8], portion: usize) -> Result<(Head, Vec<u8>), Failure> {
        let mut form = form(kind, bytes, portion)?;
        let head = form.file().await?;
        let mut content = Vec::new();
        while let Some(piece) = form.piece().await? {
            content.extend_from_slice(&piece);
        }
        form.end().await?;
        Ok((head, content))
    }

    fn with(head: &str, content: &[u8]) -> Vec<u8> {
        [&b"--xYz\r\n"[..], head.as_bytes(), b"\r\n\r\n", content, b"\r\n--xYz--\r\n"].concat()
    }

    #[tokio::test]
    async fn a_file_is_the_same_however_it_comes() {
        let head =
            "Content-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\ncontent-type: image/png";
        let contents: [&[u8]; 6] =
            [b"", b"\r\n", b"words", b"\r\n--xY\r\n--x\r\n\r\n--xyz", b"\0\xff\r\r\n-", &[b'-'; 1000]];
        for content in contents {
            for portion in 1..120 {
                let (head, read) = read(KIND, &with(head, content), portion).await.expect("a file");
                assert_eq!((head.name.as_str(), head.media_type.as_str()), ("a.bin", "image/png"));
                assert_eq!(read, content, "in portions of {portion}");
            }
        }
        let start = &b"a preamble\r\n--xYz \t\r\n"[..];
        let padded = [start, head.as_bytes(), b"\r\n\r\nx\r\n--xYz--epilogue"].concat();
        let quoted = "Multipart/Form-Data; charset=utf-8; Boundary=\"xYz\"";
        assert_eq!(read(quoted, &padded, 7).await.expect("a file").1, b"x");
    }

    #[tokio::test]
    async fn names_are_read_as_clients_write_them() {
        for (written, name) in [
            ("filename=\"notes.txt\"", "notes.txt"),
            ("filename=notes.txt", "notes.txt"),
            ("filename=\"报告.txt\"", "报告.txt"),
            ("filename=\"a; b=\\\"c\\\".txt\"", "a; b=\"c\".txt"),
            ("filename=\"a %22b%22%0D%0A.txt\"", "a \"b\"\r\n.txt"),
            ("filename=\"C:\\dir\\a.txt\"", "C:\\dir\\a.txt"),
            ("filename=\"_.txt\"; filename*=UTF-8''%E6%8A%A5%20.txt", "报 .txt"),
            ("filename*=latin1''%E4.txt; filename=b.txt", "b.txt"),
            ("odd; FileName=\"b.txt\"", "b.txt"),
            ("", ""),
        ] {
            let head = format!("Content-Disposition: form-data; name=\"file\"; {written}");
            let (head, content) = read(KIND, &with(&head, b"x"), 9).await.expect("a file");
            assert_eq!((head.name.as_str(), content.as_slice()), (name, &b"x"[..]), "{written}");
        }
    }

    #[tokio::test]
    async fn what_is_no_form_with_one_file_is_refused() {
        let file = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"";
        let other = file.replace("\"file\"", "\"other\"");
        let twice = [with(file, b"x").strip_suffix(b"--\r\n").expect("an end"), b"\r\n"].concat();
        let with_other = [&twice[..], other.as_bytes(), b"\r\n\r\ny\r\n--xYz--\r\n"].concat();
        let with_second = [&twice[..], file.as_bytes(), b"\r\n\r\ny\r\n--xYz--\r\n"].concat();
        let long = format!("{file}\r\nX: {}", "y".repeat(2 * LONGEST_HEAD));
        let whole = with(file, b"x");
        for (case, kind, bytes, status) in [
            ("no form", "application/json", whole.clone(), 415),
            ("no type", "text/multipart/form-data", whole.clone(), 415),
            ("no boundary", "multipart/form-data", whole.clone(), 400),
            ("an empty boundary", "multipart/form-data; boundary=", whole.clone(), 400),
            ("another boundary", "multipart/form-data; boundary=abc", whole.clone(), 400),
            ("a boundary within another", "multipart/form-data; boundary=xY", whole.clone(), 400),
            ("nothing", KIND, Vec::new(), 400),
            ("no part", KIND, b"--xYz--\r\n".to_vec(), 400),
            ("another field", KIND, with(&other, b"x"), 400),
            ("no field", KIND, with("X: y", b"x"), 400),
            ("a field more", KIND, with_other, 400),
            ("two files", KIND, with_second, 400),
            ("a long head", KIND, with(&long, b"x"), 400),
            ("a long start", KIND, [b"-".repeat(2 * LONGEST_HEAD), whole.clone()].concat(), 400),
            ("a cut end", KIND, whole[..whole.len() - 6].to_vec(), 400),
            ("a cut head", KIND, whole[..30].to_vec(), 400),
        ] {
            for portion in [1, 13, 100_000] {
                let refused = read(kind, &bytes, portion).await.err();
                let refused = refused.unwrap_or_else(|| panic!("{case} was taken"));
                assert_eq!(refused.into_response().status().as_u16(), status, "{case}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_that_does_not_go_on_is_given_up() {
        let whole = with("Content-Disposition: form-data; name=\"file\"", b"words");
        for (case, end) in [("nothing", 0), ("half a head", 20), ("half a file", whole.len() - 14)] {
            let come = Ok::<_, Infallible>(Bytes::copy_from_slice(&whole[..end]));
            let silent = stream::iter([come]).chain(stream::pending());
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(KIND))]);
            let mut form = FileForm::of(&headers, Body::from_stream(silent)).expect("a form");
            let read = async {
                form.file().await?;
                while form.piece().await?.is_some() {}
                form.end().await
            };
            let given_up = read.await.err().unwrap_or_else(|| panic!("{case} is no form"));
            assert_eq!(given_up.into_response().status(), StatusCode::REQUEST_TIMEOUT, "{case}");
        }
    }

    #[tokio::test]
    async fn no_more_is_held_than_has_just_come() {
        let head = "Content-Disposition: form-data; name=\"file\"";
        let mut form = form(KIND, &with(head, &vec![b'x'; 1 << 20]), 1000).expect("a form");
        form.file().await.expect("a file");
        let mut whole = 0;
        while let Some(piece) = form.piece().await.expect("a piece") {
            whole += piece.len();
            let held = piece.len().max(form.buffer.len());
            assert!(held <= 1100, "{held}");
        }
        assert_eq!(whole, 1 << 20);
    }
}
