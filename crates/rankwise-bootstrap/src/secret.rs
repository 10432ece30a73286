//! The secret that the processes of one job share, and what is computed from it.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// A code of HMAC-SHA256.
pub(crate) type Tag = [u8; 32];

/// What every process of a job knows and strangers do not.
///
/// It is never sent. Each side shows by HMAC-SHA256 over fresh random numbers of both
/// that it knows it, and every later message carries a code made from it, so that
/// whoever can alter the traffic can end the rendezvous but not change it. Nothing is
/// encrypted: the table and the payload can be read on the way.
///
/// Codes can be tried against guesses by anyone who listens, so a secret is to be
/// random, not a password.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

/// A secret that is too short to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortSecret {
    /// Its length in bytes.
    pub found: usize,
}

impl Secret {
    /// The fewest bytes that make a secret.
    pub const LEAST_BYTES: usize = 16;

    /// The secret of these bytes, taken as they are (a line end read from a file
    /// would be part of it).
    ///
    /// ```
    /// use rankwise_bootstrap::Secret;
    ///
    /// let secret = Secret::new(b"5f1d0a72c9b84e63a1")?;
    /// assert_eq!(format!("{secret:?}"), "Secret(..)"); // it is not printed
    /// assert!(Secret::new(b"hunter2").is_err());
    /// # Ok::<(), rankwise_bootstrap::ShortSecret>(())
    /// ```
    pub fn new(bytes: &[u8]) -> Result<Self, ShortSecret> {
        if bytes.len() < Self::LEAST_BYTES {
            return Err(ShortSecret { found: bytes.len() });
        }
        Ok(Self(bytes.into()))
    }

    /// The code of these parts, one after another. Callers give parts of fixed length
    /// before one that varies, so that no two lists of parts read the same.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> Tag {
        keyed(&self.0, parts).finalize().into_bytes().into()
    }

    /// Whether `tag` is the code of these parts; takes the same time for each wrong one.
    pub(crate) fn verify(&self, parts: &[&[u8]], tag: &Tag) -> bool {
        keyed(&self.0, parts).verify_slice(tag).is_ok()
    }

    /// A secret derived from this one for one use.
    pub(crate) fn derive(&self, parts: &[&[u8]]) -> Self {
        Self(self.code(parts).as_slice().into())
    }
}

fn keyed(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    #[allow(clippy::expect_used)] // HMAC takes a key of any length
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    for part in parts {
        hmac.update(part);
    }
    hmac
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl fmt::Display for ShortSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a secret of {} bytes, at least {} are needed: use random ones, as of \
             `openssl rand -hex 32`",
            self.found,
            Secret::LEAST_BYTES
        )
    }
}

impl std::error::Error for ShortSecret {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 6: a key longer than a block.
    #[test]
    fn the_code_is_hmac_sha256() {
        let secret = Secret::new(&[0xaa; 131]).unwrap();
        let code = secret.code(&[b"Test Using Larger Than Block-Size Key", b" - Hash Key First"]);
        assert_eq!(code[..16], 0x60e4_3159_1ee0_b67f_0d8a_26aa_cbf5_b77f_u128.to_be_bytes(),);
        assert_eq!(code[16..], 0x8e0b_c621_3728_c514_0546_040f_0ee3_7f54_u128.to_be_bytes(),);
        assert!(secret.verify(&[b"Test Using Larger Than Block-Size Key - Hash Key First"], &code));
        let mut wrong = code;
        wrong[31] ^= 1;
        assert!(
            !secret.verify(&[b"Test Using Larger Than Block-Size Key - Hash Key First"], &wrong)
        );
    }
}
