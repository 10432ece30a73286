//! Every collective, in place and out, over parts of the world, for every type.

use rankwise_model::Dtype;
use rankwise_run::record::{BufferVerdict, Verdict};
use rstest::rstest;

use crate::toy::Wrong;
use crate::{held, outcome};

/// Three ranks that hold [1, 2], [10, 20], [100, 200], and one step from x to y.
fn three(step: &str, x: [&str; 3]) -> String {
    let [a, b, c] = x;
    let count = a.split(',').count();
    format!(
        r#"
        format = 1
        group.ranks = 3
        input.x = {{ dtype = "i32", count = {count}, meaning = "m", on.rank = {{ 0 = [{a}], 1 = [{b}], 2 = [{c}] }} }}
        proposal.p.step = [{{ {step} }}]
        "#
    )
}

const SMALL: [&str; 3] = ["1, 2", "10, 20", "100, 200"];
const WIDE: [&str; 3] =
    ["1, 2, 3, 4, 5, 6", "10, 20, 30, 40, 50, 60", "100, 200, 300, 400, 500, 600"];

#[rstest]
#[case("call = 'all_reduce', op = 'sum'", SMALL, [vec![111, 222], vec![111, 222], vec![111, 222]])]
#[case("call = 'all_reduce', op = 'min'", SMALL, [vec![1, 2], vec![1, 2], vec![1, 2]])]
#[case("call = 'all_reduce', op = 'premul', scalars = [1, 2, 3]", SMALL, [vec![321, 642], vec![321, 642], vec![321, 642]])]
#[case("call = 'broadcast', root = 2", SMALL, [vec![100, 200], vec![100, 200], vec![100, 200]])]
#[case("call = 'all_gather'", SMALL, [vec![1, 2, 10, 20, 100, 200], vec![1, 2, 10, 20, 100, 200], vec![1, 2, 10, 20, 100, 200]])]
#[case("call = 'reduce_scatter', op = 'sum'", WIDE, [vec![111, 222], vec![333, 444], vec![555, 666]])]
#[case("call = 'all_to_all'", WIDE, [vec![1, 2, 10, 20, 100, 200], vec![3, 4, 30, 40, 300, 400], vec![5, 6, 50, 60, 500, 600]])]
#[case("call = 'scatter', root = 1", WIDE, [vec![10, 20], vec![30, 40], vec![50, 60]])]
fn a_collective_leaves_what_it_is_defined_to(
    #[case] step: &str,
    #[case] x: [&str; 3],
    #[case] expected: [Vec<i32>; 3],
) {
    let text = three(&format!("{step}, send = 'x', recv = 'y'"), x).replace('\'', "\"");
    let outcome = outcome(&text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    let expected = expected.map(|rank| rank.into_iter().map(f64::from).collect::<Vec<_>>());
    assert_eq!(held(&outcome, "y"), expected);
}

/// Of a rooted call nothing is promised elsewhere, and nothing is looked at there.
#[rstest]
#[case("call = 'reduce', op = 'sum', root = 1", [111, 222].into())]
#[case("call = 'gather', root = 1", [1, 2, 10, 20, 100, 200].into())]
fn a_rooted_collective_promises_its_output_to_the_root(#[case] step: &str, #[case] root: Vec<i32>) {
    let text = three(&format!("{step}, send = 'x', recv = 'y'"), SMALL).replace('\'', "\"");
    let outcome = outcome(&text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    let root: Vec<f64> = root.into_iter().map(f64::from).collect();
    assert_eq!(held(&outcome, "y")[1], root);
    let y = outcome.record.buffers.iter().filter(|buffer| buffer.buffer == "y");
    let verdicts: Vec<_> = y.map(|buffer| (buffer.verdict, buffer.sense.clone())).collect();
    let nothing = (BufferVerdict::NotPromised, None);
    let exact = (BufferVerdict::Holds, Some("exact".to_owned()));
    assert_eq!(verdicts, [nothing.clone(), exact, nothing]);
}

#[rstest]
#[case("call = 'all_reduce', op = 'sum'", WIDE, 0, vec![111, 222, 333, 444, 555, 666])]
#[case("call = 'reduce', op = 'sum', root = 2", WIDE, 2, vec![111, 222, 333, 444, 555, 666])]
#[case("call = 'broadcast', root = 0", WIDE, 1, vec![1, 2, 3, 4, 5, 6])]
#[case("call = 'all_gather'", WIDE, 0, vec![1, 2, 30, 40, 500, 600])]
#[case("call = 'scatter', root = 0", WIDE, 1, vec![3, 4])]
fn in_place_by_the_operations_own_relation(
    #[case] step: &str,
    #[case] x: [&str; 3],
    #[case] rank: usize,
    #[case] expected: Vec<i32>,
) {
    let text = three(&format!("{step}, send = 'x', recv = 'x'"), x).replace('\'', "\"");
    let outcome = outcome(&text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
    assert_eq!(held(&outcome, "x")[rank], expected);
}

/// The output is the own block; the blocks of the others are lost.
#[test]
fn reduce_scatter_in_place_promises_the_own_block() {
    let text = three("call = 'reduce_scatter', op = 'sum', send = 'x', recv = 'x'", WIDE);
    let outcome = outcome(&text.replace('\'', "\""), &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "x")[1][2..4], [333.0, 444.0]);
}

/// The root's input is its own block of a buffer that the others do not have yet.
#[test]
fn gather_in_place_reads_the_roots_own_block() {
    let text = r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 2, meaning = "m", on.rank = { 0 = [1, 2], 1 = [10, 20] } }
        proposal.p.step = [
            { call = "concat", on = { rank = 1 }, send = ["x", "x"], recv = "y" },
            { call = "copy", on = { rank = 0 }, send = "x", recv = "y" },
            { call = "gather", root = 1, send = "y", recv = "y" },
        ]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "y")[1], [1.0, 2.0, 10.0, 20.0]);
}

