//! Downloads mathjs from the npm registry, pinned by the lock file, to embed it in the crate.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed build reports the reason and stops"
)]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    for file in ["js/package.json", "js/package-lock.json", "build.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let work = Path::new(&out).join("js");
    install(&work);
    let bundle = work.join("node_modules/mathjs/lib/browser/math.js");
    assert!(bundle.is_file(), "mathjs came without its bundle at {}", bundle.display());
    println!("cargo::rustc-env=HAFT_MATHJS_BUNDLE={}", bundle.display());
    println!("cargo::rustc-env=HAFT_MATHJS_DIR={}", work.display());
}

/// Installs the packages of the lock file, unless they are installed already.
fn install(work: &Path) {
    let lock = fs::read("js/package-lock.json").expect("the lock file is part of the crate");
    let stamp = work.join("installed.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return;
    }
    fs::create_dir_all(work).expect("the build directory can be written");
    fs::copy("js/package.json", work.join("package.json")).expect("the build directory can be written");
    fs::write(work.join("package-lock.json"), &lock).expect("the build directory can be written");
    let installed = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(work)
        .status();
    match installed {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("`npm ci` for mathjs ended with {status}"),
        Err(error) => panic!(
            "the calculator is built with Node: install Node and npm, or leave out haft-calc ({error})"
        ),
    }
    fs::write(stamp, lock).expect("the build directory can be written");
}
