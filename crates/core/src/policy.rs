//! Policies that may depend on arguments: `ask` may apply only if a condition holds.

use serde_json::Value;

use crate::{Condition, Message, Policy, Violation};

crate::templates! {
    NOT_ASKED = "policy.notAsked",
        "sets a condition for asking, so the policy must be ask or absent",
        "指定了询问条件，因此策略必须为 ask 或留空";
}

/// A policy with its optional condition, from a definition or a binding.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyRule {
    policy: Policy,
    ask_when: Option<Condition>,
}

impl PolicyRule {
    /// Parses the policy and its condition. Violations are at `askWhen`.
    pub fn read(policy: Option<Policy>, ask_when: Option<&str>) -> Result<Self, Violation> {
        let Some(text) = ask_when else {
            return Ok(Self { policy: policy.unwrap_or_default(), ask_when: None });
        };
        match policy {
            None | Some(Policy::Ask) => {}
            Some(Policy::Allow | Policy::Block) => {
                return Err(Violation::new("askWhen", Message::new(&NOT_ASKED)));
            }
        }
        let condition = text.parse::<Condition>().map_err(|error| Violation::new("askWhen", error.0))?;
        Ok(Self { policy: Policy::Ask, ask_when: Some(condition) })
    }

    /// Returns the policy for these arguments. A condition that cannot be evaluated counts as true.
    pub fn of(&self, arguments: &Value) -> Policy {
        let holds = self.ask_when.as_ref().is_none_or(|condition| condition.holds(arguments) != Some(false));
        if holds { self.policy } else { Policy::Allow }
    }

    /// Returns the strictest policy that any arguments can have.
    pub fn strictest(&self) -> Policy {
        self.policy
    }

    /// Returns the condition as its author wrote it, as the reason for asking.
    pub fn reason(&self) -> Option<&str> {
        self.ask_when.as_ref().map(Condition::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_asks_if_its_condition_holds_or_cannot_be_evaluated() {
        let rule = PolicyRule::read(Some(Policy::Ask), Some("amount > 100")).expect("a rule");
        assert_eq!(rule.of(&json!({"amount": 101})), Policy::Ask);
        assert_eq!(rule.of(&json!({"amount": 100})), Policy::Allow);
        assert_eq!(rule.of(&json!({"amount": "many"})), Policy::Ask);
        assert_eq!(rule.strictest(), Policy::Ask);
        assert_eq!(PolicyRule::read(None, Some("amount > 100")).expect("a rule"), rule);
        let plain = PolicyRule::read(Some(Policy::Block), None).expect("a rule");
        assert_eq!(plain.of(&json!({})), Policy::Block);
        assert_eq!(PolicyRule::default().of(&json!({})), Policy::Allow);
    }

    #[test]
    fn contradictory_settings_are_rejected_at_their_field() {
        for (policy, text) in [(Some(Policy::Allow), "a > 1"), (Some(Policy::Block), "a > 1"), (None, "a >")]
        {
            assert_eq!(PolicyRule::read(policy, Some(text)).expect_err("refused").path, "askWhen");
        }
    }
}