/// Ranks 0 1 / 2 3 on a mesh of rows and columns.
#[test]
fn sub_groups_of_a_mesh_each_have_their_communicator() {
    let text = r#"
        format = 1
        group.ranks = 4
        mesh = { axes = ["row", "column"], shape = [2, 2] }
        input.x = { dtype = "i32", count = 2, meaning = "m", on.rank = { 0 = [1, 2], 1 = [10, 20], 2 = [100, 200], 3 = [1000, 2000] } }
        proposal.p.step = [
            { call = "reduce_scatter", op = "sum", over = "column", send = "x", recv = "s" },
            { call = "all_reduce", op = "sum", over = "row", send = "s", recv = "t" },
            { call = "all_gather", over = "column", send = "t", recv = "y" },
            { call = "all_reduce", op = "max", send = "x", recv = "z" },
        ]
        need = [{ on = "every rank", buffer = "y", holds = "sum(x)" }]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "s"), [[11.0], [22.0], [1100.0], [2200.0]]);
    assert_eq!(held(&outcome, "y"), [[1111.0, 2222.0]; 4]);
    let steps = &outcome.record.steps;
    let groups = |step: usize| -> Vec<(&str, Vec<u32>, u64)> {
        let calls = steps[step].calls.iter();
        calls.map(|call| (call.comm.as_str(), call.group.clone(), call.seq.0)).collect()
    };
    assert_eq!(groups(0), [("world/0.0", vec![0, 1], 0), ("world/0.1", vec![2, 3], 0)]);
    assert_eq!(groups(1), [("world/1.0", vec![0, 2], 0), ("world/1.1", vec![1, 3], 0)]);
    // The second call of that communicator; no second split.
    assert_eq!(groups(2), [("world/0.0", vec![0, 1], 1), ("world/0.1", vec![2, 3], 1)]);
    // The two splits were collectives 0 and 1 of the world.
    assert_eq!(groups(3), [("world", vec![0, 1, 2, 3], 2)]);
}

/// The list is the rank order, and rank 1 is in no group.
#[test]
fn a_groups_list_is_its_rank_order() {
    let text = r#"
        format = 1
        group.ranks = 3
        input.x = { dtype = "i32", count = 1, meaning = "m", on.rank = { 0 = [1], 1 = [10], 2 = [100] } }
        proposal.p.step = [{ call = "all_gather", over = [[2, 0]], send = "x", recv = "y" }]
    "#;
    let outcome = outcome(text, &Wrong::default());
    assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
    assert_eq!(held(&outcome, "y"), [[100.0, 1.0]; 2]);
    assert_eq!(outcome.record.steps[0].calls[0].group, [2, 0]);
}

#[test]
fn every_element_type_is_run_and_judged() {
    for dtype in Dtype::ALL {
        let text = format!(
            r#"
            format = 1
            group.ranks = 3
            input.x = {{ dtype = "{dtype}", count = 6, meaning = "m" }}
            proposal.p.step = [
                {{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" }},
                {{ call = "all_gather", send = "s", recv = "y" }},
                {{ call = "all_reduce", op = "avg", send = "x", recv = "mean" }},
                {{ call = "all_reduce", op = "prod", send = "x", recv = "product" }},
            ]
            need = [{{ on = "every rank", buffer = "y", holds = "sum(x)" }}]
            "#
        );
        let outcome = outcome(&text, &Wrong::default());
        assert_eq!(outcome.record.verdict, Verdict::Right, "{:#?}", outcome.record);
        assert_eq!(outcome.record.buffers.len(), 5 * 3);
        let y = outcome.record.buffers.iter().find(|buffer| buffer.buffer == "y").unwrap();
        let sense = if dtype.is_float() { "bits given the fold order" } else { "exact" };
        assert_eq!((y.dtype.as_str(), y.sense.as_deref()), (dtype.name(), Some(sense)));
    }
}
