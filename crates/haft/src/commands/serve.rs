//! `haft serve`

use std::fmt;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use haft_core::CallError;
use haft_core::user::Scope;
use haft_store::Store;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;

use crate::assembly::{Assembly, GRACE, stop_on_signal};
use crate::cli::ServeArgs;
use crate::config::Config;
use crate::first::{Admin, Samples};
use crate::local::LINK;
use crate::log::LogFormat;
use crate::storage::told;
use crate::{config, exit, first, log};

const DEFAULT_PORT: u16 = 7420;

/// How often alerts may be looked at, in milliseconds.
const ALERT_INTERVALS: RangeInclusive<u64> = 100..=3_600_000;

pub(crate) async fn run(args: ServeArgs, config: Config) -> anyhow::Result<ExitCode> {
    let format = args.log_format.or(config.log_format).unwrap_or_default();
    log::to_stderr(config.log.as_deref().unwrap_or("info"), format)?;
    let ended = serve(args, config).await;
    match (ended, format) {
        // Whoever reads the log as JSON shall read in it, too, why there is no server.
        (Err(error), LogFormat::Json) => {
            tracing::error!(error = format!("{error:#}"), "The server cannot go on");
            Ok(exit::code_of(&error).into())
        }
        (ended, LogFormat::Json | LogFormat::Text) => ended,
    }
}

async fn serve(args: ServeArgs, config: Config) -> anyhow::Result<ExitCode> {
    let addr =
        args.addr.or(config.addr).unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)));
    let alert_interval = args.alert_interval.or(config.alert_interval);
    if let Some(interval) = alert_interval.filter(|interval| !ALERT_INTERVALS.contains(interval)) {
        let (least, most) = ALERT_INTERVALS.into_inner();
        bail!("alert_interval must be from {least} to {most} milliseconds, not {interval}");
    }
    let keep = config.retention()?;
    // What is wrong with it is said before anything is made.
    config::traces()?;
    let locale = config.locale;
    let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
    let chosen = args.admin_token.or_else(|| config.admin_token.clone()).filter(|token| !token.is_empty());
    let chosen = chosen.map(SecretString::from);
    let store = config.storage.open(locale).await?;
    let log = config.storage.open_log(locale).await?;
    // Without either, the terminal is the only way in.
    let needs_link = chosen.is_none() && !store.has_admin_password().await.map_err(said)?;
    if needs_link && !addr.ip().is_loopback() {
        bail!("{addr} can be reached from outside: set HAFT_ADMIN_TOKEN first, or listen on 127.0.0.1");
    }
    // Who brings a token knows what to do; who does not may want something to look at.
    let samples = if chosen.is_none() { Samples::Yes } else { Samples::No };
    let admin = first::admin(&store, samples).await.map_err(said)?;
    first::choose_token(&store, &admin, chosen.as_ref()).await.map_err(said)?;
    let base = config.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
    let interval = alert_interval.map(Duration::from_millis);
    let assembly = Assembly::put_together(config, (store, log), admin.space, interval).await?;
    let listener = TcpListener::bind(addr).await.with_context(|| format!("cannot listen on {addr}"))?;
    let addr = listener.local_addr()?;
    assembly.egress.never_dial(addr);
    assembly.artifacts.listens_at(addr);
    assembly.callbacks.listens_at(addr);
    let app = &assembly.app;
    let stop = app.stopping();
    stop_on_signal(stop.clone())?;
    let following = app.clone().follow(assembly.revision, stop.clone());
    let tidying = haft_server::keep_up(assembly.log.clone(), keep, stop.clone());
    let alerting = app.clone().watch_alerts(stop.clone());
    let working = assembly.runs.work(stop.clone(), GRACE);

    if needs_link {
        greet(&assembly.store, &admin, &base.unwrap_or_else(|| format!("http://{addr}")))
            .await
            .map_err(said)?;
    }
    tell(format_args!("listening on http://{addr}"));
    let serving = async {
        let served = haft_server::serve(listener, app.router(), stop.clone(), GRACE).await;
        stop.cancel();
        served
    };
    let (served, (), (), (), ()) = tokio::join!(serving, following, tidying, alerting, working);
    served?;
    Ok(assembly.take_apart().await)
}

/// A line for whoever started it. A server goes on when nobody reads that any more.
fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A way in for a person, at every start until there is a password; and one for a program, at the first.
async fn greet(store: &Store, admin: &Admin, base: &str) -> Result<(), CallError> {
    let link = store.create_login_link(admin.user.id, LINK).await?;
    tell(format_args!("console: {base}/login?link={}  (once, within an hour)", link.expose_secret()));
    if admin.is_new {
        let (_, token) = store.create_token(admin.space, admin.user.id, "first", Scope::Admin, None).await?;
        tell(format_args!("try: curl -H 'Authorization: Bearer {}' {base}/api/tools", token.expose_secret()));
    }
    Ok(())
}
