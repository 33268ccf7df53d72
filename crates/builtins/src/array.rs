//! The built-in `array`: transforms, aggregates and searches lists. Also defines the order of JSON values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use haft_core::{Arguments, CallError, Message};
use serde_json::{Map, Number, Value, json};

use crate::failure;
use crate::operation::{Operation, Operations};
use crate::path::{
    Path, count_of, fits_items, fits_text, flag_of, integer_field, list_field, list_of, plain,
    position_field, range_of, text_field, text_of,
};

haft_core::templates! {
    NO_VALUE = "array.noValue",
        "{op} needs a value to compare with",
        "{op} 需要一个用于比较的值 (value)";
    NO_LIST = "array.noList",
        "in needs a list as its value",
        "in 的值 (value) 必须是列表";
    NOT_A_NUMBER = "array.notANumber",
        "Item {index} is not a number",
        "第 {index} 项 (从 0 开始) 不是数字";
    NOTHING_AT_KEY = "array.nothingAtKey",
        "Item {index} has no value at the key",
        "第 {index} 项 (从 0 开始) 没有该键 (key)";
    TOO_LARGE = "array.tooLarge",
        "The result is too large for a number",
        "结果过大，无法用数字表示";
}

pub(crate) const TOOL: Operations = Operations {
    name: "array",
    title: ("List", "列表"),
    icon: "list",
    about: "Works on lists exactly: count, sort, remove duplicates, filter, pick fields, group, add up, \
            find the minimum and maximum, join, split and combine. Use it on lists of any length instead of \
            going through the items yourself.",
    about_zh: "精确处理列表：计数、排序、去重、筛选、提取字段、分组、求和、求最小值和最大值、连接、切分和合并。\
               无论列表多长都应使用它，不要自行逐项处理。",
    operations: &[
        Operation {
            name: "length",
            about: "The number of items in the list.",
            fields: || json!({"array": array_field()}),
            required: &["array"],
            run: |a| Ok(list_of(a, "array").len().into()),
        },
        Operation {
            name: "sort",
            about: "The list sorted: null, false, true, numbers, texts, lists, objects. Items without the key \
                    come last. The sort is stable.",
            fields: || {
                json!({
                    "array": array_field(),
                    "key": Path::field("The path of the sort key in each item; by default the item itself."),
                    "order": {"enum": ["asc", "desc"], "default": "asc", "description": "Ascending or descending."},
                })
            },
            required: &["array"],
            run: sort,
        },
        by_key(
            "unique",
            "The list without duplicates: only the first of equal items, or of items with equal keys; 1 equals 1.0.",
            unique,
        ),
        Operation {
            name: "filter",
            about: "The items that meet a condition. lt, lte, gt, gte compare two numbers or two texts.",
            fields: || {
                json!({
                    "array": array_field(),
                    "key": Path::field("The path of the compared value in each item; by default the item itself."),
                    "op": {
                        "enum": ["eq", "ne", "lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith",
                                 "exists", "in"],
                        "description": "contains: a text holds the value, a list has it as an item, an object \
                                        as a key. exists: the key is there. in: the value is a list that has it.",
                    },
                    "value": {"description": "The value to compare with; for exists, false negates it."},
                })
            },
            required: &["array", "op"],
            run: filter,
        },
        Operation {
            name: "map",
            about: "The value of each item at a path; null if there is none.",
            fields: || json!({"array": array_field(), "path": Path::field("The path in each item.")}),
            required: &["array", "path"],
            run: |a| {
                let path = Path::argument(a, "path")?;
                let found =
                    list_of(a, "array").iter().map(|item| path.get(item).cloned().unwrap_or_default());
                Ok(found.collect())
            },
        },
        Operation {
            name: "slice",
            about: "The items from `start` to before `end`; negative numbers count from the end.",
            fields: || {
                json!({
                    "array": array_field(),
                    "start": position_field("The first item; 0 is the first of the list."),
                    "end": position_field("The item to stop before; the end of the list when left out."),
                })
            },
            required: &["array", "start"],
            run: |a| {
                let items = list_of(a, "array");
                Ok(items.get(range_of(a, items.len())).unwrap_or_default().into())
            },
        },
        Operation {
            name: "flatten",
            about: "The list with nested lists replaced by their items.",
            fields: || json!({"array": array_field(), "depth": integer_field(1..=20, "Levels; 1 by default.")}),
            required: &["array"],
            run: flatten,
        },
        Operation {
            name: "groupBy",
            about: "An object of lists: the items by their value at the key, as text. Items without it are \
                    under `null`.",
            fields: || json!({"array": array_field(), "key": Path::field("The path of the key in each item.")}),
            required: &["array", "key"],
            run: group_by,
        },
        by_key("sum", "The sum of all numbers; 0 if there are none.", |a| total(&numbers(a)?)),
        by_key("min", "The minimum; null if there are no numbers.", |a| {
            let least = numbers(a)?.into_iter().min_by(|a, b| Real(a).cmp(&Real(b)));
            Ok(least.cloned().map_or(Value::Null, Value::Number))
        }),
        by_key("max", "The maximum; null if there are no numbers.", |a| {
            let greatest = numbers(a)?.into_iter().max_by(|a, b| Real(a).cmp(&Real(b)));
            Ok(greatest.cloned().map_or(Value::Null, Value::Number))
        }),
        by_key("average", "The mean of all numbers; null if there are none.", average),
        Operation {
            name: "join",
            about: "The items as one text. null is empty; lists and objects are written as JSON.",
            fields: || json!({"array": array_field(), "separator": text_field(1000, "A comma by default.")}),
            required: &["array"],
            run: join,
        },
        Operation {
            name: "concat",
            about: "All items of several lists, one list after the other.",
            fields: lists,
            required: &["arrays"],
            run: |a| {
                let lists = list_of(a, "arrays");
                fits_items(lists.iter().filter_map(Value::as_array).map(Vec::len).sum())?;
                Ok(lists.iter().filter_map(Value::as_array).flatten().cloned().collect())
            },
        },
        Operation {
            name: "chunk",
            about: "The list split into lists of a given size; the last list may be shorter.",
            fields: || json!({"array": array_field(), "size": integer_field(1..=100_000, "Items per list.")}),
            required: &["array", "size"],
            run: |a| {
                let size = count_of(a, "size").unwrap_or(1).max(1);
                Ok(list_of(a, "array").chunks(size).collect())
            },
        },
        Operation {
            name: "zip",
            about: "A list of lists: the first items of several lists, the second ones, and so on to the end of \
                    the shortest.",
            fields: lists,
            required: &["arrays"],
            run: zip,
        },
        Operation {
            name: "includes",
            about: "True if the list has an item that equals the value; 1 equals 1.0.",
            fields: || json!({"array": array_field(), "value": {"description": "The value to find."}}),
            required: &["array", "value"],
            run: |a| {
                let wanted = Ordered::of(a.get("value").unwrap_or(&Value::Null));
                Ok(list_of(a, "array").iter().any(|item| Ordered::of(item) == wanted).into())
            },
        },
    ],
};

