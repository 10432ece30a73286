//! What every rank holds: a plain simulation, position by position.
//!
//! `n` ranks, `r` the own rank, `p` a position, `c` the count argument:
//!
//! | collective | input | output | `out[r][p]` |
//! |---|---|---|---|
//! | all-reduce | c | c | fold over q of `in[q][p]` |
//! | reduce | c | c on the root | fold over q of `in[q][p]` |
//! | broadcast | c on the root | c | `in[root][p]` |
//! | all-gather | c | n·c | `in[p div c][p mod c]` |
//! | reduce-scatter | n·c | c | fold over q of `in[q][r·c + p]` |
//! | all-to-all | n·c | n·c | `in[p div c][r·c + p mod c]` |
//! | gather | c | n·c on the root | `in[p div c][p mod c]` |
//! | scatter | n·c on the root | c | `in[root][r·c + p]` |

use std::collections::BTreeMap;

use crate::kind::Kind;
use crate::ratio::Ratio;
use crate::step::{Act, Collective, Fold, Step};
use crate::value::{Contribution, Value, Values};

/// A buffer: its type, and a value where one is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The element type.
    pub kind: Kind,
    /// By position.
    pub positions: Vec<Option<Value>>,
}

/// By rank: its buffers by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    ranks: Vec<BTreeMap<String, Buffer>>,
    /// By rank: the device that it is on, and whose inputs it has.
    devices: Vec<usize>,
}

/// Why a step cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// A rank reads a buffer that it does not have.
    NoBuffer,
    /// A length is no multiple of the number of blocks.
    NoMultiple,
    /// Ranks, or buffers, differ in length.
    OtherLength,
    /// Ranks, or buffers, differ in type.
    OtherType,
    /// There is no such form in place.
    InPlace,
    /// Positions past the end.
    PastTheEnd,
    /// A fraction of an integer.
    Fraction,
}

impl World {
    /// `n` ranks with an input each of these names, types and lengths.
    pub fn new(n: usize, inputs: &[(&str, Kind, usize)], values: &mut Values) -> Self {
        let mut ranks = vec![BTreeMap::new(); n];
        for (rank, buffers) in ranks.iter_mut().enumerate() {
            for (input, (name, kind, count)) in inputs.iter().enumerate() {
                let mut at = |position| {
                    let contribution = Contribution { input, rank, position };
                    Some(values.contribution(contribution, *kind))
                };
                let positions = (0..*count).map(&mut at).collect();
                buffers.insert((*name).to_owned(), Buffer { kind: *kind, positions });
            }
        }
        Self { ranks, devices: (0..n).collect() }
    }

    /// The same inputs with rank `r` on device `devices[r]`: they stay on their devices.
    ///
    /// # Panics
    ///
    /// If there is no such device.
    #[must_use]
    pub fn placed(&self, devices: &[usize]) -> Self {
        let on = |device: &usize| self.ranks[self.on(*device)].clone();
        Self { ranks: devices.iter().map(on).collect(), devices: devices.to_vec() }
    }

