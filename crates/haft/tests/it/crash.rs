//! Death at every step: servers are killed at a place and a moment that a seed chooses, again and again, and at the
//! end nothing is lost, nothing is stuck, no write was sent twice, and each call had one key at the upstream.
//!
//! `HAFT_CRASH_DEATHS` says how many deaths, `HAFT_CRASH_SEED` which; both are printed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Place, Upstream, eventually, json_reply};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::survival::{ALONE, Settings, skipped};
use crate::tasks::{execute, make, mock, standing, taken, task};

/// Where a server dies. The last is not one of its own: it is killed when the upstream has the request.
const PLACES: [&str; 11] = [
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

/// The last gives a job to the upstream, and asks for it until it is over.
const TOOLS: [&str; 4] = ["reads", "sets", "writes", "jobs"];

/// Numbers that are the same for the same seed.
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

/// What all who take part know.
struct Stage {
    deaths: AtomicUsize,
    most: usize,
    /// Servers that run, by their number.
    live: Mutex<HashMap<usize, Client>>,
    /// Tasks that were answered with 202, and their tools.
    accepted: Mutex<BTreeMap<String, &'static str>>,
    /// The next request that the upstream gets is the last of this process; 0 for none.
    victim: AtomicU32,
    is_over: AtomicBool,
}

impl Stage {
    fn is_done(&self) -> bool {
        self.deaths.load(Ordering::Relaxed) >= self.most
    }
}

/// Starts a server again and again, each time to die somewhere.
async fn die_often(stage: Arc<Stage>, settings: Settings, number: usize, mut rng: Rng) {
    while !stage.is_done() {
        let place = PLACES[rng.below(PLACES.len())];
        let times = 1 + rng.below(3);
        let settings = match place {
            "after_send" => settings.clone(),
            place => settings.clone().with("HAFT_FAILPOINT", &format!("{place}:{times}")),
        };
        let (mut server, api): (HaftProcess, Client) = settings.start().await;
        stage.live.lock().expect("not poisoned").insert(number, api);
        if place == "after_send" {
            stage.victim.store(server.id().expect("it runs"), Ordering::SeqCst);
        }
        if place == "before_release" {
            // Runs are given back when a server stops.
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.terminate();
        }
        let died = server.ends_within(Duration::from_secs(2)).await;
        stage.live.lock().expect("not poisoned").remove(&number);
        if !died {
            server.kill().await;
        }
        stage.deaths.fetch_add(1, Ordering::Relaxed);
    }
}

/// Asks for tasks, of whichever server is there.
async fn ask_on(stage: Arc<Stage>, mut rng: Rng) {
    while !stage.is_over.load(Ordering::Relaxed) {
        let servers: Vec<Client> = stage.live.lock().expect("not poisoned").values().cloned().collect();
        if servers.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let api = &servers[rng.below(servers.len())];
        let tool = TOOLS[rng.below(TOOLS.len())];
        let path = format!("/api/tools/{tool}/execute");
        let body = json!({"options": {"mode": "async"}});
        // One that dies before it has answered has promised nothing.
        if let Some(reply) = api.try_send_json(Method::POST, &path, &body).await
            && reply.status == 202
        {
            stage.accepted.lock().expect("not poisoned").insert(taken(&reply), tool);
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

fn tool(name: &str, method: &str, url: &str) -> Value {
    json!({"name": name, "description": "d", "url": format!("{url}{name}"), "method": method, "retryDelay": 1})
}

/// How often each call of a tool is on record.
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
async fn nothing_is_lost_and_no_write_is_sent_twice() {
    let _alone = ALONE.lock().await;
    let most = usize::try_from(variable("HAFT_CRASH_DEATHS").unwrap_or(150)).expect("a number");
    let seed = variable("HAFT_CRASH_SEED").unwrap_or_else(|| u64::from(Uuid::new_v4().as_fields().0) + 1);
    println!("crash: seed {seed}, {most} deaths");
    let place = Place::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "400").with("HAFT_TASK_DEATHS", "100000");
    let stage = Arc::new(Stage {
        deaths: AtomicUsize::new(0),
        most,
        live: Mutex::default(),
        accepted: Mutex::default(),
        victim: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
    });
    let upstream = {
        let stage = stage.clone();
        let looks = Arc::new(AtomicUsize::new(0));
        Upstream::start_async(move |seen| {
            let looks = looks.clone();
            let stage = stage.clone();
            async move {
                let victim = stage.victim.swap(0, Ordering::SeqCst);
                if victim != 0 {
                    let _ = std::process::Command::new("kill").args(["-9", &victim.to_string()]).status();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                match (seen.target.as_str(), seen.header("idempotency-key")) {
                    ("/jobs", Some(key)) => json_reply(202, &json!({"id": key})),
                    (target, None) if target.starts_with("/jobs/") => {
                        let is_over = looks.fetch_add(1, Ordering::Relaxed) % 2 == 1;
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
    let dying: Vec<_> = (0..servers)
        .map(|number| {
            let rng = Rng(seed.wrapping_mul(31).wrapping_add(number as u64 + 1));
            tokio::spawn(die_often(stage.clone(), settings.clone(), number, rng))
        })
        .collect();
    let asking = tokio::spawn(ask_on(stage.clone(), Rng(seed)));
    for dying in dying {
        dying.await.expect("it ends");
    }
    stage.is_over.store(true, Ordering::Relaxed);
    asking.await.expect("it ends");
    let (_server, api) = settings.start().await;
    let accepted = stage.accepted.lock().expect("not poisoned").clone();
    assert!(accepted.len() > most / 4, "only {} tasks were accepted", accepted.len());
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (id, tool) in &accepted {
        let ended = async || task(&api, id).await["endedAt"].is_string();
        let mut patience = 600;
        while !ended().await {
            patience -= 1;
            assert!(patience > 0, "seed {seed}: {} is stuck", task(&api, id).await);
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
    // However often it was looked for, in however many processes: what came in the end.
    for (call, times) in rows_of(&api, "jobs").await {
        assert_eq!(times, 1, "seed {seed}: {call} is on record {times} times");
    }
    println!("crash: seed {seed}, {most} deaths, {} tasks: {counts:?}: nothing lost", accepted.len());
}

#[tokio::test]
async fn a_task_that_kills_its_worker_each_time_is_a_dead_letter() {
    let place = Place::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "400");
    let (server, api) = settings.start().await;
    make(&api, mock("deadly", json!({"effect": "read"}))).await;
    let delayed = execute(&api, "deadly", json!({"options": {"delay": 1}})).await;
    let id = taken(&delayed);
    server.kill().await;
    let deadly = settings.clone().with("HAFT_FAILPOINT", "before_send");
    for _ in 0..3 {
        let (mut server, _) = deadly.start().await;
        assert!(server.ends_within(Duration::from_secs(20)).await, "it dies of it");
    }
    let (_server, api) = deadly.start().await;
    let dead = standing(&api, &id, "failed").await;
    assert_eq!((&dead["deadLetter"], &dead["deaths"]), (&json!(true), &json!(3)));
    let said = dead["result"]["error"]["message"].as_str().expect("words").to_owned();
    assert!(said.contains("each of the 3 processes"), "{said}");
}

fn signal(server: &HaftProcess, name: &str) {
    let id = server.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args([name, &id]).status();
    assert!(sent.expect("kill runs").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_slept_past_its_lease_is_refused() {
    let place = Place::new();
    if !place.is_postgres() {
        return skipped("on SQLite there is one process, and its leases have no end");
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
        let id = taken(&execute(&api, name, json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || upstream.seen().len() > before).await;
        signal(&sleeper, "-STOP");
        let (other, awake) = settings.start().await;
        let ended = standing(&awake, &id, ends).await;
        assert_eq!((&ended["claims"], &ended["deaths"]), (&json!(2), &json!(1)));
        signal(&sleeper, "-CONT");
        tokio::time::sleep(Duration::from_millis(800)).await;
        let later = task(&awake, &id).await;
        assert_eq!(
            (&later["status"], &later["endedAt"]),
            (&json!(ends), &ended["endedAt"]),
            "what came late counts for nothing"
        );
        assert_eq!(upstream.seen().len() - before, sent);
        other.terminate();
        assert_eq!(other.ended().await, Some(0));
    }
}
