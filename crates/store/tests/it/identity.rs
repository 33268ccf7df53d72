//! Tokens, sessions and login links: lookup by hash, and expiry.

use std::time::Duration;

use haft_core::id::TokenId;
use haft_core::space::Role;
use haft_core::user::Scope;
use haft_core::{ErrorKind, UserId};
use haft_store::{CredentialHash, Store};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use crate::support::{all, both, kind, user};

const MINUTE: Duration = Duration::from_secs(60);

fn hash(value: &SecretString) -> CredentialHash {
    CredentialHash::of(value.expose_secret())
}

pub(crate) async fn session_of(store: &Store, value: &SecretString) -> Option<UserId> {
    store.find_session(&hash(value)).await.expect("a result").map(|session| session.user.id)
}

#[tokio::test]
async fn tokens_are_found_by_hash_and_their_value_is_not_stored() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let (token, value) =
            store.create_token(home.id, ada.id, "laptop", Scope::Call, None).await.expect("a token");
        let text = value.expose_secret();
        assert!(text.starts_with("haft_") && text.len() == 48, "{}", text.len());
        assert_eq!(token.prefix, text[..12]);

        let found = store.find_token(&hash(&value)).await.expect("a result").expect("found");
        assert_eq!((found.token, found.user, found.role), (token.clone(), ada.clone(), Role::Admin));
        let stranger = CredentialHash::of("haft_made-up");
        assert_eq!(store.find_token(&stranger).await.expect("a result"), None);

        store.touch_token(home.id, token.id).await.expect("touched");
        let used = store.get_token(home.id, token.id).await.expect("found").expect("one").last_used_at;
        assert!(used.is_some());
        store.touch_token(home.id, token.id).await.expect("touched again");
        let again = store.get_token(home.id, token.id).await.expect("found").expect("one").last_used_at;
        assert_eq!(used, again, "noted twice within a minute");

        store.delete_token(home.id, token.id).await.expect("revoked");
        assert_eq!(store.find_token(&hash(&value)).await.expect("a result"), None);
        assert_eq!(kind(store.delete_token(home.id, token.id).await), ErrorKind::NotFound);
        let (tokens, _) = store.list_tokens(home.id, ada.id, &all()).await.expect("a list");
        assert!(tokens.is_empty());
    })
    .await;
}

#[tokio::test]
async fn tokens_are_valid_while_their_user_is_an_active_member() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, _), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        let refused = store.create_token(team, bob.id, "t", Scope::Read, None).await;
        assert_eq!(kind(refused), ErrorKind::NotFound, "bob is no member yet");

        store.put_member(team, bob.id, Role::Caller).await.expect("a member");
        let (_, value) = store.create_token(team, bob.id, "t", Scope::Read, None).await.expect("a token");
        let found = async || store.find_token(&hash(&value)).await.expect("a result");
        assert_eq!(found().await.map(|identity| identity.role), Some(Role::Caller));
        store.set_user_rights(bob.id, false, false).await.expect("deactivated");
        assert_eq!(found().await, None);
        store.set_user_rights(bob.id, true, false).await.expect("activated");
        assert!(found().await.is_some());
        store.remove_member(team, bob.id).await.expect("removed");
        assert_eq!(found().await, None);

        let past = Timestamp::now().saturating_sub(MINUTE).expect("a minute ago");
        let (_, old) =
            store.create_token(team, ada.id, "old", Scope::Read, Some(past)).await.expect("a token");
        assert_eq!(store.find_token(&hash(&old)).await.expect("a result"), None);
    })
    .await;
}

#[tokio::test]
async fn creating_a_token_with_a_chosen_value_is_idempotent() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let value = SecretString::from("a token of the operator");
        let first =
            store.create_token_with(home.id, ada.id, "admin", Scope::Admin, &value).await.expect("one");
        let again =
            store.create_token_with(home.id, ada.id, "admin", Scope::Admin, &value).await.expect("again");
        assert_eq!(first, again);
        assert!(first.prefix.len() < 8, "too much of it is shown: {}", first.prefix);
        assert!(store.find_token(&hash(&value)).await.expect("a result").is_some());
        let weaker = store.create_token_with(home.id, ada.id, "admin", Scope::Read, &value).await;
        assert_eq!(kind(weaker), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn sessions_end_with_their_token() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let week = MINUTE * 60 * 24 * 7;
        let end = Timestamp::now().saturating_add(MINUTE).expect("in a minute");
        let make = async |expires| {
            store.create_token(home.id, ada.id, "t", Scope::Admin, expires).await.expect("a token").0
        };
        let (short, endless) = (make(Some(end)).await.id, make(None).await.id);
        let short = store.get_token(home.id, short).await.expect("a result").expect("a token");
        let begin = async |token: TokenId| store.create_session_of_token(ada.id, token, week).await;
        let session = begin(short.id).await.expect("a session");
        let found = store.find_session(&hash(&session)).await.expect("a result").expect("a session");
        assert_eq!((Some(found.expires_at), found.token_expires_at), (short.expires_at, short.expires_at));

        let session = begin(endless).await.expect("a session");
        let found = store.find_session(&hash(&session)).await.expect("a result").expect("a session");
        assert!(found.expires_at > end && found.token_expires_at.is_none(), "{found:?}");
        store.delete_token(home.id, endless).await.expect("deleted");
        assert_eq!(session_of(&store, &session).await, None);

        let past = Timestamp::now().saturating_sub(MINUTE).expect("a minute ago");
        let session = begin(make(Some(past)).await.id).await.expect("a session");
        assert_eq!(session_of(&store, &session).await, None);
        let (bob, _) = user(&store, "bob").await;
        let foreign = store.create_session_of_token(bob.id, short.id, week).await;
        assert_eq!(kind(foreign), ErrorKind::NotFound, "a token of another user");
        assert_eq!(kind(begin(endless).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn sessions_end_by_deletion_and_expiry() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let session = store.create_session(ada.id, MINUTE).await.expect("a session");
        assert_eq!(session_of(&store, &session).await, Some(ada.id));
        store.delete_session(&hash(&session)).await.expect("ended");
        store.delete_session(&hash(&session)).await.expect("ended already");
        assert_eq!(session_of(&store, &session).await, None);

        let over = store.create_session(ada.id, Duration::ZERO).await.expect("a session");
        assert_eq!(session_of(&store, &over).await, None);
        assert_eq!(store.delete_expired().await.expect("a count"), 1);
        let stranger = UserId::from(uuid::Uuid::now_v7());
        assert_eq!(kind(store.create_session(stranger, MINUTE).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn login_links_work_once() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let link = store.create_login_link(ada.id, MINUTE).await.expect("a link");
        let link = hash(&link);
        let (one, other) = tokio::join!(store.consume_login_link(&link), store.consume_login_link(&link));
        let taken = [one.expect("a result"), other.expect("a result")];
        assert_eq!(taken.iter().flatten().collect::<Vec<_>>(), [&ada]);
        assert_eq!(store.consume_login_link(&link).await.expect("a result"), None);

        let over = store.create_login_link(ada.id, Duration::ZERO).await.expect("a link");
        assert_eq!(store.consume_login_link(&hash(&over)).await.expect("a result"), None);
    })
    .await;
}
