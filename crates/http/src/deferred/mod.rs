//! Deferred calls over HTTP: how to poll or receive callbacks, and how to detect that a job is finished.
//!
//! Waiting is done by the engine and the run. This module decides what to request and how to interpret it.

mod address;
mod job;
mod rules;

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, ResultDelivery, Violation};
use serde::Deserialize;
use url::Url;

use crate::config::Config;
use address::Address;
pub(crate) use job::callback_mask;
use rules::Rules;

haft_core::templates! {
    BOTH_WAYS = "http.bothWays",
        "cannot be combined with callbackUrl in the request; the result can arrive only one way",
        "与请求中的 callbackUrl 同时出现；结果只能通过其中一种方式返回";
    NO_PLACE = "http.noCallbackPlace",
        "has no effect: the request does not use callbackUrl",
        "无效：请求中没有使用 callbackUrl";
}

/// Default poll interval, in seconds.
const INTERVAL: f64 = 5.0;

/// Default time limit of a job, in seconds.
const WITHIN: u64 = 3600;

/// How the result of a deferred call arrives.
pub(crate) struct DeferredResult {
    rules: Arc<Rules>,
    delivery: Delivery,
    within: Duration,
}

enum Delivery {
    /// Haft polls the upstream.
    Poll { address: Address, interval: Duration },
    /// The upstream calls back.
    Callback,
}

/// `poll` and `callback` as parsed from the config, whose form is already validated.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeferredConfig {
    url: Option<String>,
    status: Option<String>,
    done: Option<TestConfig>,
    failed: Option<TestConfig>,
    result: Option<String>,
    progress: Option<String>,
    interval: Option<f64>,
    timeout: Option<u64>,
}

/// The statuses that match, or a condition on the whole response.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum TestConfig {
    OneOf(Vec<String>),
    When(String),
}

impl DeferredResult {
    /// Returns `None` if the tool always returns its result at once.
    pub(crate) fn parse(
        config: &Config,
        uses_callback: bool,
        violations: &mut Vec<Violation>,
    ) -> Option<Self> {
        let mut say = |path: &str, template| violations.push(Violation::new(path, Message::new(template)));
        if config.poll.is_some() && uses_callback {
            say("poll", &BOTH_WAYS);
        }
        if config.callback.is_some() && !uses_callback {
            say("callback", &NO_PLACE);
        }
        let plain = DeferredConfig::default();
        let (written, name) = match (&config.poll, uses_callback) {
            (Some(poll), _) => (poll, "poll"),
            (None, true) => (config.callback.as_ref().unwrap_or(&plain), "callback"),
            (None, false) => return None,
        };
        let rules = Arc::new(Rules::parse(written, name, violations));
        let delivery = match &config.poll {
            Some(poll) => Delivery::Poll {
                address: Address::parse(poll.url.as_deref(), config, violations)?,
                interval: Duration::from_secs_f64(poll.interval.unwrap_or(INTERVAL)),
            },
            None => Delivery::Callback,
        };
        Some(Self { rules, delivery, within: Duration::from_secs(written.timeout.unwrap_or(WITHIN)) })
    }

    /// The origin that is polled, if the definition fixes it.
    pub(crate) fn poll_origin(&self) -> Option<&Url> {
        match &self.delivery {
            Delivery::Poll { address, .. } => address.origin(),
            Delivery::Callback => None,
        }
    }

    pub(crate) fn reply_kind(&self) -> ResultDelivery {
        match self.delivery {
            Delivery::Poll { .. } => ResultDelivery::Polled,
            Delivery::Callback => ResultDelivery::Callback { within: self.within },
        }
    }
}

/// The error for a resumed call whose tool is no longer deferred.
pub(crate) fn no_longer_deferred() -> CallError {
    CallError::new(ErrorKind::Execution, Message::new(&job::BAD_STATE))
}

/// All message templates of this module.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static haft_core::Template> {
    [TEMPLATES, address::TEMPLATES, job::TEMPLATES, rules::TEMPLATES].into_iter().flatten().copied()
}
