//! `haft spaces [create|members|add|remove|invitations|accept|decline]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use serde_json::{Value, json};

use super::{results, text};
use crate::cli::{SpacesArgs, SpacesCommand};
use crate::config::Config;
use crate::door::Door;
use crate::messages;
use crate::refusal::Refused;

pub(crate) async fn run(args: SpacesArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let (json, locale) = (args.server.json, config.locale);
    match args.command {
        None => super::list(&door, "/api/spaces", json, &super::empty::NO_SPACES, row).await,
        Some(SpacesCommand::Create { name }) => {
            let answer = door.post("/api/spaces", &json!({"name": name})).await?;
            Ok(super::done(&answer, json, locale, |space| {
                super::named(&results::SPACE_CREATED)(space).with("id", text(space, "id"))
            }))
        }
        Some(SpacesCommand::Members { space }) => match path_of(&door, &space, json).await? {
            Ok(path) => super::list(&door, &path, json, &super::empty::NO_MEMBERS, member).await,
            Err(code) => Ok(code),
        },
        Some(SpacesCommand::Add { space, user, role }) => {
            let path = match path_of(&door, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let answer =
                door.put(&format!("{path}/{}", super::encoded(&user)), &json!({"role": role})).await?;
            Ok(super::done(&answer, json, locale, |member| match member.get("expiresAt") {
                Some(until) => Message::new(&results::MEMBER_INVITED)
                    .with("user", user)
                    .with("space", space)
                    .with("role", text(member, "role"))
                    .with("until", until.as_str().unwrap_or_default()),
                None => Message::new(&results::MEMBER_ADDED)
                    .with("user", text(member, "name"))
                    .with("space", space)
                    .with("role", text(member, "role")),
            }))
        }
        Some(SpacesCommand::Invitations) => {
            super::list(&door, "/api/invitations", json, &messages::NO_INVITATIONS, invitation).await
        }
        Some(SpacesCommand::Accept { space }) => {
            let id = match invited_into(&door, &space, json).await? {
                Ok(id) => id,
                Err(code) => return Ok(code),
            };
            let answer = door.post(&format!("/api/invitations/{id}/accept"), &json!({})).await?;
            Ok(super::done(&answer, json, locale, |accepted| {
                Message::new(&results::INVITATION_ACCEPTED)
                    .with("role", text(accepted, "role"))
                    .with("space", text(accepted, "spaceName"))
            }))
        }
        Some(SpacesCommand::Decline { space }) => {
            let id = match invited_into(&door, &space, json).await? {
                Ok(id) => id,
                Err(code) => return Ok(code),
            };
            let answer = door.delete(&format!("/api/invitations/{id}")).await?;
            Ok(super::done(&answer, json, locale, |declined| {
                Message::new(&results::INVITATION_DECLINED).with("space", text(declined, "spaceName"))
            }))
        }
        Some(SpacesCommand::Remove { space, user }) => {
            let path = match path_of(&door, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let answer = door.delete(&format!("{path}/{}", super::encoded(&user))).await?;
            Ok(super::done(&answer, json, locale, |_| {
                Message::new(&results::MEMBER_REMOVED).with("user", user).with("space", space)
            }))
        }
    }
}

fn row(space: &Value) -> [String; 4] {
    let personal = if space["isPersonal"] == true { "personal" } else { "" };
    [text(space, "name"), text(space, "role"), personal, text(space, "id")].map(str::to_owned)
}

fn member(member: &Value) -> [String; 3] {
    [text(member, "name"), text(member, "role"), text(member, "userId")].map(str::to_owned)
}

fn invitation(invitation: &Value) -> [String; 4] {
    ["spaceName", "role", "invitedBy", "spaceId"].map(|field| text(invitation, field).to_owned())
}

/// The id of the space of an open invitation, by the space's name or id.
async fn invited_into(door: &Door, space: &str, json: bool) -> anyhow::Result<Result<String, ExitCode>> {
    let invitations = match super::items(door, "/api/invitations", json).await? {
        Ok(invitations) => invitations,
        Err(code) => return Ok(Err(code)),
    };
    let is_meant = |open: &&Value| text(open, "spaceId") == space || text(open, "spaceName") == space;
    let ids: Vec<&str> = invitations.iter().filter(is_meant).map(|open| text(open, "spaceId")).collect();
    match ids.as_slice() {
        [id] => Ok(Ok((*id).to_owned())),
        [] => {
            let message = Message::new(&messages::NO_SUCH_INVITATION).with("space", space);
            Err(Refused::new(ErrorKind::NotFound, message).into())
        }
        ids => {
            let message =
                Message::new(&messages::SEVERAL_INVITATIONS).with("space", space).with("ids", ids.join(", "));
            Err(Refused::new(ErrorKind::Validation, message).into())
        }
    }
}

/// Where the members of a space are.
async fn path_of(door: &Door, space: &str, json: bool) -> anyhow::Result<Result<String, ExitCode>> {
    let id = id_of(door, space, json).await?;
    Ok(id.map(|id| format!("/api/spaces/{}/members", super::encoded(&id))))
}

/// The id of one of our spaces, by its name or its id; or the code to end with, when a failure was shown.
pub(super) async fn id_of(door: &Door, space: &str, json: bool) -> anyhow::Result<Result<String, ExitCode>> {
    let spaces = match super::items(door, "/api/spaces", json).await? {
        Ok(spaces) => spaces,
        Err(code) => return Ok(Err(code)),
    };
    let is_meant = |known: &&Value| text(known, "id") == space || text(known, "name") == space;
    let meant: Vec<&str> = spaces.iter().filter(is_meant).map(|known| text(known, "id")).collect();
    match meant.as_slice() {
        [id] => Ok(Ok((*id).to_owned())),
        [] => {
            let known: Vec<&str> = spaces.iter().map(|known| text(known, "name")).collect();
            let message =
                Message::new(&messages::NO_SUCH_SPACE).with("space", space).with("known", known.join(", "));
            Err(Refused::new(ErrorKind::NotFound, message).into())
        }
        ids => {
            let message =
                Message::new(&messages::SEVERAL_SPACES).with("space", space).with("ids", ids.join(", "));
            Err(Refused::new(ErrorKind::Validation, message).into())
        }
    }
}
