//! The interactive prompt: each line is a message or a `/command`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::session::ChatSession;
use super::terminal::is_terminal;
use super::turn_stream::TurnStream;
use crate::commands::{path_segment, report_failure, text};
use crate::output;

const HELP: &str = "\
/new        start a new conversation
/history    list the last conversations
/open N     continue one of them
/retry      repeat the last turn, or continue it if it did not finish
/exit       exit, as does Ctrl-D; Ctrl-C stops a turn";

/// Maximum number of conversations that `/history` lists.
const MAX_LISTED: usize = 10;

/// Maximum number of past turns that are printed of a continued conversation.
const MAX_PAST_TURNS: usize = 3;

pub(super) struct Prompt<'a> {
    pub(super) session: ChatSession<'a>,
    /// The ids of the conversations that `/history` listed last, for `/open`.
    pub(super) listed: Vec<String>,
}

/// The next input of the prompt.
enum Input {
    Line(String),
    /// The result of a pending task started a turn, which was shown.
    Turn,
    End,
}

impl Prompt<'_> {
    /// Runs until the input ends. `images` are sent with the first message.
    pub(super) async fn run(mut self, mut images: Vec<Value>) -> anyhow::Result<ExitCode> {
        loop {
            let line = match self.next_input().await? {
                Input::Line(line) => line,
                Input::Turn => continue,
                Input::End => {
                    // Ends the line of the prompt before the shell prints its own.
                    if is_terminal() {
                        self.session.screen.note("");
                    }
                    return Ok(ExitCode::SUCCESS);
                }
            };
            match line.trim() {
                "" => {}
                "/exit" | "/quit" => return Ok(ExitCode::SUCCESS),
                "/help" => self.session.screen.note(HELP),
                "/new" => {
                    self.session.conversation = None;
                    self.session.pending.clear();
                    self.session.screen.note("started a new conversation");
                }
                "/history" => self.history().await?,
                "/retry" => self.retry().await?,
                command if command.starts_with("/open") => self.open(command).await?,
                command if command.starts_with('/') && !command.contains(' ') => {
                    self.session.screen.note(&format!("unknown command {command}; /help lists the commands"));
                }
                _ => {
                    let content = super::content(line, std::mem::take(&mut images));
                    self.session.send_messages(json!([{"role": "user", "content": content}]), None).await?;
                }
            }
        }
    }

    async fn next_input(&mut self) -> anyhow::Result<Input> {
        if is_terminal() {
            self.session.screen.ask("> ");
        }
        let awaited = self.session.conversation.clone().filter(|_| !self.session.pending.is_empty());
        let mut turn =
            awaited.map(|id| TurnStream::resume(self.session.client, id, self.session.last_event.clone()));
        let next_event = async {
            match &mut turn {
                Some(turn) => turn.next().await,
                None => std::future::pending().await,
            }
        };
        let Some(lines) = &mut self.session.lines else { return Ok(Input::End) };
        let event = tokio::select! {
            line = lines.next() => return Ok(line.map_or(Input::End, Input::Line)),
            () = self.session.interrupts.next() => return Ok(Input::End),
            event = next_event => event?,
        };
        if let Some(turn) = turn {
            self.session.screen.note("");
            self.session.follow(turn.with_event(event), Instant::now()).await?;
        }
        Ok(Input::Turn)
    }

    async fn history(&mut self) -> anyhow::Result<()> {
        let response = self.session.client.get(&format!("/api/conversations?limit={MAX_LISTED}")).await?;
        if report_failure(&response, false).is_some() {
            return Ok(());
        }
        let items = response.data["items"].as_array().cloned().unwrap_or_default();
        self.listed = items.iter().map(|item| text(item, "id").to_owned()).collect();
        let rows = items.iter().enumerate().map(|(number, item)| {
            let [title, agent, when, ..] = super::row(item);
            [(number + 1).to_string(), title, agent, when]
        });
        output::print_table(rows.collect());
        Ok(())
    }

    async fn open(&mut self, command: &str) -> anyhow::Result<()> {
        let number = command.trim_start_matches("/open").trim().parse::<usize>().ok();
        let chosen = number.and_then(|number| self.listed.get(number.checked_sub(1)?)).cloned();
        let Some(id) = chosen else {
            self.session.screen.note("unknown number: /history lists conversations, /open 1 opens the first");
            return Ok(());
        };
        let before = self.session.agent.take();
        if self.resume(&id).await?.is_some() {
            self.session.agent = before;
        }
        Ok(())
    }

    /// Prints the last turns of a conversation and continues it. Returns the exit code of a printed failure.
    pub(super) async fn resume(&mut self, id: &str) -> anyhow::Result<Option<ExitCode>> {
        let response = self.session.client.get(&format!("/api/conversations/{}", path_segment(id))).await?;
        if let Some(code) = report_failure(&response, false) {
            return Ok(Some(code));
        }
        let data = &response.data;
        let turns = data["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        for turn in turns.iter().skip(turns.len().saturating_sub(MAX_PAST_TURNS)) {
            let messages =
                turn["input"].as_array().into_iter().flatten().map(|input| message_text(&input["content"]));
            let messages: Vec<String> = messages.filter(|text| !text.is_empty()).collect();
            self.session.screen.past_turn(&messages.join("\n"), text(&turn["message"], "content"));
        }
        let tasks = data["pending"].as_array().into_iter().flatten();
        let tasks = tasks.filter(|pending| pending["reason"] == "async");
        self.session.pending = tasks.map(|pending| text(pending, "taskId").to_owned()).collect();
        self.session.conversation = Some(id.to_owned());
        if self.session.agent.is_none() {
            self.session.agent = data["agentId"].as_str().map(str::to_owned);
        }
        self.session.last_event = data["lastEventId"].as_str().map(str::to_owned);
        if turns.last().is_some_and(|turn| turn["finishReason"].is_null()) {
            let turn =
                TurnStream::resume(self.session.client, id.to_owned(), self.session.last_event.clone());
            self.session.follow(turn, Instant::now()).await?;
        }
        Ok(None)
    }

    async fn retry(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.session.conversation.clone() else {
            self.session.screen.note("there is no turn to retry");
            return Ok(());
        };
        let response = self.session.client.get(&format!("/api/conversations/{}", path_segment(&id))).await?;
        if report_failure(&response, false).is_some() {
            return Ok(());
        }
        let last = response.data["turns"].as_array().and_then(|turns| turns.last()).cloned();
        let last = last.unwrap_or_default();
        if matches!(text(&last, "finishReason"), "error" | "cancelled" | "max_steps") {
            self.session.continue_turn(&id).await?;
            return Ok(());
        }
        let input = last["input"].as_array().into_iter().flatten();
        let messages = input.filter(|input| input["role"] == "user");
        let messages: Vec<Value> =
            messages.map(|input| json!({"role": "user", "content": input["content"]})).collect();
        if messages.is_empty() {
            self.session
                .screen
                .note("the last turn has no message of yours to send again; write a new message");
            return Ok(());
        }
        self.session.send_messages(messages.into(), last["turn"].as_u64()).await.map(drop)
    }
}

/// Returns the text of a message, with a placeholder for each image.
fn message_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match text(part, "type") {
                "text" => text(part, "text"),
                _ => "[image]",
            });
            texts.collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
