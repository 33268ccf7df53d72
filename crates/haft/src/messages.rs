//! The messages of the command line, in both languages.

haft_core::templates! {
    // Servers and logins.
    NO_SERVER = "cli.noServer",
        "there is no server to ask: run haft login URL, or set HAFT_URL and HAFT_TOKEN",
        "没有可询问的服务器：请运行 haft login URL，或设置 HAFT_URL 和 HAFT_TOKEN";
    NO_TOKEN = "cli.noToken",
        "a token is needed for {url}; set HAFT_TOKEN, or run haft login {url}",
        "访问 {url} 需要令牌；请设置 HAFT_TOKEN，或运行 haft login {url}";
    NOT_RUNNING = "cli.notRunning",
        "cannot reach a server at {base}: is it running?{cause}",
        "无法连接到 {base} 的服务器：它是否在运行？{cause}";
    NOT_ANSWERING = "cli.notAnswering",
        "cannot reach a server at {base}: it did not answer{cause}",
        "无法连接到 {base} 的服务器：没有应答{cause}";
    NO_SESSION = "cli.noSession",
        "the server accepted the login but returned no session",
        "服务器接受了登录，但没有返回会话";
    BAD_TOKEN = "cli.badToken",
        "the token contains a character that is not allowed",
        "令牌中含有不允许的字符";
    BAD_SESSION = "cli.badSession",
        "the session is not a valid cookie",
        "会话不是有效的 cookie";
    BAD_URL = "cli.badUrl",
        "{written} is not a URL such as {example}",
        "{written} 不是 URL，正确的例子：{example}";
    NOT_HAFT = "cli.notOurs",
        "the server's response ({status}) is not one of Haft",
        "服务器的应答（{status}）不是 Haft 的应答";
    NO_LOGIN_DIRECTORY = "cli.noLoginPlace",
        "there is no directory for the login: set HOME or XDG_CONFIG_HOME",
        "没有可保存登录信息的位置：请设置 HOME 或 XDG_CONFIG_HOME";
    CANNOT_READ_LOGIN = "cli.cannotReadLogin",
        "cannot read the login in {path}",
        "无法读取 {path} 中的登录信息";
    BAD_LOGIN = "cli.badLogin",
        "the login in {path} cannot be read; run haft login again",
        "{path} 中的登录信息无法解析；请重新运行 haft login";
    LOGIN_IGNORED = "cli.loginIgnored",
        "{reason}. The command asks {url}.",
        "{reason}。此命令改为询问 {url}。";
    CANNOT_MAKE_DIRECTORY = "cli.cannotMakeDirectory",
        "cannot create the directory {path}",
        "无法创建目录 {path}";
    CANNOT_WRITE_LOGIN = "cli.cannotWriteLogin",
        "cannot write the login to {path}",
        "无法将登录信息写入 {path}";
    CANNOT_REMOVE = "cli.cannotRemove",
        "cannot remove {path}",
        "无法删除 {path}";
    NOTHING_GIVEN = "cli.nothingGiven",
        "no {what} was given; haft login --help lists the ways to log in",
        "没有提供 {what}；登录方式见 haft login --help";
    NOTHING_ON_RECORD = "cli.nothingOnRecord",
        "nothing is on record here: run haft login URL, or set HAFT_URL and HAFT_TOKEN",
        "此处没有记录：请运行 haft login URL，或设置 HAFT_URL 和 HAFT_TOKEN";

    // Input.
    NO_STDIN = "cli.noStdin", "cannot read standard input", "无法读取标准输入";
    NO_TEXT_STDIN = "cli.noTextStdin", "cannot read standard input as text", "标准输入不是可读取的文本";
    CANNOT_HIDE = "cli.cannotHide", "cannot hide the input", "无法隐藏输入内容";
    NO_TERMINAL = "cli.noTerminal", "cannot read from the terminal", "无法从终端读取";
    CANCELLED = "cli.cancelled", "cancelled", "已取消";
    NOT_TEXT = "cli.notText", "the input is not text", "输入的内容不是文本";
    NOT_THE_SAME = "cli.notTheSame", "the two entries differ", "两次输入不一致";
    EMPTY_VALUE = "cli.emptyValue", "the value of {name} is empty", "{name} 的值为空";
    CANNOT_READ = "cli.cannotRead", "cannot read {path}", "无法读取 {path}";
    CANNOT_READ_BECAUSE = "cli.cannotReadBecause", "cannot read {path}: {reason}", "无法读取 {path}：{reason}";
    CANNOT_MAKE = "cli.cannotMake", "cannot create {path}", "无法创建 {path}";
    CANNOT_DELETE = "cli.cannotDelete", "cannot delete {path}", "无法删除 {path}";
    CANNOT_WRITE = "cli.cannotWrite", "cannot write {path}", "无法写入 {path}";
    NOT_JSON = "cli.notJson", "{what} is not JSON", "{what} 不是 JSON";
    STDIN_NOT_JSON = "cli.stdinNotJson", "standard input is not JSON", "标准输入不是 JSON";
    VALUE_NOT_JSON = "cli.valueNotJson", "the value of {name} is not JSON", "{name} 的值不是 JSON";
    NOT_AN_ARGUMENT = "cli.notAnArgument",
        "{pair} is not an argument; write key=value, key:=json, or - alone for standard input",
        "{pair} 不是参数；请写成 key=value、key:=json，或单独的 - 表示标准输入";
    GIVEN_TWICE = "cli.givenTwice", "{name} is given twice", "{name} 重复给出";

    // Arguments of commands. The English texts of usage errors are clap's.
    NOT_A_LOCALE = "cli.notALocale", "write en or zh", "请写 en 或 zh";
    NOT_A_TIME = "cli.notATime",
        "write a duration such as 30s or 500ms, or a number of milliseconds",
        "请写时长（例如 30s 或 500ms）或毫秒数";
    NOT_A_DURATION = "cli.notADuration",
        "write a duration such as 30s or 500ms, or a whole number",
        "请写时长（例如 30s 或 500ms）或整数";
    USAGE = "cli.usage",
        "{message}\n\nUsage: {usage}\n\nFor more information, try '--help'.",
        "{message}\n\n用法：{usage}\n\n详细信息请用 --help 查看。";
    MISSING_ARGUMENTS = "cli.usage.missing",
        "the following required arguments were not provided: {argument}",
        "缺少必需的参数：{argument}";
    UNKNOWN_ARGUMENT = "cli.usage.unknown", "unexpected argument '{argument}' found", "未知的参数 '{argument}'";
    UNKNOWN_COMMAND = "cli.usage.unknownCommand", "unrecognized subcommand '{command}'", "未知的命令 '{command}'";
    MISSING_COMMAND = "cli.usage.missingCommand",
        "'{command}' requires a subcommand but one was not provided: {known}",
        "'{command}' 需要子命令：{known}";
    BAD_VALUE = "cli.usage.badValue", "invalid value '{value}' for '{argument}'", "'{argument}' 的值 '{value}' 无效";
    MISSING_VALUE = "cli.usage.missingValue",
        "a value is required for '{argument}' but none was supplied",
        "'{argument}' 需要一个值";
    CONFLICTING = "cli.usage.conflicting",
        "the argument '{argument}' cannot be used with {others}",
        "参数 '{argument}' 不能与 {others} 同时使用";
    REPEATED = "cli.usage.repeated",
        "the argument '{argument}' cannot be used multiple times",
        "参数 '{argument}' 不能多次使用";
    WITH_REASON = "cli.usage.withReason", "{message}: {reason}", "{message}：{reason}";
    WITH_VALUES = "cli.usage.withValues", "{message} (possible values: {known})", "{message}（可用的值：{known}）";
    WITH_SIMILAR = "cli.usage.withSimilar", "{message}; did you mean {similar}?", "{message}；是否想用 {similar}？";

    // Definitions in files.
    NO_DEFINITION = "cli.noDefinition", "there is no definition in {sources}", "{sources} 中没有定义";
    ONLY_SECRETS = "cli.onlySecrets",
        "there is no definition in {sources}, only names of secrets ({count})",
        "{sources} 中没有定义，只有密钥名称（{count} 个）";
    EMPTY_FILE = "cli.emptyFile", "{place} is empty", "{place} 为空";
    HOLDS_NO_DEFINITION = "cli.holdsNoDefinition",
        "{place} holds no definition: it must be an object or a list of them",
        "{place} 中没有定义：必须是对象或对象列表";
    UNKNOWN_LIST = "cli.unknownList",
        "{place} holds {name}, which is none of {known}",
        "{place} 中含有 {name}，它不属于 {known}";
    NOT_A_LIST = "cli.notAList", "{name} in {place} must be a list", "{place} 中的 {name} 必须是列表";
    NOT_A_DEFINITION = "cli.notADefinition",
        "{place} is not a definition: it must be an object",
        "{place} 不是定义：必须是对象";
    NEEDS_A_NAME = "cli.needsAName", "{place} needs a name", "{place} 需要名称";
    THERE_TWICE = "cli.thereTwice",
        "the {what} {name} is defined twice: in {other} and in {place}",
        "{what} {name} 出现两次：在 {other} 和 {place} 中";
    NOT_READABLE = "cli.notReadable", "{place} {reasons}", "{place} {reasons}";
    PRUNES_ALL = "cli.prunesAll",
        "--prune would delete every tool, since no file holds one; give the files of the tools too",
        "文件中没有工具，--prune 会删除所有工具；请同时提供工具的文件";
    NO_SUCH_TOOL = "cli.noSuchTool", "{path} holds no tool {name}; it holds {known}", "{path} 中没有工具 {name}；其中有 {known}";
    HOLDS_NO_TOOL = "cli.holdsNoTool", "{path} holds no tool", "{path} 中没有工具";
    SEVERAL_TOOLS = "cli.severalTools",
        "{path} holds several tools; name the one to call: {known}",
        "{path} 中有多个工具；请指明要调用哪一个：{known}";
    IS_IN = "cli.isIn", "{path} is in {place}", "{path} 位于 {place}";
    MISSING_SECRET = "cli.missingSecret",
        "the secret {name} has no value here; set it with haft secrets set {name}",
        "密钥 {name} 在此处没有值；请用 haft secrets set {name} 设置";
    MISSING_WEBHOOK = "cli.missingWebhook",
        "the alert {name} has no webhook here, since the file shows a masked address; write the whole address into the file, or set it on the server",
        "告警 {name} 在此处没有 webhook，因为文件中的地址是掩码；请在文件中写明完整地址，或在服务器上设置";
    NOWHERE_TO_IMPORT = "cli.nowhereToImport",
        "there is no server to import the tools into: run haft login URL, set HAFT_TOKEN, or preview with --dry-run",
        "没有可保存工具的服务器：请运行 haft login URL 或设置 HAFT_TOKEN，或用 --dry-run 查看";

    // Results of commands and of dry runs.
    NOTHING_TO_CHANGE = "cli.nothingToChange", "nothing to change", "没有需要更改的内容";
    CREATED = "cli.created", "{count} created", "已创建 {count} 个";
    UPDATED = "cli.updated", "{count} updated", "已更新 {count} 个";
    REMOVED = "cli.removed", "{count} removed", "已移除 {count} 个";
    UNCHANGED = "cli.unchanged", "{count} unchanged", "{count} 个未变";
    WOULD_CREATE = "cli.wouldCreate", "would create {count}", "将创建 {count} 个";
    WOULD_UPDATE = "cli.wouldUpdate", "would update {count}", "将更新 {count} 个";
    WOULD_REMOVE = "cli.wouldRemove", "would remove {count}", "将移除 {count} 个";
    COUNTS = "cli.counts", "{counts}", "{counts}";
    NOTHING_STORED = "cli.nothingStored", "{counts}; nothing was stored", "{counts}；未保存任何内容";
    FILES_WRITTEN = "cli.filesWritten",
        "{created} files created, {updated} updated, {unchanged} unchanged",
        "已创建 {created} 个文件，已更新 {updated} 个，{unchanged} 个未变";
    FILES_GONE = "cli.filesGone",
        "files marked gone no longer have a definition; --prune deletes them",
        "标记为 gone 的文件已没有对应的定义；可用 --prune 删除";
    SECRETS_NOT_EXPORTED = "cli.secretsNotExported",
        "values of secrets are not exported, only their names; haft secrets set NAME sets one elsewhere",
        "只导出密钥的名称，不导出值；可在别处用 haft secrets set NAME 设置";
    TAMPERED = "cli.tampered",
        "the records differ from the ones that were written",
        "记录与写入时不一致";

    // Spaces and conversations.
    NO_INVITATIONS = "cli.noInvitations",
        "No open invitations.",
        "没有待接受的邀请。";
    NO_SUCH_INVITATION = "cli.noSuchInvitation",
        "you have no open invitation into {space}; see `haft spaces invitations`",
        "没有加入 {space} 的有效邀请；请查看 `haft spaces invitations`";
    SEVERAL_INVITATIONS = "cli.severalInvitations",
        "several invitations are into a space called {space}; give the id of one: {ids}",
        "有多个邀请的空间名为 {space}；请用 id 指明：{ids}";
    NO_SUCH_SPACE = "cli.noSuchSpace",
        "you are not a member of a space {space}; your spaces: {known}",
        "你不在空间 {space} 中；你的空间有 {known}";
    SEVERAL_SPACES = "cli.severalSpaces",
        "several spaces are called {space}; give the id of one: {ids}",
        "有多个空间名为 {space}；请用 id 指明：{ids}";
    NO_QUESTION = "cli.noQuestion",
        "there is no question: write one, or give it on standard input",
        "没有问题：请写出问题，或从标准输入提供";
    ONE_QUESTION = "cli.oneQuestion",
        "--json is for one question: write it, or give it on standard input",
        "--json 只用于单个问题：请写出问题，或从标准输入提供";
    NO_PICTURE = "cli.noPicture",
        "{path} is not an image that models support: png, jpg, gif or webp",
        "{path} 不是模型支持的图片：png、jpg、gif 或 webp";
    NO_CONVERSATION = "cli.noConversation",
        "there is no conversation to continue",
        "没有可继续的对话";
    BROKE_OFF = "cli.brokeOff",
        "the connection broke before the answer began; haft chat --list shows the conversation",
        "连接在回答开始前中断；结果见 haft chat --list";

    // Settings.
    REACHABLE = "cli.reachable",
        "{addr} can be reached from outside: set HAFT_ADMIN_TOKEN first, or listen on 127.0.0.1",
        "{addr} 可从外部访问：请先设置 HAFT_ADMIN_TOKEN，或只监听 127.0.0.1";
    CANNOT_LISTEN = "cli.cannotListen", "cannot listen on {addr}", "无法监听 {addr}";
    SHORT_ADMIN_TOKEN = "cli.shortAdminToken",
        "HAFT_ADMIN_TOKEN has {length} characters and needs at least {least}: make one with `openssl rand -hex 24`",
        "HAFT_ADMIN_TOKEN 只有 {length} 个字符，至少需要 {least} 个：可用 `openssl rand -hex 24` 生成";
    NOT_SHARED = "cli.notShared",
        "a data directory is for one process, and haft serve executes its tasks itself; for separate workers set HAFT_DATABASE_URL to a PostgreSQL database",
        "一个数据目录只供一个进程使用，其任务由 haft serve 自己执行；如需另外的 worker，请将 HAFT_DATABASE_URL 设为 PostgreSQL";
    BAD_DATABASE_URL = "cli.badDatabaseUrl",
        "HAFT_DATABASE_URL must begin with postgres: or sqlite:",
        "HAFT_DATABASE_URL 必须以 postgres: 或 sqlite: 开头";
    NO_DATA_DIRECTORY = "cli.noDataDirectory",
        "there is no home directory to keep data in: set HAFT_DATA_DIR",
        "没有可保存数据的主目录：请设置 HAFT_DATA_DIR";
    CANNOT_MAKE_DATA_DIRECTORY = "cli.cannotMakeDataDirectory",
        "cannot create the data directory {path}",
        "无法创建数据目录 {path}";
    NO_MASTER_KEY = "cli.noMasterKey",
        "there is no key for secrets: set HAFT_MASTER_KEY",
        "没有用于密钥的主密钥：请设置 HAFT_MASTER_KEY";
    BAD_NETWORKS = "cli.badNetworks",
        "{name} must be networks separated by commas, such as 10.0.0.0/8,127.0.0.1; not {written}",
        "{name} 必须是以逗号分隔的网络，例如 10.0.0.0/8,127.0.0.1，不能是 {written}";
    BAD_CERTIFICATES = "cli.badCertificates",
        "HAFT_CA_CERTS must be a file with certificates in PEM form",
        "HAFT_CA_CERTS 必须是 PEM 格式的证书文件";
    BAD_LOG_FILTER = "cli.badLogFilter",
        "HAFT_LOG: {filter} is not a log filter",
        "HAFT_LOG：{filter} 不是日志过滤条件";
    BAD_COLLECTOR = "cli.badCollector",
        "the trace collector cannot be used",
        "无法使用追踪数据的收集器";
    OTLP_PROTOCOL = "cli.otlpProtocol",
        "{name}: haft sends traces as {protocol} only, which collectors accept at port 4318",
        "{name}：haft 只以 {protocol} 发送追踪数据，收集器在端口 4318 接收";
    OTLP_MALFORMED = "cli.otlpMalformed",
        "{name} is not of the form name=value,name2=value2, URL-encoded",
        "{name} 的格式必须是 name=value,name2=value2，并经过 URL 编码";
    OTLP_ENDPOINT = "cli.otlpEndpoint",
        "{name} is not a URL such as http://127.0.0.1:4318",
        "{name} 不是 http://127.0.0.1:4318 这样的 URL";
    OTLP_CREDENTIALS = "cli.otlpCredentials",
        "{name} holds a user name or password; put credentials into {headers}",
        "{name} 中含有用户名或密码；凭据应写在 {headers} 中";
    OUT_OF_RANGE = "cli.outOfRange",
        "{name} must be from {least} to {most}, not {value}",
        "{name} 必须在 {least} 到 {most} 之间，不能是 {value}";
    TOO_SMALL = "cli.tooSmall",
        "{name} must be at least {least}, not {value}",
        "{name} 至少为 {least}，不能是 {value}";
    CANNOT_READ_CERTIFICATES = "cli.cannotReadCertificates",
        "cannot read the certificates in {path}",
        "无法读取 {path} 中的证书";
    BAD_FILE = "cli.badFile", "{path} is not valid", "{path} 内容有误";
    NOT_A_URL = "cli.notAUrl", "{name}: {written} is not a URL", "{name}：{written} 不是 URL";
    NOT_AN_ADDRESS = "cli.notAnAddress",
        "{name} is not an http or https URL without a user name or password",
        "{name} 不是不含用户名和密码的 http 或 https URL";
    NOT_FIND = "cli.notFind",
        "{name} must be true or false, or the URL of an Ollama",
        "{name} 必须是 true、false 或要查找的 URL";
    NO_KEY = "cli.noKey", "there is no key for secrets", "没有用于密钥的主密钥";
    NO_NEW_KEY = "cli.noNewKey",
        "with HAFT_MASTER_KEY, put the new key before the old one, with a comma between them, and run this again",
        "使用 HAFT_MASTER_KEY 时，请将新主密钥写在旧主密钥之前，用逗号分隔，然后重新运行";
    KEY_CHANGED = "cli.keyChanged",
        "{count} secrets are encrypted under the new key",
        "已用新的主密钥加密 {count} 个密钥";
    SIGN_IN = "cli.signIn",
        "sign in as {name}, once and within an hour: {base}/login?link={link}\nor: haft login {base} --link {link}",
        "以 {name} 的身份登录，一小时内有效，仅限一次：{base}/login?link={link}\n或运行：haft login {base} --link {link}";
    KEY_NOT_SAVED = "cli.keyNotKept", "the new key could not be saved", "新的主密钥无法保存";
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_exists_in_both_languages() {
        haft_core::message::check_templates(super::TEMPLATES).expect("complete messages");
    }
}
