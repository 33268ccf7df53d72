//! What a schema may cost, found by counting work when it is saved, never by a clock.
//!
//! The schema is read as a graph: an edge either applies another schema to the
//! same value (`allOf`, `$ref`, …) or to a value one level below (`properties`,
//! `items`, …). From it follows how many schemas are applied along one path of
//! a value of a given depth. That is what doubling references blow up.

use std::collections::HashMap;

use serde_json::Value;

use crate::{Message, Violation, json};

use super::violation::dotted;

/// Values nested deeper than this never reach a schema: JSON itself is refused there.
pub(super) const DEEPEST_VALUE: usize = 128;

const LARGEST_SCHEMA: usize = 256 * 1024;
const DEEPEST_SCHEMA: usize = 64;
const MOST_REFERENCES: usize = 256;
const LARGEST_ENUM: usize = 2_000;

/// Schemas applied along one path of a value, at most.
const MOST_WORK: u64 = 100_000;

/// Schemas applied to all parts of a value together, at most.
const MOST_STEPS: u64 = 100_000_000;

/// A schema that cannot check values of at least this depth within its budget is refused.
const SHALLOWEST: usize = 8;

crate::templates! {
    TOO_LARGE = "schema.tooLarge",
        "the schema has {size} bytes; at most {limit}",
        "模式有 {size} 字节，最多 {limit}";
    TOO_DEEP = "schema.tooDeep",
        "the schema is nested {depth} levels deep; at most {limit}",
        "模式嵌套了 {depth} 层，最多 {limit}";
    TOO_MANY_REFERENCES = "schema.tooManyRefs",
        "the schema has more than {limit} $refs",
        "模式中的 $ref 超过 {limit} 个";
    TOO_COSTLY = "schema.tooCostly",
        "checking one value against this schema can take more than {limit} steps; use fewer nested $refs and alternatives",
        "用此模式校验一个值可能超过 {limit} 步；请减少嵌套的 $ref 和分支";
    ENDLESS = "schema.endless",
        "refers back to itself without looking any deeper into the value",
        "在没有深入值内部的情况下引用了自身";
    ENUM_TOO_LARGE = "schema.enumTooLarge",
        "has {count} values; at most {limit}",
        "有 {count} 个值，最多 {limit} 个";
    REMOTE_REFERENCE = "schema.remoteRef",
        "{reference} points outside this schema; only local references such as #/$defs/name are followed",
        "{reference} 指向模式之外；只支持 #/$defs/name 这样的本地引用";
    UNRESOLVED_REFERENCE = "schema.unresolvedRef",
        "{reference} points to nothing in this schema",
        "{reference} 在此模式中不存在";
    NESTED_ID = "schema.nestedId",
        "a nested $id would move the base of local references; use $anchor or a path instead",
        "嵌套的 $id 会改变本地引用的基准；请改用 $anchor 或路径";
}

/// What checking values costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Deeper values are not checked.
    pub(super) deepest: usize,
    /// The most schemas that are applied along one path of a value.
    pub(super) steps: u64,
}

impl Cost {
    /// The largest value that is checked.
    pub(super) fn most_values(self) -> usize {
        usize::try_from(MOST_STEPS / self.steps.max(1)).unwrap_or(usize::MAX)
    }
}

/// Says what checking values against this schema costs, or why it is refused.
pub(super) fn check(schema: &Value) -> Result<Cost, Vec<Violation>> {
    let refuse = |path: &str, message| Err(vec![Violation::new(dotted(path), message)]);
    let depth = json::size(schema).depth;
    if depth > DEEPEST_SCHEMA {
        return refuse("", Message::new(&TOO_DEEP).with("depth", depth).with("limit", DEEPEST_SCHEMA));
    }
    let size = schema.to_string().len();
    if size > LARGEST_SCHEMA {
        return refuse("", Message::new(&TOO_LARGE).with("size", size).with("limit", LARGEST_SCHEMA));
    }
    let graph = Graph::of(schema)?;
    let order = graph.in_place_order()?;
    let cost = graph.cost(&order);
    if cost.deepest < SHALLOWEST {
        return refuse("", Message::new(&TOO_COSTLY).with("limit", MOST_WORK));
    }
    Ok(cost)
}

