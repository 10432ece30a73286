//! How a step of a proposal is called.

use rankwise_plan::plan::{
    Act, CollectiveStep, Direction, ElementType, LocalAct, LocalStep, MessageStep, On, Operand,
    Sharding,
};
use rankwise_topology::Partition;

/// A step in one line: `reduce_scatter(sum): x -> s, over tp`.
pub(crate) fn title(act: &Act) -> String {
    match act {
        Act::Collective(call) => collective(call),
        Act::Message(message) => self::message(message),
        Act::Local(local) => self::local(local),
        Act::Group(group) => match group.stands_for {
            Some(name) => format!("{name}, which is a group of {}", group.steps.len()),
            None => format!("group of {}", group.steps.len()),
        },
    }
}

/// What a group is made of, part by part; of any other step nothing.
pub(crate) fn parts(act: &Act) -> Vec<String> {
    match act {
        Act::Group(group) => {
            let opens = group.opens.iter().filter(|_| group.stands_for.is_some());
            opens.chain(&group.steps).map(|step| title(&step.act)).collect()
        }
        _ => Vec::new(),
    }
}

/// The call alone, with its reduction and root: `reduce(sum, root 1)`.
pub(crate) fn call(act: &Act) -> String {
    match act {
        Act::Collective(call) => {
            let mut arguments = Vec::new();
            if call.kind.reduces() {
                let named = call.reduction.map(|reduction| reduction.to_string());
                arguments.push(named.unwrap_or_else(|| "no reduction named".into()));
            }
            arguments.extend(call.root.map(|root| format!("root {root}")));
            match arguments.as_slice() {
                [] => call.kind.to_string(),
                some => format!("{}({})", call.kind, some.join(", ")),
            }
        }
        Act::Message(message) => match message.direction {
            Direction::Send => "send".into(),
            Direction::Recv => "recv".into(),
        },
        Act::Local(local) => match &local.act {
            LocalAct::Fold { reduction: Some(reduction), .. } => format!("fold({reduction})"),
            LocalAct::Fold { reduction: None, .. } => "fold(no reduction named)".into(),
            act => act.name().into(),
        },
        Act::Group(group) => group.stands_for.unwrap_or("group").into(),
    }
}

/// Who it is about, in words.
pub(crate) fn on(on: &On) -> String {
    match on {
        On::EveryRank => "every rank".into(),
        On::Rank(rank) => format!("rank {rank}"),
        On::Device(device) => format!("device {device}"),
        On::Group(group) => format!("group {group}"),
    }
}

fn collective(step: &CollectiveStep) -> String {
    let call = call(&Act::Collective(step.clone()));
    let buffers = if step.send == step.recv {
        format!("{} in place", step.send)
    } else {
        format!("{} -> {}", step.send, step.recv)
    };
    format!("{call}: {buffers}{}", over(&step.over, step.over_name.as_deref()))
}

fn over(over: &Partition, name: Option<&str>) -> String {
    match (name, over.groups().len()) {
        (Some(name), _) => format!(", over {name}"),
        (None, 1) if over.covers_world() => String::new(),
        (None, 1) => ", over 1 group".into(),
        (None, groups) => format!(", over {groups} groups"),
    }
}

fn message(step: &MessageStep) -> String {
    let (verb, preposition) = match step.direction {
        Direction::Send => ("send", "to"),
        Direction::Recv => ("recv", "from"),
    };
    let who = on(&step.on);
    let within = over(&step.over, step.over_name.as_deref());
    format!("{verb} {} {preposition} rank {}, on {who}{within}", step.buffer, step.peer)
}

fn list(operands: &[Operand]) -> String {
    operands.iter().map(Operand::to_string).collect::<Vec<_>>().join(", ")
}

/// ` along axis 1 of [4, 6], uneven balanced`.
fn division(sharding: &Sharding) -> String {
    let shape = sharding.shape.as_ref();
    let along = shape.map(|shape| format!(" along axis {} of {shape:?}", sharding.dim));
    let uneven = sharding.uneven.map(|uneven| format!(", uneven {uneven}"));
    let value = sharding.value.as_ref().map(|value| format!(" with {value}"));
    [along, uneven, value].into_iter().flatten().collect()
}

fn local(step: &LocalStep) -> String {
    let what = match &step.act {
        LocalAct::Copy { from } => format!("copy: {from}"),
        LocalAct::Slice { from, positions } => {
            format!("slice: {from}[{}..{}]", positions.start, positions.end)
        }
        LocalAct::Concat { from } => format!("concat: {}", list(from)),
        LocalAct::Fold { from, .. } => {
            format!("{}: {}", call(&Act::Local(step.clone())), list(from))
        }
        LocalAct::Scale { from, by: (numerator, denominator) } => match denominator.as_str() {
            "1" => format!("scale by {numerator}: {from}"),
            _ => format!("scale by {numerator}/{denominator}: {from}"),
        },
        LocalAct::Cast { from, to } => format!("cast to {to}: {from}"),
        LocalAct::Alloc { dtype: ElementType::Is(dtype), count } => {
            format!("alloc {count} of {dtype}")
        }
        LocalAct::Alloc { dtype: ElementType::Of(like, _), count } => {
            format!("alloc {count} like {like}")
        }
        LocalAct::Fill { value, dtype, count } => format!("fill {count} of {dtype} with {value}"),
        LocalAct::Pad { from, count, value } => format!("pad {from} to {count} with {value}"),
        LocalAct::Shard { from, sharding, over, over_name } => {
            format!("shard {from}{}{}", division(sharding), self::over(over, over_name.as_deref()))
        }
        LocalAct::Unshard { from, sharding, over, over_name } => {
            format!(
                "unshard {from}{}{}",
                division(sharding),
                self::over(over, over_name.as_deref())
            )
        }
    };
    match &step.on {
        On::EveryRank => format!("{what} -> {}", step.recv),
        some => format!("{what} -> {}, on {}", step.recv, on(some)),
    }
}
