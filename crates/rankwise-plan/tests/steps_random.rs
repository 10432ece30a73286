//! Random plans with views, constants, groups and calls with counts, against an
//! interpreter of its own that moves plain integers about: what it leaves and what it
//! refuses is what the evaluation leaves and refuses.

use std::collections::BTreeMap;
use std::ops::Range;

use rankwise_plan::error::PlanError;
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::numbers::Numbers;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_topology::World;

struct Dice(u64);

impl Dice {
    fn below(&mut self, ways: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % ways.max(1)
    }
}

/// What a position holds; nothing where nothing is promised.
type Held = Option<i32>;

/// The step contradicts itself.
struct Refused;

/// How input and output of a rank may lie in one buffer.
enum Relation {
    /// Where each begins.
    At {
        input: usize,
        output: usize,
    },
    /// The rank reads nothing, so that nothing overlaps.
    ReadsNothing,
    Refused,
}

/// What a step reads or writes.
#[derive(Clone, PartialEq)]
struct Operand {
    name: String,
    view: Option<Range<usize>>,
}

impl Operand {
    fn text(&self) -> String {
        match &self.view {
            None => format!("\"{}\"", self.name),
            Some(view) => format!("\"{}[{}..{}]\"", self.name, view.start, view.end),
        }
    }
}

fn meet(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}

/// The memory of every rank; a buffer is as long on each.
#[derive(Clone)]
struct Ranks {
    n: usize,
    held: Vec<BTreeMap<String, Vec<Held>>>,
    /// What the parts of a group touch: the part, the buffer, the positions, a write.
    touched: Vec<(usize, String, Range<usize>, bool)>,
    part: Option<usize>,
}

impl Ranks {
    fn len(&self, name: &str) -> Option<usize> {
        self.held[0].get(name).map(Vec::len)
    }

    fn range(&self, of: &Operand) -> Result<Range<usize>, Refused> {
        let len = self.len(&of.name).ok_or(Refused)?;
        let range = of.view.clone().unwrap_or(0..len);
        if range.end <= len { Ok(range) } else { Err(Refused) }
    }

    fn read(&mut self, of: &Operand) -> Result<Vec<Vec<Held>>, Refused> {
        let range = self.range(of)?;
        self.touch(of, range.clone(), false);
        Ok(self.held.iter().map(|rank| rank[&of.name][range.clone()].to_vec()).collect())
    }

    fn touch(&mut self, of: &Operand, range: Range<usize>, writes: bool) {
        if let Some(part) = self.part {
            self.touched.push((part, of.name.clone(), range, writes));
        }
    }

    fn write(&mut self, into: &Operand, values: Vec<Vec<Held>>) -> Result<(), Refused> {
        let all = into.view.clone().unwrap_or(0..usize::MAX);
        self.touch(into, all, true);
        let Some(view) = &into.view else {
            for (rank, values) in self.held.iter_mut().zip(values) {
                rank.insert(into.name.clone(), values);
            }
            return Ok(());
        };
        let view = self.range(&Operand { view: Some(view.clone()), ..into.clone() })?;
        if values.iter().any(|values| values.len() != view.len()) {
            return Err(Refused);
        }
        for (rank, values) in self.held.iter_mut().zip(values) {
            rank.get_mut(&into.name).unwrap().splice(view.clone(), values);
        }
        Ok(())
    }

    /// Refuses a collective that reads and writes the same positions: `relation` says of
    /// each rank where its input and its output must begin in one buffer.
    fn check_overlap(
        &self,
        send: &Operand,
        recv: &Operand,
        output: usize,
        relation: impl Fn(usize) -> Relation,
    ) -> Result<(), Refused> {
        if send.name != recv.name || send == recv {
            return Ok(());
        }
        let (read, written) = (self.range(send)?, self.range(recv)?);
        if written.len() != output {
            return Err(Refused);
        }
        let fits = |rank| match relation(rank) {
            Relation::ReadsNothing => true,
            Relation::Refused => false,
            Relation::At { input, output } => read.start + output == written.start + input,
        };
        if meet(&read, &written) && !(0..self.n).all(fits) { Err(Refused) } else { Ok(()) }
    }

