//! A flood of tasks in one space does not delay the tasks of another space.

use haft_testkit::{Client, Upstream, json_reply};
use serde_json::json;
use tokio::sync::watch;

use crate::http_tools::start;
use crate::tasks::{accepted_task, execute, make, wait_for_status};

const FLOOD: usize = 300;

/// Number of tasks that wait in the other space behind the flood.
const FEW: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_one_space_does_not_starve_another_space() {
    let (gate, opened) = watch::channel(false);
    let upstream = Upstream::start_async(move |seen| {
        let mut opened = opened.clone();
        async move {
            if seen.target != "/alone" {
                let _ = opened.wait_for(|is_open| *is_open).await;
            }
            json_reply(200, &json!({}))
        }
    })
    .await;
    let (server, flooding) = start(&[("HAFT_TASK_PLACES", "4")]).await;
    let space = flooding.post("/api/spaces", &json!({"name": "quiet"})).await.data()["id"].clone();
    let token = flooding.post("/api/tokens", &json!({"name": "quiet", "spaceId": space})).await;
    let quiet = Client::new(&server.url, token.data()["token"].as_str().expect("a token"));
    for (api, name) in [(&flooding, "flood"), (&quiet, "alone"), (&quiet, "few")] {
        make(api, json!({"name": name, "description": "d", "url": upstream.url(&format!("/{name}"))})).await;
    }
    let ask = async |api: &Client, tool: &str| {
        accepted_task(&execute(api, tool, json!({"options": {"mode": "async"}})).await)
    };
    for _ in 0..FLOOD {
        ask(&flooding, "flood").await;
    }
    // No task of the flood ends, and the other space still gets a slot.
    let alone = ask(&quiet, "alone").await;
    wait_for_status(&quiet, &alone, "succeeded").await;

    let mut last = String::new();
    for _ in 0..FEW {
        last = ask(&quiet, "few").await;
    }
    gate.send(true).expect("the upstream waits");
    wait_for_status(&quiet, &last, "succeeded").await;
    let order: Vec<String> = upstream.seen().into_iter().map(|seen| seen.target).collect();
    let is_one = |target: &String| target == "/few";
    assert_eq!(order.iter().filter(|target| is_one(target)).count(), FEW);
    let before = order.iter().rposition(is_one).expect("it was sent");
    assert!(before < FLOOD / 2, "the last of {FEW} came after {before} others");
}
