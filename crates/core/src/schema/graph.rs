//! A schema as a graph: which schemas apply to the same value, and which to nested values.
//!
//! References are resolved like the validator does; ambiguous ones are rejected. Costs are computed in
//! `limits`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{Message, Violation};

use super::violation::dotted;

const MAX_REFERENCES: usize = 256;
const MAX_PATTERNS: usize = 512;
const MAX_ENUM: usize = 2_000;

/// Maximum total length of all paths. Every compiled schema stores its path.
const MAX_PATH_BYTES: usize = 8 << 20;

crate::templates! {
    TOO_MANY_REFERENCES = "schema.tooManyRefs",
        "the schema has more than {limit} $refs",
        "schema 中的 $ref 超过 {limit} 个";
    TOO_MANY_PATTERNS = "schema.tooManyPatterns",
        "the schema has more than {limit} patterns",
        "schema 中的正则表达式超过 {limit} 个";
    TOO_LONG_PATHS = "schema.tooLongPaths",
        "the schema's property names are too long for its nesting",
        "schema 中的属性名过长且嵌套过多";
    ENDLESS = "schema.endless",
        "refers to itself without descending into the value",
        "在同一个值上循环引用自身";
    ENUM_TOO_LARGE = "schema.enumTooLarge",
        "has {count} values; at most {limit}",
        "有 {count} 个值，最多 {limit} 个";
    REMOTE_REFERENCE = "schema.remoteRef",
        "{reference} points outside this schema; only local references such as #/$defs/name are followed",
        "{reference} 指向 schema 之外；只支持 #/$defs/name 这样的本地引用";
    UNRESOLVED_REFERENCE = "schema.unresolvedRef",
        "{reference} points to nothing in this schema",
        "{reference} 在此 schema 中不存在";
    NESTED_ID = "schema.nestedId",
        "a nested $id or $schema would change what local references mean; leave it out",
        "嵌套的 $id 或 $schema 会改变本地引用的含义；请去掉";
    ANCHOR_TWICE = "schema.anchorTwice",
        "the anchor {name} is declared twice in this schema",
        "锚点 {name} 在此 schema 中重复出现";
}

/// The schemas of a document. The first is the document itself.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) patterns: usize,
}

/// One schema, with the schemas that it applies.
#[derive(Default)]
pub(super) struct Node {
    /// A JSON pointer into the document.
    pointer: String,
    pub(super) own_work: u64,
    /// Schemas that apply to the same value.
    pub(super) in_place: Vec<usize>,
    /// References to schemas that apply to the same value.
    pub(super) references: Vec<Reference>,
    /// Schemas that apply to one named property each.
    pub(super) properties: Vec<usize>,
    /// Schemas that apply to any property, in addition to the named ones.
    pub(super) every_property: Vec<usize>,
    /// Schemas that apply to one array position each.
    pub(super) positions: Vec<usize>,
    /// Schemas that apply to any array item, in addition to the positions.
    pub(super) every_item: Vec<usize>,
    /// True if it has alternatives, whose errors are all collected.
    pub(super) has_alternatives: bool,
    /// True if everything applied in place is visited again, to find unevaluated values.
    pub(super) looks_again: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Reference {
    pub(super) target: usize,
    /// True if the target leads back to this schema.
    pub(super) is_recursive: bool,
}

impl Node {
    /// Returns all schemas that apply to the same value.
    pub(super) fn on_same_value(&self) -> impl Iterator<Item = usize> {
        self.in_place.iter().copied().chain(self.references.iter().map(|reference| reference.target))
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        let below = [&self.properties, &self.every_property, &self.positions, &self.every_item];
        self.on_same_value().chain(below.into_iter().flatten().copied())
    }
}

impl Graph {
    pub(super) fn of(root: &Value) -> Result<Self, Vec<Violation>> {
        let mut builder = Builder {
            root,
            draft_4: root
                .get("$schema")
                .and_then(Value::as_str)
                .is_some_and(|name| name.contains("draft-04")),
            nodes: Vec::new(),
            seen: HashMap::new(),
            waiting: Vec::new(),
            references: Vec::new(),
            anchors: HashMap::new(),
            violations: Vec::new(),
            patterns: 0,
            path_bytes: 0,
        };
        builder.build();
        if !builder.violations.is_empty() {
            return Err(builder.violations);
        }
        let mut graph = Self { nodes: builder.nodes, patterns: builder.patterns };
        graph.mark_recursion();
        Ok(graph)
    }

