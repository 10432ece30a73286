//! A value that is there once a fence has been passed.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::error::{Error, Fault};
use crate::fence::Fence;

/// A value that is there once a fence has been passed: the bytes of a
/// [`fetch`](crate::Stream::fetch), the communicator of a
/// [`split`](crate::Communicator::split).
///
/// Leaking or dropping it gives up the value and nothing else.
#[must_use = "the value is only there once it has been waited for"]
pub struct Pending<T> {
    fence: Fence,
    finish: Option<Finish<T>>,
}

type Finish<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

impl<T> Pending<T> {
    /// The value that `finish` gives once the fence has been passed.
    pub fn new(fence: Fence, finish: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Self {
        Self { fence, finish: Some(Box::new(finish)) }
    }

    /// What it waits for.
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Blocks until the value is there.
    pub fn wait(self) -> Result<T, Error> {
        self.fence.wait()?;
        self.finish.map_or_else(|| Err(taken()), |finish| finish())
    }

    /// The same pending, with its value made into another.
    pub fn map<U>(self, map: impl FnOnce(T) -> Result<U, Error> + Send + 'static) -> Pending<U>
    where
        T: 'static,
    {
        let finish = self.finish;
        Pending::new(self.fence, move || {
            map(finish.map_or_else(|| Err(taken()), |finish| finish())?)
        })
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.fence).poll(cx))?;
        Poll::Ready(self.finish.take().map_or_else(|| Err(taken()), |finish| finish()))
    }
}

fn taken() -> Error {
    Fault::Internal { what: "a pending value was polled after it had been taken".to_owned() }.into()
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({:?})", self.fence)
    }
}
