//! A plan in the oracle's words, what it leaves, and its text for the checker.

use std::fmt::Write as _;
use std::ops::Range;

use rankwise_oracle::expression::{Expression, Groups};
use rankwise_oracle::kind::Kind;
use rankwise_oracle::step::{Act, Step};
use rankwise_oracle::value::{Value, Values};
use rankwise_oracle::world::{Refusal, World};

/// Inputs, proposals and needs, and what is where.
pub(crate) struct Case {
    pub(crate) n: usize,
    /// Whether the plan gives devices.
    pub(crate) devices: bool,
    pub(crate) inputs: Vec<(&'static str, Kind, usize)>,
    /// Partitions that needs may name.
    pub(crate) partitions: Vec<Groups>,
    pub(crate) values: Values,
    pub(crate) start: World,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) needs: Vec<Need>,
}

/// Some steps, and what they leave.
#[derive(Clone)]
pub(crate) struct Proposal {
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Option<Vec<String>>,
    pub(crate) left: World,
    /// What there was before each step.
    pub(crate) before: Vec<World>,
}

/// What a consumer must find, and the values that this is on each rank it names.
pub(crate) struct Need {
    pub(crate) on: Vec<usize>,
    pub(crate) buffer: String,
    pub(crate) positions: Option<Range<usize>>,
    pub(crate) holds: Expression,
    pub(crate) wanted: Vec<Vec<Value>>,
}

