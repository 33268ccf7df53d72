//! Exit codes: what a shell script can tell from how a command ended. The table is in `haft call --help`.

use haft_core::ErrorKind;

/// Haft itself could not do what was asked.
pub(crate) const FAILURE: u8 = 1;

/// The code of each kind of failure.
pub(crate) fn code(kind: ErrorKind) -> u8 {
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
