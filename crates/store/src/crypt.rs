//! Encryption at rest with XChaCha20-Poly1305. The associated data binds a value to its location. For the
//! keys, see `keys.rs`.

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use haft_core::{CallError, ErrorKind, Message};
use secrecy::{ExposeSecret as _, SecretString};

use crate::credential::random;
use crate::keys::{Key, KeyRing};

haft_core::templates! {
    NOT_SEALED = "store.notSealed",
        "The secret could not be encrypted.",
        "密钥加密失败";
    NOT_OPENED = "store.notOpened",
        "The secret cannot be decrypted: its stored value was modified, or copied from another secret.",
        "密钥无法解密：数据库中的内容被改动，或不属于此处";
    UNKNOWN_KEY = "store.unknownKey",
        "The secret was encrypted with the master key {key}, which is not among the keys given. Add that key.",
        "该密钥由主密钥 {key} 加密，而提供的主密钥中没有它";
}

/// Format version: the first byte of each blob.
const FORMAT: u8 = 1;
const NONCE: usize = 24;

/// An encrypted value.
pub(crate) struct Sealed {
    pub(crate) key_id: String,
    /// Format, nonce, then ciphertext with its tag.
    pub(crate) blob: Vec<u8>,
}

/// Encrypts a value under the current key. Decryption needs the same `location`.
pub(crate) fn seal(keys: &KeyRing, location: &[&str], value: &SecretString) -> Result<Sealed, CallError> {
    let failed = || CallError::new(ErrorKind::Internal, Message::new(&NOT_SEALED));
    let nonce = random::<NONCE>()?;
    let cipher = cipher(&keys.current).ok_or_else(failed)?;
    let payload = Payload { msg: value.expose_secret().as_bytes(), aad: &associated_data(location) };
    let ciphertext = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| failed())?;
    let mut blob = Vec::with_capacity(1 + NONCE + ciphertext.len());
    blob.push(FORMAT);
    blob.extend_from_slice(&nonce);
    blob.extend_from_slice(&ciphertext);
    Ok(Sealed { key_id: keys.current.id().to_owned(), blob })
}

pub(crate) fn open(keys: &KeyRing, location: &[&str], sealed: &Sealed) -> Result<SecretString, CallError> {
    let key = keys.find(&sealed.key_id).ok_or_else(|| {
        let message = Message::new(&UNKNOWN_KEY).with("key", &sealed.key_id);
        CallError::new(ErrorKind::Internal, message)
    })?;
    let opened = try_open(key, location, &sealed.blob);
    opened.ok_or_else(|| CallError::new(ErrorKind::Internal, Message::new(&NOT_OPENED)))
}

fn try_open(key: &Key, location: &[&str], blob: &[u8]) -> Option<SecretString> {
    let (format, rest) = blob.split_first()?;
    let (nonce, ciphertext) = rest.split_first_chunk::<NONCE>()?;
    if *format != FORMAT {
        return None;
    }
    let payload = Payload { msg: ciphertext, aad: &associated_data(location) };
    let value = cipher(key)?.decrypt(&XNonce::from(*nonce), payload).ok()?;
    String::from_utf8(value).ok().map(SecretString::from)
}

fn cipher(key: &Key) -> Option<XChaCha20Poly1305> {
    XChaCha20Poly1305::new_from_slice(key.bytes()).ok()
}

/// Encodes the location as associated data. Lengths are included, so that different locations never encode
/// alike.
fn associated_data(location: &[&str]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    for part in location {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::MasterKeys;

    #[test]
    fn values_decrypt_only_with_their_key_and_location() {
        let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new()).ring();
        let location = ["space", "", "NAME"];
        let sealed = seal(&keys, &location, &SecretString::from("hunter42")).expect("sealed");
        assert_eq!(open(&keys, &location, &sealed).expect("opened").expose_secret(), "hunter42");

        for other in [["space", "", "OTHER"], ["elsewhere", "", "NAME"], ["spac", "e", "NAME"]] {
            assert!(open(&keys, &other, &sealed).is_err(), "{other:?}");
        }
        let other_keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new()).ring();
        assert!(open(&other_keys, &location, &sealed).is_err());
        for at in 0..sealed.blob.len() {
            let mut blob = sealed.blob.clone();
            blob[at] ^= 1;
            let changed = Sealed { key_id: sealed.key_id.clone(), blob };
            assert!(open(&keys, &location, &changed).is_err(), "byte {at}");
        }
        for length in 0..sealed.blob.len() {
            let cut = Sealed { key_id: sealed.key_id.clone(), blob: sealed.blob[..length].to_vec() };
            assert!(open(&keys, &location, &cut).is_err(), "{length} bytes");
        }
    }
}