fn array_field() -> Value {
    list_field("The list.")
}

fn lists() -> Value {
    let list = list_field("A list.");
    json!({"arrays": {"type": "array", "maxItems": 1000, "items": list, "description": "The lists."}})
}

/// Creates an operation on the items, or on the value of each item at a key.
const fn by_key(
    name: &'static str,
    about: &'static str,
    run: fn(&Arguments) -> Result<Value, CallError>,
) -> Operation {
    Operation {
        name,
        about,
        fields: || json!({"array": array_field(), "key": Path::field("The path of a value in each item; by default the whole item.")}),
        required: &["array"],
        run,
    }
}

/// Values in their order: null, false, true, numbers, texts, lists, objects. Lists are compared item by item,
/// objects by their fields in sorted order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ordered<'v> {
    Null,
    Bool(bool),
    Number(Real<'v>),
    Text(&'v str),
    List(Vec<Ordered<'v>>),
    Object(Vec<(&'v str, Ordered<'v>)>),
}

impl<'v> Ordered<'v> {
    pub(crate) fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(Real(number)),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.as_str(), Self::of(value)));
                let mut fields: Vec<(&str, Self)> = fields.collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                Self::Object(fields)
            }
        }
    }
}

/// A number, compared by its value in any notation.
pub(crate) struct Real<'v>(&'v Number);

