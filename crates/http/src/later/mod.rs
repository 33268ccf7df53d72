//! Upstreams that take a job on and answer later: who is asked again, or calls back, and how one tells that it is over.
//!
//! Waiting is the engine's and the run's; here it is said what to look at, and what it means.

mod address;
mod look;
mod rules;

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, Reply, Violation};
use serde::Deserialize;
use url::Url;

use crate::config::Config;
use address::Address;
pub(crate) use look::callback_mask;
use rules::Rules;

haft_core::templates! {
    BOTH_WAYS = "http.bothWays",
        "stands beside callbackUrl in the request; an answer comes by one of them",
        "与请求中的 callbackUrl 同时出现；结果只能通过其中一种方式返回";
    NO_PLACE = "http.noCallbackPlace",
        "is of no use: nothing in the request holds callbackUrl",
        "无效：请求中没有使用 callbackUrl";
}

/// An upstream is asked again after so many seconds, where nothing else is said.
const INTERVAL: f64 = 5.0;

/// A job has an hour.
const WITHIN: u64 = 3600;

/// How an answer comes that is not there at once.
pub(crate) struct Later {
    rules: Arc<Rules>,
    way: Way,
    within: Duration,
}

enum Way {
    /// We ask.
    Poll { address: Address, interval: Duration },
    /// We are told.
    Callback,
}

/// `poll` and `callback` as they are written; the form was looked at before.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaterConfig {
    url: Option<String>,
    status: Option<String>,
    done: Option<TestConfig>,
    failed: Option<TestConfig>,
    result: Option<String>,
    progress: Option<String>,
    interval: Option<f64>,
    timeout: Option<u64>,
}

/// Words that the status may be, or a condition that the answer must meet.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum TestConfig {
    Words(Vec<String>),
    When(String),
}

impl Later {
    /// Nothing where every answer comes at once.
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
        let plain = LaterConfig::default();
        let (written, name) = match (&config.poll, uses_callback) {
            (Some(poll), _) => (poll, "poll"),
            (None, true) => (config.callback.as_ref().unwrap_or(&plain), "callback"),
            (None, false) => return None,
        };
        let rules = Arc::new(Rules::parse(written, name, violations));
        let way = match &config.poll {
            Some(poll) => Way::Poll {
                address: Address::parse(poll.url.as_deref(), config, violations)?,
                interval: Duration::from_secs_f64(poll.interval.unwrap_or(INTERVAL)),
            },
            None => Way::Callback,
        };
        Some(Self { rules, way, within: Duration::from_secs(written.timeout.unwrap_or(WITHIN)) })
    }

    /// The origin that is polled, if the definition fixes it.
    pub(crate) fn poll_origin(&self) -> Option<&Url> {
        match &self.way {
            Way::Poll { address, .. } => address.origin(),
            Way::Callback => None,
        }
    }

    pub(crate) fn reply(&self) -> Reply {
        match self.way {
            Way::Poll { .. } => Reply::Polled,
            Way::Callback => Reply::CalledBack { within: self.within },
        }
    }
}

/// The answer to who looks for an answer that this tool does not give later.
pub(crate) fn not_ours() -> CallError {
    CallError::new(ErrorKind::Execution, Message::new(&look::NOT_KEPT))
}

/// Every message of this folder.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static haft_core::Template> {
    [TEMPLATES, address::TEMPLATES, look::TEMPLATES, rules::TEMPLATES].into_iter().flatten().copied()
}
