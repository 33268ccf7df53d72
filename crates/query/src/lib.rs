//! JMESPath with limits on depth, work and result size.

use std::collections::BTreeMap;

use haft_core::{Message, Template};
use jmespath::ast::Ast;
use jmespath::{Context, DEFAULT_RUNTIME, JmespathError, Rcvar, Variable};
use serde_json::Value;

haft_core::templates! {
    TOO_TALL = "query.tooTall",
        "JMESPath: more than {limit} nested operators; use fewer",
        "JMESPath: 相互嵌套的运算符超过 {limit} 个；请减少";
    TOO_LARGE = "query.tooLarge",
        "The result would have more than {values} values or {characters} characters",
        "结果将超过 {values} 个值或 {characters} 个字符";
    REFUSED = "query.refused",
        "JMESPath: {reason} (column {column})",
        "JMESPath: {reason} (第 {column} 列)";
    NO_FUNCTION = "query.noFunction",
        "JMESPath: there is no function {name}",
        "JMESPath: 没有函数 {name}";
    NO_STEP = "query.noStep",
        "JMESPath: the step of a slice cannot be 0",
        "JMESPath: 切片的步长不能为 0";
    TOO_DEEP = "query.tooDeep",
        "JMESPath: the result would be nested {depth} levels deep; at most {limit}",
        "JMESPath: 结果将嵌套 {depth} 层；最多 {limit} 层";
    TOO_MUCH = "query.tooMuch",
        "JMESPath: the expression takes too many steps on this object",
        "JMESPath: 表达式在此对象上的计算步骤过多";
}

/// Maximum number of nested operators. The JMESPath parser recurses for each.
const MAX_HEIGHT: usize = 100;

/// Limits on the values visited and created by one query.
const QUERY: Budget = Budget { values: 4_000_000, characters: 16_000_000 };

/// Maximum depth of a result. Deeper ones could not be passed to the next tool.
const MAX_DEPTH: usize = 120;

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    TEMPLATES.to_vec()
}

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Query {
    expression: String,
    ast: Ast,
}

/// The maximum size of a result.
#[derive(Debug, Clone, Copy)]
pub struct ResultLimits {
    pub values: usize,
    pub characters: usize,
}

impl Query {
    pub fn parse(expression: &str) -> Result<Self, Message> {
        if height(expression) > MAX_HEIGHT {
            return Err(Message::new(&TOO_TALL).with("limit", MAX_HEIGHT));
        }
        let ast = jmespath::parse(expression).map_err(rejection)?;
        Ok(Self { expression: expression.to_owned(), ast })
    }

    /// Evaluates the expression on a value.
    pub fn run(&self, value: &Value, most: ResultLimits) -> Result<Value, Message> {
        let data = Rcvar::new(Variable::from_serializable(value).map_err(rejection)?);
        let context = Context::new(&self.expression, &DEFAULT_RUNTIME);
        let found = Search { context, budget: QUERY }.run(&data, &self.ast)?;
        let ResultLimits { values, characters } = most;
        if (Budget { values, characters }).take_all(&found).is_none() {
            return Err(Message::new(&TOO_LARGE).with("values", values).with("characters", characters));
        }
        let found = serde_json::to_value(&*found).map_err(|error| Message::verbatim(error.to_string()))?;
        let depth = haft_core::json::size(&found).depth;
        if depth > MAX_DEPTH {
            return Err(Message::new(&TOO_DEEP).with("depth", depth).with("limit", MAX_DEPTH));
        }
        Ok(found)
    }
}

fn rejection(error: JmespathError) -> Message {
    Message::new(&REFUSED).with("reason", error.reason).with("column", error.column + 1)
}

/// Returns the maximum number of nested operators in an expression.
fn height(expression: &str) -> usize {
    let mut outer = Vec::new();
    let (mut tallest, mut height) = (0_usize, 0_usize);
    let mut characters = expression.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\'' | '`' => {
                while let Some(quoted) = characters.next().filter(|quoted| *quoted != character) {
                    if quoted == '\\' {
                        characters.next();
                    }
                }
            }
            '(' | '[' | '{' => {
                outer.push((tallest, height + 1));
                (tallest, height) = (0, 0);
            }
            ')' | ']' | '}' => {
                let (before, under) = outer.pop().unwrap_or_default();
                (tallest, height) = (before, under + tallest.max(height));
            }
            ',' => (tallest, height) = (tallest.max(height), 0),
            '|' | '&' => {
                characters.next_if_eq(&character);
                height += 1;
            }
            '!' | '<' | '>' | '=' => {
                characters.next_if_eq(&'=');
                height += 1;
            }
            '.' | '*' => height += 1,
            _ => {}
        }
    }
    outer.into_iter().rev().fold(tallest.max(height), |inner, (before, under)| before.max(under + inner))
}

