//! Ranks as tasks of one process, on loopback: what each of them is told.

use std::net::SocketAddr;
use std::time::Duration;

use rankwise_bootstrap::{
    Address, BoundDevice, Error, Fault, Member, Refusal, Rendezvous, Report, Secret, Session, Stage,
};
use rankwise_model::GroupSize;
use rankwise_topology::{Sharing, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Long enough for any machine; where nothing is to be waited for, it is not reached.
const LONG: Duration = Duration::from_mins(1);
/// A deadline that a test waits for.
const SHORT: Duration = Duration::from_millis(700);

struct Place {
    listener: Option<TcpListener>,
    address: SocketAddr,
}

impl Place {
    async fn new() -> Self {
        Self::at("127.0.0.1:0").await
    }

    async fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener: Some(listener), address }
    }
}

fn world(ranks: u32) -> World {
    World::new(GroupSize::new(ranks).unwrap())
}

fn uuid(device: u32) -> String {
    format!("GPU-{device:08x}-0000-0000-0000-000000000000")
}

/// A rank of a world, at a device of its own.
fn member(rank: u32) -> Member {
    on_device(rank, rank)
}

fn on_device(rank: u32, device: u32) -> Member {
    let device = BoundDevice::ordinal(0).visible(&uuid(device)).uuid(&uuid(device)).unwrap();
    Member::new("node1", 1000 + rank).unwrap().on(device).unwrap().library("2.32.3").unwrap()
}

fn terms(place: &Place, rank: u32, ranks: u32, within: Duration) -> Rendezvous {
    let address: Address = place.address.to_string().parse().unwrap();
    let rank = world(ranks).rank(rank).unwrap();
    Rendezvous::new(rank, world(ranks), address).unwrap().within(within)
}

/// Starts each rank with its member, rank 0 hosting.
async fn meet(place: &mut Place, ranks: Vec<(Rendezvous, Member)>) -> Vec<Result<Session, Error>> {
    let listener = place.listener.take().unwrap();
    let mut listener = Some(listener);
    let mut tasks = JoinSet::new();
    for (at, (terms, member)) in ranks.into_iter().enumerate() {
        let listener = if terms.is_host() { listener.take() } else { None };
        tasks.spawn(async move {
            let session = match listener {
                Some(listener) => terms.host_on(listener, member, b"the id").await,
                None => terms.connect(member).await,
            };
            (at, session)
        });
    }
    let mut sessions = tasks.join_all().await;
    sessions.sort_by_key(|(at, _)| *at);
    sessions.into_iter().map(|(_, session)| session).collect()
}

/// The report that all have, which must be one.
fn report(results: &[Result<Session, Error>]) -> &Report {
    let mut reports = results.iter().map(|result| {
        let error = result.as_ref().expect_err("nobody meets");
        error.report().unwrap_or_else(|| panic!("no report: {error}"))
    });
    let first = reports.next().unwrap();
    assert!(reports.all(|report| report == first), "{results:?}");
    first
}

fn all(place: &Place, ranks: u32, within: Duration) -> Vec<(Rendezvous, Member)> {
    (0..ranks).map(|rank| (terms(place, rank, ranks, within), member(rank))).collect()
}

#[tokio::test]
async fn all_ranks_get_one_table_and_the_payload() {
    let mut place = Place::new().await;
    let ranks = all(&place, 8, LONG);
    let mut sessions: Vec<_> =
        meet(&mut place, ranks).await.into_iter().map(Result::unwrap).collect();
    let table = sessions[0].table().clone();
    for (rank, session) in (0..).zip(&sessions) {
        assert_eq!(session.rank().index(), rank);
        assert_eq!(session.payload(), b"the id");
        assert_eq!(session.table(), &table);
    }
    // The ordinal is 0 everywhere; the map tells the devices apart all the same.
    let rank_5 = table.world().rank(5).unwrap();
    let map = table.map().unwrap();
    assert_eq!(map.device(rank_5).unwrap().to_string(), format!("node1/{}", uuid(5)));
    assert_eq!(table.member(rank_5).unwrap().process(), 1005);
    assert_eq!(table.on_host(rank_5), Some((5, 8)));

    let mut tasks = JoinSet::new();
    for mut session in sessions.drain(..) {
        tasks.spawn(async move {
            session.barrier("one", LONG).await?;
            session.barrier("two", LONG).await?;
            session.finish(LONG).await
        });
    }
    assert_eq!(tasks.join_all().await, vec![Ok(()); 8]);
}