impl Real<'_> {
    /// Returns the exact value of a whole number.
    fn whole(&self) -> Option<i128> {
        if let Some(whole) = integer(self.0) {
            return Some(whole);
        }
        let float = self.float();
        (float.fract() == 0.0 && float.abs() < 1e38).then_some(float as i128)
    }

    fn float(&self) -> f64 {
        self.0.as_f64().unwrap_or_default()
    }
}

impl Ord for Real<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // A float that is not whole is greater than its floor, and less than all greater integers.
        let beside = |whole: i128, float: f64| whole.cmp(&(float.floor() as i128)).then(Ordering::Less);
        match (self.whole(), other.whole()) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(a), None) => beside(a, other.float()),
            (None, Some(b)) => beside(b, self.float()).reverse(),
            (None, None) => self.float().total_cmp(&other.float()),
        }
    }
}

impl PartialOrd for Real<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Real<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Real<'_> {}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn sort(a: &Arguments) -> Result<Value, CallError> {
    let path = Path::argument(a, "key")?;
    let falling = text_of(a, "order") == "desc";
    let items = list_of(a, "array").iter();
    let mut keyed: Vec<_> = items.map(|item| (path.get(item).map(Ordered::of), item)).collect();
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) if falling => b.cmp(a),
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    Ok(keyed.into_iter().map(|(_, item)| item.clone()).collect())
}

fn unique(a: &Arguments) -> Result<Value, CallError> {
    let path = Path::argument(a, "key")?;
    let mut seen = BTreeSet::new();
    let items = list_of(a, "array").iter();
    Ok(items.filter(|&item| seen.insert(path.get(item).map(Ordered::of))).cloned().collect())
}

fn filter(a: &Arguments) -> Result<Value, CallError> {
    let path = Path::argument(a, "key")?;
    let (items, op) = (list_of(a, "array").iter(), text_of(a, "op"));
    if op == "exists" {
        let expected = flag_of(a, "value", true);
        return Ok(items.filter(|&item| path.get(item).is_some() == expected).cloned().collect());
    }
    let Some(value) = a.get("value") else {
        return Err(failure(Message::new(&NO_VALUE).with("op", op)));
    };
    let wanted = Ordered::of(value);
    let mut members = BTreeSet::new();
    if op == "in" {
        let Value::Array(listed) = value else { return Err(failure(Message::new(&NO_LIST))) };
        members.extend(listed.iter().map(Ordered::of));
    }
    let holds = |found: &Value| match op {
        "eq" => Ordered::of(found) == wanted,
        "ne" => Ordered::of(found) != wanted,
        "in" => members.contains(&Ordered::of(found)),
        "contains" => contains(found, value, &wanted),
        "startsWith" => texts(found, value).is_some_and(|(text, start)| text.starts_with(start)),
        "endsWith" => texts(found, value).is_some_and(|(text, end)| text.ends_with(end)),
        "lt" => compared(found, value).is_some_and(Ordering::is_lt),
        "lte" => compared(found, value).is_some_and(Ordering::is_le),
        "gt" => compared(found, value).is_some_and(Ordering::is_gt),
        _ => compared(found, value).is_some_and(Ordering::is_ge),
    };
    Ok(items.filter(|&item| path.get(item).map_or(op == "ne", &holds)).cloned().collect())
}