struct Graph {
    nodes: Vec<Node>,
}

/// One schema, and which others it applies to what.
#[derive(Default)]
struct Node {
    /// A JSON pointer into the document.
    pointer: String,
    own_work: u64,
    /// Applied to the same value.
    in_place: Vec<usize>,
    /// Applied to one named property each.
    properties: Vec<usize>,
    /// Applied to any property, beside the named ones.
    every_property: Vec<usize>,
    /// Applied to one array position each.
    positions: Vec<usize>,
    /// Applied to any array item, beside the positions.
    every_item: Vec<usize>,
}

impl Graph {
    fn of(root: &Value) -> Result<Self, Vec<Violation>> {
        let draft_4 =
            root.get("$schema").and_then(Value::as_str).is_some_and(|name| name.contains("draft-04"));
        let mut builder =
            Builder { root, draft_4, nodes: Vec::new(), seen: HashMap::new(), waiting: Vec::new() };
        builder.node(root, String::new());
        let mut references = Vec::new();
        let mut anchors = HashMap::new();
        let mut violations = Vec::new();
        let mut resolved = 0;
        loop {
            while let Some((index, schema)) = builder.waiting.pop() {
                builder.read(index, schema, &mut references, &mut anchors, &mut violations);
            }
            if references.len() > MOST_REFERENCES {
                violations.push(Violation::new(
                    dotted(""),
                    Message::new(&TOO_MANY_REFERENCES).with("limit", MOST_REFERENCES),
                ));
                break;
            }
            // References may lead to places that no keyword does, with further references there.
            let Some((from, reference)) = references.get(resolved) else { break };
            match builder.resolve(reference, &anchors) {
                Ok(target) => builder.nodes[*from].in_place.push(target),
                Err(message) => {
                    violations.push(Violation::new(
                        dotted(&format!("{}/$ref", builder.nodes[*from].pointer)),
                        message,
                    ));
                }
            }
            resolved += 1;
        }
        if violations.is_empty() { Ok(Self { nodes: builder.nodes }) } else { Err(violations) }
    }

    /// The nodes in such an order that a node comes after all it applies to the same value.
    fn in_place_order(&self) -> Result<Vec<usize>, Vec<Violation>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.pop() {
                if next == 0 {
                    if marks[node] == Mark::Done {
                        continue;
                    }
                    marks[node] = Mark::Open;
                }
                match self.nodes[node].in_place.get(next) {
                    Some(&child) if marks[child] == Mark::Open => {
                        return Err(vec![Violation::new(
                            dotted(&self.nodes[node].pointer),
                            Message::new(&ENDLESS),
                        )]);
                    }
                    Some(&child) => path.extend([(node, next + 1), (child, 0)]),
                    None => {
                        marks[node] = Mark::Done;
                        order.push(node);
                    }
                }
            }
        }
        Ok(order)
    }

    /// Counts the schemas applied along one path, for deeper and deeper values, until the budget is spent.
    fn cost(&self, order: &[usize]) -> Cost {
        let mut below = vec![0_u64; self.nodes.len()];
        let mut steps = 0;
        for depth in 0..=DEEPEST_VALUE {
            let mut work = vec![0_u64; self.nodes.len()];
            for &index in order {
                let node = &self.nodes[index];
                let sum = |children: &[usize]| {
                    children.iter().map(|&child| below[child]).fold(0, u64::saturating_add)
                };
                let most = |children: &[usize]| children.iter().map(|&child| below[child]).max().unwrap_or(0);
                let object = most(&node.properties).saturating_add(sum(&node.every_property));
                let array = most(&node.positions).saturating_add(sum(&node.every_item));
                let in_place = node.in_place.iter().map(|&child| work[child]);
                work[index] =
                    in_place.fold(node.own_work, u64::saturating_add).saturating_add(object.max(array));
            }
            let root = work.first().copied().unwrap_or(0);
            if root > MOST_WORK {
                return Cost { deepest: depth.saturating_sub(1), steps };
            }
            steps = root;
            if work == below {
                break;
            }
            below = work;
        }
        Cost { deepest: DEEPEST_VALUE, steps }
    }
}

