//! What is refused, with its place, what was found and what was expected.

use super::{refusal, refused, text};

const FOUR: &str = "input.x = { dtype = \"i32\", count = 4 }";

#[test]
fn views_that_are_none() {
    let of = |send: &str| {
        refused(2, FOUR, &[&format!("call = \"copy\", send = \"{send}\", recv = \"y\"")])
    };
    assert_eq!(
        of("x[2..5]"),
        "proposal.p.step[0]: found positions 2..5 of `x`, expected positions within 0..4 on rank 0"
    );
    assert_eq!(
        of("x[2..2]"),
        "proposal.p.step[0].send: found 2..2, expected at least one position"
    );
    assert_eq!(
        of("x[3..2]"),
        "proposal.p.step[0].send: found 3..2, expected a range that does not end before it starts"
    );
    assert_eq!(
        of("x[0..18446744073709551615]"),
        "proposal.p.step[0]: found positions 0..18446744073709551615 of `x`, expected positions \
         within 0..4 on rank 0"
    );
    assert_eq!(
        of("x[0..18446744073709551616]"),
        "proposal.p.step[0].send: found 18446744073709551616, expected positions a..b, from a up \
         to but without b, below 2^64"
    );
    assert_eq!(
        of("x[..2]"),
        "proposal.p.step[0].send: found \"..2\", expected positions a..b, from a up to but \
         without b, below 2^64"
    );
    // No views of views: the buffer is called that, and nobody has it.
    assert_eq!(
        of("x[0..4][0..2]"),
        "proposal.p.step[0]: found buffer `x[0..4]`, which rank 0 does not have at this step, \
         expected one that it has: x"
    );
    assert_eq!(
        of("[0..2]"),
        "proposal.p.step[0].send: found \"\", expected a name: not empty, no \
         blanks around it, no control characters"
    );
}

#[test]
fn an_input_is_not_called_like_a_view() {
    let plan = "format = 1\ngroup.ranks = 2\ninput.\"x[0..2]\" = { dtype = \"i32\", count = 4 }\n";
    assert_eq!(
        refusal(plan).to_string(),
        "input.\"x[0..2]\": found \"x[0..2]\", expected a name that is no part of a buffer"
    );
}

