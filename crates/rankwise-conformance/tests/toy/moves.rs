//! What a call does to memory.

use rankwise_model::{Element, ElementVisitor, Operation, Scalar, reference};

use super::Seeded;
use super::spoil::Spoiled;
use super::state::{Call, State};

/// Carries out the calls of one instance, in rank order.
pub(crate) fn carry_out(state: &mut State, seeded: Option<Seeded>, calls: &[Call]) {
    let read = |call: &Call| match &call.input {
        Some((memory, range)) => memory.lock().unwrap()[range.clone()].to_vec(),
        None => Vec::new(),
    };
    let first = &calls[0];
    if let Operation::Message { .. } = first.at.layout().operation() {
        let bytes = calls.iter().find(|call| call.input.is_some()).map(read).unwrap_or_default();
        for call in calls {
            write(seeded, call, &bytes);
        }
        return;
    }
    let mut inputs: Vec<Vec<u8>> = calls.iter().map(read).collect();
    let lengths = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
    let kept = state.stale.insert((first.comm, calls.len()), inputs.clone());
    if let (Some(Seeded::StaleInput), Some(kept)) = (seeded, kept)
        && lengths(&kept) == lengths(&inputs)
    {
        inputs = kept;
    }
    let outputs = first.dtype.visit(Evaluated { seeded, calls, inputs: &inputs });
    for (call, bytes) in calls.iter().zip(outputs) {
        if seeded == Some(Seeded::InputClobbered)
            && let (Some((memory, range)), false) = (&call.input, call.in_place)
        {
            memory.lock().unwrap()[range.clone()].fill(0);
        }
        write(seeded, call, &bytes);
    }
}

/// Writes what was computed, perhaps less of it, perhaps elsewhere.
fn write(seeded: Option<Seeded>, call: &Call, bytes: &[u8]) {
    let Some((memory, range)) = &call.output else { return };
    let width = call.dtype.bytes() as usize;
    let mut memory = memory.lock().unwrap();
    let count = range.len() / width;
    let kept = match seeded {
        Some(Seeded::LastElementLost) if count > 1 => count - 1,
        Some(Seeded::TailLost) => count - count % 4,
        _ => count,
    };
    let mut start = range.start;
    if seeded == Some(Seeded::InPlaceWrongBlock) && call.in_place {
        let block = call.at.rank().index() as usize * range.len();
        let shares = matches!(
            call.at.layout().operation(),
            Operation::ReduceScatter { .. } | Operation::Scatter { .. }
        );
        start -= if shares { block } else { 0 };
    }
    memory[start..start + kept * width].copy_from_slice(&bytes[..kept * width]);
    match seeded {
        Some(Seeded::WritesBehind) => flip(memory.get_mut(range.end)),
        Some(Seeded::WritesBefore) => {
            flip(range.start.checked_sub(1).and_then(|before| memory.get_mut(before)));
        }
        _ => {}
    }
}

/// Changes a byte, if there is one: even a faulty toy stays inside its memory.
fn flip(byte: Option<&mut u8>) {
    if let Some(byte) = byte {
        *byte = !*byte;
    }
}

struct Evaluated<'a> {
    seeded: Option<Seeded>,
    calls: &'a [Call],
    inputs: &'a [Vec<u8>],
}

impl ElementVisitor for Evaluated<'_> {
    type Output = Vec<Vec<u8>>;

    fn visit<T: Element>(self) -> Vec<Vec<u8>> {
        let inputs: Vec<Vec<T>> = self.inputs.iter().map(|bytes| elements(bytes)).collect();
        let scalars = self.calls.iter().filter_map(|call| call.scalar.and_then(Scalar::get));
        let layout = *self.calls[0].at.layout();
        let mut spoiled = Spoiled { layout, inputs, scalars: scalars.collect() };
        if let Some(seeded) = self.seeded {
            spoiled.before(seeded);
        }
        let outputs = spoiled.evaluate();
        let outputs = match self.seeded {
            Some(seeded) => spoiled.after(seeded, &layout, outputs),
            None => outputs,
        };
        // In the lengths that the callers have room for.
        let needed = layout.each().map(|at| at.output_len() as usize);
        needed
            .zip(outputs)
            .map(|(needed, mut output)| {
                output.resize(needed, T::from_bits(0));
                bytes(&output)
            })
            .collect()
    }
}

impl<T: Element> Spoiled<T> {
    pub(crate) fn evaluate(&self) -> Vec<Vec<T>> {
        let lengths = self.layout.each().map(|at| at.output_len() as usize);
        let mut outputs: Vec<Vec<T>> = lengths.map(|len| vec![T::from_bits(0); len]).collect();
        let inputs: Vec<&[T]> = self.inputs.iter().map(Vec::as_slice).collect();
        let mut targets: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&self.layout, &self.scalars, &inputs, &mut targets).unwrap();
        outputs
    }
}

fn elements<T: Element>(bytes: &[u8]) -> Vec<T> {
    let element = |own: &[u8]| {
        let bits = own.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        T::from_bits(bits)
    };
    bytes.chunks(T::DTYPE.bytes() as usize).map(element).collect()
}

fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let width = T::DTYPE.bytes() as usize;
    elements
        .iter()
        .flat_map(|element| element.to_bits().to_le_bytes().into_iter().take(width))
        .collect()
}
