//! Making communicators.

use core::ffi::c_int;
use core::fmt;
use core::ptr;

use nccl_sys::{ncclComm_t, ncclUniqueId};
use rankwise_comm::{DeviceOrdinal, Error, Fault};
use rankwise_model::{GroupSize, Rank};

use crate::comm::Comm;
use crate::device::Device;
use crate::library::{Nccl, call};

/// What the ranks of a communicator find each other by: made by one of them, handed to
/// all by whatever means they have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UniqueId([u8; Self::BYTES]);

impl UniqueId {
    /// Its length.
    pub const BYTES: usize = 128;

    /// Its bytes, to be sent to the other ranks.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The id that has these bytes.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UniqueId(…)") // it is how one gets in
    }
}

/// What a communicator is called that was not split off another.
const NAME: &str = "world";

impl Nccl {
    /// A new id, for one communicator.
    pub fn unique_id(self) -> Result<UniqueId, Error> {
        let mut id = ncclUniqueId { internal: [0; UniqueId::BYTES] };
        // SAFETY: `id` may be written.
        unsafe { call!(self, ncclGetUniqueId(&raw mut id)) }?;
        Ok(UniqueId(id.internal.map(|byte| byte.to_ne_bytes()[0])))
    }

    /// Joins the communicator of `id`: its `ranks` ranks all call this, from threads or
    /// processes of their own. Waits for all of them.
    pub fn init_rank(
        self,
        id: &UniqueId,
        rank: Rank,
        ranks: GroupSize,
        device: DeviceOrdinal,
    ) -> Result<Comm, Error> {
        if !ranks.contains(rank) {
            let (found, needed) = (format!("rank {rank}"), format!("one of {ranks} ranks"));
            return Err(Fault::Foreign { found, needed }.into());
        }
        let device = Device::open(device)?;
        let id =
            ncclUniqueId { internal: id.0.map(|byte| core::ffi::c_char::from_ne_bytes([byte])) };
        let mut raw = ptr::null_mut();
        let bound = device.bind()?;
        // SAFETY: `raw` may be written; the device is current.
        unsafe {
            call!(
                self,
                ncclCommInitRank(&raw mut raw, number(ranks.get())?, id, number(rank.index())?)
            )
        }?;
        drop(bound);
        // SAFETY: NCCL has just made it for this rank, on the device that was current.
        unsafe { Comm::adopt(self, device, made(raw)?, (rank, ranks), NAME) }
    }

    /// A communicator of all these devices, one rank each in the order of the list, all
    /// in this process.
    pub fn init_all(self, devices: &[DeviceOrdinal]) -> Result<Vec<Comm>, Error> {
        let Some(ranks) = u32::try_from(devices.len()).ok().and_then(GroupSize::new) else {
            let found = format!("{} devices", devices.len());
            return Err(Fault::Foreign { found, needed: "at least one".to_owned() }.into());
        };
        let opened = devices.iter().map(|device| Device::open(*device));
        let opened = opened.collect::<Result<Vec<_>, _>>()?;
        let numbers = devices.iter().map(|device| number(device.0));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let mut raws: Vec<ncclComm_t> = vec![ptr::null_mut(); devices.len()];
        // SAFETY: both lists are `ranks` long; the first may be written.
        unsafe {
            call!(self, ncclCommInitAll(raws.as_mut_ptr(), number(ranks.get())?, numbers.as_ptr()))
        }?;
        // All are taken over before any failure is looked at, so that none is lost.
        let comms: Vec<_> = ranks
            .ranks()
            .zip(opened)
            .zip(raws)
            .map(|((rank, device), raw)| {
                // SAFETY: NCCL has just made it: rank `i` of the list on device `i` of it.
                unsafe { Comm::adopt(self, device, made(raw)?, (rank, ranks), NAME) }
            })
            .collect();
        comms.into_iter().collect()
    }
}

/// What NCCL has made, if it has.
fn made(raw: ncclComm_t) -> Result<ncclComm_t, Error> {
    if raw.is_null() {
        let what = "NCCL reports success and gives no communicator".to_owned();
        return Err(Fault::Internal { what }.into());
    }
    Ok(raw)
}

/// A number as C has it.
pub(crate) fn number(number: u32) -> Result<c_int, Error> {
    c_int::try_from(number).map_err(|_| {
        let what = format!("{number} is more than NCCL counts");
        Fault::Internal { what }.into()
    })
}
