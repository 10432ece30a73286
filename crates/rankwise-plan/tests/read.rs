//! Plans that are right: what they say arrives, whichever way it is written.

use rankwise_model::{Dtype, OperationKind, Reduction, Scalar};
use rankwise_plan::error::{Place, Span};
use rankwise_plan::file::{Format, PlanFile};
use rankwise_plan::plan::{
    Act, Attachment, CollectiveStep, Direction, LocalAct, On, Operand, Plan, Proposal, Step,
};
use rankwise_plan::read::NoArrays;
use rankwise_topology::Partition;

const TWO_RANKS: &str = include_str!("../../../examples/plans/two-ranks.toml");

fn toml(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap()
}

fn collective(step: &Step) -> &CollectiveStep {
    match &step.act {
        Act::Collective(collective) => collective,
        other => panic!("no collective: {other:?}"),
    }
}

fn local(step: &Step) -> (&On, &LocalAct, &str) {
    match &step.act {
        Act::Local(local) => (&local.on, &local.act, &local.recv.buffer),
        other => panic!("no local act: {other:?}"),
    }
}

fn groups(partition: &Partition) -> Vec<String> {
    partition.groups().iter().map(ToString::to_string).collect()
}

fn integers(plan: &Plan, input: &str) -> Vec<Vec<i128>> {
    let values = plan.inputs[input].values.as_ref().unwrap();
    let of = |values: &rankwise_plan::values::Values| {
        values.iter().map(|value| value.to_integer().unwrap()).collect()
    };
    values.iter().map(of).collect()
}

/// The plan without its places, in words.
fn meaning(mut plan: Plan) -> String {
    let nowhere = Span::default();
    plan.inputs.values_mut().for_each(|input| input.span = nowhere);
    for proposal in &mut plan.proposals {
        proposal.span = nowhere;
        for step in &mut proposal.steps {
            step.span = nowhere;
            if let Act::Collective(collective) = &mut step.act {
                collective.count_span = collective.count_span.map(|_| nowhere);
            }
        }
    }
    for need in &mut plan.needs {
        need.span = nowhere;
        need.holds = need.holds.without_spans();
    }
    format!("{plan:?}")
}

#[test]
fn two_ranks_arrive_whole() {
    let plan = toml(TWO_RANKS);
    assert_eq!(plan.world.get(), 2);
    let devices: Vec<String> =
        plan.map.as_ref().unwrap().devices().iter().map(ToString::to_string).collect();
    assert_eq!(devices, ["A", "B"]);

    let x = &plan.inputs["x"];
    assert_eq!(
        (x.dtype, x.counts.each(), x.attached, x.rounded),
        (Dtype::I32, Some(4), Attachment::Device, 0)
    );
    assert_eq!(x.meaning.as_deref(), Some("gradient of layer 0"));
    assert_eq!(integers(&plan, "x"), [[1, 2, 3, 4], [10, 20, 30, 40]]);

    let names: Vec<&str> = plan.proposals.iter().map(|proposal| proposal.name.as_str()).collect();
    assert_eq!(names, ["whole", "sharded", "originals"]); // the order of the file
    let [scatter, gather] = plan.proposals[1].steps.as_slice() else { panic!("two steps") };
    assert_eq!(scatter.span.place(TWO_RANKS), Place { line: 27, column: 1 });
    let scatter = collective(scatter);
    assert_eq!(scatter.kind, OperationKind::ReduceScatter);
    assert_eq!(scatter.reduction, Some(Reduction::Sum));
    assert_eq!((&scatter.send, &scatter.recv), (&Operand::whole("x"), &Operand::whole("s")));
    assert_eq!(scatter.count, Some(2));
    assert_eq!(scatter.count_span.unwrap().place(TWO_RANKS), Place { line: 32, column: 9 });
    assert_eq!((groups(&scatter.over), &scatter.over_name), (vec!["[0, 1]".into()], &None));
    let gather = collective(gather);
    assert_eq!(
        (gather.kind, gather.reduction, gather.root),
        (OperationKind::AllGather, None, None)
    );

    let [need] = plan.needs.as_slice() else { panic!("one need") };
    assert_eq!((&need.on, need.buffer.as_str(), &need.positions), (&On::EveryRank, "y", &None));
    assert_eq!(need.holds.to_string(), "sum(x)");
    assert_eq!(need.holds.span.place(TWO_RANKS), Place { line: 51, column: 10 });
}

