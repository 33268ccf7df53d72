//! cURL commands as people paste them: each becomes one tool.
//!
//! A command is read as a shell would read it, but nothing is run and no file is opened.

mod ansi_c;
mod cmd;
mod known;
mod options;
mod shell;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};

use self::options::Options;
use super::Imported;
use super::example::{Importer, clean, has_marks};

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
}

/// How a command shall be read.
#[derive(Debug, Clone, Default)]
pub struct CurlOptions {
    /// What the tool is called; method and path say it otherwise.
    pub name: Option<String>,
    pub description: Option<String>,
}

/// Turns commands into tools, one for each, or says why one of them cannot be a tool.
pub fn curl(command: &str, options: &CurlOptions) -> Result<Imported, Vec<Violation>> {
    let wrong = |message| vec![Violation::new(ROOT, message)];
    let text = clean(command).replace("\r\n", "\n");
    if is_powershell(&text) {
        return Err(wrong(Message::new(&POWERSHELL)));
    }
    let commands = if cmd::is_meant(&text) { cmd::commands(&text) } else { shell::commands(&text) };
    let mut importer = Importer::new(None);
    let mut values: Vec<(String, String)> = Vec::new();
    let mut refused: Vec<(usize, Message)> = Vec::new();
    let mut count = 0_usize;
    for words in commands.map_err(wrong)? {
        let mut words = words.into_iter().peekable();
        assign(&mut words, &mut values);
        let Some(program) = words.next() else { continue };
        if !is_curl(&program) {
            let shown: String = program.chars().take(40).collect();
            importer.skip(shown, Message::new(&NOT_CURL));
            continue;
        }
        let example =
            Options::read(words).and_then(|options| options.into_example().map_err(|why| vec![why]));
        let added = example.and_then(|mut example| {
            example.name = options.name.clone();
            example.description = options.description.clone();
            example.values = values.clone();
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
    Err(refused.into_iter().map(|(at, reason)| Violation::new(place(at), reason)).collect())
}

/// Every message about commands.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, options::TEMPLATES, shell::TEMPLATES].into_iter().flatten().copied()
}

/// Takes `NAME=value` before a command, and after `export`.
fn assign(words: &mut std::iter::Peekable<std::vec::IntoIter<String>>, values: &mut Vec<(String, String)>) {
    words.next_if(|word| word == "export");
    while let Some(word) = words.next_if(|word| assignment(word).is_some()) {
        if let Some((name, value)) = assignment(&word).filter(|(_, value)| !has_marks(value)) {
            values.retain(|(known, _)| known != name);
            values.push((name.to_owned(), value.to_owned()));
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
