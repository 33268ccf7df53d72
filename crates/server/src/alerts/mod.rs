//! Watches over all alerts: each is held against what it measures, and fires or resolves, once each however
//! many processes watch.
//!
//! Values come from `measure`, messages go out by `webhook`; what people say of alerts is in the routes.

mod measure;
mod webhook;

use std::time::Duration;

use haft_core::alert::{Alert, AlertTransition};
use haft_core::{CallError, ErrorKind};
use haft_engine::now;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use self::measure::Values;
use self::webhook::Messages;
use crate::app::App;

pub(crate) use self::webhook::TEMPLATES;

/// So often each alert is looked at, unless the operator says otherwise.
const INTERVAL: Duration = Duration::from_secs(5);

/// What another process saw holds for so many of its turns: it may be late, but not for long.
const TURNS_OF_OTHERS: u32 = 3;

/// Watches until told to stop; then messages that are under way may still arrive.
pub(crate) async fn watch(app: App, stop: CancellationToken) {
    let interval = app.settings.alert_interval.unwrap_or(INTERVAL);
    let turns = if app.store.is_shared() { TURNS_OF_OTHERS } else { 0 };
    let of_others = SignedDuration::try_from(interval.saturating_mul(turns)).unwrap_or(SignedDuration::MAX);
    let mut watch = Watch { app, of_others, messages: Messages::default() };
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = stop.cancelled() => break,
        }
        if let Err(error) = watch.turn(&stop).await {
            tracing::warn!(%error, "Alerts cannot be evaluated; retrying");
        }
    }
    watch.messages.finish().await;
}

struct Watch {
    app: App,
    /// How long the word of other processes holds; zero where there are none.
    of_others: SignedDuration,
    messages: Messages,
}

impl Watch {
    /// Looks at every alert once. One that cannot be looked at does not keep the others from it.
    async fn turn(&mut self, stop: &CancellationToken) -> Result<(), CallError> {
        let alerts = self.app.store.list_all_alerts().await?;
        let mut values = Values::default();
        for alert in alerts {
            if stop.is_cancelled() {
                return Ok(());
            }
            match self.look_at(&alert, &mut values).await {
                Ok(()) => {}
                // Whatever else there is could not be stored either.
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, alert.id = %alert.id, "An alert cannot be evaluated");
                }
            }
        }
        Ok(())
    }

    async fn look_at(&mut self, alert: &Alert, values: &mut Values) -> Result<(), CallError> {
        // A process that ended in between may have told nobody.
        self.messages.tell(&self.app, alert).await?;
        let Some(value) = values.of(&self.app, alert).await else { return Ok(()) };
        let of_others =
            if alert.spec.metric.is_of_one_process() { self.of_others } else { SignedDuration::ZERO };
        let now = now();
        let Some(step) = alert.next_step(value, now, of_others) else { return Ok(()) };
        let stepped = self.app.store.step_alert(alert.space_id, alert, step, value, now).await?;
        let Some(alert) = stepped else { return Ok(()) };
        let became = match step {
            AlertTransition::Fire => "fires",
            AlertTransition::Resolve => "is resolved",
            AlertTransition::Rise | AlertTransition::Hold | AlertTransition::Fall => return Ok(()),
        };
        let title = alert.spec.title();
        tracing::info!(alert.id = %alert.id, space.id = %alert.space_id, value, "Alert `{title}` {became}");
        self.messages.tell(&self.app, &alert).await
    }
}

impl App {
    /// What the tool of an alert is called, as far as its space is in use here and still has it.
    pub(crate) fn tool_name(&self, alert: &Alert) -> Option<String> {
        let tool = alert.spec.tool.as_ref()?.to_string();
        self.tools.in_space(alert.space_id).get(&tool).map(|tool| tool.spec.name.to_string())
    }
}
