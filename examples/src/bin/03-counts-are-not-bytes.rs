//! What the number in front of a collective means, and what it does not.
//!
//! "Count 4" is the whole vector of an all-reduce, one rank's contribution to an
//! all-gather and one rank's share of a reduce-scatter. "16 B" fits all three. So a
//! number can be compared only once its operation and its meaning are said; and in a
//! program no count is passed at all, since it follows from the buffers.
//!
//! Prints the three calls on the same contributions, what "16 B" may mean, and what
//! happens if bytes are taken for elements.

#![allow(clippy::print_stdout)] // an example prints

use std::error::Error;

use rankwise_account::{Amount, ElemCount, Label, payload};
use rankwise_comm::prelude::*;
use rankwise_mock::World;
use rankwise_model::{Layout, Operation};

fn main() -> Result<(), Box<dyn Error>> {
    let two = GroupSize::new(2).ok_or("no ranks")?;
    let sum = Reduction::Sum;
    let operations = [
        (Operation::AllReduce { reduction: sum }, 4),
        (Operation::AllGather, 4),
        (Operation::ReduceScatter { reduction: sum }, 2),
    ];

    // Elements and bytes are two types, which do not mix; elements of a known type are both.
    let contribution = Amount::new(ElemCount::new(4), Dtype::I32)?;
    println!("two ranks contribute {contribution} each:");
    for (operation, count) in operations {
        let means = operation.kind().row().count;
        let layout = Layout::new(operation, two, count)?;
        let output = payload(&layout, Dtype::I32, two.first())?.output;
        println!("  {operation}: count {count}, {means}; leaves {output}");
    }

    println!("16 B of i32 on two ranks fits all three:");
    let label = Label::parse("16 B n=2 i32")?;
    for (operation, _) in operations {
        for reading in label.of(operation.kind()).readings() {
            let meanings: Vec<_> = reading.meanings().map(|meaning| meaning.to_string()).collect();
            let (count, meanings) = (reading.count()?, meanings.join(", "));
            println!("  {operation}, count {count}: 16 B is the {meanings}");
        }
    }
    if let Err(unsettled) = label.settle() {
        println!("{unsettled}");
    }
    let (a, b) = ("all_gather 16 B out n=2 i32", "all_gather count 2 el n=2 i32");
    println!("\"{a}\" is \"{b}\": {}", Label::parse(a)?.settle()? == Label::parse(b)?.settle()?);

    println!("an output of 16 elements, because the vector has 16 bytes:");
    let comm = World::of(2).communicators().remove(0);
    let x = comm.buffer::<i32>(4)?;
    let mut y = comm.buffer::<i32>(16)?;
    if let Err(refused) = comm.all_reduce(sum, &x, &mut y) {
        println!("  {refused}");
    }
    Ok(())
}
