//! Messages for empty lists, in both languages.

haft_core::templates! {
    NO_TOOLS = "cli.noTools", "No tools.", "没有工具。";
    NO_VERSIONS = "cli.noVersions", "No versions.", "没有版本。";
    NO_AGENTS = "cli.noAgents", "No agents.", "没有智能体。";
    NO_TASKS = "cli.noTasks", "No tasks.", "没有任务。";
    NO_APPROVALS = "cli.noApprovals", "No calls wait for approval.", "没有等待批准的调用。";
    NO_SECRETS = "cli.noSecrets", "No secrets.", "没有密钥。";
    NO_TOKENS = "cli.noTokens", "No tokens.", "没有令牌。";
    NO_SPACES = "cli.noSpaces", "No spaces.", "没有空间。";
    NO_MEMBERS = "cli.noMembers", "No members.", "没有成员。";
    NO_USERS = "cli.noUsers", "No users.", "没有用户。";
    NO_CHANGES = "cli.noChanges", "No changes.", "没有变更。";
    NO_CONVERSATIONS = "cli.noConversations", "No conversations.", "没有对话。";
    NO_CALLS = "cli.noCalls", "No calls.", "没有调用。";
    NO_PROVIDERS = "cli.noProviders", "No providers.", "没有模型服务。";
    NO_ALERTS = "cli.noAlerts", "No alerts.", "没有告警。";
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_exists_in_both_languages() {
        haft_core::message::check_templates(super::TEMPLATES).expect("complete messages");
    }
}