struct Builder<'a> {
    root: &'a Value,
    /// Where `id` is what `$id` is elsewhere.
    draft_4: bool,
    nodes: Vec<Node>,
    /// Which node stands for the schema at an address; the document does not move while it is read.
    seen: HashMap<*const Value, usize>,
    waiting: Vec<(usize, &'a Value)>,
}

impl<'a> Builder<'a> {
    fn node(&mut self, schema: &'a Value, pointer: String) -> usize {
        let index = *self.seen.entry(std::ptr::from_ref(schema)).or_insert(self.nodes.len());
        if index == self.nodes.len() {
            self.nodes.push(Node { pointer, own_work: 1, ..Node::default() });
            self.waiting.push((index, schema));
        }
        index
    }

    fn read(
        &mut self,
        index: usize,
        schema: &'a Value,
        references: &mut Vec<(usize, String)>,
        anchors: &mut HashMap<&'a str, usize>,
        violations: &mut Vec<Violation>,
    ) {
        let Value::Object(keywords) = schema else { return };
        for (keyword, value) in keywords {
            let pointer = format!("{}/{}", self.nodes[index].pointer, escape(keyword));
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    references.push((index, reference.clone()));
                }
                ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                    anchors.insert(name, index);
                }
                ("$id" | "id", Value::String(id)) if index != 0 && (keyword == "$id" || self.draft_4) => {
                    match id.strip_prefix('#') {
                        Some(name) => {
                            anchors.insert(name, index);
                        }
                        None => violations.push(Violation::new(dotted(&pointer), Message::new(&NESTED_ID))),
                    }
                }
                ("enum", Value::Array(values)) => {
                    if values.len() > LARGEST_ENUM {
                        let message = Message::new(&ENUM_TOO_LARGE)
                            .with("count", values.len())
                            .with("limit", LARGEST_ENUM);
                        violations.push(Violation::new(dotted(&pointer), message));
                    }
                    self.nodes[index].own_work += values.len() as u64;
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    let children = self.list(schemas, &pointer);
                    self.nodes[index].in_place.extend(children);
                }
                ("not" | "if" | "then" | "else", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].in_place.push(child);
                }
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    let children = self.map(schemas, &pointer);
                    self.nodes[index].in_place.extend(children);
                }
                ("properties", Value::Object(schemas)) => {
                    let children = self.map(schemas, &pointer);
                    self.nodes[index].properties.extend(children);
                }
                ("patternProperties", Value::Object(schemas)) => {
                    let children = self.map(schemas, &pointer);
                    self.nodes[index].every_property.extend(children);
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_property.push(child);
                }
                ("prefixItems" | "items", Value::Array(schemas)) => {
                    let children = self.list(schemas, &pointer);
                    self.nodes[index].positions.extend(children);
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_item.push(child);
                }
                // Definitions cost nothing until they are referred to, but must keep the rules.
                ("$defs" | "definitions", Value::Object(schemas)) => {
                    self.map(schemas, &pointer);
                }
                _ => {}
            }
        }
    }

    fn list(&mut self, schemas: &'a [Value], pointer: &str) -> Vec<usize> {
        let schemas = schemas.iter().enumerate();
        schemas.map(|(at, schema)| self.node(schema, format!("{pointer}/{at}"))).collect()
    }

    fn map(&mut self, schemas: &'a serde_json::Map<String, Value>, pointer: &str) -> Vec<usize> {
        let schemas = schemas.iter();
        schemas.map(|(name, schema)| self.node(schema, format!("{pointer}/{}", escape(name)))).collect()
    }

    fn resolve(&mut self, reference: &str, anchors: &HashMap<&'a str, usize>) -> Result<usize, Message> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(Message::new(&REMOTE_REFERENCE).with("reference", reference));
        };
        let unresolved = || Message::new(&UNRESOLVED_REFERENCE).with("reference", reference);
        if let Some(&target) = anchors.get(fragment) {
            return Ok(target);
        }
        let pointer = percent_decode(fragment).ok_or_else(unresolved)?;
        let root = self.root;
        let target = root.pointer(&pointer).ok_or_else(unresolved)?;
        Ok(self.node(target, pointer))
    }
}

fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// A reference is a URI, so its pointer may be percent-encoded.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
