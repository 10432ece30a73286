//! Buffers of other lengths on other ranks, and the calls with a count for each.

use rankwise_plan::plan::{Act, Counts};
use rankwise_plan::relabel::relabel;

use super::{SATISFIED, answer, done, plan, refused, text};

const RAGGED: &str = "input.x = { dtype = \"i32\", counts = [3, 2, 2] }";

#[test]
fn all_gather_v_is_a_broadcast_from_each() {
    let step = r#"call = "all_gather_v", send = "x", recv = "y", counts = [3, 2, 2]"#;
    let text = text(3, RAGGED, &[step]);
    let done = done(&text);
    let Act::Group(group) = &done.plan.proposals[0].steps[0].act else { panic!("a group") };
    let [b0, b1, b2] = &group.steps[..] else { panic!("one broadcast for each rank") };
    for (root, (step, into)) in
        [(b0, "y[0..3]"), (b1, "y[3..5]"), (b2, "y[5..7]")].iter().enumerate()
    {
        let Act::Collective(call) = &step.act else { panic!("a collective") };
        assert_eq!(call.kind.name(), "broadcast");
        assert_eq!(call.root.unwrap().index() as usize, root);
        assert_eq!(call.recv.to_string(), *into);
    }
    for rank in 0..3 {
        assert_eq!(done.held(rank, "y"), ["x@rank0[0..3]", "x@rank1[0..2]", "x@rank2[0..2]"]);
    }
    let need = "need = [{ on = \"every rank\", buffer = \"y\", holds = \"gather(x)\" }]\n";
    assert_eq!(answer(&format!("{text}{need}")), SATISFIED);
    // Three calls, each with the payload of a broadcast.
    assert_eq!(done.evaluation.steps[0].calls.len(), 3);
}

