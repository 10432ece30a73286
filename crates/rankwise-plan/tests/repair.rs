//! What mends data in the wrong place, with costs worked out by hand.

use rankwise_plan::Plan;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::explore::Extent;
use rankwise_plan::file::Format;
use rankwise_plan::need::{NeedsAnswer, judge_needs};
use rankwise_plan::read::NoArrays;
use rankwise_plan::repair::{Mend, Repair, Volume, repairs};
use rankwise_plan::term::Terms;

fn read(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The repairs by which every need is satisfied, in their order.
fn mended(text: &str) -> Vec<Repair> {
    let plan = read(text);
    let wanted: Vec<usize> = (0..plan.needs.len()).collect();
    let found = repairs(&plan, &plan.proposals[0], &wanted).unwrap();
    for repair in &found {
        // Each was re-checked; once more, here.
        assert!(repair.all_satisfied);
        let mut terms = Terms::new();
        let proposal = &repair.plan.proposals[0];
        let evaluation = evaluate(&repair.plan, proposal, &mut terms).unwrap();
        let report = judge_needs(&repair.plan, proposal, &evaluation, &mut terms).unwrap();
        assert_eq!(report.answer(), NeedsAnswer::Satisfied);
    }
    found
}

fn kinds(found: &[Repair]) -> Vec<&'static str> {
    let kind = |repair: &Repair| match repair.mend {
        Mend::Map { .. } => "map",
        Mend::Messages(_) => "messages",
        Mend::Gather { .. } => "gather",
        Mend::Index(_) => "index",
    };
    found.iter().map(kind).collect()
}

fn volume(elements: u64, bytes: u64) -> Volume {
    Volume { elements, bytes }
}

/// The mission: A is now rank 1, and still reads the first shard.
const FIRST_SHARD: &str = r#"
    format = 1
    group.devices = ["B", "A"]
    input.x = { dtype = "i32", count = 4, meaning = "gradient" }
    proposal.sharded.step = [
        { call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
    ]
    need = [{ on = { device = "A" }, buffer = "s", holds = "shard(sum(x), 0)" }]
"#;

#[test]
fn four_repairs_of_the_first_shard() {
    let found = mended(FIRST_SHARD);
    assert_eq!(kinds(&found), ["map", "index", "messages", "gather"]);
    let [map, index, messages, gather] = found.as_slice() else { panic!("{found:?}") };

    let Mend::Map { permutation, fewest } = &map.mend else { panic!("{map:?}") };
    assert_eq!((permutation.to_string().as_str(), *fewest), ("(0 1)", Extent::Exact));
    assert_eq!(map.text, "[group]\ndevices = [\"A\", \"B\"]\n");
    assert_eq!((map.total(), map.steps), (volume(0, 0), 0));

    let Mend::Index(rewritten) = &index.mend else { panic!("{index:?}") };
    assert_eq!(rewritten[0].from, "holds = 'shard(sum(x), 0)'");
    assert_eq!(rewritten[0].to, "holds = 'shard(sum(x), 1)'");
    assert_eq!(index.total(), volume(0, 0));

    // Rank 0 (B) has the first shard: two elements of four bytes go to rank 1 (A).
    let Mend::Messages(moves) = &messages.mend else { panic!("{messages:?}") };
    assert_eq!((moves[0].from.index(), moves[0].to.index()), (0, 1));
    assert_eq!((messages.total(), messages.steps), (volume(2, 8), 2));
    let [sender, receiver] = messages.payloads.as_slice() else { panic!("{messages:?}") };
    assert_eq!((sender.input, sender.output), (volume(2, 8), volume(0, 0)));
    assert_eq!((receiver.input, receiver.output), (volume(0, 0), volume(2, 8)));

    // Both ranks are left with both shards: 2 · 4 elements; A takes the first two.
    assert_eq!((gather.total(), gather.steps), (volume(8, 32), 2));
    assert!(gather.text.contains("positions = \"0..2\""), "{}", gather.text);
}

/// What is printed for the file is a plan that does it.
#[test]
fn the_text_can_be_pasted() {
    let found = mended(FIRST_SHARD);
    for repair in found.iter().filter(|repair| repair.steps > 0) {
        let inline = "    proposal.sharded.step = [\n        \
                      { call = \"reduce_scatter\", op = \"sum\", send = \"x\", recv = \"s\" },\n    ]\n";
        let own = "[[proposal.sharded.step]]\ncall = \"reduce_scatter\"\nop = \"sum\"\nsend = \"x\"\nrecv = \"s\"\n";
        let need = "    need = [{ on = { device = \"A\" }, buffer = \"s\", holds = \"shard(sum(x), 0)\" }]\n";
        assert!(FIRST_SHARD.contains(inline) && FIRST_SHARD.contains(need));
        let head = FIRST_SHARD.replace(inline, "").replace(need, "");
        let need =
            "[[need]]\non = { device = \"A\" }\nbuffer = \"s\"\nholds = \"shard(sum(x), 0)\"\n";
        let plan = read(&format!("{head}\n{own}\n{}\n{need}", repair.text));
        let mut terms = Terms::new();
        let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms).unwrap();
        let report = judge_needs(&plan, &plan.proposals[0], &evaluation, &mut terms).unwrap();
        assert_eq!(report.answer(), NeedsAnswer::Satisfied, "{}", repair.text);
    }
}

