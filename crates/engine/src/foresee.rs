//! What a call would be, for whoever decides how and when to make it: a run, a person who is asked. Nothing runs here.

use std::sync::Arc;

use haft_core::mask::MASKED;
use haft_core::{
    Binding, CallError, Caller, Effect, ErrorKind, Policy, Reply, ToolExecutionResult, ToolVersion,
};
use serde_json::Value;

use crate::admit::{AdmittedCall, policy};
use crate::clean;
use crate::flight::Flight;
use crate::service::{CallRequest, ToolService, admit_anywhere};

/// How a tool wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bearing {
    /// Without anybody waiting for it.
    pub is_async: bool,
    /// A person may have to be asked, which its arguments decide.
    pub may_ask: bool,
    pub reply: Reply,
    pub effect: Effect,
    /// A call uses what belongs to its caller alone, such as `secret://me/NAME`.
    pub acts_for_caller: bool,
    /// The version that would be called.
    pub version: u64,
}

/// Arguments, in the two ways in which they may be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub to_people: Value,
    pub on_record: Value,
}

/// A call that would be let in.
#[derive(Debug, Clone)]
pub struct Foreseen {
    pub tool: Arc<ToolVersion>,
    pub effect: Effect,
    /// With defaults and all that its binding adds, made to fit. Properties that the call ignores are among them: the
    /// call leaves them out itself, and its record warns of them.
    pub arguments: Arc<Value>,
    /// A person has to be asked first.
    pub asks: bool,
    /// Why, in the words of whoever wrote the rule.
    pub because: Option<String>,
    pub reply: Reply,
}

impl ToolService {
    /// How a tool wants to be called; nothing where there is no such tool.
    pub async fn bearing(
        &self,
        caller: &Caller,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<Bearing>, CallError> {
        self.make_ready(caller.space).await?;
        let Some(entry) = self.entry(caller.space, tool, binding).await? else { return Ok(None) };
        let bound = binding.map(|binding| binding.policy.strictest()).unwrap_or_default();
        let own = entry.policy.strictest().stricter(entry.live_policy.strictest());
        Ok(Some(Bearing {
            is_async: entry.version.spec.run_async,
            may_ask: own.stricter(bound) == Policy::Ask,
            reply: entry.prepared.reply(),
            effect: entry.effect,
            acts_for_caller: entry.prepared.acts_for_caller(),
            version: entry.version.version,
        }))
    }

    /// Lets a call in without making it, or says why it would not be let in.
    pub async fn foresee(&self, caller: &Caller, request: CallRequest) -> Result<Foreseen, CallError> {
        let CallRequest { tool, arguments, options } = request;
        self.make_ready(caller.space).await?;
        let binding = options.binding.clone();
        let entry = self.entry(caller.space, &tool, binding.as_deref()).await?;
        let entry = entry.ok_or_else(|| self.inner().catalogue.unknown(caller.space, &tool))?;
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
        Ok(Foreseen {
            tool: entry.version.clone(),
            effect: entry.effect,
            asks,
            because: because.map(str::to_owned),
            reply: entry.prepared.reply(),
            arguments,
        })
    }

    /// Arguments as they may be shown: without the secrets of their tool and what opens files; on record, also
    /// without what the tool's author wants nobody to see.
    pub async fn shown(
        &self,
        caller: &Caller,
        tool: &str,
        binding: Option<&Binding>,
        arguments: &Value,
    ) -> Result<Shown, CallError> {
        self.make_ready(caller.space).await?;
        let Some(entry) = self.entry(caller.space, tool, binding).await? else {
            return Ok(Shown { to_people: arguments.clone(), on_record: arguments.clone() });
        };
        let mask = match entry.prepared.secrets().is_empty() {
            true => None,
            false => Some(self.find_mask(&entry, caller).await),
        };
        let mut to_people = arguments.clone();
        clean::unsign(&mut to_people);
        match &mask {
            None => {}
            Some(Some(mask)) => mask.value(&mut to_people),
            // There are some, and nobody can tell which.
            Some(None) => to_people = Value::from(MASKED),
        }
        let mut on_record = to_people.clone();
        if let Some(redactor) = entry.prepared.redactor() {
            redactor.value(&mut on_record);
        }
        Ok(Shown { to_people, on_record })
    }

    /// Leaves the record of a call that is over without having been made here: refused by a person, cancelled
    /// while it waited, or sent by a process that is no more.
    pub async fn settle(
        &self,
        caller: &Caller,
        request: CallRequest,
        error: CallError,
    ) -> Result<ToolExecutionResult, CallError> {
        let CallRequest { tool, arguments, options } = request;
        let inner = self.inner();
        let place = match &inner.recorder {
            Some(recorder) => Some(recorder.reserve().await?),
            None => None,
        };
        self.make_ready(caller.space).await?;
        let entry = match self.entry(caller.space, &tool, options.binding.as_deref()).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // What is over is on record, also where its version is no longer there.
            Err(_) => inner.catalogue.find(caller.space, &tool),
            Ok(entry) => entry,
        };
        let mut flight = Flight::start(caller, &options, &tool, entry, inner.events.as_ref(), place);
        flight.refused(Arc::new(arguments), Vec::new());
        self.mask(&mut flight, caller).await;
        Ok(flight.land(Err(error)))
    }
}
