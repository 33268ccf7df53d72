//! Registers a Rust function as a tool and calls it.
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

    // The schema is generated from `Trip`; an error returned with `?` becomes the tool's failure.
    let trip = Tool::native("trip_time", "How long a trip takes.", |trip: Trip| async move {
        anyhow::ensure!(trip.speed > 0.0, "the speed must be positive, not {} km/h", trip.speed);
        Ok(Duration { hours: trip.distance / trip.speed })
    });
    println!("definition for a model: {}", trip.definition());
    tools.register(trip.effect(Effect::Read).timeout_ms(1000))?;

    // A numeric string is coerced to a number; a missing field gets its default.
    let result = tools.execute("trip_time", json!({"distance": "20"}), CallOptions::default()).await?;
    println!("result: {}", serde_json::to_string(&result)?);
    assert_eq!(result.data(), Some(&json!({"hours": 4.0})));

    // A failure is a result too, with a message that a model can act on.
    let result = tools.execute("trip_time", json!({"speed": 0}), CallOptions::default()).await?;
    println!("result: {}", serde_json::to_string(&result)?);
    assert_eq!(
        result.error().map(|error| error.message().to_string()).as_deref(),
        Some("Invalid inputs: distance: is required")
    );
    Ok(())
}