#[tokio::test]
async fn one_rank_needs_nobody_and_listens_nowhere() {
    let taken = Place::new().await; // so that listening there would fail
    let terms = terms(&taken, 0, 1, LONG);
    let mut session = terms.host(member(0), b"x").await.unwrap();
    session.barrier("alone", LONG).await.unwrap();
    assert_eq!(session.table().world().size().get(), 1);
    session.finish(LONG).await.unwrap();
}

#[tokio::test]
async fn ranks_meet_over_ipv6() {
    let mut place = Place::at("[::1]:0").await;
    let ranks = all(&place, 3, LONG);
    for session in meet(&mut place, ranks).await {
        assert_eq!(session.unwrap().table().world().size().get(), 3);
    }
}

#[tokio::test]
async fn another_rank_than_0_may_host() {
    let mut place = Place::new().await;
    let host = world(3).rank(2).unwrap();
    let mut ranks = all(&place, 3, LONG);
    for (terms, _) in &mut ranks {
        *terms = terms.clone().hosted_by(host).unwrap();
    }
    for session in meet(&mut place, ranks).await {
        assert_eq!(session.unwrap().payload(), b"the id");
    }
}

#[tokio::test]
async fn a_rank_that_never_comes_is_named_on_all() {
    let mut place = Place::new().await;
    let mut ranks = all(&place, 4, SHORT);
    ranks.remove(2);
    let results = meet(&mut place, ranks).await;
    let report = report(&results);
    assert_eq!(report.faults, [Fault::Missing { ranks: vec![2], within_ms: 700 }]);
    assert_eq!((report.stage.clone(), report.strangers), (Stage::Gathering, 0));
}

#[tokio::test]
async fn a_rank_that_comes_twice_is_named_with_both_processes() {
    let mut place = Place::new().await;
    // Four processes, of which two say they are rank 1 and none is rank 3: all have come,
    // so that nobody waits for the deadline.
    let mut ranks = all(&place, 4, LONG);
    ranks[3] = (terms(&place, 1, 4, LONG), on_device(3, 3));
    let results = meet(&mut place, ranks).await;
    let report = report(&results);
    let Fault::Missing { ranks, .. } = &report.faults[0] else { panic!("{report}") };
    assert_eq!(ranks, &[3]);
    let Fault::Twice { rank: 1, processes } = &report.faults[1] else { panic!("{report}") };
    let mut ids: Vec<_> = processes.iter().map(|process| process.process).collect();
    ids.sort_unstable();
    assert_eq!((ids, report.faults.len()), (vec![1001, 1003], 2));
}

#[tokio::test]
async fn a_rank_of_another_world_is_named_with_both_sizes() {
    let mut place = Place::new().await;
    let mut ranks = all(&place, 3, LONG);
    ranks[1].0 = terms(&place, 1, 4, LONG);
    let results = meet(&mut place, ranks).await;
    assert_eq!(report(&results).faults, [Fault::WorldSize { rank: 1, found: 4, needed: 3 }]);

    let mut place = Place::new().await;
    let mut ranks = all(&place, 2, LONG);
    ranks[1].0 = terms(&place, 5, 8, LONG);
    let results = meet(&mut place, ranks).await;
    let report = report(&results);
    assert!(report.names(1) && report.names(5) && !report.names(0), "{report}");
}

