//! An all-gather from which each rank takes its part.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use rankwise_model::OperationKind;
use rankwise_topology::{Partition, World, WorldRank};

use super::recheck::{Bench, Lack};
use super::{Mend, Repair};
use crate::error::Span;
use crate::plan::{Act, CollectiveStep, Elsewhere, LocalAct, LocalStep, On, Operand, Step};

/// Gathers the buffer in which something is lacking, over the world or over the
/// partition that costs least, and lets each lacking rank take what it needs.
pub(super) fn repair(bench: &mut Bench<'_>, lacks: &[Lack]) -> Option<Repair> {
    let buffer = lacks.first()?.buffer.clone();
    if lacks.iter().any(|lack| lack.buffer != buffer) {
        return None;
    }
    let sources: Option<Vec<WorldRank>> = lacks.iter().map(|lack| bench.source(lack)).collect();
    let world = Partition::whole(World::new(bench.plan.world));
    let named = bench.plan.partitions.iter().map(|(name, over)| (Some(name.clone()), over.clone()));
    let partitions: Vec<_> = core::iter::once((None, world)).chain(named).collect();
    let all = partitions.into_iter().filter_map(|(name, over)| {
        parts(bench, lacks, sources.as_deref(), &over)
            .into_iter()
            .filter_map(|parts| gather(bench, lacks, &buffer, name.clone(), &over, &parts))
            .min_by_key(|repair| repair.steps)
    });
    all.min_by_key(|repair| (repair.total().bytes, repair.steps))
}

/// What a rank takes of the gathered buffer: a block, or all.
type Taken = Option<core::ops::Range<u64>>;

/// For each lacking rank what it may take: the block of a rank that holds it, or all.
fn parts(
    bench: &Bench<'_>,
    lacks: &[Lack],
    sources: Option<&[WorldRank]>,
    over: &Partition,
) -> Vec<Vec<Taken>> {
    let mut ways = alloc::vec![lacks.iter().map(|_| None).collect()];
    let block = |lack: &Lack, source: &WorldRank| {
        let (group, _) = over.locate(lack.rank)?;
        let (other, place) = over.locate(*source)?;
        if group != other {
            return None;
        }
        let count = bench.evaluation.after.get(*source, &lack.buffer)?.count();
        let start = count.checked_mul(u64::from(place.index()))?;
        Some(start..start.checked_add(count)?)
    };
    if let Some(sources) = sources {
        let blocks: Option<Vec<_>> =
            lacks.iter().zip(sources).map(|(lack, source)| block(lack, source)).collect();
        ways.extend(blocks.map(|blocks| blocks.into_iter().map(Some).collect()));
    }
    ways
}

fn gather(
    bench: &Bench<'_>,
    lacks: &[Lack],
    buffer: &str,
    over_name: Option<String>,
    over: &Partition,
    parts: &[Taken],
) -> Option<Repair> {
    let all = bench.fresh(&format!("{buffer}_all"));
    let head = bench.step_head();
    let call = CollectiveStep {
        kind: OperationKind::AllGather,
        reduction: None,
        scalars: None,
        root: None,
        over: over.clone(),
        over_name: over_name.clone(),
        send: Operand::whole(buffer),
        recv: Operand::whole(all.clone()),
        elsewhere: Elsewhere::NotPromised,
        count: None,
        count_span: None,
    };
    let mut text = format!("{head}call = \"all_gather\"\nsend = {buffer:?}\nrecv = {all:?}\n");
    if let Some(name) = &over_name {
        let _ = writeln!(text, "over = {name:?}");
    }
    text.push('\n');
    let mut steps = alloc::vec![Step { act: Act::Collective(call), span: Span::default() }];
    for (lack, part) in lacks.iter().zip(parts) {
        let act = match part {
            Some(positions) => {
                LocalAct::Slice { from: Operand::whole(all.clone()), positions: positions.clone() }
            }
            None => LocalAct::Copy { from: Operand::whole(all.clone()) },
        };
        let taken = match part {
            Some(part) => format!(
                "{head}call = \"slice\"\non = {{ rank = {} }}\npositions = \"{}..{}\"\n",
                lack.rank, part.start, part.end
            ),
            None => format!("{head}call = \"copy\"\non = {{ rank = {} }}\n", lack.rank),
        };
        text.push_str(&taken);
        let _ = write!(text, "send = {all:?}\nrecv = {buffer:?}\n\n");
        let local = LocalStep { on: On::Rank(lack.rank), act, recv: Operand::whole(buffer) };
        steps.push(Step { act: Act::Local(local), span: Span::default() });
    }
    let mend = Mend::Gather { buffer: buffer.to_string(), over: over_name };
    bench.with_steps(mend, &steps, text)
}
