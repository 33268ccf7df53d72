//! `haft login [URL]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Locale, Message};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use url::Url;

use super::{logout, results, spaces, text};
use crate::cli::LoginArgs;
use crate::config::Config;
use crate::door::{Answer, DEFAULT_URL, Door, base};
use crate::login::{self, Login};
use crate::refusal::Refused;
use crate::{ask, messages, show};

/// How somebody shows who they are.
enum Proof {
    Token(SecretString),
    Link(SecretString),
    Password { name: String, password: SecretString },
}

pub(crate) async fn run(args: LoginArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let path = login::path(&config)?;
    let proof = ask_for_proof(&args)?;
    let url = base(&server(&args, &proof))?.as_str().trim_end_matches('/').to_owned();
    let (token, token_id) = match proof {
        Proof::Token(token) => (token, None),
        Proof::Link(_) | Proof::Password { .. } => match make_token(&url, &proof, &args, &config).await? {
            Ok((token, id)) => (token, Some(id)),
            Err(code) => return Ok(code),
        },
    };
    let me = Door::with_token(&url, token.clone(), &config)?.get("/api/me").await?;
    if let Some(code) = super::failed(&me, args.json) {
        return Ok(code);
    }
    // One that cannot be read has nothing to end.
    let before = Login::stored(&config).ok().flatten();
    let login = Login { url, token, token_id };
    login.store(path)?;
    if let Some(before) = before {
        logout::end_token(&before, &config).await;
    }
    welcome(&login.url, &me, args.json, config.locale);
    Ok(ExitCode::SUCCESS)
}

/// The server that was named, or the one that a link leads to.
fn server(args: &LoginArgs, proof: &Proof) -> String {
    let linked = || match proof {
        Proof::Link(link) => {
            Url::parse(link.expose_secret()).ok().map(|url| url.origin().ascii_serialization())
        }
        Proof::Token(_) | Proof::Password { .. } => None,
    };
    args.url.clone().filter(|url| !url.is_empty()).or_else(linked).unwrap_or_else(|| DEFAULT_URL.to_owned())
}

fn ask_for_proof(args: &LoginArgs) -> anyhow::Result<Proof> {
    if let Some(token) = &args.token {
        return some(Proof::Token(token.as_str().into()));
    }
    if let Some(link) = &args.link {
        return some(Proof::Link(link.as_str().into()));
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None if ask::can_ask() => ask::line("Name, empty to use a token or a link: ")?,
        None => String::new(),
    };
    if !name.is_empty() {
        let password = ask::hidden(&format!("Password of {name}: "))?;
        return some(Proof::Password { name, password });
    }
    let given = ask::hidden("Token or link: ")?;
    let is_link = ["http://", "https://"].iter().any(|scheme| given.expose_secret().starts_with(scheme));
    some(if is_link { Proof::Link(given) } else { Proof::Token(given) })
}

/// A proof with something in it.
fn some(proof: Proof) -> anyhow::Result<Proof> {
    let (what, secret) = match &proof {
        Proof::Token(token) => ("token", token),
        Proof::Link(link) => ("link", link),
        Proof::Password { password, .. } => ("password", password),
    };
    if secret.expose_secret().trim().is_empty() {
        let message = Message::new(&messages::NOTHING_GIVEN).with("what", what);
        return Err(Refused::new(ErrorKind::Validation, message).into());
    }
    Ok(proof)
}

/// Makes a token of our own in a session that ends with it; or gives the code to end with.
async fn make_token(
    url: &str,
    proof: &Proof,
    args: &LoginArgs,
    config: &Config,
) -> anyhow::Result<Result<(SecretString, String), ExitCode>> {
    let credentials = match proof {
        Proof::Token(token) => json!({"token": token.expose_secret()}),
        Proof::Link(link) => json!({"link": code_in(link.expose_secret())}),
        Proof::Password { name, password } => json!({"name": name, "password": password.expose_secret()}),
    };
    let session = match Door::unknown(url, config)?.log_in(&credentials).await? {
        Ok(session) => session,
        Err(refused) => return Ok(Err(super::failed(&refused, args.json).unwrap_or(ExitCode::FAILURE))),
    };
    let made = token_of(&session, args).await;
    // The token is what we came for: a session that stays open ends by itself.
    let _ = session.post("/api/logout", &json!({})).await;
    made
}

async fn token_of(
    session: &Door,
    args: &LoginArgs,
) -> anyhow::Result<Result<(SecretString, String), ExitCode>> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut body = Map::from_iter([("name".to_owned(), format!("cli on {host}").into())]);
    if let Some(space) = &args.space {
        match spaces::id_of(session, space, args.json).await? {
            Ok(id) => body.insert("spaceId".to_owned(), id.into()),
            Err(code) => return Ok(Err(code)),
        };
    }
    let answer = session.post("/api/tokens", &Value::Object(body)).await?;
    if let Some(code) = super::failed(&answer, args.json) {
        return Ok(Err(code));
    }
    Ok(Ok((text(&answer.data, "token").into(), text(&answer.data, "id").to_owned())))
}

/// What a link says in its query, behind its `#` or at its end; a bare code is one too.
fn code_in(link: &str) -> String {
    let Ok(url) = Url::parse(link) else { return link.trim().to_owned() };
    let query = url.query_pairs().find(|(name, _)| name == "link").map(|(_, code)| code.into_owned());
    let fragment = || url.fragment().map(|code| code.strip_prefix("link=").unwrap_or(code).to_owned());
    let last = || url.path_segments()?.next_back().map(str::to_owned);
    query.or_else(fragment).or_else(last).unwrap_or_default()
}

fn welcome(url: &str, me: &Answer, json: bool, locale: Locale) {
    let (user, space) = (text(&me.data["user"], "name"), text(&me.data["space"], "name"));
    let (role, scope) = (text(&me.data, "role"), text(&me.data, "scope"));
    if json {
        show::line_out(json!({"url": url, "user": user, "space": space, "role": role, "scope": scope}));
    } else {
        let message = Message::new(&results::LOGGED_IN)
            .with("url", url)
            .with("user", user)
            .with("space", space)
            .with("role", role)
            .with("scope", scope);
        show::said(&message.render(locale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_known_in_every_form() {
        for link in [
            "abc",
            "http://127.0.0.1:7420/login/abc",
            "http://127.0.0.1:7420/?link=abc",
            "http://127.0.0.1:7420/console#abc",
            "http://127.0.0.1:7420/#link=abc",
        ] {
            assert_eq!(code_in(link), "abc", "{link}");
        }
    }
}
