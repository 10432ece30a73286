//! What must be said: reductions, operations, ranks, element types, scalars, literals.

use rankwise_model::reference::{ReferenceError, Side};
use rankwise_model::{
    Dtype, DtypeClass, Element, ElementVisitor, GroupSize, Layout, Operation, OperationKind,
    Reduction, Scalar, reference,
};

fn two() -> GroupSize {
    GroupSize::new(2).unwrap()
}

// pins: N-1
#[test]
fn a_reduction_is_named_or_there_is_none() {
    for (word, reduction) in [
        ("sum", Reduction::Sum),
        ("prod", Reduction::Prod),
        ("max", Reduction::Max),
        ("min", Reduction::Min),
        ("avg", Reduction::Avg),
        ("premul", Reduction::PreMulSum),
    ] {
        assert_eq!(word.parse(), Ok(reduction));
        assert_eq!(reduction.to_string(), word);
    }
    for word in ["", "reduction", "reduce", "default", "op", "Sum ", "mean", "land"] {
        assert!(word.parse::<Reduction>().is_err(), "{word}");
    }
    let error = "".parse::<Reduction>().unwrap_err();
    assert_eq!(error.to_string(), "unknown reduction; known are sum, prod, max, min, avg, premul");
    let reducing: Vec<OperationKind> =
        OperationKind::ALL.into_iter().filter(|kind| kind.reduces()).collect();
    assert_eq!(
        reducing,
        [OperationKind::AllReduce, OperationKind::Reduce, OperationKind::ReduceScatter]
    );
    for operation in [Operation::AllGather, Operation::AllToAll] {
        assert_eq!(operation.reduction(), None);
    }
}

// pins: N-3
#[test]
fn an_operation_has_one_name_and_known_spellings() {
    for (word, kind) in [
        ("all_reduce", OperationKind::AllReduce),
        ("AllReduce", OperationKind::AllReduce),
        ("ncclAllReduce", OperationKind::AllReduce),
        ("all-reduce", OperationKind::AllReduce),
        ("MPI_Allreduce", OperationKind::AllReduce),
        ("ncclReduce", OperationKind::Reduce),
        ("MPI_Bcast", OperationKind::Broadcast),
        ("reduce_scatter", OperationKind::ReduceScatter),
        ("MPI_Reduce_scatter_block", OperationKind::ReduceScatter),
        ("ncclAlltoAll", OperationKind::AllToAll),
        ("MPI_Allgather", OperationKind::AllGather),
        ("Gather", OperationKind::Gather),
        ("scatter", OperationKind::Scatter),
        ("sendrecv", OperationKind::Message),
        ("send/recv", OperationKind::Message),
    ] {
        assert_eq!(word.parse(), Ok(kind), "{word}");
    }
    for word in ["", "nccl", "gatherv", "all reduce", "reducescatterv"] {
        assert!(word.parse::<OperationKind>().is_err(), "{word}");
    }
    let root = two().rank(1).unwrap();
    let reduce = Operation::Reduce { reduction: Reduction::Sum, root };
    assert_eq!(reduce.to_string(), "reduce(sum, root 1)");
    assert_eq!(Operation::Broadcast { root }.to_string(), "broadcast(root 1)");
    assert_eq!(Operation::AllGather.to_string(), "all_gather");
    let message = Operation::Message { from: root, to: two().first() };
    assert_eq!(message.to_string(), "send/recv(1 to 0)");
}

/// `size_of` of the Rust type that stands for an element type.
struct SizeOf;

impl ElementVisitor for SizeOf {
    type Output = (Dtype, usize);
    fn visit<T: Element>(self) -> Self::Output {
        (T::DTYPE, size_of::<T>())
    }
}

