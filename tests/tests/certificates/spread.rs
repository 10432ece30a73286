//! Plans whose certificates the tests look at: every collective, every local act, both
//! answers of each question.

use std::fs;
use std::path::Path;

use rankwise_plan::Plan;
use rankwise_plan::certify::{self, Certificate, NoCertificate};
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;

pub(crate) fn read(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The example plans, by file name.
pub(crate) fn examples() -> Vec<(String, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plans");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "toml"));
    let named = texts.filter_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Plans with arrays in files of their own need a reader of them.
        let plan = Plan::read(&text, Format::Toml, &mut NoArrays).ok()?;
        Some((name, plan))
    });
    named.collect()
}

/// Whether a plan's only proposal satisfies its needs.
pub(crate) fn of_needs(text: &str) -> Result<Certificate, NoCertificate> {
    let plan = read(text);
    certify::needs(&plan, &plan.proposals[0])
}

/// Whether a plan's first two proposals leave the same state.
pub(crate) fn of_states(text: &str) -> Result<Certificate, NoCertificate> {
    let plan = read(text);
    certify::states((&plan, &plan.proposals[0]), (&plan, &plan.proposals[1]))
}

/// A certificate with a name, for messages.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) certificate: Certificate,
}

/// Three ranks on devices, an input of six elements, some steps, and a need of `y`.
fn three(dtype: &str, steps: &str, on: &str, holds: &str) -> String {
    format!(
        r#"
        format = 1
        group.devices = ["A", "B", "C"]
        input.x = {{ dtype = "{dtype}", count = 6, meaning = "gradient" }}
        proposal.it.step = [{steps}]
        need = [{{ on = {on}, buffer = "y", holds = "{holds}" }}]
        "#
    )
}

/// Two ranks on devices, two inputs, and two proposals that leave `y`.
fn two(one: &str, other: &str) -> String {
    format!(
        r#"
        format = 1
        group.devices = ["A", "B"]
        input.x = {{ dtype = "i32", count = 4, meaning = "gradient" }}
        input.p = {{ dtype = "i32", count = 4, meaning = "parameter" }}
        proposal.one.step = [{one}]
        proposal.other.step = [{other}]
        proposal.one.outputs = ["y"]
        "#
    )
}

const EVERY: &str = "\"every rank\"";
const SECOND: &str = "{ rank = 1 }";