/// Three devices turned: each has the shard that the next one needs, so each sends one
/// and gets one, and none may be overwritten before it has gone.
#[test]
fn shards_in_a_circle_are_exchanged() {
    let found = mended(
        r#"
        format = 1
        group.devices = ["B", "C", "A"]
        input.x = { dtype = "bf16", count = 9 }
        proposal.it.step = [{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" }]
        need = [
            { on = { device = "A" }, buffer = "s", holds = "shard(sum(x), 0)" },
            { on = { device = "B" }, buffer = "s", holds = "shard(sum(x), 1)" },
            { on = { device = "C" }, buffer = "s", holds = "shard(sum(x), 2)" },
        ]
        "#,
    );
    assert_eq!(kinds(&found), ["map", "index", "messages", "gather"]);
    let Mend::Messages(moves) = &found[2].mend else { panic!("{found:?}") };
    let moves: Vec<_> = moves.iter().map(|one| (one.from.index(), one.to.index())).collect();
    assert_eq!(moves, [(0, 2), (1, 0), (2, 1)]); // in the order of the needs
    // Three messages of three elements of two bytes; a gather of nine on each of three.
    assert_eq!((found[2].total(), found[2].steps), (volume(9, 18), 9));
    assert_eq!((found[3].total(), found[3].steps), (volume(27, 54), 4));
}

/// Only as many devices move as must: C and D stay, though any order of them would do.
#[test]
fn the_map_moves_as_few_devices_as_it_can() {
    let found = mended(
        r#"
        format = 1
        group.devices = ["C", "B", "A", "D"]
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [{ call = "broadcast", root = 0, send = "x", recv = "y" }]
        need = [{ on = { device = "D" }, buffer = "y", holds = "x@A" }]
        "#,
    );
    let Mend::Map { permutation, fewest } = &found[0].mend else { panic!("{found:?}") };
    // A becomes rank 0; C, which was there, takes its place.
    assert_eq!((permutation.to_string().as_str(), *fewest), ("(0 2)", Extent::Exact));
    // Nobody has x@A in y, so no message of y helps; the consumer may take what C has.
    assert_eq!(kinds(&found), ["map", "index"]);
    assert!(found[1].text.contains("holds = 'x@C'"), "{}", found[1].text);
}

/// The whole sum is needed where shards are: an all-gather, which no map can replace.
#[test]
fn a_gather_mends_what_no_map_can() {
    let found = mended(
        r#"
        format = 1
        group.devices = ["A", "B"]
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }]
        need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
        "#,
    );
    assert_eq!(kinds(&found), ["gather"]);
    assert_eq!((found[0].total(), found[0].steps), (volume(8, 32), 3));
}

/// Within a node is enough: two groups of two gather, not four ranks.
#[test]
fn a_gather_runs_where_it_costs_least() {
    let found = mended(
        r#"
        format = 1
        group.devices = ["A", "B", "C", "D"]
        groups.node.lists = [[0, 1], [2, 3]]
        input.x = { dtype = "i32", count = 8 }
        proposal.it.step = [
            { call = "reduce_scatter", op = "sum", send = "x", recv = "s", over = "node" },
        ]
        need = [
            { on = { rank = 0 }, buffer = "s", holds = "shard(sum(x) over node, 1) over node" },
            { on = { rank = 1 }, buffer = "s", holds = "shard(sum(x) over node, 0) over node" },
        ]
        "#,
    );
    // No map, as no device is named.
    assert_eq!(kinds(&found), ["index", "messages", "gather"]);
    assert_eq!(found[1].total(), volume(8, 32));
    let Mend::Gather { over, .. } = &found[2].mend else { panic!("{found:?}") };
    assert_eq!((over.as_deref(), found[2].total()), (Some("node"), volume(32, 128)));
}

#[test]
fn nothing_mends_a_value_that_nobody_has() {
    let found = mended(
        r#"
        format = 1
        group.devices = ["A", "B"]
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [{ call = "all_reduce", op = "max", send = "x", recv = "y" }]
        need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
        "#,
    );
    assert!(found.is_empty(), "{found:?}");
}
