//! A conversation from this side: something is said, and its turn is followed to the end.

use std::collections::VecDeque;
use std::io::{Stderr, Stdout};
use std::time::Duration;

use anstream::AutoStream;
use axum::http::Method;
use haft_core::ErrorKind;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::following::Following;
use super::lines::{Interrupts, Lines};
use super::screen::Screen;
use crate::commands::{encoded, failed, text};
use crate::door::{Door, Event};
use crate::{exit, show};

/// A call is told of when it begins to wait, and it takes a moment until it can be decided on.
const UNTIL_ASKED: Duration = Duration::from_secs(10);

/// So often it is tried.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct Talk<'a> {
    pub(super) door: &'a Door,
    pub(super) agent: Option<String>,
    pub(super) tools: Vec<String>,
    /// Nothing before the first words.
    pub(super) conversation: Option<String>,
    /// The last that was seen of it.
    pub(super) last_event: Option<String>,
    pub(super) json: bool,
    /// Nobody but us can decide anything: the server is within this process.
    pub(super) is_alone: bool,
    /// Where somebody answers, if anybody does.
    pub(super) lines: Option<Lines>,
    pub(super) interrupts: Interrupts,
    pub(super) screen: Screen<AutoStream<Stdout>, AutoStream<Stderr>>,
    /// Tasks whose results come by themselves, in a turn of their own.
    pub(super) pending: Vec<String>,
}

/// What comes next while a turn is followed.
enum Next {
    Event(Event),
    Interrupt,
    Line(Option<String>),
}

