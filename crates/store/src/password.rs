//! Password hashing with Argon2id on blocking threads. Verification takes equally long for unknown names.

use argon2::{Argon2, PasswordHash, PasswordHasher as _, PasswordVerifier as _};
use haft_core::{CallError, ErrorKind, Message, Violation};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Store;

haft_core::templates! {
    BAD_PASSWORD = "store.badPassword",
        "must have {least} to {most} bytes",
        "长度必须为 {least} 到 {most} 字节";
    NOT_HASHED = "store.passwordNotHashed",
        "The password could not be hashed or verified.",
        "无法处理密码";
}

const MIN_LENGTH: usize = 8;
const MAX_LENGTH: usize = 1024;

/// Hash that is verified if the user does not exist. No password matches it.
const DECOY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Store {
    /// Hashes a password to a PHC string.
    pub(crate) async fn hash_password(&self, password: &SecretString) -> Result<String, CallError> {
        if !(MIN_LENGTH..=MAX_LENGTH).contains(&password.expose_secret().len()) {
            let message = Message::new(&BAD_PASSWORD).with("least", MIN_LENGTH).with("most", MAX_LENGTH);
            return Err(CallError::invalid(vec![Violation::new("password", message)]));
        }
        let password = password.clone();
        self.off_thread(move || {
            let hash = Argon2::default().hash_password(password.expose_secret().as_bytes());
            hash.map(|hash: PasswordHash| hash.to_string()).map_err(|error| failed(error.to_string()))
        })
        .await?
    }

    /// Verifies a password. Without a hash it returns false after the same time.
    pub(crate) async fn is_password(
        &self,
        password: &SecretString,
        hash: Option<String>,
    ) -> Result<bool, CallError> {
        if password.expose_secret().len() > MAX_LENGTH {
            return Ok(false);
        }
        let password = password.clone();
        self.off_thread(move || {
            let expected = hash.as_deref().unwrap_or(DECOY);
            Argon2::default().verify_password(password.expose_secret().as_bytes(), expected).is_ok()
        })
        .await
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let _permit = self.hashing().acquire().await.map_err(|error| failed(error.to_string()))?;
        tokio::task::spawn_blocking(work).await.map_err(|error| failed(error.to_string()))
    }
}

fn failed(cause: String) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&NOT_HASHED)).caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoy_has_the_cost_of_a_real_hash() {
        let decoy = PasswordHash::new(DECOY).expect("a PHC string");
        let real: PasswordHash = Argon2::default().hash_password(b"hunter42").expect("a hash");
        assert_eq!(decoy.params.to_string(), real.params.to_string());
        assert_eq!((decoy.algorithm, decoy.version), (real.algorithm, real.version));
    }
}
