//! Programs as JSON: flat structs of optional fields, validated afterwards.

mod object;
mod pairs;
mod views;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use rankwise_model::{Dtype, GroupSize, Operation, OperationKind, Rank, Reduction};
use rankwise_topology::{Group, World, WorldRank};
use serde::{Deserialize, Serialize};

use self::object::Object;
use self::pairs::Pairs;
use self::views::Views;
use super::{Buffers, Fault, Host, Local, Place, Planned, Program, ProgramError, Step};
use crate::call::{Collective, Signature, Tag, Verb};
use crate::history::{narrow, widen};

/// The most ranks that are read: the same limit as a plan's.
const RANKS: u32 = 1 << 20;

/// The group there is where none are named.
const WORLD: &str = "world";

/// The stream of a call that names none.
const STREAM: &str = "s0";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Text {
    world: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<Pairs<Vec<u32>>>,
    programs: Pairs<Vec<Object<Line>>>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_dtype: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redop: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peer: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ranks: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    send: Option<Views>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recv: Option<Views>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reads: Option<Views>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writes: Option<Views>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<Object<Line>>>,
}

/// What an `op` names.
enum Op {
    Kind(OperationKind),
    Send,
    Recv,
    Barrier,
    Split,
    NewGroup,
    Unit,
    Local,
    Fence,
    Wait,
}

/// Whether a text has the one key that only a program has. A text with a fault is taken
/// for a program if it mentions that key: its reader then says what is wrong.
pub(super) fn recognises(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Keys {
        programs: Option<serde::de::IgnoredAny>,
    }
    match serde_json::from_str::<Keys>(text) {
        Ok(keys) => keys.programs.is_some(),
        Err(_) => text.trim_start().starts_with('{') && text.contains("\"programs\""),
    }
}

pub(super) fn read(text: &str) -> Result<Program, ProgramError> {
    let Object::<Text>(text) = serde_json::from_str(text).map_err(|error| ProgramError::Shape {
        line: widen(error.line()),
        column: widen(error.column()),
        found: error.to_string(),
    })?;
    if text.world > RANKS {
        return Err(ProgramError::LargeWorld { found: text.world, limit: RANKS });
    }
    let world = World::new(GroupSize::new(text.world).ok_or(ProgramError::EmptyWorld)?);
    let mut groups: Vec<(Arc<str>, Group)> = Vec::new();
    match text.groups {
        None => groups.push((WORLD.into(), Group::whole(world))),
        Some(Pairs(named)) => {
            for (name, ranks) in named {
                let name: Arc<str> = name.into();
                if groups.iter().any(|(known, _)| *known == name) {
                    return Err(ProgramError::RepeatedGroup { name });
                }
                match Group::new(world, ranks) {
                    Ok(group) => groups.push((name, group)),
                    Err(fault) => return Err(ProgramError::Group { name, fault }),
                }
            }
        }
    }
    let mut program = Program { world, groups, ranks: world.ranks().map(|_| Vec::new()).collect() };
    let mut seen = vec![false; program.ranks.len()];
    for (key, lines) in text.programs.0 {
        let Some(rank) = key.parse().ok().and_then(|index| world.rank(index)) else {
            return Err(ProgramError::Rank { found: key, world });
        };
        let slot = narrow(rank.index().into()).unwrap_or(usize::MAX);
        if seen.get_mut(slot).is_some_and(|seen| core::mem::replace(seen, true)) {
            return Err(ProgramError::RepeatedRank { rank });
        }
        let mut steps = Vec::with_capacity(lines.len());
        for (step, Object(line)) in (0..).zip(lines) {
            let place = Place { rank, step, within: None };
            steps.push(read_step(&program, place, line)?);
        }
        if let Some(found) = program.ranks.get_mut(slot) {
            *found = steps;
        }
    }
    Ok(program)
}