impl Talk<'_> {
    /// Says something, and gives the code to end with.
    pub(super) async fn say(&mut self, messages: Value, replaces: Option<u64>) -> anyhow::Result<u8> {
        let mut body = json!({"messages": messages, "stream": true});
        let conversation = self.conversation.as_ref().map(|id| json!(id));
        let given = [
            ("conversationId", conversation),
            ("agentId", self.agent.as_ref().map(|agent| json!(agent))),
            ("replaces", replaces.map(|turn| json!(turn))),
            ("tools", (!self.tools.is_empty()).then(|| json!(self.tools))),
        ];
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            body[name] = value;
        }
        let path = if self.tools.is_empty() { "/api/chat" } else { "/api/chat/with-tools" };
        self.send(path, &body).await
    }

    /// Goes on with a last turn that did not come to its end.
    pub(super) async fn go_on(&mut self, conversation: &str) -> anyhow::Result<u8> {
        let path = format!("/api/conversations/{}/continue", encoded(conversation));
        self.send(&path, &json!({"stream": true})).await
    }

    async fn send(&mut self, path: &str, body: &Value) -> anyhow::Result<u8> {
        let begun = Instant::now();
        let door = self.door;
        let body = serde_json::to_vec(body)?;
        let opened = tokio::select! {
            opened = door.events(Method::POST, path, body, None) => opened?,
            () = self.interrupts.next() => {
                self.note("stopped");
                return Ok(exit::code(ErrorKind::Cancelled));
            }
        };
        let events = match opened {
            Ok(events) => events,
            Err(answer) => {
                failed(&answer, self.json);
                return Ok(answer.error.map_or(exit::FAILURE, |failure| exit::code(failure.kind)));
            }
        };
        let following = Following::of(door, events, self.conversation.clone());
        self.follow(following, begun).await
    }

    /// Follows a turn to its end.
    pub(super) async fn follow(&mut self, mut turn: Following<'_>, begun: Instant) -> anyhow::Result<u8> {
        let mut is_stopping = false;
        // Calls that wait for a person; the first is the one that was asked about.
        let mut asked: VecDeque<(String, String)> = VecDeque::new();
        loop {
            match self.next(&mut turn, !asked.is_empty()).await? {
                Next::Event(event) => {
                    self.conversation.clone_from(&turn.conversation);
                    self.last_event.clone_from(&turn.last);
                    self.show(&event, begun.elapsed());
                    if event.name == "done" {
                        return Ok(self.screen.code(text(&event.data, "finishReason")));
                    }
                    let before = asked.front().cloned();
                    self.note_pending(&event, &mut asked);
                    if asked.front() != before.as_ref() {
                        self.ask_about(asked.front());
                    }
                }
                Next::Interrupt if is_stopping => return Ok(exit::code(ErrorKind::Cancelled)),
                Next::Interrupt => {
                    is_stopping = true;
                    if !self.cancel().await? {
                        return Ok(exit::code(ErrorKind::Cancelled));
                    }
                }
                Next::Line(Some(line)) => {
                    if let Some((task, _)) = asked.pop_front() {
                        self.decide(&task, &line).await?;
                        self.ask_about(asked.front());
                    }
                }
                Next::Line(None) => self.lines = None,
            }
            if self.is_alone && self.lines.is_none() && !asked.is_empty() {
                self.note("nobody can approve it here: start haft serve, and the conversation goes on");
                return Ok(exit::code(ErrorKind::Denied));
            }
        }
    }

    async fn next(&mut self, turn: &mut Following<'_>, is_asked: bool) -> anyhow::Result<Next> {
        let lines = self.lines.as_mut().filter(|_| is_asked);
        let line = async {
            match lines {
                Some(lines) => lines.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = turn.next() => Ok(Next::Event(event?)),
            () = self.interrupts.next() => Ok(Next::Interrupt),
            line = line => Ok(Next::Line(line)),
        }
    }

    fn show(&mut self, event: &Event, took: Duration) {
        if self.json {
            show::line_out(json!({"id": event.id, "event": event.name, "data": event.data}));
            self.screen.note_failure(event);
        } else {
            self.screen.show(event, took);
        }
    }

    pub(super) fn note(&mut self, words: &str) {
        if !self.json {
            self.screen.note(words);
        }
    }

    /// Which calls wait now: for a person, or for nobody who would have to do something.
    fn note_pending(&mut self, event: &Event, asked: &mut VecDeque<(String, String)>) {
        let data = &event.data;
        match event.name.as_str() {
            "turn.start" => {
                let input = data["input"].as_array().into_iter().flatten();
                let came: Vec<&str> = input.map(|input| text(input, "taskId")).collect();
                self.pending.retain(|task| !came.contains(&task.as_str()));
            }
            "tool.pending" if data["reason"] == "approval" => {
                asked.push_back((text(data, "taskId").to_owned(), text(data, "callId").to_owned()));
            }
            "tool.pending" if data["reason"] == "async" => self.pending.push(text(data, "taskId").to_owned()),
            // Somebody else may have decided.
            "tool.result" => asked.retain(|(_, call)| call != text(data, "callId")),
            "turn.reset" => asked.clear(),
            _ => {}
        }
    }

    fn ask_about(&mut self, asked: Option<&(String, String)>) {
        if asked.is_some() && self.lines.is_some() {
            self.screen.ask("approve it? y/N ");
        }
    }

    async fn decide(&mut self, task: &str, line: &str) -> anyhow::Result<()> {
        let is_approved = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
        let decision = if is_approved { "approve" } else { "deny" };
        let path = format!("/api/approvals/{}", encoded(task));
        let until = Instant::now() + UNTIL_ASKED;
        loop {
            let answer = self.door.post(&path, &json!({"decision": decision})).await?;
            let is_early = answer.error.as_ref().is_some_and(|failure| failure.kind == ErrorKind::NotFound);
            if !is_early || Instant::now() >= until {
                failed(&answer, self.json);
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    /// Stops the turn; says whether its end is still to come.
    async fn cancel(&mut self) -> anyhow::Result<bool> {
        let Some(id) = &self.conversation else { return Ok(false) };
        let path = format!("/api/conversations/{}/cancel", encoded(id));
        let answer = self.door.post(&path, &json!({})).await?;
        self.note("stopping…");
        Ok(failed(&answer, self.json).is_none())
    }
}
