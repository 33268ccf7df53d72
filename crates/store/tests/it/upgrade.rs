//! Upgrades from schema version 12, the version before each step of a run was one row.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::{ErrorKind, RunId, SpaceId};
use haft_runs::{Journal as _, WorkerId};
use haft_store::{Database, RunJournal, Store};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use uuid::Uuid;

use crate::support::{KEY, TestDatabase, both, keys};

const SPACE: &str = "00000000-0000-7000-8000-000000000001";
const EXECUTED: &str = "00000000-0000-7000-8000-000000000002";
const QUEUED: &str = "00000000-0000-7000-8000-000000000003";
const IDLE: &str = "00000000-0000-7000-8000-000000000004";
const FAR: i64 = 253_000_000_000_000_000;
const LEASE: Duration = Duration::from_secs(30);

/// The first statement of a claim by the older program.
const OLDER_CLAIM: &str = "UPDATE runs SET deaths = deaths + 1, status = 'queued' WHERE due_at <= 1";

/// The scripts of schema version 12, as the older program executed them.
fn scripts(is_postgres: bool) -> Vec<PathBuf> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"));
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .expect("migrations")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.as_str() < "0013" && (is_postgres || !name.contains("postgres")))
        .collect();
    // `0001_first.sql` before `0001_first.postgres.sql`.
    names.sort_by_key(|name| name.trim_end_matches(".sql").to_owned());
    names.into_iter().map(|name| directory.join(name)).collect()
}