    fn local(
        &mut self,
        reads: &[&Operand],
        into: &Operand,
        position_wise: bool,
        act: impl Fn(&[Vec<Held>]) -> Result<Vec<Held>, Refused>,
    ) -> Result<(), Refused> {
        for from in reads.iter().filter(|from| from.name == into.name) {
            let read = self.range(from)?;
            if let Some(written) = &into.view
                && meet(&read, written)
                && !(position_wise && read == *written)
            {
                return Err(Refused);
            }
        }
        let all: Result<Vec<_>, _> = reads.iter().map(|from| self.read(from)).collect();
        let all = all?;
        let of_rank = |rank: usize| act(&all.iter().map(|of| of[rank].clone()).collect::<Vec<_>>());
        let made: Result<Vec<_>, _> = (0..self.n).map(of_rank).collect();
        self.write(into, made?)
    }

    fn all_reduce(&mut self, send: &Operand, recv: &Operand, max: bool) -> Result<(), Refused> {
        let input = self.read(send)?;
        self.check_overlap(send, recv, input[0].len(), |_| Relation::At { input: 0, output: 0 })?;
        let folded = fold(&input, max);
        self.write(recv, vec![folded; self.n])
    }
}

fn fold(parts: &[Vec<Held>], max: bool) -> Vec<Held> {
    (0..parts[0].len())
        .map(|at| {
            let all: Option<Vec<i32>> = parts.iter().map(|part| part[at]).collect();
            let all = all?.into_iter();
            if max { all.max() } else { all.reduce(i32::wrapping_add) }
        })
        .collect()
}