#[test]
fn json_by_machine_says_the_same() {
    let file = PlanFile::read(TWO_RANKS, Format::Toml).unwrap();
    let json = serde_json::to_string_pretty(&file).unwrap();
    assert_eq!(PlanFile::read(&json, Format::Json).unwrap(), file);
    let plan = Plan::read(&json, Format::Json, &mut NoArrays).unwrap();
    assert_eq!(meaning(plan), meaning(toml(TWO_RANKS)));
}

#[test]
fn json_by_hand_says_the_same() {
    let json = r#"{
        "format": 1,
        "group": { "devices": ["A", "B"], "ranks": 2, "sharing": "exclusive" },
        "input": { "x": {
            "dtype": "i32", "count": "4", "meaning": "gradient of layer 0", "by": null,
            "on": { "device": { "B": [10, "20", 30, 40], "A": [1, 2, 3, 4] } }
        } },
        "proposal": {
            "whole": { "step": [
                { "call": "all_reduce", "op": "sum", "send": "x", "recv": "y", "count": 4 }
            ] },
            "sharded": { "step": [
                { "call": "reduce_scatter", "op": "sum", "send": "x", "recv": "s", "count": 2 },
                { "call": "all_gather", "send": "s", "recv": "y", "count": 2, "over": "world" }
            ] },
            "originals": { "step": [
                { "call": "all_gather", "send": "x", "recv": "y", "count": 4 }
            ] }
        },
        "need": [{ "on": "every rank", "buffer": "y", "holds": "sum(x)" }]
    }"#;
    let plan = Plan::read(json, Format::Json, &mut NoArrays).unwrap();
    assert_eq!(meaning(plan), meaning(toml(TWO_RANKS)));
}

#[test]
fn what_is_missing_stays_missing() {
    let plan = toml(
        r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "f32", count = 4 }
        [[proposal.p.step]]
        call = "all_reduce"
        send = "x"
        recv = "y"
        "#,
    );
    assert!(plan.map.is_none() && plan.needs.is_empty());
    let x = &plan.inputs["x"];
    assert_eq!((&x.meaning, x.attached, x.values.is_none()), (&None, Attachment::Rank, true));
    let step = collective(&plan.proposals[0].steps[0]);
    assert_eq!((step.reduction, step.count, step.count_span), (None, None, None));
    assert_eq!((&plan.proposals[0].outputs, plan.proposals[0].renames.len()), (&None, 0));
}

#[test]
fn every_way_to_write_groups() {
    let plan = toml(
        r#"
        format = 1
        group.ranks = 8
        mesh = { axes = ["node", "gpu"], shape = [2, 4] }
        [groups]
        some = { ranks = [5, 2, 7] }
        pairs = { lists = [[3, 1], [0, 2]] }
        tp = { axis = "gpu" }
        all = { axes = ["gpu", "node"] }
        split = { colors = [1, 1, "none", 0, -1, 0, 1, 1], keys = [0, -5, 0, 9, 0, 9, -5, 0] }
        by_rank = { colors = [0, 1, 0, 1, 0, 1, 0, 1] }
        [[proposal.p.step]]
        call = "broadcast"
        root = 1
        over = [[7, 6], [0, 1, 2]]
        send = "a"
        recv = "b"
        "#,
    );
    let of = |name: &str| groups(&plan.partitions[name]);
    assert_eq!(of("node"), ["[0, 4]", "[1, 5]", "[2, 6]", "[3, 7]"]);
    assert_eq!(of("gpu"), ["[0, 1, 2, 3]", "[4, 5, 6, 7]"]);
    assert_eq!(of("tp"), of("gpu"));
    assert_eq!(of("some"), ["[5, 2, 7]"]);
    assert_eq!(of("pairs"), ["[3, 1]", "[0, 2]"]);
    assert_eq!(of("all"), ["[0, 4, 1, 5, 2, 6, 3, 7]"]);
    assert_eq!(of("split"), ["[3, 5]", "[1, 6, 0, 7]"]); // by key, ties by rank
    assert_eq!(of("by_rank"), ["[0, 2, 4, 6]", "[1, 3, 5, 7]"]);
    let step = collective(&plan.proposals[0].steps[0]);
    assert_eq!(groups(&step.over), ["[7, 6]", "[0, 1, 2]"]);
    assert_eq!((step.root.unwrap().index(), &step.over_name), (1, &None));
}

