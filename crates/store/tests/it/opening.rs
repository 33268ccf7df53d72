//! Opening and closing: migrations, the directory lock, unavailable databases, backups.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use haft_core::{ErrorKind, Locale};
use haft_store::{CredentialHash, Database, Store};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::support::{KEY, TestDatabase, both, keys, kind, put_tool, user};

#[tokio::test]
async fn data_survives_a_restart() {
    both(async |database| {
        let store = database.open().await;
        let (ada, home) = user(&store, "ada").await;
        let tool = put_tool(&store, home.id, "weather").await;
        let revision = store.current_revision().await.expect("a revision");
        drop(store);

        let store = database.open().await;
        assert_eq!(store.get_user(ada.id).await.expect("found"), Some(ada));
        assert_eq!(store.get_tool(home.id, &tool.id).await.expect("found"), Some(tool));
        assert_eq!(store.current_revision().await.expect("a revision"), revision);
        assert_eq!(*store.changed().borrow(), revision);
    })
    .await;
}

#[tokio::test]
async fn newer_schemas_are_rejected() {
    both(async |database| {
        drop(database.open().await);
        drop(database.open().await);
        database.raw("INSERT INTO schema_version (version) VALUES (1000)").await;
        let refused = Store::open(&database.database, keys(&[KEY])).await.err().expect("refused");
        assert_eq!(refused.kind(), ErrorKind::Internal);
        assert!(refused.message().render(Locale::En).contains("1000"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn the_data_directory_is_locked_by_one_process() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let refused = Store::open(&database.database, keys(&[KEY])).await.err().expect("refused");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    let directory = database.directory().expect("a directory").display().to_string();
    assert!(refused.message().render(Locale::En).contains(&directory), "{refused}");
    drop(store);
    database.open().await.check().await.expect("free again");
}

#[tokio::test]
async fn locked_databases_are_unavailable_until_unlocked() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let (ada, _) = user(&store, "ada").await;
    let Database::Sqlite(directory) = &database.database else { panic!("a directory") };
    let options = SqliteConnectOptions::new().filename(directory.join("haft.db"));
    let mut other = options.connect().await.expect("SQLite");
    other.execute("BEGIN IMMEDIATE").await.expect("a lock");

    let refused = store.create_space("team", ada.id).await.expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(refused.requested_pause(), Some(Duration::from_secs(1)));
    store.get_user(ada.id).await.expect("reads still work").expect("ada");

    other.execute("ROLLBACK").await.expect("unlocked");
    store.create_space("team", ada.id).await.expect("without a restart");
}

#[tokio::test]
async fn closed_stores_are_unavailable() {
    both(async |database| {
        let store = database.open().await;
        store.check().await.expect("alive");
        store.close().await;
        assert_eq!(kind(store.check().await), ErrorKind::Unavailable);
        assert_eq!(kind(store.create_user("ada", None, false).await), ErrorKind::Unavailable);
    })
    .await;
}

#[tokio::test]
async fn unreachable_servers_are_unavailable() {
    let nowhere = Database::Postgres("postgres://haft@127.0.0.1:1/haft".into());
    let refused = Store::open(&nowhere, keys(&[KEY])).await.err().expect("refused");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    let no_url = Database::Postgres("nonsense".into());
    assert_eq!(kind(Store::open(&no_url, keys(&[KEY])).await), ErrorKind::Validation);
}

#[tokio::test]
async fn backups_can_be_opened_as_stores() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let (ada, _) = user(&store, "ada").await;
    let copy = TestDatabase::sqlite();
    let directory = copy.directory().expect("a directory");
    std::fs::create_dir(directory).expect("a directory");
    let file = directory.join("haft.db");
    store.vacuum_into(&file).await.expect("a backup");
    assert_eq!(kind(store.vacuum_into(&file).await), ErrorKind::Conflict, "a backup overwrites nothing");
    user(&store, "bob").await;

    let restored = copy.open().await;
    assert_eq!(restored.get_user(ada.id).await.expect("found"), Some(ada));
    assert_eq!(restored.count_users().await.expect("a count"), 1);
}

/// Overwrites the first page of an index, bypassing the store, which must be closed.
async fn damage(database: &TestDatabase, file: &str, index: &'static str) {
    let path = database.directory().expect("a directory").join(file);
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.expect("SQLite");
    let found = sqlx::query_as(
        "SELECT (m.rootpage - 1) * s.page_size, s.page_size
         FROM sqlite_master m, pragma_page_size s WHERE m.name = $1",
    );
    let found: (i64, i64) = found.bind(index).fetch_one(&mut connection).await.expect("an index");
    connection.close().await.expect("closed");
    let (offset, size) =
        (u64::try_from(found.0).expect("an offset"), usize::try_from(found.1).expect("a size"));
    let file = OpenOptions::new().write(true).open(path).expect("a database");
    file.write_all_at(&vec![0xa5; size], offset).expect("damaged");
}

#[tokio::test]
async fn damage_found_by_a_transaction_is_recorded() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    damage(&database, "haft.db", "sqlite_autoindex_sessions_1").await;
    let store = database.open().await;
    store.check().await.expect("nothing read the damaged page");
    assert_eq!(kind(store.delete_session(&CredentialHash::of("none")).await), ErrorKind::Internal);
    assert_eq!(kind(store.check().await), ErrorKind::Internal);
}

#[tokio::test]
async fn page_checks_find_damage_in_unread_pages() {
    let database = TestDatabase::sqlite();
    let (store, log) = (database.open().await, database.open_log().await);
    store.check_pages().await;
    log.check_pages().await;
    store.check().await.expect("whole");
    log.check().await.expect("whole");
    store.close().await;
    log.close().await;
    drop(store);

    damage(&database, "haft.db", "sqlite_autoindex_sessions_1").await;
    damage(&database, "calls.db", "tool_call_log_tool").await;
    let (store, log) = (database.open().await, database.open_log().await);
    store.check().await.expect("nothing read the damaged page");
    log.check().await.expect("nothing read the damaged page");
    store.check_pages().await;
    log.check_pages().await;
    assert_eq!(kind(store.check().await), ErrorKind::Internal);
    assert_eq!(kind(log.check().await), ErrorKind::Internal);
}
