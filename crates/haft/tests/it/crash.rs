//! Crash test: servers are killed repeatedly at random failpoints. At the end, no task is lost or stuck, no
//! write was sent twice, and each call used one idempotency key.
//!
//! `HAFT_CRASH_DEATHS` sets the number of crashes, `HAFT_CRASH_SEED` the random seed. Both are printed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestStorage, Upstream, eventually, json_reply};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::survival::{ALONE, Settings, skipped};
use crate::tasks::{accepted_task, execute, make, mock, task, wait_for_status};

/// The points at which a server crashes. `after_send` is not a failpoint: the upstream kills the server.
const CRASH_POINTS: [&str; 11] = [
    "accepted",
    "stored",
    "claimed",
    "reserved",
    "before_send",
    "after_reply",
    "before_commit",
    "after_commit",
    "before_release",
    "suspended",
    "after_send",
];

/// The tools of the test. `jobs` makes deferred calls, which are polled.
const TOOLS: [&str; 4] = ["reads", "sets", "writes", "jobs"];

/// A deterministic random number generator (xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).expect("small")
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// State shared by the servers, the clients and the upstream.
struct Shared {
    crashes: AtomicUsize,
    max_crashes: usize,
    /// Running servers, by number.
    live: Mutex<HashMap<usize, Client>>,
    /// The ids of tasks that were accepted with 202, and their tools.
    accepted: Mutex<BTreeMap<String, &'static str>>,
    /// The id of the process that the upstream kills at its next request, or 0.
    victim: AtomicU32,
    is_over: AtomicBool,
}

impl Shared {
    fn is_done(&self) -> bool {
        self.crashes.load(Ordering::Relaxed) >= self.max_crashes
    }
}

