//! Rust functions as tools: sync or async, selected by their return type.

use std::any::Any;
use std::sync::Arc;

use haft_core::{Arguments, BoxFuture, CallContext, CallError, Effect, ErrorKind, Prepared, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The return type of a native function: a result, or a future of one. `M` only distinguishes the two and is
/// always inferred.
pub trait NativeResult<M>: Send + 'static {
    /// The thread that runs the function. Calling a sync function does the work, so it may block.
    #[doc(hidden)]
    const EXECUTION: Execution;

    #[doc(hidden)]
    fn into_json_future(self) -> BoxFuture<'static, anyhow::Result<Value>>;
}

/// The thread that runs a function.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    Inline,
    Blocking,
}

#[doc(hidden)]
pub struct Immediate<T>(std::marker::PhantomData<T>);

#[doc(hidden)]
pub struct Async<T>(std::marker::PhantomData<T>);

impl<T: Serialize + Send + 'static> NativeResult<Immediate<T>> for anyhow::Result<T> {
    const EXECUTION: Execution = Execution::Blocking;

    fn into_json_future(self) -> BoxFuture<'static, anyhow::Result<Value>> {
        let json = self.and_then(to_json);
        Box::pin(std::future::ready(json))
    }
}

impl<F, T> NativeResult<Async<T>> for F
where
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
    T: Serialize + 'static,
{
    const EXECUTION: Execution = Execution::Inline;

    fn into_json_future(self) -> BoxFuture<'static, anyhow::Result<Value>> {
        Box::pin(async move { to_json(self.await?) })
    }
}

/// Converts a function's result to JSON. A result that is JSON already is not copied.
fn to_json<T: Serialize + 'static>(result: T) -> anyhow::Result<Value> {
    let mut result = Some(result);
    if let Some(json) = (&mut result as &mut dyn Any).downcast_mut::<Option<Value>>() {
        return Ok(json.take().unwrap_or_default());
    }
    Ok(serde_json::to_value(result)?)
}

/// A function with its argument type erased.
pub(crate) struct Native(Box<Function>);

type Function = dyn Fn(&Arguments, CallContext) -> Started + Send + Sync;

/// The state of a function after its arguments were read.
enum Started {
    /// The arguments do not match the argument type.
    Refused(serde_json::Error),
    Future(BoxFuture<'static, anyhow::Result<Value>>),
}

impl Native {
    pub(crate) fn new<A, F, R, M>(function: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: NativeResult<M>,
        M: 'static,
    {
        let function = Arc::new(function);
        Self(Box::new(move |arguments, context| {
            let arguments: A = match arguments.read() {
                Ok(arguments) => arguments,
                Err(error) => return Started::Refused(error),
            };
            match R::EXECUTION {
                Execution::Inline => Started::Future(function(arguments, context).into_json_future()),
                Execution::Blocking => {
                    let function = function.clone();
                    Started::Future(Box::pin(async move {
                        match tokio::task::spawn_blocking(move || function(arguments, context)).await {
                            Ok(result) => result.into_json_future().await,
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
    /// A function may do anything, so it is not repeated by default.
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
                Started::Future(result) => result.await.map(ToolOutput::from).map_err(failure),
            }
        })
    }
}

/// Converts a function's error: its own kind if it is a [`CallError`], `Execution` otherwise.
fn failure(error: anyhow::Error) -> CallError {
    error.downcast::<CallError>().unwrap_or_else(|error| {
        let failure = CallError::text(ErrorKind::Execution, error.to_string());
        match error.chain().nth(1) {
            Some(cause) => failure.caused_by(cause.to_string()),
            None => failure,
        }
    })
}
