//! `make install` copies the built binary and builds nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory without a workspace to build; removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn install(&self) -> Output {
        let makefile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Makefile");
        let mut make = Command::new("make");
        // `make test` passes its settings on to child processes.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
        make.arg("-f").arg(makefile).args(["install", "PREFIX=/usr", "DESTDIR=root"]);
        make.current_dir(&self.0).output().expect("make runs")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn make_install_copies_the_built_binary_and_refuses_without_one() {
    let directory = Directory(std::env::temp_dir().join(format!("haft-install-{}", std::process::id())));
    let target = directory.0.join("target/release");
    std::fs::create_dir_all(&target).expect("a directory");
    let refused = directory.install();
    let error_output = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error_output.contains("run make build first"), "{error_output}");

    let binary = target.join("haft");
    std::fs::write(&binary, "the binary").expect("written");
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let done = directory.install();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let copy = directory.0.join("root/usr/bin/haft");
    assert_eq!(std::fs::read_to_string(&copy).expect("a copy"), "the binary");
    let mode = std::fs::metadata(&copy).expect("a copy").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
