//! What a schema may cost, found by counting work when it is saved, never by a clock.
//!
//! Two things cost: the verdict, whether a value fits, which the validator
//! remembers for recursive references; and the details, what is wrong with it,
//! which it does not remember, so that they grow with every alternative on every
//! level. The verdict must be cheap for a schema to be accepted. Details are told
//! for values small and shallow enough.

use serde_json::Value;

use crate::{Message, Violation, json};

use super::graph::Graph;
use super::violation::dotted;

/// Values nested deeper than this never reach a schema: JSON itself is refused there.
pub(super) const DEEPEST_VALUE: usize = 128;

const LARGEST_SCHEMA: usize = 256 * 1024;
const DEEPEST_SCHEMA: usize = 64;

/// Schemas applied along one path of a value, at most.
const MOST_WORK: u64 = 100_000;

/// Schemas applied to all parts of a value together, at most.
const MOST_STEPS: u64 = 100_000_000;

/// Schemas applied to all parts of a value whose every error is told, at most.
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

/// What checking values costs.
#[derive(Debug)]
pub(super) struct Cost {
    /// Schemas applied to one part of a value, for the verdict.
    verdict: u64,
    /// The same for the details, by the depth of the whole value; what is missing costs too much.
    details: Vec<u64>,
    pub(super) has_alternatives: bool,
    pub(super) patterns: usize,
}

impl Cost {
    /// The largest value that is checked.
    pub(super) fn most_values(&self) -> usize {
        usize::try_from(MOST_STEPS / self.verdict.max(1)).unwrap_or(usize::MAX)
    }

    /// How many steps the verdict takes at most.
    pub(super) fn steps(&self, size: json::Size) -> u64 {
        self.verdict.saturating_mul(size.values as u64)
    }

    /// Whether everything that is wrong with such a value can be told.
    pub(super) fn allows_details(&self, size: json::Size) -> bool {
        let steps = self.details.get(size.depth).map(|steps| steps.saturating_mul(size.values as u64));
        steps.is_some_and(|steps| steps <= MOST_STEPS_IN_DETAIL)
    }
}

/// Says what checking values against this schema costs, or why it is refused.
pub(super) fn check(schema: &Value) -> Result<Cost, Vec<Violation>> {
    let refuse = |message| Err(vec![Violation::new(dotted(""), message)]);
    let depth = json::size(schema).depth;
    if depth > DEEPEST_SCHEMA {
        return refuse(Message::new(&TOO_DEEP).with("depth", depth).with("limit", DEEPEST_SCHEMA));
    }
    let size = schema.to_string().len();
    if size > LARGEST_SCHEMA {
        return refuse(Message::new(&TOO_LARGE).with("size", size).with("limit", LARGEST_SCHEMA));
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

/// Schemas applied to one part of a value, where the answer of a recursive reference is remembered:
/// each of their targets is applied once to each part. None when that is too many.
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
    // Without recursion nothing is deeper than the longest chain of references.
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

/// Schemas applied along one path of a value, by its depth, for as long as that is affordable.
fn details(graph: &Graph, order: &[usize]) -> Vec<u64> {
    let mut by_depth = Vec::new();
    let mut below = vec![0; graph.nodes.len()];
    for _ in 0..=DEEPEST_VALUE {
        let work = one_level(graph, order, &below, Recursion::Repeated);
        let root = work.first().copied().unwrap_or(0);
        if root > MOST_STEPS_IN_DETAIL {
            break;
        }
        if work == below {
            by_depth.resize(DEEPEST_VALUE + 1, root);
            break;
        }
        by_depth.push(root);
        below = work;
    }
    by_depth
}

/// What the validator does at a recursive reference.
#[derive(Clone, Copy, PartialEq)]
enum Recursion {
    Remembered,
    Repeated,
}

/// The work of every node on values one level deeper than those of `below`.
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
