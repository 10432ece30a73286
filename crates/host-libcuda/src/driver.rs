//! The one state of the process, made by `cuInit`.

use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

use crate::abi::{Answer, CUresult, answer, answer_anywhere, put};
use crate::context::Device;
use crate::event::Event;
use crate::handle::Handles;
use crate::memory::Memory;
use crate::settings::Settings;
use crate::stream::Stream;

/// The version of the driver API that is followed: CUDA 13.0.
const VERSION: c_int = 13000;

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Everything there is.
pub(crate) struct Driver {
    pub(crate) devices: Vec<Device>,
    pub(crate) memory: Memory,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) seed: Option<u64>,
}

impl Driver {
    fn new(settings: Settings) -> Self {
        Self {
            devices: (0..settings.devices).map(Device::new).collect(),
            memory: Memory::default(),
            streams: Handles::starting_at(0x5_0000_0000),
            events: Handles::starting_at(0x6_0000_0000),
            seed: settings.seed,
        }
    }

    /// The driver, once somebody has called `cuInit`.
    pub(crate) fn get() -> Answer<&'static Self> {
        DRIVER.get().ok_or(CUresult::NOT_INITIALIZED)
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuInit(flags: c_uint) -> CUresult {
    answer("cuInit", || {
        if flags != 0 {
            return Err(CUresult::INVALID_VALUE);
        }
        let driver = DRIVER.get_or_init(|| Driver::new(Settings::read()));
        if driver.devices.is_empty() { Err(CUresult::NO_DEVICE) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    // SAFETY: the caller's pointer, by the contract of this call in `cuda.h`.
    answer_anywhere("cuDriverGetVersion", || unsafe { put(version, VERSION) })
}
