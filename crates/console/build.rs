//! Generates the list of files in `web/dist` that the crate embeds. If the console was not built, the list is
//! empty and a compiler warning is printed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const DIST: &str = "../../web/dist";

fn main() -> io::Result<()> {
    // Relative to this checkout: several checkouts may share one target directory.
    println!("cargo::rerun-if-changed={DIST}");
    let dist = env::current_dir()?.join(DIST);
    let mut paths = Vec::new();
    if dist.join("index.html").is_file() {
        list(&dist, &mut paths)?;
    } else {
        println!(
            "cargo::warning=the console is not built, so this Haft will have none: run `make build` instead"
        );
    }
    paths.sort();
    let mut files = String::from("&[\n");
    for path in paths.iter().filter(|path| path.extension().is_none_or(|extension| extension != "br")) {
        let name = path.strip_prefix(&dist).map_err(io::Error::other)?;
        let mut small = path.clone().into_os_string();
        small.push(".br");
        let small = match paths.contains(&PathBuf::from(&small)) {
            true => format!("Some(include_bytes!({small:?}))"),
            false => "None".to_owned(),
        };
        let _ =
            writeln!(files, "File {{ path: {name:?}, bytes: include_bytes!({path:?}), brotli: {small} }},");
    }
    files.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    fs::write(Path::new(&out).join("files.rs"), files)
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
