//! What a stranger relies on, with figures worked out by hand.

use a_strangers_crate::gradient_shard;
use rankwise_account::{ByteCount, Label};
use rankwise_model::{reference, Dtype, GroupSize, Layout, Operation, Reduction};

#[test]
fn a_shard_is_a_third_of_what_goes_in() {
    let payload = gradient_shard(3, 5, Dtype::Bf16).unwrap();
    assert_eq!(payload.input.bytes(), ByteCount::new(30));
    assert_eq!(payload.output.bytes(), ByteCount::new(10));
    assert_eq!(gradient_shard(0, 5, Dtype::Bf16), None);
    assert_eq!(gradient_shard(3, u64::MAX, Dtype::Bf16), None);
}

#[test]
fn the_reference_agrees_on_who_owns_what() {
    let ranks = GroupSize::new(2).unwrap();
    let sum = Operation::ReduceScatter { reduction: Reduction::Sum };
    let layout = Layout::new(sum, ranks, 2).unwrap();
    let (mut on_0, mut on_1) = ([0_i32; 2], [0_i32; 2]);
    let inputs: [&[i32]; 2] = [&[1, 2, 3, 4], &[10, 20, 30, 40]];
    reference::evaluate(&layout, &[], &inputs, &mut [&mut on_0, &mut on_1]).unwrap();
    assert_eq!((on_0, on_1), ([11, 22], [33, 44]));
}

#[test]
fn a_label_says_what_it_lacks() {
    let error: Box<dyn std::error::Error> =
        Label::parse("16 B").unwrap().settle().unwrap_err().into();
    assert!(error.to_string().contains("the number of ranks"), "{error}");
}
