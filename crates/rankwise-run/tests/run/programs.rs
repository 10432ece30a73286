//! Random programs: the reference's numbers against the plan's terms in numbers, which
//! share no step.

use core::fmt::Write as _;

use proptest::prelude::*;
use rankwise_run::record::Verdict;

use crate::outcome;
use crate::toy::Wrong;

/// Acts that make 12 elements of 12 elements: steps from `{from}` to `{to}`, through
/// `{tmp}` where there are two. Every row works for 1, 2, 3, 4 and 6 ranks.
const ACTS: [&str; 14] = [
    r#"{ call = "all_reduce", op = "sum", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "all_reduce", op = "avg", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "all_reduce", op = "max", send = "{from}", recv = "{from}" }, { call = "copy", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "reduce_scatter", op = "min", send = "{from}", recv = "{tmp}" }, { call = "all_gather", send = "{tmp}", recv = "{to}" },"#,
    r#"{ call = "broadcast", root = 0, send = "{from}", recv = "{to}" },"#,
    r#"{ call = "all_to_all", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "scatter", root = 0, send = "{from}", recv = "{tmp}" }, { call = "all_gather", send = "{tmp}", recv = "{to}" },"#,
    r#"{ call = "scale", send = "{from}", by = 3, recv = "{to}" },"#,
    r#"{ call = "slice", send = "{from}", positions = "0..5", recv = "{tmp}" }, { call = "slice", send = "{from}", positions = "5..12", recv = "{to}" }, { call = "concat", send = ["{to}", "{tmp}"], recv = "{to}" },"#,
    r#"{ call = "fold", op = "sum", send = ["{from}", "x"], recv = "{to}" },"#,
    r#"{ call = "copy", send = "{from}", recv = "{to}" }, { call = "send", on = { rank = 0 }, peer = 0, send = "{from}" }, { call = "recv", on = { rank = 0 }, peer = 0, recv = "{to}" },"#,
    r#"{ call = "all_gather", send = "{from}", recv = "{from}" }, { call = "copy", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "all_reduce", op = "sum", over = "even", send = "{from}", recv = "{from}" }, { call = "copy", send = "{from}", recv = "{to}" },"#,
    r#"{ call = "all_reduce", op = "sum", over = "each", send = "{from}", recv = "{to}" },"#,
];

fn text(ranks: u32, dtype: &str, acts: &[usize]) -> String {
    let each: Vec<String> = (0..ranks).map(|rank| format!("[{rank}]")).collect();
    let even: Vec<String> = (0..ranks).rev().step_by(2).map(|rank| rank.to_string()).collect();
    let mut text = format!(
        "format = 1\ngroup.ranks = {ranks}\n\
         groups.each.lists = [{}]\ngroups.even.lists = [[{}]]\n\
         input.x = {{ dtype = \"{dtype}\", count = 12, meaning = \"m\" }}\n\
         proposal.p.step = [\n{{ call = \"copy\", send = \"x\", recv = \"b0\" }},\n",
        each.join(", "),
        even.join(", "),
    );
    for (at, act) in acts.iter().enumerate() {
        let step = ACTS[*act]
            .replace("{from}", &format!("b{at}"))
            .replace("{to}", &format!("b{}", at + 1))
            .replace("{tmp}", &format!("t{at}"));
        writeln!(text, "{step}").unwrap();
    }
    text.push(']');
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_random_program_leaves_what_the_model_says(
        ranks in prop::sample::select(vec![1_u32, 2, 3, 4, 6]),
        dtype in prop::sample::select(vec!["i32", "u8", "f32", "bf16", "f8e4m3"]),
        acts in prop::collection::vec(0..ACTS.len(), 1..7),
    ) {
        let text = text(ranks, dtype, &acts);
        let record = outcome(&text, &Wrong::default()).record;
        prop_assert_eq!(record.verdict, Verdict::Right, "{}\n{:#?}", text, record);
    }
}
