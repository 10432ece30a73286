//! One rank's buffers, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use rankwise_comm::{Buffer, Communicator, Dyn, Error, Stream as _};
use rankwise_model::Dtype;
use rankwise_plan::values::Values;

use crate::error::RunError;
use crate::job::Shape;

/// A buffer of a run. Shared while a send of it is on its way.
pub(crate) type Held<C> = Arc<Buffer<Dyn, <C as Communicator>::Memory>>;

/// What a buffer holds until it is written: no position of it is right by accident.
const POISON: u8 = 0xa5;

/// One rank's buffers, by name.
///
/// A step that writes a buffer gives the name new memory, except in place. So a send
/// may still be on its way when its buffer's name is written again.
pub(crate) struct Buffers<'c, C: Communicator> {
    comm: &'c C,
    named: BTreeMap<String, Held<C>>,
}

impl<'c, C: Communicator> Buffers<'c, C> {
    pub(crate) const fn new(comm: &'c C) -> Self {
        Self { comm, named: BTreeMap::new() }
    }

    /// New memory, poisoned.
    pub(crate) fn fresh(&self, shape: Shape) -> Result<Buffer<Dyn, C::Memory>, Error> {
        let mut buffer = self.allocate(shape.dtype, shape.count)?;
        let poison = vec![POISON; buffer.view().byte_range().len()];
        self.comm.stream().write_bytes(buffer.view_mut(), &poison)?;
        Ok(buffer)
    }

    fn allocate(&self, dtype: Dtype, count: u64) -> Result<Buffer<Dyn, C::Memory>, Error> {
        self.comm.dyn_buffer(dtype, usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Gives the name this buffer.
    pub(crate) fn put(&mut self, name: &str, buffer: Buffer<Dyn, C::Memory>) {
        self.named.insert(name.to_owned(), Arc::new(buffer));
    }

    /// Gives the name new memory that holds these values.
    pub(crate) fn write(&mut self, name: &str, values: &Values) -> Result<(), Error> {
        let mut buffer = self.allocate(values.dtype(), values.count())?;
        let bytes = native(values.dtype(), values.as_le_bytes());
        self.comm.stream().write_bytes(buffer.view_mut(), &bytes)?;
        self.put(name, buffer);
        Ok(())
    }

    /// What the buffer holds, once everything that writes it is done.
    pub(crate) fn read(&self, step: Option<usize>, name: &str) -> Result<Values, RunError> {
        let buffer = self.get(name)?;
        let mut bytes = vec![0; buffer.view().byte_range().len()];
        self.comm
            .stream()
            .read_bytes(buffer.view(), &mut bytes)
            .map_err(|error| RunError::Backend { step, error })?;
        let dtype = buffer.dtype();
        Values::from_le_bytes(dtype, native(dtype, &bytes))
            .ok_or_else(|| RunError::Internal { what: format!("a part of an element in {name}") })
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Held<C>, RunError> {
        self.named.get(name).ok_or_else(|| missing(name))
    }

    /// The buffer, to be written in place.
    pub(crate) fn get_mut(&mut self, name: &str) -> Result<&mut Buffer<Dyn, C::Memory>, RunError> {
        let held = self.named.get_mut(name).ok_or_else(|| missing(name))?;
        Arc::get_mut(held)
            .ok_or_else(|| RunError::Internal { what: format!("{name} is being sent") })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }
}

fn missing(name: &str) -> RunError {
    RunError::Internal { what: format!("no buffer {name} on this rank") }
}

/// Between little-endian elements and those of this machine, either way.
fn native(dtype: Dtype, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if cfg!(target_endian = "big") {
        let width = usize::try_from(dtype.bytes()).unwrap_or(1);
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    bytes
}
