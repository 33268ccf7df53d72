//! `haft spaces [create|members|add|remove]`

use std::process::ExitCode;

use haft_core::ErrorKind;
use serde_json::{Value, json};

use super::text;
use crate::cli::{SpacesArgs, SpacesCommand};
use crate::config::Config;
use crate::door::Door;
use crate::exit::Refused;

pub(crate) async fn run(args: SpacesArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/spaces", json, row).await,
        Some(SpacesCommand::Create { name }) => {
            let answer = door.post("/api/spaces", &json!({"name": name})).await?;
            Ok(super::done(&answer, json, |space| {
                format!("made the space {}, id {}", text(space, "name"), text(space, "id"))
            }))
        }
        Some(SpacesCommand::Members { space }) => match path_of(&door, &space, json).await? {
            Ok(path) => super::list(&door, &path, json, member).await,
            Err(code) => Ok(code),
        },
        Some(SpacesCommand::Add { space, user, role }) => {
            let path = match path_of(&door, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let answer =
                door.put(&format!("{path}/{}", super::encoded(&user)), &json!({"role": role})).await?;
            Ok(super::done(&answer, json, |member| {
                format!("{} is {} in {space}", text(member, "name"), text(member, "role"))
            }))
        }
        Some(SpacesCommand::Remove { space, user }) => {
            let path = match path_of(&door, &space, json).await? {
                Ok(path) => path,
                Err(code) => return Ok(code),
            };
            let answer = door.delete(&format!("{path}/{}", super::encoded(&user))).await?;
            Ok(super::done(&answer, json, |_| format!("{user} is no longer in {space}")))
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
            let message = format!("you are in no space {space}; yours are {}", known.join(", "));
            Err(Refused::new(ErrorKind::NotFound, message).into())
        }
        ids => {
            let message =
                format!("several spaces are called {space}; say which by its id: {}", ids.join(", "));
            Err(Refused::new(ErrorKind::Validation, message).into())
        }
    }
}
