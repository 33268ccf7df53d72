//! One QuickJS engine with mathjs in it, on the thread that made it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::Value;

/// CPU time for one expression.
const TIME: Duration = Duration::from_secs(1);

/// CPU time for loading mathjs; a debug build on a busy machine is slow.
const LOADING_TIME: Duration = Duration::from_secs(60);

/// For mathjs itself (about 9 MB) and one expression.
const MEMORY: usize = 64 << 20;

/// The thread's own stack must be larger: see `workers`.
const STACK: usize = 4 << 20;

/// After so many expressions a fresh engine takes over.
const USES: u32 = 2000;

const MATHJS: &str = include_str!(env!("HAFT_MATHJS_BUNDLE"));
/// The glue's function; expressions have no way to the engine's globals.
const EVALUATE: &str = "haftEvaluate";

const GLUE: &str = include_str!("glue.js");

/// What came of one expression.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Value {
        result: Value,
        text: String,
    },
    /// In mathjs's own words.
    Error(String),
    Limit(Limit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Limit {
    Time,
    Memory,
    Depth,
    Size,
}

/// What the glue writes.
#[derive(Deserialize)]
struct Written {
    result: Option<Value>,
    text: Option<String>,
    error: Option<String>,
    limit: Option<Limit>,
}

pub(crate) struct Engine {
    context: Context,
    until: Rc<Cell<Duration>>,
    uses: u32,
}

impl Engine {
    /// Loads mathjs, which takes a while. The error says why it could not.
    pub(crate) fn load() -> Result<Self, String> {
        let plain = |error: rquickjs::Error| error.to_string();
        let runtime = Runtime::new().map_err(plain)?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let until = Rc::new(Cell::new(cpu_time() + LOADING_TIME));
        let watched = until.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || cpu_time() > watched.get())));
        let context = Context::full(&runtime).map_err(plain)?;
        context.with(|ctx| install(&ctx).catch(&ctx).map_err(|error| error.to_string()))?;
        Ok(Self { context, until, uses: 0 })
    }

    /// Evaluates one expression. What it leaves behind, nobody else sees.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Answer {
        self.uses += 1;
        self.until.set(cpu_time() + TIME);
        let written = self.context.with(|ctx| -> Result<String, rquickjs::Error> {
            let evaluate: Function = ctx.globals().get(EVALUATE)?;
            let written = evaluate.call::<_, String>((expression,));
            if written.is_err() {
                // What was thrown stays with the engine otherwise.
                let _ = ctx.catch();
            }
            written
        });
        let over_time = cpu_time() > self.until.get();
        match written.ok().and_then(|text| serde_json::from_str::<Written>(&text).ok()) {
            Some(Written { limit: Some(limit), .. }) => {
                self.uses = USES;
                Answer::Limit(limit)
            }
            Some(Written { error: Some(words), .. }) => Answer::Error(words),
            Some(Written { result: Some(result), text: Some(text), .. }) => Answer::Value { result, text },
            // Interrupts and the last of memory cannot be caught in JavaScript.
            Some(_) | None => {
                self.uses = USES;
                Answer::Limit(if over_time { Limit::Time } else { Limit::Memory })
            }
        }
    }

    /// Whether another one should take over.
    pub(crate) fn is_worn(&self) -> bool {
        self.uses >= USES
    }
}

/// Runs mathjs's bundle and the glue, and keeps the one function that comes of them.
fn install<'js>(ctx: &Ctx<'js>) -> Result<(), rquickjs::Error> {
    ctx.eval::<(), _>(MATHJS)?;
    let library: rquickjs::Value<'js> = ctx.globals().get("math")?;
    let glue: Function<'js> = ctx.eval(GLUE)?;
    let evaluate: Function<'js> = glue.call((library,))?;
    ctx.globals().set(EVALUATE, evaluate)
}

/// The CPU time of this thread: a busy machine takes nothing from an expression.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_loads_and_answers() {
        let mut engine = Engine::load().expect("loaded");
        assert_eq!(engine.evaluate("1 + 1"), Answer::Value { result: 2.into(), text: "2".to_owned() });
    }
}
