//! Preflight: the requirements and effects of a call, for callers that decide when and how to make it, such as a
//! run or an approval. Nothing here runs the tool.

use std::sync::Arc;

use haft_core::mask::MASKED;
use haft_core::{
    Binding, CallError, Caller, Effect, ErrorKind, Policy, ResultDelivery, ToolExecutionResult, ToolVersion,
};
use serde_json::Value;

use crate::admit::{AdmittedCall, policy};
use crate::call_guard::CallGuard;
use crate::redaction;
use crate::service::{CallRequest, ToolService, admit_anywhere};

/// The requirements of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRequirements {
    /// The call runs as a task; its caller does not wait for the result.
    pub is_async: bool,
    /// Approval may be required, depending on the arguments.
    pub may_ask: bool,
    pub reply: ResultDelivery,
    pub effect: Effect,
    /// The call uses resources that only its caller may use, such as `secret://me/NAME`.
    pub acts_for_caller: bool,
    /// The version that would be called.
    pub version: u64,
}

/// Arguments redacted for two audiences.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedArguments {
    pub for_people: Value,
    pub for_record: Value,
}

/// A call that would be admitted.
#[derive(Debug, Clone)]
pub struct PreflightedCall {
    pub tool: Arc<ToolVersion>,
    pub effect: Effect,
    /// With defaults and the binding's values, coerced. Includes properties that the call ignores: the call
    /// removes them itself, and its record contains a warning for each.
    pub arguments: Arc<Value>,
    /// Approval is required.
    pub asks: bool,
    /// The reason, as its author wrote it in the policy rule.
    pub because: Option<String>,
    pub reply: ResultDelivery,
}

impl ToolService {
    /// Returns the requirements of a call. Returns `None` if there is no such tool.
    pub async fn call_requirements(
        &self,
        caller: &Caller,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<CallRequirements>, CallError> {
        self.make_ready(caller.space).await?;
        let Some(entry) = self.entry(caller.space, tool, binding).await? else { return Ok(None) };
        let bound = binding.map(|binding| binding.policy.strictest()).unwrap_or_default();
        let own = entry.policy.strictest().stricter(entry.live_policy.strictest());
        Ok(Some(CallRequirements {
            is_async: entry.version.spec.run_async,
            may_ask: own.stricter(bound) == Policy::Ask,
            reply: entry.prepared.result_delivery(),
            effect: entry.effect,
            acts_for_caller: entry.prepared.acts_for_caller(),
            version: entry.version.version,
        }))
    }

    /// Admits a call without making or recording it: checks the tool, the options, the arguments and the policy. An
    /// approval that the policy requires counts as given, and `asks` is true.
    ///
    /// Returns an error if the tool is unknown or inactive, if options or arguments are invalid, or if the policy
    /// blocks the call. Does not check the circuit breaker, the rate limit and the bulkhead, which may still reject
    /// the call.
    pub async fn preflight(
        &self,
        caller: &Caller,
        request: CallRequest,
    ) -> Result<PreflightedCall, CallError> {
        let CallRequest { tool, arguments, options } = request;
        self.make_ready(caller.space).await?;
        let binding = options.binding.clone();
        let entry = self.entry(caller.space, &tool, binding.as_deref()).await?;
        let entry = entry.ok_or_else(|| self.inner().catalog.unknown(caller.space, &tool))?;
        let allowed = options.approved();
        let admitted = admit_anywhere(entry, arguments, &allowed).await;
        let AdmittedCall { entry, arguments, ignored, .. } = admitted.map_err(|refusal| refusal.error)?;
        let bound = binding.as_deref().map(|binding| &binding.policy);
        let rules = [Some(&entry.policy), Some(&entry.live_policy), bound];
        let asking = |rule: &&haft_core::PolicyRule| rule.of(arguments.as_value()) == Policy::Ask;
        let because = rules.into_iter().flatten().filter(asking).find_map(|rule| rule.reason());
        let asks = policy(&entry, binding.as_deref(), arguments.as_value()) == Policy::Ask;
        let mut arguments = arguments.shared();
        if !ignored.is_empty()
            && let Value::Object(fields) = Arc::make_mut(&mut arguments)
        {
            fields.extend(ignored);
        }
        Ok(PreflightedCall {
            tool: entry.version.clone(),
            effect: entry.effect,
            asks,
            because: because.map(str::to_owned),
            reply: entry.prepared.result_delivery(),
            arguments,
        })
    }

    /// Redacts arguments: for people, without secrets and signatures of file links; for the record, also
    /// without the values that the tool's author hides.
    pub async fn redact_arguments(
        &self,
        caller: &Caller,
        tool: &str,
        binding: Option<&Binding>,
        arguments: &Value,
    ) -> Result<RedactedArguments, CallError> {
        self.make_ready(caller.space).await?;
        let Some(entry) = self.entry(caller.space, tool, binding).await? else {
            return Ok(RedactedArguments { for_people: arguments.clone(), for_record: arguments.clone() });
        };
        let mask = match entry.prepared.secrets().is_empty() {
            true => None,
            false => Some(self.find_mask(&entry, caller).await),
        };
        let mut for_people = arguments.clone();
        redaction::unsign(&mut for_people);
        match &mask {
            None => {}
            Some(Some(mask)) => mask.value(&mut for_people),
            // The tool has secrets that cannot be looked up now.
            Some(None) => for_people = Value::from(MASKED),
        }
        let mut for_record = for_people.clone();
        if let Some(redactor) = entry.prepared.redactor() {
            redactor.value(&mut for_record);
        }
        Ok(RedactedArguments { for_people, for_record })
    }

    /// Records a call that ended without being executed here: denied, cancelled while it waited, or started
    /// by a process that crashed.
    pub async fn record_without_running(
        &self,
        caller: &Caller,
        request: CallRequest,
        error: CallError,
    ) -> Result<ToolExecutionResult, CallError> {
        let CallRequest { tool, arguments, options } = request;
        let inner = self.inner();
        let slot = match &inner.recorder {
            Some(recorder) => Some(recorder.reserve().await?),
            None => None,
        };
        self.make_ready(caller.space).await?;
        let entry = match self.entry(caller.space, &tool, options.binding.as_deref()).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // The call is recorded even if its version no longer exists.
            Err(_) => inner.catalog.find(caller.space, &tool),
            Ok(entry) => entry,
        };
        let mut guard = CallGuard::start(caller, &options, &tool, entry, inner.events.as_ref(), slot);
        guard.refused(Arc::new(arguments), Vec::new());
        self.mask(&mut guard, caller).await;
        Ok(guard.complete(Err(error)))
    }
}
