//! The suite for every backend, on the stand-ins for libcuda and libnccl.
//!
//! The cases run the real code of this crate; what it is true of is the stand-ins. On a
//! machine with GPUs the same cases are true of NCCL.

use std::sync::OnceLock;

use rankwise_comm::DeviceOrdinal;
use rankwise_conformance::fixture::Blame;
use rankwise_conformance::{Fixture, Matrix, Suite};
use rankwise_model::{GroupSize, OperationKind};
use rankwise_nccl::{Comm, Nccl};

/// Both stand-ins. A missing one fails the test: nothing is skipped.
#[allow(unsafe_code)]
fn nccl() -> Nccl {
    static LOADED: OnceLock<Nccl> = OnceLock::new();
    *LOADED.get_or_init(|| {
        host_libcuda::load().unwrap_or_else(|missing| panic!("{missing}"));
        let file = host_libnccl::library_file().unwrap_or_else(|missing| panic!("{missing}"));
        // SAFETY: our own stand-in, whose initialisers are those of the standard library.
        unsafe { Nccl::load_at(&file) }.unwrap_or_else(|error| panic!("{error}"))
    })
}

struct OnStandIns {
    floor: usize,
}

impl Fixture for OnStandIns {
    type Comm = Comm;

    fn name(&self) -> String {
        format!("NCCL {} (stand-in)", nccl().version())
    }

    fn launch(&self, ranks: GroupSize) -> Result<Vec<Comm>, String> {
        let devices: Vec<_> = (0..ranks.get()).map(DeviceOrdinal).collect();
        nccl().init_all(&devices).map_err(|error| error.to_string())
    }

    fn floor(&self) -> usize {
        self.floor
    }

    fn most_ranks(&self) -> Option<GroupSize> {
        GroupSize::new(8)
    }

    fn blame(&self) -> Blame {
        Blame::NotPromised("NCCL does not compare what the ranks call".to_owned())
    }
}

#[test]
fn every_operation_conforms_for_some_types_and_up_to_three_ranks() {
    Suite::quick(OnStandIns { floor: 4_000 }).run().assert_holds();
}

/// Twelve types with two counts each: 24 per pattern and form. Forms are in place or
/// not, alone or grouped.
const CASES: usize = 24
    * (2 * 6 * 4 * 4 // all_reduce, reduce_scatter: reductions, forms, group sizes
        + 4 * 4 // all_gather: forms, group sizes
        + 10 * 4 // broadcast: the roots of 1 to 4 ranks, forms
        + 20 * 2 // messages: ordered pairs in 1 to 4 ranks; never in place
        + 10) // exchanges: the shifts of 1 to 4 ranks
    // With one rank NCCL has no scaled sum over fp8: 2 operations, avg and premul,
    // 2 types, 2 counts, 4 forms.
    - 2 * 2 * 2 * 2 * 4;

#[test]
fn the_thin_slice_conforms_for_every_type_up_to_four_ranks() {
    let matrix = Matrix::full()
        .ranks((1..=4).filter_map(GroupSize::new))
        .operations([
            OperationKind::AllReduce,
            OperationKind::AllGather,
            OperationKind::ReduceScatter,
            OperationKind::Broadcast,
            OperationKind::Message,
        ])
        .counts([1, 1031]);
    let outcome = Suite::full(OnStandIns { floor: CASES }).matrix(matrix).laws([]).run();
    outcome.assert_holds();
    assert_eq!(outcome.ran(), CASES);
}
