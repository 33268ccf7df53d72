//! Prepares a turn: finds its agent, its tools, its model and its images.

use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::{CallError, Caller, ConversationId, ErrorKind, Message, RequestId, Source, SpaceId};
use haft_runs::Halt;
use tokio::time::Instant;
use uuid::Uuid;

use crate::conversations::Conversations;
use crate::files::as_image;
use crate::inbox::InboxMessage;
use crate::models::SpaceUser;
use crate::prompt::{Images, image, sent_images};
use crate::toolbox::{OfferedTool, Toolbox, bound, offer, pinned};
use crate::transcript::{Transcript, Turn};
use crate::turn_context::{TurnBudget, TurnContext};
use crate::turn_end::ends_turn;
use crate::turn_runner::{Interruption, OpenTurn, locale_of, request_of};

haft_core::templates! {
    NO_AGENT = "chat.noAgent",
        "The agent of this conversation no longer exists.",
        "该对话的智能体已不存在";
    INACTIVE = "chat.agentOff",
        "The agent {agent} is switched off.",
        "智能体 {agent} 已停用";
}

/// Maximum size of an image of a conversation, in bytes.
const LARGEST_IMAGE: u64 = 10 << 20;

impl Conversations {
    /// Returns an active agent.
    pub(crate) async fn agent(&self, space: SpaceId, name: &str) -> Result<Arc<Agent>, CallError> {
        let found = self.0.host.agent(space, name).await?;
        let none = || CallError::new(ErrorKind::NotFound, Message::new(&NO_AGENT));
        let agent = found.ok_or_else(none)?;
        if !agent.spec.is_active {
            let message = Message::new(&INACTIVE).with("agent", &agent.spec.name);
            return Err(CallError::new(ErrorKind::ToolDisabled, message));
        }
        Ok(agent)
    }
}

impl OpenTurn<'_> {
    /// Finds everything that the turn needs.
    pub(crate) async fn prepare(&self) -> Result<TurnContext, Interruption> {
        let (services, run, mode) = (&self.conversations.0, self.cx.run(), self.mode);
        if let Some(error) = self.cx.denial() {
            return Err(release_if_unavailable(error));
        }
        let open = self.transcript.open();
        let agent = match self.input.agent {
            Some(id) => {
                let agent = self.conversations.agent(run.space, &id.to_string()).await;
                Some(agent.map_err(release_if_unavailable)?)
            }
            None => None,
        };
        let caller = self.caller(open, agent.as_deref());
        let toolbox = self.toolbox(agent.as_ref()).await.map_err(release_if_unavailable)?;
        let choice = self.input.asking.wanted.or(agent.as_deref());
        let user = SpaceUser { space: run.space, user: run.user };
        let model = services.models.find(user, &choice).await.map_err(release_if_unavailable)?;
        let turn = open.map_or(1, |turn| turn.turn);
        tracing::info!(
            conversation.id = %run.id, request.id = open.and_then(request_of).map(display), turn,
            agent.id = self.input.agent.map(|agent| agent.to_string()), chat.tools = toolbox.len(),
            chat.model = format!("{}/{}", model.provider, model.name), "Chat: tools loaded"
        );
        let (budget, enclosing) = (TurnBudget::of(agent.as_deref()), &self.enclosing);
        let own = || ConversationId::from(Uuid::from(run.id));
        Ok(TurnContext {
            conversation: run.id,
            turn,
            caller,
            allowance: Arc::new(budget.remaining(open, &toolbox, enclosing.allowance.clone())),
            worked: open.map(Turn::worked).unwrap_or_default(),
            recorded: mode.receives_results().then(own).or(enclosing.conversation),
            budget,
            agent,
            toolbox,
            model,
            log: self.log.clone(),
            cancel: self.cx.cancellation().clone(),
            mode,
            depth: enclosing.depth,
            began: Instant::now(),
            waited: std::time::Duration::ZERO,
        })
    }

    fn caller(&self, open: Option<&Turn>, agent: Option<&Agent>) -> Caller {
        let run = self.cx.run();
        let request = open.and_then(request_of).and_then(|request| request.parse::<RequestId>().ok());
        let locale = agent.and_then(|agent| agent.spec.locale);
        let locale = locale.unwrap_or_else(|| open.map(locale_of).unwrap_or_default());
        Caller { space: run.space, user: run.user, source: Source::Chat, locale, request }
    }

    async fn toolbox(&self, agent: Option<&Arc<Agent>>) -> Result<Toolbox, CallError> {
        let (services, space) = (&self.conversations.0, self.cx.run().space);
        let defers = self.mode.receives_results();
        services.tools.make_ready(space).await?;
        let own = match agent {
            Some(agent) => {
                let pinned = pinned(&services.tools, space, agent).await?;
                let bound = bound(&services.tools.in_space(space), agent, &pinned);
                services.toolbox_cache.of(agent, &bound, defers)
            }
            None => Arc::default(),
        };
        let tools = services.tools.in_space(space);
        let input = self.transcript.open().into_iter().flat_map(|turn| &turn.input);
        let named = input.flat_map(InboxMessage::tools);
        let named = named.filter_map(|name| offer(&*tools.get(name)?, None, defers));
        let options = match agent {
            Some(agent) => self.input.asking.options.or(&agent.spec.config.options),
            None => self.input.asking.options.clone(),
        };
        // The text of the tool that ends the turn is not checked against a response format.
        let has_format = options.response_format().is_some();
        let own = own.iter().cloned().chain(named);
        let own = own.filter(|offered: &OfferedTool| !has_format || !ends_turn(offered));
        Ok(Toolbox::new(&self.input.client_tools, &[], own))
    }
}

impl TurnContext {
    /// Loads the images of a conversation that are files of its user.
    pub(crate) async fn load_images(&self, conversations: &Conversations, transcript: &Transcript) -> Images {
        let mut images = Images::default();
        for url in sent_images(transcript) {
            if images.known.contains_key(&url) || url.starts_with("data:") {
                continue;
            }
            // The provider may be able to fetch an image that is not such a file.
            let file = conversations.0.host.read_file(self.owner(), &url, LARGEST_IMAGE).await;
            let found = file.map(|file| as_image(&file)).ok().or_else(|| image(&url));
            if let Some(image) = found {
                images.known.insert(url, image);
            }
        }
        images
    }
}

/// An unavailable service may be available at the next claim. All other errors end the turn.
fn release_if_unavailable(error: CallError) -> Interruption {
    match Halt::from(error) {
        Halt::Failed(error) => Interruption::Failed(error),
        halt @ (Halt::Suspend(_) | Halt::Lost | Halt::Release) => Interruption::Halt(halt),
    }
}
