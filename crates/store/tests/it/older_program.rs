//! Compatibility on PostgreSQL: runs the literal statements of a program that does not check the schema
//! version, on the schema of a newer one.

use haft_runs::{Journal as _, WorkerId};
use haft_store::{Database, RunJournal, Store};
use secrecy::ExposeSecret as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _};
use uuid::Uuid;

use crate::support::{TestDatabase, both};

/// The last migration that the older program supports.
const LAST_MIGRATION: &str = "0011";

/// The first statement of every claim.
const WAKE: &str = "UPDATE runs SET deaths = deaths + CASE WHEN status = 'running' THEN 1 ELSE 0 END,
        status = 'queued', waiting_for = NULL, worker = NULL, changed_at = $1
    WHERE id IN (SELECT id FROM runs WHERE status IN ('scheduled', 'waiting', 'running') AND due_at <= $1
                 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)";

const TAKE: &str = "UPDATE runs SET status = 'running', epoch = epoch + 1, worker = $1, due_at = $2,
        started_at = COALESCE(started_at, $3), changed_at = $3
    WHERE id IN (SELECT id FROM runs WHERE status = 'queued' AND space_id = $4 AND lane = $5
                 ORDER BY priority DESC, due_at, id LIMIT $6 FOR UPDATE SKIP LOCKED) RETURNING id";

const RENEW: &str = "UPDATE runs SET due_at = $2 WHERE worker = $1 AND status = 'running'
    RETURNING id, epoch, cancel_asked, changed_at";

const FINISH: &str =
    "UPDATE runs SET status = $3, output = $4, dead_letter = $5, ended_at = $6, changed_at = $6,
        due_at = $7, worker = NULL, waiting_for = NULL
    WHERE id = $1 AND epoch = $2 AND status = 'running' RETURNING space_id, parent_id, parent_step";

const ALERTS: &str = "SELECT id, space_id, owner_id, doc, version, created_at, updated_at, step, turns, told,
        above_since, seen_above_at, value, fired_at, resolved_at, webhook_error FROM alerts";

const CLAIM_TELLING: &str =
    "UPDATE alerts SET told = $3 WHERE space_id = $1 AND id = $2 AND turns = $3 AND told = $4";

const SPACE: &str = "00000000-0000-7000-8000-000000000001";
const CLAIMED_RUN: &str = "00000000-0000-7000-8000-000000000002";
const FAR: i64 = 253_000_000_000_000_000;

/// Rows that the older program stored, with a run that it has claimed.
fn stored() -> String {
    let run = |id: &str, status: &str, epoch: u8, worker: &str, due: i64| {
        format!(
            "INSERT INTO runs (id, space_id, program, lane, name, input, priority, status, due_at, epoch, worker,
                 deaths, most_deaths, cancel_asked, dead_letter, created_at, changed_at)
             VALUES ('{id}', '{SPACE}', 'call', 'mail', 'mail', '{{}}', 0, '{status}', {due}, {epoch}, {worker}, 0, 3,
                 0, 0, 0, 0);"
        )
    };
    format!(
        "INSERT INTO spaces (id, name, is_personal, version, created_at, updated_at)
             VALUES ('{SPACE}', 'old', 0, 1, 0, 0); {} {}",
        run(CLAIMED_RUN, "running", 1, "'older'", FAR),
        run("00000000-0000-7000-8000-000000000003", "queued", 0, "NULL", 0),
    )
}

/// Connects to a database in the state in which the older program left it.
async fn older(db: &TestDatabase) -> Option<PgConnection> {
    let Database::Postgres(url) = &db.database else { return None };
    let options: PgConnectOptions = url.expose_secret().parse().expect("a URL");
    let mut connection = options.connect().await.expect("PostgreSQL");
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let files = std::fs::read_dir(directory).expect("migrations");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    // `0001_first.sql` before `0001_first.postgres.sql`.
    files.sort_by_key(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)").await.expect("a table");
    let mut last = 0;
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(number) = name.get(..4).filter(|number| *number <= LAST_MIGRATION) else { continue };
        let Ok(number) = number.parse::<i64>() else { continue };
        let script = std::fs::read_to_string(&path).expect("a script");
        connection.execute(sqlx::raw_sql(AssertSqlSafe(script))).await.expect("a migration");
        last = last.max(number);
    }
    let stored = format!("INSERT INTO schema_version (version) VALUES ({last}); {}", stored());
    connection.execute(sqlx::raw_sql(AssertSqlSafe(stored))).await.expect("stored");
    Some(connection)
}

#[tokio::test]
async fn older_program_claims_no_run_and_sends_no_alert_after_an_upgrade() {
    both(async |db| {
        let Some(mut older) = older(db).await else { return };
        let store: Store = db.open().await;
        let take = sqlx::query(TAKE).bind("older").bind(FAR).bind(1_i64).bind(SPACE).bind("mail").bind(8_i64);
        let refused = take.fetch_all(&mut older).await.expect_err("refused").to_string();
        assert!(refused.contains("A newer Haft upgraded this database. Stop this process"), "{refused}");
        let start = stored().replace(CLAIMED_RUN, "00000000-0000-7000-8000-000000000004");
        let start = start.split(';').nth(1).expect("a statement").to_owned();
        let refused =
            older.execute(sqlx::raw_sql(AssertSqlSafe(start))).await.expect_err("refused").to_string();
        assert!(refused.contains("A newer Haft upgraded this database"), "{refused}");
        sqlx::query(ALERTS).fetch_all(&mut older).await.expect_err("no alert is read");
        let telling = sqlx::query(CLAIM_TELLING).bind(SPACE).bind("id").bind(1_i64).bind(0_i64);
        telling.execute(&mut older).await.expect_err("no alert is claimed");

        // The older program may finish its claimed run; the newer one claims the rest.
        sqlx::query(WAKE).bind(1_i64).bind(500_i64).execute(&mut older).await.expect("nothing due");
        let renewed =
            sqlx::query(RENEW).bind("older").bind(FAR).fetch_all(&mut older).await.expect("renewed");
        assert_eq!(renewed.len(), 1);
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let lease = std::time::Duration::from_secs(30);
        let claimed = journal.claim(WorkerId(Uuid::now_v7()), 8, lease).await.expect("claimed");
        assert_eq!(claimed.held.len(), 1, "the queued one");
        let finish = sqlx::query(FINISH).bind(CLAIMED_RUN).bind(1_i64).bind("succeeded").bind("{}");
        let finish = finish.bind(0_i64).bind(2_i64).bind(FAR);
        assert_eq!(finish.fetch_all(&mut older).await.expect("ended").len(), 1);
        drop(claimed);
    })
    .await;
}

#[tokio::test]
async fn runs_of_an_older_program_are_claimed_by_the_newer_one_after_their_lease() {
    both(async |db| {
        let Some(mut older) = older(db).await else { return };
        let store: Store = db.open().await;
        older.execute("UPDATE runs SET due_at = 1 WHERE status = 'running'").await.expect("lapsed");
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let lease = std::time::Duration::from_secs(30);
        let claimed = journal.claim(WorkerId(Uuid::now_v7()), 8, lease).await.expect("claimed");
        assert_eq!(claimed.held.len(), 2);
        let renewed = sqlx::query(RENEW).bind("older").bind(FAR).fetch_all(&mut older).await.expect("none");
        assert!(renewed.is_empty(), "the older program renews no claim of the newer one");
        let count =
            older.fetch_one("SELECT COUNT(*) FROM runs WHERE status = 'running'").await.expect("a count");
        assert_eq!(count.get::<i64, _>(0), 2);
    })
    .await;
}