#[test]
fn every_call_that_is_no_collective() {
    let plan = toml(
        r#"
        format = 1
        group.devices = ["A", "B"]
        input.x = { dtype = "f32", count = 8 }

        [proposal.p]
        outputs = ["out", "z"]
        as = { y = "out" }
        step = [
            { call = "send", on = { device = "A" }, peer = 1, send = "x", count = 8 },
            { call = "recv", on = { rank = 1 }, peer = 0, recv = "m" },
            { call = "copy", send = "x", recv = "c" },
            { call = "slice", send = "x", positions = " 2 .. 6 ", recv = "s" },
            { call = "concat", send = ["x", "s"], recv = "l" },
            { call = "fold", op = "max", send = ["x", "c"], recv = "f" },
            { call = "scale", by = 0.5, send = "x", recv = "h" },
            { call = "scale", by = "-1/8", send = "x", recv = "e" },
            { call = "cast", dtype = "bf16", send = "x", recv = "y", on = { group = "world" } },
            { call = "all_reduce", op = "premul", scalars = [1, "0.25"], send = "x", recv = "z" },
        ]
        "#,
    );
    let Proposal { steps, outputs, renames, .. } = &plan.proposals[0];
    assert_eq!(outputs.as_ref().unwrap(), &["out", "z"]);
    assert_eq!(renames["y"], "out");
    let [send, recv, copy, slice, concat, fold, half, eighth, cast, premul] = steps.as_slice()
    else {
        panic!("ten steps");
    };
    let Act::Message(send) = &send.act else { panic!("a message") };
    assert_eq!((send.direction, &send.on), (Direction::Send, &On::Device("A".into())));
    assert_eq!(
        (send.peer.index(), send.buffer.to_string().as_str(), send.count),
        (1, "x", Some(8))
    );
    let Act::Message(recv) = &recv.act else { panic!("a message") };
    assert_eq!((recv.direction, recv.peer.index(), recv.count), (Direction::Recv, 0, None));
    assert!(matches!(&recv.on, On::Rank(rank) if rank.index() == 1));

    assert!(
        matches!(local(copy), (On::EveryRank, LocalAct::Copy { from }, "c") if from.to_string() == "x")
    );
    assert!(matches!(local(slice).1, LocalAct::Slice { positions, .. } if *positions == (2..6)));
    assert!(
        matches!(local(concat).1, LocalAct::Concat { from } if *from == ["x", "s"].map(Operand::whole))
    );
    assert!(matches!(
        local(fold).1,
        LocalAct::Fold { from, reduction: Some(Reduction::Max) } if *from == ["x", "c"].map(Operand::whole)
    ));
    let by = |step| match local(step).1 {
        LocalAct::Scale { by, .. } => by.clone(),
        other => panic!("no scale: {other:?}"),
    };
    assert_eq!(by(half), ("0.5".into(), "1".into()));
    assert_eq!(by(eighth), ("-1".into(), "8".into()));
    assert!(matches!(local(cast), (On::EveryRank, LocalAct::Cast { to: Dtype::Bf16, .. }, "y")));
    assert_eq!(collective(premul).scalars.as_ref().unwrap(), &["1", "0.25"]);
}

