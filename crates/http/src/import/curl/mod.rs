//! Imports cURL commands: each becomes one tool.
//!
//! Commands are parsed like in a shell, but nothing is executed and no file is opened.

mod ansi_c;
mod cmd;
mod heredoc;
mod option_kinds;
mod options;
mod shell;

use std::collections::HashMap;
use std::iter::Peekable;
use std::rc::Rc;
use std::vec::IntoIter;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};

use self::options::{MOST_REFUSED, Options, Refusals};
use self::shell::Command;
use super::example::{Example, Importer, Source, has_marks, sanitize};
use super::{CancelFlag, Imported};

haft_core::templates! {
    NO_COMMAND = "import.curl.noCommand",
        "there is no curl command here; paste one that begins with curl",
        "没有找到 curl 命令；请粘贴以 curl 开头的命令";
    NOT_CURL = "import.curl.notCurl",
        "is not a curl command",
        "不是 curl 命令";
    POWERSHELL = "import.curl.powershell",
        "this is written for PowerShell; copy the request as cURL for bash or cmd instead",
        "这是 PowerShell 写法；请改为复制 bash 或 cmd 格式的 cURL";
    TOO_LONG = "import.curl.tooLong",
        "has more than {limit} MB of commands; import a part of them",
        "命令文本超过 {limit} MB；请只导入其中一部分";
    MORE_REFUSED = "import.curl.moreRefused",
        "and {count} more unsupported items",
        "另有 {count} 处无法用于工具";
}

/// Maximum length of a text with commands, in bytes.
const LONGEST_TEXT: usize = 2 << 20;

/// Options of an import of cURL commands.
#[derive(Debug, Clone, Default)]
pub struct CurlOptions {
    /// The tool's name. Derived from method and path if absent.
    pub name: Option<String>,
    pub description: Option<String>,
    /// Tool names or `METHOD /path` of the commands to import. Empty: all.
    pub only: Vec<String>,
    /// Makes the import end early, with an error.
    pub cancel: CancelFlag,
}

/// Imports each curl command of a text as one tool. Other programs, and commands whose body is unknown because it
/// comes from a file, are listed as skipped.
///
/// Imports nothing and returns the violations if any curl command is not supported, even one that `options.only`
/// does not select, if the text contains no curl command, or if a limit is exceeded.
pub fn curl(command: &str, options: &CurlOptions) -> Result<Imported, Vec<Violation>> {
    let wrong = |message| vec![Violation::new(ROOT, message)];
    if command.len() > LONGEST_TEXT {
        return Err(wrong(Message::new(&TOO_LONG).with("limit", LONGEST_TEXT >> 20)));
    }
    let text = sanitize(command).replace("\r\n", "\n");
    if is_powershell(&text) {
        return Err(wrong(Message::new(&POWERSHELL)));
    }
    let text = options::mark_templates(&text);
    let commands = if cmd::is_meant(&text) { cmd::commands(&text) } else { shell::commands(&text) };
    let (only, cancel) = (&options.only, &options.cancel);
    let mut importer = Importer::new(Source { from: "curl", document: None, prefix: None, only, cancel });
    let mut values = Rc::<HashMap<String, String>>::default();
    let (mut refused, mut more_refused) = (Vec::new(), 0_usize);
    let mut count = 0_usize;
    for Command { words, input } in commands.map_err(wrong)? {
        importer.count_request().map_err(wrong)?;
        let mut words = words.into_iter().peekable();
        while words.next_if(|word| is_prompt(word)).is_some() {}
        assign(&mut words, &mut values);
        words.next_if(|word| word == "sudo");
        let Some(program) = words.next() else { continue };
        if !is_curl(&program) {
            let shown: String = program.chars().take(40).collect();
            importer.skip(shown, Message::new(&NOT_CURL));
            continue;
        }
        let added = example(words, input).and_then(|(mut example, unknown_body)| {
            if let Some(reason) = unknown_body {
                let operation = format!("{} {}", example.method, example.address.display_path());
                importer.skip_example(&operation, &example, reason);
                return Ok(());
            }
            example.name = options.name.clone();
            example.description = options.description.clone();
            example.shared_values = Rc::clone(&values);
            importer.add(&example).map_err(Refusals::from)
        });
        if let Err(Refusals { reasons, more }) = added {
            let listed = reasons.len().min(MOST_REFUSED - refused.len());
            more_refused += reasons.len() - listed + more;
            refused.extend(reasons.into_iter().take(listed).map(|reason| (count, reason)));
        }
        count += 1;
    }
    if count == 0 {
        return Err(wrong(Message::new(&NO_COMMAND)));
    }
    if refused.is_empty() {
        return Ok(importer.finish());
    }
    let place = |at: usize| if count == 1 { ROOT.to_owned() } else { at.to_string() };
    let mut violations: Vec<Violation> =
        refused.into_iter().map(|(at, reason)| Violation::new(place(at), reason)).collect();
    if more_refused > 0 {
        violations.push(Violation::new(ROOT, Message::new(&MORE_REFUSED).with("count", more_refused)));
    }
    Err(violations)
}

/// All message templates of this module.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, heredoc::TEMPLATES, options::TEMPLATES, shell::TEMPLATES].into_iter().flatten().copied()
}

/// The request of one command and the reason why its body is unknown, if so; or everything wrong with the
/// command.
fn example(
    words: impl Iterator<Item = String>,
    input: Option<String>,
) -> Result<(Example, Option<Message>), Refusals> {
    let options = Options::read(words, input)?;
    let unknown_body = options.unknown_body();
    Ok((options.into_example()?, unknown_body))
}

/// Consumes `NAME=value` before a command, and after `export`.
fn assign(words: &mut Peekable<IntoIter<String>>, values: &mut Rc<HashMap<String, String>>) {
    words.next_if(|word| word == "export");
    while let Some(word) = words.next_if(|word| assignment(word).is_some()) {
        if let Some((name, value)) = assignment(&word).filter(|(_, value)| !has_marks(value)) {
            Rc::make_mut(values).insert(name.to_owned(), value.to_owned());
        }
    }
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.split_once('=').filter(|(name, _)| is_name(name))
}

/// Returns true if a word is a shell prompt: `%`, `$`, `user@host:~$`.
fn is_prompt(word: &str) -> bool {
    let before = word.strip_suffix(['$', '%', '#']);
    before.is_some_and(|before| before.is_empty() || before.contains('@'))
}

fn is_curl(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    name == "curl" || name == "curl.exe"
}

fn is_powershell(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_cmdlet = ["invoke-webrequest", "invoke-restmethod"].iter().any(|name| lower.contains(name));
    let goes_on = text.trim_end().lines().any(|line| line.trim_end().ends_with(" `"));
    goes_on || (is_cmdlet && !lower.trim_start().starts_with("curl"))
}
