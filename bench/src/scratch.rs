//! Temporary directories of the benchmarks.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns an unused path in the temporary directory.
pub(crate) fn unused(name: &str) -> PathBuf {
    let number = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    std::env::temp_dir().join(format!("haft-bench-{name}-{}", number.as_nanos()))
}

/// A temporary directory that is deleted when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> std::io::Result<Self> {
        let path = unused(name);
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
