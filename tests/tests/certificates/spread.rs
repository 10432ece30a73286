//! Plans whose certificates the tests look at: every collective, every local act, both
//! answers of each question.

use rankwise_plan::Plan;
use rankwise_plan::certify::{self, Certificate, NoCertificate};
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;

pub(crate) fn read(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
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

fn needs(name: &'static str, text: &str) -> Case {
    let certificate = of_needs(text).unwrap_or_else(|why| panic!("{name}: {why}"));
    Case { name, certificate }
}

fn states(name: &'static str, text: &str) -> Case {
    let certificate = of_states(text).unwrap_or_else(|why| panic!("{name}: {why}"));
    Case { name, certificate }
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

const EVERY: &str = "\"every rank\"";
const SECOND: &str = "{ rank = 1 }";

/// One certificate of each kind, and of each collective in and out of place.
pub(crate) fn cases() -> Vec<Case> {
    let int = |steps, on, holds| three("i32", steps, on, holds);
    let float = |steps, holds| three("f32", steps, EVERY, holds);
    let mut cases = vec![
        needs(
            "all_reduce",
            &int(r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#, EVERY, "sum(x)"),
        ),
        needs(
            "all_reduce in place",
            &int(
                r#"{ call = "copy", send = "x", recv = "y" },
                   { call = "all_reduce", op = "prod", send = "y", recv = "y" }"#,
                EVERY,
                "prod(x)",
            ),
        ),
        needs(
            "reduce",
            &int(
                r#"{ call = "reduce", op = "max", root = 1, send = "x", recv = "y" }"#,
                SECOND,
                "max(x)",
            ),
        ),
        needs(
            "reduce, elsewhere",
            &int(
                r#"{ call = "reduce", op = "min", root = 0, send = "x", recv = "y" }"#,
                SECOND,
                "min(x)",
            ),
        ),
        needs(
            "broadcast",
            &int(r#"{ call = "broadcast", root = 2, send = "x", recv = "y" }"#, EVERY, "x@C"),
        ),
        needs(
            "all_gather",
            &int(r#"{ call = "all_gather", send = "x", recv = "y" }"#, EVERY, "gather(x)"),
        ),
        needs(
            "all_gather in place",
            &int(
                r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
                   { call = "all_gather", send = "s", recv = "y" },
                   { call = "all_gather", send = "y", recv = "y" }"#,
                EVERY,
                "sum(x)",
            ),
        ),
        needs(
            "reduce_scatter",
            &int(
                r#"{ call = "reduce_scatter", op = "avg", send = "x", recv = "y" }"#,
                EVERY,
                "shard(avg(x))",
            ),
        ),
        needs(
            "reduce_scatter in place",
            &int(
                r#"{ call = "copy", send = "x", recv = "y" },
                   { call = "reduce_scatter", op = "sum", send = "y", recv = "y" }"#,
                SECOND,
                "sum(x)",
            ),
        ),
        needs(
            "all_to_all",
            &int(
                r#"{ call = "all_to_all", send = "x", recv = "y" }"#,
                SECOND,
                "concat(x@A[2..4], x@B[2..4], x@C[2..4])",
            ),
        ),
        needs(
            "gather",
            &int(r#"{ call = "gather", root = 1, send = "x", recv = "y" }"#, SECOND, "gather(x)"),
        ),
        needs(
            "scatter",
            &int(r#"{ call = "scatter", root = 2, send = "x", recv = "y" }"#, EVERY, "shard(x@C)"),
        ),
        needs(
            "scatter in place, to the wrong rank",
            &int(
                r#"{ call = "copy", send = "x", recv = "y" },
                   { call = "scatter", root = 2, send = "y", recv = "y" }"#,
                SECOND,
                "shard(x@C, 0)",
            ),
        ),
        needs(
            "originals gathered",
            &int(r#"{ call = "all_gather", send = "x", recv = "y" }"#, EVERY, "sum(x)"),
        ),
        needs(
            "summed twice",
            &int(
                r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
                   { call = "all_reduce", op = "sum", send = "t", recv = "y" }"#,
                EVERY,
                "sum(x)",
            ),
        ),
        needs(
            "another type",
            &int(
                r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
                   { call = "cast", dtype = "i64", send = "t", recv = "y" }"#,
                EVERY,
                "sum(x)",
            ),
        ),
        needs(
            "a float average",
            &float(r#"{ call = "all_reduce", op = "avg", send = "x", recv = "y" }"#, "avg(x)"),
        ),
        needs(
            "a float sum, scaled",
            &float(
                r#"{ call = "all_reduce", op = "sum", send = "x", recv = "t" },
                   { call = "scale", by = "1/3", send = "t", recv = "y" }"#,
                "avg(x)",
            ),
        ),
        needs(
            "a pre-multiplied sum",
            &float(
                r#"{ call = "all_reduce", op = "premul", scalars = ["0.5", "0.25", "0.1"], send = "x", recv = "y" }"#,
                "premul(x, 0.5, 0.25, 0.1)",
            ),
        ),
        needs(
            "a sum where an average is needed",
            &float(r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#, "avg(x)"),
        ),
        needs(
            "narrowed before it is summed",
            &float(
                r#"{ call = "cast", dtype = "bf16", send = "x", recv = "n" },
                   { call = "all_reduce", op = "sum", send = "n", recv = "t" },
                   { call = "cast", dtype = "f32", send = "t", recv = "y" }"#,
                "sum(x)",
            ),
        ),
        needs(
            "256 times in u8",
            &three(
                "u8",
                r#"{ call = "scale", by = "256", send = "x", recv = "t" },
                   { call = "fold", op = "sum", send = ["t", "x"], recv = "y" }"#,
                EVERY,
                "x",
            ),
        ),
    ];
    cases.extend(larger());
    cases
}

/// Messages, groups, several needs, and comparisons.
fn larger() -> Vec<Case> {
    let two = |steps: [&str; 2], rest: &str| {
        format!(
            r#"
            format = 1
            group.devices = ["A", "B"]
            input.x = {{ dtype = "i32", count = 4, meaning = "gradient" }}
            input.p = {{ dtype = "i32", count = 4, meaning = "parameter" }}
            proposal.one.step = [{}]
            proposal.other.step = [{}]
            {rest}
            "#,
            steps[0], steps[1]
        )
    };
    let whole = r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y" }"#;
    let sharded = r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" },
                     { call = "all_gather", send = "s", recv = "y" }"#;
    let outputs = "proposal.one.outputs = [\"y\"]";
    vec![
        needs(
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
        needs(
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
        needs(
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
        needs(
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
        states("the same sum", &two([whole, sharded], outputs)),
        states(
            "a repeated contribution under max",
            &two(
                [
                    r#"{ call = "all_reduce", op = "max", send = "x", recv = "y" }"#,
                    r#"{ call = "all_reduce", op = "max", send = "x", recv = "t" },
                       { call = "all_reduce", op = "max", send = "t", recv = "y" }"#,
                ],
                outputs,
            ),
        ),
        states(
            "all-to-all and a local sum",
            &two(
                [
                    r#"{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }"#,
                    r#"{ call = "all_to_all", send = "x", recv = "t" },
                       { call = "slice", positions = "0..2", send = "t", recv = "a" },
                       { call = "slice", positions = "2..4", send = "t", recv = "b" },
                       { call = "fold", op = "sum", send = ["a", "b"], recv = "y" }"#,
                ],
                outputs,
            ),
        ),
        states(
            "gradients and parameters",
            &two(
                [
                    r#"{ call = "all_gather", send = "x", recv = "y" }"#,
                    r#"{ call = "all_gather", send = "p", recv = "y" }"#,
                ],
                outputs,
            ),
        ),
        states(
            "nothing on one side",
            &two(
                [whole, r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "y" }"#],
                outputs,
            ),
        ),
    ]
}