fn read_step(program: &Program, place: Place, line: Line) -> Result<Step, ProgramError> {
    let at = |place| move |fault| ProgramError::Call { place, fault };
    let op = op_of(&line.op).map_err(at(place))?;
    let host = if line.wait == Some(true) { Host::Waits } else { Host::GoesOn };
    match op {
        Op::Unit => {
            let mut line = line;
            let calls = line.calls.take();
            only(&line, &["wait"]).map_err(at(place))?;
            let calls = calls.ok_or_else(|| missing(&line, "calls")).map_err(at(place))?;
            let planned = (0..).zip(calls).map(|(within, Object(line))| {
                let place = Place { within: Some(within), ..place };
                let planned = match op_of(&line.op) {
                    Err(fault) => Err(fault),
                    Ok(Op::Unit) => Err(Fault::NestedUnit),
                    Ok(Op::Wait | Op::Fence | Op::Local | Op::Split | Op::NewGroup) => {
                        Err(Fault::NotInUnit { op: line.op })
                    }
                    Ok(_) if line.wait.is_some() => Err(superfluous(&line, "wait")),
                    Ok(op) => read_call(program, place.rank, &op, line),
                };
                planned.map_err(at(place))
            });
            Ok(Step::Unit(planned.collect::<Result<_, _>>()?, host))
        }
        Op::Wait => {
            only(&line, &["stream"]).map_err(at(place))?;
            Ok(Step::Wait { stream: stream(line.stream.as_deref()) })
        }
        Op::Fence => {
            only(&line, &["stream", "after"]).map_err(at(place))?;
            let after = line.after.as_deref().ok_or_else(|| missing(&line, "after"));
            let after = after.map_err(at(place))?.into();
            Ok(Step::Fence { stream: stream(line.stream.as_deref()), after })
        }
        Op::Local => Ok(Step::Local(read_local(line).map_err(at(place))?, host)),
        op => Ok(Step::Call(read_call(program, place.rank, &op, line).map_err(at(place))?, host)),
    }
}

fn read_call(program: &Program, rank: WorldRank, op: &Op, line: Line) -> Result<Planned, Fault> {
    let name = line.group.as_deref().unwrap_or(WORLD);
    let Some((name, group)) = program.groups.iter().find(|(known, _)| &**known == name) else {
        let known = program.groups.iter().map(|(name, _)| name.clone()).collect();
        return Err(Fault::UnknownGroup { found: name.to_owned(), known });
    };
    let own = group.rank_of(rank).ok_or_else(|| Fault::NotAMember { group: name.clone() })?;
    let signature = read_signature(op, &line, own, group.size())?;
    let at = match signature.layout(own, group.size()).transpose().map_err(Fault::Layout)? {
        Some(layout) => layout.at(own).ok(),
        None => None,
    };
    let creates = match op {
        Op::NewGroup => line
            .ranks
            .as_ref()
            .map(|ranks| ranks.iter().filter_map(|member| group.size().rank(*member)).collect()),
        _ => None,
    };
    let buffers = views::of_call(&signature, at.as_ref(), line.send, line.recv)?;
    Ok(Planned {
        group: name.clone(),
        signature,
        stream: stream(line.stream.as_deref()),
        tag: line.tag.map(Tag::new),
        value: line.value,
        creates,
        buffers: buffers.into(),
    })
}

fn read_local(line: Line) -> Result<Local, Fault> {
    only(&line, &["stream", "dtype", "read_dtype", "reads", "writes", "tag", "wait"])?;
    let dtype = dtype(&line)?;
    let read_dtype = line.read_dtype.as_deref().map_or(Ok(dtype), element_type)?;
    Ok(Local {
        stream: stream(line.stream.as_deref()),
        dtype,
        read_dtype,
        tag: line.tag.map(Tag::new),
        buffers: Arc::new(Buffers {
            reads: views::read(line.reads)?,
            writes: views::read(line.writes)?,
        }),
    })
}

fn stream(name: Option<&str>) -> Arc<str> {
    name.unwrap_or(STREAM).into()
}

