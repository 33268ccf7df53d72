//! The calculator: gives the results of mathjs `evaluate()`, by running mathjs in an embedded QuickJS.
//!
//! The engine has no files and no network, and hard limits on time, memory and depth. It is loaded on first
//! use.

mod engine;
mod queue;
mod workers;

use haft_core::builtin::Builtin;
use haft_core::tool::Title;
use haft_core::{
    Arguments, BoxFuture, CallContext, CallError, ErrorKind, KindName, Message, Template, ToolName,
    ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

use crate::engine::{Evaluation, Limit};
use crate::workers::Workers;

haft_core::templates! {
    TOO_LONG = "calculator.time",
        "The expression takes more than 1 s to compute; try a smaller one",
        "表达式的计算超过 1 秒；请简化后再试";
    TOO_LARGE = "calculator.memory",
        "The expression needs more than 64 MB; try a smaller one",
        "表达式需要的内存超过 64 MB；请简化后再试";
    TOO_DEEP = "calculator.depth",
        "The expression is nested too deeply",
        "表达式嵌套过深";
    RESULT_TOO_LARGE = "calculator.size",
        "The result has more than 1,000,000 characters",
        "结果超过 1,000,000 个字符";
    BUSY = "calculator.busy",
        "The calculator has too many expressions of this space waiting. Try again in a moment.",
        "本空间等待计算的表达式过多；请稍后重试";
    BROKEN = "calculator.broken",
        "The calculator could not be started",
        "计算器无法启动";
}

/// Directory of the mathjs package at build time, for tests that run mathjs in Node.
#[doc(hidden)]
pub const MATHJS_DIR: &str = env!("HAFT_MATHJS_DIR");

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    TEMPLATES.to_vec()
}

/// Returns the built-in tool `calculator`. Creating it is cheap; the first call loads the engine.
pub fn calculator() -> Calculator {
    Calculator(Workers::default())
}

/// The built-in tool `calculator`. Created by [`calculator`].
pub struct Calculator(Workers);

impl Builtin for Calculator {
    fn spec(&self) -> ToolSpec {
        let about = "Evaluates a mathematical expression exactly. Use it for any arithmetic, units and conversions \
                     (12.7 cm to inch), percentages, trigonometry, statistics, complex numbers, matrices, fractions. \
                     Several expressions are separated by ; or new lines.";
        let mut spec = ToolSpec::new(ToolName::constant("calculator"), about, KindName::from("builtin"));
        spec.description_zh = Some(
            "精确计算数学表达式。用于任何算术、单位与换算（12.7 cm to inch）、百分比、三角函数、统计、复数、矩阵、分数。\
             多个表达式用 ; 或换行分隔。",
        );
        spec.title = Some(Title::Localized { en: "Calculator".to_owned(), zh: "计算器".to_owned() });
        spec.icon = Some("calculator".to_owned());
        spec.category = Some("math".to_owned());
        spec.input_schema = Some(json!({
            "type": "object",
            "properties": {"expression": {
                "type": "string", "minLength": 1, "maxLength": 10_000,
                "description": "The expression, in the syntax of mathjs: (10 * 5) + 2, sqrt(3^2 + 4^2), 5 km/h to m/s, det([-1, 2; 3, 1])",
            }},
            "required": ["expression"],
            "additionalProperties": false,
        }));
        spec.output_schema = Some(json!({
            "type": "object",
            "properties": {
                "expression": {"type": "string"},
                "result": {"type": ["number", "boolean", "string"], "description": "The value; text where JSON has no form for it."},
                "text": {"type": "string", "description": "The value as people read it, to 14 digits; whole numbers up to 15 digits are written out."},
            },
            "required": ["expression", "result", "text"],
        }));
        spec
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let expression = arguments.get("expression").and_then(Value::as_str).unwrap_or_default().to_owned();
        Box::pin(async move {
            match self.0.evaluate(context.space(), expression.clone()).await? {
                Evaluation::Value { result, text } => {
                    Ok(json!({"expression": expression, "result": result, "text": text}).into())
                }
                Evaluation::Error(message) => Err(CallError::text(ErrorKind::Execution, message)),
                Evaluation::Limit(limit) => {
                    let template = match limit {
                        Limit::Time => &TOO_LONG,
                        Limit::Memory => &TOO_LARGE,
                        Limit::Depth => &TOO_DEEP,
                        Limit::Size => &RESULT_TOO_LARGE,
                    };
                    Err(CallError::new(ErrorKind::Execution, Message::new(template)))
                }
            }
        })
    }
}
