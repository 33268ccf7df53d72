//! The engine's face: register tools, look at them, call them.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{ProgressSink, RunMode};
use haft_core::mask::Mask;
use haft_core::schema::Admitted;
use haft_core::{
    Artifacts, Binding, CallError, CallOptions, Caller, ErrorKind, Locale, Message, Parked, Prepared, Reply,
    Secrets, Source, SpaceId, ToolExecutionResult, ToolId, ToolSpec, ToolVersion,
};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::admit::{AdmittedCall, Refusal, admit};
use crate::breaker::Breakers;
use crate::builder::Builder;
use crate::cache::AnswerCache;
use crate::catalogue::{Catalogue, Entry};
use crate::clock::now;
use crate::events::{CallEvent, Events};
use crate::execute::{execute, preview};
use crate::flight::{Flight, HEAVY};
use crate::prepare::{Kinds, PreparedTool};
use crate::record::{RecordQueue, Recorder};
use crate::secrets::{SecretSource, mask_for_record};
use crate::source::Loader;
use crate::space_tools::SpaceTools;
use crate::tool::Tool;

haft_core::templates! {
    CHANGED = "call.changed",
        "{tool} was changed while its answer was to come, and no longer says how; it is not sent again",
        "{tool} 在等待结果期间被修改，已无法得知如何获取结果；不会重新发送";
}

/// So long a call that is over waits for secrets that its record may not hold.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Tools, and the one way to call them. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ToolService(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) kinds: Kinds,
    pub(crate) catalogue: Catalogue,
    pub(crate) breakers: Option<Breakers>,
    pub(crate) cache: Option<AnswerCache>,
    pub(crate) limits_on: bool,
    pub(crate) events: Option<Events>,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) secrets: Option<Arc<dyn SecretSource>>,
    /// What calls share whose tools need none.
    pub(crate) no_secrets: Arc<Secrets>,
    pub(crate) artifacts: Option<Arc<dyn Artifacts>>,
    pub(crate) loader: Option<Loader>,
    pub(crate) local: Caller,
    /// Cancelled when calls under way shall end.
    pub(crate) stop: CancellationToken,
}

/// A call as it is asked for.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The tool's name or id.
    pub tool: String,
    pub arguments: Value,
    pub options: CallOptions,
}

/// How far a call came.
#[derive(Debug)]
pub enum Leg {
    Landed(ToolExecutionResult),
    /// Its answer comes later.
    Parked(Box<Parked>),
    /// Looking for the answer failed, and it may be looked for again; or nobody knows whether it was taken on, and
    /// somebody may call back. Nothing is on record of it.
    Missed(CallError),
}

impl ToolService {
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Adds a tool that every caller sees. A name that is taken is an error.
    pub fn register(&self, tool: impl Into<Tool>) -> Result<Arc<ToolVersion>, CallError> {
        let mut added = self.register_all([tool.into()])?;
        added.pop().ok_or_else(|| CallError::text(ErrorKind::Internal, "nothing was registered"))
    }

