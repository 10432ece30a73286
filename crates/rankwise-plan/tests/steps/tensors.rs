//! Padding with its owner and value, and tensors shared out along an axis.

use rankwise_plan::need::NeedsAnswer;

use super::{SATISFIED, answer, done, refused, text};

/// Seven over three: 3, 3 and 1 with two of padding on the last.
#[test]
fn who_owns_the_padding_and_what_it_holds() {
    let shard = |uneven: &str| {
        let step = format!("call = \"shard\", send = \"x\", recv = \"s\", {uneven}");
        done(&text(3, "input.x = { dtype = \"f32\", count = 7 }", &[&step]))
    };
    let padded = shard("uneven = \"pad\", value = 0");
    assert_eq!(padded.held(0, "s"), ["x@rank0[0..3]"]);
    assert_eq!(padded.held(1, "s"), ["x@rank1[3..6]"]);
    assert_eq!(padded.held(2, "s"), ["x@rank2[6]", "0 (padding)"]);
    let chunks = shard("uneven = \"chunk\"");
    assert_eq!(chunks.held(2, "s"), ["x@rank2[6]"]);
    let balanced = shard("uneven = \"balanced\"");
    assert_eq!(balanced.held(0, "s"), ["x@rank0[0..3]"]);
    assert_eq!(balanced.held(1, "s"), ["x@rank1[3..5]"]);
    assert_eq!(balanced.held(2, "s"), ["x@rank2[5..7]"]);
    assert_eq!(
        refused(
            3,
            "input.x = { dtype = \"f32\", count = 7 }",
            &["call = \"shard\", send = \"x\", recv = \"s\""]
        ),
        "proposal.p.step[0]: found a shard of 7 elements over 3 ranks, expected a length that 3 \
         divides, or `uneven`: equal shards would lose 1 element"
    );
}

/// Five over four as torch.chunk cuts: 2, 2, 1 and none.
#[test]
fn a_shard_of_no_elements() {
    let done = done(&text(
        4,
        "input.x = { dtype = \"i32\", count = 5 }",
        &[
            r#"call = "shard", send = "x", recv = "s", uneven = "chunk""#,
            r#"call = "all_gather_v", send = "s", recv = "y", counts = [2, 2, 1, 0]"#,
        ],
    ));
    assert_eq!(done.held(3, "s"), [""; 0]);
    assert_eq!(done.held(3, "y"), ["x@rank0[0..2]", "x@rank1[2..4]", "x@rank2[4]"]);
}

/// A flat parameter of 10 padded to 12 for four ranks, as FSDP does: gathered, the
/// padding is there and cut off again.
#[test]
fn a_padded_flat_parameter() {
    let inputs = "input.w = { dtype = \"f32\", shape = [2, 3] }\n\
                  input.b = { dtype = \"f32\", count = 4 }\n\
                  input.g = { dtype = \"f32\", count = 10 }";
    let steps = [
        r#"call = "concat", send = ["w", "b"], recv = "flat""#,
        r#"call = "pad", send = "flat", recv = "padded", count = 12, value = 0"#,
        r#"call = "shard", send = "padded", recv = "mine""#,
        r#"call = "all_gather", send = "mine", recv = "full""#,
        r#"call = "pad", send = "g", recv = "gp", count = 12, value = 0"#,
        r#"call = "reduce_scatter", op = "sum", send = "gp", recv = "gs""#,
    ];
    let done = done(&text(4, inputs, &steps));
    assert_eq!(done.held(2, "mine"), ["b@rank2[0..3]"]);
    assert_eq!(done.held(3, "mine"), ["b@rank3[3]", "0 (padding)"]);
    let sum = "g@rank0[9] + g@rank1[9] + g@rank2[9] + g@rank3[9]";
    assert_eq!(done.held(3, "gs"), [sum, "0 (padding)"]);
    let need = |holds: &str| {
        let need =
            format!("need = [{{ on = \"every rank\", buffer = \"gs\", holds = \"{holds}\" }}]\n");
        answer(&format!("{}{need}", text(4, inputs, &steps)))
    };
    assert_eq!(need("shard(pad(sum(g), 12, 0))"), SATISFIED);
    assert_eq!(need("shard(sum(g), uneven = pad, value = 0)"), SATISFIED);
    assert_eq!(need("shard(sum(pad(g, 12, 0)))"), SATISFIED);
    let (wrong, why) = need("shard(pad(sum(g), 12, 1))");
    assert_eq!(wrong, NeedsAnswer::NotSatisfied);
    assert_eq!(why.unwrap(), "padding with 0 where 1 is needed");
    let (wrong, why) = need("shard(concat(sum(g), fill(0, f32, 1), g@rank0[9..10]))");
    assert_eq!(wrong, NeedsAnswer::NotSatisfied);
    assert_eq!(why.unwrap(), "padding with 0 where g@rank0[9] is needed");
}

