//! A QuickJS engine with mathjs, bound to the thread that created it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::Value;

/// Maximum CPU time of one expression. The interrupt handler stops an infinite loop after it.
const MAX_CPU_TIME: Duration = Duration::from_secs(1);

/// Maximum CPU time for loading mathjs. A debug build on a busy machine is slow.
const MAX_LOADING_TIME: Duration = Duration::from_secs(60);

/// Maximum memory, for mathjs itself (about 9 MB) and one expression.
const MAX_MEMORY: usize = 64 << 20;

/// Maximum stack of the engine. The thread's own stack must be larger: see `workers`.
const MAX_STACK: usize = 4 << 20;

/// Number of expressions after which the engine is replaced.
const MAX_USES: u32 = 2000;

const MATHJS: &str = include_str!(env!("HAFT_MATHJS_BUNDLE"));
/// The function defined by the glue code. Expressions cannot access the engine's globals.
const EVALUATE: &str = "haftEvaluate";

const GLUE: &str = include_str!("glue.js");

/// The outcome of one expression.
#[derive(Debug, PartialEq)]
pub(crate) enum Evaluation {
    Value {
        result: Value,
        text: String,
    },
    /// The error message of mathjs.
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

/// The JSON output of the glue code.
#[derive(Deserialize)]
struct GlueOutput {
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
    /// Loads mathjs, which is slow. The error is the reason for a failure.
    pub(crate) fn load() -> Result<Self, String> {
        let plain = |error: rquickjs::Error| error.to_string();
        let runtime = Runtime::new().map_err(plain)?;
        runtime.set_memory_limit(MAX_MEMORY);
        runtime.set_max_stack_size(MAX_STACK);
        let until = Rc::new(Cell::new(cpu_time() + MAX_LOADING_TIME));
        let watched = until.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || cpu_time() > watched.get())));
        let context = Context::full(&runtime).map_err(plain)?;
        context.with(|ctx| install(&ctx).catch(&ctx).map_err(|error| error.to_string()))?;
        Ok(Self { context, until, uses: 0 })
    }

    /// Evaluates one expression, isolated from later ones.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Evaluation {
        self.uses += 1;
        self.until.set(cpu_time() + MAX_CPU_TIME);
        let written = self.context.with(|ctx| -> Result<String, rquickjs::Error> {
            let evaluate: Function = ctx.globals().get(EVALUATE)?;
            let written = evaluate.call::<_, String>((expression,));
            if written.is_err() {
                // Clear the exception, which would otherwise stay in the engine.
                let _ = ctx.catch();
            }
            written
        });
        let over_time = cpu_time() > self.until.get();
        match written.ok().and_then(|text| serde_json::from_str::<GlueOutput>(&text).ok()) {
            Some(GlueOutput { limit: Some(limit), .. }) => {
                self.uses = MAX_USES;
                Evaluation::Limit(limit)
            }
            Some(GlueOutput { error: Some(message), .. }) => Evaluation::Error(message),
            Some(GlueOutput { result: Some(result), text: Some(text), .. }) => {
                Evaluation::Value { result, text }
            }
            // JavaScript cannot catch interrupts and the final failure of an allocation.
            Some(_) | None => {
                self.uses = MAX_USES;
                Evaluation::Limit(if over_time { Limit::Time } else { Limit::Memory })
            }
        }
    }

    /// Returns true if the engine should be replaced.
    pub(crate) fn is_worn(&self) -> bool {
        self.uses >= MAX_USES
    }
}

/// Runs the mathjs bundle and the glue code, and stores the function that the glue code defines.
fn install<'js>(ctx: &Ctx<'js>) -> Result<(), rquickjs::Error> {
    ctx.eval::<(), _>(MATHJS)?;
    let library: rquickjs::Value<'js> = ctx.globals().get("math")?;
    let glue: Function<'js> = ctx.eval(GLUE)?;
    let evaluate: Function<'js> = glue.call((library,))?;
    ctx.globals().set(EVALUATE, evaluate)
}

/// Returns the CPU time of this thread, which does not depend on the load of the machine.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_loads_and_evaluates() {
        let mut engine = Engine::load().expect("loaded");
        assert_eq!(engine.evaluate("1 + 1"), Evaluation::Value { result: 2.into(), text: "2".to_owned() });
    }
}
