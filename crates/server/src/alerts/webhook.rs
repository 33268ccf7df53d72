//! Tells webhooks that an alert fired or resolved: through the egress guard, a few times over if need be.
//!
//! Addresses are as hostile as a tool's. No message and no log line shows more of one than its host.

use std::collections::HashMap;
use std::time::Duration;

use axum::http::header::USER_AGENT;
use axum::http::{HeaderName, HeaderValue, Method};
use haft_core::alert::{Alert, number};
use haft_core::id::AlertId;
use haft_core::timestamp::rfc3339;
use haft_core::{CallError, ErrorKind, Locale, Message, SpaceId};
use haft_egress::{Hosts, Limits, Request, RequestPolicy, ToolPolicy};
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::app::App;

haft_core::templates! {
    REFUSED = "alerts.webhookRefused",
        "{host} answered {status}",
        "{host} 返回 {status}";
    REDIRECTED = "alerts.webhookRedirected",
        "{host} redirects to another address. Use that address as the webhook.",
        "{host} 将消息转到其他地址；请直接填写该地址";
    UNREADABLE = "alerts.webhookUnreadable",
        "The webhook is not a valid URL.",
        "webhook 不是有效的地址";
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const AGENT: HeaderValue = HeaderValue::from_static("Haft");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// One attempt may take so long, and its answer be so large, though nobody reads it.
const ATTEMPT: Duration = Duration::from_secs(10);
const LARGEST: usize = 1 << 20;

/// The pauses between attempts, of which there is one more.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// However long a receiver wants us to wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// So many are sent at a time; the others wait for the next turn.
const AT_ONCE: usize = 32;

/// Those under way may take so long after a stop was asked for.
const LAST: Duration = Duration::from_secs(5);

/// The messages that are under way, at most one about each alert, so that they arrive in their order.
#[derive(Default)]
pub(super) struct Messages {
    sending: JoinSet<()>,
    about: HashMap<AlertId, AbortHandle>,
}

impl Messages {
    /// Tells how an alert stands, if nobody has. What cannot be told yet is told at a later turn; when it
    /// has changed back by then, there is nothing to tell.
    pub(super) async fn tell(&mut self, app: &App, alert: &Alert) -> Result<(), CallError> {
        if alert.standing.told == alert.standing.turns {
            return Ok(());
        }
        while self.sending.try_join_next().is_some() {}
        self.about.retain(|_, task| !task.is_finished());
        if self.about.contains_key(&alert.id) || self.about.len() >= AT_ONCE {
            return Ok(());
        }
        // From here on nobody else tells it, whatever becomes of us.
        if !app.store.claim_notification(alert.space_id, alert).await? {
            return Ok(());
        }
        if let Some(webhook) = alert.spec.webhook.clone().filter(|_| alert.needs_notification()) {
            let task = self.sending.spawn(deliver(app.clone(), alert.clone(), webhook));
            self.about.insert(alert.id, task);
        }
        Ok(())
    }

    /// Waits for those under way, but not for long.
    pub(super) async fn finish(mut self) {
        let sent = async { while self.sending.join_next().await.is_some() {} };
        if timeout(LAST, sent).await.is_err() {
            tracing::warn!("Webhooks of an alert did not respond in time");
        }
    }
}

/// Sends a message, and notes on the alert what came of it.
async fn deliver(app: App, alert: Alert, webhook: String) {
    let sent = send(&app, &alert, &webhook).await;
    if let Err(error) = &sent {
        let (id, space) = (alert.id, alert.space_id);
        tracing::warn!(%error, alert.id = %id, space.id = %space, "The webhook of an alert could not be called");
    }
    let words = sent.err().map(|error| error.message().render(Locale::En));
    let noted = app.store.record_notification(alert.space_id, alert.id, alert.standing.turns, words).await;
    if let Err(error) = noted {
        tracing::warn!(%error, alert.id = %alert.id, "The result of a webhook could not be stored");
    }
}

async fn send(app: &App, alert: &Alert, webhook: &str) -> Result<(), CallError> {
    let unreadable = || CallError::new(ErrorKind::Validation, Message::new(&UNREADABLE));
    let url = Url::parse(webhook).map_err(|_| unreadable())?;
    let mut request = Request::new(Method::POST, &url)?;
    // The same in every attempt, and another for every turn.
    let key = format!("{}-{}", alert.id, alert.standing.turns);
    request.headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_str(&key).map_err(|_| unreadable())?);
    request.headers.insert(USER_AGENT, AGENT);
    request.content_type = Some(JSON);
    request.body = message(app, alert).to_string().into();
    let policy = ToolPolicy::new(&url, Hosts::default());
    let mut pauses = PAUSES.into_iter();
    loop {
        let Err(error) = attempt(app, alert.space_id, &policy, request.clone()).await else { return Ok(()) };
        let Some(pause) = pauses.next().filter(|_| error.is_retryable()) else { return Err(error) };
        sleep(error.requested_pause().map_or(pause, |asked| asked.max(pause)).min(LONGEST_PAUSE)).await;
    }
}

async fn attempt(app: &App, space: SpaceId, policy: &ToolPolicy, request: Request) -> Result<(), CallError> {
    let limits = Limits { deadline: Some(Instant::now() + ATTEMPT), bytes: LARGEST };
    let answer = app.egress.send(RequestPolicy::Tool(space, policy), request, limits).await?;
    let say = |template| Message::new(template).with("host", answer.from.host_str());
    // Most redirects leave the message behind, so that nobody got it.
    if answer.was_redirected {
        return Err(CallError::new(ErrorKind::Execution, say(&REDIRECTED)));
    }
    answer.failure(|_| say(&REFUSED).with("status", answer.status)).map_or(Ok(()), Err)
}

/// What is sent.
fn message(app: &App, alert: &Alert) -> Value {
    let (spec, standing) = (&alert.spec, &alert.standing);
    let (kind, at) = if alert.is_firing() {
        ("alert.fired", standing.fired_at)
    } else {
        ("alert.resolved", standing.resolved_at)
    };
    let base = app.settings.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
    json!({
        "type": kind,
        "alert": {
            "id": alert.id,
            "name": spec.name,
            "metric": spec.metric,
            "tool": spec.tool,
            "toolName": app.tool_name(alert),
            "above": number(spec.above),
            "forSeconds": spec.for_seconds,
        },
        "spaceId": alert.space_id,
        "value": standing.value.map(number),
        "at": at.map(rfc3339),
        "url": base.map(|base| format!("{base}/api/alerts/{}", alert.id)),
    })
}
