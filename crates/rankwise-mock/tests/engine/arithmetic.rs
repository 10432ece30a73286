//! One step of the narrow float types, on every value that there is.

use rankwise_mock::engine::Seat;
use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, Reduction, reference,
};

use crate::memory::{Guard, Guarded, finish, job};
use crate::values::Values;

/// Every value of a type, with each of so many partners.
struct Pairs {
    reduction: Reduction,
    values: u64,
    partners: Vec<u64>,
}

impl ElementVisitor for Pairs {
    type Output = ();

    fn visit<T: Element>(self) {
        let Self { reduction, values, partners } = self;
        let pairs = || (0..values).flat_map(|a| partners.iter().map(move |b| (a, *b)));
        let inputs: [Vec<T>; 2] = [
            pairs().map(|(a, _)| T::from_bits(a)).collect(),
            pairs().map(|(_, b)| T::from_bits(b)).collect(),
        ];
        let count = inputs[0].len() as u64;
        let operation = Operation::AllReduce { reduction };
        let layout = Layout::new(operation, GroupSize::new(2).unwrap(), count).unwrap();
        let mut outputs = inputs.clone();
        let mut wanted: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let read: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        reference::evaluate(&layout, &[], &read, &mut wanted).unwrap();

        // In place, so that both outputs are seen for the price of one.
        let mut found = inputs.clone().map(|input| Guarded::holding(&input, Guard::Nothing));
        let seat = |side: &mut Guarded<T>| {
            let span = Some(side.span());
            Seat { input: span, output: span, scalar: None }
        };
        finish(&job::<T>(layout, &found.each_mut().map(seat)).unwrap());
        for found in &mut found {
            let step = found.values().iter().zip(&outputs[0]).zip(pairs());
            for ((found, wanted), (a, b)) in step {
                assert_eq!(
                    found.to_bits(),
                    wanted.to_bits(),
                    "{reduction} of {a:#x} and {b:#x} as {}",
                    T::DTYPE
                );
            }
        }
    }
}

/// Every reduction of two that needs no scalar.
const REDUCTIONS: [Reduction; 5] =
    [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min, Reduction::Avg];

#[test]
fn fp8_is_the_model_on_every_pair() {
    for dtype in [Dtype::F8E4M3, Dtype::F8E5M2] {
        for reduction in REDUCTIONS {
            dtype.visit(Pairs { reduction, values: 1 << 8, partners: (0..1 << 8).collect() });
        }
    }
}

/// Zeroes, the ends of the subnormals and of the numbers, infinities, NaNs with and
/// without payloads, ones; and some at random.
#[test]
fn halves_are_the_model_on_every_value_with_awkward_partners() {
    let of_both = [0, 0x8000, 1, 0x8001, 0x7fff, 0xffff, 0x7f81, 0x1234];
    let of_f16 = [0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7c01];
    let of_bf16 = [0x007f, 0x0080, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0xff81];
    let mut values = Values::seeded(17);
    for (dtype, own) in [(Dtype::F16, of_f16), (Dtype::Bf16, of_bf16)] {
        for reduction in REDUCTIONS {
            let random = [(); 4].map(|()| values.bits() >> 48);
            let partners = of_both.into_iter().chain(own).chain(random).collect();
            dtype.visit(Pairs { reduction, values: 1 << 16, partners });
        }
    }
}
