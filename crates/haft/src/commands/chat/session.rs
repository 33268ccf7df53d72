//! The client side of a conversation: sends messages and follows each turn to its end.

use std::collections::VecDeque;
use std::io::{Stderr, Stdout};
use std::time::Duration;

use anstream::AutoStream;
use axum::http::Method;
use haft_core::ErrorKind;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::screen::Screen;
use super::terminal::{Interrupts, Lines};
use super::turn_stream::TurnStream;
use crate::client::{ApiClient, Event};
use crate::commands::{path_segment, report_failure, text};
use crate::{exit, output};

/// Maximum time until an approval is available: the event of a waiting call may arrive before its approval is
/// persisted.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval between attempts to decide on it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct ChatSession<'a> {
    pub(super) client: &'a ApiClient,
    pub(super) agent: Option<String>,
    pub(super) tools: Vec<String>,
    /// `None` before the first message.
    pub(super) conversation: Option<String>,
    /// The id of the last event of the conversation.
    pub(super) last_event: Option<String>,
    pub(super) json: bool,
    /// True if the API is within this process, so that no other client can decide on approvals.
    pub(super) is_in_process: bool,
    /// The answers to questions. `None` if questions cannot be asked.
    pub(super) lines: Option<Lines>,
    pub(super) interrupts: Interrupts,
    pub(super) screen: Screen<AutoStream<Stdout>, AutoStream<Stderr>>,
    /// Asynchronous tasks, whose results start another turn.
    pub(super) pending: Vec<String>,
}

/// The next input while a turn is followed.
enum TurnInput {
    Event(Event),
    Interrupt,
    Line(Option<String>),
}

impl ChatSession<'_> {
    /// Sends messages and follows the turn. `replaces` is the turn to replace. Returns the exit code.
    pub(super) async fn send_messages(
        &mut self,
        messages: Value,
        replaces: Option<u64>,
    ) -> anyhow::Result<u8> {
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

    /// Continues the last turn if it did not finish. Returns the exit code.
    pub(super) async fn continue_turn(&mut self, conversation: &str) -> anyhow::Result<u8> {
        let path = format!("/api/conversations/{}/continue", path_segment(conversation));
        self.send(&path, &json!({"stream": true})).await
    }

    async fn send(&mut self, path: &str, body: &Value) -> anyhow::Result<u8> {
        let started = Instant::now();
        let client = self.client;
        let body = serde_json::to_vec(body)?;
        let opened = tokio::select! {
            opened = client.events(Method::POST, path, body, None) => opened?,
            () = self.interrupts.next() => {
                self.note("stopped");
                return Ok(exit::of_kind(ErrorKind::Cancelled));
            }
        };
        let events = match opened {
            Ok(events) => events,
            Err(response) => {
                report_failure(&response, self.json);
                return Ok(response.error.map_or(exit::FAILURE, |failure| exit::of_kind(failure.kind)));
            }
        };
        let turn = TurnStream::new(client, events, self.conversation.clone());
        self.follow(turn, started).await
    }

    /// Follows a turn to its end. Returns the exit code.
    pub(super) async fn follow(&mut self, mut turn: TurnStream<'_>, started: Instant) -> anyhow::Result<u8> {
        let mut is_stopping = false;
        // Calls that wait for approval, as task and call ids. The user is asked about the first one.
        let mut approvals: VecDeque<(String, String)> = VecDeque::new();
        loop {
            match self.next(&mut turn, !approvals.is_empty()).await? {
                TurnInput::Event(event) => {
                    self.conversation.clone_from(&turn.conversation);
                    self.last_event.clone_from(&turn.last);
                    self.show(&event, started.elapsed());
                    if event.name == "done" {
                        return Ok(self.screen.exit_code(text(&event.data, "finishReason")));
                    }
                    let before = approvals.front().cloned();
                    self.track_pending(&event, &mut approvals);
                    if approvals.front() != before.as_ref() {
                        self.ask_for_approval(approvals.front());
                    }
                }
                TurnInput::Interrupt if is_stopping => return Ok(exit::of_kind(ErrorKind::Cancelled)),
                TurnInput::Interrupt => {
                    is_stopping = true;
                    if !self.cancel().await? {
                        return Ok(exit::of_kind(ErrorKind::Cancelled));
                    }
                }
                TurnInput::Line(Some(line)) => {
                    if let Some((task, _)) = approvals.pop_front() {
                        self.decide(&task, &line).await?;
                        self.ask_for_approval(approvals.front());
                    }
                }
                TurnInput::Line(None) => self.lines = None,
            }
            if self.is_in_process && self.lines.is_none() && !approvals.is_empty() {
                self.note("the call cannot be approved here: start haft serve and approve it there");
                return Ok(exit::of_kind(ErrorKind::Denied));
            }
        }
    }

    async fn next(&mut self, turn: &mut TurnStream<'_>, has_question: bool) -> anyhow::Result<TurnInput> {
        let lines = self.lines.as_mut().filter(|_| has_question);
        let line = async {
            match lines {
                Some(lines) => lines.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = turn.next() => Ok(TurnInput::Event(event?)),
            () = self.interrupts.next() => Ok(TurnInput::Interrupt),
            line = line => Ok(TurnInput::Line(line)),
        }
    }

    fn show(&mut self, event: &Event, took: Duration) {
        if self.json {
            output::print_line(json!({"id": event.id, "event": event.name, "data": event.data}));
            self.screen.note_failure(event);
        } else {
            self.screen.show(event, took);
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        if !self.json {
            self.screen.note(text);
        }
    }

    /// Updates the calls that wait for approval and the pending asynchronous tasks.
    fn track_pending(&mut self, event: &Event, approvals: &mut VecDeque<(String, String)>) {
        let data = &event.data;
        match event.name.as_str() {
            "turn.start" => {
                let input = data["input"].as_array().into_iter().flatten();
                let received: Vec<&str> = input.map(|input| text(input, "taskId")).collect();
                self.pending.retain(|task| !received.contains(&task.as_str()));
            }
            "tool.pending" if data["reason"] == "approval" => {
                approvals.push_back((text(data, "taskId").to_owned(), text(data, "callId").to_owned()));
            }
            "tool.pending" if data["reason"] == "async" => self.pending.push(text(data, "taskId").to_owned()),
            // Another client may have decided.
            "tool.result" => approvals.retain(|(_, call)| call != text(data, "callId")),
            "turn.reset" => approvals.clear(),
            _ => {}
        }
    }

    fn ask_for_approval(&mut self, approval: Option<&(String, String)>) {
        if approval.is_some() && self.lines.is_some() {
            self.screen.ask("approve it? y/N ");
        }
    }

    async fn decide(&mut self, task: &str, line: &str) -> anyhow::Result<()> {
        let is_approved = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
        let decision = if is_approved { "approve" } else { "deny" };
        let path = format!("/api/approvals/{}", path_segment(task));
        let until = Instant::now() + APPROVAL_TIMEOUT;
        loop {
            let response = self.client.post(&path, &json!({"decision": decision})).await?;
            let is_early = response.error.as_ref().is_some_and(|failure| failure.kind == ErrorKind::NotFound);
            if !is_early || Instant::now() >= until {
                report_failure(&response, self.json);
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Cancels the turn. Returns true if its end is still to be received.
    async fn cancel(&mut self) -> anyhow::Result<bool> {
        let Some(id) = &self.conversation else { return Ok(false) };
        let path = format!("/api/conversations/{}/cancel", path_segment(id));
        let response = self.client.post(&path, &json!({})).await?;
        self.note("stopping…");
        Ok(report_failure(&response, self.json).is_none())
    }
}
