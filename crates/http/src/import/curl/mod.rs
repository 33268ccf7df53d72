//! cURL commands as people paste them: each becomes one tool.
//!
//! A command is read as a shell would read it, but nothing is run and no file is opened.

mod ansi_c;
mod cmd;
mod heredoc;
mod known;
mod options;
mod shell;

use std::collections::HashMap;
use std::iter::Peekable;
use std::rc::Rc;
use std::vec::IntoIter;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};

use self::options::Options;
use self::shell::Command;
use super::Imported;
use super::example::{Example, Importer, Source, clean, has_marks};

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
    MORE_REFUSED = "import.curl.moreRefused",
        "and {count} more things that cannot be in a tool",
        "另有 {count} 处无法用于工具";
}

/// So many refusals are told one by one.
const MOST_REFUSED: usize = 100;

/// How a command shall be read.
#[derive(Debug, Clone, Default)]
pub struct CurlOptions {
    /// What the tool is called; method and path say it otherwise.
    pub name: Option<String>,
    pub description: Option<String>,
    /// Of several commands only these: a tool's name or `METHOD /path`. Empty: all.
    pub only: Vec<String>,
}

/// Turns commands into tools, one for each, or says why one of them cannot be a tool.
pub fn curl(command: &str, options: &CurlOptions) -> Result<Imported, Vec<Violation>> {
    let wrong = |message| vec![Violation::new(ROOT, message)];
    let text = clean(command).replace("\r\n", "\n");
    if is_powershell(&text) {
        return Err(wrong(Message::new(&POWERSHELL)));
    }
    let commands = if cmd::is_meant(&text) { cmd::commands(&text) } else { shell::commands(&text) };
    let source = Source { from: "curl", document: None, prefix: None, only: &options.only };
    let mut importer = Importer::new(source);
    let mut values = Rc::<HashMap<String, String>>::default();
    let mut refused: Vec<(usize, Message)> = Vec::new();
    let mut count = 0_usize;
    for Command { words, input } in commands.map_err(wrong)? {
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
        let added = example(words, input).and_then(|mut example| {
            example.name = options.name.clone();
            example.description = options.description.clone();
            example.shared_values = Rc::clone(&values);
            importer.add(&example).map_err(|why| vec![why])
        });
        if let Err(reasons) = added {
            refused.extend(reasons.into_iter().map(|reason| (count, reason)));
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
    let more = refused.len().saturating_sub(MOST_REFUSED);
    refused.truncate(MOST_REFUSED);
    let mut violations: Vec<Violation> =
        refused.into_iter().map(|(at, reason)| Violation::new(place(at), reason)).collect();
    if more > 0 {
        violations.push(Violation::new(ROOT, Message::new(&MORE_REFUSED).with("count", more)));
    }
    Err(violations)
}

/// Every message about commands.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, heredoc::TEMPLATES, options::TEMPLATES, shell::TEMPLATES].into_iter().flatten().copied()
}

/// The request of one command, or all that is wrong with it.
fn example(words: impl Iterator<Item = String>, input: Option<String>) -> Result<Example, Vec<Message>> {
    Options::read(words, input)?.into_example().map_err(|why| vec![why])
}

/// Takes `NAME=value` before a command, and after `export`.
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

/// Whether a word is what a shell shows before a command: `%`, `$`, `user@host:~$`.
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
