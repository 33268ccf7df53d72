//! `haft chat [AGENT] [MESSAGE]`

mod prompt;
mod screen;
mod session;
mod terminal;
mod turn_stream;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{ErrorKind, Message};
use serde_json::{Value, json};

use self::prompt::Prompt;
use self::screen::Screen;
use self::session::ChatSession;
use self::terminal::{Interrupts, Lines, is_terminal};
use super::{path_segment, report_failure, text};
use crate::cli::ChatArgs;
use crate::cli_error::{CliError, OrFail as _, failure};
use crate::client::ApiClient;
use crate::config::Config;
use crate::{messages, output};

pub(crate) async fn run(args: ChatArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let (client, worker) = ApiClient::with_local_worker(&args.server, config).await?;
    if worker.as_ref().is_some_and(|worker| worker.is_ephemeral) && !args.server.json {
        output::print_status(&client.render(&super::results::CHAT_NOT_STORED));
    }
    let ended = run_chat(&args, &client, worker.is_some()).await;
    if let Some(worker) = worker {
        worker.end().await;
    }
    ended
}

async fn run_chat(args: &ChatArgs, client: &ApiClient, is_in_process: bool) -> anyhow::Result<ExitCode> {
    let json = args.server.json;
    if args.list {
        return super::list(client, &list_path(args, 100), json, &super::empty_lists::NO_CONVERSATIONS, row)
            .await;
    }
    let images = args.image.iter().map(|path| read_image(path)).collect::<anyhow::Result<Vec<Value>>>()?;
    let message = message(args)?;
    let conversation = match (&args.conversation, args.last) {
        (Some(id), _) => Some(id.clone()),
        (None, true) => match last_conversation(client, args, json).await? {
            Ok(id) => Some(id),
            Err(code) => return Ok(code),
        },
        (None, false) => None,
    };
    let is_live = std::io::stdout().is_terminal();
    let is_interactive = message.is_none() || is_terminal();
    let mut session = ChatSession {
        client,
        agent: args.agent.clone(),
        tools: args.tools.clone(),
        conversation,
        last_event: None,
        json,
        is_in_process,
        lines: (is_interactive && !json).then(Lines::default),
        interrupts: Interrupts::start()?,
        screen: Screen::new(anstream::stdout(), anstream::stderr(), is_live),
        pending: Vec::new(),
    };
    if let Some(text) = message {
        let messages = json!([{"role": "user", "content": content(text, images)}]);
        return session.send_messages(messages, None).await.map(ExitCode::from);
    }
    // Checked before the first message is typed.
    if let Some(agent) = &args.agent
        && let Some(code) =
            report_failure(&client.get(&format!("/api/agents/{}", path_segment(agent))).await?, json)
    {
        return Ok(code);
    }
    let conversation = session.conversation.clone();
    let mut prompt = Prompt { session, listed: Vec::new() };
    if let Some(id) = conversation
        && let Some(code) = prompt.resume(&id).await?
    {
        return Ok(code);
    }
    prompt.run(images).await
}

/// Returns the message of a single turn. Returns `None` if messages are read from a prompt.
fn message(args: &ChatArgs) -> anyhow::Result<Option<String>> {
    let given = args.text.as_ref().or(args.message.as_ref());
    if let Some(text) = given.filter(|text| *text != "-") {
        return Ok(Some(text.clone()));
    }
    if args.interactive || (given.is_none() && is_terminal()) {
        if args.server.json {
            return Err(failure(Message::new(&messages::ONE_QUESTION)));
        }
        return Ok(None);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    if text.trim().is_empty() {
        let nothing = Message::new(&messages::NO_QUESTION);
        return Err(CliError::new(ErrorKind::Validation, nothing).into());
    }
    Ok(Some(text))
}

/// Returns the content of a message with text and images.
fn content(text: String, images: Vec<Value>) -> Value {
    if images.is_empty() {
        return text.into();
    }
    let text = json!({"type": "text", "text": text});
    std::iter::once(text).chain(images).collect()
}

/// Reads an image file as a part of a message.
fn read_image(path: &Path) -> anyhow::Result<Value> {
    let displayed_path = path.display();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return Err(failure(Message::new(&messages::NO_PICTURE).with("path", displayed_path))),
    };
    let bytes =
        std::fs::read(path).or_fail(|| Message::new(&messages::CANNOT_READ).with("path", displayed_path))?;
    let url = format!("data:{kind};base64,{}", STANDARD.encode(bytes));
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn list_path(args: &ChatArgs, limit: usize) -> String {
    let agent = args.agent.as_ref().map(|agent| format!("&agent={}", path_segment(agent)));
    format!("/api/conversations?limit={limit}{}", agent.unwrap_or_default())
}

fn row(conversation: &Value) -> [String; 5] {
    [
        output::first_line(text(conversation, "title"), 60),
        text(conversation, "agentName").to_owned(),
        super::format_time(conversation, "updatedAt"),
        text(conversation, "status").to_owned(),
        text(conversation, "id").to_owned(),
    ]
}

/// Returns the id of the conversation that was changed last. Returns the exit code if a failure was printed.
async fn last_conversation(
    client: &ApiClient,
    args: &ChatArgs,
    json: bool,
) -> anyhow::Result<Result<String, ExitCode>> {
    let response = client.get(&list_path(args, 1)).await?;
    if let Some(code) = report_failure(&response, json) {
        return Ok(Err(code));
    }
    let none = || CliError::new(ErrorKind::NotFound, Message::new(&messages::NO_CONVERSATION));
    Ok(Ok(response.data["items"][0]["id"].as_str().ok_or_else(none)?.to_owned()))
}
