//! Messages of successful commands, in both languages.

haft_core::templates! {
    // Tools, agents, providers, alerts and secrets.
    TOOL_CREATED = "cli.toolCreated", "created the tool {name}", "已创建工具 {name}";
    TOOL_DELETED = "cli.toolDeleted", "deleted the tool {name}", "已删除工具 {name}";
    TOOL_ROLLED_BACK = "cli.toolRolledBack",
        "restored version {version} of {name} as version {current}",
        "{name} 已恢复为版本 {version} 的内容，现为版本 {current}";
    AGENT_CREATED = "cli.agentCreated", "created the agent {name}", "已创建智能体 {name}";
    AGENT_DELETED = "cli.agentDeleted", "deleted the agent {name}", "已删除智能体 {name}";
    PROVIDER_DELETED = "cli.providerDeleted", "deleted the provider {name}", "已删除模型服务 {name}";
    ALERT_DELETED = "cli.alertDeleted", "deleted the alert {name}", "已删除告警 {name}";
    SECRET_SET = "cli.secretSet", "set the secret {name}", "已设置密钥 {name}";
    SECRET_DELETED = "cli.secretDeleted", "deleted the secret {name}", "已删除密钥 {name}";

    // Users, tokens and spaces.
    USER_ADDED = "cli.userAdded", "added the user {name}, id {id}", "已添加用户 {name}，id 为 {id}";
    TOKEN_CREATED = "cli.tokenCreated",
        "created the token {name}, id {id}; it is shown only once",
        "已创建令牌 {name}，id 为 {id}；令牌只显示这一次";
    TOKEN_ENDED = "cli.tokenEnded", "revoked the token {name}", "已终止令牌 {name}";
    SPACE_CREATED = "cli.spaceCreated", "created the space {name}, id {id}", "已创建空间 {name}，id 为 {id}";
    MEMBER_INVITED = "cli.memberInvited",
        "invited {user} into {space} as {role}; the invitation can be accepted until {until}",
        "已邀请 {user} 以 {role} 的角色加入 {space}；邀请在 {until} 之前有效";
    MEMBER_ADDED = "cli.memberAdded", "{user} is {role} in {space}", "{user} 在 {space} 中的角色是 {role}";
    MEMBER_REMOVED = "cli.memberRemoved", "{user} is no longer in {space}", "{user} 已不在 {space} 中";
    INVITATION_ACCEPTED = "cli.invitationAccepted", "you are {role} in {space}", "你在 {space} 中的角色是 {role}";
    INVITATION_DECLINED = "cli.invitationDeclined",
        "declined the invitation into {space}",
        "已拒绝加入 {space} 的邀请";
    LOGGED_IN = "cli.loggedIn",
        "logged in to {url} as {user}, in the space {space} as {role}, with scope {scope}",
        "已以 {user} 的身份登录 {url}，空间为 {space}，角色为 {role}，令牌权限为 {scope}";
    LOGGED_OUT = "cli.loggedOut", "logged out", "已退出登录";
    LOGGED_OUT_OF = "cli.loggedOutOf", "logged out of {url}", "已退出 {url} 的登录";
    NOT_LOGGED_IN = "cli.notLoggedIn", "there was no login", "当前没有登录";
    TOKEN_STAYS = "cli.tokenStays",
        "logged out of {url}; the token was given to haft login and stays valid",
        "已退出 {url} 的登录；令牌由你提供给 haft login，仍然有效";
    TOKEN_NOT_ENDED = "cli.tokenNotEnded",
        "logged out; {url} could not be reached, so the token stays valid until you run haft tokens rm {id}",
        "已退出登录；无法通知 {url}，令牌在你运行 haft tokens rm {id} 之前仍然有效";

    // Calls and tasks.
    CALL_TOOK = "cli.callTook", "{time} ms, attempts: {attempts}", "{time} 毫秒，尝试次数：{attempts}";
    CALL_TOOK_CACHED = "cli.callTookCached",
        "{time} ms, attempts: {attempts}, cached",
        "{time} 毫秒，尝试次数：{attempts}，来自缓存";
    CALL_IS_TASK = "cli.callIsTask",
        "The call is now task {id}: haft tasks watch {id}",
        "此调用已成为任务 {id}，会在后台继续执行：haft tasks watch {id}";
    CALL_APPROVED = "cli.callApproved",
        "approved the call of {tool}: haft tasks watch {id}",
        "{tool} 已获批准；可用 haft tasks watch {id} 查看";
    CALL_DENIED = "cli.callDenied", "denied the call of {tool}", "{tool} 未获批准，不会执行";
    TASK_CANCELLED = "cli.taskCancelled", "cancelled the task of {tool}", "已取消 {tool} 的任务";
    TASK_STOPPING = "cli.taskStopping", "asked the task of {tool} to stop", "已要求 {tool} 的任务停止";
    TASK_RETRIED = "cli.taskRetried", "retrying the task of {tool}", "正在重试 {tool}";
    TASK_RESOLVED = "cli.taskResolved", "resolved the task of {tool} as {status}", "{tool} 的任务现为 {status}";
    CHAT_NOT_STORED = "cli.chatNotStored",
        "there is no server and no data directory yet: this conversation is not saved",
        "此处还没有服务器和数据：本次对话不会保存";

    // Imports.
    GONE = "cli.gone", "gone", "已移除";
    STAYS = "cli.stays",
        "no longer in the document; it stays until you delete it",
        "文档中已不存在；在你删除之前会一直保留";
    LEFT_OUT = "cli.leftOut", "left out", "未导入";
    NOTE = "cli.note", "note:", "提示：";
    SECRETS = "cli.secrets", "secrets: {names}", "密钥：{names}";

    // Statistics.
    CALLS = "cli.statsCalls", "calls", "调用";
    ERRORS = "cli.statsErrors", "errors", "错误";
    ERROR_RATE = "cli.statsErrorRate", "rate", "错误率";
    ALL_TOOLS = "cli.statsAll", "all, {window}", "全部，{window}";
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_exists_in_both_languages() {
        haft_core::message::check_templates(super::TEMPLATES).expect("complete messages");
    }
}
