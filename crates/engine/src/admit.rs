//! Admission, the first half of a call: finds the tool, merges and validates its arguments, evaluates its
//! policy.
//!
//! Nothing here runs the tool; that is `execute.rs`.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::Consent;
use haft_core::schema::Admitted;
use haft_core::{
    Arguments, Binding, CallError, CallOptions, ErrorKind, ErrorReason, Message, Policy, Violation,
};
use serde_json::{Map, Value};

use crate::catalog::Entry;

haft_core::templates! {
    DISABLED = "tool.disabled",
        "{tool} is switched off",
        "{tool} 已停用";
    BLOCKED = "policy.blocked",
        "{tool} is blocked by its policy",
        "{tool} 被策略禁止";
    NEEDS_APPROVAL = "policy.needsApproval",
        "{tool} requires approval, and approval cannot be requested from here",
        "{tool} 需要人工批准才能运行，而此处无法请求批准";
    OUT_OF_RANGE = "options.outOfRange",
        "{value} is not between {least} and {most}",
        "{value} 不在 {least} 到 {most} 之间";
}

/// A call that may run: its tool exists, its arguments conform to the schema and its policy allows it. Only
/// [`admit`] creates one.
pub(crate) struct AdmittedCall {
    pub(crate) entry: Arc<Entry>,
    pub(crate) arguments: Arguments,
    pub(crate) coerced: Vec<String>,
    /// Properties of another alternative of the schema than the selected one.
    pub(crate) ignored: Map<String, Value>,
}

/// A rejected call, with its arguments in their state at that time.
pub(crate) struct Refusal {
    pub(crate) error: CallError,
    pub(crate) arguments: Arc<Value>,
    pub(crate) coerced: Vec<String>,
}

/// Admits a call, or returns the reason for rejecting it.
pub(crate) fn admit(
    entry: Arc<Entry>,
    arguments: Value,
    options: &CallOptions,
) -> Result<AdmittedCall, Refusal> {
    let refuse = |error, arguments, coerced| Err(Refusal { error, arguments, coerced });
    let spec = &entry.version.spec;
    let say = |template| Message::new(template).with("tool", &spec.name);
    // A resumed call was admitted before: fetching its result needs no active tool and no policy check.
    let is_resumed = options.resumed.is_some();
    if !spec.is_active && !is_resumed {
        return refuse(
            CallError::new(ErrorKind::ToolDisabled, say(&DISABLED)),
            Arc::new(arguments),
            Vec::new(),
        );
    }
    if let Err(error) = check_options(options) {
        return refuse(error, Arc::new(arguments), Vec::new());
    }
    let binding = options.binding.as_deref();
    let input = match entry.input() {
        Ok(input) => input,
        Err(error) => return refuse(error, Arc::new(arguments), Vec::new()),
    };
    let admitted = if entry.prepared.takes_defaults() {
        input.admit(arguments, binding, options.validation)
    } else {
        input.admit_without_defaults(arguments, binding, options.validation)
    };
    let Admitted { arguments, coerced, ignored } = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => {
            let error = explained(&entry, refused.error, &refused.arguments);
            return refuse(error, Arc::new(refused.arguments), refused.coerced);
        }
    };
    let policy = if is_resumed { Policy::Allow } else { policy(&entry, binding, arguments.as_value()) };
    let deny = |template| CallError::new(ErrorKind::Denied, say(template));
    let denied = match policy {
        Policy::Allow => None,
        Policy::Ask if options.consent == Consent::Given => None,
        Policy::Ask => Some(deny(&NEEDS_APPROVAL).with_reason(ErrorReason::NeedsApproval)),
        Policy::Block => Some(deny(&BLOCKED)),
    };
    if let Some(error) = denied {
        return refuse(error, arguments.shared(), coerced);
    }
    Ok(AdmittedCall { entry, arguments, coerced, ignored })
}

/// Returns the strictest policy of the tool, its live version and the binding for these arguments.
pub(crate) fn policy(entry: &Entry, binding: Option<&Binding>, arguments: &Value) -> Policy {
    let bound = binding.map(|binding| binding.policy.of(arguments)).unwrap_or_default();
    entry.policy.of(arguments).stricter(entry.live_policy.of(arguments)).stricter(bound)
}

/// Replaces messages of violations by the tool's own, where its kind has a better one.
fn explained(entry: &Entry, error: CallError, arguments: &Value) -> CallError {
    let say = |violation: &Violation| match entry.prepared.explain(violation, arguments) {
        Some(message) => Violation::new(violation.path.clone(), message),
        None => violation.clone(),
    };
    CallError::invalid(error.violations().iter().map(say).collect())
}

/// Checks that call options are within the limits of the definition fields that they override.
fn check_options(options: &CallOptions) -> Result<(), CallError> {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let checks = [
        ("options.timeout", options.timeout.map(millis), 1, 600_000),
        ("options.retries", options.retries.map(u64::from), 0, 10),
        ("options.retryDelay", options.retry_delay.map(millis), 0, 600_000),
    ];
    let violations: Vec<Violation> = checks
        .into_iter()
        .filter_map(|(path, value, least, most)| {
            let value = value.filter(|value| !(least..=most).contains(value))?;
            let message =
                Message::new(&OUT_OF_RANGE).with("value", value).with("least", least).with("most", most);
            Some(Violation::new(path, message))
        })
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}
