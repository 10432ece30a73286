//! Field cases of programs, run on the mock, thread by thread: d01, d03, d05, d12, d17 and
//! g09 from their files, and g03.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_comm::{Calls, Dyn};
use rankwise_mock::{Comm, Recorder, World};
use rankwise_program::{Aspect, Aspects, Kind, Report, Seq, Side, Tag};
use serde_json::Value;

fn read(id: &str, file: &str) -> Value {
    let path = format!("{}/cases/{id}/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Nothing may hang: the ranks end within half a minute, or the test fails.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || done.send(run()));
    ended.recv_timeout(Duration::from_secs(30)).expect("an end in time, without a panic")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// What a rank has come to, and what its communicators are called here, by their names in
/// the file.
struct Ended {
    names: BTreeMap<String, String>,
    ended: Result<(), Error>,
}

/// Runs a program in the notation of the cases, each rank in a thread of its own.
fn run(program: Value) -> Vec<Ended> {
    let ranks = u32::try_from(number(&program["world"])).unwrap();
    in_time(move || {
        World::of(ranks).run(|comm| {
            let mut names = BTreeMap::new();
            let ended = steps(comm, &program, &mut names);
            Ended { names, ended }
        })
    })
}

/// The calls of one rank, in the groups and on the streams that the file names.
fn steps(comm: &Comm, program: &Value, names: &mut BTreeMap<String, String>) -> Result<(), Error> {
    let own = u64::from(comm.rank().index());
    let mut groups = BTreeMap::new();
    for (name, members) in program["groups"].as_object().into_iter().flatten() {
        let color = numbers(members).contains(&own).then_some(0);
        // The world is there already; every other group is made, by all ranks.
        if name != "world"
            && let Some(group) = comm.split(color, 0)?.wait()?
        {
            names.insert(name.clone(), group.name().to_owned());
            groups.insert(name.as_str(), group);
        }
    }
    names.insert("world".to_owned(), comm.name().to_owned());
    let (mut streams, mut kept) = (BTreeMap::new(), Vec::new());
    let steps = program["programs"][own.to_string()].as_array().unwrap();
    for name in steps.iter().filter_map(|step| step["stream"].as_str()) {
        if !streams.contains_key(name) {
            streams.insert(name, comm.new_stream()?);
        }
    }
    for step in steps {
        let on = step["group"].as_str().and_then(|name| groups.get(name)).unwrap_or(comm);
        let stream = step["stream"].as_str().map_or(comm.stream(), |name| &streams[name]);
        kept.push(call(on, stream, step)?);
        if step["wait"] == true {
            stream.fence()?.wait()?;
        }
    }
    let fences = streams.values().chain([comm.stream()]).map(Stream::fence);
    fences.collect::<Result<Vec<_>, _>>()?.iter().try_for_each(Fence::wait)
}

type Memory = Buffer<Dyn, <Comm as Communicator>::Memory>;

/// Enqueues one step; what it moves.
fn call(comm: &Comm, stream: &rankwise_mock::Stream, step: &Value) -> Result<[Memory; 2], Error> {
    let dtype = step["dtype"].as_str().unwrap().parse().unwrap();
    let count = usize::try_from(number(&step["count"])).unwrap();
    let whole = count * comm.ranks().get() as usize;
    let rank = |key: &str| comm.ranks().rank(u32::try_from(number(&step[key])).unwrap()).unwrap();
    let reduction = || step["redop"].as_str().unwrap().parse::<Reduction>().unwrap();
    let operation = step["op"].as_str().unwrap();
    let len = if matches!(operation, "all_gather" | "all_to_all") { whole } else { count };
    let other = if operation == "all_to_all" { whole } else { 0 };
    let [mut x, mut y] = [comm.dyn_buffer(dtype, len)?, comm.dyn_buffer(dtype, other)?];
    let tag = step["tag"].as_str().map(Tag::new);
    let on = comm.on(stream);
    let on = tag.as_ref().map_or(on, |tag| on.tagged(tag));
    match operation {
        "all_reduce" => on.all_reduce_in_place(reduction(), &mut x),
        "broadcast" => on.broadcast_in_place(rank("root"), &mut x),
        "all_gather" => on.all_gather_in_place(&mut x),
        "all_to_all" => on.all_to_all(&x, &mut y),
        "send" => on.send(rank("peer"), &x),
        "recv" => on.recv(rank("peer"), &mut x),
        other => panic!("{other} is in no program"),
    }?;
    Ok([x, y])
}

/// The one report that all of these ranks are given.
fn report<'e>(ended: impl IntoIterator<Item = &'e Ended>) -> Report {
    let errors: Vec<&Error> =
        ended.into_iter().map(|rank| rank.ended.as_ref().unwrap_err()).collect();
    assert!(errors.iter().all(|error| *error == errors[0]), "one report: {errors:#?}");
    Report::clone(errors[0].report().unwrap())
}

fn outliers(report: &Report) -> Vec<u64> {
    report.outliers.iter().map(|rank| rank.index().into()).collect()
}

/// The ranks of each side, by what `word` says of it.
fn by_side(report: &Report, word: impl Fn(&Side) -> String) -> BTreeMap<String, Vec<u64>> {
    let members = |side: &Side| side.members.iter().map(|at| at.world.index().into()).collect();
    report.sides.iter().map(|side| (word(side), members(side))).collect()
}

fn by_key(value: &Value) -> BTreeMap<String, Vec<u64>> {
    let object = value.as_object().unwrap();
    object.iter().map(|(key, ranks)| (key.clone(), numbers(ranks))).collect()
}

/// Hardware may return with a wrong tail; here nothing moves, and no rank goes on.
#[test]
fn d01_a_count_off_by_two_ends_on_every_rank() {
    let id = "d01-count-off-by-two-no-hang";
    let expected = read(id, "expected");
    let ended = run(read(id, "program"));
    assert_eq!(ended.len(), 8);
    let report = report(&ended);
    assert_eq!(
        (expected["verdict"].as_str(), report.kind),
        (Some("count_mismatch"), Kind::Mismatch)
    );
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Count]));
    assert_eq!(report.seq, Some(Seq::Collective(number(&expected["call_index"]))));
    assert_eq!(outliers(&report), numbers(&expected["culprits"]));
    let count = |side: &Side| side.signature.payload().unwrap().count.to_string();
    assert_eq!(by_side(&report, count), by_key(&expected["values"]));
}