    /// Adds many tools at once: all of them, or none.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        let now = now();
        let mut prepared = Vec::new();
        for tool in tools {
            let (spec, native) = tool.into_parts()?;
            let tool = self.prepare_with(spec, native)?;
            let version = ToolVersion {
                // Code provides it, so its name is its id and stays the same over restarts.
                id: ToolId::Named(tool.spec.name.clone()),
                space_id: None,
                owner_id: None,
                spec: tool.spec.clone(),
                version: 1,
                created_at: now,
                updated_at: now,
            };
            prepared.push((version, tool));
        }
        self.0.catalogue.add_shared(prepared)
    }

    /// Takes a tool away that was registered; calls under way go on.
    pub fn unregister(&self, name: &str) -> Option<Arc<ToolVersion>> {
        self.0.catalogue.remove_shared(name)
    }

    pub fn get(&self, name: &str) -> Option<Arc<ToolVersion>> {
        self.in_space(self.0.local.space).get(name)
    }

    /// All tools, by name.
    pub fn list(&self) -> Vec<Arc<ToolVersion>> {
        self.in_space(self.0.local.space).list()
    }

    /// Says all that is wrong with a definition, and keeps nothing.
    pub fn validate(&self, tool: impl Into<Tool>) -> Result<(), CallError> {
        let (spec, native) = tool.into().into_parts()?;
        self.prepare_with(spec, native).map(drop)
    }

    /// Checks arguments as a call would, without making one.
    pub fn validate_arguments(
        &self,
        tool: &str,
        arguments: Value,
        options: &CallOptions,
    ) -> Result<Admitted, CallError> {
        let space = self.0.local.space;
        let Some(entry) = self.0.catalogue.find(space, tool) else {
            return Err(self.0.catalogue.unknown(space, tool));
        };
        match admit(entry, arguments, options) {
            Ok(AdmittedCall { arguments, coerced, ignored, .. }) => {
                Ok(Admitted { arguments, coerced, ignored })
            }
            Err(Refusal { error, .. }) => Err(error),
        }
    }

    /// Calls a tool for the program itself. A tool that fails is an `Ok` with a failed
    /// outcome; `Err` means that *we* failed.
    pub async fn execute(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolExecutionResult, CallError> {
        let request = CallRequest { tool: tool.to_owned(), arguments, options };
        self.call(&self.0.local, request).await
    }

    /// Runs one tool call: admit, execute with retries, record.
    ///
    /// Every caller comes through here: HTTP, MCP, chat, flows, runs, programs.
    pub async fn call(
        &self,
        caller: &Caller,
        request: CallRequest,
    ) -> Result<ToolExecutionResult, CallError> {
        match self.fly(caller, request, false).await? {
            Leg::Landed(result) => Ok(result),
            Leg::Parked(_) => Err(CallError::text(ErrorKind::Internal, "the call was parked")),
            Leg::Missed(error) => Err(error),
        }
    }

    /// The same for whoever keeps what is to be waited for: an answer that comes later parks the call, and the
    /// call goes on with [`CallOptions::resumed`].
    pub async fn leg(&self, caller: &Caller, request: CallRequest) -> Result<Leg, CallError> {
        self.fly(caller, request, true).await
    }

    async fn fly(&self, caller: &Caller, request: CallRequest, parks: bool) -> Result<Leg, CallError> {
        let CallRequest { tool, arguments, options } = request;
        let dry = options.run == RunMode::Dry;
        // A dry run calls nothing, so it leaves no trace.
        let place = match &self.0.recorder {
            Some(recorder) if !dry => Some(recorder.reserve().await?),
            _ => None,
        };
        self.make_ready(caller.space).await?;
        let events = self.0.events.as_ref().filter(|_| !dry);
        let (entry, missing) = match self.entry(caller.space, &tool, options.binding.as_deref()).await {
            Ok(entry) => (entry, None),
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // Nothing is called; what the record may not hold is known of the version that counts now.
            Err(error) => (self.0.catalogue.find(caller.space, &tool), Some(error)),
        };
        let mut flight = Flight::start(caller, &options, &tool, entry.clone(), events, place);
        if parks {
            flight.set_parking();
        }
        let entry = match (entry, missing) {
            (Some(entry), None) => entry,
            (_, missing) => {
                flight.refused(Arc::new(arguments), Vec::new());
                self.mask(&mut flight, caller).await;
                let error = missing.unwrap_or_else(|| self.0.catalogue.unknown(caller.space, &tool));
                return Ok(Leg::Landed(flight.land(Err(error))));
            }
        };
        if options.resumed.is_some() && entry.prepared.reply() == Reply::Now {
            let error =
                CallError::new(ErrorKind::Execution, Message::new(&CHANGED).with("tool", &entry.name));
            flight.refused(Arc::new(arguments), Vec::new());
            return Ok(Leg::Landed(flight.land(Err(error))));
        }
        let outcome = match admit_anywhere(entry, arguments, &options).await {
            Ok(mut call) => {
                flight.admitted(&mut call);
                if dry {
                    preview(&call, &flight).map(|shown| (Arc::new(shown), false))
                } else {
                    execute(&self.0, &call, &mut flight).await
                }
            }
            Err(Refusal { error, arguments, coerced }) => {
                flight.refused(arguments, coerced);
                Err(error)
            }
        };
        if let Some(parked) = flight.park() {
            return Ok(Leg::Parked(parked));
        }
        if let Err(error) = &outcome
            && flight.may_go_on(error)
        {
            flight.miss();
            return Ok(Leg::Missed(error.clone()));
        }
        // Refused, or answered from the cache: what it was given may hold a secret all the same.
        self.mask(&mut flight, caller).await;
        Ok(Leg::Landed(flight.land(outcome)))
    }

    /// The tool that is meant, in the version that is.
    pub(crate) async fn entry(
        &self,
        space: SpaceId,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<Arc<Entry>>, CallError> {
        let Some(live) = self.0.catalogue.find(space, tool) else { return Ok(None) };
        let pinned = binding.and_then(|binding| binding.version);
        let Some(pinned) = pinned.filter(|pinned| *pinned != live.version.version) else {
            return Ok(Some(live));
        };
        match (self.0.catalogue.pinned(&live, pinned), &self.0.loader) {
            (Some(entry), _) => Ok(Some(entry)),
            // In a box: most calls need none of the room it takes.
            (None, Some(loader)) => {
                let loading = loader.pin(space, &live, pinned, &self.0.catalogue, &self.0.kinds);
                Box::pin(loading).await.map(Some)
            }
            // Where nothing is kept there is one version of each.
            (None, None) => Ok(Some(live)),
        }
    }

    /// The same as it is written down.
    pub async fn version(
        &self,
        space: SpaceId,
        tool: &str,
        binding: Option<&Binding>,
    ) -> Result<Option<Arc<ToolVersion>>, CallError> {
        self.make_ready(space).await?;
        Ok(self.entry(space, tool, binding).await?.map(|entry| entry.version.clone()))
    }

    /// Looks up what the record of a call may not hold, where nobody has.
    pub(crate) async fn mask(&self, flight: &mut Flight<'_>, caller: &Caller) {
        if let Some(entry) = flight.unmasked().cloned() {
            flight.masked_by(self.find_mask(&entry, caller).await);
        }
    }

    /// What takes the secrets of a tool out of anything; nothing when nobody can tell them now.
    pub(crate) async fn find_mask(&self, entry: &Entry, caller: &Caller) -> Option<Arc<Mask>> {
        let looking = mask_for_record(self.0.secrets.as_deref(), entry, caller);
        timeout(LOOK_UP, Box::pin(looking)).await.ok().flatten()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Loads the tools of a space, if that has not been done yet.
    pub async fn make_ready(&self, space: SpaceId) -> Result<(), CallError> {
        match &self.0.loader {
            Some(loader) if !self.0.catalogue.has_space(space) => {
                Box::pin(loader.make_ready(space, &self.0.catalogue, &self.0.kinds)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Brings the tools of a space up to date with where they are kept.
    pub async fn renew(&self, space: SpaceId) -> Result<(), CallError> {
        match &self.0.loader {
            Some(loader) => loader.renew(space, &self.0.catalogue, &self.0.kinds).await,
            None => Ok(()),
        }
    }

    /// Events of calls from now on; nothing when the builder left events off.
    pub fn subscribe(&self) -> Option<broadcast::Receiver<Arc<CallEvent>>> {
        self.0.events.as_ref().map(Events::subscribe)
    }

    /// So many listen to events of calls right now.
    pub fn subscribers(&self) -> usize {
        self.0.events.as_ref().map_or(0, Events::subscribers)
    }

    /// How full the way of records to the sink is; nothing when there is no sink.
    pub fn record_queue(&self) -> Option<RecordQueue> {
        self.0.recorder.as_ref().map(Recorder::queue)
    }

    /// Keys of the circuits of all spaces that are open or half-open.
    pub fn open_circuits(&self) -> Vec<(SpaceId, String)> {
        let breakers = self.0.breakers.as_ref();
        breakers.map(|breakers| breakers.not_closed(Instant::now())).unwrap_or_default()
    }

    /// Makes a definition callable, or says all that is wrong with it. It costs time: keep it off async threads.
    pub fn prepare(&self, spec: ToolSpec) -> Result<PreparedTool, CallError> {
        self.prepare_with(spec, None)
    }

    /// Makes a stored definition callable, even if it could not be saved any more.
    pub fn prepare_stored(&self, spec: ToolSpec) -> Result<PreparedTool, CallError> {
        let callable = self.0.kinds.prepare_stored(&spec)?;
        Ok(PreparedTool { spec, callable })
    }

    fn prepare_with(
        &self,
        spec: ToolSpec,
        native: Option<Arc<dyn Prepared>>,
    ) -> Result<PreparedTool, CallError> {
        self.0.kinds.prepare(spec, native)
    }

    /// The tools of one space: those that everyone sees, and its own.
    pub fn in_space(&self, space: SpaceId) -> SpaceTools<'_> {
        SpaceTools { engine: &self.0, space }
    }

    /// Cancels every call under way, and all that come.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Takes no more calls and waits until every record of those made is written.
    pub async fn close(&self) {
        if let Some(recorder) = &self.0.recorder {
            recorder.close().await;
        }
    }
}

/// Admits a call, on a thread of its own when its arguments take long to check or its schemas are not compiled yet.
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
        // Compiled here, so that it is ready when the result is checked.
        let _ = entry.output();
        admit(entry, arguments, &options)
    });
    work.await.unwrap_or_else(|error| {
        let error =
            CallError::text(ErrorKind::Internal, "the arguments could not be checked").caused_by(error);
        Err(Refusal { error, arguments: Arc::default(), coerced: Vec::new() })
    })
}

/// The caller that a program is to itself.
pub(crate) fn local_caller() -> Caller {
    Caller {
        space: SpaceId::from(Uuid::nil()),
        user: None,
        source: Source::Library,
        locale: Locale::En,
        request: None,
    }
}
