//! What every buffer of every rank holds, by the model.

use core::ops::Range;

use rankwise_model::{Dtype, Element, ElementVisitor, Layout, Scalar, reference};

/// One buffer of one rank.
#[derive(Clone)]
pub(crate) struct Held {
    /// The bit pattern of each element; `None` where nothing is promised.
    pub(crate) bits: Vec<Option<u64>>,
}

/// Consecutive elements of one buffer of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) rank: usize,
    pub(crate) buffer: usize,
    pub(crate) range: Range<usize>,
}

/// Every rank's buffers.
pub(crate) struct Spec(pub(crate) Vec<Vec<Held>>);

/// Where one member of a call has its sides.
#[derive(Clone, Debug)]
pub(crate) enum Sides {
    /// Empty places where the rank has no such side.
    Apart { input: Place, output: Place },
    /// The whole buffer that holds both.
    InPlace(Place),
}

impl Spec {
    pub(crate) fn known(&self, at: &Place) -> bool {
        self.0[at.rank][at.buffer].bits[at.range.clone()].iter().all(Option::is_some)
    }

    pub(crate) fn write(&mut self, at: &Place, bits: &[u64]) {
        let held = &mut self.0[at.rank][at.buffer].bits[at.range.clone()];
        held.iter_mut().zip(bits).for_each(|(held, bits)| *held = Some(*bits));
    }

    pub(crate) fn read(&self, at: &Place) -> Vec<Option<u64>> {
        self.0[at.rank][at.buffer].bits[at.range.clone()].to_vec()
    }

    fn forget(&mut self, at: &Place) {
        self.0[at.rank][at.buffer].bits[at.range.clone()].fill(None);
    }

    /// Carries out one call of all its members, in their order.
    pub(crate) fn call(&mut self, layout: &Layout, dtype: Dtype, scalars: &[Scalar], at: &[Sides]) {
        dtype.visit(Call { spec: self, layout, scalars, at });
    }
}

struct Call<'c> {
    spec: &'c mut Spec,
    layout: &'c Layout,
    scalars: &'c [Scalar],
    at: &'c [Sides],
}

impl ElementVisitor for Call<'_> {
    type Output = ();

    fn visit<T: Element>(self) {
        let Self { spec, layout, scalars, at } = self;
        let scalars: Vec<T> =
            scalars.iter().map(|scalar| scalar.get().expect("its type")).collect();
        let elements = |spec: &Spec, place: &Place| -> Vec<T> {
            let bits = spec.read(place).into_iter();
            bits.map(|bits| T::from_bits(bits.unwrap_or_default())).collect()
        };
        let bits = |elements: &[T]| elements.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
        if let Some(Sides::InPlace(_)) = at.first() {
            let places: Vec<&Place> = at.iter().map(Sides::whole).collect();
            let mut whole: Vec<Vec<T>> = places.iter().map(|at| elements(spec, at)).collect();
            let mut slices: Vec<&mut [T]> = whole.iter_mut().map(Vec::as_mut_slice).collect();
            let took = reference::evaluate_in_place(layout, &scalars, &mut slices);
            assert_eq!(took, Ok(true), "{layout:?}");
            for (rank, (place, whole)) in layout.each().zip(places.iter().zip(&whole)) {
                // What is outside of the output is lost (clause N-4).
                let output = match rank.in_place() {
                    _ if !rank.has_output() => 0..0,
                    Some(relation) => relation.output,
                    None => 0..rank.output_len(),
                };
                spec.forget(place);
                let [from, to] = [output.start, output.end].map(|at| usize::try_from(at).unwrap());
                spec.write(&place.part(from..to), &bits(&whole[from..to]));
            }
            return;
        }
        let apart: Vec<(&Place, &Place)> = at.iter().map(Sides::apart).collect();
        let inputs: Vec<Vec<T>> = apart.iter().map(|(input, _)| elements(spec, input)).collect();
        let mut outputs: Vec<Vec<T>> = apart.iter().map(|(_, out)| elements(spec, out)).collect();
        let inputs: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        let mut slices: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let took = reference::evaluate(layout, &scalars, &inputs, &mut slices);
        assert_eq!(took, Ok(()), "{layout:?}");
        for ((_, place), output) in apart.iter().zip(&outputs) {
            spec.write(place, &bits(output));
        }
    }
}

impl Place {
    /// Elements of this place, counted from its start.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        let start = self.range.start;
        Self { range: start + part.start..start + part.end, ..self.clone() }
    }
}

impl Sides {
    fn whole(&self) -> &Place {
        match self {
            Self::InPlace(whole) => whole,
            Self::Apart { .. } => panic!("a call is in place on all ranks or on none"),
        }
    }

    fn apart(&self) -> (&Place, &Place) {
        match self {
            Self::Apart { input, output } => (input, output),
            Self::InPlace(_) => panic!("a call is in place on all ranks or on none"),
        }
    }

    /// What it reads, and what it writes.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Place> {
        let (one, other) = match self {
            Self::Apart { input, output } => (input, Some(output)),
            Self::InPlace(whole) => (whole, None),
        };
        core::iter::once(one).chain(other).filter(|place| !place.range.is_empty())
    }
}