    /// The rank on a device.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn on(&self, device: usize) -> usize {
        self.devices.iter().position(|on| *on == device).expect("a rank is on each device")
    }

    /// How many ranks there are.
    pub const fn size(&self) -> usize {
        self.ranks.len()
    }

    /// What a rank holds in a buffer.
    pub fn held(&self, rank: usize, buffer: &str) -> Option<&Buffer> {
        self.ranks[rank].get(buffer)
    }

    /// The buffers of a rank.
    pub fn buffers(&self, rank: usize) -> impl Iterator<Item = (&str, &Buffer)> {
        self.ranks[rank].iter().map(|(name, buffer)| (name.as_str(), buffer))
    }

    /// Takes a step, or leaves everything as it is and says why not.
    pub fn take(&mut self, step: &Step, values: &mut Values) -> Result<(), Refusal> {
        let mut writes: Vec<(usize, Buffer)> = Vec::new();
        match step {
            Step::Collective { collective, fold, root, groups, send, recv } => {
                for group in groups {
                    let call = Call {
                        collective: *collective,
                        fold: *fold,
                        root: root.unwrap_or(0),
                        in_place: send == recv,
                        inputs: group.iter().map(|rank| self.held(*rank, send)).collect(),
                    };
                    let outputs = call.outputs(values)?;
                    writes.extend(group.iter().copied().zip(outputs));
                }
            }
            Step::Message { from, to, send, .. } => {
                let sent = self.held(*from, send).ok_or(Refusal::NoBuffer)?;
                writes.push((*to, sent.clone()));
            }
            Step::Local { on, act, .. } => {
                for rank in (0..self.size()).filter(|rank| on.is_none_or(|on| on == *rank)) {
                    writes.push((rank, self.act(rank, act, values)?));
                }
            }
        }
        for (rank, buffer) in writes {
            self.ranks[rank].insert(step.writes().to_owned(), buffer);
        }
        Ok(())
    }

    fn act(&self, rank: usize, act: &Act, values: &mut Values) -> Result<Buffer, Refusal> {
        let read = |name: &String| self.held(rank, name).ok_or(Refusal::NoBuffer);
        let alike = |names: &[String]| {
            let buffers: Vec<&Buffer> = names.iter().map(read).collect::<Result<_, _>>()?;
            let kind = buffers[0].kind;
            let same = buffers.iter().all(|buffer| buffer.kind == kind);
            if same { Ok((kind, buffers)) } else { Err(Refusal::OtherType) }
        };
        match act {
            Act::Copy(from) => read(from).cloned(),
            Act::Slice(from, range) => {
                let Buffer { kind, positions } = read(from)?;
                let positions = positions.get(range.clone()).ok_or(Refusal::PastTheEnd)?;
                Ok(Buffer { kind: *kind, positions: positions.to_vec() })
            }
            Act::Concat(from) => {
                let (kind, buffers) = alike(from)?;
                let positions = buffers.iter().flat_map(|buffer| buffer.positions.clone());
                Ok(Buffer { kind, positions: positions.collect() })
            }
            Act::Fold(fold, from) => {
                let (kind, buffers) = alike(from)?;
                let length = buffers[0].positions.len();
                if buffers.iter().any(|buffer| buffer.positions.len() != length) {
                    return Err(Refusal::OtherLength);
                }
                let at =
                    |p| folded(values, *fold, buffers.iter().map(|buffer| buffer.positions[p]));
                Ok(Buffer { kind, positions: (0..length).map(at).collect() })
            }
            Act::Scale(from, (over, under)) => {
                let Buffer { kind, positions } = read(from)?;
                let by = Ratio::new(*over, *under).ok_or(Refusal::Fraction)?;
                if !kind.is_float() && by.under() != 1 {
                    return Err(Refusal::Fraction);
                }
                let scaled = |value: &Option<Value>| value.map(|value| values.scaled(value, by));
                Ok(Buffer { kind: *kind, positions: positions.iter().map(scaled).collect() })
            }
            Act::Cast(from, to) => {
                let Buffer { positions, .. } = read(from)?;
                let cast = |value: &Option<Value>| value.map(|value| values.cast(value, *to));
                Ok(Buffer { kind: *to, positions: positions.iter().map(cast).collect() })
            }
        }
    }
}

/// Positions combined; nothing where one of them is not promised.
fn folded(
    values: &mut Values,
    fold: Fold,
    parts: impl Iterator<Item = Option<Value>>,
) -> Option<Value> {
    let parts: Option<Vec<Value>> = parts.collect();
    Some(values.folded(fold, &parts?))
}

/// A collective in one group.
struct Call<'a> {
    collective: Collective,
    fold: Option<Fold>,
    root: usize,
    in_place: bool,
    /// By rank of the group: the buffer that it would send.
    inputs: Vec<Option<&'a Buffer>>,
}

