//! The stored login of `haft login`: the URL and token of a server, in a file that only its owner can read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use haft_core::Message;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use crate::cli_error::OrFail as _;
use crate::config::Config;
use crate::messages;

/// The server of further commands, with the token to authenticate there.
pub(crate) struct Login {
    pub(crate) url: String,
    pub(crate) token: SecretString,
    /// The token's id if `haft login` created the token, so that `haft logout` can revoke it.
    pub(crate) token_id: Option<String>,
}

/// The content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    url: String,
    token: String,
    token_id: Option<String>,
}

/// Returns the path of the login file.
pub(crate) fn path(config: &Config) -> anyhow::Result<&Path> {
    config.login_file.as_deref().or_fail(|| Message::new(&messages::NO_LOGIN_DIRECTORY))
}

impl Login {
    /// Reads the stored login. Returns `None` if there is none.
    pub(crate) fn stored(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(path) = config.login_file.as_deref() else { return Ok(None) };
        let displayed_path = path.display();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error)
                    .or_fail(|| Message::new(&messages::CANNOT_READ_LOGIN).with("path", &displayed_path));
            }
        };
        // The parser's error is dropped, since it quotes the line, which may contain the token.
        let file = toml::from_str::<File>(&text).ok();
        let File { url, token, token_id } =
            file.or_fail(|| Message::new(&messages::BAD_LOGIN).with("path", &displayed_path))?;
        Ok(Some(Self { url, token: token.into(), token_id }))
    }

    /// Writes the login atomically: after an error the previous login is unchanged.
    pub(crate) fn store(&self, path: &Path) -> anyhow::Result<()> {
        let directory = path.parent().unwrap_or_else(|| Path::new("/"));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.or_fail(|| Message::new(&messages::CANNOT_MAKE_DIRECTORY).with("path", directory.display()))?;
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let written = self.write(&new).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.or_fail(|| Message::new(&messages::CANNOT_WRITE_LOGIN).with("path", path.display()))
    }

    fn write(&self, new: &Path) -> std::io::Result<()> {
        // A file left by a crashed process with the same process id could have any mode.
        let _ = fs::remove_file(new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()
    }

    /// Returns the content of the file. JSON strings are valid TOML strings.
    fn text(&self) -> String {
        let (url, token) = (Value::from(self.url.as_str()), Value::from(self.token.expose_secret()));
        let mut text = format!("# From haft login; haft logout removes it.\nurl = {url}\ntoken = {token}\n");
        if let Some(id) = &self.token_id {
            text.push_str(&format!("token_id = {}\n", Value::from(id.as_str())));
        }
        text
    }
}

/// Removes the login. Returns false if there was none.
pub(crate) fn remove(path: &Path) -> anyhow::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => {
            Err(error).or_fail(|| Message::new(&messages::CANNOT_REMOVE).with("path", path.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_login_is_read_back() {
        let login = Login {
            url: "https://haft.example.com".to_owned(),
            token: "haft_\"quoted\" \\ 天气".into(),
            token_id: Some("0198".to_owned()),
        };
        let file: File = toml::from_str(&login.text()).expect("TOML");
        assert_eq!((file.url, file.token_id), (login.url, login.token_id));
        assert_eq!(file.token, login.token.expose_secret());
    }
}
