//! The login that `haft login` leaves for later commands: a server and a token for it, in a file
//! that only its owner can read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use haft_core::Message;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::messages;
use crate::refusal::OrFail as _;

/// Which server, and how to be known there.
pub(crate) struct Login {
    pub(crate) url: String,
    pub(crate) token: SecretString,
    /// The token's id when `haft login` made it, so that `haft logout` can end it.
    pub(crate) token_id: Option<String>,
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    url: String,
    token: String,
    token_id: Option<String>,
}

/// Where the login is kept.
pub(crate) fn path(config: &Config) -> anyhow::Result<&Path> {
    config.login_file.as_deref().or_fail(|| Message::new(&messages::NO_LOGIN_PLACE))
}

impl Login {
    /// The login of whoever runs this, if there is one.
    pub(crate) fn stored(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(path) = config.login_file.as_deref() else { return Ok(None) };
        let shown = path.display();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error)
                    .or_fail(|| Message::new(&messages::CANNOT_READ_LOGIN).with("path", &shown));
            }
        };
        // What the parser says quotes the line, and the line may hold the token.
        let file = toml::from_str::<File>(&text).ok();
        let File { url, token, token_id } =
            file.or_fail(|| Message::new(&messages::BAD_LOGIN).with("path", &shown))?;
        Ok(Some(Self { url, token: token.into(), token_id }))
    }

    /// Keeps the login: whole, or the one before stays.
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
        // Left by a process that had our number and died; its mode could be anything.
        let _ = fs::remove_file(new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()
    }

    /// A JSON string is a TOML string too.
    fn text(&self) -> String {
        let (url, token) = (Value::from(self.url.as_str()), Value::from(self.token.expose_secret()));
        let mut text = format!("# From haft login; haft logout removes it.\nurl = {url}\ntoken = {token}\n");
        if let Some(id) = &self.token_id {
            text.push_str(&format!("token_id = {}\n", Value::from(id.as_str())));
        }
        text
    }
}

/// Removes the login; says whether there was one.
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
    fn what_is_written_is_read_again() {
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