impl Call<'_> {
    fn reads(&self, r: usize) -> bool {
        match self.collective {
            Collective::Broadcast | Collective::Scatter => r == self.root,
            _ => true,
        }
    }

    fn is_promised(&self, r: usize) -> bool {
        match self.collective {
            Collective::Reduce | Collective::Gather => r == self.root,
            _ => true,
        }
    }

    /// How many counts long the buffer of a rank that reads must be.
    fn blocks(&self, r: usize) -> Result<usize, Refusal> {
        let n = self.inputs.len();
        let both = self.in_place && self.is_promised(r);
        Ok(match self.collective {
            Collective::AllToAll if self.in_place => return Err(Refusal::InPlace),
            // In place, the own contribution is a block of the result.
            Collective::AllGather | Collective::Gather if both => n,
            Collective::AllReduce
            | Collective::Reduce
            | Collective::Broadcast
            | Collective::AllGather
            | Collective::Gather => 1,
            Collective::ReduceScatter | Collective::AllToAll | Collective::Scatter => n,
        })
    }

    /// The count and the type that all who read agree on.
    fn agreed(&self) -> Result<(usize, Kind), Refusal> {
        let mut agreed: Option<(usize, Kind)> = None;
        for (r, buffer) in self.inputs.iter().enumerate().filter(|(r, _)| self.reads(*r)) {
            let Buffer { kind, positions } = buffer.ok_or(Refusal::NoBuffer)?;
            let blocks = self.blocks(r)?;
            if positions.len() % blocks != 0 {
                return Err(Refusal::NoMultiple);
            }
            let found = (positions.len() / blocks, *kind);
            match agreed {
                None => agreed = Some(found),
                Some((_, first)) if first != *kind => return Err(Refusal::OtherType),
                Some(first) if first != found => return Err(Refusal::OtherLength),
                Some(_) => {}
            }
        }
        agreed.ok_or(Refusal::NoBuffer)
    }

    fn outputs(&self, values: &mut Values) -> Result<Vec<Buffer>, Refusal> {
        let (c, kind) = self.agreed()?;
        let n = self.inputs.len();
        let outputs = (0..n).map(|r| {
            let length = match self.collective {
                Collective::AllGather | Collective::AllToAll | Collective::Gather => n * c,
                _ => c,
            };
            let output: Vec<Option<Value>> = if self.is_promised(r) {
                (0..length).map(|p| self.element(r, p, c, values)).collect()
            } else {
                vec![None; length]
            };
            Buffer { kind, positions: self.around(r, c, output) }
        });
        Ok(outputs.collect())
    }

    /// `out[r][p]`.
    fn element(&self, r: usize, p: usize, c: usize, values: &mut Values) -> Option<Value> {
        let all = |p: usize| (0..self.inputs.len()).map(move |q| self.input(q, p, c));
        let fold = self.fold.unwrap_or(Fold::Sum);
        match self.collective {
            Collective::AllReduce | Collective::Reduce => folded(values, fold, all(p)),
            Collective::Broadcast => self.input(self.root, p, c),
            Collective::AllGather | Collective::Gather => self.input(p / c, p % c, c),
            Collective::ReduceScatter => folded(values, fold, all(r * c + p)),
            Collective::AllToAll => self.input(p / c, r * c + p % c, c),
            Collective::Scatter => self.input(self.root, r * c + p, c),
        }
    }

    /// `in[q][p]`.
    fn input(&self, q: usize, p: usize, c: usize) -> Option<Value> {
        let gathers = matches!(self.collective, Collective::AllGather | Collective::Gather);
        let start = if gathers && self.in_place && self.is_promised(q) { q * c } else { 0 };
        self.inputs[q]?.positions[start + p]
    }

    /// The whole buffer after a call in place; otherwise the output.
    fn around(&self, r: usize, c: usize, output: Vec<Option<Value>>) -> Vec<Option<Value>> {
        let scattered = match self.collective {
            Collective::ReduceScatter => true,
            Collective::Scatter => r == self.root,
            _ => false,
        };
        let Some(before) = self.inputs[r].filter(|_| self.in_place && scattered) else {
            return output;
        };
        // A reduction may use the rest as scratch; a scatter only reads it.
        let mut whole = match self.collective {
            Collective::Scatter => before.positions.clone(),
            _ => vec![None; before.positions.len()],
        };
        whole[r * c..(r + 1) * c].copy_from_slice(&output);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ranks with six elements each, after one step of `x` into `y` with root 1.
    fn after(collective: Collective) -> (Values, World) {
        let mut values = Values::new();
        let mut world = World::new(3, &[("x", Kind::I32, 6)], &mut values);
        let fold = collective.folds().then_some(Fold::Sum);
        let root = collective.is_rooted().then_some(1);
        let step = Step::collective(collective, fold, root, 3, "x", "y");
        world.take(&step, &mut values).unwrap();
        (values, world)
    }

    /// The ranks and positions of the contributions in `y`.
    fn shown(values: &Values, world: &World, rank: usize) -> Vec<Option<Vec<(usize, usize)>>> {
        let y = &world.held(rank, "y").unwrap().positions;
        y.iter()
            .map(|value| {
                let all = values.contributions((*value)?);
                Some(all.into_iter().map(|one| (one.rank, one.position)).collect())
            })
            .collect()
    }

    fn one(rank: usize, position: usize) -> Vec<(usize, usize)> {
        vec![(rank, position)]
    }

    fn all(position: usize) -> Vec<(usize, usize)> {
        vec![(0, position), (1, position), (2, position)]
    }

    #[test]
    fn each_collective_leaves_what_its_formula_says() {
        let (values, world) = after(Collective::AllReduce);
        assert_eq!(shown(&values, &world, 2)[4], Some(all(4)));
        let (values, world) = after(Collective::Reduce);
        assert_eq!(shown(&values, &world, 1)[5], Some(all(5)));
        assert_eq!(shown(&values, &world, 0), vec![None; 6]);
        let (values, world) = after(Collective::Broadcast);
        assert_eq!(shown(&values, &world, 2)[3], Some(one(1, 3)));
        let (values, world) = after(Collective::AllGather);
        assert_eq!(shown(&values, &world, 0)[13], Some(one(2, 1)));
        let (values, world) = after(Collective::ReduceScatter);
        assert_eq!(shown(&values, &world, 2), [all(4), all(5)].map(Some));
        let (values, world) = after(Collective::AllToAll);
        let expected = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 2), (2, 3)];
        assert_eq!(shown(&values, &world, 1), expected.map(|(rank, p)| Some(one(rank, p))));
        let (values, world) = after(Collective::Gather);
        assert_eq!(shown(&values, &world, 1)[17], Some(one(2, 5)));
        assert_eq!(shown(&values, &world, 2), vec![None; 18]);
        let (values, world) = after(Collective::Scatter);
        assert_eq!(shown(&values, &world, 0), [one(1, 0), one(1, 1)].map(Some));
    }

    #[test]
    fn in_place_a_reduce_scatter_keeps_its_own_block_only() {
        let mut values = Values::new();
        let mut world = World::new(2, &[("y", Kind::I32, 4)], &mut values);
        let step = Step::collective(Collective::ReduceScatter, Some(Fold::Sum), None, 2, "y", "y");
        world.take(&step, &mut values).unwrap();
        let own = |rank| shown(&values, &world, rank);
        let both = |p| Some(vec![(0, p), (1, p)]);
        assert_eq!(own(0), [both(0), both(1), None, None]);
        assert_eq!(own(1), [None, None, both(2), both(3)]);
    }
}