#[test]
fn numbers_arrive_as_they_are_written() {
    let plan = toml(
        r#"
        format = 1
        group.ranks = 1
        [input]
        big = { dtype = "u64", on.rank.0 = [18446744073709551615, "9007199254740993", 0xff, 1_0] }
        low = { dtype = "i64", on.rank.0 = [-9223372036854775808] }
        half = { dtype = "bf16", on.rank.0 = [0.1, 1, -2.5, nan, inf, "-inf", 1e-3] }
        "#,
    );
    assert_eq!(integers(&plan, "big"), [[u64::MAX.into(), 9_007_199_254_740_993, 255, 10]]);
    assert_eq!(integers(&plan, "low"), [[i64::MIN.into()]]);
    let half = &plan.inputs["half"];
    assert_eq!((half.counts.each(), half.rounded), (Some(7), 2)); // 0.1 and 0.001
    let bits: Vec<u64> = half.values.as_ref().unwrap()[0].iter().map(Scalar::bits).collect();
    assert_eq!(bits, [0x3dcd, 0x3f80, 0xc020, 0x7fff, 0x7f80, 0xff80, 0x3a83]);
}

#[test]
fn numbers_survive_json() {
    let toml = r#"
        format = 1
        group.ranks = 1
        input.x = { dtype = "u64", on.rank.0 = [18446744073709551615, 7] }
        input.y = { dtype = "f64", on.rank.0 = [0.1, 0.10, 1e300, nan, inf] }
    "#;
    let file = PlanFile::read(toml, Format::Toml).unwrap();
    let json = serde_json::to_string(&file).unwrap();
    assert!(json.contains(r#"["18446744073709551615",7]"#), "{json}");
    assert!(json.contains(r#"[0.1,"0.10","1e300","nan","inf"]"#), "{json}");
    assert_eq!(PlanFile::read(&json, Format::Json).unwrap(), file);
}

#[test]
fn a_device_with_several_ranks_owns_no_contribution() {
    let plan = toml(
        r#"
        format = 1
        group = { devices = ["A", "A", "B"], sharing = "shared" }
        input.x = { dtype = "i32", on.rank = { 2 = [3], 0 = [1], 1 = [2] } }
        input.s = { dtype = "i32", count = 1 }
        "#,
    );
    assert_eq!(plan.inputs["x"].attached, Attachment::Rank);
    assert_eq!(plan.inputs["s"].attached, Attachment::Rank);
    assert_eq!(integers(&plan, "x"), [[1], [2], [3]]);
}

#[test]
fn a_device_is_itself_however_it_is_spelt() {
    let plan = toml(
        r#"
        format = 1
        group.devices = ["node1/0000:59:00.0", "node1/0000:5a:00.0"]
        input.x = { dtype = "i32", on.device = { "NODE1/5A:00.0" = [2], "node1/59:00.0" = [1] } }
        [[need]]
        on = { device = "node1/5a:00.0" }
        buffer = "x"
        positions = "0..1"
        holds = 'x@"node1/59:00.0"'
        "#,
    );
    assert_eq!(integers(&plan, "x"), [[1], [2]]);
    assert_eq!(plan.needs[0].on, On::Device("node1/0000:5a:00.0".into()));
    assert_eq!(plan.needs[0].positions, Some(0..1));
    assert_eq!(plan.needs[0].holds.to_string(), "x@\"node1/0000:59:00.0\"");
}

#[test]
fn places_are_exact_in_plain_strings_and_whole_in_escaped_ones() {
    let plan = |holds: &str| {
        format!(
            "format = 1\ngroup.ranks = 2\ninput.x = {{ dtype = \"i32\", count = 2 }}\n\
             [[need]]\non = \"every rank\"\nbuffer = \"x\"\nholds = {holds}\n"
        )
    };
    let place = |holds: &str| {
        let text = plan(holds);
        let error = Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_err();
        error.span.place(&text).to_string()
    };
    assert_eq!(place("\"sum(z)\""), "7:14");
    assert_eq!(place("'sum(z)'"), "7:14");
    assert_eq!(place("\"\"\"sum(z)\"\"\""), "7:16");
    assert_eq!(place("'''\nsum(\n  z)'''"), "9:3");
    assert_eq!(place("\"s\\u0075m(z)\""), "7:9");
}
