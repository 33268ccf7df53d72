//! Runs every `sh` block of the READMEs and guides against a fresh server.
//!
//! The blocks of one file run in order in one `bash -eu` session, in a directory that holds `examples/`. A block that
//! cannot run here has a line `<!-- not run: REASON -->` above its fence.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use haft_testkit::{FakeDialect, HaftProcess, ModelReply, ModelServer, Upstream, json_reply};
use serde_json::json;

use crate::HAFT;

/// The server and the API that documents name; both are replaced by those of the test.
const DOCUMENTED_SERVER: &str = "http://127.0.0.1:7420";
const DOCUMENTED_API: &str = "https://api.example.com";

/// A file's commands may take this long on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// One `sh` block, with the line of its fence.
struct Block {
    line: usize,
    commands: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

/// The blocks of a Markdown file that can run.
fn runnable_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut is_excluded = false;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(fence) = line.trim_start().strip_prefix("```") else {
            if !line.trim().is_empty() {
                is_excluded = line.trim_start().starts_with("<!-- not run: ");
            }
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let body = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
        let body: Vec<&str> = body.map(|line| line.get(indent..).unwrap_or_default()).collect();
        if fence.trim() == "sh" && !is_excluded {
            blocks.push(Block { line: index + 1, commands: body.join("\n") });
        }
        is_excluded = false;
    }
    blocks
}

/// A bash script that names each block on its standard error before it runs.
fn script(blocks: &[Block], server: &str, upstream: &str) -> String {
    let mut script = String::from("set -eu\nshopt -s expand_aliases\n");
    for Block { line, commands } in blocks {
        script.push_str(&format!("echo '-- block at line {line}' >&2\n{commands}\n"));
    }
    script.replace(DOCUMENTED_SERVER, server).replace(DOCUMENTED_API, upstream)
}

async fn run_file(name: &str) {
    let text = std::fs::read_to_string(root().join(name)).expect("a file of the repository");
    let blocks = runnable_blocks(&text);
    if blocks.is_empty() {
        return;
    }
    let upstream = Upstream::start(|_| {
        json_reply(
            200,
            &json!({
                "id": 42, "name": "Rex", "city": "Oslo", "temperature": 21.5, "status": "done",
                "url": "https://api.example.com/jobs/42",
            }),
        )
    })
    .await;
    let models = ModelServer::start(async |_| ModelReply::says("It is 21.5 °C in Oslo.")).await;
    let base = models.base(FakeDialect::Openai);
    let settings = [
        ("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8"),
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", base.as_str()),
    ];
    let server = HaftProcess::start(HAFT, &["serve"], &settings).await;
    let token = server.printed.iter().find_map(|line| line.strip_prefix("token: ")).expect("a token");

    let directory = std::env::temp_dir().join(format!("haft-documented-{}", uuid::Uuid::new_v4()));
    let examples = directory.join("examples");
    std::fs::create_dir_all(&examples).expect("a directory");
    for entry in std::fs::read_dir(root().join("examples")).expect("the examples") {
        let entry = entry.expect("an example");
        std::fs::copy(entry.path(), examples.join(entry.file_name())).expect("a copy");
    }
    let binaries = Path::new(HAFT).parent().expect("a directory").display();
    let path = format!("{binaries}:{}", std::env::var("PATH").expect("a path"));
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["-c", &script(&blocks, &server.url, &upstream.url(""))]).current_dir(&directory);
    bash.env_clear().envs([("PATH", path.as_str()), ("HAFT_TOKEN", token), ("HAFT_URL", &server.url)]);
    bash.env("HOME", &directory).env("LANG", "C.UTF-8");
    bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(TIMEOUT, bash.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{name}: not over within {TIMEOUT:?}")).expect("bash runs");
    assert!(
        output.status.success(),
        "{name}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    std::fs::remove_dir_all(&directory).expect("the directory is removed");
}

#[tokio::test]
async fn commands_of_the_readmes_run_as_they_stand() {
    for name in ["README.md", "README.zh-CN.md"] {
        run_file(name).await;
    }
}

#[tokio::test]
async fn commands_of_the_guides_run_as_they_stand() {
    let guides = std::fs::read_dir(root().join("docs/guide")).expect("the guides");
    let mut names: Vec<String> = guides
        .map(|guide| guide.expect("a guide").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    for name in names {
        run_file(&format!("docs/guide/{name}")).await;
    }
}

#[test]
fn blocks_are_found_with_their_indent_and_exclusions() {
    let text = "Text\n\n```sh\none\ntwo\n```\n\n<!-- not run: it waits -->\n```sh\nthree\n```\n\n- item\n\n  ```sh\n  four\n  ```\n\n```json\n{}\n```\n";
    let blocks = runnable_blocks(text);
    let found: Vec<(usize, &str)> =
        blocks.iter().map(|block| (block.line, block.commands.as_str())).collect();
    assert_eq!(found, [(3, "one\ntwo"), (15, "four")]);
}