#[tokio::test]
async fn library_versions_that_differ_are_named_with_their_ranks() {
    let mut place = Place::new().await;
    let mut ranks = all(&place, 4, LONG);
    ranks[2].1 = member(2).library("2.28.3").unwrap();
    let results = meet(&mut place, ranks).await;
    let versions =
        vec![(Some("2.32.3".to_owned()), vec![0, 1, 3]), (Some("2.28.3".to_owned()), vec![2])];
    assert_eq!(report(&results).faults, [Fault::Libraries { versions }]);
}

#[tokio::test]
async fn a_device_is_bound_once_unless_sharing_is_asked_for() {
    let mut place = Place::new().await;
    let mut ranks = all(&place, 4, LONG);
    ranks[3].1 = on_device(3, 1);
    let results = meet(&mut place, ranks).await;
    let device = format!("node1/{}", uuid(1));
    assert_eq!(report(&results).faults, [Fault::DeviceTwice { device, ranks: vec![1, 3] }]);

    let mut place = Place::new().await;
    let mut ranks = all(&place, 4, LONG);
    ranks[3].1 = on_device(3, 1);
    for (terms, _) in &mut ranks {
        *terms = terms.clone().sharing(Sharing::Shared);
    }
    for session in meet(&mut place, ranks).await {
        assert_eq!(session.unwrap().table().map().unwrap().devices().len(), 3);
    }
}

#[tokio::test]
async fn a_wrong_secret_is_named_on_both_sides() {
    let secret = |byte: u8| Secret::new(&[byte; 32]).unwrap();
    for (given, why) in [(Some(secret(2)), Refusal::WrongSecret), (None, Refusal::NoSecret)] {
        let mut place = Place::new().await;
        let mut ranks = all(&place, 3, SHORT);
        for (rank, (terms, _)) in ranks.iter_mut().enumerate() {
            let secret = if rank == 2 { given.clone() } else { Some(secret(1)) };
            if let Some(secret) = secret {
                *terms = terms.clone().secret(secret);
            }
        }
        let results = meet(&mut place, ranks).await;
        assert!(
            matches!(&results[2], Err(Error::Secret { rank: 2, why: found, .. }) if *found == why),
            "{results:?}"
        );
        let report = report(&results[..2]);
        assert_eq!(report.faults, [Fault::Missing { ranks: vec![2], within_ms: 700 }]);
        assert_eq!((report.refused[0].rank, report.refused[0].why), (2, why));
    }
    // A secret that nobody asked for.
    let mut place = Place::new().await;
    let mut ranks = all(&place, 2, SHORT);
    ranks[1].0 = ranks[1].0.clone().secret(secret(1));
    let results = meet(&mut place, ranks).await;
    assert!(
        matches!(&results[1], Err(Error::Secret { why: Refusal::SecretUnasked, .. })),
        "{results:?}"
    );
}

#[tokio::test]
async fn a_rank_of_another_job_is_turned_away() {
    let mut place = Place::new().await;
    let mut ranks = all(&place, 2, SHORT);
    for ((terms, _), job) in ranks.iter_mut().zip(["4711.0", "4711.1"]) {
        *terms = terms.clone().job(job).unwrap();
    }
    let results = meet(&mut place, ranks).await;
    assert_eq!(
        results[1].as_ref().unwrap_err(),
        &Error::Job {
            rank: 1,
            address: place.address.to_string().parse().unwrap(),
            found: Some("4711.0".to_owned()),
            needed: Some("4711.1".to_owned()),
        }
    );
    assert_eq!(report(&results[..1]).refused[0].why, Refusal::OtherJob);
}

