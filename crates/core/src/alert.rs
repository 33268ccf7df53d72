//! What an alert is: a metric held against a number, and its steps from calm to firing and back.
//!
//! Nothing here measures anything or tells anybody.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::AlertId;
use crate::mask::MASKED;
use crate::{SpaceId, ToolId, UserId};

/// Up to here every whole number is one that JSON's readers know apart from its neighbours.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// An alert as somebody wrote it down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertSpec {
    /// For people; several may have the same.
    #[serde(default)]
    pub name: Option<String>,
    pub metric: Metric,
    /// The whole space when absent.
    #[serde(default)]
    pub tool: Option<ToolId>,
    /// It fires when the value is greater than this …
    pub above: f64,
    /// … and was so at every check for this long.
    #[serde(default)]
    pub for_seconds: u32,
    /// Who is told by HTTP. Its path and query may be a credential.
    #[serde(default)]
    pub webhook: Option<String>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Metric {
    /// The share of calls that failed, from 0 to 1.
    ErrorRate,
    /// The time that 95 of 100 calls stay within, in milliseconds.
    P95,
    /// How many circuits are open.
    CircuitOpen,
    /// How many runs wait.
    QueueDepth,
    /// How many runs were given up.
    DeadLetters,
}

/// An alert of a space, and how it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    pub id: AlertId,
    pub space_id: SpaceId,
    /// Who made it.
    pub owner_id: Option<UserId>,
    pub spec: AlertSpec,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub standing: Standing,
}

/// What watching over an alert has come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// Grows with every step, so that of several who take one at the same time the first wins.
    pub step: u64,
    /// How often it fired and resolved, both counted: odd while it fires.
    pub turns: u64,
    /// The last of these that somebody set out to tell.
    pub told: u64,
    pub above_since: Option<Timestamp>,
    /// When any process last saw the value above; kept where each sees another value.
    pub seen_above_at: Option<Timestamp>,
    /// What the value was when the state changed last.
    pub value: Option<f64>,
    pub fired_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    /// Why the webhook could not be told; none when it was.
    pub webhook_error: Option<String>,
}

/// How an alert stands, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AlertState {
    #[serde(rename = "ok")]
    Calm,
    /// Above, and not for long enough yet.
    Pending,
    Firing,
}

/// From one way to stand to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Above now, and not for long enough yet.
    Rise,
    /// Still above, which other processes cannot see.
    Hold,
    /// No longer above, before it fired.
    Fall,
    Fire,
    Resolve,
}

impl Metric {
    /// The word for it, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ErrorRate => "errorRate",
            Self::P95 => "p95",
            Self::CircuitOpen => "circuitOpen",
            Self::QueueDepth => "queueDepth",
            Self::DeadLetters => "deadLetters",
        }
    }

    /// Whether each process knows a part of it that the others do not.
    pub fn is_of_one_process(self) -> bool {
        match self {
            Self::CircuitOpen => true,
            Self::ErrorRate | Self::P95 | Self::QueueDepth | Self::DeadLetters => false,
        }
    }
}

impl AlertSpec {
    /// What it is called: its name, or else what it measures.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.metric.as_str())
    }

    /// Whether another asks the same question, so that what was seen for the one holds for the other.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        self.metric == other.metric && self.tool == other.tool && self.above == other.above
    }

    /// Where the webhook leads, without what may be a credential.
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

    /// When that state began; none when it was never another.
    pub fn since(&self) -> Option<Timestamp> {
        match self.state() {
            AlertState::Calm => self.standing.resolved_at,
            AlertState::Pending => self.standing.above_since,
            AlertState::Firing => self.standing.fired_at,
        }
    }

    /// Whether there is something to tell that is not what was told last.
    pub fn is_news(&self) -> bool {
        self.standing.turns.saturating_sub(self.standing.told) % 2 == 1
    }

    /// The step that a value asks for, if any. No value is not above. Where others may see what we do
    /// not, what they saw holds for as long as `patience`; where nobody else looks, that is zero.
    pub fn next_step(&self, value: Option<f64>, now: Timestamp, patience: SignedDuration) -> Option<Step> {
        let Standing { above_since, seen_above_at, .. } = &self.standing;
        let has_others = patience > SignedDuration::ZERO;
        let seen_before = seen_above_at.map(|seen| now.duration_since(seen));
        if value.is_some_and(|value| value > self.spec.above) {
            let least = SignedDuration::from_secs(i64::from(self.spec.for_seconds));
            let is_due = now.duration_since(above_since.unwrap_or(now)) >= least;
            let holds = has_others && seen_before.is_none_or(|ago| ago >= patience / 3);
            return match self.state() {
                AlertState::Calm | AlertState::Pending if is_due => Some(Step::Fire),
                AlertState::Calm => Some(Step::Rise),
                AlertState::Pending | AlertState::Firing => holds.then_some(Step::Hold),
            };
        }
        if has_others && seen_before.is_some_and(|ago| ago < patience) {
            return None;
        }
        match self.state() {
            AlertState::Calm => None,
            AlertState::Pending => Some(Step::Fall),
            AlertState::Firing => Some(Step::Resolve),
        }
    }

    /// How it stands after a step.
    #[must_use]
    pub fn after(&self, step: Step, value: Option<f64>, at: Timestamp) -> Self {
        let mut after = self.clone();
        let standing = &mut after.standing;
        standing.step += 1;
        match step {
            Step::Rise | Step::Hold | Step::Fire => {
                standing.above_since.get_or_insert(at);
                standing.seen_above_at = Some(at);
            }
            Step::Fall | Step::Resolve => {
                standing.above_since = None;
                standing.seen_above_at = None;
            }
        }
        match step {
            Step::Fire => {
                standing.turns += 1;
                standing.fired_at = Some(at);
            }
            Step::Resolve => {
                standing.turns += 1;
                standing.resolved_at = Some(at);
            }
            Step::Rise | Step::Hold | Step::Fall => {}
        }
        if step != Step::Hold {
            standing.value = value;
        }
        after
    }
}