// pins: N-6
#[test]
fn an_element_is_as_wide_in_rust_as_it_travels() {
    let expected = [
        ("i8", 1),
        ("u8", 1),
        ("i32", 4),
        ("u32", 4),
        ("i64", 8),
        ("u64", 8),
        ("f8e4m3", 1),
        ("f8e5m2", 1),
        ("f16", 2),
        ("bf16", 2),
        ("f32", 4),
        ("f64", 8),
    ];
    assert_eq!(expected.len(), Dtype::ALL.len());
    for (dtype, (name, bytes)) in Dtype::ALL.into_iter().zip(expected) {
        assert_eq!((dtype.name(), dtype.bytes()), (name, bytes));
        let in_rust = usize::try_from(bytes).unwrap();
        assert_eq!(dtype.visit(SizeOf), (dtype, in_rust), "{dtype}");
    }
    // What is no element type is wider, or has patterns that are not its own.
    assert_eq!(size_of::<char>(), 4);
    for word in ["bool", "i16", "u16", "i128", "complex64", ""] {
        assert!(word.parse::<Dtype>().is_err(), "{word}");
    }
}

// pins: N-6
#[test]
fn an_element_type_has_one_name_and_known_spellings() {
    for (word, dtype) in [
        ("ncclInt8", Dtype::I8),
        ("ncclChar", Dtype::I8), // C's char is one byte
        ("ncclUint8", Dtype::U8),
        ("int", Dtype::I32),
        ("ncclUint64", Dtype::U64),
        ("half", Dtype::F16),
        ("torch.bfloat16", Dtype::Bf16),
        ("FLOAT", Dtype::F32),
        ("double", Dtype::F64),
        ("ncclFloat8e4m3", Dtype::F8E4M3),
        ("torch.float8_e5m2", Dtype::F8E5M2),
    ] {
        assert_eq!(word.parse(), Ok(dtype), "{word}");
    }
    let precisions =
        [("f8e4m3", 4), ("f8e5m2", 3), ("f16", 11), ("bf16", 8), ("f32", 24), ("f64", 53)];
    for (word, precision) in precisions {
        let dtype: Dtype = word.parse().unwrap();
        assert_eq!(dtype.class(), DtypeClass::Float { precision });
    }
    assert_eq!(Dtype::I8.class(), DtypeClass::Integer { signed: true, bits: 8 });
    assert_eq!(Dtype::U64.class(), DtypeClass::Integer { signed: false, bits: 64 });
}

/// All-reduces `inputs` of `i32` into outputs of the given lengths.
fn refusal(
    reduction: Reduction,
    scalars: &[i32],
    inputs: &[&[i32]],
    outputs: &mut [&mut [i32]],
) -> Option<ReferenceError> {
    let layout = Layout::new(Operation::AllReduce { reduction }, two(), 2).unwrap();
    reference::evaluate(&layout, scalars, inputs, outputs).err()
}

// pins: N-5
#[test]
fn there_is_one_scalar_per_rank_and_only_for_a_premultiplied_sum() {
    let inputs: [&[i32]; 2] = [&[1, 2], &[3, 4]];
    for (reduction, scalars, needed) in [
        (Reduction::PreMulSum, &[5][..], 2),
        (Reduction::PreMulSum, &[5, 6, 7], 2),
        (Reduction::PreMulSum, &[], 2),
        (Reduction::Sum, &[5, 6], 0),
        (Reduction::Avg, &[5], 0),
    ] {
        let (mut on_0, mut on_1) = ([-1; 2], [-1; 2]);
        let found = refusal(reduction, scalars, &inputs, &mut [&mut on_0, &mut on_1]);
        assert_eq!(found, Some(ReferenceError::Scalars { found: scalars.len(), needed }));
        assert_eq!([on_0, on_1], [[-1; 2]; 2]);
    }
    // Scalars that differ are no mismatch: 5·1 + 6·3 and 5·2 + 6·4.
    let (mut on_0, mut on_1) = ([-1; 2], [-1; 2]);
    let found = refusal(Reduction::PreMulSum, &[5, 6], &inputs, &mut [&mut on_0, &mut on_1]);
    assert_eq!((found, on_0, on_1), (None, [23, 34], [23, 34]));
}

