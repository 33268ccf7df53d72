//! Alerts: compare a metric with a threshold, and track the transitions from calm to firing and back.
//!
//! Nothing here measures metrics or sends notifications.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::AlertId;
use crate::mask::MASKED;
use crate::{SpaceId, ToolId, UserId};

/// Below this limit, JSON readers represent every integer exactly.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The definition of an alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertSpec {
    /// For display; not unique.
    #[serde(default)]
    pub name: Option<String>,
    pub metric: Metric,
    /// `None` stands for the whole space.
    #[serde(default)]
    pub tool: Option<ToolId>,
    /// The alert fires when the value is greater than this …
    pub above: f64,
    /// … at every check for this many seconds.
    #[serde(default)]
    pub for_seconds: u32,
    /// The URL that is notified. Its path and query may contain a credential.
    #[serde(default)]
    pub webhook: Option<String>,
}

/// The measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Metric {
    /// The share of calls that failed, from 0 to 1.
    ErrorRate,
    /// The 95th percentile of call durations, in milliseconds.
    P95,
    /// The number of open circuits.
    CircuitOpen,
    /// The number of waiting runs.
    QueueDepth,
    /// The number of runs that were given up.
    DeadLetters,
}

/// An alert of a space with its evaluation state.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    pub id: AlertId,
    pub space_id: SpaceId,
    /// The user who created it.
    pub owner_id: Option<UserId>,
    pub spec: AlertSpec,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub standing: AlertEvaluation,
}

/// The evaluation state of an alert.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlertEvaluation {
    /// Incremented by every transition. Used for optimistic locking: of concurrent transitions only the first
    /// is stored.
    pub step: u64,
    /// Number of times the alert fired or resolved: odd while it fires.
    pub turns: u64,
    /// The last of these for which a notification was claimed.
    pub told: u64,
    pub above_since: Option<Timestamp>,
    /// When any process last measured a value above the threshold. Used if each process measures a different
    /// value.
    pub seen_above_at: Option<Timestamp>,
    /// The value at the last change of state.
    pub value: Option<f64>,
    pub fired_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    /// Why the webhook could not be notified; `None` if it was.
    pub webhook_error: Option<String>,
}

/// The state of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AlertState {
    #[serde(rename = "ok")]
    Calm,
    /// Above the threshold, but not for long enough.
    Pending,
    Firing,
}

/// A transition between states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertTransition {
    /// Rose above the threshold, but not for long enough.
    Rise,
    /// Still above the threshold, as measured by this process only.
    Hold,
    /// Fell below the threshold before the alert fired.
    Fall,
    Fire,
    Resolve,
}

impl Metric {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ErrorRate => "errorRate",
            Self::P95 => "p95",
            Self::CircuitOpen => "circuitOpen",
            Self::QueueDepth => "queueDepth",
            Self::DeadLetters => "deadLetters",
        }
    }

    /// Returns true if each process measures its own value.
    pub fn is_of_one_process(self) -> bool {
        match self {
            Self::CircuitOpen => true,
            Self::ErrorRate | Self::P95 | Self::QueueDepth | Self::DeadLetters => false,
        }
    }
}

impl AlertSpec {
    /// Returns the name, or the metric if the alert has no name.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.metric.as_str())
    }

    /// Returns true if both alerts have the same condition, so that one measurement serves both.
    pub fn has_same_condition(&self, other: &Self) -> bool {
        self.metric == other.metric && self.tool == other.tool && self.above == other.above
    }

    /// Returns the webhook's origin, with the path and query masked.
    pub fn masked_webhook(&self) -> Option<String> {
        let webhook = self.webhook.as_deref()?;
        let host = webhook.find("://").map_or(0, |at| at + 3);
        let end = webhook.get(host..).and_then(|rest| rest.find(['/', '?', '#']));
        let (origin, rest) = webhook.split_at(end.map_or(webhook.len(), |end| host + end));
        Some(if matches!(rest, "" | "/") { webhook.to_owned() } else { format!("{origin}/{MASKED}") })
    }
}

impl Alert {
    pub fn is_firing(&self) -> bool {
        self.standing.turns % 2 == 1
    }

    pub fn state(&self) -> AlertState {
        if self.is_firing() {
            AlertState::Firing
        } else if self.standing.above_since.is_some() {
            AlertState::Pending
        } else {
            AlertState::Calm
        }
    }

