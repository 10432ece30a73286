//! NCCL, loaded at run time, and what its codes mean here.

use core::fmt;
use std::ffi::{CStr, c_char};
use std::path::Path;

use nccl_sys::{Library, LoadError, function, ncclComm_t, ncclResult_t};
use rankwise_comm::{Error, ErrorKind, Fault};

use crate::device::DeviceInfo;
use crate::{device, driver};

/// Takes a function out of NCCL and calls it: `call!(nccl, ncclCommDestroy(raw))`.
///
/// The call is unsafe, and is argued where it stands.
macro_rules! call {
    ($nccl:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match nccl_sys::function!($nccl.library(), $function) {
            Ok(function) => $nccl.check(stringify!($function), function($($argument),*)),
            Err(missing) => Err($nccl.lacks(&missing)),
        }
    };
}
pub(crate) use call;

/// A release of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub(crate) u32);

impl Version {
    /// The code that `ncclGetVersion` gives: 23203 is 2.32.3.
    pub const fn code(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Version {
    #[allow(clippy::arithmetic_side_effects)] // dividing by constants
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0;
        let per_major = if code < 10_000 { 1_000 } else { 10_000 };
        write!(f, "{}.{}.{}", code / per_major, code % per_major / 100, code % 100)
    }
}

/// NCCL and the CUDA driver, both loaded.
///
/// They stay loaded until the process ends; the handle is a pointer and can be copied.
#[derive(Clone, Copy)]
pub struct Nccl {
    library: Library,
    version: Version,
}

impl Nccl {
    /// Loads the CUDA driver and NCCL: those that the environment variables
    /// `RANKWISE_LIBCUDA` and `NCCL_LIBRARY` name, or the system's.
    ///
    /// # Errors
    ///
    /// [`Fault::NotLoaded`], with what was tried and what the loader said.
    pub fn load() -> Result<Self, Error> {
        driver::load()?;
        // SAFETY: what the system's loader or whoever sets the environment offers under
        // NCCL's name is taken for NCCL, as it would be for a program that links it.
        Self::with(unsafe { Library::load(None) })
    }

    /// Loads the CUDA driver and the NCCL at a path; no environment variable is looked
    /// at but `RANKWISE_LIBCUDA`.
    ///
    /// # Safety
    ///
    /// What is at the path is an NCCL (or cannot be loaded), and its initialisers may run.
    pub unsafe fn load_at(path: &Path) -> Result<Self, Error> {
        driver::load()?;
        // SAFETY: by this function's contract.
        Self::with(unsafe { Library::load(Some(path)) })
    }

    /// Puts the library at `path` in the place of the CUDA driver, for the rest of the
    /// process. To be called before anything else uses a driver.
    ///
    /// # Safety
    ///
    /// What is at the path is a CUDA driver (or cannot be loaded), and its initialisers
    /// may run.
    pub unsafe fn load_driver(path: &Path) -> Result<(), Error> {
        // SAFETY: by this function's contract.
        unsafe { driver::open(path) }?;
        driver::load()
    }

    fn with(loaded: Result<Library, LoadError>) -> Result<Self, Error> {
        let library = loaded.map_err(|error| Fault::NotLoaded { text: error.to_string() })?;
        let mut code = 0;
        let nccl = Self { library, version: Version(0) };
        // SAFETY: `code` is an int that NCCL may write; `ncclGetVersion` needs no device.
        unsafe { call!(nccl, ncclGetVersion(&raw mut code)) }?;
        Ok(Self { library, version: Version(code.unsigned_abs()) })
    }

    /// The release that was loaded.
    pub const fn version(self) -> Version {
        self.version
    }

    /// The devices that the driver shows to this process.
    pub fn devices(self) -> Result<Vec<DeviceInfo>, Error> {
        device::list()
    }

    /// The path or the name under which NCCL was found.
    pub fn path(self) -> &'static Path {
        self.library.name()
    }

    pub(crate) const fn library(self) -> Library {
        self.library
    }

    /// Whether both are the same library, so that their calls can share a group.
    pub(crate) fn is(self, other: Self) -> bool {
        core::ptr::eq(self.library.functions(), other.library.functions())
    }

    /// The error that a code means, with NCCL's last words.
    pub(crate) fn check(self, function: &'static str, found: ncclResult_t) -> Result<(), Error> {
        if found == ncclResult_t::ncclSuccess {
            return Ok(());
        }
        Err(self.fault(function, found, core::ptr::null_mut()))
    }

    /// What the code says. `raw` is the communicator it is about, or null.
    pub(crate) fn fault(
        self,
        function: &'static str,
        code: ncclResult_t,
        raw: ncclComm_t,
    ) -> Error {
        let mut text = function!(self.library, ncclGetErrorString).map_or_else(
            |_| String::new(),
            // SAFETY: any number may be asked about; the answer is a constant.
            |function| unsafe { words(function(code)) },
        );
        if let Ok(function) = function!(self.library, ncclGetLastError) {
            // SAFETY: the communicator is null or alive, and NCCL ignores it. The text
            // is valid until the next failure; it is copied at once.
            let last = unsafe { words(function(raw)) };
            if !last.is_empty() {
                text = format!("{text}: {last}");
            }
        }
        let blames = blames(function, code);
        Fault::Library { function, code: i64::from(code.0), text, blames }.into()
    }

    /// This NCCL has no such function.
    pub(crate) fn lacks(self, missing: &LoadError) -> Error {
        let what = match missing {
            LoadError::Missing { symbol, .. } => (*symbol).to_owned(),
            other => other.to_string(),
        };
        Fault::Unsupported { backend: self.backend(), what, since: None }.into()
    }

    /// What it is called.
    pub(crate) fn backend(self) -> String {
        format!("NCCL {}", self.version)
    }
}

/// # Safety
///
/// Null, or a text that ends in a zero and is not changed meanwhile.
unsafe fn words(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim_end().to_owned()
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nccl({} at {})", self.version, self.path().display())
    }
}

/// Whose fault a code is (the table of `ncclResult_t` in NCCL's user guide). What is wrong
/// with a call's arguments is said by the call; said later, it is about the ranks together.
fn blames(function: &str, code: ncclResult_t) -> ErrorKind {
    match code {
        ncclResult_t::ncclRemoteError | ncclResult_t::ncclTimeout => ErrorKind::Peer,
        ncclResult_t::ncclInvalidArgument | ncclResult_t::ncclInvalidUsage => {
            if function == "ncclCommGetAsyncError" { ErrorKind::Peer } else { ErrorKind::Caller }
        }
        _ => ErrorKind::Device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_as_a_version() {
        assert_eq!(Version(23_203).to_string(), "2.32.3");
        assert_eq!(Version(21_005).to_string(), "2.10.5");
        assert_eq!(Version(2_804).to_string(), "2.8.4");
    }
}
