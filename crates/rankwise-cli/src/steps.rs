//! How a step of a proposal is called.

use rankwise_plan::plan::{Act, CollectiveStep, Direction, LocalAct, LocalStep, MessageStep, On};
use rankwise_topology::Partition;

/// A step in one line: `reduce_scatter(sum): x -> s, over tp`.
pub(crate) fn title(act: &Act) -> String {
    match act {
        Act::Collective(call) => collective(call),
        Act::Message(message) => self::message(message),
        Act::Local(local) => self::local(local),
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
            LocalAct::Copy { .. } => "copy".into(),
            LocalAct::Slice { .. } => "slice".into(),
            LocalAct::Concat { .. } => "concat".into(),
            LocalAct::Fold { reduction: Some(reduction), .. } => format!("fold({reduction})"),
            LocalAct::Fold { reduction: None, .. } => "fold(no reduction named)".into(),
            LocalAct::Scale { .. } => "scale".into(),
            LocalAct::Cast { .. } => "cast".into(),
        },
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

fn local(step: &LocalStep) -> String {
    let what = match &step.act {
        LocalAct::Copy { from } => format!("copy: {from}"),
        LocalAct::Slice { from, positions } => {
            format!("slice: {from}[{}..{}]", positions.start, positions.end)
        }
        LocalAct::Concat { from } => format!("concat: {}", from.join(", ")),
        LocalAct::Fold { from, .. } => {
            format!("{}: {}", call(&Act::Local(step.clone())), from.join(", "))
        }
        LocalAct::Scale { from, by: (numerator, denominator) } => match denominator.as_str() {
            "1" => format!("scale by {numerator}: {from}"),
            _ => format!("scale by {numerator}/{denominator}: {from}"),
        },
        LocalAct::Cast { from, to } => format!("cast to {to}: {from}"),
    };
    match &step.on {
        On::EveryRank => format!("{what} -> {}", step.recv),
        some => format!("{what} -> {}, on {}", step.recv, on(some)),
    }
}
