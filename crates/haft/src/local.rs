//! What an operator does on the data itself, with no server in between: a way back in, a new key.

use std::process::ExitCode;
use std::time::Duration;

use haft_core::Message;
use haft_store::MasterKeys;
use secrecy::ExposeSecret;

use crate::config::Config;
use crate::door::DEFAULT_URL;
use crate::first::{self, Samples};
use crate::messages;
use crate::refusal::{OrFail as _, failure};
use crate::storage::told;

/// A link to come in by holds for so long.
pub(crate) const LINK: Duration = Duration::from_secs(3600);

/// Prints a link that lets the admin in once. On SQLite the server has to be stopped first.
pub(crate) async fn reset_admin(config: &Config) -> anyhow::Result<ExitCode> {
    let store = config.storage.open(config.locale).await?;
    let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, config.locale));
    let admin = first::admin(&store, Samples::No).await.map_err(said)?;
    let link = store.create_login_link(admin.user.id, LINK).await.map_err(said)?;
    store.close().await;
    let base = config.public_url.as_ref().map_or(DEFAULT_URL, |url| url.as_str()).trim_end_matches('/');
    let message = Message::new(&messages::SIGN_IN).with("name", &admin.user.name).with("base", base);
    println!("{}", message.with("link", link.expose_secret()).render(config.locale));
    Ok(ExitCode::SUCCESS)
}

/// Makes a new key for secrets and encrypts all of them under it.
pub(crate) async fn rotate_key(config: &Config) -> anyhow::Result<ExitCode> {
    let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, config.locale));
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
        // Only now, since a try that is refused leaves the file as it is. The old key stays in it, so that
        // an interrupted change goes on the next time.
        store.close().await;
        drop(store);
        MasterKeys::add_to_file(&file).map_err(said).or_fail(|| Message::new(&messages::KEY_NOT_KEPT))?;
        store = config.storage.open(config.locale).await?;
    }
    let changed = store.rotate_keys().await.map_err(said)?;
    store.close().await;
    println!("{}", Message::new(&messages::KEY_CHANGED).with("count", changed).render(config.locale));
    Ok(ExitCode::SUCCESS)
}