/// Padding a maximum with zeros is not padding it with the least value.
#[test]
fn padding_has_a_value() {
    let inputs = "input.x = { dtype = \"i8\", count = 3 }";
    let with = |value: &str| {
        let pad = format!("call = \"pad\", send = \"x\", recv = \"p\", count = 4, value = {value}");
        let max = r#"call = "fold", op = "max", send = ["p[2..3]", "p[3..4]"], recv = "m""#;
        let need = "need = [{ on = \"every rank\", buffer = \"m\", holds = \"x[2..3]\" }]\n";
        answer(&format!("{}{need}", text(2, inputs, &[&pad, max]))).0
    };
    assert_eq!(with("-128"), NeedsAnswer::Satisfied);
    assert_eq!(with("0"), NeedsAnswer::NotSatisfied);
    assert_eq!(
        refused(2, inputs, &[r#"call = "pad", send = "x", recv = "p", count = 4, value = 300"#])
            .split(", expected")
            .next(),
        Some("proposal.p.step[0]: found the value `300`")
    );
    assert_eq!(
        refused(2, inputs, &[r#"call = "pad", send = "x", recv = "p", count = 2, value = 0"#]),
        "proposal.p.step[0]: found `x` of 3 elements, expected at most 2, its padded length"
    );
}

/// Rows 0..1 of [2, 3] are 0..3; columns 0..2 are 0, 1, 3, 4.
#[test]
fn along_the_first_axis_and_along_the_second() {
    let inputs = "input.w = { dtype = \"f32\", shape = [2, 4] }";
    let rows = r#"call = "shard", send = "w", recv = "s", shape = [2, 4], dim = 0"#;
    let columns = r#"call = "shard", send = "w", recv = "s", shape = [2, 4], dim = 1"#;
    let done_rows = done(&text(2, inputs, &[rows]));
    assert_eq!(done_rows.held(1, "s"), ["w@rank1[4..8]"]);
    let done_columns = done(&text(2, inputs, &[columns]));
    assert_eq!(done_columns.held(0, "s"), ["w@rank0[0..2]", "w@rank0[4..6]"]);
    assert_eq!(done_columns.held(1, "s"), ["w@rank1[2..4]", "w@rank1[6..8]"]);
    // Gathered they are one after the other, which is not the tensor along the second.
    let gathered = r#"call = "all_gather", send = "s", recv = "all""#;
    let back = r#"call = "unshard", send = "all", recv = "y", shape = [2, 4], dim = 1"#;
    let done_back = done(&text(2, inputs, &[columns, gathered, back]));
    assert_eq!(
        done_back.held(0, "y"),
        ["w@rank0[0..2]", "w@rank1[2..4]", "w@rank0[4..6]", "w@rank1[6..8]"]
    );
}

/// Three columns over two ranks, padded: rank 1 has one column and one of padding.
#[test]
fn padding_stands_in_every_row() {
    let inputs = "input.w = { dtype = \"f32\", shape = [2, 3] }";
    let shard = r#"call = "shard", send = "w", recv = "s", shape = [2, 3], dim = 1, uneven = "pad", value = 7"#;
    let gather = r#"call = "all_gather", send = "s", recv = "all""#;
    let back =
        r#"call = "unshard", send = "all", recv = "y", shape = [2, 3], dim = 1, uneven = "pad""#;
    let done = done(&text(2, inputs, &[shard, gather, back]));
    assert_eq!(done.held(0, "s"), ["w@rank0[0..2]", "w@rank0[3..5]"]);
    assert_eq!(done.held(1, "s"), ["w@rank1[2]", "7 (padding)", "w@rank1[5]", "7 (padding)"]);
    assert_eq!(done.held(1, "y"), ["w@rank0[0..2]", "w@rank1[2]", "w@rank0[3..5]", "w@rank1[5]"]);
    let need = "need = [{ on = \"every rank\", buffer = \"s\", \
                holds = \"shard(w, shape = [2, 3], dim = 1, uneven = pad, value = 7)\" }]\n";
    assert_eq!(answer(&format!("{}{need}", text(2, inputs, &[shard]))), SATISFIED);
}

/// Y = X·A·B: the inner dimension is cut by columns of A and rows of B, so that the
/// partial results are summed.
#[test]
fn the_weights_of_a_tensor_parallel_pair() {
    let inputs = "input.a = { dtype = \"bf16\", shape = [4, 6] }\n\
                  input.b = { dtype = \"bf16\", shape = [6, 4] }";
    let steps = [
        r#"call = "broadcast", root = 0, send = "a", recv = "a0""#,
        r#"call = "broadcast", root = 0, send = "b", recv = "b0""#,
        r#"call = "shard", send = "a0", recv = "as", shape = [4, 6], dim = 1"#,
        r#"call = "shard", send = "b0", recv = "bs", shape = [6, 4], dim = 0"#,
    ];
    let needs = "need = [\n\
                 { on = \"every rank\", buffer = \"as\", holds = \"shard(a@rank0, shape = [4, 6], dim = 1)\" },\n\
                 { on = \"every rank\", buffer = \"bs\", holds = \"shard(b@rank0)\" },\n]\n";
    let text = format!("{}{needs}", text(2, inputs, &steps));
    assert_eq!(answer(&text), SATISFIED);
    // Cut along the wrong axis: as many elements, other ones.
    let wrong = text.replace(
        "recv = \"as\", shape = [4, 6], dim = 1",
        "recv = \"as\", shape = [4, 6], dim = 0",
    );
    assert_eq!(answer(&wrong).0, NeedsAnswer::NotSatisfied);
    let done = done(&text);
    assert_eq!(done.held(1, "as")[..2], ["a@rank0[3..6]", "a@rank0[9..12]"]);
}

#[test]
fn an_all_to_all_by_the_language() {
    let inputs = "input.x = { dtype = \"i32\", count = 6 }";
    let need = "need = [{ on = \"every rank\", buffer = \"y\", holds = \"exchange(x)\" }]\n";
    let steps = [r#"call = "all_to_all", send = "x", recv = "y""#];
    assert_eq!(answer(&format!("{}{need}", text(3, inputs, &steps))), SATISFIED);
    let wrong = [r#"call = "copy", send = "x", recv = "y""#];
    assert_eq!(answer(&format!("{}{need}", text(3, inputs, &wrong))).0, NeedsAnswer::NotSatisfied);
}

#[test]
fn a_constant_by_the_language() {
    let steps = [r#"call = "fill", recv = "y", value = "0.5", dtype = "f16", count = 3"#];
    let of = |holds: &str| {
        let need =
            format!("need = [{{ on = \"every rank\", buffer = \"y\", holds = \"{holds}\" }}]\n");
        answer(&format!("{}{need}", text(2, "input.x = { dtype = \"f16\", count = 3 }", &steps)))
    };
    assert_eq!(of("fill(0.5, f16, 3)"), SATISFIED);
    assert_eq!(of("fill(0.25, f16, 3)").0, NeedsAnswer::NotSatisfied);
    assert_eq!(of("fill(0.5, bf16, 3)").0, NeedsAnswer::NotSatisfied);
}

/// Two by one by two by one by two: groups along every axis and along several, which
/// overlap.
#[test]
fn five_axes_with_overlapping_groups() {
    let inputs = "mesh = { axes = [\"pod\", \"host\", \"pp\", \"tp\", \"dp\"], shape = [2, 1, 2, 1, 2] }\n\
                  groups.all_but_pp = { axes = [\"pod\", \"host\", \"tp\", \"dp\"] }\n\
                  input.x = { dtype = \"i64\", count = 8 }";
    let done = done(&text(
        8,
        inputs,
        &[
            r#"call = "reduce_scatter", op = "sum", over = "dp", send = "x", recv = "s""#,
            r#"call = "all_reduce", op = "sum", over = "pod", send = "s", recv = "s""#,
            r#"call = "all_gather", over = "dp", send = "s", recv = "y""#,
            r#"call = "all_reduce", op = "sum", over = "all_but_pp", send = "x", recv = "z""#,
        ],
    ));
    // Rank 5 is (1, 0, 0, 0, 1): pp 0 is ranks 0, 1, 4 and 5.
    let sum = "x@rank0[0..8] + x@rank1[0..8] + x@rank4[0..8] + x@rank5[0..8]";
    assert_eq!(done.held(5, "z"), [sum]);
    assert_eq!(done.held(5, "y"), [sum]);
    assert_eq!(done.held(5, "s"), [sum.replace("0..8", "4..8")]);
}
