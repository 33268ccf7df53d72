//! The storage of a fixture: saved from a killed server, and loaded into a fresh directory or database.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use haft_testkit::TestStorage;
use serde_json::Value;

use crate::survival::database::{Database, ask};
use crate::survival::{Settings, python};

/// The files of a data directory that a fixture has.
const DATABASES: [&str; 2] = ["haft.db", "calls.db"];
const KEY_FILE: &str = "master.key";

const POSTGRES_DUMP: &str = "postgres.sql.gz";

pub(super) enum Storage {
    Sqlite(TestStorage),
    Postgres(Database),
}

impl Storage {
    /// Creates an empty storage of each kind: SQLite, and PostgreSQL if the tests have one.
    pub(super) fn available() -> Vec<Self> {
        let sqlite = TestStorage::new();
        let sqlite = (!sqlite.is_postgres()).then_some(Self::Sqlite(sqlite));
        sqlite.into_iter().chain(Database::new().map(Self::Postgres)).collect()
    }

    /// The name of the fixture.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }

    /// Returns the settings of a server. `expected` has the master key of a fixture on PostgreSQL.
    pub(super) fn settings(&self, expected: &Value) -> Settings {
        match self {
            Self::Sqlite(storage) => Settings::of(storage),
            Self::Postgres(database) => {
                let settings = Settings::sharing(&database.url());
                match expected["masterKey"].as_str() {
                    Some(key) => settings.with("HAFT_MASTER_KEY", key),
                    None => settings,
                }
            }
        }
    }

    /// Executes statements. Returns `None` and reports a skipped test if a program is missing.
    pub(super) fn execute(&self, sql: &str) -> Option<()> {
        match self {
            Self::Sqlite(storage) => {
                let script =
                    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2])";
                python(script, &[&storage.directory.join(DATABASES[0]), Path::new(sql)]).map(drop)
            }
            Self::Postgres(database) => {
                psql(database, sql);
                Some(())
            }
        }
    }

    /// Returns the rows of a query, with `|` between columns.
    pub(super) fn query(&self, sql: &str) -> String {
        match self {
            Self::Sqlite(storage) => {
                let script = "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):\n    print(*row, sep='|')";
                let rows = python(script, &[&storage.directory.join(DATABASES[0]), Path::new(sql)]);
                rows.expect("python3").trim().to_owned()
            }
            Self::Postgres(database) => ask(&database.url(), sql),
        }
    }

    /// Saves the data of a killed server in a directory, with its description.
    pub(super) fn save(&self, directory: &Path, expected: &Value) {
        let pretty = serde_json::to_string_pretty(expected).expect("JSON") + "\n";
        fs::create_dir_all(directory).expect("a directory");
        fs::write(directory.join(format!("{}.json", self.name())), pretty).expect("written");
        match self {
            Self::Sqlite(storage) => {
                let target = directory.join(self.name());
                fs::create_dir_all(&target).expect("a directory");
                for file in DATABASES {
                    let path = storage.directory.join(file);
                    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                                  c.execute('PRAGMA wal_checkpoint(TRUNCATE)'); c.execute('VACUUM')";
                    python(script, &[&path]).expect("python3");
                    compress(&fs::read(&path).expect("a database"), &target.join(format!("{file}.gz")));
                }
                fs::copy(storage.directory.join(KEY_FILE), target.join(KEY_FILE)).expect("copied");
            }
            Self::Postgres(database) => {
                let mut dump = Command::new("pg_dump");
                dump.args(["--no-owner", "--no-privileges", &database.url()]);
                let output = dump.output().expect("pg_dump runs");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                // Older versions of psql do not know these lines.
                let is_portable = |line: &&str| {
                    !["\\restrict", "\\unrestrict", "SET transaction_timeout"]
                        .iter()
                        .any(|start| line.starts_with(start))
                };
                let sql = String::from_utf8(output.stdout).expect("text");
                let lines: Vec<&str> = sql.lines().filter(is_portable).collect();
                compress((lines.join("\n") + "\n").as_bytes(), &directory.join(POSTGRES_DUMP));
            }
        }
    }

    /// Loads a fixture from a directory. Returns its description.
    pub(super) fn load(&self, directory: &Path) -> Value {
        match self {
            Self::Sqlite(storage) => {
                let source = directory.join(self.name());
                fs::create_dir_all(&storage.directory).expect("a directory");
                for file in DATABASES {
                    let content = decompress(&source.join(format!("{file}.gz")));
                    fs::write(storage.directory.join(file), content).expect("written");
                }
                let key_file = storage.directory.join(KEY_FILE);
                fs::copy(source.join(KEY_FILE), &key_file).expect("copied");
                // A checkout lets other users read it, which the server refuses.
                fs::set_permissions(key_file, fs::Permissions::from_mode(0o600)).expect("changed");
            }
            Self::Postgres(database) => {
                let sql = String::from_utf8(decompress(&directory.join(POSTGRES_DUMP))).expect("text");
                psql(database, &sql);
            }
        }
        let expected = fs::read(directory.join(format!("{}.json", self.name()))).expect("a description");
        serde_json::from_slice(&expected).expect("JSON")
    }
}

/// Executes statements, with data of `COPY` between them.
fn psql(database: &Database, sql: &str) {
    let mut command = Command::new("psql");
    command.args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-f", "-", &database.url()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("psql runs");
    child.stdin.take().expect("a pipe").write_all(sql.as_bytes()).expect("written");
    assert!(child.wait().expect("psql ends").success());
}

fn compress(content: &[u8], path: &Path) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("compressed");
    fs::write(path, encoder.finish().expect("compressed")).expect("written");
}

fn decompress(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let compressed = fs::File::open(path).expect("a file");
    GzDecoder::new(compressed).read_to_end(&mut content).expect("decompressed");
    content
}
