//! Alerts of exports and imports. Their names are optional and need not differ, so each definition of an import is
//! matched with the alert that is most like it.

use haft_core::alert::{Alert, AlertSpec};
use haft_core::mask::MASKED;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, ToolId, Violation};
use haft_store::MAX_ALERTS;
use serde_json::{Map, Value};

use super::portable::Names;
use super::{Changed, Plan, all_alerts};
use crate::routes::alerts::input;

haft_core::templates! {
    TOO_MANY = "exchange.tooManyAlerts",
        "must have at most {most} alerts, which is the maximum of a space",
        "最多 {most} 个告警，这也是每个空间的上限";
    TOOL_DELETED = "exchange.toolDeleted",
        "The alert {name} was not exported: its tool {tool} was deleted",
        "告警 {name} 未导出：其工具 {tool} 已被删除";
}

/// How much a definition and an alert may have in common, the most first.
const LEVELS: [u8; 4] = [4, 3, 2, 1];

/// Alerts as definitions. One whose tool was deleted means nothing on another server and is left out with a note.
pub(super) fn exported(alerts: &[Alert], names: &Names, notes: &mut Vec<Message>) -> Vec<Value> {
    let mut exported = Vec::new();
    for Alert { spec, .. } in alerts {
        match spec.tool.as_ref().filter(|_| names.is_without_tool(spec)) {
            Some(tool) => {
                notes.push(Message::new(&TOOL_DELETED).with("name", spec.title()).with("tool", tool));
            }
            None => exported.push(names.alert(spec)),
        }
    }
    exported
}

impl Plan<'_> {
    pub(super) async fn alerts(&mut self, definitions: Vec<Value>) -> Result<(), CallError> {
        if definitions.len() as u64 > MAX_ALERTS {
            let message = Message::new(&TOO_MANY).with("most", MAX_ALERTS);
            self.violations.push(Violation::new("alerts", message));
            return Ok(());
        }
        let there = all_alerts(self.state, self.space()).await?;
        let definitions: Vec<Value> = definitions.into_iter().map(camel_keys).collect();
        let (matched, left) = matched(&there, &definitions, |alert| self.names.alert(&alert.spec));
        for (at, (mut definition, before)) in definitions.into_iter().zip(matched).enumerate() {
            let before_spec = before.map(|before| &before.spec);
            let coming = self.coming_tool(&definition);
            if let Some(tool) = &coming {
                definition["tool"] = tool.to_string().into();
            }
            let is_missing = drop_unknown_webhook(&mut definition, before_spec);
            let (state, space, coming) = (self.state, self.space(), coming.as_slice());
            let read = input::read(state, space, definition, before_spec, &Value::Null, coming);
            let spec = match read.await {
                Ok(spec) => spec,
                Err(error) => {
                    self.refuse_one(&format!("alerts.{at}"), error)?;
                    continue;
                }
            };
            if is_missing {
                self.report.missing_webhooks.push(spec.title().to_owned());
            }
            let was = before_spec.map(|was| self.names.alert(was));
            let mut changed = Changed::new(spec.title(), was.as_ref(), &self.names.alert(&spec));
            if before_spec.is_some_and(|was| *was != spec) {
                // Also where only the masked part of its webhook differs.
                changed.change = super::UPDATED;
            }
            if changed.is_change() {
                self.apply.alerts.push((before.map(|before| (before.id, before.version)), spec));
            }
            self.report.alerts.push(changed);
        }
        // An export does not have the alerts whose tools were deleted.
        let is_pruned = |alert: &&Alert| self.prune && !self.names.is_without_tool(&alert.spec);
        for alert in left.into_iter().filter(is_pruned) {
            self.report.alerts.push(Changed::removed(alert.spec.title()));
            self.apply.deleted_alerts.push(alert.id);
        }
        Ok(())
    }

    /// The id of a definition's tool, if that comes in the same request.
    fn coming_tool(&self, definition: &Value) -> Option<ToolId> {
        let named = definition.get("tool").and_then(Value::as_str)?;
        self.coming.named(named).map(|tool| tool.id.clone())
    }
}

/// Removes a masked webhook from a definition whose alert has none here, and returns whether it did: an export holds
/// no credentials, so the alert is created without its webhook and reported.
fn drop_unknown_webhook(definition: &mut Value, before: Option<&AlertSpec>) -> bool {
    let is_missing = is_masked(definition) && before.is_none_or(|before| before.webhook.is_none());
    if is_missing {
        definition["webhook"] = Value::Null;
    }
    is_missing
}

/// Whether the webhook of a definition is shown without what may be a credential.
fn is_masked(definition: &Value) -> bool {
    definition.get("webhook").and_then(Value::as_str).is_some_and(|webhook| webhook.contains(MASKED))
}

/// The alert that each definition stands for, and the alerts that none stands for.
fn matched<'a>(
    there: &'a [Alert],
    definitions: &[Value],
    portable: impl Fn(&Alert) -> Value,
) -> (Vec<Option<&'a Alert>>, Vec<&'a Alert>) {
    let mut left: Vec<(&Alert, Value)> = there.iter().map(|alert| (alert, portable(alert))).collect();
    let mut matched = vec![None; definitions.len()];
    for level in LEVELS {
        for (place, definition) in matched.iter_mut().zip(definitions).filter(|(place, _)| place.is_none()) {
            let found = left.iter().position(|(_, alert)| likeness(alert, definition) >= level);
            *place = found.map(|found| left.remove(found).0);
        }
    }
    (matched, left.into_iter().map(|(alert, _)| alert).collect())
}

/// 4 for the same definition, 3 for the same with a masked webhook that the alert does not have, 2 for the same name,
/// metric and tool, 1 for the same name, 0 for another alert.
fn likeness(alert: &Value, definition: &Value) -> u8 {
    let is_same = |field: &str| {
        let given = definition.get(field).filter(|given| !given.is_null());
        given == alert.get(field).filter(|known| !known.is_null())
    };
    let is_about_the_same = is_same("metric") && is_same("tool");
    let is_without_webhook = is_masked(definition) && alert.get("webhook").is_none_or(Value::is_null);
    let fields = alert.as_object().into_iter().flat_map(Map::keys);
    let differing: Vec<&String> = fields.filter(|field| !is_same(field)).collect();
    match differing.as_slice() {
        [] => 4,
        [field] if *field == "webhook" && is_without_webhook => 3,
        _ if is_same("name") && is_about_the_same => 2,
        _ => u8::from(is_same("name") && alert.get("name").is_some_and(Value::is_string)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_most_like_the_alert_it_was_exported_from() {
        let alert =
            json!({"name": null, "metric": "p95", "tool": "a", "above": 5, "forSeconds": 0, "webhook": null});
        for (definition, expected) in [
            (json!({"metric": "p95", "tool": "a", "above": 5, "forSeconds": 0}), 4),
            (
                json!({"metric": "p95", "tool": "a", "above": 5, "forSeconds": 0, "webhook": "https://a.example/***"}),
                3,
            ),
            (json!({"metric": "p95", "tool": "a", "above": 6}), 2),
            (json!({"metric": "p95", "above": 5}), 0),
            (json!({"name": "x", "metric": "p95", "tool": "a", "above": 5}), 0),
        ] {
            assert_eq!(likeness(&alert, &definition), expected, "{definition}");
        }
        let named = json!({"name": "slow", "metric": "p95", "tool": null, "above": 5});
        assert_eq!(likeness(&named, &json!({"name": "slow", "metric": "errorRate", "above": 0.5})), 1);
    }
}
