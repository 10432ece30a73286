//! Certificates: what is made of a plan is accepted by a checker that shares no code
//! with what made it, and nothing else is.

mod spread;

use rankwise_certify::verify;

#[test]
fn what_is_certified_is_verified() {
    let mut wrong = Vec::new();
    for case in spread::cases() {
        let json = case.certificate.to_json();
        match verify(&json) {
            Ok(verified) => assert_eq!(verified.claim.name(), case.certificate.claim().name()),
            Err(rejected) => wrong.push(format!("{}: {rejected}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
