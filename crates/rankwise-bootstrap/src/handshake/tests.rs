//! Both sides of a beginning, over a pipe in memory.

use tokio::io::{duplex, split};

use super::*;

const NONCES: ([u8; 32], [u8; 32]) = ([1; 32], [2; 32]);

fn secret(byte: u8) -> Secret {
    Secret::new(&[byte; 32]).unwrap()
}

/// What host and rank make of each other.
async fn both(
    host: Option<Secret>,
    rank: Option<Secret>,
) -> (Result<Begun, Stop>, Result<Begun, Stop>) {
    let (near, far) = duplex(4096);
    let side = async |stream, side, number, nonce, secret: Option<Secret>| {
        let (mut reader, mut writer) = split(stream);
        let own = Own { side, opening: Opening::of(number), nonce, secret: secret.as_ref() };
        begin(&mut reader, &mut writer, own).await
    };
    tokio::join!(
        side(near, Side::Host, 0, NONCES.0, host),
        side(far, Side::Rank, 3, NONCES.1, rank)
    )
}

#[tokio::test]
async fn sides_with_one_secret_or_none_begin() {
    for secret in [None, Some(secret(1))] {
        let (host, rank) = both(secret.clone(), secret).await;
        let (mut host, mut rank) = (host.unwrap(), rank.unwrap());
        assert_eq!((host.opening.rank, rank.opening.rank), (3, 0));
        // What one side seals the other opens, in both directions.
        for (to, from) in
            [(&mut host.writing, &mut rank.reading), (&mut rank.writing, &mut host.reading)]
        {
            let frame = sealed(&body(&"word"), to);
            assert_eq!(read::<String>(&mut frame.as_slice(), from, 99).await.unwrap(), "word");
        }
    }
}

#[tokio::test]
async fn other_secrets_are_found_out_on_both_sides() {
    for (host, rank, why) in [
        (Some(secret(1)), Some(secret(2)), Refusal::WrongSecret),
        (Some(secret(1)), None, Refusal::NoSecret),
        (None, Some(secret(1)), Refusal::SecretUnasked),
    ] {
        let (host, rank) = both(host, rank).await;
        assert_eq!(host.unwrap_err(), Stop::Secret(Opening::of(3), why));
        assert_eq!(rank.unwrap_err(), Stop::Secret(Opening::of(0), why));
    }
}

/// Everything that a rank with this secret sends to a host that answers with its own
/// greeting and then says nothing.
async fn overheard(secret: Option<Secret>) -> Vec<u8> {
    let (near, mut far) = duplex(4096);
    let (mut reader, mut writer) = split(near);
    let own =
        Own { side: Side::Rank, opening: Opening::of(3), nonce: NONCES.1, secret: secret.as_ref() };
    let greeting = Greeting { secret: true, nonce: NONCES.0 };
    far.write_all(&Opening::of(0).bytes()).await.unwrap();
    far.write_all(&sealed(&body(&greeting), &mut Seal::default())).await.unwrap();
    let mut heard = vec![0; 4096];
    let listen = async {
        let mut all = Vec::new();
        while !all.windows(5).any(|window| window == b"Shown") {
            let read = far.read(&mut heard).await.unwrap();
            all.extend(&heard[..read]);
        }
        drop(far);
        all
    };
    tokio::join!(listen, begin(&mut reader, &mut writer, own)).0
}

#[tokio::test]
async fn the_secret_is_not_among_what_is_sent() {
    let text = b"an easily seen secret";
    let heard = overheard(Some(Secret::new(text).unwrap())).await;
    assert!(heard.starts_with(b"rankwise"));
    assert!(!heard.windows(text.len()).any(|window| window == text));
}

/// Sends back to a rank what it sent itself: knowing nothing, that proves nothing.
#[tokio::test]
async fn a_proof_that_is_sent_back_is_none() {
    let (near, far) = duplex(4096);
    let rank = async {
        let (mut reader, mut writer) = split(near);
        let secret = secret(1);
        let own = Own {
            side: Side::Rank,
            opening: Opening::of(3),
            nonce: NONCES.1,
            secret: Some(&secret),
        };
        begin(&mut reader, &mut writer, own).await.unwrap_err()
    };
    let mirror = async {
        let (mut reader, mut writer) = split(far);
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    };
    let stop = tokio::select! {
        stop = rank => stop,
        () = mirror => unreachable!("the rank ends first"),
    };
    assert_eq!(stop, Stop::Secret(Opening::of(3), Refusal::WrongSecret));
}

#[tokio::test]
async fn strangers_and_other_versions_are_told_apart() {
    let host = async |mut bytes: &[u8]| {
        let own = Own { side: Side::Host, opening: Opening::of(0), nonce: NONCES.0, secret: None };
        begin(&mut bytes, &mut tokio::io::sink(), own).await.unwrap_err()
    };
    assert_eq!(host(b"").await, Stop::Stranger(WireError::Closed));
    assert!(matches!(host(b"GET / HTTP/1.1").await, Stop::Stranger(WireError::Message(_))));
    let other = Opening { protocol: 0x0102_0304, rank: 7 };
    assert_eq!(host(b"rankwise\x01\x02\x03\x04\0\0\0\x07").await, Stop::Protocol(other));
    let ours = b"rankwise\0\0\0\x01\0\0\0\x07";
    assert_eq!(host(ours).await, Stop::Broken(Opening::of(7), WireError::Closed));
    let long = [ours.as_slice(), b"\0\0\x02\x01"].concat();
    let too_long = WireError::TooLong { found: 513, most: 512 };
    assert_eq!(host(&long).await, Stop::Broken(Opening::of(7), too_long));
}
