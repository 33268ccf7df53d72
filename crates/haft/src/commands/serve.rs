//! `haft serve`

use std::fmt;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

use haft_core::duration::Unit;
use haft_core::user::Scope;
use haft_core::{CallError, Message};
use haft_engine::Supervisor;
use haft_store::Store;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;

use crate::assembly::{Assembly, GRACE, stop_on_signal};
use crate::cli::ServeArgs;
use crate::cli_error::{OrFail as _, failure};
use crate::config::Config;
use crate::first_start::{Admin, Samples};
use crate::log_writer::LogWriter;
use crate::maintenance::LOGIN_LINK_LIFETIME;
use crate::storage::with_cause;
use crate::{config, first_start, log, messages, upgrade};

const DEFAULT_PORT: u16 = 7420;

/// The minimum length of the token that the operator chooses, in characters.
const MIN_ADMIN_TOKEN: usize = 16;

/// The allowed intervals between checks of alerts.
const ALERT_INTERVALS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

pub(crate) async fn run(args: ServeArgs, config: Config) -> anyhow::Result<ExitCode> {
    let format = args.log_format.or(config.log_format).unwrap_or_default();
    let supervisor = config::supervisor()?;
    let log = log::log_of_server(config.log.as_deref().unwrap_or("info"), format, &supervisor)?;
    let locale = config.locale;
    let ended = serve(args, config, supervisor, &log).await;
    Ok(log.finish(ended, format, locale))
}

async fn serve(
    args: ServeArgs,
    config: Config,
    supervisor: Supervisor,
    process_log: &LogWriter,
) -> anyhow::Result<ExitCode> {
    config::raise_limit_on_open_files();
    let connections = args.connections.settings(&config.connections)?;
    let addr =
        args.addr.or(config.addr).unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)));
    let alert_interval = args.alert_interval.or(config.alert_interval);
    let alert_interval = alert_interval
        .map(|interval| interval.within("alert_interval", Unit::Milliseconds, ALERT_INTERVALS))
        .transpose()?;
    let retention = config.retention()?;
    // Checks the trace settings before anything is created.
    config::traces()?;
    let locale = config.locale;
    let to_error = |error: CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
    let admin_token =
        args.admin_token.or_else(|| config.admin_token.clone()).filter(|token| !token.is_empty());
    if let Some(token) = &admin_token {
        check_admin_token(token)?;
    }
    let admin_token = admin_token.map(SecretString::from);
    let store = config.storage.open_supervised(locale, supervisor.clone()).await?;
    let log = config.storage.open_log(locale).await?;
    // Without a token and a password, the printed link is the only way to sign in.
    let needs_link = admin_token.is_none() && !store.has_admin_password().await.map_err(to_error)?;
    if needs_link && !addr.ip().is_loopback() {
        return Err(failure(Message::new(&messages::REACHABLE).with("addr", addr)));
    }
    // An operator with a token has a setup; a first start without one gets samples to try.
    let samples = if admin_token.is_none() { Samples::Yes } else { Samples::No };
    let admin = first_start::admin(&store, samples).await.map_err(to_error)?;
    first_start::set_admin_token(&store, &admin, admin_token.as_ref()).await.map_err(to_error)?;
    let base = config.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
    let dropped = process_log.dropped();
    let assembly = Assembly::build(config, (store, log), admin.space, alert_interval, dropped).await?;
    let listener = TcpListener::bind(addr).await;
    let listener = listener.or_fail(|| Message::new(&messages::CANNOT_LISTEN).with("addr", addr))?;
    let addr = listener.local_addr()?;
    assembly.egress.never_dial(addr);
    assembly.artifacts.listens_at(addr);
    assembly.callbacks.listens_at(addr);
    let app = &assembly.app;
    let stop = app.stopping();
    stop_on_signal(&supervisor, stop.clone())?;
    let following = app.clone().follow(assembly.revision, stop.clone());
    let cleaning_up = haft_server::keep_up(&supervisor, assembly.log.clone(), retention, stop.clone());
    let alerting = app.clone().watch_alerts(stop.clone());
    let working = supervisor.run("run worker", &stop, || assembly.runs.work(stop.clone(), GRACE));
    let watching = upgrade::watch(assembly.store.clone(), stop.clone());

    if needs_link {
        print_credentials(&assembly.store, &admin, &base.unwrap_or_else(|| format!("http://{addr}")))
            .await
            .map_err(to_error)?;
    }
    print_line(format_args!("listening on http://{addr}"));
    let serving = async {
        haft_server::serve(listener, app.clone(), connections, stop.clone(), GRACE).await;
        stop.cancel();
    };
    let (upgraded, (), (), (), (), ()) =
        tokio::join!(watching, serving, following, cleaning_up, alerting, working);
    let code = assembly.close().await;
    upgraded.map_err(to_error)?;
    Ok(code)
}

/// Refuses a short token, since it could be guessed and gives access to everything.
fn check_admin_token(token: &str) -> anyhow::Result<()> {
    let length = token.chars().count();
    if length < MIN_ADMIN_TOKEN {
        let message = Message::new(&messages::SHORT_ADMIN_TOKEN).with("length", length);
        return Err(failure(message.with("least", MIN_ADMIN_TOKEN)));
    }
    Ok(())
}

/// Prints a line to standard output. Errors are ignored: the server does not depend on its reader.
fn print_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a one-time login link at every start until the admin has a password; at the first also a token.
async fn print_credentials(store: &Store, admin: &Admin, base: &str) -> Result<(), CallError> {
    let link = store.create_login_link(admin.user.id, LOGIN_LINK_LIFETIME).await?;
    print_line(format_args!("console: {base}/login?link={}  (once, within an hour)", link.expose_secret()));
    if admin.is_new {
        let (_, token) = store.create_token(admin.space, admin.user.id, "first", Scope::Admin, None).await?;
        print_line(format_args!("token: {}", token.expose_secret()));
        print_line(format_args!(
            "try: curl -H 'Authorization: Bearer {}' {base}/api/tools",
            token.expose_secret()
        ));
    }
    Ok(())
}