/// Rank 0 has three elements, rank 1 two.
#[test]
fn a_part_that_only_some_ranks_have() {
    let inputs = "input.x = { dtype = \"i32\", counts = [3, 2] }";
    assert_eq!(
        refused(2, inputs, &[r#"call = "all_reduce", op = "sum", send = "x[0..3]", recv = "y""#]),
        "proposal.p.step[0]: found positions 0..3 of `x`, expected positions within 0..2 on rank 1"
    );
    assert_eq!(
        refused(
            2,
            inputs,
            &[r#"call = "fill", recv = "x[2..3]", value = 0, dtype = "i32", count = 1"#]
        ),
        "proposal.p.step[0]: found positions 2..3 of `x`, expected positions within 0..2 on rank 1"
    );
    // A buffer that only one rank has.
    assert_eq!(
        refused(
            2,
            FOUR,
            &[
                r#"call = "copy", on = { rank = 0 }, send = "x", recv = "y""#,
                r#"call = "copy", send = "x[0..2]", recv = "y[2..4]""#
            ]
        ),
        "proposal.p.step[1]: found buffer `y`, which rank 1 does not have at this step, expected \
         one that it has: x"
    );
}

#[test]
fn what_does_not_fit_where_it_goes() {
    assert_eq!(
        refused(2, FOUR, &[r#"call = "all_gather", send = "x[0..1]", recv = "x[1..4]""#]),
        "proposal.p.step[0]: found 2 elements of output for `x[1..4]` of 3, expected positions of \
         `x`, as many as there are"
    );
    let y = r#"call = "alloc", recv = "y", dtype = "f32", count = 4"#;
    assert_eq!(
        refused(2, FOUR, &[y, r#"call = "copy", send = "x[0..2]", recv = "y[0..2]""#]),
        "proposal.p.step[1]: found 2 elements of i32 for `y[0..2]`, expected 2 of f32, as there \
         are in it"
    );
    assert_eq!(
        refused(2, FOUR, &[r#"call = "alloc", recv = "y[0..2]", dtype = "i32", count = 2"#]),
        "proposal.p.step[0].recv: found positions, `y[0..2]`, expected `y`: alloc makes a buffer \
         anew"
    );
}

/// Every overlap but the relation of the operation itself.
#[test]
fn overlaps() {
    let call = |call: &str, send: &str, recv: &str| {
        refused(2, FOUR, &[&format!("call = \"{call}\", send = \"{send}\", recv = \"{recv}\"")])
    };
    assert_eq!(
        call("all_reduce\", op = \"sum", "x[0..2]", "x[1..3]"),
        "proposal.p.step[0]: found `x[0..2]` read and `x[1..3]` written on rank 0, which overlap, \
         expected positions apart, or in place: 0..2 read and 0..2 written of 2"
    );
    assert_eq!(
        call("all_gather", "x[1..3]", "x[0..4]"),
        "proposal.p.step[0]: found `x[1..3]` read and `x[0..4]` written on rank 0, which overlap, \
         expected positions apart, or in place: 0..2 read and 0..4 written of 4"
    );
    assert_eq!(
        call("reduce_scatter\", op = \"sum", "x[0..4]", "x[1..3]"),
        "proposal.p.step[0]: found `x[0..4]` read and `x[1..3]` written on rank 0, which overlap, \
         expected positions apart, or in place: 0..4 read and 0..2 written of 4"
    );
    assert_eq!(
        call("all_to_all", "x[0..2]", "x[1..3]"),
        "proposal.p.step[0]: found `x[0..2]` read and `x[1..3]` written on rank 0, which overlap, \
         expected two buffers: all_to_all has no in-place form"
    );
    assert_eq!(
        call("all_to_all", "x[0..2]", "x[0..2]"),
        "proposal.p.step[0]: found send and recv are both `x[0..2]`, expected two buffers: \
         all_to_all has no in-place form"
    );
    // Apart is not an overlap.
    let apart = r#"call = "all_to_all", send = "x[0..2]", recv = "x[2..4]""#;
    assert_eq!(
        super::done(&text(2, FOUR, &[apart])).held(0, "x")[1..],
        ["x@rank0[0]", "x@rank1[0]"]
    );
    // Acts of one rank.
    assert_eq!(
        call("copy", "x[0..2]", "x[1..3]"),
        "proposal.p.step[0]: found `x[0..2]` read and `x[1..3]` written, which overlap, expected \
         the same positions, or positions apart"
    );
    assert_eq!(
        refused(2, FOUR, &[r#"call = "concat", send = ["x[1..2]", "x[0..1]"], recv = "x[0..2]""#]),
        "proposal.p.step[0]: found `x[1..2]` read and `x[0..2]` written, which overlap, expected \
         the same positions, or positions apart"
    );
}

/// Lengths near 2^64: refused with their number, never wrapped around.
#[test]
fn lengths_past_64_bits() {
    let step = |step: &str| refused(2, FOUR, &[step]);
    assert_eq!(
        step(r#"call = "alloc", recv = "y", dtype = "i32", count = "18446744073709551615""#),
        "proposal.p.step[0].count: found 18446744073709551615 elements of 4 bytes, expected fewer \
         than 2^64 bytes"
    );
    assert_eq!(
        step(r#"call = "pad", send = "x", recv = "y", value = 0, count = "9223372036854775807""#),
        "proposal.p.step[0]: found 9223372036854775807 elements of i32, expected fewer than 2^64 \
         bytes"
    );
    assert_eq!(
        step(
            r#"call = "shard", send = "x", recv = "y", shape = ["9223372036854775808", 2], dim = 0"#
        ),
        "proposal.p.step[0]: found a tensor of shape [9223372036854775808, 2], expected fewer than \
         2^64 elements"
    );
    assert_eq!(
        step(
            r#"call = "all_gather_v", send = "x", recv = "y", counts = ["18446744073709551615", 1]"#
        ),
        "proposal.p.step[0].counts: found counts past 64 bits, expected a total below 2^64"
    );
    let large = [
        r#"call = "alloc", recv = "y", dtype = "u8", count = "18446744073709551615""#,
        r#"call = "all_gather", send = "y", recv = "z""#,
    ];
    assert!(refused(2, FOUR, &large).contains("64"), "{}", refused(2, FOUR, &large));
    let concat = [large[0], r#"call = "concat", send = ["y", "y"], recv = "z""#];
    assert_eq!(
        refused(2, FOUR, &concat),
        "proposal.p.step[1]: found 18446744073709551615 + 18446744073709551615 elements, expected \
         a length below 2^64"
    );
    // As long as there can be, and all of it a view.
    let view = [large[0], r#"call = "copy", send = "y[0..18446744073709551615]", recv = "z""#];
    assert_eq!(
        super::done(&text(2, FOUR, &view)).held(0, "z"),
        ["(never written: step 0 allocated it)"]
    );
    // A tensor of many rows without columns, and of many without a length.
    let empty = "input.e = { dtype = \"i32\", shape = [1099511627776, 0] }";
    let shard = r#"call = "shard", send = "e", recv = "s", shape = [1099511627776, 0], dim = 1"#;
    assert_eq!(super::done(&text(2, empty, &[shard])).held(1, "s"), [""; 0]);
}

#[test]
fn shardings_that_are_not_said() {
    let shard = |with: &str| {
        refused(2, FOUR, &[&format!("call = \"shard\", send = \"x\", recv = \"y\"{with}")])
    };
    assert_eq!(
        shard(", dim = 0"),
        "proposal.p.step[0]: found dim without shape, expected the shape of the tensor"
    );
    assert_eq!(
        shard(", shape = [2, 2]"),
        "proposal.p.step[0]: found shape without dim, expected the axis that is divided"
    );
    assert_eq!(
        shard(", shape = [2, 2], dim = 2"),
        "proposal.p.step[0]: found dim 2 of 2 axes, expected an axis of the shape, from 0"
    );
    assert_eq!(
        shard(", uneven = \"pad\""),
        "proposal.p.step[0]: found uneven = \"pad\" without value, expected what the padding holds"
    );
    assert_eq!(
        shard(", uneven = \"chunk\", value = 0"),
        "proposal.p.step[0]: found a value, expected no value without uneven = \"pad\""
    );
    assert_eq!(
        shard(", uneven = \"even\""),
        "proposal.p.step[0].uneven: found \"even\", expected one of chunk, balanced, pad"
    );
    assert_eq!(
        shard(", shape = [4, 2], dim = 0"),
        "proposal.p.step[0]: found a buffer of 4 elements, expected 8: 1 × 4 × 2 over 2 ranks"
    );
    assert_eq!(
        refused(2, FOUR, &[r#"call = "unshard", send = "x", recv = "y""#]),
        "proposal.p.step[0]: found no shape, expected the shape of the whole tensor"
    );
    let some = "groups.g = { ranks = [1] }\ninput.x = { dtype = \"i32\", count = 4 }";
    assert_eq!(
        refused(2, some, &[r#"call = "shard", over = "g", send = "x", recv = "y""#]),
        "proposal.p.step[0]: found rank 0, which is in no group of g, expected a member of the \
         step's group"
    );
}

#[test]
fn inputs_that_contradict_their_lengths() {
    let input = |keys: &str| {
        refusal(&format!("format = 1\ngroup.ranks = 2\ninput.x = {{ dtype = \"i32\", {keys} }}\n"))
            .to_string()
    };
    assert_eq!(
        input("counts = [1, 2], count = 3"),
        "input.x.counts: found counts beside another length, expected either counts, or count and \
         shape"
    );
    assert_eq!(
        input("counts = [1, 2, 3]"),
        "input.x.counts: found 3 counts for 2 ranks, expected one for each rank"
    );
    assert_eq!(
        input("shape = [2, 3], count = 5"),
        "input.x.shape: found 6 elements in shape [2, 3], expected 5, the count"
    );
    assert_eq!(input("shape = []"), "input.x.shape: found no axes, expected at least one");
    assert_eq!(
        input("counts = [1, 2], on.rank = { 0 = [1], 1 = [2] }"),
        "input.x.on.rank.1: found 1 elements, expected 2 elements"
    );
}

/// The average of integers is a sum and a division, each time anew: nothing of it merges.
#[test]
fn a_value_of_many_operations() {
    let times = |count: usize| {
        let step = "call = \"all_reduce\", op = \"avg\", send = \"x\", recv = \"x\"";
        text(2, "input.x = { dtype = \"i32\", count = 1 }", &vec![step; count])
    };
    super::done(&times(256));
    assert_eq!(
        refusal(&times(257)).to_string(),
        "proposal.p.step[256]: found a value of `x` that is 514 operations deep, expected at most \
         512 operations on one value"
    );
}
