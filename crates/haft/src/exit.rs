//! Exit codes of commands. `haft call --help` lists them for scripts.

use haft_core::ErrorKind;

use crate::cli_error::CliError;

/// The command failed for a reason without a specific exit code.
pub(crate) const FAILURE: u8 = 1;

/// `haft diff` or `--exit-code` found a difference.
pub(crate) const DIFFERS: u8 = 9;

/// Returns the exit code of an error that ended a command.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<CliError>().map_or(FAILURE, |refused| of_kind(refused.kind))
}

/// Returns the exit code of a kind of failure.
pub(crate) fn of_kind(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Execution | ErrorKind::Internal => FAILURE,
        ErrorKind::Validation | ErrorKind::BadRequest => 2,
        ErrorKind::NotFound => 3,
        ErrorKind::Unauthorized
        | ErrorKind::Permission
        | ErrorKind::Denied
        | ErrorKind::ToolDisabled
        | ErrorKind::BudgetExceeded => 4,
        ErrorKind::Network
        | ErrorKind::Authentication
        | ErrorKind::Server
        | ErrorKind::RateLimit
        | ErrorKind::CircuitOpen
        | ErrorKind::ResponseTooLarge => 5,
        ErrorKind::Timeout => 6,
        ErrorKind::Overloaded | ErrorKind::Unavailable | ErrorKind::Conflict => 7,
        ErrorKind::Unknown => 8,
        ErrorKind::Cancelled => 130,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_match_the_help() {
        use ErrorKind as K;
        let table: [(u8, &[K]); 9] = [
            (1, &[K::Execution, K::Internal]),
            (2, &[K::Validation, K::BadRequest]),
            (3, &[K::NotFound]),
            (4, &[K::Unauthorized, K::Permission, K::Denied, K::ToolDisabled, K::BudgetExceeded]),
            (
                5,
                &[
                    K::Network,
                    K::Authentication,
                    K::Server,
                    K::RateLimit,
                    K::CircuitOpen,
                    K::ResponseTooLarge,
                ],
            ),
            (6, &[K::Timeout]),
            (7, &[K::Overloaded, K::Unavailable, K::Conflict]),
            (8, &[K::Unknown]),
            (130, &[K::Cancelled]),
        ];
        let rows: Vec<K> = table.iter().flat_map(|(_, kinds)| kinds.iter().copied()).collect();
        assert_eq!(rows.len(), K::ALL.len());
        for (expected, kinds) in table {
            assert!(kinds.iter().all(|kind| of_kind(*kind) == expected), "{expected}");
        }
    }
}
