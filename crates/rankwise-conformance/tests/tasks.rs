//! A thousand ranks as tasks on one thread.

mod toy;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use rankwise_comm::{Communicator, FoldOrder, Placement};
use rankwise_conformance::{Case, Defect, Fixture, Grouping, Pattern, Plan, check};
use rankwise_model::{Dtype, GroupSize, Operation, Reduction};
use rstest::rstest;
use toy::Toy;

/// Whether a task has been woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs all futures on this thread, in turns; `None` if nobody can go on.
fn run_all<'f, T>(futures: Vec<Pin<Box<dyn Future<Output = T> + Send + 'f>>>) -> Option<Vec<T>> {
    let woken = || Arc::new(Woken(AtomicBool::new(true)));
    let mut tasks: Vec<_> =
        futures.into_iter().map(|future| (Some(future), woken(), None)).collect();
    loop {
        let mut moved = false;
        for (future, woken, value) in &mut tasks {
            let Some(running) = future.as_mut().filter(|_| woken.0.swap(false, Ordering::SeqCst))
            else {
                continue;
            };
            moved = true;
            let waker = Waker::from(Arc::clone(woken));
            if let Poll::Ready(ready) = running.as_mut().poll(&mut Context::from_waker(&waker)) {
                (*future, *value) = (None, Some(ready));
            }
        }
        if tasks.iter().all(|(future, ..)| future.is_none()) {
            return tasks.into_iter().map(|(.., value)| value).collect();
        }
        if !moved {
            return None;
        }
    }
}

const SUM: Reduction = Reduction::Sum;

#[rstest]
#[case(Pattern::Operation(Operation::AllReduce { reduction: SUM }), 3, Placement::InPlace)]
#[case(Pattern::Operation(Operation::AllGather), 1, Placement::OutOfPlace)]
#[case(Pattern::Exchange { shift: 999 }, 5, Placement::OutOfPlace)]
fn a_thousand_ranks_as_tasks(
    #[case] pattern: Pattern,
    #[case] count: u64,
    #[case] placement: Placement,
) {
    let (ranks, dtype) = (GroupSize::new(1_000).unwrap(), Dtype::I32);
    let grouping = Grouping::Alone;
    let case = Case { pattern, dtype, ranks, count, placement, grouping, rounds: 2 };
    let plan = Plan::new(case, FoldOrder::Rank).unwrap();
    let comms = Toy::right().launch(ranks).unwrap();
    let each = comms.iter().map(|comm| -> Pin<Box<dyn Future<Output = _> + Send + '_>> {
        Box::pin(check(comm, &plan))
    });
    let results: Vec<Result<(), Defect>> = run_all(each.collect()).expect("nobody can go on");
    assert_eq!(results.len(), 1_000);
    for (comm, result) in comms.iter().zip(results) {
        assert_eq!(result, Ok(()), "rank {}", comm.rank());
    }
}

#[test]
fn a_plan_for_other_ranks_is_refused() {
    let (two, three) = (GroupSize::new(2).unwrap(), GroupSize::new(3).unwrap());
    let case = Case {
        pattern: Pattern::Operation(Operation::AllGather),
        dtype: Dtype::F16,
        ranks: three,
        count: 1,
        placement: Placement::OutOfPlace,
        grouping: Grouping::Alone,
        rounds: 1,
    };
    let plan = Plan::new(case, FoldOrder::Rank).unwrap();
    let comms = Toy::right().launch(two).unwrap();
    let results = run_all(vec![Box::pin(check(&comms[0], &plan)) as Pin<Box<_>>]).unwrap();
    let words = "the case is for 3 ranks, the communicator has 2";
    assert_eq!(results, [Err(Defect::new(words))]);
}
