//! Plans that are wrong: each names its fault, its place, what stands there and
//! what should.
//!
//! The inputs are files, so that the command's tests can read them too.

use std::collections::BTreeSet;
use std::path::Path;

use rankwise_plan::error::Fault;
use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;

/// File, fault, line and column, path, found, expected.
type Case = (&'static str, Fault, &'static str, &'static str, &'static str, &'static str);

/// No TOML, no JSON.
#[rustfmt::skip] // one line of text per field
const SYNTAX: &[Case] = &[
    (
        "syntax_cut_short.json", Fault::Syntax, "4:1",
        "",
        "EOF while parsing an object",
        "valid JSON",
    ),
    (
        "syntax_duplicate_key.json", Fault::Syntax, "3:26",
        "",
        r#"the key "ranks" a second time"#,
        "each key once",
    ),
    (
        "syntax_duplicate_key.toml", Fault::Syntax, "3:7",
        "",
        "duplicate key",
        "valid TOML",
    ),
    (
        "syntax_lone_surrogate.json", Fault::Syntax, "1:51",
        "",
        "unexpected end of hex escape",
        "valid JSON",
    ),
    (
        "syntax_no_equals.toml", Fault::Syntax, "1:8",
        "",
        "key with no value",
        "`=`",
    ),
    (
        "syntax_nothing.json", Fault::Syntax, "1:1",
        "",
        "EOF while parsing a value",
        "valid JSON",
    ),
    (
        "syntax_table_twice.toml", Fault::Syntax, "4:2",
        "",
        "duplicate key",
        "valid TOML",
    ),
    (
        "syntax_trailing_comma.json", Fault::Syntax, "3:26",
        "",
        "key must be a string",
        "valid JSON",
    ),
    (
        "syntax_unclosed_string.toml", Fault::Syntax, "4:17",
        "",
        "missing comma between array elements",
        "`,`",
    ),
];

/// Keys that plans do not have.
#[rustfmt::skip] // one line of text per field
const UNKNOWN_KEY: &[Case] = &[
    (
        "key_unknown_at_top.toml", Fault::UnknownKey, "3:2",
        "grup",
        r#"the key "grup""#,
        "one of format, group, mesh, groups, input, proposal, need; the nearest is group",
    ),
    (
        "key_unknown_in_input.toml", Fault::UnknownKey, "8:1",
        "input.x.length",
        r#"the key "length""#,
        "one of dtype, count, meaning, by, on, files, file, slice",
    ),
    (
        "key_unknown_in_place.toml", Fault::UnknownKey, "11:8",
        "need[0].on.rnak",
        r#"the key "rnak""#,
        "one of rank, device, group; the nearest is rank",
    ),
    (
        "key_unknown_in_step.json", Fault::UnknownKey, "6:29",
        "proposal.p.step[1].reduction",
        r#"the key "reduction""#,
        "one of call, op, scalars, root, peer, over, on, send, recv, count, positions, by, dtype",
    ),
    (
        "key_unknown_in_step.toml", Fault::UnknownKey, "19:1",
        "proposal.p.step[1].recieve",
        r#"the key "recieve""#,
        "one of call, op, scalars, root, peer, over, on, send, recv, count, positions, by, dtype",
    ),
];

/// Keys that must be there.
#[rustfmt::skip] // one line of text per field
const MISSING: &[Case] = &[
    (
        "missing_call.toml", Fault::Missing, "10:1",
        "proposal.p.step[0].call",
        "no key call",
        "what the step does",
    ),
    (
        "missing_contribution.json", Fault::Missing, "4:53",
        "input.x.on.rank",
        "no contribution of rank 1",
        "one for each, or none at all",
    ),
    (
        "missing_contribution.toml", Fault::Missing, "9:1",
        "input.x.on.device",
        "no contribution of device B",
        "one for each, or none at all",
    ),
    (
        "missing_count.toml", Fault::Missing, "4:1",
        "input.x.count",
        "no key count",
        "the number of elements, as there are no values to count",
    ),
    (
        "missing_dtype.toml", Fault::Missing, "4:1",
        "input.x.dtype",
        "no key dtype",
        "the element type",
    ),
    (
        "missing_format.toml", Fault::Missing, "1:1",
        "format",
        "no key format",
        "format = 1",
    ),
    (
        "missing_group.toml", Fault::Missing, "1:1",
        "group",
        "no key group",
        "the group: its devices or ranks",
    ),
    (
        "missing_holds.toml", Fault::Missing, "10:1",
        "need[0].holds",
        "no key holds",
        "what it must hold: sum(x)",
    ),
    (
        "missing_need_on.toml", Fault::Missing, "10:1",
        "need[0].on",
        "no key on",
        r#"who needs it: "every rank" or a table"#,
    ),
    (
        "missing_peer.toml", Fault::Missing, "10:1",
        "proposal.p.step[0].peer",
        "no key peer",
        "the other side, as a rank of the group",
    ),
    (
        "missing_ranks_and_devices.toml", Fault::Missing, "3:1",
        "group",
        "neither devices nor ranks",
        "devices, a list with the device of each rank, or ranks, a number",
    ),
    (
        "missing_recv.toml", Fault::Missing, "10:1",
        "proposal.p.step[0].recv",
        "no key recv",
        "the buffer that is written, the same as send for in place",
    ),
    (
        "missing_root.toml", Fault::Missing, "10:1",
        "proposal.p.step[0].root",
        "no key root",
        "the root, as a rank of the group",
    ),
    (
        "missing_slice.toml", Fault::Missing, "6:1",
        "input.x.slice",
        "no key slice",
        "whose is what in the file: blocks or whole",
    ),
];

/// Values of the wrong type or outside their range.
#[rustfmt::skip] // one line of text per field
const VALUE: &[Case] = &[
    (
        "call_of_another_spelling.toml", Fault::Value, "11:8",
        "proposal.p.step[0].call",
        r#""ncclAllReduce""#,
        "all_reduce, which is its name here",
    ),
    (
        "call_unknown.toml", Fault::Value, "11:8",
        "proposal.p.step[0].call",
        r#""brodcast""#,
        "one of all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, gather, scatter, send, recv, copy, slice, concat, fold, scale, cast; the nearest is broadcast",
    ),
    (
        "color_negative.toml", Fault::Value, "5:14",
        "groups.tp.colors[1]",
        "-2",
        r#"a color from 0 to 2147483647, or "none" (also -1) for no group"#,
    ),
    (
        "count_fraction.toml", Fault::Value, "8:9",
        "input.x.count",
        "2.5",
        "a whole number from 0 to 18446744073709551615",
    ),
    (
        "count_is_a_date.toml", Fault::Value, "8:9",
        "input.x.count",
        "a date",
        "a number, or a string that is one",
    ),
    (
        "count_negative.toml", Fault::Value, "8:9",
        "input.x.count",
        "-4",
        "a whole number from 0 to 18446744073709551615",
    ),
    (
        "count_past_64_bits.toml", Fault::Value, "8:9",
        "input.x.count",
        r#""18446744073709551616""#,
        "a whole number from 0 to 18446744073709551615",
    ),
    (
        "device_half_uuid.toml", Fault::Value, "4:28",
        "group.devices[1]",
        r#""node1/GPU-5a2c""#,
        "the name of a device: `GPU-5a2c` has no whole UUID: GPU- or MIG- and 32 hexadecimal digits as 8-4-4-4-12",
    ),
    (
        "dtype_of_another_spelling.toml", Fault::Value, "5:9",
        "input.x.dtype",
        r#""float32""#,
        "f32, which is the name of that type here",
    ),
    (
        "element_fraction.toml", Fault::Value, "11:10",
        "input.x.on.device.B[1]",
        "20.5",
        "an element of i32; this is not an integer, and i32 holds integers",
    ),
    (
        "element_past_type.json", Fault::Value, "4:65",
        "input.x.on.rank.0[1]",
        "128",
        "an element of i8; this is outside the range of i8 (-128 to 127)",
    ),
    (
        "element_word.toml", Fault::Value, "6:21",
        "input.x.on.rank.0[1]",
        "half",
        "an element of f32; this is not a number",
    ),
    (
        "factor_by_0.toml", Fault::Value, "14:6",
        "proposal.p.step[0].by",
        "a division by 0",
        r#"a decimal number such as 0.125, or a fraction such as "1/8""#,
    ),
    (
        "factor_exponent.toml", Fault::Value, "14:6",
        "proposal.p.step[0].by",
        r#""1e-3""#,
        r#"a decimal number such as 0.125, or a fraction such as "1/8""#,
    ),
    (
        "fold_premul.toml", Fault::Value, "12:6",
        "proposal.p.step[0].op",
        r#""premul""#,
        "one of sum, prod, max, min, avg",
    ),
    (
        "format_2.toml", Fault::Value, "1:10",
        "format",
        "format 2",
        "format 1, the only one that this version reads",
    ),
    (
        "format_word.toml", Fault::Value, "1:10",
        "format",
        r#""one""#,
        "a whole number from 0 to 18446744073709551615",
    ),
    (
        "holds_cast_to_nothing.toml", Fault::Value, "13:18",
        "need[0].holds",
        r#""int16""#,
        "one of i8, u8, i32, u32, i64, u64, f8e4m3, f8e5m2, f16, bf16, f32, f64",
    ),
    (
        "holds_cut_short.toml", Fault::Value, "13:15",
        "need[0].holds",
        "the end",
        "a closing )",
    ),
    (
        "holds_nothing.toml", Fault::Value, "13:10",
        "need[0].holds",
        "the end",
        "an input such as x, or a form such as sum(x)",
    ),
    (
        "holds_quote_open.json", Fault::Value, "5:58",
        "need[0].holds",
        "a quoted name without its end",
        r#"a closing ""#,
    ),
    (
        "holds_slice_open.toml", Fault::Value, "13:23",
        "need[0].holds",
        r#""]""#,
        "positions a..b, from a up to but without b, below 2^64",
    ),
    (
        "holds_two_values.toml", Fault::Value, "13:17",
        "need[0].holds",
        r#""x""#,
        "the end, `over` or [a..b]",
    ),
    (
        "name_with_blank.toml", Fault::Value, "4:8",
        r#"input." x""#,
        r#"" x""#,
        "a name: not empty, no blanks around it, no control characters",
    ),
    (
        "no_object.json", Fault::Value, "1:1",
        "",
        "an array",
        "a table",
    ),
    (
        "on_everyone.toml", Fault::Value, "11:6",
        "need[0].on",
        r#""everyone""#,
        r#""every rank" or a table with one of rank, device and group"#,
    ),
    (
        "op_add.json", Fault::Value, "7:39",
        "proposal.sharded.step[1].op",
        r#""add""#,
        "one of sum, prod, max, min, avg, premul",
    ),
    (
        "op_add.toml", Fault::Value, "12:6",
        "proposal.p.step[0].op",
        r#""add""#,
        "one of sum, prod, max, min, avg, premul",
    ),
    (
        "positions_dash.toml", Fault::Value, "13:15",
        "need[0].positions",
        r#""-4""#,
        "positions a..b, from a up to but without b, below 2^64",
    ),
    (
        "positions_none.toml", Fault::Value, "13:13",
        "need[0].positions",
        "2..2",
        "at least one position",
    ),
    (
        "ranks_0.toml", Fault::Value, "4:9",
        "group.ranks",
        "no ranks",
        "at least one rank",
    ),
];

/// Names that nothing in the plan has.
#[rustfmt::skip] // one line of text per field
const UNKNOWN_NAME: &[Case] = &[
    (
        "axis_unknown.toml", Fault::UnknownName, "6:17",
        "groups.tp.axes[1]",
        r#""gup""#,
        "one of node, gpu; the nearest is gpu",
    ),
    (
        "axis_without_mesh.toml", Fault::UnknownName, "5:8",
        "groups.tp.axis",
        "an axis without a mesh",
        "a [mesh] that has such axes",
    ),
    (
        "contribution_of_padded_rank.toml", Fault::UnknownName, "9:1",
        "input.x.on.rank.01",
        "rank 01",
        "a rank of the group: 0 to 1",
    ),
    (
        "contribution_of_unknown_device.toml", Fault::UnknownName, "11:1",
        "input.x.on.device.C",
        r#""C""#,
        "one of A, B",
    ),
    (
        "group_of_unknown_rank.toml", Fault::UnknownName, "5:13",
        "groups.tp.ranks[1]",
        "rank 4",
        "a rank of the group: 0 to 3",
    ),
    (
        "holds_unknown_block.toml", Fault::UnknownName, "13:10",
        "need[0].holds",
        "block 2",
        "a rank of every group of world: 0 to 1",
    ),
    (
        "holds_unknown_device.toml", Fault::UnknownName, "13:10",
        "need[0].holds",
        r#""node1/cuda:0""#,
        "one of A, B",
    ),
    (
        "holds_unknown_form.toml", Fault::UnknownName, "13:10",
        "need[0].holds",
        "the form total(…)",
        "one of gather, shard, cast, concat, sum, prod, max, min, avg, premul",
    ),
    (
        "holds_unknown_group.toml", Fault::UnknownName, "9:31",
        "need[0].holds",
        r#""tpp""#,
        "one of tp, world; the nearest is tp",
    ),
    (
        "holds_unknown_input.toml", Fault::UnknownName, "17:14",
        "need[0].holds",
        r#""gard""#,
        "one of grad, param; the nearest is grad",
    ),
    (
        "holds_unknown_rank.toml", Fault::UnknownName, "13:26",
        "need[0].holds",
        "rank 2",
        "a rank of the group: 0 to 1",
    ),
    (
        "need_on_device_of_none.toml", Fault::UnknownName, "11:17",
        "need[0].on.device",
        r#"device "A""#,
        "ranks instead: the plan says only how many there are",
    ),
    (
        "need_on_rank_2.toml", Fault::UnknownName, "11:15",
        "need[0].on.rank",
        "rank 2",
        "a rank of the group: 0 to 1",
    ),
    (
        "need_on_unknown_device.toml", Fault::UnknownName, "11:17",
        "need[0].on.device",
        r#""C""#,
        "one of A, B",
    ),
    (
        "need_on_unknown_group.toml", Fault::UnknownName, "11:16",
        "need[0].on.group",
        r#""tp""#,
        "world",
    ),
    (
        "over_unknown_group.toml", Fault::UnknownName, "10:8",
        "proposal.p.step[0].over",
        r#""gpus""#,
        "one of gpu, node, world; the nearest is gpu",
    ),
    (
        "peer_past_group.toml", Fault::UnknownName, "12:8",
        "proposal.p.step[0].peer",
        "rank 1",
        "a rank of every group of the step: 0 to 0",
    ),
    (
        "root_past_group.toml", Fault::UnknownName, "13:8",
        "proposal.p.step[0].root",
        "rank 2",
        "a rank of every group of the step: 0 to 1",
    ),
    (
        "root_past_smallest_group.toml", Fault::UnknownName, "9:8",
        "proposal.p.step[0].root",
        "rank 2",
        "a rank of every group of uneven: 0 to 1",
    ),
];

/// Parts that cannot both hold.
#[rustfmt::skip] // one line of text per field
const CONTRADICTION: &[Case] = &[
    (
        "by_device_of_none.toml", Fault::Contradiction, "7:6",
        "input.x.by",
        "contributions by device where no devices are named",
        "contributions by rank",
    ),
    (
        "by_rank_on_device.toml", Fault::Contradiction, "8:6",
        "input.x.by",
        r#"by "rank", and values by device"#,
        "both by device, or both by rank",
    ),
    (
        "colors_too_few.toml", Fault::Contradiction, "5:10",
        "groups.tp.colors",
        "3 values for 4 ranks",
        "one for each rank, rank 0 first",
    ),
    (
        "count_and_elements_differ.toml", Fault::Contradiction, "11:5",
        "input.x.on.device.A",
        "4 elements",
        "8 elements",
    ),
    (
        "device_twice.toml", Fault::Contradiction, "4:22",
        "group.devices[2]",
        "device A is bound to rank 0 and to rank 2: sharing must be asked for",
        r#"each device once, or sharing = "shared""#,
    ),
    (
        "devices_that_may_be_one.toml", Fault::Contradiction, "4:28",
        "group.devices[1]",
        "node1/cuda:0 of rank 0 and node1/0000:59:00.0 of rank 1 may be one device or two: name both by UUID, or both by host and PCI bus id",
        "names by which devices can be told apart",
    ),
    (
        "group_in_two_ways.toml", Fault::Contradiction, "6:10",
        "groups.tp.colors",
        "both ranks and colors",
        "exactly one of ranks, lists, axis, axes, colors",
    ),
    (
        "group_named_as_axis.toml", Fault::Contradiction, "5:9",
        "groups.gpu",
        r#"the group "gpu""#,
        "another name: gpu is an axis of the mesh",
    ),
    (
        "group_named_world.toml", Fault::Contradiction, "4:9",
        "groups.world",
        r#"the group "world""#,
        "another name: world is all the ranks",
    ),
    (
        "group_rank_twice.toml", Fault::Contradiction, "5:16",
        "groups.tp.ranks[2]",
        "group 0: rank 0 stands twice in the group, at positions 0 and 2: a member has one rank",
        "disjoint groups, each rank once",
    ),
    (
        "groups_overlap.toml", Fault::Contradiction, "5:22",
        "groups.tp.lists[1][1]",
        "rank 1 is in group 0 and in group 1: groups of one partition are disjoint",
        "disjoint groups, each rank once",
    ),
    (
        "holds_over_own_input.toml", Fault::Contradiction, "13:17",
        "need[0].holds",
        "`over world` where nothing takes it",
        "it after gather, shard or a reduction that has no `over` yet",
    ),
    (
        "keys_without_colors.toml", Fault::Contradiction, "6:8",
        "groups.tp.keys",
        "keys beside ranks",
        "keys only beside colors",
    ),
    (
        "lengths_differ.toml", Fault::Contradiction, "11:5",
        "input.x.on.device.B",
        "3 elements",
        "4 elements",
    ),
    (
        "mesh_axis_twice.toml", Fault::Contradiction, "5:8",
        "mesh.axes",
        "mesh axis `gpu` is named twice",
        "each axis once",
    ),
    (
        "mesh_of_other_size.toml", Fault::Contradiction, "6:9",
        "mesh.shape",
        "a mesh of 6 ranks",
        "a shape whose product is the 8 ranks of the group",
    ),
    (
        "mesh_shape_short.toml", Fault::Contradiction, "6:9",
        "mesh.shape",
        "1 length for 2 axes",
        "one length for each axis",
    ),
    (
        "need_on_two.toml", Fault::Contradiction, "11:6",
        "need[0].on",
        "several of them",
        "exactly one of rank, device and group",
    ),
    (
        "on_device_where_shared.toml", Fault::Contradiction, "10:1",
        "input.x.on.device",
        "contributions by device where a device has several ranks",
        "contributions by rank",
    ),
    (
        "on_for_a_collective.toml", Fault::Contradiction, "15:6",
        "proposal.p.step[0].on",
        "on",
        "no on: all_reduce takes over, send, recv, count, op, scalars",
    ),
    (
        "op_where_nothing_combines.toml", Fault::Contradiction, "12:6",
        "proposal.p.step[0].op",
        "op",
        "no op: all_gather takes over, send, recv, count",
    ),
    (
        "output_twice.toml", Fault::Contradiction, "11:22",
        "proposal.p.outputs[2]",
        r#"the buffer "y" a second time"#,
        "each buffer once",
    ),
    (
        "positions_backwards.toml", Fault::Contradiction, "14:14",
        "proposal.p.step[0].positions",
        "4..2",
        "a range that does not end before it starts",
    ),
    (
        "ranks_and_devices_differ.toml", Fault::Contradiction, "5:11",
        "group.devices",
        "2 devices for 3 ranks",
        "one device for each rank, named again where it has several",
    ),
    (
        "rename_to_one_name.toml", Fault::Contradiction, "12:5",
        "proposal.p.as.b",
        r#""out", which a is called"#,
        "a name for each buffer",
    ),
    (
        "root_where_there_is_none.toml", Fault::Contradiction, "15:8",
        "proposal.p.step[0].root",
        "root",
        "no root: all_reduce takes over, send, recv, count, op, scalars",
    ),
    (
        "scalars_for_sum.toml", Fault::Contradiction, "15:11",
        "proposal.p.step[0].scalars",
        "scalars with sum",
        r#"scalars only with op = "premul""#,
    ),
    (
        "scalars_too_few.toml", Fault::Contradiction, "15:11",
        "proposal.p.step[0].scalars",
        "1 scalar for a group of 2",
        "one for each rank of the group",
    ),
    (
        "send_list.toml", Fault::Contradiction, "12:8",
        "proposal.p.step[0].send",
        "2 buffers",
        "one for all_gather",
    ),
    (
        "sharing_without_devices.toml", Fault::Contradiction, "5:11",
        "group.sharing",
        r#""shared""#,
        "no sharing where there are no devices",
    ),
    (
        "slice_without_file.toml", Fault::Contradiction, "9:9",
        "input.x.slice",
        "slice without file",
        "slice only with file",
    ),
    (
        "values_twice.toml", Fault::Contradiction, "8:8",
        "input.x.file",
        "values here beside those in on",
        "at most one of on, files, file",
    ),
];

/// Lengths and products that do not fit.
#[rustfmt::skip] // one line of text per field
const OVERFLOW: &[Case] = &[
    (
        "blocks_overflow.toml", Fault::Overflow, "7:8",
        "input.x.file",
        "4 blocks of 9223372036854775808 elements",
        "fewer than 2^64 elements",
    ),
    (
        "bytes_overflow.toml", Fault::Overflow, "6:9",
        "input.x.count",
        "4611686018427387904 elements of 8 bytes",
        "fewer than 2^64 bytes",
    ),
    (
        "mesh_overflow.toml", Fault::Overflow, "6:9",
        "mesh.shape",
        "mesh axis `a`: 65536 × 65536 ranks does not fit in 32 bits",
        "a mesh of the group's ranks",
    ),
    (
        "positions_overflow.toml", Fault::Overflow, "13:15",
        "need[0].holds",
        "18446744073709551616",
        "positions a..b, from a up to but without b, below 2^64",
    ),
];

/// Past a stated limit.
#[rustfmt::skip] // one line of text per field
const LIMIT: &[Case] = &[
    (
        "holds_slices_too_deep.toml", Fault::Limit, "13:10",
        "need[0].holds",
        "65 forms inside one another",
        "at most 64",
    ),
    (
        "holds_too_deep.toml", Fault::Limit, "13:266",
        "need[0].holds",
        "65 forms inside one another",
        "at most 64",
    ),
    (
        "name_too_long.toml", Fault::Limit, "4:8",
        NAME_OF_257,
        "a name of 257 characters",
        "at most 256",
    ),
    (
        "ranks_past_limit.toml", Fault::Limit, "4:9",
        "group.ranks",
        "1048577 ranks",
        "at most 1048576",
    ),
    (
        "tree_too_deep.json", Fault::Limit, "1:44",
        "",
        "values nested more than 32 deep",
        "at most 32 levels of tables and arrays",
    ),
];

/// Arrays that cannot be had.
#[rustfmt::skip] // one line of text per field
const ARRAY: &[Case] = &[
    (
        "array_refused.toml", Fault::Array, "10:5",
        "input.x.files.device.A",
        r#"the array file "a.npy""#,
        "no files: this reader opens none",
    ),
];

/// The path of an input whose name is one character too long.
const NAME_OF_257: &str = "input.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

#[test]
fn each_is_refused_where_it_is_wrong() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_inputs");
    let mut seen = BTreeSet::new();
    let kinds =
        [SYNTAX, UNKNOWN_KEY, MISSING, VALUE, UNKNOWN_NAME, CONTRADICTION, OVERFLOW, LIMIT, ARRAY];
    for (file, kind, place, path, found, expected) in kinds.into_iter().flatten() {
        assert!(seen.insert((*file).to_owned()), "{file} is here twice");
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let format = if file.ends_with(".json") { Format::Json } else { Format::Toml };
        let error = match Plan::read(&text, format, &mut NoArrays) {
            Ok(_) => panic!("{file} was read as if it were right"),
            Err(error) => error,
        };
        assert_eq!(error.kind, *kind, "{file}");
        assert_eq!(error.span.place(&text).to_string(), *place, "{file}");
        assert_eq!(error.path, *path, "{file}");
        assert_eq!(error.found, *found, "{file}");
        assert_eq!(error.expected, *expected, "{file}");
    }
    let files = std::fs::read_dir(&folder).unwrap();
    for file in files.map(|file| file.unwrap().file_name().into_string().unwrap()) {
        assert!(seen.contains(&file), "{file} is expected to be nothing");
    }
}
