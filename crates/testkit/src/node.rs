//! Runs Node.js scripts, for tests that compare with an original JavaScript library.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs the packages of a lock file below `cache`, unless they are installed already.
/// Returns the directory that contains `node_modules`.
pub fn node_modules(package: &Path, cache: &Path) -> PathBuf {
    let lock = std::fs::read(package.join("package-lock.json")).expect("a lock file");
    let work = cache.join("node").join(package.strip_prefix("/").unwrap_or(package));
    let stamp = work.join("installed.json");
    std::fs::create_dir_all(&work).expect("a directory");
    // Tests run in parallel, but npm must not run twice in one directory.
    let lock_file = File::create(work.join("installing.lock")).expect("a lock file");
    lock_file.lock().expect("the lock");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return work;
    }
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(package.join(file), work.join(file)).expect("copied");
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let installed = Command::new("npm").args(arguments).current_dir(&work).status().expect("npm runs");
    assert!(installed.success(), "npm ci: {installed}");
    std::fs::write(stamp, lock).expect("written");
    work
}

/// Runs a script with one argument and returns its standard output.
pub fn node(script: &Path, argument: &Path) -> Vec<u8> {
    let output = Command::new("node").arg(script).arg(argument).output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
