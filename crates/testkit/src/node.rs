//! Node, for tests that ask the original of something we imitate.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs what a lock file says, once, below `cache`, and gives the directory with `node_modules` in it.
pub fn node_modules(package: &Path, cache: &Path) -> PathBuf {
    let lock = std::fs::read(package.join("package-lock.json")).expect("a lock file");
    let work = cache.join("node").join(package.strip_prefix("/").unwrap_or(package));
    let stamp = work.join("installed.json");
    std::fs::create_dir_all(&work).expect("a directory");
    // Tests run side by side, and npm does not.
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

/// Runs a script with one argument and gives what it prints.
pub fn node(script: &Path, argument: &Path) -> Vec<u8> {
    let output = Command::new("node").arg(script).arg(argument).output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
