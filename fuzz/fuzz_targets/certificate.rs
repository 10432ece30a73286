//! Any text as a certificate: refused with a reason, or verified; also after it has been
//! sealed again, so that what is behind the seal is reached.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_certify::{Rejected, digest, verify};

fuzz_target!(|text: &str| {
    look(text);
    // The first 64 digits of a digest are replaced by the right ones.
    if let (Ok(digest), Some(at)) = (digest(text), text.find("sha256:"))
        && let Some(rest) = text.get(at + digest.len()..)
    {
        look(&format!("{}{digest}{rest}", &text[..at]));
    }
});

fn look(text: &str) {
    match verify(text) {
        Ok(verified) => assert!(!verified.proposals.is_empty()),
        Err(rejected) => {
            assert!(!rejected.to_string().is_empty());
            let unreadable =
                matches!(rejected, Rejected::Unreadable { .. } | Rejected::Version { .. });
            assert_eq!(rejected.is_unreadable(), unreadable);
        }
    }
}