    /// Returns when the current state began. Returns `None` if there was never another one.
    pub fn since(&self) -> Option<Timestamp> {
        match self.state() {
            AlertState::Calm => self.standing.resolved_at,
            AlertState::Pending => self.standing.above_since,
            AlertState::Firing => self.standing.fired_at,
        }
    }

    /// Returns true if the state differs from the last notification.
    pub fn needs_notification(&self) -> bool {
        self.standing.turns.saturating_sub(self.standing.told) % 2 == 1
    }

    /// Returns the transition for a measured value, if there is one. A missing value counts as not above. If
    /// other processes measure other values, theirs count for `patience`; otherwise `patience` is zero.
    pub fn next_step(
        &self,
        value: Option<f64>,
        now: Timestamp,
        patience: SignedDuration,
    ) -> Option<AlertTransition> {
        let AlertEvaluation { above_since, seen_above_at, .. } = &self.standing;
        let has_others = patience > SignedDuration::ZERO;
        let seen_before = seen_above_at.map(|seen| now.duration_since(seen));
        if value.is_some_and(|value| value > self.spec.above) {
            let least = SignedDuration::from_secs(i64::from(self.spec.for_seconds));
            let is_due = now.duration_since(above_since.unwrap_or(now)) >= least;
            let holds = has_others && seen_before.is_none_or(|ago| ago >= patience / 3);
            return match self.state() {
                AlertState::Calm | AlertState::Pending if is_due => Some(AlertTransition::Fire),
                AlertState::Calm => Some(AlertTransition::Rise),
                AlertState::Pending | AlertState::Firing => holds.then_some(AlertTransition::Hold),
            };
        }
        if has_others && seen_before.is_some_and(|ago| ago < patience) {
            return None;
        }
        match self.state() {
            AlertState::Calm => None,
            AlertState::Pending => Some(AlertTransition::Fall),
            AlertState::Firing => Some(AlertTransition::Resolve),
        }
    }

    /// Returns the alert after a transition.
    #[must_use]
    pub fn apply(&self, step: AlertTransition, value: Option<f64>, at: Timestamp) -> Self {
        let mut after = self.clone();
        let standing = &mut after.standing;
        standing.step += 1;
        match step {
            AlertTransition::Rise | AlertTransition::Hold | AlertTransition::Fire => {
                standing.above_since.get_or_insert(at);
                standing.seen_above_at = Some(at);
            }
            AlertTransition::Fall | AlertTransition::Resolve => {
                standing.above_since = None;
                standing.seen_above_at = None;
            }
        }
        match step {
            AlertTransition::Fire => {
                standing.turns += 1;
                standing.fired_at = Some(at);
            }
            AlertTransition::Resolve => {
                standing.turns += 1;
                standing.resolved_at = Some(at);
            }
            AlertTransition::Rise | AlertTransition::Hold | AlertTransition::Fall => {}
        }
        if step != AlertTransition::Hold {
            standing.value = value;
        }
        after
    }
}

