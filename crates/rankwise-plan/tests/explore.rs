//! Which permutations of devices are harmless: by hand, and against all n! of them.
//!
//! The brute force relabels by its own code: it puts the devices into the plan's map in
//! another order, carries the proposal out again and judges every need again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rankwise_plan::Plan;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::explore::{Exploration, Extent, Harm, explore, permuted};
use rankwise_plan::file::Format;
use rankwise_plan::need::{Answer, judge_needs};
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_topology::{Device, Permutation, PermutationGroup, RankMap};
use rstest::rstest;

fn read(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn explored(plan: &Plan) -> Exploration {
    explore(plan, &plan.proposals[0]).unwrap()
}

/// The answer to every need, or `None` where the plan contradicts itself.
fn answers(plan: &Plan) -> Option<Vec<Answer>> {
    let mut terms = Terms::new();
    let evaluation = evaluate(plan, &plan.proposals[0], &mut terms).ok()?;
    if !evaluation.reports().is_empty() {
        return None; // calls that do not meet
    }
    let report = judge_needs(plan, &plan.proposals[0], &evaluation, &mut terms).ok()?;
    Some(report.needs.iter().map(|need| need.answer).collect())
}

/// All rearrangements of 0 … n−1.
fn all(n: u32) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for _ in 0..n {
        let longer = |start: &Vec<u32>| {
            let rest = (0..n).filter(|next| !start.contains(next)).collect::<Vec<_>>();
            rest.into_iter().map(|next| [start.as_slice(), &[next]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// What all n! permutations do: the harmless, and the undecided.
fn brute_force(plan: &Plan) -> (BTreeSet<Vec<u32>>, usize) {
    let map = plan.map.as_ref().unwrap();
    let devices: Vec<Device> =
        map.world().ranks().map(|rank| map.device(rank).unwrap().clone()).collect();
    let before = answers(plan).unwrap();
    let mut harmless = BTreeSet::new();
    let mut undecided = 0;
    for images in all(plan.world.get()) {
        let placed = images.iter().map(|at| devices[*at as usize].clone()).collect();
        let mut other = plan.clone();
        other.map = Some(RankMap::new(placed, map.sharing()).unwrap());
        let after: Vec<Answer> = match answers(&other) {
            Some(after) => after,
            None => vec![Answer::No; before.len()],
        };
        let asked = || before.iter().zip(&after).filter(|(was, _)| **was == Answer::Yes);
        if asked().all(|(_, is)| *is == Answer::Yes) {
            harmless.insert(images);
        } else if asked().all(|(_, is)| *is != Answer::No) {
            undecided += 1;
        }
    }
    (harmless, undecided)
}

/// Those that leave the harmless the harmless: Hσ = H.
fn symmetries(harmless: &BTreeSet<Vec<u32>>) -> BTreeSet<Vec<u32>> {
    let moves = |sigma: &Vec<u32>| {
        // hσ puts the rank that was on r on h(σ(r)).
        let moved = |h: &Vec<u32>| sigma.iter().map(|at| h[*at as usize]).collect::<Vec<u32>>();
        harmless.iter().all(|h| harmless.contains(&moved(h)))
    };
    harmless.iter().filter(|sigma| moves(sigma)).cloned().collect()
}

/// Holds an exploration against all n! permutations.
#[track_caller]
fn equals_brute_force(text: &str) -> Exploration {
    let plan = read(text);
    let found = explored(&plan);
    let (harmless, undecided) = brute_force(&plan);
    assert_eq!(found.harmless.to_string(), harmless.len().to_string(), "{text}");
    assert_eq!(found.undecided.to_string(), undecided.to_string(), "{text}");
    let symmetries = symmetries(&harmless);
    assert_eq!(found.symmetry.order.to_string(), symmetries.len().to_string(), "{text}");
    let generators = found.symmetry.generators.iter().cloned();
    let group = PermutationGroup::generated(plan.world.get(), generators).unwrap();
    for images in all(plan.world.get()) {
        let permutation = Permutation::from_images(images.clone()).unwrap();
        assert_eq!(group.contains(&permutation), symmetries.contains(&images), "{text}");
    }
    found
}

fn plan(devices: &str, rest: &str) -> String {
    let names: Vec<String> = devices.split(' ').map(|name| format!("{name:?}")).collect();
    format!("format = 1\ngroup.devices = [{}]\n{rest}", names.join(", "))
}

/// A plan of `x` to `y` by one call.
fn one_call(devices: &str, call: &str, needs: &str) -> String {
    let rest = format!(
        "input.x = {{ dtype = \"i32\", count = 12, meaning = \"m\" }}\n\
         proposal.it.step = [{{ {call}, send = \"x\", recv = \"y\" }}]\nneed = [{needs}]\n"
    );
    plan(devices, &rest)
}

const SUM: &str = r#"call = "all_reduce", op = "sum""#;
const GATHER: &str = r#"call = "all_gather""#;
const SCATTER: &str = r#"call = "reduce_scatter", op = "sum""#;

fn need(on: &str, holds: &str) -> String {
    format!("{{ on = {on}, buffer = \"y\", holds = '{holds}' }},")
}

const EVERY: &str = "\"every rank\"";

#[rstest]
// No need names a device: all n!.
#[case(SUM, &[(EVERY, "sum(x)")], "24", "24")]
#[case(GATHER, &[(EVERY, "gather(x)")], "24", "24")]
// By rank: whichever device rank 1 is on, its block comes second.
#[case(GATHER, &[(EVERY, "concat(x@rank0, x@rank1, x@rank2, x@rank3)")], "24", "24")]
// The order of the devices is fixed: 1.
#[case(GATHER, &[(EVERY, "concat(x@A, x@B, x@C, x@D)")], "1", "1")]
// A must stay rank 0: 3!.
#[case(SCATTER, &[("{ device = \"A\" }", "shard(sum(x), 0)")], "6", "6")]
// A stays rank 0 and C rank 2: 2!.
#[case(
    SCATTER,
    &[("{ device = \"A\" }", "shard(sum(x), 0)"), ("{ device = \"C\" }", "shard(sum(x), 2)")],
    "2", "2"
)]
// A shard wherever A is: no place is better than another.
#[case(SCATTER, &[("{ device = \"A\" }", "shard(sum(x))")], "24", "24")]
// The first two blocks are those of A and B: C and D change places.
#[case(GATHER, &[(EVERY, "concat(x@A, x@B, x@rank2, x@rank3)")], "2", "2")]
fn four_devices_by_hand(
    #[case] call: &str,
    #[case] needs: &[(&str, &str)],
    #[case] harmless: &str,
    #[case] symmetries: &str,
) {
    let needs: String = needs.iter().map(|(on, holds)| need(on, holds)).collect();
    let found = equals_brute_force(&one_call("A B C D", call, &needs));
    assert_eq!(found.harmless.to_string(), harmless);
    assert_eq!(found.symmetry.order.to_string(), symmetries);
    assert_eq!(found.cosets().unwrap().to_string(), "1");
}

/// Pairs (0 1) and (2 3); device A must be where its pair is (0 1). It may be rank 0 or
/// rank 1, so 2 · 3! = 12 permutations are harmless. They are no group: with A on rank 1
/// as (A B), and (A C)(…) … G must keep {0, 1} and {2, 3}: 2! · 2! = 4, hence 3 cosets.
#[test]
fn the_harmless_need_not_be_a_group() {
    let call = r#"call = "all_gather", over = [[0, 1], [2, 3]]"#;
    let needs = need("{ device = \"A\" }", "concat(x@rank0, x@rank1)");
    let found = equals_brute_force(&one_call("A B C D", call, &needs));
    assert_eq!(found.harmless.to_string(), "12");
    assert_eq!(found.symmetry.order.to_string(), "4");
    assert_eq!(found.cosets().unwrap().to_string(), "3");
}

/// Two nodes of three: the first of each broadcasts, and the others of its node need
/// what its device has. Within a node two change places, and the nodes do: 2! · 2! · 2!.
#[test]
fn a_two_level_mesh_is_a_wreath_product() {
    let call = r#"call = "broadcast", root = 0, over = [[0, 1, 2], [3, 4, 5]]"#;
    let on = |device: &str, root: &str| need(&format!("{{ device = {device:?} }}"), root);
    let needs = [on("B", "x@A"), on("C", "x@A"), on("E", "x@D"), on("F", "x@D")].concat();
    let found = equals_brute_force(&one_call("A B C D E F", call, &needs));
    assert_eq!(found.harmless.to_string(), "8");
    assert_eq!(found.symmetry.order.to_string(), "8");
    assert_eq!(found.symmetry.classes, [vec![1, 2], vec![4, 5]]);
}

/// A step that device C takes: what the ranks hold depends on where C is.
#[test]
fn a_step_may_name_a_device() {
    let text = plan(
        "A B C D",
        r#"
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [
            { call = "copy", on = { device = "C" }, send = "x", recv = "y" },
        ]
        need = [{ on = { rank = 2 }, buffer = "y", holds = "x" }]
        "#,
    );
    // Only where C is does anybody have a y, and rank 2 needs one: C stays.
    assert_eq!(equals_brute_force(&text).harmless.to_string(), "6");
}

/// Programs of devices: A sends to rank 1, which must be B. Exchanged, rank 1 would send
/// to itself, and what B waits for never comes.
#[test]
fn a_program_may_name_a_device() {
    let text = plan(
        "A B",
        r#"
        input.x = { dtype = "i32", count = 4 }
        proposal.it.program = [
            { on = { device = "A" }, step = [{ call = "send", peer = 1, send = "x" }] },
            { on = { device = "B" }, step = [{ call = "recv", peer = 0, recv = "y" }] },
        ]
        need = [{ on = { rank = 1 }, buffer = "y", holds = "x@rank0" }]
        "#,
    );
    assert_eq!(equals_brute_force(&text).harmless.to_string(), "1");
}

/// Ranks that share a device have two places there, and to exchange them is nothing.
#[test]
fn a_shared_device_has_one_place_per_rank() {
    let text = r#"
        format = 1
        group = { devices = ["A", "A", "B", "C"], sharing = "shared" }
        input.x = { dtype = "i32", count = 8 }
        proposal.it.step = [
            { call = "reduce_scatter", op = "sum", send = "x", recv = "y" },
        ]
        need = [
            { on = { device = "A" }, buffer = "y", holds = "shard(sum(x))" },
            { on = { device = "B" }, buffer = "y", holds = "shard(sum(x), 2)" },
        ]
    "#;
    // B stays; the two places of A and that of C are free: 3!.
    assert_eq!(equals_brute_force(text).harmless.to_string(), "6");
}

/// A reduction that is not named makes every need on it unknown, before and after; but
/// then it was not satisfied, and asks nothing.
#[test]
fn an_unknown_need_asks_nothing() {
    let needs = need("{ device = \"A\" }", "sum(x)");
    let found = equals_brute_force(&one_call("A B C", r#"call = "all_reduce""#, &needs));
    assert_eq!((found.harmless.to_string(), found.undecided.to_string()), ("6".into(), "0".into()));
}

/// Rank 1 is left with an unnamed reduction, the others with a sum. A needs the sum: it
/// is not known to break on rank 1, so of 3! four are harmless and two undecided.
#[test]
fn what_is_not_known_any_more_is_not_harmless() {
    let text = plan(
        "A B C",
        r#"
        input.x = { dtype = "i32", count = 4 }
        proposal.it.step = [
            { call = "all_reduce", op = "sum", send = "x", recv = "y" },
            { call = "fold", on = { rank = 1 }, send = ["x", "x"], recv = "y" },
        ]
        need = [{ on = { device = "A" }, buffer = "y", holds = "sum(x)" }]
        "#,
    );
    let found = equals_brute_force(&text);
    assert_eq!((found.harmless.to_string(), found.undecided.to_string()), ("4".into(), "2".into()));
    let exchange = Permutation::exchange(3, 0, 1).unwrap();
    let plan = read(&text);
    assert_eq!(permuted(&plan, &plan.proposals[0], &exchange).unwrap().harm(), Harm::Undecided);
}

/// Seven devices, a mesh-like partition and needs of every kind: all 5040.
#[test]
fn seven_devices_against_all_5040() {
    let call = r#"call = "all_gather", over = [[0, 1, 2], [3, 4, 5]]"#;
    let needs = [
        need("{ device = \"B\" }", "concat(x@A, x@B, x@C)"),
        need("{ rank = 3 }", "concat(x@D, x@rank4, x@F)"),
    ];
    let found = equals_brute_force(&one_call("A B C D E F G", call, &needs.concat()));
    // A, B, C, D and F stay; E and G may change places.
    assert_eq!(found.harmless.to_string(), "2");
}

/// Beyond what anybody could try: a count and its class.
#[rstest]
#[case(
    64,
    "126886932185884164103433389335161480802865516174545192198801894375214704230400000000000000"
)]
#[case(1000, "")]
fn many_devices_are_counted_exactly(#[case] n: usize, #[case] factorial: &str) {
    let names: Vec<String> = (0..n).map(|at| format!("d{at}")).collect();
    let call = SUM.to_string();
    let found = explored(&read(&one_call(&names.join(" "), &call, &need(EVERY, "sum(x)"))));
    assert_eq!(found.harmless.extent, Extent::Exact);
    assert_eq!(found.harmless.number, found.all());
    if !factorial.is_empty() {
        assert_eq!(found.harmless.to_string(), factorial);
    }
    assert_eq!(found.symmetry.generators.len(), 2);

    // One device of them must stay where it is: (n−1)!, and nothing moves 5.
    let count = n * 2;
    let text =
        one_call(&names.join(" "), SCATTER, &need("{ device = \"d5\" }", "shard(sum(x), 5)"));
    let text = text.replace("count = 12", &format!("count = {count}"));
    let found = explored(&read(&text));
    assert_eq!(found.harmless.number.clone() * n, found.all());
    assert_eq!((found.harmless.extent, found.judged), (Extent::Exact, n as u64));
    assert!(found.symmetry.generators.iter().all(|generator| generator.image(5) == Some(5)));
}

/// Eight nodes of eight, each device where its node is: (8!)^8 · 8! by needs that name
/// two devices each.
#[test]
fn eight_nodes_of_eight_are_a_wreath_product() {
    let names: Vec<String> = (0..64).map(|at| format!("d{at}")).collect();
    let nodes: Vec<String> =
        (0..8).map(|node| format!("{:?}", (node * 8..node * 8 + 8).collect::<Vec<_>>())).collect();
    let call = format!("call = \"broadcast\", root = 0, over = [{}]", nodes.join(", "));
    let mut needs = String::new();
    for at in (0..64).filter(|at| at % 8 != 0) {
        let needed = need(&format!("{{ device = \"d{at}\" }}"), &format!("x@d{}", at / 8 * 8));
        writeln!(needs, "{needed}").unwrap();
    }
    let found = explored(&read(&one_call(&names.join(" "), &call, &needs)));
    // (7!)^8 · 8!: the first of each node is the one that broadcasts.
    assert_eq!(found.harmless.to_string(), "16786680128857246009393152000000000");
    assert_eq!(found.symmetry.order, found.harmless);
}

/// A small generator of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A random plan whose needs are true of the map it states.
fn random_plan(dice: &mut Dice, n: usize) -> String {
    let names: Vec<String> = "ABCDEFG".chars().take(n).map(String::from).collect();
    let mut ranks: Vec<usize> = (0..n).collect();
    for at in (1..n).rev() {
        ranks.swap(at, dice.below(at + 1));
    }
    let groups: Vec<Vec<usize>> = match (n, dice.below(3)) {
        (4 | 6, 0) => ranks.chunks(2).map(<[usize]>::to_vec).collect(),
        (6, 1) => ranks.chunks(3).map(<[usize]>::to_vec).collect(),
        (3.., 1) => vec![ranks[..n - 1].to_vec()],
        _ => vec![ranks.clone()],
    };
    let lists: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
    let call = *dice.pick(&["sum", "gather", "scatter", "broadcast", "copy"]);
    let step = match call {
        "sum" => r#"call = "all_reduce", op = "sum", over = "p""#.to_string(),
        "gather" => r#"call = "all_gather", over = "p""#.to_string(),
        "scatter" => r#"call = "reduce_scatter", op = "max", over = "p""#.to_string(),
        "broadcast" => r#"call = "broadcast", root = 1, over = "p""#.to_string(),
        _ if dice.below(2) == 0 => r#"call = "copy""#.to_string(),
        _ => format!("call = \"copy\", on = {{ device = {:?} }}", dice.pick(&names)),
    };
    let mut needs = String::new();
    for _ in 0..=dice.below(3) {
        let group = dice.pick(&groups).clone();
        let at = dice.below(group.len());
        let (rank, member) = (group[at], dice.below(group.len()));
        let mut whose = |rank: usize| match dice.below(2) {
            0 => format!("x@{}", names[rank]),
            _ => format!("x@rank{rank}"),
        };
        let holds = match call {
            "sum" => "sum(x) over p".to_string(),
            "gather" if member == 0 => "gather(x) over p".to_string(),
            "gather" => {
                let parts: Vec<String> = group.iter().map(|rank| whose(*rank)).collect();
                format!("concat({})", parts.join(", "))
            }
            "scatter" if member == 0 => "shard(max(x) over p) over p".to_string(),
            "scatter" => format!("shard(max(x) over p, {at}) over p"),
            "broadcast" => whose(group[1]),
            _ if member == 0 => "x".to_string(),
            _ => whose(rank),
        };
        let on = match dice.below(3) {
            0 => format!("{{ rank = {rank} }}"),
            _ => format!("{{ device = {:?} }}", names[rank]),
        };
        needs.push_str(&need(&on, &holds));
    }
    plan(
        &names.join(" "),
        &format!(
            "groups.p.lists = [{}]\n\
             input.x = {{ dtype = \"i32\", count = 60 }}\n\
             proposal.it.step = [{{ {step}, send = \"x\", recv = \"y\" }}]\nneed = [{needs}]\n",
            lists.join(", ")
        ),
    )
}

#[test]
fn random_plans_against_all_permutations() {
    let mut dice = Dice(4);
    let (mut some, mut no_group) = (0, 0);
    for n in [2, 3, 3, 4, 4, 4, 5, 5, 6] {
        for _ in 0..if n < 5 { 24 } else { 8 } {
            let found = equals_brute_force(&random_plan(&mut dice, n));
            some += usize::from(found.harmless.number != found.all());
            no_group += usize::from(found.cosets().unwrap() != 1_u32.into());
        }
    }
    // Most name devices, and the harmless are no group now and then.
    assert!(some > 60 && no_group > 5, "{some} {no_group}");
}
