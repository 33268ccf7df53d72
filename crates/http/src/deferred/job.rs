//! Deferred calls: interprets the first response, polls, and reads callbacks.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::artifact::SIGNATURE;
use haft_core::mask::Mask;
use haft_core::{
    Arguments, CallContext, CallError, CallbackBody, ErrorKind, Message, PendingResult as Parking, ToolOutput,
};
use haft_egress::{EgressResponse, Limits, Request, RequestPolicy};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::rules::JobState;
use super::{DeferredResult, Delivery};
use crate::fill::Filling;
use crate::tool::HttpTool;

haft_core::templates! {
    TOO_LONG = "http.jobTooLong",
        "{host} accepted the job but did not finish it within {seconds} seconds",
        "{host} 已受理任务，但在 {seconds} 秒内没有完成";
    SECRET_ADDRESS = "http.secretInAddress",
        "{host} returned a poll address that contains a secret of this tool, so it is not stored",
        "{host} 给出的查询地址中含有此工具的密钥，不予保存";
    BAD_STATE = "http.stateUnreadable",
        "The stored state of the job cannot be read",
        "无法读取任务的状态";
    NO_CALLBACKS = "http.noCallbackHere",
        "callbackUrl needs a server that receives the callback: start one with haft serve and call the tool there",
        "callbackUrl 需要能接收回调的服务：请用 haft serve 启动服务后再调用";
}

/// Maximum pause that an upstream may request.
const LONGEST: Duration = Duration::from_secs(3600);

/// The stored state of a job between two polls.
#[derive(Default, Serialize, Deserialize)]
struct Job {
    /// The poll address. `None` if the upstream calls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Total time waited so far, in milliseconds; independent of the clock.
    waited: u64,
}

/// Masks the signature in the callback address: it authorizes bringing a result.
pub(crate) fn callback_mask(context: &CallContext) -> Option<Mask> {
    let url = Url::parse(context.callback_url()?).ok()?;
    let signature = url.query_pairs().find(|(name, _)| name == SIGNATURE)?.1.into_owned();
    Some(Mask::new([signature.as_str()]))
}

impl HttpTool {
    /// Returns an error if the tool needs a callback address and the process cannot receive callbacks.
    pub(crate) fn check_callback(&self, context: &CallContext) -> Result<(), CallError> {
        let needs_one = matches!(&self.later, Some(DeferredResult { delivery: Delivery::Callback, .. }));
        if needs_one && context.callback_url().is_none() {
            return Err(CallError::new(ErrorKind::Validation, Message::new(&NO_CALLBACKS)));
        }
        Ok(())
    }

