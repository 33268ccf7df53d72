//! The configuration from flags, environment variables and `haft.toml`, in this order of precedence.

mod connections;
mod duration_setting;
mod models;
mod otlp;
mod retention;
mod tasks;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use haft_core::{Locale, Message};
use haft_egress::{Egress, Networks};
use haft_engine::Supervisor;
use haft_server::{ModelSettings, TraceSettings};
use haft_store::LogRetention;
use secrecy::SecretString;
use serde::Deserialize;

use haft_web::{Brave, SearXng, SearchProviders, Tavily};
use url::Url;

use crate::cli::{ConnectionArgs, Settings};
use crate::cli_error::{OrFail as _, failure};
use crate::log::LogFormat;
use crate::messages;
use crate::storage::Storage;

pub(crate) use self::connections::raise_limit_on_open_files;
pub(crate) use self::duration_setting::DurationSetting;
pub(crate) use self::tasks::TaskSettings;

/// The content of the file. Every key is optional; unknown keys are an error.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    addr: Option<SocketAddr>,
    admin_token: Option<String>,
    log: Option<String>,
    log_format: Option<LogFormat>,
    allow_private_networks: Option<String>,
    ca_certs: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    database_url: Option<String>,
    public_url: Option<Url>,
    trusted_proxies: Option<String>,
    #[serde(default)]
    allowed_origins: Vec<String>,
    alert_interval: Option<DurationSetting>,
    max_connections: Option<u64>,
    max_connections_per_address: Option<u64>,
    header_timeout: Option<DurationSetting>,
    idle_timeout: Option<DurationSetting>,
    body_timeout: Option<DurationSetting>,
    artifact_quota: Option<u64>,
    call_log_days: Option<u64>,
    call_log_bytes: Option<u64>,
    task_days: Option<u64>,
    task_places: Option<u64>,
    task_queue: Option<u64>,
    max_turns: Option<u64>,
    max_turns_per_user: Option<u64>,
    default_provider: Option<String>,
    default_model: Option<String>,
}

/// The checked configuration of the process, without the flags of its command.
pub(crate) struct Config {
    pub(crate) addr: Option<SocketAddr>,
    pub(crate) admin_token: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) locale: Locale,
    pub(crate) storage: Storage,
    pub(crate) public_url: Option<Url>,
    pub(crate) trusted_proxies: Networks,
    pub(crate) allowed_origins: Vec<String>,
    /// A number is in milliseconds.
    pub(crate) alert_interval: Option<DurationSetting>,
    /// The values of the file.
    pub(crate) connections: ConnectionArgs,
    pub(crate) artifact_quota: Option<u64>,
    pub(crate) search: SearchProviders,
    pub(crate) tasks: TaskSettings,
    pub(crate) models: ModelSettings,
    /// The file of the stored login. `None` if there is no home directory.
    pub(crate) login_file: Option<PathBuf>,
    networks: Networks,
    /// In PEM form.
    ca_certs: Option<Vec<u8>>,
    call_log_days: Option<u64>,
    call_log_bytes: Option<u64>,
}

impl Config {
    pub(crate) fn load(settings: &Settings) -> anyhow::Result<Self> {
        let file = match &settings.config {
            Some(path) => read(path)?,
            None if Path::new("haft.toml").exists() => read(Path::new("haft.toml"))?,
            None => File::default(),
        };
        let networks = match (&settings.allow_private_networks, &file.allow_private_networks) {
            (Some(networks), _) => networks.clone(),
            (None, Some(text)) => parse_networks("allow_private_networks", text)?,
            (None, None) => Networks::default(),
        };
        let trusted_proxies = match (&settings.trusted_proxies, &file.trusted_proxies) {
            (Some(networks), _) => networks.clone(),
            (None, Some(text)) => parse_networks("trusted_proxies", text)?,
            (None, None) => Networks::default(),
        };
        let ca_certs = settings.ca_certs.as_ref().or(file.ca_certs.as_ref()).map(|path| {
            std::fs::read(path)
                .or_fail(|| Message::new(&messages::CANNOT_READ_CERTIFICATES).with("path", path.display()))
        });
        let locale = settings.lang.unwrap_or_else(terminal_locale);
        let defaults = models::Defaults { provider: file.default_provider, model: file.default_model };
        let of_tasks = tasks::FileValues {
            days: file.task_days,
            slots: file.task_places,
            queue: file.task_queue,
            turns: file.max_turns,
            turns_per_user: file.max_turns_per_user,
        };
        Ok(Self {
            networks,
            ca_certs: ca_certs.transpose()?,
            models: models::settings(defaults, locale, variable)?,
            storage: Storage {
                directory: settings.data_dir.clone().or(file.data_dir).or_else(data_directory),
                database_url: settings.database_url.clone().or(file.database_url).map(SecretString::from),
                master_key: settings.master_key.clone().map(SecretString::from),
                environment: environment_secrets(),
            },
            public_url: settings.public_url.clone().or(file.public_url),
            trusted_proxies,
            allowed_origins: if settings.allowed_origins.is_empty() {
                file.allowed_origins
            } else {
                settings.allowed_origins.clone()
            },
            alert_interval: file.alert_interval,
            connections: ConnectionArgs {
                max_connections: file.max_connections,
                max_connections_per_address: file.max_connections_per_address,
                header_timeout: file.header_timeout,
                idle_timeout: file.idle_timeout,
                body_timeout: file.body_timeout,
            },
            artifact_quota: settings.artifact_quota.or(file.artifact_quota),
            call_log_days: settings.call_log_days.or(file.call_log_days),
            call_log_bytes: settings.call_log_bytes.or(file.call_log_bytes),
            search: search()?,
            tasks: tasks::settings(settings, of_tasks, variable)?,
            login_file: login_file(),
            addr: file.addr,
            admin_token: file.admin_token,
            log: settings.log.clone().or(file.log),
            log_format: file.log_format,
            locale,
        })
    }
}