fn contains(found: &Value, value: &Value, wanted: &Ordered<'_>) -> bool {
    match found {
        Value::String(text) => value.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(items) => items.iter().any(|item| Ordered::of(item) == *wanted),
        Value::Object(fields) => value.as_str().is_some_and(|name| fields.contains_key(name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn texts<'v>(found: &'v Value, value: &'v Value) -> Option<(&'v str, &'v str)> {
    found.as_str().zip(value.as_str())
}

fn compared(found: &Value, value: &Value) -> Option<Ordering> {
    match (found, value) {
        (Value::Number(found), Value::Number(value)) => Some(Real(found).cmp(&Real(value))),
        (Value::String(found), Value::String(value)) => Some(found.cmp(value)),
        _ => None,
    }
}

fn flatten(a: &Arguments) -> Result<Value, CallError> {
    fn count(items: &[Value], depth: usize) -> usize {
        let inner =
            |item: &Value| item.as_array().filter(|_| depth > 0).map_or(1, |inner| count(inner, depth - 1));
        items.iter().map(inner).sum()
    }
    fn pour(items: &[Value], depth: usize, flat: &mut Vec<Value>) {
        for item in items {
            match item.as_array().filter(|_| depth > 0) {
                Some(inner) => pour(inner, depth - 1, flat),
                None => flat.push(item.clone()),
            }
        }
    }
    let (items, depth) = (list_of(a, "array"), count_of(a, "depth").unwrap_or(1));
    fits_items(count(items, depth))?;
    let mut flat = Vec::new();
    pour(items, depth, &mut flat);
    Ok(flat.into())
}

fn group_by(a: &Arguments) -> Result<Value, CallError> {
    let path = Path::argument(a, "key")?;
    let mut groups = Map::new();
    for item in list_of(a, "array") {
        let name = match path.get(item) {
            None | Some(Value::Null) => Cow::Borrowed("null"),
            Some(found) => plain(found),
        };
        if let Value::Array(group) = groups.entry(name).or_insert_with(|| json!([])) {
            group.push(item.clone());
        }
    }
    Ok(groups.into())
}

/// Returns the items, or their values at the key. Returns an error unless all of them are numbers.
fn numbers(a: &Arguments) -> Result<Vec<&Number>, CallError> {
    let path = Path::argument(a, "key")?;
    let items = list_of(a, "array").iter().enumerate();
    let numbers = items.map(|(index, item)| match path.get(item) {
        Some(Value::Number(number)) => Ok(number),
        Some(_) => Err(failure(Message::new(&NOT_A_NUMBER).with("index", index))),
        None => Err(failure(Message::new(&NOTHING_AT_KEY).with("index", index))),
    });
    numbers.collect()
}

/// Returns the exact sum of whole numbers. Within the limit on items it cannot exceed 128 bits.
fn exact(numbers: &[&Number]) -> Option<i128> {
    numbers.iter().map(|number| integer(number)).sum()
}

fn total(numbers: &[&Number]) -> Result<Value, CallError> {
    match exact(numbers) {
        Some(total) => i64::try_from(total).map_or_else(|_| finite(total as f64), |total| Ok(total.into())),
        None => finite(numbers.iter().map(|number| Real(number).float()).sum()),
    }
}

fn average(a: &Arguments) -> Result<Value, CallError> {
    let numbers = numbers(a)?;
    let count = numbers.len();
    if count == 0 {
        return Ok(Value::Null);
    }
    let sum = match exact(&numbers) {
        Some(total) if total % count as i128 == 0 => {
            let mean = total / count as i128;
            return i64::try_from(mean).map_or_else(|_| finite(mean as f64), |mean| Ok(mean.into()));
        }
        Some(total) => total as f64,
        None => numbers.iter().map(|number| Real(number).float()).sum(),
    };
    finite(sum / count as f64)
}

fn finite(float: f64) -> Result<Value, CallError> {
    let number = Number::from_f64(float).ok_or_else(|| failure(Message::new(&TOO_LARGE)))?;
    Ok(Value::Number(number))
}

fn join(a: &Arguments) -> Result<Value, CallError> {
    let separator = a.get("separator").and_then(Value::as_str).unwrap_or(",");
    let between = separator.chars().count();
    let (mut joined, mut characters) = (String::new(), 0);
    for (index, item) in list_of(a, "array").iter().enumerate() {
        let text = plain(item);
        characters += text.chars().count() + if index > 0 { between } else { 0 };
        fits_text(characters)?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&text);
    }
    Ok(joined.into())
}

fn zip(a: &Arguments) -> Result<Value, CallError> {
    let lists: Vec<&Vec<Value>> = list_of(a, "arrays").iter().filter_map(Value::as_array).collect();
    let shortest = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let row = |at: usize| lists.iter().filter_map(|list| list.get(at)).cloned().collect::<Value>();
    Ok((0..shortest).map(row).collect())
}
