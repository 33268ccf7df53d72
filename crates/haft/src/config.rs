//! The configuration: flags, then environment, then `haft.toml`; read once, checked, passed on by part.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use haft_core::Locale;
use serde::Deserialize;

use crate::cli::Settings;

/// The file as written: every key optional, unknown ones refused.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    addr: Option<SocketAddr>,
    admin_token: Option<String>,
    log: Option<String>,
}

/// What the process runs with, beside the flags of its command.
pub(crate) struct Config {
    pub(crate) addr: Option<SocketAddr>,
    pub(crate) admin_token: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) locale: Locale,
}

impl Config {
    pub(crate) fn load(settings: &Settings) -> anyhow::Result<Self> {
        let file = match &settings.config {
            Some(path) => read(path)?,
            None if Path::new("haft.toml").exists() => read(Path::new("haft.toml"))?,
            None => File::default(),
        };
        Ok(Self {
            addr: file.addr,
            admin_token: file.admin_token,
            log: settings.log.clone().or(file.log),
            locale: settings.lang.unwrap_or_else(terminal_locale),
        })
    }
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is not right", path.display()))
}

/// The language of the terminal, by the usual variables.
fn terminal_locale() -> Locale {
    #[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set);
    named.and_then(|tag| Locale::from_tag(&tag)).unwrap_or_default()
}
