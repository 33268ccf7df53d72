//! Limits on the cost of a schema, computed by counting work when it is saved, not by measuring time.
//!
//! Validation has two costs. The verdict, whether a value is valid, is memoized by the validator for
//! recursive references. The details, a list of all errors, are not memoized, so they grow with every
//! alternative on every level. A schema is accepted only if its verdict is cheap. Details are computed only
//! for values that are small and shallow enough.

use serde_json::Value;

use crate::{Message, Violation, json};

use super::graph::Graph;
use super::violation::dotted;

/// Maximum depth of a value. Deeper JSON is rejected by the parser.
pub(super) const MAX_VALUE_DEPTH: usize = 128;

const MAX_SCHEMA_BYTES: usize = 256 * 1024;
const MAX_SCHEMA_DEPTH: usize = 64;

/// Maximum number of schemas applied along one path of a value.
const MOST_WORK: u64 = 100_000;

/// Maximum number of schemas applied to all parts of a value.
const MOST_STEPS: u64 = 100_000_000;

/// Maximum number of schemas applied to all parts of a value whose errors are all listed.
const MOST_STEPS_IN_DETAIL: u64 = 200_000;

crate::templates! {
    TOO_LARGE = "schema.tooLarge",
        "the schema has {size} bytes; at most {limit}",
        "schema 有 {size} 字节，最多 {limit}";
    TOO_DEEP = "schema.tooDeep",
        "the schema is nested {depth} levels deep; at most {limit}",
        "schema 嵌套了 {depth} 层，最多 {limit}";
    TOO_COSTLY = "schema.tooCostly",
        "checking one value against this schema can take more than {limit} steps; use fewer nested $refs and alternatives",
        "用此 schema 校验一个值可能超过 {limit} 步；请减少嵌套的 $ref 和分支";
}

/// The cost of validating a value.
#[derive(Debug)]
pub(super) struct Cost {
    /// Number of schemas applied to one part of a value, for the verdict.
    verdict: u64,
    /// Number of schemas applied for the details, by the depth of the value. Depths beyond the list are too
    /// costly.
    details: Vec<u64>,
    pub(super) has_alternatives: bool,
    pub(super) patterns: usize,
}

impl Cost {
    /// Returns the maximum number of values in a validated value.
    pub(super) fn most_values(&self) -> usize {
        usize::try_from(MOST_STEPS / self.verdict.max(1)).unwrap_or(usize::MAX)
    }

    /// Returns the maximum number of steps of the verdict.
    pub(super) fn steps(&self, size: json::Size) -> u64 {
        self.verdict.saturating_mul(size.values as u64)
    }

    /// Returns true if all errors of such a value can be listed.
    pub(super) fn allows_details(&self, size: json::Size) -> bool {
        let steps = self.details.get(size.depth).map(|steps| steps.saturating_mul(size.values as u64));
        steps.is_some_and(|steps| steps <= MOST_STEPS_IN_DETAIL)
    }
}

/// Computes the cost of a schema. Returns violations if it is too high.
pub(super) fn check(schema: &Value) -> Result<Cost, Vec<Violation>> {
    let refuse = |message| Err(vec![Violation::new(dotted(""), message)]);
    let depth = json::size(schema).depth;
    if depth > MAX_SCHEMA_DEPTH {
        return refuse(Message::new(&TOO_DEEP).with("depth", depth).with("limit", MAX_SCHEMA_DEPTH));
    }
    let size = schema.to_string().len();
    if size > MAX_SCHEMA_BYTES {
        return refuse(Message::new(&TOO_LARGE).with("size", size).with("limit", MAX_SCHEMA_BYTES));
    }
    let graph = Graph::of(schema)?;
    let order = graph.in_place_order()?;
    match verdict(&graph, &order) {
        Some(verdict) => Ok(Cost {
            verdict,
            details: details(&graph, &order),
            has_alternatives: graph.nodes.iter().any(|node| node.has_alternatives),
            patterns: graph.patterns,
        }),
        None => refuse(Message::new(&TOO_COSTLY).with("limit", MOST_WORK)),
    }
}

/// Returns the number of schemas applied to one part of a value, with memoized recursion: each target of a
/// recursive reference is applied once to each part. Returns `None` if there are too many.
fn verdict(graph: &Graph, order: &[usize]) -> Option<u64> {
    let mut targets: Vec<usize> = graph
        .nodes
        .iter()
        .flat_map(|node| node.references.iter().filter(|reference| reference.is_recursive))
        .map(|reference| reference.target)
        .chain([0])
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let mut below = vec![0; graph.nodes.len()];
    // Without recursion, nothing is deeper than the longest chain of references.
    for _ in 0..graph.nodes.len().max(1) {
        let work = one_level(graph, order, &below, Recursion::Remembered);
        if targets.iter().any(|&target| work[target] > MOST_WORK) {
            return None;
        }
        if work == below {
            break;
        }
        below = work;
    }
    let sum = targets.iter().map(|&target| below[target]).fold(0, u64::saturating_add);
    (sum <= MOST_WORK).then_some(sum)
}

/// Returns the number of schemas applied along one path of a value, by its depth, up to the affordable depth.
fn details(graph: &Graph, order: &[usize]) -> Vec<u64> {
    let mut by_depth = Vec::new();
    let mut below = vec![0; graph.nodes.len()];
    for _ in 0..=MAX_VALUE_DEPTH {
        let work = one_level(graph, order, &below, Recursion::Repeated);
        let root = work.first().copied().unwrap_or(0);
        if root > MOST_STEPS_IN_DETAIL {
            break;
        }
        if work == below {
            by_depth.resize(MAX_VALUE_DEPTH + 1, root);
            break;
        }
        by_depth.push(root);
        below = work;
    }
    by_depth
}

/// How the validator handles a recursive reference.
#[derive(Clone, Copy, PartialEq)]
enum Recursion {
    Remembered,
    Repeated,
}

/// Returns the work of every node for values one level deeper than those of `below`.
fn one_level(graph: &Graph, order: &[usize], below: &[u64], recursion: Recursion) -> Vec<u64> {
    let mut work = vec![0_u64; graph.nodes.len()];
    let mut again = vec![0_u64; graph.nodes.len()];
    for &index in order {
        let node = &graph.nodes[index];
        let sum =
            |children: &[usize]| children.iter().map(|&child| below[child]).fold(0, u64::saturating_add);
        let most = |children: &[usize]| children.iter().map(|&child| below[child]).max().unwrap_or(0);
        let object = most(&node.properties).saturating_add(sum(&node.every_property));
        let array = most(&node.positions).saturating_add(sum(&node.every_item));
        let referred = node.references.iter().map(|reference| match recursion {
            Recursion::Remembered if reference.is_recursive => 1,
            Recursion::Remembered | Recursion::Repeated => work[reference.target],
        });
        let in_place = node.in_place.iter().map(|&child| work[child]).chain(referred);
        let once = in_place.fold(node.own_work, u64::saturating_add).saturating_add(object.max(array));
        let marked = node.on_same_value().map(|child| work[child].saturating_add(again[child]));
        again[index] = marked.fold(node.own_work, u64::saturating_add);
        work[index] = if node.looks_again { once.saturating_add(again[index]) } else { once };
    }
    work
}
