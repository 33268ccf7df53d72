//! `haft serve` as a separate process, which is killed when its handle is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use serde_json::{Value, json};

/// The admin token of the servers under test.
pub(crate) const TOKEN: &str = "bench-token-of-an-admin";

/// Returns the `haft` binary beside this one. Returns `None` if it is not built.
pub(crate) fn binary() -> anyhow::Result<Option<PathBuf>> {
    let binary = std::env::current_exe()?.with_file_name("haft");
    Ok(binary.exists().then_some(binary))
}

pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(
        binary: &Path,
        directory: &Path,
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .args(["serve", "--addr", "127.0.0.1:0", "--admin-token", TOKEN])
            .env("HAFT_DATA_DIR", directory)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").context("an address")?.to_owned();
        Ok(Self { child, address })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (_, body) = response.split_once("\r\n\r\n").context("a body")?;
        // A large response arrives in chunks; the JSON is between the first and the last brace.
        let (start, end) = (body.find('{').context("JSON")?, body.rfind('}').context("JSON")?);
        let text = body.get(start..=end).unwrap_or_default();
        Ok(serde_json::from_str(text).unwrap_or_else(|_| json!({"code": 200})))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