/// Its kind, its text, and whether it may be done.
type Step = (&'static str, String, Result<(), Refused>);

/// A plan under way: its steps, what they leave, and whether the last is refused.
struct Written {
    ranks: Ranks,
    steps: Vec<String>,
    new: usize,
}

impl Written {
    fn from(&self, dice: &mut Dice) -> Operand {
        let names: Vec<&String> = self.ranks.held[0].keys().collect();
        let name = names[dice.below(names.len())].clone();
        let len = self.ranks.len(&name).unwrap();
        Operand { view: view(dice, len), name }
    }

    /// A new buffer, one that is there, or a part of one of a length.
    fn into(&mut self, dice: &mut Dice, length: usize) -> Operand {
        if dice.below(3) == 0 {
            self.new += 1;
            return Operand { name: format!("b{}", self.new), view: None };
        }
        let names: Vec<&String> = self.ranks.held[0].keys().collect();
        let name = names[dice.below(names.len())].clone();
        let len = self.ranks.len(&name).unwrap();
        let view = match length {
            0 => None,
            length if length <= len && dice.below(4) > 0 => {
                let start = dice.below(len - length + 1);
                Some(start..start + length)
            }
            _ => view(dice, len),
        };
        Operand { name, view }
    }

    fn all_reduce(&mut self, dice: &mut Dice) -> (String, Result<(), Refused>) {
        let send = self.from(dice);
        let length = self.ranks.range(&send).map_or(0, |range| range.len());
        let recv = if dice.below(3) == 0 { send.clone() } else { self.into(dice, length) };
        let max = dice.below(2) == 0;
        let text = format!(
            "call = \"all_reduce\", op = \"{}\", send = {}, recv = {}",
            if max { "max" } else { "sum" },
            send.text(),
            recv.text()
        );
        (text, self.ranks.all_reduce(&send, &recv, max))
    }

    /// A step of any kind: its kind, its text, and whether it may be done.
    fn step(&mut self, dice: &mut Dice) -> Step {
        let send = self.from(dice);
        let length = self.ranks.range(&send).map_or(0, |range| range.len());
        match dice.below(4) {
            0 | 1 => self.collective(dice, &send, length),
            2 => self.local(dice, &send, length),
            _ => match dice.below(4) {
                0 => self.shard(dice, &send, length),
                1 => self.gathered_by_counts(dice, &send, length),
                2 => self.group(dice),
                _ => self.constant(dice),
            },
        }
    }

    fn collective(&mut self, dice: &mut Dice, send: &Operand, length: usize) -> Step {
        let n = self.ranks.n;
        let kind = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]
            [dice.below(5)];
        let output = match kind {
            "all_gather" => n * length,
            "reduce_scatter" => length / n,
            _ => length,
        };
        let recv = if dice.below(4) == 0 { send.clone() } else { self.into(dice, output) };
        let (root, max) = (dice.below(n), dice.below(2) == 0);
        let more = match kind {
            "all_reduce" if max => ", op = \"max\"".into(),
            "all_reduce" | "reduce_scatter" => ", op = \"sum\"".into(),
            "broadcast" => format!(", root = {root}"),
            _ => String::new(),
        };
        let text =
            format!("call = \"{kind}\"{more}, send = {}, recv = {}", send.text(), recv.text());
        let done = match kind {
            "all_reduce" => self.ranks.all_reduce(send, &recv, max),
            "all_gather" => self.all_gather(send, &recv),
            "reduce_scatter" => self.reduce_scatter(send, &recv),
            "all_to_all" => self.all_to_all(send, &recv),
            _ => self.broadcast(send, &recv, root),
        };
        (kind, text, done)
    }

    fn local(&mut self, dice: &mut Dice, send: &Operand, length: usize) -> Step {
        let kind = ["pad", "scale", "concat", "fold"][dice.below(4)];
        let other = self.from(dice);
        let count = length + dice.below(3);
        let (given, from) = match kind {
            "pad" => (format!("value = 7, count = {count}"), vec![send]),
            "scale" => ("by = -3".into(), vec![send]),
            "concat" => (String::new(), vec![send, &other]),
            _ => ("op = \"sum\"".into(), vec![send, &other]),
        };
        let same = kind == "scale" && dice.below(4) == 0;
        let length = if kind == "pad" { count } else { length };
        let recv = if same { send.clone() } else { self.into(dice, length) };
        let texts: Vec<String> = from.iter().map(|from| from.text()).collect();
        let sent =
            if let [one] = &texts[..] { one.clone() } else { format!("[{}]", texts.join(", ")) };
        let given = if given.is_empty() { given } else { format!(", {given}") };
        let text = format!("call = \"{kind}\"{given}, send = {sent}, recv = {}", recv.text());
        let position_wise = matches!(kind, "scale" | "fold");
        let done = self.ranks.local(&from, &recv, position_wise, |from| match kind {
            "pad" => {
                let mut padded = from[0].clone();
                padded.resize(count, Some(7));
                Ok(padded)
            }
            "scale" => {
                Ok(from[0].iter().map(|held| held.map(|value| value.wrapping_mul(-3))).collect())
            }
            "concat" => Ok(from.concat()),
            _ if from[0].len() != from[1].len() => Err(Refused),
            _ => Ok(fold(from, false)),
        });
        (kind, text, done)
    }

    fn constant(&mut self, dice: &mut Dice) -> Step {
        let (n, count) = (self.ranks.n, 1 + dice.below(6));
        let typed = format!("dtype = \"i32\", count = {count}");
        if dice.below(2) == 0 {
            let recv = Operand { name: format!("a{}", dice.below(3)), view: None };
            let text = format!("call = \"alloc\", {typed}, recv = {}", recv.text());
            return ("alloc", text, self.ranks.write(&recv, vec![vec![None; count]; n]));
        }
        let recv = self.into(dice, count);
        let value = i32::try_from(dice.below(9)).unwrap() - 4;
        let text = format!("call = \"fill\", value = {value}, {typed}, recv = {}", recv.text());
        ("fill", text, self.ranks.write(&recv, vec![vec![Some(value); count]; n]))
    }

    /// Two all-reduces at once: neither touches what the other writes.
    fn group(&mut self, dice: &mut Dice) -> Step {
        self.ranks.part = Some(0);
        let (one, first) = self.all_reduce(dice);
        self.ranks.part = Some(1);
        let (other, second) = self.all_reduce(dice);
        self.ranks.part = None;
        let text = format!("call = \"group\", step = [{{ {one} }}, {{ {other} }}]");
        let touched = std::mem::take(&mut self.ranks.touched);
        let (ones, others): (Vec<_>, Vec<_>) =
            touched.into_iter().partition(|(part, ..)| *part == 0);
        let apart = ones.iter().all(|(_, name, range, writes)| {
            others.iter().all(|(_, of, other, also)| {
                of != name || !(*writes || *also) || !meet(range, other)
            })
        });
        let done = first.and(second);
        ("group", text, if apart { done } else { Err(Refused) })
    }

    fn broadcast(&mut self, send: &Operand, recv: &Operand, root: usize) -> Result<(), Refused> {
        let input = self.ranks.read(send)?;
        self.ranks.check_overlap(send, recv, input[0].len(), |rank| {
            if rank == root { Relation::At { input: 0, output: 0 } } else { Relation::ReadsNothing }
        })?;
        self.ranks.write(recv, vec![input[root].clone(); self.ranks.n])
    }

    fn all_gather(&mut self, send: &Operand, recv: &Operand) -> Result<(), Refused> {
        let (n, input) = (self.ranks.n, self.ranks.read(send)?);
        let length = input[0].len();
        if send == recv {
            if length % n != 0 {
                return Err(Refused);
            }
            let c = length / n;
            let blocks = input.iter().enumerate().map(|(rank, of)| of[rank * c..][..c].to_vec());
            let whole = blocks.collect::<Vec<_>>().concat();
            return self.ranks.write(recv, vec![whole; n]);
        }
        self.ranks.check_overlap(send, recv, n * length, |rank| Relation::At {
            input: rank * length,
            output: 0,
        })?;
        self.ranks.write(recv, vec![input.concat(); n])
    }

    fn reduce_scatter(&mut self, send: &Operand, recv: &Operand) -> Result<(), Refused> {
        let (n, input) = (self.ranks.n, self.ranks.read(send)?);
        let length = input[0].len();
        if length % n != 0 {
            return Err(Refused);
        }
        let c = length / n;
        let folded = fold(&input, false);
        let block = |rank: usize| folded[rank * c..][..c].to_vec();
        let around = |rank: usize| {
            let mut whole = vec![None; length];
            whole.splice(rank * c..(rank + 1) * c, block(rank));
            whole
        };
        if send == recv {
            return self.ranks.write(recv, (0..n).map(around).collect());
        }
        self.ranks
            .check_overlap(send, recv, c, |rank| Relation::At { input: 0, output: rank * c })?;
        let lies_on =
            send.name == recv.name && meet(&self.ranks.range(send)?, &self.ranks.range(recv)?);
        if lies_on && n > 1 {
            return Err(Refused);
        }
        self.ranks.write(recv, (0..n).map(block).collect())
    }

    fn all_to_all(&mut self, send: &Operand, recv: &Operand) -> Result<(), Refused> {
        let (n, input) = (self.ranks.n, self.ranks.read(send)?);
        let length = input[0].len();
        if send == recv || length % n != 0 {
            return Err(Refused);
        }
        let c = length / n;
        self.ranks.check_overlap(send, recv, length, |_| Relation::Refused)?;
        let of = |rank: usize| {
            input.iter().map(|from| from[rank * c..][..c].to_vec()).collect::<Vec<_>>().concat()
        };
        self.ranks.write(recv, (0..n).map(of).collect())
    }

    /// A shard of a tensor of two axes, padded along one of them.
    fn shard(&mut self, dice: &mut Dice, send: &Operand, length: usize) -> Step {
        let n = self.ranks.n;
        let divisors: Vec<usize> = (1..=length).filter(|by| length.is_multiple_of(*by)).collect();
        let columns = if divisors.is_empty() { 1 } else { divisors[dice.below(divisors.len())] };
        let rows = length / columns;
        let dim = dice.below(2);
        let axis = if dim == 0 { rows } else { columns };
        let each = axis.div_ceil(n);
        let recv = self.into(dice, length / axis.max(1) * each);
        let text = format!(
            "call = \"shard\", shape = [{rows}, {columns}], dim = {dim}, uneven = \"pad\", \
             value = 5, send = {}, recv = {}",
            send.text(),
            recv.text()
        );
        let lies_on = send.name == recv.name
            && recv.view.is_some()
            && matches!((self.ranks.range(send), self.ranks.range(&recv)), (Ok(a), Ok(b)) if meet(&a, &b));
        let done = if lies_on {
            Err(Refused)
        } else {
            self.ranks.read(send).and_then(|input| {
                let of = |rank: usize| {
                    let at = |row: usize, column: usize| {
                        let inside = row < rows && column < columns;
                        if inside { input[rank][row * columns + column] } else { Some(5) }
                    };
                    let (row, column) = if dim == 0 { (each, columns) } else { (rows, each) };
                    let mut share = Vec::new();
                    for r in 0..row {
                        for c in 0..column {
                            let moved = rank * each;
                            share.push(if dim == 0 { at(r + moved, c) } else { at(r, c + moved) });
                        }
                    }
                    share
                };
                self.ranks.write(&recv, (0..n).map(of).collect())
            })
        };
        ("shard", text, done)
    }

    /// A reduce-scatter with counts and an all-gather of what it leaves.
    fn gathered_by_counts(&mut self, dice: &mut Dice, send: &Operand, length: usize) -> Step {
        let n = self.ranks.n;
        let send = Operand { view: None, ..send.clone() };
        let length = self.ranks.len(&send.name).unwrap_or(length);
        let mut cuts: Vec<usize> = (1..n).map(|_| dice.below(length + 1)).collect();
        cuts.sort_unstable();
        let ends: Vec<usize> = cuts.iter().copied().chain([length]).collect();
        let starts: Vec<usize> = core::iter::once(0).chain(cuts).collect();
        let counts: Vec<String> =
            starts.iter().zip(&ends).map(|(start, end)| (end - start).to_string()).collect();
        self.new += 2;
        let (part, whole) = (format!("r{}", self.new), format!("b{}", self.new));
        let counts = counts.join(", ");
        let text = format!(
            "call = \"reduce_scatter_v\", op = \"sum\", counts = [{counts}], send = {}, recv = \"{part}\" }},\n\
             {{ call = \"all_gather_v\", counts = [{counts}], send = \"{part}\", recv = \"{whole}\"",
            send.text(),
        );
        let done = self.ranks.read(&send).and_then(|input| {
            let into = Operand { name: whole, view: None };
            self.ranks.write(&into, vec![fold(&input, false); n])
        });
        ("by_counts", text, done)
    }
}