impl Case {
    pub(crate) fn new(
        n: usize,
        devices: bool,
        inputs: Vec<(&'static str, Kind, usize)>,
        partitions: Vec<Groups>,
    ) -> Self {
        let mut values = Values::new();
        let start = World::new(n, &inputs, &mut values);
        let (proposals, needs) = (Vec::new(), Vec::new());
        Self { n, devices, inputs, partitions, values, start, proposals, needs }
    }

    /// Carries out steps; fails with the first that cannot be taken.
    pub(crate) fn run(&mut self, steps: Vec<Step>) -> Result<Proposal, Refusal> {
        let mut left = self.start.clone();
        let mut before = Vec::new();
        for step in &steps {
            before.push(left.clone());
            left.take(step, &mut self.values)?;
        }
        Ok(Proposal { steps, outputs: None, left, before })
    }

    /// Adds a need, if it makes sense on the ranks that it names.
    pub(crate) fn need(
        &mut self,
        on: Vec<usize>,
        buffer: &str,
        positions: Option<Range<usize>>,
        holds: Expression,
    ) -> Option<()> {
        let mut wanted = Vec::new();
        for rank in &on {
            let value = holds.value(&self.start, *rank, &mut self.values)?;
            if value.is_empty() {
                return None;
            }
            wanted.push(value);
        }
        self.needs.push(Need { on, buffer: buffer.to_owned(), positions, holds, wanted });
        Some(())
    }

    /// The plan as a file: proposals `p0`, `p1`, ….
    pub(crate) fn text(&self) -> String {
        let all: Vec<usize> = (0..self.proposals.len()).collect();
        self.text_of(&all)
    }

    /// The same with some of the proposals only.
    pub(crate) fn text_of(&self, sides: &[usize]) -> String {
        let mut text = String::from("format = 1\n");
        if self.devices {
            let devices: Vec<_> = (0..self.n).map(|rank| format!("\"D{rank}\"")).collect();
            writeln!(text, "group.devices = [{}]", devices.join(", ")).unwrap();
        } else {
            writeln!(text, "group.ranks = {}", self.n).unwrap();
        }
        for Groups { name, lists } in &self.partitions {
            if let Some(name) = name {
                writeln!(text, "groups.{name} = {{ lists = {lists:?} }}").unwrap();
            }
        }
        for (name, kind, count) in &self.inputs {
            let dtype = kind.word();
            writeln!(
                text,
                "input.{name} = {{ dtype = \"{dtype}\", count = {count}, meaning = \"of {name}\" }}"
            )
            .unwrap();
        }
        for index in sides {
            let proposal = &self.proposals[*index];
            if let Some(outputs) = &proposal.outputs {
                writeln!(text, "proposal.p{index}.outputs = {outputs:?}").unwrap();
            }
            let steps: Vec<String> = proposal.steps.iter().map(|step| self.step(step)).collect();
            writeln!(text, "proposal.p{index}.step = [\n{}]", steps.concat()).unwrap();
        }
        if !self.needs.is_empty() {
            text.push_str("need = [\n");
            for need in &self.needs {
                let on = match need.on.as_slice() {
                    [one] if self.n > 1 => format!("{{ rank = {one} }}"),
                    _ => "\"every rank\"".to_owned(),
                };
                let Need { buffer, holds, .. } = need;
                write!(text, "    {{ on = {on}, buffer = \"{buffer}\"").unwrap();
                if let Some(Range { start, end }) = need.positions {
                    write!(text, ", positions = \"{start}..{end}\"").unwrap();
                }
                writeln!(text, ", holds = \"{}\" }},", holds_text(holds)).unwrap();
            }
            text.push_str("]\n");
        }
        text
    }

    fn step(&self, step: &Step) -> String {
        match step {
            Step::Collective { collective, fold, root, groups, send, recv } => {
                let mut text = format!(
                    "    {{ call = \"{}\", send = \"{send}\", recv = \"{recv}\"",
                    collective.word()
                );
                if let Some(fold) = fold {
                    write!(text, ", op = \"{}\"", fold.word()).unwrap();
                }
                if let Some(root) = root {
                    write!(text, ", root = {root}").unwrap();
                }
                if *groups != Groups::world(self.n).lists {
                    write!(text, ", over = {groups:?}").unwrap();
                }
                text + " },\n"
            }
            Step::Message { from, to, send, recv } => format!(
                "    {{ call = \"send\", on = {{ rank = {from} }}, peer = {to}, send = \"{send}\" }},\n    \
                 {{ call = \"recv\", on = {{ rank = {to} }}, peer = {from}, recv = \"{recv}\" }},\n"
            ),
            Step::Local { on, act, recv } => {
                let mut text = format!("    {{ call = \"{}\", recv = \"{recv}\"", step.word());
                if let Some(rank) = on {
                    write!(text, ", on = {{ rank = {rank} }}").unwrap();
                }
                match act {
                    Act::Copy(from) => write!(text, ", send = \"{from}\""),
                    Act::Slice(from, Range { start, end }) => {
                        write!(text, ", send = \"{from}\", positions = \"{start}..{end}\"")
                    }
                    Act::Concat(from) => write!(text, ", send = {from:?}"),
                    Act::Fold(fold, from) => {
                        write!(text, ", send = {from:?}, op = \"{}\"", fold.word())
                    }
                    Act::Scale(from, (over, under)) => {
                        write!(text, ", send = \"{from}\", by = \"{over}/{under}\"")
                    }
                    Act::Cast(from, to) => {
                        write!(text, ", send = \"{from}\", dtype = \"{}\"", to.word())
                    }
                }
                .unwrap();
                text + " },\n"
            }
        }
    }
}

/// An expression in the language of needs.
pub(crate) fn holds_text(expression: &Expression) -> String {
    let over = |groups: &Groups| {
        groups.name.as_ref().map(|name| format!(" over {name}")).unwrap_or_default()
    };
    match expression {
        Expression::Own(name) => name.clone(),
        Expression::Of(name, rank) => format!("{name}@rank{rank}"),
        Expression::OnDevice(name, device) => format!("{name}@D{device}"),
        Expression::Gather(inner, groups) => {
            format!("gather({}){}", holds_text(inner), over(groups))
        }
        Expression::Shard(inner, groups) => format!("shard({}){}", holds_text(inner), over(groups)),
        Expression::Fold(fold, inner, groups) => {
            format!("{}({}){}", fold.word(), holds_text(inner), over(groups))
        }
        Expression::Cast(inner, to) => format!("cast({}, {})", holds_text(inner), to.word()),
        Expression::Concat(parts) => {
            let parts: Vec<String> = parts.iter().map(holds_text).collect();
            format!("concat({})", parts.join(", "))
        }
        Expression::Slice(inner, Range { start, end }) => {
            format!("{}[{start}..{end}]", holds_text(inner))
        }
    }
}
