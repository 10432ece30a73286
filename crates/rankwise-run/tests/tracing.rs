//! What a run says to whoever listens: names and fields, exactly.
//!
//! In a process of its own: whether anybody listens at a place is remembered per process.

#[path = "run/toy.rs"]
mod toy;

use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use rankwise_plan::Plan;
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;
use rankwise_run::{Fill, Job, run};
use toy::{Wrong, world};

/// Keeps what it hears as lines: level, name, fields in order.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Fields(Vec<String>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push(format!("{}={value}", field.name()));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push(format!("{}={value:?}", field.name()));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        self.0.push(format!("{}={:?}", field.name(), format!("{value:?}")));
    }
}

impl Listener {
    fn note(&self, kind: &str, metadata: &Metadata<'_>, fields: &Fields) {
        if metadata.target() == "rankwise_run" {
            let (level, name) = (metadata.level(), metadata.name());
            self.0.lock().unwrap().push(format!("{kind} {level} {name}: {}", fields.0.join(" ")));
        }
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.note("span", span.metadata(), &fields);
        Id::from_u64(1)
    }
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.note("event", event.metadata(), &fields);
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn spans_and_events_have_their_names_and_fields() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 4, meaning = "m" }
        proposal.p.step = [
            { call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
            { call = "send", on = { rank = 0 }, peer = 1, send = "s" },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "t" },
            { call = "copy", on = { rank = 1 }, send = "t", recv = "u" },
        ]
    "#;
    let plan = Plan::read(text, Format::Toml, &mut NoArrays).unwrap();
    let job = Job::new(&plan, &plan.proposals[0], Fill::Pattern { seed: 0 }).unwrap();
    let listener = Listener::default();
    tracing::subscriber::with_default(listener.clone(), || {
        run(&job, world(2, &Wrong::default()));
    });
    let mut heard = listener.0.lock().unwrap().clone();
    heard.sort();
    let mut expected = vec![
        r#"span INFO rank: rank=0 ranks=2 proposal="p""#,
        r#"span INFO rank: rank=1 ranks=2 proposal="p""#,
        r#"event DEBUG call: op="reduce_scatter(sum)" comm="world" seq=0 rank=0 count=2 convention="one rank's shard (recvcount)""#,
        r#"event DEBUG call: op="reduce_scatter(sum)" comm="world" seq=0 rank=1 count=2 convention="one rank's shard (recvcount)""#,
        r#"event DEBUG call: op="send(to 1)" comm="world" seq=0 rank=0 count=2 convention="the message""#,
        r#"event DEBUG call: op="recv(from 0)" comm="world" seq=0 rank=1 count=2 convention="the message""#,
        r#"event TRACE local: op="copy" rank=1 step=3"#,
    ];
    expected.sort_unstable();
    assert_eq!(heard, expected);
}
