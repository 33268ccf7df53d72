//! Listening: one listener, no delay for small answers, and a stop that lets calls finish.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::{ListenerExt, TapIo};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::impatient::{Impatient, ImpatientListener};

/// Serves until `stop` is cancelled, then takes no more connections and gives
/// requests under way the grace time to finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    grace: Duration,
) -> std::io::Result<()> {
    let server =
        axum::serve(without_delay(listener), router.into_make_service_with_connect_info::<SocketAddr>())
            .with_graceful_shutdown(stop.clone().cancelled_owned());
    let out_of_time = async {
        stop.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        ended = async { server.await } => ended,
        () = out_of_time => {
            tracing::warn!(grace = ?grace, "Requests were still under way when the grace time ended");
            Ok(())
        }
    }
}

/// Small answers leave at once: otherwise each one waits 40 ms for company.
fn without_delay(
    listener: TcpListener,
) -> TapIo<ImpatientListener, impl FnMut(&mut Impatient<TcpStream>) + Send + 'static> {
    ImpatientListener(listener).tap_io(|connection| {
        if let Err(error) = connection.stream().set_nodelay(true) {
            tracing::debug!(%error, "A connection does not take TCP_NODELAY");
        }
    })
}

#[cfg(test)]
mod tests {
    use axum::serve::Listener as _;

    use super::*;

    #[tokio::test]
    async fn connections_do_not_hold_small_answers_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut listener = without_delay(listener);
        let (accepted, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        client.expect("connected");
        assert!(accepted.0.stream().nodelay().expect("an option"));
    }
}
