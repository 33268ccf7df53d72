//! Secrets: visible to their owner only, encrypted in the database, and re-encrypted on key rotation.

use haft_core::{ErrorKind, Locale, SpaceId};
use haft_store::{Key, MasterKeys, SecretOwnerId, Store};
use secrecy::{ExposeSecret as _, SecretString};

use crate::support::{KEY, all, both, keys, kind, user};

const NEW_KEY: &str = "0202020202020202020202020202020202020202020202020202020202020202";

async fn put(store: &Store, space: SpaceId, owner: SecretOwnerId, name: &str, value: &str) {
    let value = SecretString::from(value);
    store.put_secret(space, owner, name, &value, None).await.expect("stored");
}

async fn reveal(store: &Store, space: SpaceId, owner: SecretOwnerId, name: &str) -> Option<String> {
    let value = store.reveal(space, owner, name).await.expect("a result");
    value.map(|value| value.expose_secret().to_owned())
}

#[tokio::test]
async fn secrets_are_revealed_to_their_owner_only() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let (adas, bobs) = (SecretOwnerId::User(ada.id), SecretOwnerId::User(bob.id));
        put(&store, home.id, SecretOwnerId::Space, "KEY", "of the space").await;
        put(&store, home.id, adas, "KEY", "of ada").await;
        let space = SecretOwnerId::Space;
        assert_eq!(reveal(&store, home.id, space, "KEY").await.as_deref(), Some("of the space"));
        assert_eq!(reveal(&store, home.id, adas, "KEY").await.as_deref(), Some("of ada"));
        assert_eq!(reveal(&store, home.id, bobs, "KEY").await, None);

        put(&store, home.id, adas, "KEY", "").await;
        assert_eq!(reveal(&store, home.id, adas, "KEY").await.as_deref(), Some(""), "empty is a value");
        let (listed, _) = store.list_secrets(home.id, space, &all()).await.expect("a list");
        assert_eq!(listed.iter().map(|secret| secret.name.as_str()).collect::<Vec<_>>(), ["KEY"]);

        store.delete_secret(home.id, space, "KEY").await.expect("deleted");
        assert_eq!(reveal(&store, home.id, space, "KEY").await, None);
        assert_eq!(reveal(&store, home.id, adas, "KEY").await.as_deref(), Some(""));
        assert_eq!(kind(store.delete_secret(home.id, space, "KEY").await), ErrorKind::NotFound);
        let value = SecretString::from("x");
        let bad = store.put_secret(home.id, space, "not a name", &value, None).await;
        assert_eq!(kind(bad), ErrorKind::Validation);
    })
    .await;
}