/// Returns a number as JSON; integers are written without a fraction.
pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ALONE: SignedDuration = SignedDuration::ZERO;
    const WITH_OTHERS: SignedDuration = SignedDuration::from_secs(15);

    fn seconds_at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("an instant")
    }

    /// Fires above 10, after this many seconds.
    fn alert(for_seconds: u32) -> Alert {
        let spec = AlertSpec {
            name: None,
            metric: Metric::P95,
            tool: None,
            above: 10.0,
            for_seconds,
            webhook: None,
        };
        Alert {
            id: AlertId::from(Uuid::nil()),
            space_id: SpaceId::from(Uuid::nil()),
            owner_id: None,
            spec,
            version: 1,
            created_at: seconds_at(0),
            updated_at: seconds_at(0),
            standing: AlertEvaluation::default(),
        }
    }

    /// The transitions for a sequence of values, one value per second.
    fn steps(mut alert: Alert, values: &[Option<f64>]) -> (Vec<Option<AlertTransition>>, Alert) {
        let mut steps = Vec::new();
        for (second, value) in values.iter().enumerate() {
            let now = seconds_at(i64::try_from(second).expect("few"));
            let step = alert.next_step(*value, now, ALONE);
            if let Some(step) = step {
                alert = alert.apply(step, *value, now);
            }
            steps.push(step);
        }
        (steps, alert)
    }

    #[test]
    fn it_fires_once_and_resolves_once() {
        let (steps, alert) =
            steps(alert(0), &[None, Some(10.0), Some(11.0), Some(12.0), Some(10.0), None, Some(20.0)]);
        use AlertTransition::{Fire, Resolve};
        assert_eq!(steps, [None, None, Some(Fire), None, Some(Resolve), None, Some(Fire)]);
        assert_eq!((alert.standing.turns, alert.state()), (3, AlertState::Firing));
        assert_eq!((alert.since(), alert.standing.resolved_at), (Some(seconds_at(6)), Some(seconds_at(4))));
        assert_eq!(alert.standing.value, Some(20.0));
    }

    #[test]
    fn it_waits_for_its_duration_and_starts_over_when_the_value_falls() {
        let high = Some(11.0);
        let (seen, fired) = steps(alert(2), &[high, high, None, high, high, high]);
        use AlertTransition::{Fall, Fire, Rise};
        assert_eq!(seen, [Some(Rise), None, Some(Fall), Some(Rise), None, Some(Fire)]);
        assert_eq!(fired.since(), Some(seconds_at(5)));
        let (_, pending) = steps(alert(2), &[high]);
        assert_eq!((pending.state(), pending.since()), (AlertState::Pending, Some(seconds_at(0))));
        let (_, calm) = steps(alert(2), &[high, None]);
        assert_eq!((calm.state(), calm.since(), calm.standing.turns), (AlertState::Calm, None, 0));
    }

    #[test]
    fn a_value_measured_by_another_process_counts_for_a_while() {
        let fired = alert(0).apply(AlertTransition::Fire, Some(11.0), seconds_at(0));
        assert_eq!(fired.next_step(Some(0.0), seconds_at(14), WITH_OTHERS), None, "another may still see it");
        assert_eq!(fired.next_step(Some(0.0), seconds_at(15), WITH_OTHERS), Some(AlertTransition::Resolve));
        assert_eq!(fired.next_step(Some(0.0), seconds_at(1), ALONE), Some(AlertTransition::Resolve));
        assert_eq!(fired.next_step(Some(11.0), seconds_at(4), WITH_OTHERS), None);
        assert_eq!(fired.next_step(Some(11.0), seconds_at(5), WITH_OTHERS), Some(AlertTransition::Hold));
        assert_eq!(fired.next_step(Some(11.0), seconds_at(5), ALONE), None);
        let held = fired.apply(AlertTransition::Hold, Some(12.0), seconds_at(5));
        assert_eq!(held.next_step(Some(0.0), seconds_at(19), WITH_OTHERS), None);
        assert_eq!((held.standing.value, held.since()), (Some(11.0), Some(seconds_at(0))));
    }

    #[test]
    fn the_last_notified_state_is_not_notified_again() {
        let mut alert = alert(0).apply(AlertTransition::Fire, None, seconds_at(0));
        assert!(alert.needs_notification());
        alert.standing.told = 1;
        assert!(!alert.needs_notification());
        alert = alert.apply(AlertTransition::Resolve, None, seconds_at(1));
        assert!(alert.needs_notification());
        alert = alert.apply(AlertTransition::Fire, None, seconds_at(2));
        assert!(!alert.needs_notification(), "the firing state was notified already");
    }

    #[test]
    fn a_masked_webhook_shows_its_origin() {
        let masked = |webhook: &str| {
            let spec = AlertSpec { webhook: Some(webhook.to_owned()), ..alert(0).spec };
            spec.masked_webhook().expect("a webhook")
        };
        for (webhook, shown) in [
            ("https://hooks.example.com/services/T0/B0/key", "https://hooks.example.com/***"),
            ("http://127.0.0.1:9000/?key=1", "http://127.0.0.1:9000/***"),
            ("http://[::1]:9000?key=1", "http://[::1]:9000/***"),
            ("https://hooks.example.com/", "https://hooks.example.com/"),
        ] {
            assert_eq!(masked(webhook), shown);
        }
        assert_eq!(alert(0).spec.masked_webhook(), None);
    }

    #[test]
    fn metrics_have_one_word_each_and_numbers_no_needless_fraction() {
        for metric in
            [Metric::ErrorRate, Metric::P95, Metric::CircuitOpen, Metric::QueueDepth, Metric::DeadLetters]
        {
            assert_eq!(json!(metric), metric.as_str());
        }
        assert_eq!([number(5.0), number(0.25), number(-0.0)], [json!(5), json!(0.25), json!(0)]);
        assert_eq!(number(1e300), json!(1e300));
    }
}