#[test]
fn d03_an_all_gather_meets_all_reduces_of_threads() {
    let id = "d03-allreduce-against-allgather";
    let expected = read(id, "expected");
    let report = report(&run(read(id, "program")));
    assert_eq!(expected["verdict"], "op_mismatch");
    assert_eq!(report.kind, Kind::Mismatch);
    assert!(report.aspects.contains(Aspect::Operation) && !report.aspects.contains(Aspect::Count));
    // The first of the two places.
    assert_eq!(report.seq, Some(Seq::Collective(0)));
    assert_eq!(outliers(&report), numbers(&expected["culprits"]));
    let name = |side: &Side| side.signature.verb().name().to_owned();
    assert_eq!(by_side(&report, name), by_key(&expected["first_bad"]["ops"]));
}

/// That a report is the circle of d05 or g09, as far as `expected` says.
fn is_the_circle(report: &Report, expected: &Value) {
    assert_eq!(report.kind, Kind::Deadlock);
    assert_eq!(expected["deadlock"], true);
    let mut circle: Vec<u64> = report.cycle().iter().map(|rank| rank.index().into()).collect();
    circle.extend(circle.first().copied());
    assert_eq!(circle, numbers(&expected["cycle"]));
    assert_eq!(report.waits.len() + 1, circle.len(), "one edge per rank");
}