fn read_signature(op: &Op, line: &Line, own: Rank, ranks: GroupSize) -> Result<Signature, Fault> {
    // A split is in no stream and moves nothing.
    const BESIDE: [&str; 3] = ["group", "wait", "tag"];
    const CALL: [&str; 5] = ["group", "wait", "stream", "tag", "value"];
    const DATA: [&str; 4] = ["count", "dtype", "send", "recv"];
    let beside = |more: &[&'static str]| [&BESIDE[..], more].concat();
    let data = |more: &[&'static str]| [&CALL[..], &DATA[..], more].concat();
    let in_group =
        |field, found| ranks.rank(found).ok_or(Fault::NotInGroup { field, found, ranks });
    match op {
        Op::Barrier => {
            only(line, &CALL)?;
            Ok(Signature::barrier())
        }
        Op::Split => {
            only(line, &beside(&["color", "key"]))?;
            Ok(Signature::split(line.color, line.key.unwrap_or(0)))
        }
        Op::NewGroup => {
            only(line, &beside(&["ranks"]))?;
            let members = line.ranks.as_ref().ok_or_else(|| missing(line, "ranks"))?;
            for (at, found) in members.iter().enumerate() {
                in_group("ranks", *found)?;
                if members.iter().take(at).any(|before| before == found) {
                    return Err(Fault::RepeatedMember { found: *found });
                }
            }
            let position = members.iter().position(|member| *member == own.index());
            let key = position.and_then(|position| i32::try_from(position).ok());
            Ok(Signature::split(key.map(|_| 0), key.unwrap_or(0)))
        }
        Op::Send | Op::Recv => {
            only(line, &data(&["peer"]))?;
            let peer = in_group("peer", line.peer.ok_or_else(|| missing(line, "peer"))?)?;
            let (dtype, count) = payload(line)?;
            Ok(match op {
                Op::Send => Signature::send(peer, dtype, count),
                _ => Signature::recv(peer, dtype, count),
            })
        }
        Op::Kind(kind) => {
            let mut own = data(&[]);
            own.extend(kind.reduces().then_some("redop"));
            own.extend(kind.is_rooted().then_some("root"));
            only(line, &own)?;
            let root = if kind.is_rooted() {
                in_group("root", line.root.ok_or_else(|| missing(line, "root"))?)?
            } else {
                ranks.first()
            };
            let reduction = if kind.reduces() { reduction(line)? } else { Reduction::Sum };
            let collective = operation(*kind, reduction, root).and_then(Collective::new);
            let (dtype, count) = payload(line)?;
            match collective {
                Some(collective) => Ok(Signature::collective(collective, dtype, count)),
                None => unknown_operation(&line.op),
            }
        }
        Op::Unit | Op::Local | Op::Fence | Op::Wait => unknown_operation(&line.op),
    }
}

/// The operation of a row. Reduction and root are read by those that have one.
fn operation(kind: OperationKind, reduction: Reduction, root: Rank) -> Option<Operation> {
    Some(match kind {
        OperationKind::AllReduce => Operation::AllReduce { reduction },
        OperationKind::Reduce => Operation::Reduce { reduction, root },
        OperationKind::Broadcast => Operation::Broadcast { root },
        OperationKind::AllGather => Operation::AllGather,
        OperationKind::ReduceScatter => Operation::ReduceScatter { reduction },
        OperationKind::AllToAll => Operation::AllToAll,
        OperationKind::Gather => Operation::Gather { root },
        OperationKind::Scatter => Operation::Scatter { root },
        _ => return None,
    })
}

fn op_of(word: &str) -> Result<Op, Fault> {
    Ok(match word {
        "send" => Op::Send,
        "recv" => Op::Recv,
        "barrier" => Op::Barrier,
        "split" | "comm_split" => Op::Split,
        "new_group" => Op::NewGroup,
        "group" => Op::Unit,
        "local" => Op::Local,
        "fence" => Op::Fence,
        "wait" => Op::Wait,
        word => match word.parse() {
            // Half of it is a call, the whole is none.
            Ok(OperationKind::Message) => return unknown_operation(word),
            Ok(kind) => Op::Kind(kind),
            Err(unknown) => {
                return Err(Fault::Operation { found: word.to_owned(), unknown });
            }
        },
    })
}

fn unknown_operation<T>(word: &str) -> Result<T, Fault> {
    let unknown = rankwise_model::operation::UnknownOperation;
    Err(Fault::Operation { found: word.to_owned(), unknown })
}

fn payload(line: &Line) -> Result<(Dtype, u64), Fault> {
    Ok((dtype(line)?, line.count.ok_or_else(|| missing(line, "count"))?))
}

fn dtype(line: &Line) -> Result<Dtype, Fault> {
    element_type(line.dtype.as_deref().ok_or_else(|| missing(line, "dtype"))?)
}

fn element_type(word: &str) -> Result<Dtype, Fault> {
    word.parse().map_err(|unknown| Fault::Dtype { found: word.to_owned(), unknown })
}

fn reduction(line: &Line) -> Result<Reduction, Fault> {
    let word = line.redop.as_deref().ok_or_else(|| missing(line, "redop"))?;
    word.parse().map_err(|unknown| Fault::Reduction { found: word.to_owned(), unknown })
}

fn missing(line: &Line, field: &'static str) -> Fault {
    Fault::Missing { op: line.op.clone(), field }
}

fn superfluous(line: &Line, field: &'static str) -> Fault {
    Fault::Superfluous { op: line.op.clone(), field }
}

/// That a line has no other fields than these.
fn only(line: &Line, fields: &[&str]) -> Result<(), Fault> {
    let present = [
        ("group", line.group.is_some()),
        ("count", line.count.is_some()),
        ("dtype", line.dtype.is_some()),
        ("read_dtype", line.read_dtype.is_some()),
        ("redop", line.redop.is_some()),
        ("root", line.root.is_some()),
        ("peer", line.peer.is_some()),
        ("color", line.color.is_some()),
        ("key", line.key.is_some()),
        ("ranks", line.ranks.is_some()),
        ("wait", line.wait.is_some()),
        ("stream", line.stream.is_some()),
        ("tag", line.tag.is_some()),
        ("value", line.value.is_some()),
        ("send", line.send.is_some()),
        ("recv", line.recv.is_some()),
        ("reads", line.reads.is_some()),
        ("writes", line.writes.is_some()),
        ("after", line.after.is_some()),
        ("calls", line.calls.is_some()),
    ];
    match present.into_iter().find(|(field, is_there)| *is_there && !fields.contains(field)) {
        Some((field, _)) => Err(superfluous(line, field)),
        None => Ok(()),
    }
}

pub(super) fn write(program: &Program) -> String {
    let groups = program.groups.iter().map(|(name, group)| {
        (name.to_string(), group.members().iter().map(|member| member.index()).collect())
    });
    let programs = program.world.ranks().zip(&program.ranks);
    let text = Text {
        world: program.world.size().get(),
        groups: Some(Pairs(groups.collect())),
        programs: Pairs(
            programs
                .map(|(rank, steps)| {
                    let lines = steps.iter().map(|step| Object(write_step(step)));
                    (rank.to_string(), lines.collect())
                })
                .collect(),
        ),
    };
    // Strings, numbers and lists: nothing that has no JSON. A value that is not finite
    // becomes `null`.
    serde_json::to_string_pretty(&text).unwrap_or_else(|error| format!("{error}"))
}

fn write_step(step: &Step) -> Line {
    match step {
        Step::Call(planned, host) => {
            Line { wait: Some(*host == Host::Waits), ..write_call(planned) }
        }
        Step::Unit(calls, host) => Line {
            op: "group".to_owned(),
            wait: Some(*host == Host::Waits),
            calls: Some(calls.iter().map(|call| Object(write_call(call))).collect()),
            ..Line::default()
        },
        Step::Local(local, host) => Line {
            op: "local".to_owned(),
            dtype: Some(local.dtype.name().to_owned()),
            read_dtype: (local.read_dtype != local.dtype)
                .then(|| local.read_dtype.name().to_owned()),
            stream: Some(local.stream.to_string()),
            tag: local.tag.as_ref().map(|tag| tag.as_str().to_owned()),
            reads: Views::write(&local.buffers.reads),
            writes: Views::write(&local.buffers.writes),
            wait: Some(*host == Host::Waits),
            ..Line::default()
        },
        Step::Fence { stream, after } => Line {
            op: "fence".to_owned(),
            stream: Some(stream.to_string()),
            after: Some(after.to_string()),
            ..Line::default()
        },
        Step::Wait { stream } => {
            Line { op: "wait".to_owned(), stream: Some(stream.to_string()), ..Line::default() }
        }
    }
}

fn write_call(planned: &Planned) -> Line {
    let verb = planned.signature.verb();
    let payload = planned.signature.payload();
    let (color, key) = match (verb, &planned.creates) {
        (Verb::Split { color, key }, None) => (color, Some(key)),
        _ => (None, None),
    };
    let op = if planned.creates.is_some() { "new_group" } else { verb.name() };
    let creates = planned.creates.as_ref();
    Line {
        op: op.to_owned(),
        group: Some(planned.group.to_string()),
        count: payload.map(|payload| payload.count),
        dtype: payload.map(|payload| payload.dtype.name().to_owned()),
        redop: verb.reduction().map(|reduction| reduction.name().to_owned()),
        root: verb.root().map(Rank::index),
        peer: verb.peer().map(Rank::index),
        color,
        key,
        ranks: creates.map(|members| members.iter().map(|member| member.index()).collect()),
        stream: (!verb.is_beside()).then(|| planned.stream.to_string()),
        tag: planned.tag.as_ref().map(|tag| tag.as_str().to_owned()),
        value: planned.value,
        send: Views::write(&planned.buffers.reads),
        recv: Views::write(&planned.buffers.writes),
        ..Line::default()
    }
}
