//! Rust functions as tools: sync or async, told apart by what they return.

use std::any::Any;
use std::sync::Arc;

use haft_core::{Arguments, BoxFuture, CallContext, CallError, Effect, ErrorKind, Prepared, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a native function may return: a result, or a future of one. `M` only
/// keeps the two apart and is always inferred.
pub trait Answer<M>: Send + 'static {
    /// Whether calling the function does the work, and so may block.
    #[doc(hidden)]
    const RUN: Run;

    #[doc(hidden)]
    fn answer(self) -> BoxFuture<'static, anyhow::Result<Value>>;
}

/// Where a function runs.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    Inline,
    Blocking,
}

#[doc(hidden)]
pub struct Now<T>(std::marker::PhantomData<T>);

#[doc(hidden)]
pub struct Later<T>(std::marker::PhantomData<T>);

impl<T: Serialize + Send + 'static> Answer<Now<T>> for anyhow::Result<T> {
    const RUN: Run = Run::Blocking;

    fn answer(self) -> BoxFuture<'static, anyhow::Result<Value>> {
        let written = self.and_then(written);
        Box::pin(std::future::ready(written))
    }
}

impl<F, T> Answer<Later<T>> for F
where
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
    T: Serialize + 'static,
{
    const RUN: Run = Run::Inline;

    fn answer(self) -> BoxFuture<'static, anyhow::Result<Value>> {
        Box::pin(async move { written(self.await?) })
    }
}

/// A function's answer as JSON; what is JSON already is not copied.
fn written<T: Serialize + 'static>(answer: T) -> anyhow::Result<Value> {
    let mut answer = Some(answer);
    if let Some(json) = (&mut answer as &mut dyn Any).downcast_mut::<Option<Value>>() {
        return Ok(json.take().unwrap_or_default());
    }
    Ok(serde_json::to_value(answer)?)
}

/// A function with its argument type forgotten.
pub(crate) struct Native(Box<Function>);

type Function = dyn Fn(&Arguments, CallContext) -> Started + Send + Sync;

/// A function that was given its arguments.
enum Started {
    /// They could not be read as the argument type.
    Refused(serde_json::Error),
    Future(BoxFuture<'static, anyhow::Result<Value>>),
}

impl Native {
    pub(crate) fn new<A, F, R, M>(function: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Answer<M>,
        M: 'static,
    {
        let function = Arc::new(function);
        Self(Box::new(move |arguments, context| {
            let arguments: A = match arguments.read() {
                Ok(arguments) => arguments,
                Err(error) => return Started::Refused(error),
            };
            match R::RUN {
                Run::Inline => Started::Future(function(arguments, context).answer()),
                Run::Blocking => {
                    let function = function.clone();
                    Started::Future(Box::pin(async move {
                        match tokio::task::spawn_blocking(move || function(arguments, context)).await {
                            Ok(answer) => answer.answer().await,
                            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                            Err(error) => Err(error.into()),
                        }
                    }))
                }
            }
        }))
    }
}

impl Prepared for Native {
    /// A function of the program may do anything, so nothing is repeated unasked.
    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move {
            match (self.0)(arguments, context.clone()) {
                Started::Refused(error) => {
                    Err(CallError::text(ErrorKind::Validation, error.to_string()).that_did_nothing())
                }
                Started::Future(answer) => answer.await.map(ToolOutput::from).map_err(failure),
            }
        })
    }
}

/// A function's error: its own kind when it gives one, `Execution` otherwise.
fn failure(error: anyhow::Error) -> CallError {
    error.downcast::<CallError>().unwrap_or_else(|error| {
        let failure = CallError::text(ErrorKind::Execution, error.to_string());
        match error.chain().nth(1) {
            Some(cause) => failure.caused_by(cause.to_string()),
            None => failure,
        }
    })
}