fn view(dice: &mut Dice, len: usize) -> Option<Range<usize>> {
    if len == 0 || dice.below(2) == 0 {
        return None;
    }
    let start = dice.below(len);
    let past = usize::from(dice.below(12) == 0);
    Some(start..start + 1 + dice.below(len - start + past))
}

fn head(n: usize, values: &[Vec<i32>]) -> String {
    let lists: Vec<String> =
        values.iter().enumerate().map(|(rank, list)| format!("{rank} = {list:?}")).collect();
    format!(
        "format = 1\ngroup.ranks = {n}\ninput.x = {{ dtype = \"i32\", on.rank = {{ {} }} }}\n",
        lists.join(", ")
    )
}

fn evaluated(text: &str) -> Result<(Plan, Terms, Evaluation), PlanError> {
    let plan = Plan::read(text, Format::Toml, &mut NoArrays)?;
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms)?;
    Ok((plan, terms, evaluation))
}

/// Plans of the suite; more where a number is given.
fn plans() -> usize {
    std::env::var("RANKWISE_STEPS_PLANS").ok().and_then(|text| text.parse().ok()).unwrap_or(4000)
}

#[test]
fn plans_leave_what_an_interpreter_leaves() {
    let mut dice = Dice(20_261_202);
    let mut seen: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for _ in 0..plans() {
        let n = 1 + dice.below(4);
        let length = n * (1 + dice.below(3));
        let values: Vec<Vec<i32>> = (0..n)
            .map(|_| {
                let value = |_| i32::try_from(dice.below(2_000_000)).unwrap() * 1_009;
                (0..length).map(value).collect()
            })
            .collect();
        let held = values
            .iter()
            .map(|list| BTreeMap::from([("x".into(), list.iter().copied().map(Some).collect())]))
            .collect();
        let ranks = Ranks { n, held, touched: Vec::new(), part: None };
        let mut plan = Written { ranks, steps: Vec::new(), new: 0 };
        let mut refused = false;
        for _ in 0..=dice.below(6) {
            let (kind, text, done) = plan.step(&mut dice);
            plan.steps.push(format!("    {{ {text} }},\n"));
            *seen.entry((kind, done.is_ok())).or_default() += 1;
            if done.is_err() {
                refused = true;
                break;
            }
        }
        let text = format!("{}proposal.p.step = [\n{}]\n", head(n, &values), plan.steps.concat());
        match evaluated(&text) {
            Err(error) => assert!(refused, "{error}\n{text}"),
            Ok(_) if refused => panic!("carried out, and should be refused\n{text}"),
            Ok((read, mut terms, evaluation)) => {
                let numbers = Numbers::of(&read, &mut terms);
                for (rank, held) in World::new(read.world).ranks().zip(&plan.ranks.held) {
                    for (buffer, values) in held {
                        let vector = evaluation.after.get(rank, buffer).unwrap();
                        let found = numbers.values(&terms, vector);
                        let found: Vec<Held> = found
                            .into_iter()
                            .map(|value| i32::try_from(value?.to_integer()?).ok())
                            .collect();
                        assert_eq!(&found, values, "{buffer} on rank {rank}\n{text}");
                    }
                }
            }
        }
    }
    // Every kind of step was carried out, and every kind that can be was refused.
    let kinds = seen.keys().map(|(kind, _)| *kind).collect::<std::collections::BTreeSet<_>>();
    for kind in kinds {
        assert!(seen.get(&(kind, true)).is_some_and(|times| *times > 50), "{kind}: {seen:?}");
        let always = ["alloc", "by_counts"].contains(&kind);
        assert!(always || seen.contains_key(&(kind, false)), "{kind}: {seen:?}");
    }
}