// pins: CNT-9
#[test]
fn a_buffer_of_another_length_is_refused_before_anything_is_written() {
    let rank = |index| two().rank(index).unwrap();
    let (mut on_0, mut on_1) = ([-1; 2], [-1; 3]);
    let long = refusal(Reduction::Sum, &[], &[&[1, 2], &[3, 4]], &mut [&mut on_0, &mut on_1]);
    let expected =
        ReferenceError::Length { side: Side::Output, rank: rank(1), found: 3, needed: 2 };
    assert_eq!(long, Some(expected));
    assert_eq!(expected.to_string(), "rank 1: the output has 3 elements, needs 2");
    assert_eq!((on_0, on_1), ([-1; 2], [-1; 3]));

    let (mut on_0, mut on_1) = ([-1; 2], [-1; 2]);
    let short = refusal(Reduction::Sum, &[], &[&[1], &[3, 4]], &mut [&mut on_0, &mut on_1]);
    let expected = ReferenceError::Length { side: Side::Input, rank: rank(0), found: 1, needed: 2 };
    assert_eq!((short, on_0, on_1), (Some(expected), [-1; 2], [-1; 2]));

    let few = refusal(Reduction::Sum, &[], &[&[1, 2]], &mut [&mut on_0, &mut on_1]);
    let expected = ReferenceError::Buffers { side: Side::Input, found: 1, ranks: two() };
    assert_eq!((few, on_0, on_1), (Some(expected), [-1; 2], [-1; 2]));

    // In place the one buffer is as long as the longer side, and no longer.
    let layout = Layout::new(Operation::AllGather, two(), 2).unwrap();
    let (mut on_0, mut on_1) = ([1, 2, 0, 0], [3, 4]);
    let found = reference::evaluate_in_place(&layout, &[], &mut [&mut on_0, &mut on_1]);
    let expected =
        ReferenceError::Length { side: Side::InPlace, rank: rank(1), found: 2, needed: 4 };
    assert_eq!(found, Err(expected));
    assert_eq!((on_0, on_1), ([1, 2, 0, 0], [3, 4]));
}

// pins: N-7
#[test]
fn a_literal_says_whether_it_was_rounded() {
    for (dtype, text, bits, rounded) in [
        (Dtype::I8, "-128", 0x80, false),
        (Dtype::U64, "18446744073709551615", u64::MAX, false),
        (Dtype::F16, "0.1", 0x2e66, true),
        (Dtype::F16, "-0", 0x8000, false),
        (Dtype::Bf16, "257", 0x4380, true),
        (Dtype::F32, "16777217", 0x4b80_0000, true),
        // Read from the text itself: through binary64 it would be the tie, 2^24.
        (Dtype::F32, "16777217.000000001", 0x4b80_0001, true),
        (Dtype::F64, "0.1", 0x3fb9_9999_9999_999a, false),
        (Dtype::F8E4M3, "449", 0x7e, true),
        (Dtype::F8E5M2, "inf", 0x7b, true),
        (Dtype::F32, "nan", 0x7fff_ffff, false),
        (Dtype::Bf16, "-inf", 0xff80, false),
    ] {
        let literal = Scalar::parse(dtype, text).unwrap();
        assert_eq!((literal.scalar.bits(), literal.rounded), (bits, rounded), "{dtype} {text}");
        assert_eq!(literal.scalar.dtype(), dtype);
    }
    for (dtype, text, error) in [
        (Dtype::I8, "128", "outside the range of i8 (-128 to 127)"),
        (Dtype::U8, "-1", "outside the range of u8 (0 to 255)"),
        (
            Dtype::I32,
            "99999999999999999999999999999999999999999999",
            "outside the range of i32 (-2147483648 to 2147483647)",
        ),
        (Dtype::U8, "1.0", "not an integer, and u8 holds integers"),
        (Dtype::I64, "1e3", "not an integer, and i64 holds integers"),
        (Dtype::F32, "", "not a number"),
        (Dtype::U8, "four", "not a number"),
        (Dtype::F16, "1 ", "not a number"),
    ] {
        assert_eq!(Scalar::parse(dtype, text).unwrap_err().to_string(), error, "{dtype} {text}");
    }
}