#[tokio::test]
async fn another_version_of_the_protocol_is_named_on_both_sides() {
    let mut place = Place::new().await;
    let mut stranger = TcpStream::connect(place.address).await.unwrap();
    let speak = async {
        stranger.write_all(b"rankwise\0\0\0\x09\0\0\0\x01").await.unwrap();
        let mut opening = [0; 16];
        stranger.read_exact(&mut opening).await.unwrap();
        opening
    };
    let host = all(&place, 2, SHORT).remove(0);
    let (results, opening) = tokio::join!(meet(&mut place, vec![host]), speak);
    assert_eq!(&opening, b"rankwise\0\0\0\x01\0\0\0\0");
    let refused = &report(&results).refused[0];
    assert_eq!((refused.rank, refused.why), (1, Refusal::OtherProtocol { found: 9 }));

    // And the other way round.
    let place = Place::new().await;
    let terms = terms(&place, 1, 2, LONG);
    let connect = terms.connect(member(1));
    let answer = async {
        let (mut stream, _) = place.listener.as_ref().unwrap().accept().await.unwrap();
        stream.write_all(b"rankwise\0\0\0\x09\0\0\0\0").await.unwrap();
        stream
    };
    let (session, _stream) = tokio::join!(connect, answer);
    assert_eq!(session.unwrap_err(), Error::Protocol { rank: 1, found: 9, needed: 1 });
}

#[tokio::test]
async fn strangers_do_not_keep_the_ranks_from_meeting() {
    let mut place = Place::new().await;
    let address = place.address;
    let mut ranks = all(&place, 4, LONG);
    for (terms, _) in &mut ranks {
        *terms = terms.clone().half_open(16);
    }
    let rest = ranks.split_off(2);
    let others = async {
        // Port scanners, garbage, half an opening, a promise of four gigabytes, and more
        // connections that say nothing than the host holds: all before the others come.
        let mut held = Vec::new();
        for garbage in [
            b"".as_slice(),
            b"GET / HTTP/1.1\r\n\r\n",
            b"rankwise",
            b"rankwise\0\0\0\x01\0\0\0\x03\xff\xff\xff\xff",
            b"rankwise\0\0\0\x01\0\0\0\x03\0\0\0\x02{}",
            &[0; 4096],
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all(garbage).await;
            held.push(stream);
            drop(TcpStream::connect(address).await.unwrap());
        }
        for _ in 0..64 {
            held.push(TcpStream::connect(address).await.unwrap());
        }
        let mut tasks = JoinSet::new();
        for (terms, member) in rest {
            tasks.spawn(async move { terms.connect(member).await });
        }
        let sessions = tasks.join_all().await;
        drop(held);
        sessions
    };
    let (early, late) = tokio::join!(meet(&mut place, ranks), others);
    for session in early.into_iter().chain(late) {
        assert_eq!(session.unwrap().table().world().size().get(), 4);
    }
}

/// Sessions of that many ranks.
async fn sessions(ranks: u32) -> Vec<Session> {
    let mut place = Place::new().await;
    let ranks = all(&place, ranks, LONG);
    meet(&mut place, ranks).await.into_iter().map(Result::unwrap).collect()
}

/// What each of these sessions is told at a barrier.
async fn at_barrier(sessions: Vec<Session>, name: &'static str, within: Duration) -> Vec<Error> {
    let mut tasks = JoinSet::new();
    for mut session in sessions {
        tasks.spawn(async move { session.barrier(name, within).await.unwrap_err() });
    }
    tasks.join_all().await
}

fn one(errors: &[Error]) -> &Error {
    assert!(errors.iter().all(|error| error == &errors[0]), "{errors:?}");
    &errors[0]
}

#[tokio::test]
async fn a_session_that_is_dropped_is_told_to_all() {
    let mut sessions = sessions(4).await;
    drop(sessions.remove(2));
    let failed = sessions[0].failed().await;
    assert!(failed.names(2) && !failed.names(1), "{failed}");
    let errors = at_barrier(sessions, "warm", LONG).await;
    assert_eq!(one(&errors), &failed);
    let faults = &failed.report().unwrap().faults;
    assert!(
        matches!(&faults[..], [Fault::Lost { rank: 2, process }] if process.process == 1002),
        "{faults:?}"
    );
}

#[tokio::test]
async fn a_host_that_is_dropped_is_told_to_all() {
    let mut sessions = sessions(3).await;
    drop(sessions.remove(0));
    let errors = at_barrier(sessions, "warm", LONG).await;
    assert!(one(&errors).names(0), "{errors:?}");
}