#[test]
fn a_count_of_0_is_no_call() {
    let done = done(&text(
        3,
        "input.x = { dtype = \"i32\", counts = [0, 2, 1] }",
        &[r#"call = "all_gather_v", send = "x", recv = "y", counts = [0, 2, 1]"#],
    ));
    assert_eq!(done.held(0, "y"), ["x@rank1[0..2]", "x@rank2[0]"]);
    assert_eq!(done.evaluation.steps[0].calls.len(), 2);
}

#[test]
fn counts_that_are_not_those_of_the_ranks() {
    assert_eq!(
        refused(
            3,
            RAGGED,
            &[r#"call = "all_gather_v", send = "x", recv = "y", counts = [3, 3, 1]"#]
        ),
        "proposal.p.step[0]: found count 3, expected 2: for broadcast the count is the whole \
         vector, and `x` is that long"
    );
    assert_eq!(
        refused(3, RAGGED, &[r#"call = "all_gather_v", send = "x", recv = "y", counts = [3, 2]"#]),
        "proposal.p.step[0].counts: found 2 counts for a group of 3, expected one for each rank \
         of the group"
    );
    // What has one count for all ranks has no such buffers.
    assert_eq!(
        refused(3, RAGGED, &[r#"call = "all_gather", send = "x", recv = "y""#]),
        "proposal.p.step[0]: found count 2 of i32 on rank 1, expected count 3 of i32, as on rank 0"
    );
}

#[test]
fn reduce_scatter_v_is_a_reduce_to_each() {
    let inputs = "input.g = { dtype = \"i32\", count = 7 }";
    let step =
        r#"call = "reduce_scatter_v", op = "sum", send = "g", recv = "s", counts = [3, 2, 2]"#;
    let done = done(&text(3, inputs, &[step]));
    let sum = |at: &str| format!("g@rank0[{at}] + g@rank1[{at}] + g@rank2[{at}]");
    assert_eq!(done.held(0, "s"), [sum("0..3")]);
    assert_eq!(done.held(1, "s"), [sum("3..5")]);
    assert_eq!(done.held(2, "s"), [sum("5..7")]);
    // Back again: an all-reduce of a length that three ranks do not divide.
    let both = text(
        3,
        inputs,
        &[step, r#"call = "all_gather_v", send = "s", recv = "y", counts = [3, 2, 2]"#],
    );
    let need = "need = [{ on = \"every rank\", buffer = \"y\", holds = \"sum(g)\" }]\n";
    assert_eq!(answer(&format!("{both}{need}")), SATISFIED);
    // What is left over would be dropped without a word.
    assert_eq!(
        refused(
            3,
            inputs,
            &[
                r#"call = "reduce_scatter_v", op = "sum", send = "g", recv = "s", counts = [2, 2, 2]"#
            ]
        ),
        "proposal.p.step[0]: found buffer `g` of 7 elements on rank 0, expected 6, as many as the \
         counts add up to"
    );
}

#[test]
fn gather_v_and_scatter_v_are_messages() {
    let done = done(&text(
        3,
        RAGGED,
        &[
            r#"call = "gather_v", root = 1, send = "x", recv = "y", counts = [3, 2, 2]"#,
            r#"call = "copy", on = { rank = 1 }, send = "y", recv = "z""#,
            r#"call = "scatter_v", root = 1, send = "z", recv = "w", counts = [1, 4, 2]"#,
        ],
    ));
    assert_eq!(done.held(1, "y"), ["x@rank0[0..3]", "x@rank1[0..2]", "x@rank2[0..2]"]);
    // 7 positions: 0 | 1..5 | 5..7.
    assert_eq!(done.held(0, "w"), ["x@rank0[0]"]);
    assert_eq!(done.held(1, "w"), ["x@rank0[1..3]", "x@rank1[0..2]"]);
    assert_eq!(done.held(2, "w"), ["x@rank2[0..2]"]);
    let world = rankwise_topology::World::new(done.plan.world);
    assert!(done.evaluation.after.get(world.rank(0).unwrap(), "y").is_none());
}

/// Row r of the counts is what rank r sends to each: rank 0 sends 1 and 2, rank 1 sends
/// 3 and none.
#[test]
fn all_to_all_v_by_a_table_of_counts() {
    let inputs = "input.x = { dtype = \"i32\", counts = [3, 3] }";
    let done = done(&text(
        2,
        inputs,
        &[r#"call = "all_to_all_v", send = "x", recv = "y", counts = [[1, 2], [3, 0]]"#],
    ));
    assert_eq!(done.held(0, "y"), ["x@rank0[0]", "x@rank1[0..3]"]);
    assert_eq!(done.held(1, "y"), ["x@rank0[1..3]"]);
    assert_eq!(
        refused(2, inputs, &[r#"call = "all_to_all_v", send = "x", recv = "y", counts = [1, 2]"#]),
        "proposal.p.step[0].counts: found one list of counts, expected one list for each rank: \
         what it sends to each"
    );
    // Rank 0 has three elements, and would send two of them.
    let short = r#"call = "all_to_all_v", send = "x", recv = "y", counts = [[1, 1], [3, 0]]"#;
    assert_eq!(
        refused(2, inputs, &[short]),
        "proposal.p.step[0]: found buffer `x` of 3 elements on rank 0, expected 2, as many as the \
         counts add up to"
    );
}

/// Two groups of two, each with the same counts; and the same within a longer buffer.
#[test]
fn in_every_group_and_on_views() {
    let inputs = "groups.pair = { lists = [[0, 1], [3, 2]] }\n\
                  input.x = { dtype = \"i32\", counts = [2, 1, 1, 2] }";
    let done = done(&text(
        4,
        inputs,
        &[
            r#"call = "fill", recv = "y", value = 9, dtype = "i32", count = 5"#,
            r#"call = "all_gather_v", over = "pair", send = "x", recv = "y[1..4]", counts = [2, 1]"#,
        ],
    ));
    assert_eq!(done.held(1, "y"), ["9", "x@rank0[0..2]", "x@rank1[0]", "9"]);
    assert_eq!(done.held(2, "y"), ["9", "x@rank3[0..2]", "x@rank2[0]", "9"]);
}

/// A device keeps its own length whatever its rank.
#[test]
fn lengths_move_with_their_devices() {
    let text = "format = 1\ngroup.devices = [\"A\", \"B\", \"C\"]\n\
                input.x = { dtype = \"i32\", counts = [3, 2, 1], meaning = \"rows\" }\n\
                proposal.p.step = [{ call = \"gather_v\", root = 0, send = \"x\", recv = \"y\", \
                counts = [3, 2, 1] }]\n\
                need = [{ on = { rank = 0 }, buffer = \"y\", holds = \"gather(x)\" }]\n";
    let before = plan(text);
    let after = relabel(&before, &["C", "A", "B"]).unwrap();
    assert_eq!(after.inputs["x"].counts, Counts::ByRank(vec![1, 3, 2]));
    let mut terms = rankwise_plan::term::Terms::new();
    let error =
        rankwise_plan::evaluate::evaluate(&after, &after.proposals[0], &mut terms).unwrap_err();
    assert_eq!(
        error.to_string(),
        "proposal.p.step[0]: found count 3, expected 1, the length of the message"
    );
    // With counts that fit the devices, it is the same input.
    let fits = plan(
        &text
            .replace("\"A\", \"B\", \"C\"", "\"C\", \"A\", \"B\"")
            .replace("[3, 2, 1]", "[1, 3, 2]"),
    );
    let comparison = rankwise_plan::compare::compare(
        (&before, &before.proposals[0]),
        (&fits, &fits.proposals[0]),
        &mut rankwise_plan::term::Terms::new(),
    )
    .unwrap();
    assert!(comparison.unsettled.is_empty(), "{:?}", comparison.unsettled);
    let refused = rankwise_plan::explore::explore(&before, &before.proposals[0]).unwrap_err();
    assert!(refused.to_string().starts_with("input `x` has another length on each device"));
}

#[test]
fn values_of_ragged_inputs() {
    let text = text(
        2,
        "input.x = { dtype = \"i32\", counts = [2, 1], on.rank = { 0 = [1, 2], 1 = [3] } }",
        &[r#"call = "all_gather_v", send = "x", recv = "y", counts = [2, 1]"#],
    );
    let done = done(&text);
    let mut terms = rankwise_plan::term::Terms::new();
    let numbers = rankwise_plan::numbers::Numbers::of(&done.plan, &mut terms);
    let world = rankwise_topology::World::new(done.plan.world);
    let vector = done.evaluation.after.get(world.rank(1).unwrap(), "y").unwrap();
    let values: Vec<String> =
        numbers.values(&done.terms, vector).iter().map(|v| v.unwrap().to_string()).collect();
    assert_eq!(values, ["1", "2", "3"]);
}
