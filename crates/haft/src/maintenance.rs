//! Maintenance of the data directory without a server: resets the admin's login, rotates the master key.

use std::process::ExitCode;
use std::time::Duration;

use haft_core::Message;
use haft_store::MasterKeys;
use secrecy::ExposeSecret;

use crate::cli_error::{OrFail as _, failure};
use crate::client::DEFAULT_URL;
use crate::config::Config;
use crate::first_start::{self, Samples};
use crate::messages;
use crate::storage::with_cause;

/// The time for which a login link is valid.
pub(crate) const LOGIN_LINK_LIFETIME: Duration = Duration::from_secs(3600);

/// Prints a one-time link that signs in the admin. With SQLite the server has to be stopped first.
pub(crate) async fn reset_admin(config: &Config) -> anyhow::Result<ExitCode> {
    let store = config.storage.open(config.locale).await?;
    let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, config.locale));
    let admin = first_start::admin(&store, Samples::No).await.map_err(to_error)?;
    let link = store.create_login_link(admin.user.id, LOGIN_LINK_LIFETIME).await.map_err(to_error)?;
    store.close().await;
    let base = config.public_url.as_ref().map_or(DEFAULT_URL, |url| url.as_str()).trim_end_matches('/');
    let message = Message::new(&messages::SIGN_IN).with("name", &admin.user.name).with("base", base);
    println!("{}", message.with("link", link.expose_secret()).render(config.locale));
    Ok(ExitCode::SUCCESS)
}

/// Creates a new master key and encrypts all secrets with it.
pub(crate) async fn rotate_key(config: &Config) -> anyhow::Result<ExitCode> {
    let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, config.locale));
    let file = config.storage.key_file()?;
    if file.is_none() {
        let Some(keys) = &config.storage.master_key else {
            return Err(failure(Message::new(&messages::NO_KEY)));
        };
        if !keys.expose_secret().contains(',') {
            return Err(failure(Message::new(&messages::NO_NEW_KEY)));
        }
    }
    let mut store = config.storage.open(config.locale).await?;
    if let Some(file) = file {
        // Only after the store could be opened, so that a refused command does not change the file. The old
        // key stays in the file, so that an interrupted rotation can be repeated.
        store.close().await;
        drop(store);
        MasterKeys::add_to_file(&file)
            .map_err(to_error)
            .or_fail(|| Message::new(&messages::KEY_NOT_SAVED))?;
        store = config.storage.open(config.locale).await?;
    }
    let changed = store.rotate_keys().await.map_err(to_error)?;
    store.close().await;
    println!("{}", Message::new(&messages::KEY_CHANGED).with("count", changed).render(config.locale));
    Ok(ExitCode::SUCCESS)
}
