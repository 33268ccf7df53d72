//! The prompt: a line is said, or is a command.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::following::Following;
use super::lines::is_terminal;
use super::talk::Talk;
use crate::commands::{encoded, failed, text};
use crate::show;

const HELP: &str = "\
/new        begin another conversation
/history    the last conversations
/open N     go on with one of them
/retry      ask for the last answer again, or go on where it ended
/exit       leave; so does Ctrl-D. Ctrl-C stops an answer";

/// So many conversations are offered.
const OFFERED: usize = 10;

/// So many turns are shown of one that is gone on with.
const TURNS: usize = 3;

pub(super) struct Prompt<'a> {
    pub(super) talk: Talk<'a>,
    /// What was offered last, for `/open`.
    pub(super) offered: Vec<String>,
}

/// What the prompt got.
enum Got {
    Line(String),
    /// A result came by itself, and its turn was shown.
    Turn,
    End,
}

impl Prompt<'_> {
    /// Until nobody says anything any more. `first` is said with the first line.
    pub(super) async fn run(mut self, mut first: Vec<Value>) -> anyhow::Result<ExitCode> {
        loop {
            let line = match self.wait().await? {
                Got::Line(line) => line,
                Got::Turn => continue,
                Got::End => {
                    // What the shell says next begins on a line of its own.
                    if is_terminal() {
                        self.talk.screen.note("");
                    }
                    return Ok(ExitCode::SUCCESS);
                }
            };
            match line.trim() {
                "" => {}
                "/exit" | "/quit" => return Ok(ExitCode::SUCCESS),
                "/help" => self.talk.screen.note(HELP),
                "/new" => {
                    self.talk.conversation = None;
                    self.talk.pending.clear();
                    self.talk.screen.note("a new conversation");
                }
                "/history" => self.history().await?,
                "/retry" => self.retry().await?,
                command if command.starts_with("/open") => self.open(command).await?,
                command if command.starts_with('/') && !command.contains(' ') => {
                    self.talk.screen.note(&format!("there is no {command}; /help says what there is"));
                }
                _ => {
                    let content = super::content(line, std::mem::take(&mut first));
                    self.talk.say(json!([{"role": "user", "content": content}]), None).await?;
                }
            }
        }
    }

    async fn wait(&mut self) -> anyhow::Result<Got> {
        if is_terminal() {
            self.talk.screen.ask("> ");
        }
        let awaited = self.talk.conversation.clone().filter(|_| !self.talk.pending.is_empty());
        let mut turn = awaited.map(|id| Following::after(self.talk.door, id, self.talk.last_event.clone()));
        let begins = async {
            match &mut turn {
                Some(turn) => turn.next().await,
                None => std::future::pending().await,
            }
        };
        let Some(lines) = &mut self.talk.lines else { return Ok(Got::End) };
        let event = tokio::select! {
            line = lines.next() => return Ok(line.map_or(Got::End, Got::Line)),
            () = self.talk.interrupts.next() => return Ok(Got::End),
            event = begins => event?,
        };
        if let Some(turn) = turn {
            self.talk.screen.note("");
            self.talk.follow(turn.with(event), Instant::now()).await?;
        }
        Ok(Got::Turn)
    }

    async fn history(&mut self) -> anyhow::Result<()> {
        let answer = self.talk.door.get(&format!("/api/conversations?limit={OFFERED}")).await?;
        if failed(&answer, false).is_some() {
            return Ok(());
        }
        let items = answer.data["items"].as_array().cloned().unwrap_or_default();
        self.offered = items.iter().map(|item| text(item, "id").to_owned()).collect();
        let rows = items.iter().enumerate().map(|(number, item)| {
            let [title, agent, when, ..] = super::row(item);
            [(number + 1).to_string(), title, agent, when]
        });
        show::table(rows.collect());
        Ok(())
    }

    async fn open(&mut self, command: &str) -> anyhow::Result<()> {
        let number = command.trim_start_matches("/open").trim().parse::<usize>().ok();
        let chosen = number.and_then(|number| self.offered.get(number.checked_sub(1)?)).cloned();
        let Some(id) = chosen else {
            self.talk.screen.note("which one? /history gives them numbers, and /open 1 opens the first");
            return Ok(());
        };
        let before = self.talk.agent.take();
        if self.go_on_with(&id).await?.is_some() {
            self.talk.agent = before;
        }
        Ok(())
    }

    /// Shows the end of a conversation, and goes on with it; the code to end with where it cannot be.
    pub(super) async fn go_on_with(&mut self, id: &str) -> anyhow::Result<Option<ExitCode>> {
        let answer = self.talk.door.get(&format!("/api/conversations/{}", encoded(id))).await?;
        if let Some(code) = failed(&answer, false) {
            return Ok(Some(code));
        }
        let data = &answer.data;
        let turns = data["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
        for turn in turns.iter().skip(turns.len().saturating_sub(TURNS)) {
            let said = turn["input"].as_array().into_iter().flatten().map(|input| words(&input["content"]));
            let said: Vec<String> = said.filter(|words| !words.is_empty()).collect();
            self.talk.screen.words_before(&said.join("\n"), text(&turn["message"], "content"));
        }
        let tasks = data["pending"].as_array().into_iter().flatten();
        let tasks = tasks.filter(|pending| pending["reason"] == "async");
        self.talk.pending = tasks.map(|pending| text(pending, "taskId").to_owned()).collect();
        self.talk.conversation = Some(id.to_owned());
        if self.talk.agent.is_none() {
            self.talk.agent = data["agentId"].as_str().map(str::to_owned);
        }
        self.talk.last_event = data["lastEventId"].as_str().map(str::to_owned);
        if turns.last().is_some_and(|turn| turn["finishReason"].is_null()) {
            let turn = Following::after(self.talk.door, id.to_owned(), self.talk.last_event.clone());
            self.talk.follow(turn, Instant::now()).await?;
        }
        Ok(None)
    }

    async fn retry(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.talk.conversation.clone() else {
            self.talk.screen.note("nothing was said yet");
            return Ok(());
        };
        let answer = self.talk.door.get(&format!("/api/conversations/{}", encoded(&id))).await?;
        if failed(&answer, false).is_some() {
            return Ok(());
        }
        let last = answer.data["turns"].as_array().and_then(|turns| turns.last()).cloned();
        let last = last.unwrap_or_default();
        if matches!(text(&last, "finishReason"), "error" | "cancelled" | "max_steps") {
            self.talk.go_on(&id).await?;
            return Ok(());
        }
        let input = last["input"].as_array().into_iter().flatten();
        let said = input.filter(|input| input["role"] == "user");
        let said: Vec<Value> =
            said.map(|input| json!({"role": "user", "content": input["content"]})).collect();
        if said.is_empty() {
            self.talk.screen.note("the last turn began by itself; say something");
            return Ok(());
        }
        self.talk.say(said.into(), last["turn"].as_u64()).await.map(drop)
    }
}

/// The words of a message, with its pictures named.
fn words(content: &Value) -> String {
    match content {
        Value::String(words) => words.clone(),
        Value::Array(parts) => {
            let said = parts.iter().map(|part| match text(part, "type") {
                "text" => text(part, "text"),
                _ => "[picture]",
            });
            said.collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
