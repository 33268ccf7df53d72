//! A tool whose upstream takes jobs on: what its first answer means, asking again, being called back.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::artifact::SIGNATURE;
use haft_core::mask::Mask;
use haft_core::{
    Arguments, CallContext, CallError, CallbackBody, ErrorKind, Later as Parking, Message, ToolOutput,
};
use haft_egress::{Answer, Limits, Policy, Request};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::rules::Judged;
use super::{Later, Way};
use crate::fill::Filling;
use crate::tool::HttpTool;

haft_core::templates! {
    TOO_LONG = "http.jobTooLong",
        "{host} took the job on, and it was not over within {seconds} seconds",
        "{host} 已受理任务，但在 {seconds} 秒内没有完成";
    SECRET_ADDRESS = "http.secretInAddress",
        "{host} gives an address to ask at that holds a secret of this tool; it is not kept",
        "{host} 给出的查询地址中含有此工具的密钥，不予保存";
    NOT_KEPT = "http.stateUnreadable",
        "what is known of the job cannot be read",
        "无法读取任务的状态";
    NO_ONE_HEARS = "http.noCallbackHere",
        "callbackUrl needs a server that hears the callback: start one with haft serve and call the tool there",
        "callbackUrl 需要能接收回调的服务：请用 haft serve 启动服务后再调用";
}

/// The longest pause that an upstream may ask for.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is known of a job between two looks.
#[derive(Default, Serialize, Deserialize)]
struct Job {
    /// Where to ask; nothing where the upstream calls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// So long it was waited for, in milliseconds. No clock can change it.
    waited: u64,
}

/// Masks the signature of the address at which the upstream calls back: whoever knows it can bring a result.
pub(crate) fn callback_mask(context: &CallContext) -> Option<Mask> {
    let url = Url::parse(context.callback_url()?).ok()?;
    let signature = url.query_pairs().find(|(name, _)| name == SIGNATURE)?.1.into_owned();
    Some(Mask::new([signature.as_str()]))
}

impl HttpTool {
    /// Nobody calls back where nobody would hear it.
    pub(crate) fn check_callback(&self, context: &CallContext) -> Result<(), CallError> {
        let needs_one = matches!(&self.later, Some(Later { way: Way::Callback, .. }));
        if needs_one && context.callback_url().is_none() {
            return Err(CallError::new(ErrorKind::Validation, Message::new(&NO_ONE_HEARS)));
        }
        Ok(())
    }

    /// What the first answer means: the result, or that it comes later.
    pub(crate) async fn taken_on(
        &self,
        later: &Later,
        answer: Answer,
        masks: &[Arc<Mask>],
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ToolOutput, CallError> {
        let Way::Poll { address, interval } = &later.way else {
            // A failure is one; whatever else it says, the answer is the callback.
            self.shape.content(&answer, masks, self.limit)?;
            return parked(Job::default(), None, None);
        };
        let (answer, judged) = self.judge(later, answer, masks, context).await?;
        match judged {
            Judged::Done(output) => Ok(output),
            Judged::NotYet { said, progress } => {
                let url = address.find(&answer, &said, arguments.as_value(), context)?;
                if masks.iter().any(|mask| mask.text(url.as_str()) != url.as_str()) {
                    let message = Message::new(&SECRET_ADDRESS).with("host", answer.from.host_str());
                    return Err(CallError::new(ErrorKind::Permission, message));
                }
                let after = pause(&answer, *interval);
                parked(Job { url: Some(url.into()), waited: millis(after) }, Some(after), progress)
            }
        }
    }

    /// Looks at a job that was taken on.
    pub(crate) async fn look(
        &self,
        later: &Later,
        (state, came): (&Value, Option<&CallbackBody>),
        masks: &mut Vec<Arc<Mask>>,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ToolOutput, CallError> {
        // Of a job that was given by a process that is no more, nothing is known but that.
        let job = if state.is_null() { Ok(Job::default()) } else { Job::deserialize(state) };
        let job = job.map_err(unreadable)?;
        let answer = match (&job.url, came) {
            (Some(url), _) => {
                let url = Url::parse(url).map_err(unreadable)?;
                self.ask(&url, masks, arguments, context).await?
            }
            (None, Some(came)) => self.told(came),
            (None, None) => return Err(self.too_long(later)),
        };
        let (answer, judged) = self.judge(later, answer, masks, context).await?;
        let (progress, interval) = match (judged, &later.way) {
            (Judged::Done(output), _) => return Ok(output),
            (Judged::NotYet { progress, .. }, Way::Poll { interval, .. }) => (progress, *interval),
            (Judged::NotYet { progress, .. }, Way::Callback) => return parked(job, None, progress),
        };
        let after = pause(&answer, interval);
        let waited = job.waited.saturating_add(millis(after));
        if waited > millis(later.within) {
            return Err(self.too_long(later));
        }
        parked(Job { waited, ..job }, Some(after), progress)
    }

    fn too_long(&self, later: &Later) -> CallError {
        let message = Message::new(&TOO_LONG).with("host", self.to.host_str());
        let message = message.with("seconds", later.within.as_secs());
        CallError::new(ErrorKind::Timeout, message).that_must_not_be_repeated()
    }

    /// Asks how the job stands, as whoever gave it: at another origin, as nobody.
    async fn ask(
        &self,
        url: &Url,
        masks: &mut Vec<Arc<Mask>>,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<Answer, CallError> {
        if url.origin() != self.to.url().origin() {
            let limits = Limits { deadline: None, bytes: self.limit };
            let request = Request::new(Method::GET, url)?;
            let sent = self.egress.send(Policy::Tool(context.space(), &self.policy), request, limits).await;
            return sent.map_err(CallError::about_another_host);
        }
        let mut filling = Filling::to_send(arguments.as_value(), context);
        let (headers, path) = self.request.fill_credentials(&mut filling, url);
        filling.check()?;
        let mut request = Request::to(Method::GET, self.to.clone(), path)?;
        request.headers = headers;
        self.send_authorized(request, &mut filling, masks, context).await
    }

    /// A callback, as an answer.
    fn told(&self, came: &CallbackBody) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(kind) = came.content_type.as_deref().and_then(|kind| HeaderValue::from_str(kind).ok()) {
            headers.insert(CONTENT_TYPE, kind);
        }
        let body = STANDARD.decode(&came.body).unwrap_or_default();
        Answer::brought(headers, body.into(), self.to.clone())
    }

    async fn judge(
        &self,
        later: &Later,
        answer: Answer,
        masks: &[Arc<Mask>],
        context: &CallContext,
    ) -> Result<(Answer, Judged), CallError> {
        let (rules, limit) = (later.rules.clone(), self.limit);
        let judge = move |shape: &crate::response::Shape, answer: Answer, masks: &[Arc<Mask>]| {
            let judged = rules.judge(shape, &answer, masks, limit)?;
            Ok((answer, judged))
        };
        self.read(answer, masks, context, judge).await
    }
}

fn parked(
    job: Job,
    after: Option<Duration>,
    progress: Option<haft_core::Progress>,
) -> Result<ToolOutput, CallError> {
    let state = serde_json::to_value(job).map_err(unreadable)?;
    Ok(ToolOutput::later(Parking { state, after, progress }))
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&NOT_KEPT)).caused_by(error)
}

/// Until the next look: what the upstream asks for, or what the tool says.
fn pause(answer: &Answer, interval: Duration) -> Duration {
    let asked = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    asked.map_or(interval, |seconds| Duration::from_secs(seconds).max(interval)).min(LONGEST)
}

fn millis(pause: Duration) -> u64 {
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}
