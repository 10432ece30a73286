//! What a recorder has seen.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Recorder, World};
use rankwise_program::Record;
use serde_json::Value;

use crate::watchdog::in_time;

/// A sum, a split, a ring in a group on a stream of its own, and a gather of the half.
fn program(comm: &Comm) -> Result<(), Error> {
    let (mut x, mut y) = (comm.buffer::<f32>(2)?, comm.buffer::<f32>(4)?);
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    comm.stream().fence()?.wait()?;
    let half = comm.split(Some(comm.rank().index() / 2), 0)?.wait()?.expect("a colour");
    let (own, ranks) = (comm.rank().index(), comm.ranks().get());
    let at = |rank: u32| comm.ranks().rank(rank % ranks).expect("below the size");
    let side = comm.new_stream()?;
    comm.on(&side).group(|group| {
        group.send(at(own + 1), &x)?;
        group.recv(at(own + ranks - 1), y.slice_mut(0..2)?)
    })?;
    side.fence()?.wait()?;
    half.all_gather(&x, &mut y)?;
    half.stream().fence()?.wait()
}

#[test]
fn every_call_is_recorded_with_its_number_stream_and_unit() {
    let recorder = Recorder::new();
    let recorded_by = recorder.clone();
    let ended = in_time(move || World::of(4).recorded_by(&recorded_by).run(program));
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    let records = recorder.recording().records();
    let said: Vec<_> = records
        .iter()
        .filter(|record| record.rank == 2)
        .map(|record| {
            let stream = record.stream.as_deref();
            (record.op.as_str(), record.communicator.as_str(), record.seq, stream, record.unit)
        })
        .collect();
    let half = "world/split collective 1/color 1";
    assert_eq!(
        said,
        [
            ("all_reduce", "world", 0, Some("world#0"), None),
            ("split", "world", 1, None, None),
            ("send", "world", 0, Some("world#1"), Some(0)),
            ("recv", "world", 0, Some("world#1"), Some(0)),
            ("all_gather", half, 0, Some("world/split collective 1/color 1#0"), None),
        ]
    );
    let gather = records.iter().rfind(|record| record.op == "all_gather").unwrap();
    assert_eq!((gather.rank, gather.own, &gather.members[..]), (3, 1, &[2, 3][..]));
    assert_eq!((gather.count, gather.dtype.as_deref()), (Some(2), Some("f32")));
    assert!(gather.site.contains("recording.rs"), "{}", gather.site);
}

#[test]
fn lines_read_back_equal() {
    let recorder = Recorder::new();
    let recorded_by = recorder.clone();
    in_time(move || World::of(4).recorded_by(&recorded_by).run(program));
    let recording = recorder.recording();
    let read: Vec<Record> =
        recording.to_lines().lines().map(|line| Record::from_line(line).unwrap()).collect();
    assert_eq!(read, recording.records());
    assert_eq!(read.len(), 20);
}

#[test]
fn a_trace_has_a_row_for_each_stream_and_a_bar_for_each_call_that_was_done() {
    let recorder = Recorder::new();
    let recorded_by = recorder.clone();
    in_time(move || {
        World::of(2).recorded_by(&recorded_by).run(|comm| {
            let mut x = comm.buffer::<f32>(1 + usize::from(comm.rank().index() == 1))?;
            comm.all_reduce_in_place(Reduction::Sum, x.slice_mut(0..1)?)?;
            comm.stream().fence()?.wait()?;
            // They contradict each other: nothing is moved.
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            comm.stream().fence()?.wait()
        })
    });
    let trace: Value = serde_json::from_str(&recorder.recording().to_chrome_trace()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let rows: Vec<_> = of("M").into_iter().filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(rows.len(), 2);
    let (bars, marks) = (of("X"), of("i"));
    assert_eq!((bars.len(), marks.len()), (2, 2));
    for (rank, bar) in bars.iter().enumerate() {
        assert_eq!(bar["pid"], rank);
        assert_eq!(bar["name"], "all_reduce(sum) of 1 × f32");
        assert!(bar["dur"].as_f64().is_some_and(|time| time >= 0.0), "{bar}");
    }
    assert_eq!(marks[1]["name"], "all_reduce(sum) of 2 × f32");
    assert_eq!(marks[1]["args"]["seq"], "1");
}

#[test]
fn another_world_begins_anew() {
    let recorder = Recorder::new();
    for ranks in [1, 2] {
        let recorded_by = recorder.clone();
        in_time(move || {
            World::of(ranks).recorded_by(&recorded_by).run(|comm| {
                let mut x = comm.buffer::<u8>(1)?;
                comm.broadcast_in_place(comm.ranks().first(), &mut x)
            })
        });
        assert_eq!(recorder.recording().records().len(), usize::try_from(ranks).unwrap());
    }
}