    fn mark_recursion(&mut self) {
        let references: Vec<(usize, usize, usize)> = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(from, node)| {
                node.references.iter().enumerate().map(move |(at, reference)| (from, at, reference.target))
            })
            .collect();
        let mut reached: HashMap<usize, Vec<bool>> = HashMap::new();
        for (from, at, target) in references {
            let from_target = reached.entry(target).or_insert_with(|| self.reached_from(target));
            let is_recursive = from_target.get(from).copied().unwrap_or(false);
            self.nodes[from].references[at].is_recursive = is_recursive;
        }
    }

    fn reached_from(&self, start: usize) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut waiting = vec![start];
        while let Some(index) = waiting.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                waiting.extend(self.nodes[index].all());
            }
        }
        reached
    }

    /// Returns the nodes in topological order: each one after all nodes that it applies to the same value.
    pub(super) fn in_place_order(&self) -> Result<Vec<usize>, Vec<Violation>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let children: Vec<Vec<usize>> =
            self.nodes.iter().map(|node| node.on_same_value().collect()).collect();
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
                match children[node].get(next) {
                    Some(&child) if marks[child] == Mark::Open => {
                        let path = dotted(&self.nodes[node].pointer);
                        return Err(vec![Violation::new(path, Message::new(&ENDLESS))]);
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
}

struct Builder<'a> {
    root: &'a Value,
    /// True for draft 4, which uses `id` instead of `$id`.
    draft_4: bool,
    nodes: Vec<Node>,
    /// The node of the schema at each address. The document does not move during the traversal.
    seen: HashMap<*const Value, usize>,
    waiting: Vec<(usize, &'a Value)>,
    references: Vec<(usize, &'a str)>,
    anchors: HashMap<&'a str, usize>,
    violations: Vec<Violation>,
    patterns: usize,
    path_bytes: usize,
}

impl<'a> Builder<'a> {
    fn build(&mut self) {
        self.node(self.root, String::new());
        let mut resolved = 0;
        loop {
            while let Some((index, schema)) = self.waiting.pop() {
                self.read(index, schema);
                if self.references.len() > MAX_REFERENCES {
                    return self.refuse("", Message::new(&TOO_MANY_REFERENCES).with("limit", MAX_REFERENCES));
                }
                if self.patterns > MAX_PATTERNS {
                    return self.refuse("", Message::new(&TOO_MANY_PATTERNS).with("limit", MAX_PATTERNS));
                }
                if self.path_bytes > MAX_PATH_BYTES {
                    return self.refuse("", Message::new(&TOO_LONG_PATHS));
                }
            }
            // References may lead to schemas that no keyword applies, which may contain further references.
            let Some(&(from, reference)) = self.references.get(resolved) else { return };
            match self.resolve(reference) {
                Ok(target) => self.nodes[from].references.push(Reference { target, is_recursive: false }),
                Err(message) => {
                    let pointer = format!("{}/$ref", self.nodes[from].pointer);
                    self.refuse(&pointer, message);
                }
            }
            resolved += 1;
        }
    }

    fn refuse(&mut self, pointer: &str, message: Message) {
        self.violations.push(Violation::new(dotted(pointer), message));
    }

    fn node(&mut self, schema: &'a Value, pointer: String) -> usize {
        let index = *self.seen.entry(std::ptr::from_ref(schema)).or_insert(self.nodes.len());
        if index == self.nodes.len() {
            self.path_bytes += pointer.len();
            self.nodes.push(Node { pointer, own_work: 1, ..Node::default() });
            self.waiting.push((index, schema));
        }
        index
    }

    fn read(&mut self, index: usize, schema: &'a Value) {
        let Value::Object(keywords) = schema else { return };
        for (keyword, value) in keywords {
            let pointer = format!("{}/{}", self.nodes[index].pointer, escape(keyword));
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.references.push((index, reference));
                }
                ("$anchor" | "$dynamicAnchor", Value::String(name)) => self.anchor(name, index, &pointer),
                ("$id", Value::String(id)) if index != 0 => match id.strip_prefix('#') {
                    Some(name) => self.anchor(name, index, &pointer),
                    None => self.refuse(&pointer, Message::new(&NESTED_ID)),
                },
                ("id", Value::String(_)) if index != 0 && self.draft_4 => {
                    self.refuse(&pointer, Message::new(&NESTED_ID));
                }
                ("$schema", _) if index != 0 => self.refuse(&pointer, Message::new(&NESTED_ID)),
                ("enum", Value::Array(values)) => {
                    if values.len() > MAX_ENUM {
                        let message = Message::new(&ENUM_TOO_LARGE).with("count", values.len());
                        self.refuse(&pointer, message.with("limit", MAX_ENUM));
                    }
                    self.nodes[index].own_work += values.len() as u64;
                }
                ("required", Value::Array(names)) => self.nodes[index].own_work += names.len() as u64,
                ("dependentRequired", Value::Object(lists)) => {
                    let names = lists.values().filter_map(Value::as_array).map(Vec::len).sum::<usize>();
                    self.nodes[index].own_work += names as u64;
                }
                ("pattern", Value::String(pattern)) => self.pattern(index, pattern),
                ("allOf", Value::Array(schemas)) => {
                    let children = self.list(schemas, &pointer);
                    self.nodes[index].in_place.extend(children);
                }
                ("anyOf" | "oneOf", Value::Array(schemas)) => {
                    let children = self.list(schemas, &pointer);
                    self.nodes[index].in_place.extend(children);
                    self.nodes[index].has_alternatives = true;
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
                    self.nodes[index].own_work += children.len() as u64 / 8;
                    self.nodes[index].properties.extend(children);
                }
                ("patternProperties", Value::Object(schemas)) => {
                    for pattern in schemas.keys() {
                        self.pattern(index, pattern);
                    }
                    let children = self.map(schemas, &pointer);
                    self.nodes[index].every_property.extend(children);
                }
                ("unevaluatedProperties", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_property.push(child);
                    self.nodes[index].looks_again = true;
                }
                ("additionalProperties" | "propertyNames", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_property.push(child);
                }
                ("prefixItems" | "items", Value::Array(schemas)) => {
                    let children = self.list(schemas, &pointer);
                    self.nodes[index].positions.extend(children);
                }
                ("unevaluatedItems", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_item.push(child);
                    self.nodes[index].looks_again = true;
                }
                ("items" | "additionalItems" | "contains", schema) => {
                    let child = self.node(schema, pointer);
                    self.nodes[index].every_item.push(child);
                }
                // Definitions cost nothing until they are referenced, but must be valid.
                ("$defs" | "definitions", Value::Object(schemas)) => {
                    self.map(schemas, &pointer);
                }
                _ => {}
            }
        }
    }

    fn pattern(&mut self, index: usize, pattern: &str) {
        self.patterns += 1;
        self.nodes[index].own_work += pattern.len() as u64 / 8;
    }

    fn anchor(&mut self, name: &'a str, index: usize, pointer: &str) {
        if self.anchors.insert(name, index).is_some_and(|other| other != index) {
            self.refuse(pointer, Message::new(&ANCHOR_TWICE).with("name", name));
        }
    }

    fn list(&mut self, schemas: &'a [Value], pointer: &str) -> Vec<usize> {
        let schemas = schemas.iter().enumerate();
        schemas.map(|(at, schema)| self.node(schema, format!("{pointer}/{at}"))).collect()
    }

    fn map(&mut self, schemas: &'a Map<String, Value>, pointer: &str) -> Vec<usize> {
        let schemas = schemas.iter();
        schemas.map(|(name, schema)| self.node(schema, format!("{pointer}/{}", escape(name)))).collect()
    }

    fn resolve(&mut self, reference: &str) -> Result<usize, Message> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(Message::new(&REMOTE_REFERENCE).with("reference", reference));
        };
        let unresolved = || Message::new(&UNRESOLVED_REFERENCE).with("reference", reference);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment).copied().ok_or_else(unresolved);
        }
        let (target, pointer) = pointed_at(self.root, fragment).ok_or_else(unresolved)?;
        Ok(self.node(target, pointer))
    }
}

/// Returns the target of a reference's fragment, and its JSON pointer. A reference is a URI, so it may be
/// percent-encoded.
pub(super) fn pointed_at<'a>(root: &'a Value, fragment: &str) -> Option<(&'a Value, String)> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let pointer = String::from_utf8(bytes).ok()?;
    Some((root.pointer(&pointer)?, pointer))
}

fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
