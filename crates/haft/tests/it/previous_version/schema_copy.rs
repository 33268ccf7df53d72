//! The copy of a SQLite database that a migration leaves beside it.

use std::path::Path;

use haft_testkit::TestStorage;

use super::Opened;
use super::storage::Storage;
use crate::survival::python;

#[tokio::test]
async fn migration_leaves_a_copy_of_the_previous_database() {
    let storage = TestStorage::new();
    if storage.is_postgres() {
        return;
    }
    let copy = storage.directory.join("haft.db.schema-12");
    let Some(_opened) = Opened::open(Storage::Sqlite(storage)).await else { return };
    assert!(copy.is_file(), "{} is missing", copy.display());
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n\
                  print(*(c.execute(sql).fetchone()[0] for sql in sys.argv[2:]))";
    let queries = [
        "PRAGMA integrity_check",
        "SELECT MAX(version) FROM schema_version",
        "SELECT COUNT(*) FROM runs WHERE begun IS NOT NULL",
        "SELECT COUNT(*) FROM run_steps WHERE key LIKE '+%'",
    ];
    let arguments: Vec<&Path> = std::iter::once(copy.as_path()).chain(queries.map(Path::new)).collect();
    assert_eq!(python(script, &arguments).expect("python3").trim(), "ok 12 5 5");
}