struct Budget {
    values: usize,
    characters: usize,
}

impl Budget {
    fn take(&mut self, values: usize, characters: usize) -> Option<()> {
        self.values = self.values.checked_sub(values)?;
        self.characters = self.characters.checked_sub(characters)?;
        Some(())
    }

    /// Takes the size of a value with all its parts. A shared part counts each time it occurs.
    fn take_all(&mut self, value: &Variable) -> Option<()> {
        match value {
            Variable::Null | Variable::Bool(_) | Variable::Number(_) | Variable::Expref(_) => self.take(1, 0),
            Variable::String(text) => self.take(1, text.chars().count()),
            Variable::Array(items) => {
                self.take(1, 0)?;
                items.iter().try_for_each(|item| self.take_all(item))
            }
            Variable::Object(fields) => {
                self.take(1, fields.keys().map(|name| name.chars().count()).sum())?;
                fields.values().try_for_each(|value| self.take_all(value))
            }
        }
    }
}

/// Evaluates a query like the JMESPath crate does, within a budget. A short expression can double its result
/// repeatedly, and the interpreter of the crate has no limit.
struct Search<'e> {
    context: Context<'e>,
    budget: Budget,
}

impl Search<'_> {
    fn run(&mut self, data: &Rcvar, node: &Ast) -> Result<Rcvar, Message> {
        self.spend(1)?;
        Ok(match node {
            Ast::Identity { .. } => data.clone(),
            Ast::Literal { value, .. } => value.clone(),
            Ast::Field { name, .. } => data.get_field(name),
            Ast::Index { idx, .. } => match usize::try_from(*idx) {
                Ok(index) => data.get_index(index),
                Err(_) => data.get_negative_index(idx.unsigned_abs() as usize),
            },
            Ast::Slice { start, stop, step, .. } => self.slice(data, *start, *stop, *step)?,
            Ast::Subexpr { lhs, rhs, .. } => {
                let left = self.run(data, lhs)?;
                self.run(&left, rhs)?
            }
            Ast::Or { lhs, rhs, .. } => {
                let left = self.run(data, lhs)?;
                if left.is_truthy() { left } else { self.run(data, rhs)? }
            }
            Ast::And { lhs, rhs, .. } => {
                let left = self.run(data, lhs)?;
                if left.is_truthy() { self.run(data, rhs)? } else { left }
            }
            Ast::Not { node, .. } => Rcvar::new(Variable::Bool(!self.run(data, node)?.is_truthy())),
            Ast::Condition { predicate, then, .. } => {
                if self.run(data, predicate)?.is_truthy() {
                    self.run(data, then)?
                } else {
                    null()
                }
            }
            Ast::Comparison { comparator, lhs, rhs, .. } => {
                let (left, right) = (self.run(data, lhs)?, self.run(data, rhs)?);
                self.look_at(&left)?;
                self.look_at(&right)?;
                left.compare(comparator, &right).map_or_else(null, |holds| Rcvar::new(Variable::Bool(holds)))
            }
            Ast::ObjectValues { node, .. } => {
                let subject = self.run(data, node)?;
                let Some(fields) = subject.as_object() else { return Ok(null()) };
                self.spend(fields.len())?;
                list(fields.values().cloned().collect())
            }
            Ast::Projection { lhs, rhs, .. } => {
                let left = self.run(data, lhs)?;
                let Some(items) = left.as_array() else { return Ok(null()) };
                let mut found = Vec::new();
                for item in items {
                    let value = self.run(item, rhs)?;
                    if !value.is_null() {
                        found.push(value);
                    }
                }
                list(found)
            }
            Ast::Flatten { node, .. } => {
                let subject = self.run(data, node)?;
                let Some(items) = subject.as_array() else { return Ok(null()) };
                let mut flat = Vec::new();
                for item in items {
                    let inner = item.as_array().map_or(std::slice::from_ref(item), Vec::as_slice);
                    self.spend(inner.len() + 1)?;
                    flat.extend_from_slice(inner);
                }
                list(flat)
            }
            Ast::MultiList { .. } | Ast::MultiHash { .. } if data.is_null() => null(),
            Ast::MultiList { elements, .. } => {
                let values: Result<Vec<Rcvar>, Message> =
                    elements.iter().map(|element| self.run(data, element)).collect();
                list(values?)
            }
            Ast::MultiHash { elements, .. } => {
                // A map takes as much memory as several values, even if it is small.
                self.spend(8)?;
                let mut fields = BTreeMap::new();
                for element in elements {
                    fields.insert(element.key.clone(), self.run(data, &element.value)?);
                }
                Rcvar::new(Variable::Object(fields))
            }
            Ast::Function { name, args, offset } => {
                let values: Result<Vec<Rcvar>, Message> =
                    args.iter().map(|arg| self.run(data, arg)).collect();
                let values = values?;
                self.context.offset = *offset;
                self.call(name, &values)?
            }
            Ast::Expref { ast, .. } => {
                // The tree is copied, at a cost proportional to the length of the expression.
                self.spend(self.context.expression.len() / 4)?;
                Rcvar::new(Variable::Expref(Ast::clone(ast)))
            }
        })
    }

    /// Calls a function. If it takes an expression, the expression is evaluated for each item beforehand,
    /// within the budget, and the function gets pairs of value and item with an expression that only selects
    /// the value.
    fn call(&mut self, name: &str, args: &[Rcvar]) -> Result<Rcvar, Message> {
        for arg in args {
            self.look_at(arg)?;
        }
        if let ("join", [glue, parts]) = (name, args) {
            let between = glue.as_string().map_or(0, String::len) * parts.as_array().map_or(0, Vec::len);
            self.budget.take(0, between).ok_or_else(too_much)?;
        }
        let by = match (name, args) {
            ("map", [by, items]) | ("sort_by" | "min_by" | "max_by", [items, by]) => {
                items.as_array().zip(by.as_expref())
            }
            _ => None,
        };
        let Some((items, by)) = by else { return self.evaluate(name, args) };
        let mut pairs = Vec::with_capacity(items.len());
        for item in items {
            pairs.push(list(vec![self.run(item, by)?, item.clone()]));
        }
        let pairs = list(pairs);
        let [first, second] = [0, 1].map(|idx| Rcvar::new(Variable::Expref(Ast::Index { offset: 0, idx })));
        if name == "map" {
            return self.evaluate("map", &[first, pairs]);
        }
        let found = self.evaluate(name, &[pairs, first])?;
        if name == "sort_by" { self.evaluate("map", &[second, found]) } else { Ok(found.get_index(1)) }
    }

    fn evaluate(&mut self, name: &str, args: &[Rcvar]) -> Result<Rcvar, Message> {
        match DEFAULT_RUNTIME.get_function(name) {
            Some(function) => function.evaluate(args, &mut self.context).map_err(rejection),
            None => Err(Message::new(&NO_FUNCTION).with("name", name)),
        }
    }

    /// Slices an array. The implementation in the crate overflows for large steps.
    fn slice(
        &mut self,
        data: &Rcvar,
        start: Option<i32>,
        stop: Option<i32>,
        step: i32,
    ) -> Result<Rcvar, Message> {
        if step == 0 {
            return Err(Message::new(&NO_STEP));
        }
        let Some(items) = data.as_array() else { return Ok(null()) };
        self.spend(items.len())?;
        let (length, step) = (items.len() as i64, i64::from(step));
        let position = |at: i32| {
            let at = if at < 0 { i64::from(at) + length } else { i64::from(at) };
            if step > 0 { at.clamp(0, length) } else { at.clamp(-1, length - 1) }
        };
        let (first, end) = if step > 0 { (0, length) } else { (length - 1, -1) };
        let (mut at, end) = (start.map_or(first, position), stop.map_or(end, position));
        let mut found = Vec::new();
        while (step > 0 && at < end) || (step < 0 && at > end) {
            found.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
            at += step;
        }
        Ok(list(found))
    }

    fn spend(&mut self, values: usize) -> Result<(), Message> {
        self.budget.take(values, 0).ok_or_else(too_much)
    }

    fn look_at(&mut self, value: &Variable) -> Result<(), Message> {
        self.budget.take_all(value).ok_or_else(too_much)
    }
}

fn too_much() -> Message {
    Message::new(&TOO_MUCH)
}

fn null() -> Rcvar {
    Rcvar::new(Variable::Null)
}

fn list(items: Vec<Rcvar>) -> Rcvar {
    Rcvar::new(Variable::Array(items))
}