#[tokio::test]
async fn values_moved_to_another_row_do_not_decrypt() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        put(&store, home.id, SecretOwnerId::Space, "A", "value of a").await;
        put(&store, home.id, SecretOwnerId::Space, "B", "value of b").await;
        db.raw(
            "UPDATE secrets SET name = 'C' WHERE name = 'A';
                 UPDATE secrets SET name = 'A' WHERE name = 'B';
                 UPDATE secrets SET name = 'B' WHERE name = 'C';",
        )
        .await;
        for name in ["A", "B"] {
            let swapped = store.reveal(home.id, SecretOwnerId::Space, name).await;
            assert_eq!(kind(swapped), ErrorKind::Internal, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn old_keys_can_be_removed_after_rotation() {
    both(async |db| {
        let store = db.open_with(keys(&[KEY])).await;
        let (_, home) = user(&store, "ada").await;
        let names: Vec<String> = (0..103).map(|number| format!("S{number}")).collect();
        for name in &names {
            put(&store, home.id, SecretOwnerId::Space, name, name).await;
        }
        assert_eq!(store.rotate_keys().await.expect("no change"), 0);
        store.close().await;
        drop(store);

        let store = db.open_with(keys(&[NEW_KEY, KEY])).await;
        assert_eq!(reveal(&store, home.id, SecretOwnerId::Space, "S7").await.as_deref(), Some("S7"));
        put(&store, home.id, SecretOwnerId::Space, "S7", "new").await;
        assert_eq!(store.rotate_keys().await.expect("rotated"), 102);
        assert_eq!(store.rotate_keys().await.expect("nothing more"), 0);
        store.close().await;
        drop(store);

        let store = db.open_with(keys(&[NEW_KEY])).await;
        assert_eq!(reveal(&store, home.id, SecretOwnerId::Space, "S0").await.as_deref(), Some("S0"));
        assert_eq!(reveal(&store, home.id, SecretOwnerId::Space, "S7").await.as_deref(), Some("new"));
        store.close().await;
        drop(store);

        let refused = Store::open(&db.database, keys(&[KEY])).await.err().expect("refused");
        assert_eq!(refused.kind(), ErrorKind::Internal);
        let missing = Key::parse(NEW_KEY).expect("a key");
        assert!(refused.message().render(Locale::En).contains(missing.id()), "{refused}");
        let store = db.open_with(keys(&[KEY, NEW_KEY])).await;
        assert_eq!(reveal(&store, home.id, SecretOwnerId::Space, "S0").await.as_deref(), Some("S0"));
    })
    .await;
}

#[tokio::test]
async fn keys_added_by_another_process_are_loaded() {
    both(async |db| {
        let name = format!("haft-keys-{}.key", uuid::Uuid::now_v7().simple());
        let file = std::env::temp_dir().join(name);
        let store = db.open_with(MasterKeys::from_file(&file).expect("made")).await;
        let (_, home) = user(&store, "ada").await;
        put(&store, home.id, SecretOwnerId::Space, "KEY", "a value").await;
        store.close().await;
        drop(store);

        let read_before = MasterKeys::from_file(&file).expect("read");
        let store = db.open_with(MasterKeys::add_to_file(&file).expect("another")).await;
        assert_eq!(store.rotate_keys().await.expect("rotated"), 1);
        store.close().await;
        drop(store);

        let store = db.open_with(read_before).await;
        assert_eq!(reveal(&store, home.id, SecretOwnerId::Space, "KEY").await.as_deref(), Some("a value"));
        assert_eq!(store.rotate_keys().await.expect("nothing more"), 0);
        std::fs::remove_file(&file).expect("removed");
    })
    .await;
}

#[tokio::test]
async fn values_have_a_maximum_length() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let longest = "x".repeat(16 * 1024);
        put(&store, home.id, SecretOwnerId::Space, "KEY", &longest).await;
        let longer = SecretString::from(format!("{longest}x"));
        let refused = store.put_secret(home.id, SecretOwnerId::Space, "KEY", &longer, None).await;
        let refused = refused.expect_err("too long");
        assert_eq!(refused.kind(), ErrorKind::Validation);
        assert_eq!(refused.violations()[0].path, "value");
        let kept = reveal(&store, home.id, SecretOwnerId::Space, "KEY").await;
        assert_eq!(kept.map(|value| value.len()), Some(longest.len()), "the one before");
    })
    .await;
}

#[tokio::test]
async fn no_value_is_stored_in_plain_text() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let value = "a-value-that-nobody-else-has";
        put(&store, home.id, SecretOwnerId::Space, "KEY", value).await;
        let link = store.create_login_link(ada.id, std::time::Duration::from_secs(60)).await.expect("one");
        let Some(directory) = db.directory() else { return };
        for file in std::fs::read_dir(directory).expect("a directory") {
            let bytes = std::fs::read(file.expect("a file").path()).expect("readable");
            for secret in [value, link.expose_secret()] {
                let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!is_there, "{secret} is in the database in clear");
            }
        }
    })
    .await;
}

#[test]
fn key_files_are_created_once_and_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = std::env::temp_dir().join(format!("haft-keys-{}", uuid::Uuid::now_v7().simple()));
    std::fs::create_dir(&directory).expect("a directory");
    let path = directory.join("haft.key");
    let made = MasterKeys::from_file(&path).expect("made");
    let read = MasterKeys::from_file(&path).expect("read");
    drop((made, read));
    let text = std::fs::read_to_string(&path).expect("a file");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!((text.lines().count(), mode & 0o777), (1, 0o600));

    MasterKeys::add_to_file(&path).map(drop).expect("another");
    let longer = std::fs::read_to_string(&path).expect("a file");
    assert!(longer.lines().count() == 2 && longer.ends_with(&text), "the older key is kept, below");
    assert_eq!(std::fs::read_dir(&directory).expect("a directory").count(), 1, "nothing is left behind");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
    assert!(MasterKeys::from_file(&path).is_err(), "others can read it");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("changed");
    std::fs::write(&path, "no key").expect("written");
    assert!(MasterKeys::from_file(&path).is_err(), "it holds no key");
    std::fs::remove_dir_all(&directory).expect("removed");
}
