//! Trace settings from the environment variables that OpenTelemetry specifies.
//!
//! No error contains a value, since URLs and headers may contain credentials.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use haft_core::Message;
use haft_server::TraceSettings;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::cli_error::{OrFail as _, failure};
use crate::messages;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const TRACES_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// The only supported protocol.
const HTTP: &str = "http/protobuf";

/// Reads the settings from variables, which `set` looks up. Returns `None` without an endpoint, or if the SDK
/// is disabled.
pub(super) fn settings(set: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<TraceSettings>> {
    if set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let Some(endpoint) = endpoint(&set)? else { return Ok(None) };
    // A variable for traces takes precedence over the one for all signals.
    let of = |traces: &'static str, all: &'static str| {
        let own = set(traces).map(|value| (traces, value));
        own.or_else(|| set(all).map(|value| (all, value)))
    };
    if let Some((name, protocol)) = of(TRACES_PROTOCOL, PROTOCOL)
        && protocol != HTTP
    {
        let message = Message::new(&messages::OTLP_PROTOCOL).with("name", name);
        return Err(failure(message.with("protocol", HTTP)));
    }
    let malformed = |name: &str| Message::new(&messages::OTLP_MALFORMED).with("name", name);
    let headers = match of(TRACES_HEADERS, HEADERS) {
        Some((name, text)) => headers(&text).or_fail(|| malformed(name))?,
        None => HeaderMap::new(),
    };
    let attributes = match set(ATTRIBUTES) {
        Some(text) => pairs(&text).or_fail(|| malformed(ATTRIBUTES))?,
        None => Vec::new(),
    };
    let named = attributes.iter().find(|(name, _)| name == "service.name").map(|(_, value)| value.clone());
    let service = set("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| "haft".to_owned());
    Ok(Some(TraceSettings { endpoint, headers, service, attributes }))
}

/// Returns the endpoint for traces unchanged, or else the path `/v1/traces` below the general endpoint.
fn endpoint(set: &impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Url>> {
    let (name, written) = match (set(TRACES_ENDPOINT), set(ENDPOINT)) {
        (Some(whole), _) => (TRACES_ENDPOINT, whole),
        (None, Some(base)) => (ENDPOINT, base),
        (None, None) => return Ok(None),
    };
    let url = Url::parse(&written).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let mut url = url.or_fail(|| Message::new(&messages::OTLP_ENDPOINT).with("name", name))?;
    if !url.username().is_empty() || url.password().is_some() {
        let message = Message::new(&messages::OTLP_CREDENTIALS).with("name", name);
        return Err(failure(message.with("headers", HEADERS)));
    }
    if name == ENDPOINT {
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    url.set_fragment(None);
    Ok(Some(url))
}

fn headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text)? {
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    }
    Some(headers)
}

/// Parses `name=value,name2=value2` with percent-encoded values. Returns `None` if the text is malformed.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let written = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = written.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> anyhow::Result<Option<TraceSettings>> {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name);
        settings(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn good(set: &[(&str, &str)]) -> TraceSettings {
        read(set).expect("good settings").expect("an address")
    }

    #[test]
    fn traces_are_off_without_an_endpoint() {
        assert!(read(&[]).expect("good").is_none());
        assert!(read(&[("OTEL_SERVICE_NAME", "x"), (HEADERS, "a=b")]).expect("good").is_none());
        for value in ["true", "TRUE"] {
            let off = [(ENDPOINT, "http://collector:4318"), ("OTEL_SDK_DISABLED", value)];
            assert!(read(&off).expect("good").is_none(), "{value}");
        }
        assert!(read(&[(ENDPOINT, "http://c"), ("OTEL_SDK_DISABLED", "false")]).expect("good").is_some());
    }

    #[test]
    fn general_endpoint_gets_a_path_and_the_traces_endpoint_does_not() {
        for (set, expected) in [
            (vec![(ENDPOINT, "http://collector:4318")], "http://collector:4318/v1/traces"),
            (vec![(ENDPOINT, "https://otel.example/in/")], "https://otel.example/in/v1/traces"),
            (vec![(ENDPOINT, "https://otel.example/in?key=1#x")], "https://otel.example/in/v1/traces?key=1"),
            (vec![(TRACES_ENDPOINT, "http://collector:4318/here")], "http://collector:4318/here"),
            (vec![(ENDPOINT, "http://a"), (TRACES_ENDPOINT, "http://b")], "http://b/"),
        ] {
            assert_eq!(good(&set).endpoint.as_str(), expected, "{set:?}");
        }
    }

    #[test]
    fn headers_are_decoded_and_hidden() {
        let text = " authorization = Bearer%20a%2Cb%3D , x-tenant=7,,";
        let settings = good(&[(ENDPOINT, "http://c"), (HEADERS, text)]);
        assert_eq!(settings.headers["authorization"], "Bearer a,b=");
        assert_eq!(settings.headers["x-tenant"], "7");
        assert!(settings.headers.values().all(HeaderValue::is_sensitive));
        let own = good(&[(ENDPOINT, "http://c"), (HEADERS, "a=1"), (TRACES_HEADERS, "b=2")]);
        assert_eq!((own.headers.get("a"), own.headers.len()), (None, 1));
    }

    #[test]
    fn service_name_comes_from_variable_then_attributes_then_default() {
        let named = |set: &[(&str, &str)]| {
            let set: Vec<(&str, &str)> = [(ENDPOINT, "http://c")].into_iter().chain(set.to_vec()).collect();
            good(&set).service
        };
        assert_eq!(named(&[]), "haft");
        let attributes = (ATTRIBUTES, "deployment.environment.name=prod,service.name=tools%20of%20ours");
        assert_eq!(named(&[attributes]), "tools of ours");
        assert_eq!(named(&[attributes, ("OTEL_SERVICE_NAME", "x")]), "x");
    }

    #[test]
    fn error_names_the_variable_and_hides_its_value() {
        let collector = (ENDPOINT, "http://collector:4318");
        for (set, expected) in [
            (vec![(ENDPOINT, "canary:4318")], "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as"),
            (vec![(ENDPOINT, "canary")], "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as"),
            (vec![(ENDPOINT, "unix:///canary")], "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as"),
            (vec![(TRACES_ENDPOINT, "http://")], "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a URL"),
            (vec![(ENDPOINT, "http://me:canary@c")], "put credentials into OTEL_EXPORTER_OTLP_HEADERS"),
            (vec![collector, (HEADERS, "canary")], "OTEL_EXPORTER_OTLP_HEADERS is not of the form"),
            (vec![collector, (HEADERS, "=canary")], "OTEL_EXPORTER_OTLP_HEADERS is not of the form"),
            (vec![collector, (HEADERS, "a b=canary")], "OTEL_EXPORTER_OTLP_HEADERS is not of the form"),
            (vec![collector, (HEADERS, "a=canary%0a")], "OTEL_EXPORTER_OTLP_HEADERS is not of the form"),
            (vec![collector, (HEADERS, "a=canary%ff")], "OTEL_EXPORTER_OTLP_HEADERS is not of the form"),
            (vec![collector, (ATTRIBUTES, "canary")], "OTEL_RESOURCE_ATTRIBUTES is not of the form"),
            (vec![collector, (PROTOCOL, "grpc")], "haft sends traces as http/protobuf only"),
        ] {
            let error = format!("{:#}", read(&set).err().expect("refused"));
            assert!(error.contains(expected) && !error.contains("canary"), "{error}");
        }
    }
}
