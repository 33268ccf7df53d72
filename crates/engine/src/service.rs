//! The service of the engine: registers, lists and calls tools.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{ProgressSink, RunMode};
use haft_core::mask::Mask;
use haft_core::schema::Admitted;
use haft_core::{
    Artifacts, Binding, CallError, CallOptions, Caller, DeferredCall, ErrorKind, Locale, Message, Prepared,
    ResultDelivery, Secrets, Source, SpaceId, ToolExecutionResult, ToolId, ToolSpec, ToolVersion,
};
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::admit::{AdmittedCall, Refusal, admit};
use crate::breaker::Breakers;
use crate::builder::ToolServiceBuilder;
use crate::cache::ResultCache;
use crate::call_guard::{CallGuard, HEAVY};
use crate::catalog::{Catalog, Entry};
use crate::clock::now;
use crate::credentials;
use crate::events::{CallEvent, Events};
use crate::execute::{execute, preview};
use crate::prepare::{Kinds, PreparedTool};
use crate::record::{RecordQueue, Recorder};
use crate::secrets::{SecretSource, mask_for_record};
use crate::source::Loader;
use crate::space_tools::SpaceTools;
use crate::tool::Tool;

haft_core::templates! {
    CHANGED = "call.changed",
        "{tool} was changed while its result was pending, so the result cannot be fetched; the call is not sent again",
        "{tool} 在等待结果期间被修改，已无法得知如何获取结果；不会重新发送";
}

/// Maximum time to wait for secrets that must be masked in the record of a completed call.
const MASK_TIMEOUT: Duration = Duration::from_secs(1);

/// A set of tools, and the only way to call them. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ToolService(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) kinds: Kinds,
    pub(crate) catalog: Catalog,
    pub(crate) breakers: Option<Breakers>,
    pub(crate) cache: Option<ResultCache>,
    pub(crate) limits_on: bool,
    pub(crate) events: Option<Events>,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) secrets: Option<Arc<dyn SecretSource>>,
    /// Shared by calls of tools without secrets.
    pub(crate) no_secrets: Arc<Secrets>,
    pub(crate) artifacts: Option<Arc<dyn Artifacts>>,
    pub(crate) loader: Option<Loader>,
    pub(crate) local: Caller,
    /// Cancelled when running calls must end.
    pub(crate) stop: CancellationToken,
}

/// A request to call a tool.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The tool's name or id.
    pub tool: String,
    pub arguments: Value,
    pub options: CallOptions,
}

/// The outcome of a call that may be deferred.
#[derive(Debug)]
pub enum DeferrableOutcome {
    Completed(ToolExecutionResult),
    /// The result is deferred.
    Deferred(Box<DeferredCall>),
    /// The call may still complete: polling for its result failed temporarily, or the upstream may have
    /// accepted it and will deliver the result by callback. It is not recorded yet.
    RetryLater(CallError),
}

impl ToolService {
    /// Returns a builder of the engine. Everything except validation, timeouts and retries is off until the
    /// builder turns it on.
    pub fn builder() -> ToolServiceBuilder {
        ToolServiceBuilder::default()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Adds a tool that is visible in every space. Returns an error if its name is taken.
    pub fn register(&self, tool: impl Into<Tool>) -> Result<Arc<ToolVersion>, CallError> {
        let mut added = self.register_all([tool.into()])?;
        added.pop().ok_or_else(|| CallError::text(ErrorKind::Internal, "nothing was registered"))
    }

    /// Adds many tools: all of them, or none.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        let mut prepared = Vec::new();
        for tool in tools {
            let (spec, native) = tool.into_parts()?;
            prepared.push(self.prepare_shared(spec, native)?);
        }
        self.add_shared(prepared)
    }

    /// Adds a tool that a kind provides. Its definition is part of the program, so it is not checked, and its
    /// schemas are compiled at its first call, like those of a stored tool.
    pub(crate) fn register_provided(&self, spec: ToolSpec) -> Result<(), CallError> {
        let id = ToolId::Named(spec.name.clone());
        let callable = self.0.kinds.prepare_stored(None, &id, &spec)?;
        self.add_shared(vec![PreparedTool { spec, callable }]).map(drop)
    }

