//! Events as they stand in a `text/event-stream`.

use haft_core::SpaceId;
use serde::Serialize;
use serde_json::json;

use super::Place;

/// So many milliseconds a client waits before it comes again.
const RETRY: u64 = 2000;

/// What is sent when nothing happened, so that everyone in between knows that both are still there.
pub(super) const STILL_THERE: &[u8] = b":\n\n";

/// Writes one event. JSON has no line breaks of its own, so it is one line of data.
pub(super) fn write(
    out: &mut Vec<u8>,
    id: Option<Place>,
    name: &str,
    data: &impl Serialize,
) -> Result<(), serde_json::Error> {
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    serde_json::to_writer(&mut *out, data)?;
    out.extend_from_slice(b"\n\n");
    Ok(())
}

/// The first thing sent. Its id is where the client stands: whoever comes back with it misses nothing.
pub(super) fn ready(place: Place, space: SpaceId) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = format!("retry: {RETRY}\n").into_bytes();
    write(&mut out, Some(place), "ready", &json!({"type": "ready", "spaceId": space}))?;
    Ok(out)
}

/// The last thing sent to who is too slow: so many events were missed.
pub(super) fn dropped(out: &mut Vec<u8>, missed: u64) -> Result<(), serde_json::Error> {
    write(out, None, "dropped", &json!({"type": "dropped", "missed": missed}))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_event_is_a_block_whatever_is_in_it() {
        let place = |change| Place { change, task: None };
        let written = |id: Option<Place>, data: &Value| {
            let mut out = Vec::new();
            write(&mut out, id, "tool.updated", data).expect("written");
            String::from_utf8(out).expect("text")
        };
        let lines = json!({"name": "two\nlines"});
        assert_eq!(
            written(Some(place(7)), &lines),
            "id: 7\nevent: tool.updated\ndata: {\"name\":\"two\\nlines\"}\n\n"
        );
        assert_eq!(written(None, &json!(1)), "event: tool.updated\ndata: 1\n\n");
        let first = ready(place(3), SpaceId::from(uuid::Uuid::nil())).expect("written");
        assert!(first.starts_with(b"retry: 2000\nid: 3\nevent: ready\ndata: {"));
    }
}
