//! The situations on burn-collective, on burn's own CPU backend and with the default
//! configuration, as its tests use it. A broadcast's root is who gives a tensor.

use burn_collective::{
    CollectiveConfig, CollectiveError, PeerId, ReduceOperation, all_reduce, broadcast,
    finish_collective, reduce, register,
};
use burn_flex::Flex;
use burn_tensor::backend::BackendTypes;
use burn_tensor::{Tensor, TensorData, TensorPrimitive};

use crate::program::{Member, Program};
use crate::situation::{RANKS, Situation};

type Primitive = <Flex as BackendTypes>::FloatTensorPrimitive;

pub(crate) fn program(situation: Situation) -> Result<Program, &'static str> {
    if situation == Situation::SwappedAndTagged {
        return Err("no tags in it");
    }
    let member = |rank: usize| -> Member {
        Box::new(move |ready| {
            let id = PeerId::from(rank);
            let config = CollectiveConfig::default().with_num_devices(RANKS);
            let run = || {
                register::<Flex>(id, <Flex as BackendTypes>::Device::default(), config)?;
                ready();
                let left = calls(rank, situation)?;
                // It calls nothing, so it does not get here in an orderly way either.
                if !left.is_empty() {
                    finish_collective::<Flex>(id)?;
                }
                Ok(left)
            };
            run().map_err(|error: CollectiveError| format!("{error:?}"))
        })
    };
    Ok((0..RANKS).map(member).collect())
}

fn calls(rank: usize, situation: Situation) -> Result<Vec<Vec<f32>>, CollectiveError> {
    let id = PeerId::from(rank);
    let root = situation.root(rank);
    let other = situation.reduces_otherwise(rank);
    let reduction = if other { ReduceOperation::Mean } else { ReduceOperation::Sum };
    let mut left = Vec::new();
    for values in situation.contributions(rank) {
        let x = tensor(values);
        let y = match situation {
            Situation::BroadcastRoots => Some(broadcast::<Flex>(id, (root == rank).then_some(x))?),
            Situation::ReduceRoots => reduce::<Flex>(id, x, reduction, PeerId::from(root))?,
            _ => Some(all_reduce::<Flex>(id, x, reduction)?),
        };
        left.push(y.map(values_of).unwrap_or_default());
    }
    Ok(left)
}

fn tensor(values: Vec<f32>) -> Primitive {
    let count = values.len();
    let data = TensorData::new(values, [count]);
    let tensor = Tensor::<Flex, 1>::from_data(data, &<Flex as BackendTypes>::Device::default());
    tensor.into_primitive().tensor()
}

fn values_of(primitive: Primitive) -> Vec<f32> {
    let tensor = Tensor::<Flex, 1>::from_primitive(TensorPrimitive::Float(primitive));
    tensor.into_data().to_vec().expect("f32")
}
