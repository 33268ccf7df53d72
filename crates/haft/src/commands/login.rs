//! `haft login [URL]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Locale, Message};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use url::Url;

use super::{logout, results, spaces, text};
use crate::cli::LoginArgs;
use crate::cli_error::CliError;
use crate::client::{ApiClient, ApiResponse, DEFAULT_URL, parse_base_url};
use crate::config::Config;
use crate::login::{self, Login};
use crate::{messages, output, user_input};

/// The credentials for a login.
enum Credentials {
    Token(SecretString),
    Link(SecretString),
    Password { name: String, password: SecretString },
}

pub(crate) async fn run(args: LoginArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let path = login::path(&config)?;
    let credentials = read_credentials(&args)?;
    let url = parse_base_url(&server_url(&args, &credentials))?.as_str().trim_end_matches('/').to_owned();
    let (token, token_id) = match credentials {
        Credentials::Token(token) => (token, None),
        Credentials::Link(_) | Credentials::Password { .. } => {
            match log_in_for_token(&url, &credentials, &args, &config).await? {
                Ok((token, id)) => (token, Some(id)),
                Err(code) => return Ok(code),
            }
        }
    };
    let me = ApiClient::with_token(&url, token.clone(), &config)?.get("/api/me").await?;
    if let Some(code) = super::report_failure(&me, args.json) {
        return Ok(code);
    }
    // The token of an unreadable login cannot be revoked.
    let before = Login::stored(&config).ok().flatten();
    let login = Login { url, token, token_id };
    login.store(path)?;
    if let Some(before) = before {
        logout::revoke_token(&before, &config).await;
    }
    print_login(&login.url, &me, args.json, config.locale);
    Ok(ExitCode::SUCCESS)
}

/// Returns the URL of the named server, that of the link, or else [`DEFAULT_URL`].
fn server_url(args: &LoginArgs, credentials: &Credentials) -> String {
    let linked = || match credentials {
        Credentials::Link(link) => {
            Url::parse(link.expose_secret()).ok().map(|url| url.origin().ascii_serialization())
        }
        Credentials::Token(_) | Credentials::Password { .. } => None,
    };
    args.url.clone().filter(|url| !url.is_empty()).or_else(linked).unwrap_or_else(|| DEFAULT_URL.to_owned())
}

fn read_credentials(args: &LoginArgs) -> anyhow::Result<Credentials> {
    if let Some(token) = &args.token {
        return require_secret(Credentials::Token(token.as_str().into()));
    }
    if let Some(link) = &args.link {
        return require_secret(Credentials::Link(link.as_str().into()));
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None if user_input::is_terminal() => user_input::read_line("Name, empty to use a token or a link: ")?,
        None => String::new(),
    };
    if !name.is_empty() {
        let password = user_input::read_hidden_line(&format!("Password of {name}: "))?;
        return require_secret(Credentials::Password { name, password });
    }
    let given = user_input::read_hidden_line("Token or link: ")?;
    let is_link = ["http://", "https://"].iter().any(|scheme| given.expose_secret().starts_with(scheme));
    require_secret(if is_link { Credentials::Link(given) } else { Credentials::Token(given) })
}

/// Returns the credentials. Fails if the secret is empty.
fn require_secret(credentials: Credentials) -> anyhow::Result<Credentials> {
    let (what, secret) = match &credentials {
        Credentials::Token(token) => ("token", token),
        Credentials::Link(link) => ("link", link),
        Credentials::Password { password, .. } => ("password", password),
    };
    if secret.expose_secret().trim().is_empty() {
        let message = Message::new(&messages::NOTHING_GIVEN).with("what", what);
        return Err(CliError::new(ErrorKind::Validation, message).into());
    }
    Ok(credentials)
}

/// Creates a token for this computer in a temporary session. Returns the exit code if a failure was printed.
async fn log_in_for_token(
    url: &str,
    credentials: &Credentials,
    args: &LoginArgs,
    config: &Config,
) -> anyhow::Result<Result<(SecretString, String), ExitCode>> {
    let credentials = match credentials {
        Credentials::Token(token) => json!({"token": token.expose_secret()}),
        Credentials::Link(link) => json!({"link": link_code(link.expose_secret())}),
        Credentials::Password { name, password } => {
            json!({"name": name, "password": password.expose_secret()})
        }
    };
    let session = match ApiClient::anonymous(url, config)?.log_in(&credentials).await? {
        Ok(session) => session,
        Err(refused) => {
            return Ok(Err(super::report_failure(&refused, args.json).unwrap_or(ExitCode::FAILURE)));
        }
    };
    let made = create_token(&session, args).await;
    // Errors are ignored: a session that stays open expires.
    let _ = session.post("/api/logout", &json!({})).await;
    made
}

async fn create_token(
    session: &ApiClient,
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
    let response = session.post("/api/tokens", &Value::Object(body)).await?;
    if let Some(code) = super::report_failure(&response, args.json) {
        return Ok(Err(code));
    }
    Ok(Ok((text(&response.data, "token").into(), text(&response.data, "id").to_owned())))
}

/// Returns the code of a link, from its query, fragment or last path segment. Accepts a bare code, too.
fn link_code(link: &str) -> String {
    let Ok(url) = Url::parse(link) else { return link.trim().to_owned() };
    let query = url.query_pairs().find(|(name, _)| name == "link").map(|(_, code)| code.into_owned());
    let fragment = || url.fragment().map(|code| code.strip_prefix("link=").unwrap_or(code).to_owned());
    let last = || url.path_segments()?.next_back().map(str::to_owned);
    query.or_else(fragment).or_else(last).unwrap_or_default()
}

fn print_login(url: &str, me: &ApiResponse, json: bool, locale: Locale) {
    let (user, space) = (text(&me.data["user"], "name"), text(&me.data["space"], "name"));
    let (role, scope) = (text(&me.data, "role"), text(&me.data, "scope"));
    if json {
        output::print_line(json!({"url": url, "user": user, "space": space, "role": role, "scope": scope}));
    } else {
        let message = Message::new(&results::LOGGED_IN)
            .with("url", url)
            .with("user", user)
            .with("space", space)
            .with("role", role)
            .with("scope", scope);
        output::print_status(&message.render(locale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_code_is_found_in_every_form_of_link() {
        for link in [
            "abc",
            "http://127.0.0.1:7420/login/abc",
            "http://127.0.0.1:7420/?link=abc",
            "http://127.0.0.1:7420/console#abc",
            "http://127.0.0.1:7420/#link=abc",
        ] {
            assert_eq!(link_code(link), "abc", "{link}");
        }
    }
}