#[test]
fn d05_threads_that_wait_after_each_call_are_told_of_their_circle() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    let expected = &read(id, "expected")["blocking.json"];
    let ended = run(read(id, "blocking"));
    let report = report(&ended);
    is_the_circle(&report, expected);
    for (edge, rank) in report.waits.iter().map(|edge| (edge, edge.rank.index())) {
        let stuck = &expected["stuck"][rank.to_string()];
        let names = &ended[usize::try_from(rank).unwrap()].names;
        assert_eq!(*edge.call.communicator, *names[stuck["group"].as_str().unwrap()]);
        assert_eq!(stuck["op"], edge.call.signature.verb().name());
        assert_eq!(edge.call.seq, Seq::Collective(number(&stuck["instance"])));
        let waits_for: Vec<u64> = edge.waits_for.iter().map(|rank| rank.index().into()).collect();
        assert_eq!(waits_for, numbers(&expected["waits_for"][rank.to_string()]));
    }
}

#[test]
fn d05_one_stream_for_both_circles_although_no_host_waits() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    let report = report(&run(read(id, "one_stream")));
    is_the_circle(&report, &read(id, "expected")["one_stream.json"]);
}

#[test]
fn d05_a_stream_per_dimension_ends_on_the_mock() {
    let id = "d05-two-dimensional-mesh-wait-cycle";
    assert_eq!(read(id, "expected")["two_streams.json"]["deadlock"], false);
    for rank in run(read(id, "two_streams")) {
        assert_eq!(rank.ended, Ok(()));
    }
}

/// Rank 0 of the file ends where it did not enqueue: its peer is told.
#[test]
fn d12_a_rank_that_enqueues_one_call_less_is_missed() {
    let id = "d12-rank-0-never-enqueued";
    let expected = read(id, "expected");
    let ended = run(read(id, "program"));
    assert_eq!(ended[0].ended, Ok(()));
    let report = report(&ended[1..]);
    assert_eq!(
        (expected["verdict"].as_str(), report.kind),
        (Some("missing_rank"), Kind::MissingRank)
    );
    assert_eq!(*report.communicator, *ended[1].names[expected["group"].as_str().unwrap()]);
    let missing = report.absent.iter().map(|absent| absent.member.world.index().into());
    assert_eq!(missing.collect::<Vec<u64>>(), numbers(&expected["missing"]));
    let name = |side: &Side| side.signature.to_string();
    let count = number(&expected["input_per_rank_elements"]);
    let wanted = (format!("all_gather of {count} × bf16"), numbers(&expected["present"]));
    assert_eq!(by_side(&report, name), BTreeMap::from([wanted]));
    // The file's program begins at call 288683 of the group.
    assert_eq!(report.seq, Some(Seq::Collective(number(&expected["seq"]) - 288_683)));
}

/// Where the rank still computes nobody is accused; a wait may be given up, and names it.
#[test]
fn d12_a_rank_that_computes_is_named_and_not_accused() {
    let words = in_time(|| {
        let comms = World::of(2).communicators();
        let mut x = comms[1].buffer::<f32>(8)?;
        comms[1].all_gather_in_place(&mut x)?;
        let given_up = comms[1].stream().fence()?.wait_within(Duration::from_millis(1));
        let words = given_up.unwrap_err();
        assert!(words.report().is_none(), "{words}");
        // It comes after all.
        let mut y = comms[0].buffer::<f32>(8)?;
        comms[0].all_gather_in_place(&mut y)?;
        comms[1].stream().fence()?.wait()?;
        Ok::<_, Error>(words.to_string())
    });
    let words = words.unwrap();
    let of_0 = words.lines().find(|line| line.starts_with("rank 0 ") || line.contains(" rank 0 "));
    assert!(of_0.is_some_and(|line| line.contains("comput")), "{words}");
}