#[tokio::test]
async fn who_is_late_at_a_barrier_is_named() {
    let mut sessions = sessions(4).await;
    let late = sessions.remove(3);
    let errors = at_barrier(sessions, "warm", SHORT).await;
    let fault = Fault::Late { ranks: vec![3], barrier: "warm".to_owned(), within_ms: 700 };
    let report = one(&errors).report().unwrap();
    assert_eq!((&report.faults[..], &report.stage), (&[fault][..], &Stage::At("warm".to_owned())));
    // The late one is told the same.
    assert_eq!(&late.failed().await, one(&errors));
}

#[tokio::test]
async fn ranks_at_different_barriers_are_told_apart() {
    let mut sessions = sessions(3).await;
    let last = sessions.remove(1);
    let (errors, last) = tokio::join!(at_barrier(sessions, "warm", LONG), last.finish(LONG));
    assert_eq!(one(&errors), &last.unwrap_err());
    let barriers = vec![("finish (the last)".to_owned(), vec![1]), ("warm".to_owned(), vec![0, 2])];
    assert_eq!(one(&errors).report().unwrap().faults, [Fault::Parted { barriers }]);
}

#[tokio::test]
async fn who_gives_up_says_why() {
    for gives_up in [0, 2] {
        let mut sessions = sessions(3).await;
        let session = sessions.remove(gives_up);
        let (errors, own) =
            tokio::join!(at_barrier(sessions, "warm", LONG), session.give_up("no memory"));
        assert_eq!(one(&errors), &own);
        let rank = u32::try_from(gives_up).unwrap();
        let faults = &own.report().unwrap().faults;
        assert_eq!(faults, &[Fault::GaveUp { rank, reason: "no memory".to_owned() }]);
    }
}

#[tokio::test]
async fn a_barrier_that_was_given_up_is_not_followed_by_another() {
    let mut sessions = sessions(2).await;
    let wait = sessions[0].barrier("one", LONG);
    assert!(tokio::time::timeout(Duration::from_millis(50), wait).await.is_err());
    assert_eq!(sessions[0].barrier("two", LONG).await, Err(Error::Unfinished));
}

#[tokio::test]
async fn nobody_at_the_address_is_an_error_that_says_so() {
    let place = Place::new().await;
    let terms = terms(&place, 1, 2, SHORT);
    drop(place);
    let error = terms.connect(member(1)).await.unwrap_err();
    let Error::Unreachable { rank: 1, within: SHORT, attempts, last, .. } = &error else {
        panic!("{error}")
    };
    assert!(*attempts > 1 && !last.is_empty(), "{error}");
}

#[tokio::test]
async fn an_address_that_is_taken_or_elsewhere_is_an_error_that_says_so() {
    let place = Place::new().await;
    let error = terms(&place, 0, 2, LONG).host(member(0), b"").await.unwrap_err();
    assert!(matches!(&error, Error::Listen { kind: std::io::ErrorKind::AddrInUse, .. }), "{error}");
    // TEST-NET-1 of RFC 5737 is nobody's.
    let elsewhere = "192.0.2.1:29500".parse().unwrap();
    let terms = Rendezvous::new(world(2).rank(0).unwrap(), world(2), elsewhere).unwrap();
    let error = terms.host(member(0), b"").await.unwrap_err();
    assert!(
        matches!(&error, Error::Listen { kind: std::io::ErrorKind::AddrNotAvailable, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_before_anything_is_opened() {
    let place = Place::new().await;
    let host = terms(&place, 0, 2, LONG);
    let other = terms(&place, 1, 2, LONG);
    for error in [
        host.connect(member(0)).await.unwrap_err(),
        other.host(member(1), b"").await.unwrap_err(),
        host.host(member(0), &vec![0; 64 * 1024 + 1]).await.unwrap_err(),
        host.clone().hosted_by(world(9).rank(8).unwrap()).unwrap_err(),
        host.clone().job("a\nb").unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Setting { .. }), "{error}");
    }
}