/// Name, element type, steps, who needs, and what: every collective, and arithmetic.
type OfThree = (&'static str, &'static str, &'static str, &'static str, &'static str);

const OF_THREE: &[OfThree] = &[
    (
        "all_reduce",
        "i32",
        r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "all_reduce in place",
        "i32",
        r#"{ call = "copy", send = "x", recv = "y" },
           { call = "all_reduce", op = "prod", send = "y", recv = "y" }"#,
        EVERY,
        "prod(x)",
    ),
    (
        "reduce",
        "i32",
        r#"{ call = "reduce", op = "max", root = 1, send = "x", recv = "y" }"#,
        SECOND,
        "max(x)",
    ),
    (
        "reduce, elsewhere",
        "i32",
        r#"{ call = "reduce", op = "min", root = 0, send = "x", recv = "y" }"#,
        SECOND,
        "min(x)",
    ),
    (
        "broadcast",
        "i32",
        r#"{ call = "broadcast", root = 2, send = "x", recv = "y" }"#,
        EVERY,
        "x@C",
    ),
    ("all_gather", "i32", r#"{ call = "all_gather", send = "x", recv = "y" }"#, EVERY, "gather(x)"),
    (
        "all_gather in place",
        "i32",
        r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
           { call = "all_gather", send = "s", recv = "y" },
           { call = "all_gather", send = "y", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "reduce_scatter",
        "i32",
        r#"{ call = "reduce_scatter", op = "avg", send = "x", recv = "y" }"#,
        EVERY,
        "shard(avg(x))",
    ),
    (
        "reduce_scatter in place",
        "i32",
        r#"{ call = "copy", send = "x", recv = "y" },
           { call = "reduce_scatter", op = "sum", send = "y", recv = "y" }"#,
        SECOND,
        "sum(x)",
    ),
    (
        "all_to_all",
        "i32",
        r#"{ call = "all_to_all", send = "x", recv = "y" }"#,
        SECOND,
        "concat(x@A[2..4], x@B[2..4], x@C[2..4])",
    ),
    (
        "gather",
        "i32",
        r#"{ call = "gather", root = 1, send = "x", recv = "y" }"#,
        SECOND,
        "gather(x)",
    ),
    (
        "scatter",
        "i32",
        r#"{ call = "scatter", root = 2, send = "x", recv = "y" }"#,
        EVERY,
        "shard(x@C)",
    ),
    (
        "scatter in place, to the wrong rank",
        "i32",
        r#"{ call = "copy", send = "x", recv = "y" },
           { call = "scatter", root = 2, send = "y", recv = "y" }"#,
        SECOND,
        "shard(x@C, 0)",
    ),
    (
        "originals gathered",
        "i32",
        r#"{ call = "all_gather", send = "x", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "summed twice",
        "i32",
        r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
           { call = "all_reduce", op = "sum", send = "t", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "another type",
        "i32",
        r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
           { call = "cast", dtype = "i64", send = "t", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "a float average",
        "f32",
        r#"{ call = "all_reduce", op = "avg", send = "x", recv = "y" }"#,
        EVERY,
        "avg(x)",
    ),
    (
        "a float sum, scaled",
        "f32",
        r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
           { call = "scale", by = "1/3", send = "t", recv = "y" }"#,
        EVERY,
        "avg(x)",
    ),
    (
        "a pre-multiplied sum",
        "f32",
        r#"{ call = "all_reduce", op = "premul", scalars = ["0.5", "0.25", "0.1"], send = "x", recv = "y" }"#,
        EVERY,
        "premul(x, 0.5, 0.25, 0.1)",
    ),
    (
        "a sum where an average is needed",
        "f32",
        r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#,
        EVERY,
        "avg(x)",
    ),
    (
        "narrowed before it is summed",
        "f32",
        r#"{ call = "cast", dtype = "bf16", send = "x", recv = "n" },
           { call = "all_reduce", op = "sum", send = "n", recv = "t" },
           { call = "cast", dtype = "f32", send = "t", recv = "y" }"#,
        EVERY,
        "sum(x)",
    ),
    (
        "256 times in u8",
        "u8",
        r#"{ call = "scale", by = "256", send = "x", recv = "t" },
           { call = "fold", op = "sum", send = ["t", "x"], recv = "y" }"#,
        EVERY,
        "x",
    ),
];

/// Name and whole plan: messages, groups, several needs.
const WHOLE_PLANS: &[(&str, &str)] = &[
    (
        "a message and a local fold",
        r#"
            format = 1
            group.ranks = 2
            input.x = { dtype = "i64", count = 3 }
            proposal.it.as = { sum = "y" }
            proposal.it.step = [
                { call = "send", on = { rank = 1 }, peer = 0, send = "x", count = 3 },
                { call = "recv", on = { rank = 0 }, peer = 1, recv = "theirs" },
                { call = "fold", op = "sum", on = { rank = 0 }, send = ["x", "theirs"], recv = "sum" },
                { call = "broadcast", root = 0, send = "sum", recv = "sum" },
            ]
            need = [{ on = { rank = 1 }, buffer = "y", positions = "0..2", holds = "sum(x)[0..2]" }]
            "#,
    ),
    (
        "groups of a mesh",
        r#"
            format = 1
            group.ranks = 4
            mesh = { axes = ["node", "gpu"], shape = [2, 2] }
            input.x = { dtype = "bf16", count = 4, meaning = "gradient" }
            proposal.it.step = [
                { call = "reduce_scatter", op = "sum", over = "gpu", send = "x", recv = "s" },
                { call = "all_reduce", op = "sum", over = "node", send = "s", recv = "s" },
                { call = "all_gather", over = "gpu", send = "s", recv = "y" },
            ]
            need = [
                { on = "every rank", buffer = "y", holds = "sum(x)" },
                { on = { rank = 3 }, buffer = "s", holds = "sum(x)[2..4]" },
            ]
            "#,
    ),
    (
        "averages of integer averages",
        r#"
            format = 1
            group.ranks = 4
            mesh = { axes = ["node", "gpu"], shape = [2, 2] }
            input.x = { dtype = "i8", count = 1, meaning = "gradient" }
            proposal.it.step = [
                { call = "all_reduce", op = "avg", over = "gpu", send = "x", recv = "t" },
                { call = "all_reduce", op = "avg", over = "node", send = "t", recv = "y" },
            ]
            need = [{ on = { rank = 2 }, buffer = "y", holds = "avg(x)" }]
            "#,
    ),
    (
        "views, padding, and a tensor cut along a dimension",
        r#"
            format = 1
            group.ranks = 3
            input.x = { dtype = "f32", count = 6, meaning = "gradient" }
            input.w = { dtype = "f32", count = 6, meaning = "weight" }
            proposal.it.step = [
                { call = "alloc", recv = "t", dtype = "f32", count = 13 },
                { call = "fill", recv = "t[0..1]", dtype = "f32", count = 1, value = 0.5 },
                { call = "reduce_scatter", op = "sum", send = "x", recv = "t[1..3]" },
                { call = "all_gather", send = "t[1..3]", recv = "t[3..9]" },
                { call = "shard", send = "w", recv = "t[9..11]", shape = [2, 3], dim = 1 },
                { call = "pad", send = "t[1..2]", recv = "t[11..13]", count = 2, value = -1 },
            ]
            need = [
                { on = { rank = 0 }, buffer = "t", holds = "concat(fill(0.5, f32, 1), sum(x)[0..2], sum(x), w[0..1], w[3..4], sum(x)[0..1], fill(-1, f32, 1))" },
                { on = { rank = 1 }, buffer = "t", holds = "concat(fill(0.5, f32, 1), sum(x)[2..4], sum(x), w[1..2], w[4..5], sum(x)[2..3], fill(-1, f32, 1))" },
                { on = { rank = 2 }, buffer = "t", holds = "concat(fill(0.5, f32, 1), sum(x)[4..6], sum(x), w[2..3], w[5..6], sum(x)[4..5], fill(-1, f32, 1))" },
            ]
            "#,
    ),
    (
        "ragged rows gathered, and exchanged in a group",
        r#"
            format = 1
            group.ranks = 3
            input.x = { dtype = "i32", counts = [3, 0, 2] }
            input.z = { dtype = "i32", count = 3 }
            proposal.it.step = [
                { call = "all_gather_v", counts = [3, 0, 2], send = "x", recv = "y" },
                { call = "alloc", recv = "t", dtype = "i32", count = 2 },
                { call = "group", step = [
                    { call = "send", on = { rank = 0 }, peer = 2, send = "z[1..3]" },
                    { call = "recv", on = { rank = 2 }, peer = 0, recv = "t" },
                    { call = "send", on = { rank = 2 }, peer = 0, send = "z[0..1]" },
                    { call = "recv", on = { rank = 0 }, peer = 2, recv = "t[1..2]" },
                ] },
            ]
            need = [
                { on = { rank = 1 }, buffer = "y", holds = "concat(x@rank0, x@rank2)" },
                { on = { rank = 0 }, buffer = "t", positions = "1..2", holds = "z@rank2[0..1]" },
                { on = { rank = 2 }, buffer = "t", holds = "z@rank0" },
            ]
            "#,
    ),
    (
        "a program for each rank",
        r#"
            format = 1
            group.ranks = 2
            input.x = { dtype = "i32", count = 4 }
            [[proposal.it.program]]
            on = { rank = 0 }
            step = [
                { call = "recv", peer = 1, recv = "theirs", wait = true },
                { call = "fold", op = "sum", send = ["theirs", "x"], recv = "y" },
                { call = "broadcast", root = 0, send = "y", recv = "y" },
            ]
            [[proposal.it.program]]
            on = { rank = 1 }
            step = [
                { call = "send", peer = 0, send = "x" },
                { call = "broadcast", root = 0, send = "y", recv = "y" },
            ]
            [[need]]
            on = "every rank"
            buffer = "y"
            holds = "sum(x)"
            "#,
    ),
    (
        "in place, its parts spelled out",
        r#"
            format = 1
            group.ranks = 2
            input.x = { dtype = "i32", count = 2 }
            [[proposal.it.program]]
            on = { rank = 0 }
            step = [
                { call = "alloc", recv = "t", dtype = "i32", count = 4 },
                { call = "copy", send = "x", recv = "t[0..2]" },
                { call = "all_gather", send = "t[0..2]", recv = "t[0..4]" },
            ]
            [[proposal.it.program]]
            on = { rank = 1 }
            step = [
                { call = "alloc", recv = "t", dtype = "i32", count = 4 },
                { call = "copy", send = "x", recv = "t[2..4]" },
                { call = "all_gather", send = "t[2..4]", recv = "t[0..4]" },
            ]
            [[need]]
            on = "every rank"
            buffer = "t"
            holds = "gather(x)"
            "#,
    ),
    (
        "one need of two",
        r#"
            format = 1
            group = { devices = ["A", "A"], sharing = "shared" }
            input.x = { dtype = "u8", count = 2, meaning = "gradient" }
            input.p = { dtype = "u8", count = 2, meaning = "parameter" }
            proposal.it.step = [
                { call = "all_gather", send = "p", recv = "y" },
                { call = "slice", positions = "1..3", send = "y", recv = "z" },
                { call = "concat", send = ["z", "x"], recv = "w" },
            ]
            need = [
                { on = { rank = 0 }, buffer = "w", holds = "concat(p@rank0[1..2], p@rank1[0..1], x)" },
                { on = "every rank", buffer = "y", holds = "gather(x)" },
            ]
            "#,
    ),
];

const WHOLE: &str = r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#;

/// Name and the steps of both proposals.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "the same sum",
        WHOLE,
        r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
           { call = "all_gather", send = "s", recv = "y" }"#,
    ),
    (
        "a repeated contribution under max",
        r#"{ call = "all_reduce", op = "max", send = "x", recv = "y" }"#,
        r#"{ call = "all_reduce", op = "max", send = "x", recv = "t" },
           { call = "all_reduce", op = "max", send = "t", recv = "y" }"#,
    ),
    (
        "all-to-all and a local sum",
        r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }"#,
        r#"{ call = "all_to_all", send = "x", recv = "t" },
           { call = "slice", positions = "0..2", send = "t", recv = "a" },
           { call = "slice", positions = "2..4", send = "t", recv = "b" },
           { call = "fold", op = "sum", send = ["a", "b"], recv = "y" }"#,
    ),
    (
        "gradients and parameters",
        r#"{ call = "all_gather", send = "x", recv = "y" }"#,
        r#"{ call = "all_gather", send = "p", recv = "y" }"#,
    ),
    (
        "nothing on one side",
        WHOLE,
        r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "y" }"#,
    ),
];

/// One certificate of each.
pub(crate) fn cases() -> Vec<Case> {
    let case = |name: &'static str, made: Result<Certificate, NoCertificate>| {
        let certificate = made.unwrap_or_else(|why| panic!("{name}: {why}"));
        Case { name, certificate }
    };
    let of_three = OF_THREE.iter().map(|(name, dtype, steps, on, holds)| {
        case(name, of_needs(&three(dtype, steps, on, holds)))
    });
    let whole = WHOLE_PLANS.iter().map(|(name, plan)| case(name, of_needs(plan)));
    let pairs = PAIRS.iter().map(|(name, one, other)| case(name, of_states(&two(one, other))));
    of_three.chain(whole).chain(pairs).collect()
}