/// Rows of the older program: an executed run, a queued one, and an idle conversation whose steps are in `begun` and
/// in a row with several steps.
fn rows(lease_ends: i64) -> String {
    let run = |id: &str, status: &str, epoch: u8, worker: &str, due: i64, begun: &str| {
        format!(
            "INSERT INTO runs (id, space_id, program, lane, name, input, priority, status, due_at, epoch, claimed_by,
                 deaths, most_deaths, cancel_asked, dead_letter, created_at, changed_at, waiting_for, begun)
             VALUES ('{id}', '{SPACE}', 'call', 'mail', 'mail', '{{}}', 0, '{status}', {due}, {epoch}, {worker}, 0, 3,
                 0, 0, 1000, 1000, CASE WHEN '{status}' = 'waiting' THEN 'inbox' END, {begun});"
        )
    };
    let step = |key: &str, output: &str| format!(r#"{{"key":"{key}","effect":"read","output":{output}}}"#);
    let begun = format!(
        "'[{},{},{}]'",
        step("1.setup", r#"{"z":1,"a":1.50}"#),
        step("1.1", r#""quoted \" text\u00e9""#),
        step("later", "1")
    );
    let several = format!(
        "'[{},{},{}]'",
        step("inbox:0", r#"{"upTo":0,"messages":[{"n":2}]}"#),
        step("2.end", "null"),
        step("later", "2")
    );
    format!(
        "INSERT INTO spaces (id, name, is_personal, version, created_at, updated_at)
             VALUES ('{SPACE}', 'old', 0, 1, 0, 0); {} {} {}
         INSERT INTO run_steps (run_id, key, space_id, n, effect, state, output, expired, created_at, ended_at)
             VALUES ('{IDLE}', '+2', '{SPACE}', 2000, 'read', 'done', {several}, 0, 2000, 2000);
         INSERT INTO run_steps (run_id, key, space_id, n, effect, state, output, expired, created_at, ended_at)
             VALUES ('{IDLE}', '3.setup', '{SPACE}', 3000, 'read', 'done', '3', 0, 3000, 3000);",
        run(EXECUTED, "running", 1, "'older'", lease_ends, "NULL"),
        run(QUEUED, "queued", 0, "NULL", 0, "NULL"),
        run(IDLE, "waiting", 2, "NULL", FAR, &begun),
    )
}

/// Executes SQL on the database without the store.
async fn execute(db: &TestDatabase, sql: String) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    match &db.database {
        Database::Postgres(url) => {
            let options: PgConnectOptions = url.expose_secret().parse().expect("a URL");
            let mut connection = options.connect().await.expect("PostgreSQL");
            connection.execute(sql).await?;
            connection.close().await
        }
        Database::Sqlite(directory) => {
            std::fs::create_dir_all(directory).expect("a directory");
            let options =
                SqliteConnectOptions::new().filename(directory.join("haft.db")).create_if_missing(true);
            let mut connection = options.connect().await.expect("a file");
            connection.execute(sql).await?;
            connection.close().await
        }
        Database::Memory => unreachable!("tests use files"),
    }
}

/// Leaves the database as the older program would, with a lease that ends at a time in microseconds.
async fn leave(db: &TestDatabase, lease_ends: i64) {
    let is_postgres = matches!(db.database, Database::Postgres(_));
    let mut sql = "CREATE TABLE schema_version (version BIGINT NOT NULL);".to_owned();
    for script in scripts(is_postgres) {
        sql.push_str(&std::fs::read_to_string(script).expect("a script"));
    }
    sql.push_str("INSERT INTO schema_version (version) VALUES (12);");
    sql.push_str(&rows(lease_ends));
    execute(db, sql).await.expect("schema version 12");
}

fn ids() -> (SpaceId, RunId) {
    (SPACE.parse().expect("an id"), IDLE.parse().expect("an id"))
}

#[tokio::test]
async fn steps_of_older_forms_become_one_row_each_in_their_order() {
    both(async |db| {
        leave(db, 1).await;
        let store = db.open().await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (space, idle) = ids();
        let steps = journal.steps(space, idle).await.expect("steps");
        let found: Vec<(&str, Value)> = steps
            .iter()
            .map(|step| (step.key.as_str(), Value::clone(step.output.as_deref().expect("an output"))))
            .collect();
        let text = json!("quoted \" texté");
        let expected = [
            ("1.setup", json!({"z": 1, "a": 1.50})),
            ("1.1", text),
            // The later output of two with the same key counts, at the place of the first.
            ("later", json!(2)),
            ("inbox:0", json!({"upTo": 0, "messages": [{"n": 2}]})),
            ("2.end", Value::Null),
            ("3.setup", json!(3)),
        ];
        assert_eq!(found, expected);
        let stored = db.text("SELECT output FROM run_steps WHERE key = '1.setup'").await;
        assert_eq!(stored, r#"{"z":1,"a":1.50}"#, "texts are not changed");
        assert_eq!(db.text("SELECT CAST(COUNT(*) AS TEXT) FROM run_steps WHERE key LIKE '+%'").await, "0");
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn upgrade_is_refused_while_an_older_process_executes_runs() {
    both(async |db| {
        leave(db, FAR).await;
        let opened = Store::open(&db.database, keys(&[KEY])).await;
        if matches!(db.database, Database::Postgres(_)) {
            let error = opened.err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Conflict);
            assert!(error.to_string().contains("executing 1 tasks"), "{error}");
            // Nothing was changed, and the older process ends its run.
            execute(db, format!("UPDATE runs SET deaths = 0, due_at = 1 WHERE id = '{EXECUTED}'"))
                .await
                .expect("the older schema");
        } else {
            // Only one process can open a directory, so the older process has ended.
            opened.expect("a store").close().await;
        }
        let store = db.open().await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let claims = journal.claim(WorkerId(Uuid::now_v7()), 8, LEASE).await.expect("claimed");
        let mut claimed: Vec<(String, u32)> =
            claims.runs.iter().map(|claimed| (claimed.run.id.to_string(), claimed.run.crashes)).collect();
        claimed.sort();
        assert_eq!(claimed, [(EXECUTED.to_owned(), 1), (QUEUED.to_owned(), 0)]);
        execute(db, OLDER_CLAIM.to_owned()).await.expect_err("the older program claims nothing");
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn sqlite_database_is_copied_before_its_upgrade() {
    let db = TestDatabase::sqlite();
    leave(&db, 1).await;
    let directory = db.directory().expect("a directory");
    // An earlier attempt was interrupted.
    std::fs::write(directory.join("haft.db.schema-12.partial"), "half of a copy").expect("written");
    db.open().await.close().await;
    let names = || {
        let files = std::fs::read_dir(directory).expect("a directory");
        let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.contains(".schema-")).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["haft.db.schema-12"]);
    // The older program can open the copy.
    let restored = TestDatabase::sqlite();
    std::fs::create_dir_all(restored.directory().expect("a directory")).expect("a directory");
    std::fs::copy(directory.join("haft.db.schema-12"), restored.directory().expect("one").join("haft.db"))
        .expect("copied");
    execute(&restored, OLDER_CLAIM.to_owned()).await.expect("the older schema");
    // A second start makes no copy.
    std::fs::remove_file(directory.join("haft.db.schema-12")).expect("removed");
    db.open().await.close().await;
    assert!(names().is_empty());
    // Neither does a new database.
    restored.directory().inspect(|directory| std::fs::remove_dir_all(directory).expect("removed"));
    restored.open().await.close().await;
    let files = std::fs::read_dir(restored.directory().expect("a directory")).expect("a directory");
    assert!(
        files.into_iter().all(|file| !file.expect("a file").path().to_string_lossy().contains("schema-"))
    );
}
