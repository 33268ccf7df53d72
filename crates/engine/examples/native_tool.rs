//! Register a Rust function as a tool, and call it.
//!
//! `cargo run -p haft-engine --example native_tool`

use haft_engine::{CallOptions, Effect, Tool, ToolService};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Trip {
    /// Kilometres to go.
    distance: f64,
    /// Kilometres per hour.
    #[serde(default = "walking")]
    speed: f64,
}

#[derive(Serialize)]
struct Duration {
    hours: f64,
}

fn walking() -> f64 {
    5.0
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tools = ToolService::builder().build();

    // The schema comes from `Trip`; whatever `?` meets becomes the tool's failure.
    let trip = Tool::native("trip_time", "How long a trip takes.", |trip: Trip| async move {
        anyhow::ensure!(trip.speed > 0.0, "nobody arrives at {} km/h", trip.speed);
        Ok(Duration { hours: trip.distance / trip.speed })
    });
    println!("a model is told: {}", trip.definition());
    tools.register(trip.effect(Effect::Read).timeout_ms(1000))?;

    // Text where a number belongs is understood; a default is filled in.
    let result = tools.execute("trip_time", json!({"distance": "20"}), CallOptions::default()).await?;
    println!("it answers: {}", serde_json::to_string(&result)?);
    assert_eq!(result.data(), Some(&json!({"hours": 4.0})));

    // A failure is an answer too, in words a model can act on.
    let result = tools.execute("trip_time", json!({"speed": 0}), CallOptions::default()).await?;
    println!("it answers: {}", serde_json::to_string(&result)?);
    assert_eq!(
        result.error().map(|error| error.message().to_string()).as_deref(),
        Some("Invalid inputs: distance: is required")
    );
    Ok(())
}
