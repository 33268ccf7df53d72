//! `haft serve`

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use haft_core::ErrorKind;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::ServeArgs;
use crate::config::Config;
use crate::door::new_token;
use crate::{engine, exit};

const DEFAULT_PORT: u16 = 7420;

/// Requests under way may take so long after a stop was asked for.
const GRACE: Duration = Duration::from_secs(10);

/// And so long the last records may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(5);

pub(crate) async fn run(args: ServeArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("info"))?;
    let addr =
        args.addr.or(config.addr).unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)));
    let egress = config.egress()?;
    let given = args.admin_token.or(config.admin_token).filter(|token| !token.is_empty());
    if given.is_none() && !addr.ip().is_loopback() {
        bail!("{addr} can be reached from outside: set HAFT_ADMIN_TOKEN first, or listen on 127.0.0.1");
    }
    let fresh = given.is_none();
    let token = match given {
        Some(token) => SecretString::from(token),
        None => new_token()?,
    };
    let tools = engine::for_server(egress.clone(), config.secrets.clone(), config.search);
    let settings = haft_server::Settings {
        token: token.clone(),
        egress: egress.clone(),
        secrets: Arc::new(config.secrets),
    };
    let router = haft_server::router(tools.clone(), settings);
    let listener = TcpListener::bind(addr).await.with_context(|| format!("cannot listen on {addr}"))?;
    let addr = listener.local_addr()?;
    egress.never_dial(addr);
    let stop = stop_on_signal()?;

    if fresh {
        let token = token.expose_secret();
        println!("token for this run: {token}");
        println!("try: curl -H 'Authorization: Bearer {token}' http://{addr}/api/tools");
    }
    println!("listening on http://{addr}");
    haft_server::serve(listener, router, stop, GRACE).await?;
    // Whatever is still under way is cancelled now, and leaves its record like any other call.
    tools.stop();
    if tokio::time::timeout(LAST_WRITES, tools.close()).await.is_err() {
        tracing::error!("The last records of calls could not be written in time");
        return Ok(exit::FAILURE.into());
    }
    tracing::info!("Stopped");
    Ok(ExitCode::SUCCESS)
}

/// Cancelled by the first SIGTERM or SIGINT; the second ends the process at once.
fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let asked = stop.clone();
    #[expect(clippy::disallowed_methods, reason = "it ends with the process")]
    tokio::spawn(async move {
        let mut signalled = async || {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
        };
        signalled().await;
        tracing::info!("Stopping: no new connections, finishing what is under way");
        asked.cancel();
        signalled().await;
        std::process::exit(exit::code(ErrorKind::Cancelled).into());
    });
    Ok(stop)
}