    fn add_shared(&self, tools: Vec<PreparedTool>) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        let now = now();
        let with_version = |tool: PreparedTool| {
            let version = ToolVersion {
                // Code provides the tool, so its name is its id, which is stable across restarts.
                id: ToolId::Named(tool.spec.name.clone()),
                space_id: None,
                owner_id: None,
                spec: tool.spec.clone(),
                version: 1,
                created_at: now,
                updated_at: now,
            };
            (version, tool)
        };
        self.0.catalog.add_shared(tools.into_iter().map(with_version).collect())
    }

    /// Removes a registered tool. Running calls are not affected.
    pub fn unregister(&self, name: &str) -> Option<Arc<ToolVersion>> {
        self.0.catalog.remove_shared(name)
    }

    pub fn get(&self, name: &str) -> Option<Arc<ToolVersion>> {
        self.in_space(self.0.local.space).get(name)
    }

    /// Returns all tools, by name.
    pub fn list(&self) -> Vec<Arc<ToolVersion>> {
        self.in_space(self.0.local.space).list()
    }

    /// Returns everything that is wrong with a definition, without registering it.
    pub fn validate(&self, tool: impl Into<Tool>) -> Result<(), CallError> {
        let (spec, native) = tool.into().into_parts()?;
        self.prepare_shared(spec, native).map(drop)
    }

    /// Validates arguments like a call would, without making one.
    pub fn validate_arguments(
        &self,
        tool: &str,
        arguments: Value,
        options: &CallOptions,
    ) -> Result<Admitted, CallError> {
        let space = self.0.local.space;
        let Some(entry) = self.0.catalog.find(space, tool) else {
            return Err(self.0.catalog.unknown(space, tool));
        };
        match admit(entry, arguments, options) {
            Ok(AdmittedCall { arguments, coerced, ignored, .. }) => {
                Ok(Admitted { arguments, coerced, ignored })
            }
            Err(Refusal { error, .. }) => Err(error),
        }
    }

    /// Calls a tool as the embedding program. A failed tool is an `Ok` with a failed outcome; `Err` is a
    /// failure of the engine itself.
    pub async fn execute(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolExecutionResult, CallError> {
        let request = CallRequest { tool: tool.to_owned(), arguments, options };
        self.call(&self.0.local, request).await
    }

    /// Runs one tool call: admits it, executes it with retries, records it.
    ///
    /// Every interface calls this function: HTTP, MCP, chat, flows, runs, programs.
    pub async fn call(
        &self,
        caller: &Caller,
        request: CallRequest,
    ) -> Result<ToolExecutionResult, CallError> {
        match self.run_call(caller, request, false).await? {
            DeferrableOutcome::Completed(result) => Ok(result),
            DeferrableOutcome::Deferred(_) => {
                Err(CallError::text(ErrorKind::Internal, "the call was deferred"))
            }
            DeferrableOutcome::RetryLater(error) => Err(error),
        }
    }

    /// Runs one tool call without waiting for a deferred result: the caller stores the deferred call and
    /// continues it with [`CallOptions::resumed`].
    pub async fn call_or_defer(
        &self,
        caller: &Caller,
        request: CallRequest,
    ) -> Result<DeferrableOutcome, CallError> {
        self.run_call(caller, request, true).await
    }

    async fn run_call(
        &self,
        caller: &Caller,
        request: CallRequest,
        may_defer: bool,
    ) -> Result<DeferrableOutcome, CallError> {
        let CallRequest { tool, arguments, options } = request;
        let dry = options.run == RunMode::Dry;
        // A dry run calls nothing, so it is not recorded.
        let slot = match &self.0.recorder {
            Some(recorder) if !dry => Some(recorder.reserve().await?),
            _ => None,
        };
        self.make_ready(caller.space).await?;
        let events = self.0.events.as_ref().filter(|_| !dry);
        let (entry, missing) = match self.entry(caller.space, &tool, options.binding.as_deref()).await {
            Ok(entry) => (entry, None),
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // Nothing is called; the secrets of the live version are masked in the record.
            Err(error) => (self.0.catalog.find(caller.space, &tool), Some(error)),
        };
        let mut guard = CallGuard::start(caller, &options, &tool, entry.clone(), events, slot);
        if may_defer {
            guard.allow_deferral();
        }
        let entry = match (entry, missing) {
            (Some(entry), None) => entry,
            (_, missing) => {
                guard.refused(Arc::new(arguments), Vec::new());
                self.mask(&mut guard, caller).await;
                let error = missing.unwrap_or_else(|| self.0.catalog.unknown(caller.space, &tool));
                return Ok(DeferrableOutcome::Completed(guard.complete(Err(error))));
            }
        };
        if options.resumed.is_some() && entry.prepared.result_delivery() == ResultDelivery::Now {
            let error =
                CallError::new(ErrorKind::Execution, Message::new(&CHANGED).with("tool", &entry.name));
            guard.refused(Arc::new(arguments), Vec::new());
            return Ok(DeferrableOutcome::Completed(guard.complete(Err(error))));
        }
        let outcome = match admit_anywhere(entry, arguments, &options).await {
            Ok(mut call) => {
                guard.admitted(&mut call);
                if dry {
                    preview(&call, &guard).map(|preview| (Arc::new(preview), false))
                } else {
                    execute(&self.0, &call, &mut guard).await
                }
            }
            Err(Refusal { error, arguments, coerced }) => {
                guard.refused(arguments, coerced);
                Err(error)
            }
        };
        if let Some(deferred) = guard.defer() {
            return Ok(DeferrableOutcome::Deferred(deferred));
        }
        if let Err(error) = &outcome
            && guard.may_continue(error)
        {
            guard.leave_pending();
            return Ok(DeferrableOutcome::RetryLater(error.clone()));
        }
        // The call was rejected or its result was cached, so no secrets were revealed; the arguments may
        // contain one anyway.
        self.mask(&mut guard, caller).await;
        Ok(DeferrableOutcome::Completed(guard.complete(outcome)))
    }

    /// Returns the requested tool in the version that the binding pins.
    pub(crate) async fn entry(
        &self,
        space: SpaceId,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<Arc<Entry>>, CallError> {
        let Some(live) = self.0.catalog.find(space, tool) else { return Ok(None) };
        let pinned = binding.and_then(|binding| binding.version);
        let Some(pinned) = pinned.filter(|pinned| *pinned != live.version.version) else {
            return Ok(Some(live));
        };
        match (self.0.catalog.pinned(&live, pinned), &self.0.loader) {
            (Some(entry), _) => Ok(Some(entry)),
            // Boxed to keep the common future small: most calls pin no version.
            (None, Some(loader)) => {
                let loading = loader.pin(space, &live, pinned, &self.0.catalog, &self.0.kinds);
                Box::pin(loading).await.map(Some)
            }
            // Without a source, each tool has only one version.
            (None, None) => Ok(Some(live)),
        }
    }

    /// Returns the requested tool's definition in the version that the binding pins.
    pub async fn version(
        &self,
        space: SpaceId,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<Arc<ToolVersion>>, CallError> {
        self.make_ready(space).await?;
        Ok(self.entry(space, tool, binding).await?.map(|entry| entry.version.clone()))
    }

    /// Looks up the secrets to mask in the record of a call that did not reveal them.
    pub(crate) async fn mask(&self, guard: &mut CallGuard<'_>, caller: &Caller) {
        if let Some(entry) = guard.entry_to_mask().cloned() {
            guard.set_mask(self.find_mask(&entry, caller).await);
        }
    }

    /// Returns the mask of a tool's secrets. Returns `None` if they cannot be looked up now.
    pub(crate) async fn find_mask(&self, entry: &Entry, caller: &Caller) -> Option<Arc<Mask>> {
        let looking = mask_for_record(self.0.secrets.as_deref(), entry, caller);
        timeout(MASK_TIMEOUT, Box::pin(looking)).await.ok().flatten()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Loads the tools of a space into the catalog on first use. Is a no-op if they are loaded, even if they have
    /// changed (see `renew`), or if the engine has no source. Concurrent callers share one load.
    ///
    /// Tools that cannot be prepared are logged and skipped. A space without tools is loaded as empty. Returns an
    /// error if the source fails; the next call retries.
    pub async fn make_ready(&self, space: SpaceId) -> Result<(), CallError> {
        match &self.0.loader {
            Some(loader) if !self.0.catalog.has_space(space) => {
                Box::pin(loader.make_ready(space, &self.0.catalog, &self.0.kinds)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Reloads changed tools of a space from their source.
    pub async fn renew(&self, space: SpaceId) -> Result<(), CallError> {
        match &self.0.loader {
            Some(loader) => loader.renew(space, &self.0.catalog, &self.0.kinds).await,
            None => Ok(()),
        }
    }

    /// Subscribes to events of calls from now on. Returns `None` if events are off.
    pub fn subscribe(&self) -> Option<broadcast::Receiver<Arc<CallEvent>>> {
        self.0.events.as_ref().map(Events::subscribe)
    }

    /// Returns the current number of event subscribers.
    pub fn subscribers(&self) -> usize {
        self.0.events.as_ref().map_or(0, Events::subscribers)
    }

    /// Returns the state of the record queue. Returns `None` if there is no sink.
    pub fn record_queue(&self) -> Option<RecordQueue> {
        self.0.recorder.as_ref().map(Recorder::queue)
    }

    /// Returns the keys of the circuits of all spaces that are open or half-open.
    pub fn open_circuits(&self) -> Vec<(SpaceId, String)> {
        let breakers = self.0.breakers.as_ref();
        breakers.map(|breakers| breakers.not_closed(Instant::now())).unwrap_or_default()
    }

    /// Replaces literal credentials in a definition by references to secrets, and returns the secrets' names and
    /// values. The kind of the tool names the fields.
    ///
    /// A name is not taken, or the one that the version `before` has for the same field. A mask (`***`) keeps the
    /// credential of that version; the error lists the paths of masked fields without one.
    pub fn extract_credentials(
        &self,
        spec: &mut ToolSpec,
        before: Option<&ToolSpec>,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<Vec<(String, SecretString)>, Vec<String>> {
        match self.0.kinds.find(&spec.kind) {
            Ok(kind) => credentials::extract(kind.as_ref(), spec, before, &is_taken),
            // Preparing the definition reports the unknown kind.
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Prepares a stored version, even if it no longer passes the checks for saving.
    pub fn prepare_stored(&self, version: &ToolVersion) -> Result<PreparedTool, CallError> {
        let callable = self.0.kinds.prepare_stored(version.space_id, &version.id, &version.spec)?;
        Ok(PreparedTool { spec: version.spec.clone(), callable })
    }

    /// Prepares a definition that is visible in every space.
    fn prepare_shared(
        &self,
        spec: ToolSpec,
        native: Option<Arc<dyn Prepared>>,
    ) -> Result<PreparedTool, CallError> {
        let id = ToolId::Named(spec.name.clone());
        self.0.kinds.prepare(None, Some(&id), spec, native)
    }

    /// Returns the tools of one space: the shared ones, and its own.
    pub fn in_space(&self, space: SpaceId) -> SpaceTools<'_> {
        SpaceTools { engine: &self.0, space }
    }

    /// Cancels all running calls, and all later ones.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Accepts no more calls and waits until every record is written.
    pub async fn close(&self) {
        if let Some(recorder) = &self.0.recorder {
            recorder.close().await;
        }
    }
}

/// Admits a call. Uses a blocking thread if its arguments are large or its schemas are not compiled yet.
pub(crate) async fn admit_anywhere(
    entry: Arc<Entry>,
    arguments: Value,
    options: &CallOptions,
) -> Result<AdmittedCall, Refusal> {
    let is_light = |entry: &Entry| entry.input().is_ok_and(|input| input.steps(&arguments) <= HEAVY);
    if entry.is_compiled() && is_light(&entry) {
        return admit(entry, arguments, options);
    }
    let options = options.clone();
    let work = tokio::task::spawn_blocking(move || {
        // Compiled here as well, so that it is ready when the result is checked.
        let _ = entry.output();
        admit(entry, arguments, &options)
    });
    work.await.unwrap_or_else(|error| {
        let error =
            CallError::text(ErrorKind::Internal, "the arguments could not be checked").caused_by(error);
        Err(Refusal { error, arguments: Arc::default(), coerced: Vec::new() })
    })
}

/// Returns the caller that represents the embedding program.
pub(crate) fn local_caller() -> Caller {
    Caller {
        space: SpaceId::from(Uuid::nil()),
        user: None,
        source: Source::Library,
        locale: Locale::En,
        request: None,
    }
}
