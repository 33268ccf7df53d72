//! Markers: texts that stand where secrets belong while a request is filled in, and become shell variables.
//!
//! A marker has nothing in it that any encoding changes, and nobody who gives arguments can know it.

use std::hash::{BuildHasher, RandomState};

use haft_core::SecretRef;
use haft_core::secret::SecretOwner;
use haft_core::shell::Piece;

/// Variables that mean something to a shell, to curl or to the system already.
const TAKEN: [&str; 33] = [
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

/// What ends a marker: no digit, so that the first is not taken for the tenth.
const END: char = 'z';

/// One marker for each secret of a tool.
pub(crate) struct Markers {
    /// What every marker begins with.
    start: String,
    /// Each with the name of its variable.
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

    /// What stands for a secret.
    pub(crate) fn marker(&self, secret: &SecretRef) -> String {
        let place = self.secrets.iter().position(|(known, _)| known == secret);
        place.map(|place| format!("{}{place}{END}", self.start)).unwrap_or_default()
    }

    /// Where the first one stands.
    pub(crate) fn first_in(&self, text: &str) -> Option<usize> {
        text.find(&self.start)
    }

    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.first_in(text).is_some()
    }

    /// A text with variables in the place of its markers.
    pub(crate) fn pieces<'t>(&'t self, text: &'t str) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(self.start.as_str()) {
            let Some((place, behind)) = after.split_once(END) else { break };
            let known = place.parse::<usize>().ok().and_then(|place| self.secrets.get(place));
            let Some((_, variable)) = known else { break };
            if !before.is_empty() {
                pieces.push(Piece::Plain(before));
            }
            pieces.push(Piece::Variable(variable));
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Plain(rest));
        }
        pieces
    }

    /// The secret of a variable.
    pub(crate) fn secret_of(&self, variable: &str) -> Option<&SecretRef> {
        self.secrets.iter().find(|(_, known)| known == variable).map(|(secret, _)| secret)
    }

    /// A name for a variable that no secret has.
    pub(crate) fn free(&self, wanted: &str) -> String {
        let is_free = |name: &String| self.secret_of(name).is_none();
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let free = std::iter::once(wanted.to_owned()).chain(numbered).find(is_free);
        free.unwrap_or_else(|| wanted.to_owned())
    }
}

/// The name of a secret as shells write names: in capitals, and never one that means something else.
fn variable_name(secret: &SecretRef) -> String {
    let upper = secret.name.to_ascii_uppercase().replace('-', "_");
    let name = match secret.owner {
        SecretOwner::Space => upper,
        SecretOwner::Caller => format!("MY_{upper}"),
    };
    if TAKEN.contains(&name.as_str()) {
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
    fn variables_have_names_of_their_own_that_mean_nothing_else() {
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
    fn markers_are_found_again_and_nothing_else_is_taken_for_one() {
        let secrets: Vec<SecretRef> =
            (0..12).map(|number| secret(SecretOwner::Space, &format!("k{number}"))).collect();
        let markers = Markers::of(&secrets);
        let (one, eleven) = (markers.marker(&secrets[1]), markers.marker(&secrets[11]));
        let text = format!("a{one}{eleven}b");
        let expected = [Piece::Plain("a"), Piece::Variable("K1"), Piece::Variable("K11"), Piece::Plain("b")];
        assert_eq!(markers.pieces(&text), expected);
        assert_eq!((markers.first_in(&text), markers.are_in("secret0n1z")), (Some(1), false));
        let odd = format!("{}99z", markers.start);
        assert_eq!(markers.pieces(&odd), [Piece::Plain(odd.as_str())]);
        assert_ne!(Markers::of(&secrets).start, markers.start, "nobody can know the next");
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