    /// Interprets the first response: the result, or a deferred call.
    pub(crate) async fn read_first_response(
        &self,
        later: &DeferredResult,
        answer: EgressResponse,
        masks: &[Arc<Mask>],
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ToolOutput, CallError> {
        let Delivery::Poll { address, interval } = &later.delivery else {
            // A failure ends the call; any other response only confirms the job, and the result comes by
            // callback.
            self.shape.content(&answer, masks, self.limit)?;
            return deferred(Job::default(), None, None);
        };
        let (answer, judged) = self.judge(later, answer, masks, context).await?;
        match judged {
            JobState::Done(output) => Ok(output),
            JobState::NotYet { response, progress } => {
                let url = address.find(&answer, &response, arguments.as_value(), context)?;
                if masks.iter().any(|mask| mask.text(url.as_str()) != url.as_str()) {
                    let message = Message::new(&SECRET_ADDRESS).with("host", answer.from.host_str());
                    return Err(CallError::new(ErrorKind::Permission, message));
                }
                let after = pause(&answer, *interval);
                deferred(Job { url: Some(url.into()), waited: millis(after) }, Some(after), progress)
            }
        }
    }

    /// Polls a job, or reads its callback.
    pub(crate) async fn check_job(
        &self,
        later: &DeferredResult,
        (state, came): (&Value, Option<&CallbackBody>),
        masks: &mut Vec<Arc<Mask>>,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ToolOutput, CallError> {
        // A job whose process crashed before it stored a state has none.
        let job = if state.is_null() { Ok(Job::default()) } else { Job::deserialize(state) };
        let job = job.map_err(unreadable)?;
        let answer = match (&job.url, came) {
            (Some(url), _) => {
                let url = Url::parse(url).map_err(unreadable)?;
                self.ask(&url, masks, arguments, context).await?
            }
            (None, Some(came)) => self.callback_response(came),
            (None, None) => return Err(self.too_long(later)),
        };
        let (answer, judged) = self.judge(later, answer, masks, context).await?;
        let (progress, interval) = match (judged, &later.delivery) {
            (JobState::Done(output), _) => return Ok(output),
            (JobState::NotYet { progress, .. }, Delivery::Poll { interval, .. }) => (progress, *interval),
            (JobState::NotYet { progress, .. }, Delivery::Callback) => return deferred(job, None, progress),
        };
        let after = pause(&answer, interval);
        let waited = job.waited.saturating_add(millis(after));
        if waited > millis(later.within) {
            return Err(self.too_long(later));
        }
        deferred(Job { waited, ..job }, Some(after), progress)
    }

    fn too_long(&self, later: &DeferredResult) -> CallError {
        let message = Message::new(&TOO_LONG).with("host", self.to.host_str());
        let message = message.with("seconds", later.within.as_secs());
        CallError::new(ErrorKind::Timeout, message).that_must_not_be_repeated()
    }

    /// Polls the job: with the tool's credentials at its own origin, without them at any other.
    async fn ask(
        &self,
        url: &Url,
        masks: &mut Vec<Arc<Mask>>,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<EgressResponse, CallError> {
        if url.origin() != self.to.url().origin() {
            let limits = Limits { deadline: None, bytes: self.limit };
            let request = Request::new(Method::GET, url)?;
            let sent =
                self.egress.send(RequestPolicy::Tool(context.space(), &self.policy), request, limits).await;
            return sent.map_err(CallError::about_another_host);
        }
        let mut filling = Filling::to_send(arguments.as_value(), context);
        let (headers, path) = self.request.fill_credentials(&mut filling, url);
        filling.check()?;
        let mut request = Request::to(Method::GET, self.to.clone(), path)?;
        request.headers = headers;
        self.send_authorized(request, &mut filling, masks, context).await
    }

    /// Converts a callback into a response.
    fn callback_response(&self, came: &CallbackBody) -> EgressResponse {
        let mut headers = HeaderMap::new();
        if let Some(kind) = came.content_type.as_deref().and_then(|kind| HeaderValue::from_str(kind).ok()) {
            headers.insert(CONTENT_TYPE, kind);
        }
        let body = STANDARD.decode(&came.body).unwrap_or_default();
        EgressResponse::delivered(headers, body.into(), self.to.clone())
    }

    async fn judge(
        &self,
        later: &DeferredResult,
        answer: EgressResponse,
        masks: &[Arc<Mask>],
        context: &CallContext,
    ) -> Result<(EgressResponse, JobState), CallError> {
        let (rules, limit) = (later.rules.clone(), self.limit);
        let judge = move |shape: &crate::response::Shape, answer: EgressResponse, masks: &[Arc<Mask>]| {
            let judged = rules.judge(shape, &answer, masks, limit)?;
            Ok((answer, judged))
        };
        self.read(answer, masks, context, judge).await
    }
}

fn deferred(
    job: Job,
    after: Option<Duration>,
    progress: Option<haft_core::Progress>,
) -> Result<ToolOutput, CallError> {
    let state = serde_json::to_value(job).map_err(unreadable)?;
    Ok(ToolOutput::deferred(Parking { state, after, progress }))
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&BAD_STATE)).caused_by(error)
}

/// The pause until the next poll: the upstream's `Retry-After`, but at least the tool's interval.
fn pause(answer: &EgressResponse, interval: Duration) -> Duration {
    let asked = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    asked.map_or(interval, |seconds| Duration::from_secs(seconds).max(interval)).min(LONGEST)
}

fn millis(pause: Duration) -> u64 {
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}