#[test]
fn d17_the_root_of_the_first_broadcast_is_the_outlier_among_threads() {
    let id = "d17-first-broadcast-differs-on-the-root";
    let expected = read(id, "expected");
    let report = report(&run(read(id, "program")));
    assert_eq!(expected["verdict"], "count_and_dtype_mismatch");
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(report.aspects, Aspects::from_iter([Aspect::Count, Aspect::ElementType]));
    assert_eq!(report.seq, Some(Seq::Collective(number(&expected["opCount"]))));
    assert_eq!(outliers(&report), numbers(&expected["culprits"]));
    for (call, ranks) in by_side(&report, |side| side.signature.to_string()) {
        for rank in ranks {
            let row = &expected["table"][rank.to_string()];
            let moves = format!("{} × {}", row["count"], row["dtype"].as_str().unwrap());
            let root = &expected["root"];
            assert_eq!(call, format!("broadcast(root {root}) of {moves}"));
        }
    }
}

/// A lazy iterator that nobody consumes calls nothing, and the recording shows it. A group
/// is a closure: it cannot be opened twice, nor stay open.
#[test]
fn g03_calls_that_are_never_made_are_not_recorded() {
    let expected = read("g03-example-that-communicates-nothing", "expected");
    assert_eq!(expected["expected_calls"], "n_devices");
    let recorded = in_time(|| {
        let recorder = Recorder::new();
        let comms = World::of(3).recorded_by(&recorder).communicators();
        let mut x: Vec<_> =
            comms.iter().map(|comm| comm.buffer::<f32>(4)).collect::<Result<_, _>>()?;
        let calls = || recorder.recording().to_lines().lines().count();
        let lazy =
            comms.iter().zip(&mut x).map(|(comm, x)| comm.all_reduce_in_place(Reduction::Sum, x));
        drop(lazy);
        let never = calls();
        comms[0].group(|group| {
            let mut all = comms.iter().zip(&mut x);
            all.try_for_each(|(comm, x)| {
                group.on(comm, comm.stream()).all_reduce_in_place(Reduction::Sum, x)
            })
        })?;
        for comm in &comms {
            comm.stream().fence()?.wait()?;
        }
        Ok::<_, Error>((never, calls()))
    });
    let never = usize::try_from(number(&expected["calls_recorded"])).unwrap();
    assert_eq!(recorded, Ok((never, 3)));
}

/// Each rank waits for its send before it receives.
#[test]
fn g09_a_ring_that_sends_first_waits_in_a_circle_for_every_size() {
    let id = "g09-immediate-is-not-unbounded";
    let expected = read(id, "expected");
    for count in [1, 1 << 20] {
        let mut ring = read(id, "ring");
        for step in (0..4).flat_map(|rank| [(rank, 0), (rank, 1)]) {
            ring["programs"][step.0.to_string()][step.1]["count"] = count.into();
        }
        is_the_circle(&report(&run(ring)), &expected["synchronous"]);
    }
}

/// What mends it: one group, or both sides in flight before either is waited for.
#[test]
fn g09_a_ring_in_a_group_or_on_two_streams_ends() {
    let expected = read("g09-immediate-is-not-unbounded", "expected");
    let fix = expected["fix"].as_str().unwrap();
    assert!(fix.contains("one group call") && fix.contains("wait for both together"), "{fix}");
    let left = in_time(|| {
        World::of(4).run(|comm| {
            let (own, stream) = (comm.rank().index(), comm.new_stream()?);
            let at = |rank: u32| comm.ranks().rank(rank % 4).unwrap();
            let (mut x, mut y) = (comm.buffer::<u32>(1 << 18)?, comm.buffer::<u32>(1 << 18)?);
            comm.stream().write(&mut x, &vec![own; 1 << 18])?;
            comm.group(|group| {
                group.send(at(own + 1), &x)?;
                group.recv(at(own + 3), &mut y)
            })?;
            let in_group = comm.stream().read(&y)?;
            comm.send(at(own + 1), &x)?;
            comm.on(&stream).recv(at(own + 3), &mut y)?;
            comm.stream().fence()?.wait()?;
            Ok::<_, Error>((in_group, stream.read(&y)?))
        })
    });
    for (rank, ended) in (0..).zip(left) {
        let wanted = vec![(rank + 3) % 4; 1 << 18];
        assert!(ended == Ok((wanted.clone(), wanted)), "rank {rank}");
    }
}