/// A number as JSON shows it: one without a fraction is written without one.
pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ALONE: SignedDuration = SignedDuration::ZERO;
    const WITH_OTHERS: SignedDuration = SignedDuration::from_secs(15);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("an instant")
    }

    /// Fires above 10, after so many seconds.
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
            created_at: at(0),
            updated_at: at(0),
            standing: Standing::default(),
        }
    }

    /// The steps that values ask for, one value a second.
    fn steps(mut alert: Alert, values: &[Option<f64>]) -> (Vec<Option<Step>>, Alert) {
        let mut steps = Vec::new();
        for (second, value) in values.iter().enumerate() {
            let now = at(i64::try_from(second).expect("few"));
            let step = alert.next_step(*value, now, ALONE);
            if let Some(step) = step {
                alert = alert.after(step, *value, now);
            }
            steps.push(step);
        }
        (steps, alert)
    }

    #[test]
    fn it_fires_once_and_resolves_once() {
        let (steps, alert) =
            steps(alert(0), &[None, Some(10.0), Some(11.0), Some(12.0), Some(10.0), None, Some(20.0)]);
        use Step::{Fire, Resolve};
        assert_eq!(steps, [None, None, Some(Fire), None, Some(Resolve), None, Some(Fire)]);
        assert_eq!((alert.standing.turns, alert.state()), (3, AlertState::Firing));
        assert_eq!((alert.since(), alert.standing.resolved_at), (Some(at(6)), Some(at(4))));
        assert_eq!(alert.standing.value, Some(20.0));
    }

    #[test]
    fn it_waits_for_as_long_as_it_shall_and_begins_anew_when_the_value_falls() {
        let high = Some(11.0);
        let (seen, fired) = steps(alert(2), &[high, high, None, high, high, high]);
        use Step::{Fall, Fire, Rise};
        assert_eq!(seen, [Some(Rise), None, Some(Fall), Some(Rise), None, Some(Fire)]);
        assert_eq!(fired.since(), Some(at(5)));
        let (_, pending) = steps(alert(2), &[high]);
        assert_eq!((pending.state(), pending.since()), (AlertState::Pending, Some(at(0))));
        let (_, calm) = steps(alert(2), &[high, None]);
        assert_eq!((calm.state(), calm.since(), calm.standing.turns), (AlertState::Calm, None, 0));
    }

    #[test]
    fn what_another_process_saw_holds_for_a_while() {
        let fired = alert(0).after(Step::Fire, Some(11.0), at(0));
        assert_eq!(fired.next_step(Some(0.0), at(14), WITH_OTHERS), None, "another may still see it");
        assert_eq!(fired.next_step(Some(0.0), at(15), WITH_OTHERS), Some(Step::Resolve));
        assert_eq!(fired.next_step(Some(0.0), at(1), ALONE), Some(Step::Resolve));
        assert_eq!(fired.next_step(Some(11.0), at(4), WITH_OTHERS), None);
        assert_eq!(fired.next_step(Some(11.0), at(5), WITH_OTHERS), Some(Step::Hold));
        assert_eq!(fired.next_step(Some(11.0), at(5), ALONE), None);
        let held = fired.after(Step::Hold, Some(12.0), at(5));
        assert_eq!(held.next_step(Some(0.0), at(19), WITH_OTHERS), None);
        assert_eq!((held.standing.value, held.since()), (Some(11.0), Some(at(0))));
    }

    #[test]
    fn what_was_told_last_is_no_news() {
        let mut alert = alert(0).after(Step::Fire, None, at(0));
        assert!(alert.is_news());
        alert.standing.told = 1;
        assert!(!alert.is_news());
        alert = alert.after(Step::Resolve, None, at(1));
        assert!(alert.is_news());
        alert = alert.after(Step::Fire, None, at(2));
        assert!(!alert.is_news(), "that it fires was told, and that it did not is past");
    }

    #[test]
    fn a_masked_webhook_shows_where_it_leads() {
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
