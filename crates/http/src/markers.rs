//! Markers: placeholders for secrets while a request is filled in, later replaced by shell variables.
//!
//! No encoding changes a marker, and arguments cannot forge one because it is random.

use std::hash::{BuildHasher, RandomState};

use haft_core::SecretRef;
use haft_core::secret::SecretOwner;
use haft_core::shell::ShellPart;

/// Environment variables with a meaning to a shell, to curl or to the system.
const RESERVED: [&str; 33] = [
    "ALL_PROXY",
    "CDPATH",
    "CURL_HOME",
    "ENV",
    "EUID",
    "FTP_PROXY",
    "HOME",
    "HOSTNAME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LINENO",
    "LOGNAME",
    "MAIL",
    "NO_PROXY",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PATH",
    "PPID",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "UID",
    "USER",
];

/// The end of a marker: not a digit, so that marker 1 is no prefix of marker 10.
const END: char = 'z';

/// One marker for each secret of a tool.
pub(crate) struct Markers {
    /// The random prefix of all markers.
    start: String,
    /// The secrets and their variable names.
    secrets: Vec<(SecretRef, String)>,
}

impl Markers {
    pub(crate) fn of(secrets: &[SecretRef]) -> Self {
        let start = format!("secret{:016x}n", RandomState::new().hash_one(0_u8));
        let mut markers = Self { start, secrets: Vec::with_capacity(secrets.len()) };
        for secret in secrets {
            let name = markers.free(&variable_name(secret));
            markers.secrets.push((secret.clone(), name));
        }
        markers
    }

    /// The marker of a secret.
    pub(crate) fn marker(&self, secret: &SecretRef) -> String {
        let index = self.secrets.iter().position(|(known, _)| known == secret);
        index.map(|index| format!("{}{index}{END}", self.start)).unwrap_or_default()
    }

    /// The offset of the first marker.
    pub(crate) fn first_in(&self, text: &str) -> Option<usize> {
        text.find(&self.start)
    }

    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.first_in(text).is_some()
    }

    /// Splits a text into plain pieces and variables.
    pub(crate) fn pieces<'t>(&'t self, text: &'t str) -> Vec<ShellPart<'t>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(self.start.as_str()) {
            let Some((index, after_marker)) = after.split_once(END) else { break };
            let known = index.parse::<usize>().ok().and_then(|index| self.secrets.get(index));
            let Some((_, variable)) = known else { break };
            if !before.is_empty() {
                pieces.push(ShellPart::Plain(before));
            }
            pieces.push(ShellPart::Variable(variable));
            rest = after_marker;
        }
        if !rest.is_empty() {
            pieces.push(ShellPart::Plain(rest));
        }
        pieces
    }

    /// The secret of a variable.
    pub(crate) fn secret_of(&self, variable: &str) -> Option<&SecretRef> {
        self.secrets.iter().find(|(_, known)| known == variable).map(|(secret, _)| secret)
    }

    /// A variable name that no secret uses.
    pub(crate) fn free(&self, preferred: &str) -> String {
        let is_free = |name: &String| self.secret_of(name).is_none();
        let numbered = (2..).map(|number| format!("{preferred}_{number}"));
        let free = std::iter::once(preferred.to_owned()).chain(numbered).find(is_free);
        free.unwrap_or_else(|| preferred.to_owned())
    }
}

/// The variable name of a secret: in capitals, and never a reserved one.
fn variable_name(secret: &SecretRef) -> String {
    let upper = secret.name.to_ascii_uppercase().replace('-', "_");
    let name = match secret.owner {
        SecretOwner::Space => upper,
        SecretOwner::Caller => format!("MY_{upper}"),
    };
    if RESERVED.contains(&name.as_str()) {
        format!("SECRET_{name}")
    } else if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(owner: SecretOwner, name: &str) -> SecretRef {
        SecretRef { owner, name: name.to_owned() }
    }

    #[test]
    fn variable_names_are_unique_and_not_reserved() {
        let own = |name: &str| secret(SecretOwner::Space, name);
        let secrets = [
            own("weather_key"),
            own("weather-key"),
            own("path"),
            own("2nd"),
            secret(SecretOwner::Caller, "weather_key"),
        ];
        let markers = Markers::of(&secrets);
        let names: Vec<&str> = markers.secrets.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["WEATHER_KEY", "WEATHER_KEY_2", "SECRET_PATH", "_2ND", "MY_WEATHER_KEY"]);
        assert_eq!((markers.free("PLAIN"), markers.free("_2ND")), ("PLAIN".to_owned(), "_2ND_2".to_owned()));
    }

    #[test]
    fn only_own_markers_are_recognized() {
        let secrets: Vec<SecretRef> =
            (0..12).map(|number| secret(SecretOwner::Space, &format!("k{number}"))).collect();
        let markers = Markers::of(&secrets);
        let (one, eleven) = (markers.marker(&secrets[1]), markers.marker(&secrets[11]));
        let text = format!("a{one}{eleven}b");
        let expected = [
            ShellPart::Plain("a"),
            ShellPart::Variable("K1"),
            ShellPart::Variable("K11"),
            ShellPart::Plain("b"),
        ];
        assert_eq!(markers.pieces(&text), expected);
        assert_eq!((markers.first_in(&text), markers.are_in("secret0n1z")), (Some(1), false));
        let odd = format!("{}99z", markers.start);
        assert_eq!(markers.pieces(&odd), [ShellPart::Plain(odd.as_str())]);
        assert_ne!(Markers::of(&secrets).start, markers.start, "markers are unpredictable");
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