impl Config {
    /// Builds the guarded HTTP client with the configured networks and certificates.
    pub(crate) fn egress(&self) -> anyhow::Result<Egress> {
        let builder = Egress::builder().open(self.networks.clone());
        let builder = match &self.ca_certs {
            Some(pem) => builder.trust(pem).or_fail(|| Message::new(&messages::BAD_CERTIFICATES))?,
            None => builder,
        };
        Ok(builder.build())
    }

    /// Returns the retention of the call log.
    pub(crate) fn retention(&self) -> anyhow::Result<LogRetention> {
        retention::settings(self.call_log_days, self.call_log_bytes)
    }
}

/// Returns the trace settings from the `OTEL_…` variables. Returns `None` if no endpoint is set.
///
/// Only servers and workers call this, so that a mistake in these variables does not break other commands.
pub(crate) fn traces() -> anyhow::Result<Option<TraceSettings>> {
    otlp::settings(variable)
}

/// Returns the supervisor of background tasks. For tests, `HAFT_TASK_PANIC` makes one of them panic.
pub(crate) fn supervisor() -> anyhow::Result<Supervisor> {
    let Some(text) = variable("HAFT_TASK_PANIC") else { return Ok(Supervisor::default()) };
    Supervisor::with_panics(&text).with_context(|| {
        format!("HAFT_TASK_PANIC={text} is for tests of debug builds, as TASK or TASK:COUNT")
    })
}

/// Parses the networks of a key of the file.
fn parse_networks(name: &str, written: &str) -> anyhow::Result<Networks> {
    let message = || {
        let message = Message::new(&messages::BAD_NETWORKS).with("name", name);
        message.with("written", format!("{written:?}"))
    };
    // The error of the parser is dropped, since the message describes the format.
    written.parse().map_err(|_| failure(message()))
}

/// Returns the trimmed value of an environment variable. Returns `None` if it is empty or not set.
fn variable(name: &str) -> Option<String> {
    let mut set = environment().filter(|(_, value)| !value.trim().is_empty());
    set.find(|(known, _)| known == name).map(|(_, value)| value.trim().to_owned())
}

/// Returns the search services whose key or URL is set in the environment.
fn search() -> anyhow::Result<SearchProviders> {
    let url = |name: &str, default: Option<&str>| {
        let written = variable(name).or_else(|| default.map(str::to_owned));
        written
            .map(|written| {
                Url::parse(&written).or_fail(|| {
                    Message::new(&messages::NOT_A_URL)
                        .with("name", name)
                        .with("written", format!("{written:?}"))
                })
            })
            .transpose()
    };
    let mut providers = SearchProviders::default();
    if let (Some(key), Some(base)) = (variable("TAVILY_API_KEY"), url("TAVILY_BASE_URL", Some(Tavily::BASE))?)
    {
        providers.tavily = Some(Tavily { key: key.into(), base });
    }
    if let Some(base) = url("SEARXNG_URL", None)? {
        providers.searxng = Some(SearXng { base });
    }
    if let (Some(key), Some(base)) = (variable("BRAVE_API_KEY"), url("BRAVE_BASE_URL", Some(Brave::BASE))?) {
        providers.brave = Some(Brave { key: key.into(), base });
    }
    Ok(providers)
}

/// Returns the secrets of the environment: `HAFT_SECRET_WEATHER_KEY` is `secret://weather_key`.
fn environment_secrets() -> HashMap<String, SecretString> {
    let is_set = |(_, value): &(String, String)| !value.trim().is_empty();
    let named = environment().filter(is_set).filter_map(|(name, value)| {
        Some((name.strip_prefix("HAFT_SECRET_")?.to_ascii_lowercase(), SecretString::from(value)))
    });
    named.collect()
}

/// Returns the default data directory, from `XDG_DATA_HOME` or `HOME`. Ignores relative paths.
fn data_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(directory.join("haft"))
}

/// Iterates over the environment variables whose names and values are UTF-8.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", path.display()))?;
    toml::from_str(&text).or_fail(|| Message::new(&messages::BAD_FILE).with("path", path.display()))
}

/// Returns the file of the stored login, from `XDG_CONFIG_HOME` or `HOME`. Ignores relative paths.
fn login_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(directory.join("haft").join("login.toml"))
}

/// Returns the language of the terminal, from `LC_ALL`, `LC_MESSAGES` or `LANG`.
pub(crate) fn terminal_locale() -> Locale {
    #[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set);
    named.and_then(|tag| Locale::from_tag(&tag)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    /// The flags without a key in the file, which `haft help settings` lists.
    const WITHOUT_KEY: [&str; 3] = ["config", "lang", "master_key"];

    #[test]
    fn keys_of_the_file_are_the_flags_but_for_the_exceptions_that_the_help_names() {
        let error = toml::from_str::<File>("unknown = 1").err().expect("refused").to_string();
        let (_, known) = error.split_once("expected one of ").expect("a list of keys");
        let mut keys: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let definition = Cli::definition();
        let settings = definition.find_subcommand("settings").expect("a command");
        let flags = settings.get_arguments().map(|flag| flag.get_id().as_str());
        let mut expected: Vec<&str> = flags.filter(|flag| !WITHOUT_KEY.contains(flag)).collect();
        expected.extend(["default_provider", "default_model"]);
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected);
    }
}
