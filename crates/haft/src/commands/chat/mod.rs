//! `haft chat [AGENT] [MESSAGE]`

mod following;
mod lines;
mod prompt;
mod screen;
mod talk;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{ErrorKind, Message};
use serde_json::{Value, json};

use self::lines::{Interrupts, Lines, is_terminal};
use self::prompt::Prompt;
use self::screen::Screen;
use self::talk::Talk;
use super::{encoded, failed, text};
use crate::cli::ChatArgs;
use crate::config::Config;
use crate::door::Door;
use crate::refusal::{OrFail as _, Refused, failure};
use crate::{messages, show};

pub(crate) async fn run(args: ChatArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let (door, working) = Door::at_work(&args.server, config).await?;
    if working.as_ref().is_some_and(|working| working.is_forgetful) && !args.server.json {
        show::said(&door.words(&super::results::CHAT_NOT_STORED));
    }
    let ended = chat(&args, &door, working.is_some()).await;
    if let Some(working) = working {
        working.end().await;
    }
    ended
}

async fn chat(args: &ChatArgs, door: &Door, is_alone: bool) -> anyhow::Result<ExitCode> {
    let json = args.server.json;
    if args.list {
        return super::list(door, &list_path(args, 100), json, &super::empty::NO_CONVERSATIONS, row).await;
    }
    let pictures = args.image.iter().map(|path| picture(path)).collect::<anyhow::Result<Vec<Value>>>()?;
    let message = message(args)?;
    let conversation = match (&args.conversation, args.last) {
        (Some(id), _) => Some(id.clone()),
        (None, true) => match last(door, args, json).await? {
            Ok(id) => Some(id),
            Err(code) => return Ok(code),
        },
        (None, false) => None,
    };
    let is_live = std::io::stdout().is_terminal();
    let talks = message.is_none() || is_terminal();
    let mut talk = Talk {
        door,
        agent: args.agent.clone(),
        tools: args.tools.clone(),
        conversation,
        last_event: None,
        json,
        is_alone,
        lines: (talks && !json).then(Lines::default),
        interrupts: Interrupts::start()?,
        screen: Screen::new(anstream::stdout(), anstream::stderr(), is_live),
        pending: Vec::new(),
    };
    if let Some(words) = message {
        let said = json!([{"role": "user", "content": content(words, pictures)}]);
        return talk.say(said, None).await.map(ExitCode::from);
    }
    // Whoever types a whole question wants to know before that nobody would answer it.
    if let Some(agent) = &args.agent
        && let Some(code) = failed(&door.get(&format!("/api/agents/{}", encoded(agent))).await?, json)
    {
        return Ok(code);
    }
    let conversation = talk.conversation.clone();
    let mut prompt = Prompt { talk, offered: Vec::new() };
    if let Some(id) = conversation
        && let Some(code) = prompt.go_on_with(&id).await?
    {
        return Ok(code);
    }
    prompt.run(pictures).await
}

/// What is asked once; nothing where somebody is to be asked for it.
fn message(args: &ChatArgs) -> anyhow::Result<Option<String>> {
    let given = args.text.as_ref().or(args.message.as_ref());
    if let Some(words) = given.filter(|words| *words != "-") {
        return Ok(Some(words.clone()));
    }
    if args.interactive || (given.is_none() && is_terminal()) {
        if args.server.json {
            return Err(failure(Message::new(&messages::ONE_QUESTION)));
        }
        return Ok(None);
    }
    let mut words = String::new();
    std::io::stdin().read_to_string(&mut words).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    if words.trim().is_empty() {
        let nothing = Message::new(&messages::NO_QUESTION);
        return Err(Refused::new(ErrorKind::Validation, nothing).into());
    }
    Ok(Some(words))
}

/// Words, and pictures beside them.
fn content(words: String, pictures: Vec<Value>) -> Value {
    if pictures.is_empty() {
        return words.into();
    }
    let words = json!({"type": "text", "text": words});
    std::iter::once(words).chain(pictures).collect()
}

/// A picture as a part of a message.
fn picture(path: &Path) -> anyhow::Result<Value> {
    let shown = path.display();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return Err(failure(Message::new(&messages::NO_PICTURE).with("path", shown))),
    };
    let bytes = std::fs::read(path).or_fail(|| Message::new(&messages::CANNOT_READ).with("path", shown))?;
    let url = format!("data:{kind};base64,{}", STANDARD.encode(bytes));
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn list_path(args: &ChatArgs, limit: usize) -> String {
    let agent = args.agent.as_ref().map(|agent| format!("&agent={}", encoded(agent)));
    format!("/api/conversations?limit={limit}{}", agent.unwrap_or_default())
}

fn row(conversation: &Value) -> [String; 5] {
    [
        show::line(text(conversation, "title"), 60),
        text(conversation, "agentName").to_owned(),
        super::moment(conversation, "updatedAt"),
        text(conversation, "status").to_owned(),
        text(conversation, "id").to_owned(),
    ]
}

/// The conversation that was changed last.
async fn last(door: &Door, args: &ChatArgs, json: bool) -> anyhow::Result<Result<String, ExitCode>> {
    let answer = door.get(&list_path(args, 1)).await?;
    if let Some(code) = failed(&answer, json) {
        return Ok(Err(code));
    }
    let none = || Refused::new(ErrorKind::NotFound, Message::new(&messages::NO_CONVERSATION));
    Ok(Ok(answer.data["items"][0]["id"].as_str().ok_or_else(none)?.to_owned()))
}
