//! `haft spaces [create|members|add|remove|invitations|accept|decline]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use serde_json::{Value, json};

use super::{results, text};
use crate::cli::{SpacesArgs, SpacesCommand};
use crate::cli_error::CliError;
use crate::client::ApiClient;
use crate::config::Config;
use crate::messages;

pub(crate) async fn run(args: SpacesArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let (json, locale) = (args.server.json, config.locale);
    match args.command {
        None => super::list(&client, "/api/spaces", json, &super::empty_lists::NO_SPACES, row).await,
        Some(SpacesCommand::Create { name }) => {
            let response = client.post("/api/spaces", &json!({"name": name})).await?;
            Ok(super::report_change(&response, json, locale, |space| {
                super::message_with_name(&results::SPACE_CREATED)(space).with("id", text(space, "id"))
            }))
        }
        Some(SpacesCommand::Members { space }) => match members_path(&client, &space, json).await? {
            Ok(path) => super::list(&client, &path, json, &super::empty_lists::NO_MEMBERS, member).await,
            Err(code) => Ok(code),
        },
        Some(SpacesCommand::Add { space, user, role }) => {
            let path = match members_path(&client, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let response =
                client.put(&format!("{path}/{}", super::path_segment(&user)), &json!({"role": role})).await?;
            Ok(super::report_change(&response, json, locale, |member| match member.get("expiresAt") {
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
            super::list(&client, "/api/invitations", json, &messages::NO_INVITATIONS, invitation).await
        }
        Some(SpacesCommand::Accept { space }) => {
            let id = match invitation_space_id(&client, &space, json).await? {
                Ok(id) => id,
                Err(code) => return Ok(code),
            };
            let response = client.post(&format!("/api/invitations/{id}/accept"), &json!({})).await?;
            Ok(super::report_change(&response, json, locale, |accepted| {
                Message::new(&results::INVITATION_ACCEPTED)
                    .with("role", text(accepted, "role"))
                    .with("space", text(accepted, "spaceName"))
            }))
        }
        Some(SpacesCommand::Decline { space }) => {
            let id = match invitation_space_id(&client, &space, json).await? {
                Ok(id) => id,
                Err(code) => return Ok(code),
            };
            let response = client.delete(&format!("/api/invitations/{id}")).await?;
            Ok(super::report_change(&response, json, locale, |declined| {
                Message::new(&results::INVITATION_DECLINED).with("space", text(declined, "spaceName"))
            }))
        }
        Some(SpacesCommand::Remove { space, user }) => {
            let path = match members_path(&client, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let response = client.delete(&format!("{path}/{}", super::path_segment(&user))).await?;
            Ok(super::report_change(&response, json, locale, |_| {
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

/// Returns the id of the space of an open invitation, by the space's name or id.
async fn invitation_space_id(
    client: &ApiClient,
    space: &str,
    json: bool,
) -> anyhow::Result<Result<String, ExitCode>> {
    let invitations = match super::fetch_items(client, "/api/invitations", json).await? {
        Ok(invitations) => invitations,
        Err(code) => return Ok(Err(code)),
    };
    let matches = |open: &&Value| text(open, "spaceId") == space || text(open, "spaceName") == space;
    let ids: Vec<&str> = invitations.iter().filter(matches).map(|open| text(open, "spaceId")).collect();
    match ids.as_slice() {
        [id] => Ok(Ok((*id).to_owned())),
        [] => {
            let message = Message::new(&messages::NO_SUCH_INVITATION).with("space", space);
            Err(CliError::new(ErrorKind::NotFound, message).into())
        }
        ids => {
            let message =
                Message::new(&messages::SEVERAL_INVITATIONS).with("space", space).with("ids", ids.join(", "));
            Err(CliError::new(ErrorKind::Validation, message).into())
        }
    }
}

/// Returns the path of the members of a space. Returns the exit code if a failure was printed.
async fn members_path(
    client: &ApiClient,
    space: &str,
    json: bool,
) -> anyhow::Result<Result<String, ExitCode>> {
    let id = id_of(client, space, json).await?;
    Ok(id.map(|id| format!("/api/spaces/{}/members", super::path_segment(&id))))
}

/// Returns the id of a space of the caller, by name or id. Returns the exit code if a failure was printed.
pub(super) async fn id_of(
    client: &ApiClient,
    space: &str,
    json: bool,
) -> anyhow::Result<Result<String, ExitCode>> {
    let spaces = match super::fetch_items(client, "/api/spaces", json).await? {
        Ok(spaces) => spaces,
        Err(code) => return Ok(Err(code)),
    };
    let matches = |known: &&Value| text(known, "id") == space || text(known, "name") == space;
    let ids: Vec<&str> = spaces.iter().filter(matches).map(|known| text(known, "id")).collect();
    match ids.as_slice() {
        [id] => Ok(Ok((*id).to_owned())),
        [] => {
            let known: Vec<&str> = spaces.iter().map(|known| text(known, "name")).collect();
            let message =
                Message::new(&messages::NO_SUCH_SPACE).with("space", space).with("known", known.join(", "));
            Err(CliError::new(ErrorKind::NotFound, message).into())
        }
        ids => {
            let message =
                Message::new(&messages::SEVERAL_SPACES).with("space", space).with("ids", ids.join(", "));
            Err(CliError::new(ErrorKind::Validation, message).into())
        }
    }
}