/// Starts servers in a loop. Each one crashes at a random point.
async fn crash_servers(shared: Arc<Shared>, settings: Settings, number: usize, mut rng: Rng) {
    while !shared.is_done() {
        let point = CRASH_POINTS[rng.below(CRASH_POINTS.len())];
        let times = 1 + rng.below(3);
        let settings = match point {
            "after_send" => settings.clone(),
            point => settings.clone().with("HAFT_FAILPOINT", &format!("{point}:{times}")),
        };
        let (mut server, api): (HaftProcess, Client) = settings.start().await;
        shared.live.lock().expect("not poisoned").insert(number, api);
        if point == "after_send" {
            shared.victim.store(server.id().expect("it runs"), Ordering::SeqCst);
        }
        if point == "before_release" {
            // A server releases its runs when it stops.
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.terminate();
        }
        let has_ended = server.ends_within(Duration::from_secs(2)).await;
        shared.live.lock().expect("not poisoned").remove(&number);
        if !has_ended {
            server.kill().await;
        }
        shared.crashes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Starts tasks in a loop, on random running servers.
async fn start_tasks(shared: Arc<Shared>, mut rng: Rng) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let servers: Vec<Client> = shared.live.lock().expect("not poisoned").values().cloned().collect();
        if servers.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let api = &servers[rng.below(servers.len())];
        let tool = TOOLS[rng.below(TOOLS.len())];
        let path = format!("/api/tools/{tool}/execute");
        let body = json!({"options": {"mode": "async"}});
        // A task counts as accepted only if the server responded before it crashed.
        if let Some(reply) = api.try_send_json(Method::POST, &path, &body).await
            && reply.status == 202
        {
            shared.accepted.lock().expect("not poisoned").insert(accepted_task(&reply), tool);
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

fn tool(name: &str, method: &str, url: &str) -> Value {
    json!({"name": name, "description": "d", "url": format!("{url}{name}"), "method": method, "retryDelay": 1})
}

/// Returns the number of log rows for each call of a tool.
async fn rows_of(api: &Client, tool: &str) -> HashMap<String, usize> {
    let (mut rows, mut cursor) = (HashMap::new(), String::new());
    loop {
        let page = api.get(&format!("/api/tool-calls?tool={tool}&limit=100{cursor}")).await;
        for row in page.data()["items"].as_array().expect("rows") {
            *rows.entry(row["callId"].as_str().expect("an id").to_owned()).or_default() += 1;
        }
        match page.data()["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return rows,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_task_is_lost_and_no_write_is_sent_twice() {
    let _alone = ALONE.lock().await;
    let max_crashes = usize::try_from(variable("HAFT_CRASH_DEATHS").unwrap_or(150)).expect("a number");
    let seed = variable("HAFT_CRASH_SEED").unwrap_or_else(|| u64::from(Uuid::new_v4().as_fields().0) + 1);
    println!("crash: seed {seed}, {max_crashes} crashes");
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "400").with("HAFT_TASK_DEATHS", "100000");
    let shared = Arc::new(Shared {
        crashes: AtomicUsize::new(0),
        max_crashes,
        live: Mutex::default(),
        accepted: Mutex::default(),
        victim: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
    });
    let upstream = {
        let shared = shared.clone();
        let polls = Arc::new(AtomicUsize::new(0));
        Upstream::start_async(move |seen| {
            let polls = polls.clone();
            let shared = shared.clone();
            async move {
                let victim = shared.victim.swap(0, Ordering::SeqCst);
                if victim != 0 {
                    let _ = std::process::Command::new("kill").args(["-9", &victim.to_string()]).status();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                match (seen.target.as_str(), seen.header("idempotency-key")) {
                    ("/jobs", Some(key)) => json_reply(202, &json!({"id": key})),
                    (target, None) if target.starts_with("/jobs/") => {
                        let is_over = polls.fetch_add(1, Ordering::Relaxed) % 2 == 1;
                        json_reply(200, &json!({"status": if is_over { "done" } else { "running" }}))
                    }
                    _ => json_reply(200, &json!({"ok": true})),
                }
            }
        })
        .await
    };
    let url = format!("http://{}/", upstream.address);
    let (server, api) = settings.start().await;
    for (name, method) in [("reads", "GET"), ("sets", "PUT"), ("writes", "POST")] {
        make(&api, tool(name, method, &url)).await;
    }
    let mut jobs = tool("jobs", "POST", &url);
    jobs["config"] = json!({"poll": {"url": "/jobs/{{id}}", "status": "status", "interval": 0.1}});
    make(&api, jobs).await;
    server.kill().await;
    let servers = if place.is_postgres() { 2 } else { 1 };
    let crashing: Vec<_> = (0..servers)
        .map(|number| {
            let rng = Rng(seed.wrapping_mul(31).wrapping_add(number as u64 + 1));
            tokio::spawn(crash_servers(shared.clone(), settings.clone(), number, rng))
        })
        .collect();
    let starting = tokio::spawn(start_tasks(shared.clone(), Rng(seed)));
    for crashing in crashing {
        crashing.await.expect("it ends");
    }
    shared.is_over.store(true, Ordering::Relaxed);
    starting.await.expect("it ends");
    let (_server, api) = settings.start().await;
    let accepted = shared.accepted.lock().expect("not poisoned").clone();
    assert!(accepted.len() > max_crashes / 4, "only {} tasks were accepted", accepted.len());
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (id, tool) in &accepted {
        let ended = async || task(&api, id).await["endedAt"].is_string();
        let mut attempts_left = 600;
        while !ended().await {
            attempts_left -= 1;
            assert!(attempts_left > 0, "seed {seed}: {} is stuck", task(&api, id).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let ended = task(&api, id).await;
        let status = ended["status"].as_str().expect("a status").to_owned();
        let is_right = match *tool {
            "writes" | "jobs" => ["succeeded", "unknown"].contains(&status.as_str()),
            _ => status == "succeeded",
        };
        assert!(is_right, "seed {seed}: {ended}");
        assert_eq!(ended["result"]["success"], status == "succeeded", "seed {seed}: {ended}");
        *counts.entry((tool, status)).or_default() += 1;
    }
    let mut sent: HashMap<String, usize> = HashMap::new();
    for seen in upstream.seen().iter().filter(|seen| seen.method != "GET") {
        let key = seen.header("idempotency-key").expect("a key").to_owned();
        *sent.entry(format!("{} {key}", seen.method)).or_default() += 1;
    }
    let twice: Vec<_> = sent.iter().filter(|(key, times)| key.starts_with("POST") && **times > 1).collect();
    assert!(twice.is_empty(), "seed {seed}: writes were sent twice: {twice:?}");
    for (id, tool) in accepted.iter().filter(|(_, tool)| ["writes", "jobs"].contains(tool)) {
        let times = sent.get(&format!("POST {id}")).copied().unwrap_or_default();
        let status = task(&api, id).await["status"].clone();
        assert!(status != "succeeded" || times == 1, "seed {seed}: {tool} {id} was sent {times} times");
    }
    // A deferred call is logged once, although several processes polled for its result.
    for (call, times) in rows_of(&api, "jobs").await {
        assert_eq!(times, 1, "seed {seed}: {call} is logged {times} times");
    }
    println!("crash: seed {seed}, {max_crashes} crashes, {} tasks: {counts:?}: nothing lost", accepted.len());
}

#[tokio::test]
async fn task_that_always_crashes_its_worker_becomes_dead() {
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "400");
    let (server, api) = settings.start().await;
    make(&api, mock("deadly", json!({"effect": "read"}))).await;
    let delayed = execute(&api, "deadly", json!({"options": {"delay": 1}})).await;
    let id = accepted_task(&delayed);
    server.kill().await;
    let deadly = settings.clone().with("HAFT_FAILPOINT", "before_send");
    for _ in 0..3 {
        let (mut server, _) = deadly.start().await;
        assert!(server.ends_within(Duration::from_secs(20)).await, "the server crashes");
    }
    let (_server, api) = deadly.start().await;
    let dead = wait_for_status(&api, &id, "failed").await;
    assert_eq!((&dead["deadLetter"], &dead["deaths"]), (&json!(true), &json!(3)));
    let message = dead["result"]["error"]["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("All 3 processes"), "{message}");
}

fn signal(server: &HaftProcess, name: &str) {
    let id = server.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args([name, &id]).status();
    assert!(sent.expect("kill runs").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_that_slept_past_its_lease_is_rejected() {
    let place = TestStorage::new();
    if !place.is_postgres() {
        return skipped("SQLite allows one process only, whose leases do not expire");
    }
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "600");
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(300)).await;
        json_reply(200, &json!({"ok": true}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    let (sleeper, api) = settings.start().await;
    for (name, method) in [("reads", "GET"), ("writes", "POST")] {
        make(&api, tool(name, method, &url)).await;
    }
    for (name, ends, sent) in [("reads", "succeeded", 2), ("writes", "unknown", 1)] {
        let before = upstream.seen().len();
        let id = accepted_task(&execute(&api, name, json!({"options": {"mode": "async"}})).await);
        eventually("the request is sent", async || upstream.seen().len() > before).await;
        signal(&sleeper, "-STOP");
        let (other, awake) = settings.start().await;
        let ended = wait_for_status(&awake, &id, ends).await;
        assert_eq!((&ended["claims"], &ended["deaths"]), (&json!(2), &json!(1)));
        signal(&sleeper, "-CONT");
        tokio::time::sleep(Duration::from_millis(800)).await;
        let later = task(&awake, &id).await;
        assert_eq!(
            (&later["status"], &later["endedAt"]),
            (&json!(ends), &ended["endedAt"]),
            "the late result is discarded"
        );
        assert_eq!(upstream.seen().len() - before, sent);
        other.terminate();
        assert_eq!(other.ended().await, Some(0));
    }
}
