//! Finding an NCCL at run time.

use core::error::Error;
use core::ffi::{CStr, c_char, c_uint};
use core::fmt;
use std::borrow::ToOwned;
use std::boxed::Box;
use std::env;
use std::format;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use crate::dynamic::Nccl;
use crate::ncclResult_t;
use crate::releases::{forget_newer, since};

/// Names the library when the caller does not.
const VARIABLE: &str = "NCCL_LIBRARY";

/// What the system's loader is asked for when nobody names a library: the name
/// that NCCL gives itself, then the one that development packages add.
const USUAL: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// An NCCL that is loaded, and stays so until the process ends.
///
/// It is never unloaded: functions taken out of it, and the threads and sockets that
/// NCCL keeps of its own, outlive any handle. What one `load` keeps is a few
/// kilobytes, so load once and copy the handle.
#[derive(Clone, Copy)]
pub struct Library {
    loaded: &'static Loaded,
}

struct Loaded {
    functions: Nccl,
    name: PathBuf,
    stand_in: Option<String>,
}

/// What a stand-in says that it is; no NCCL has such a symbol.
const MARKER: &[u8] = b"rankwise_stand_in\0";

impl Library {
    /// Loads the NCCL at `path`; without one, that which the environment variable
    /// `NCCL_LIBRARY` names; without that (or if it is empty), `libnccl.so.2` or
    /// else `libnccl.so`, wherever the system's loader looks.
    ///
    /// A library that is named is the only one tried. What was loaded has at least
    /// `ncclGetVersion`; other functions are missing from older releases, and
    /// [`function!`](crate::function) says so when they are asked for.
    ///
    /// # Safety
    ///
    /// Loading runs the initialisers of the library, and what `path`, the environment
    /// or the system offers under these names has to be an NCCL (or not loadable):
    /// a function of the same name with other parameters would be taken for NCCL's.
    pub unsafe fn load(path: Option<&Path>) -> Result<Self, LoadError> {
        let (named_by, names) = candidates(path, env::var_os(VARIABLE).map(PathBuf::from));
        let mut tried = Vec::new();
        for name in names {
            // SAFETY: running the library's initialisers is the caller's promise.
            let library = unsafe { libloading::Library::new(&name) };
            let found = library.and_then(|library| {
                // SAFETY: as a stand-in declares it; nobody else has the name.
                let stand_in = unsafe { stand_in(&library) };
                // SAFETY: so are the types of what has the names of NCCL's functions.
                Ok((unsafe { Nccl::from_library(library) }?, stand_in))
            });
            match found {
                Ok((functions, stand_in)) => return Self::keep(functions, name, stand_in),
                Err(error) => tried.push(Attempt { name, refusal: words(&error) }),
            }
        }
        Err(LoadError::Unloadable { named_by, tried })
    }

    /// Keeps the library for good if it is an NCCL. If not, it is unloaded again:
    /// nothing was taken out of it yet.
    fn keep(
        mut functions: Nccl,
        name: PathBuf,
        stand_in: Option<String>,
    ) -> Result<Self, LoadError> {
        let Ok(get_version) = functions.ncclGetVersion else {
            let symbol = "ncclGetVersion";
            return Err(LoadError::Missing { symbol, since: since(symbol), library: name });
        };
        let mut version = 0;
        // SAFETY: `version` is an int to write to; a stand-in has it as NCCL does.
        let is_known = stand_in.is_some()
            && unsafe { get_version(&raw mut version) } == ncclResult_t::ncclSuccess;
        if is_known {
            forget_newer(&mut functions, version.unsigned_abs());
        }
        Ok(Self { loaded: Box::leak(Box::new(Loaded { functions, name, stand_in })) })
    }

    /// What stands in for NCCL, in its own words; `None` if it is NCCL.
    ///
    /// What a stand-in did says nothing of a GPU, and its times nothing of NCCL: whoever
    /// prints either has to say so.
    pub fn stand_in(self) -> Option<&'static str> {
        self.loaded.stand_in.as_deref()
    }

    /// The name under which the loader found it: a path if one was given.
    pub fn name(self) -> &'static Path {
        &self.loaded.name
    }

    /// Everything that was looked up, found or not, in one field per function.
    ///
    /// The *methods* that bindgen puts beside the fields panic if the library lacks
    /// the function; [`function!`](crate::function) returns an error.
    pub fn functions(self) -> &'static Nccl {
        &self.loaded.functions
    }

    /// What [`function!`](crate::function) expands to: the function in one field.
    ///
    /// `symbol` is its name, for the error.
    pub fn resolve<F: Copy + 'static>(
        self,
        symbol: &'static str,
        field: impl FnOnce(&'static Nccl) -> &'static Result<F, libloading::Error>,
    ) -> Result<F, LoadError> {
        let missing = |_| LoadError::Missing {
            symbol,
            since: since(symbol),
            library: self.name().to_owned(),
        };
        field(self.functions()).as_ref().copied().map_err(missing)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Library").field(&self.name()).finish()
    }
}

/// Takes a function out of a [`Library`], or an error if this NCCL lacks it.
///
/// The function is a plain pointer that stays valid; calling it is unsafe.
///
/// ```no_run
/// use nccl_sys::{Library, LoadError, function, ncclResult_t};
///
/// fn version(nccl: Library) -> Result<i32, LoadError> {
///     let get_version = function!(nccl, ncclGetVersion)?;
///     let mut code = 0;
///     // SAFETY: `code` is an int that NCCL may write.
///     let result = unsafe { get_version(&raw mut code) };
///     assert_eq!(result, ncclResult_t::ncclSuccess);
///     Ok(code)
/// }
/// ```
#[macro_export]
macro_rules! function {
    ($library:expr, $symbol:ident) => {
        $library.resolve(::core::stringify!($symbol), |functions| &functions.$symbol)
    };
}

/// Who named the library that could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The caller.
    Argument,
    /// The environment variable `NCCL_LIBRARY`.
    Environment,
    /// Neither: these are the usual names.
    Nobody,
}

/// One library that the system's loader refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What the loader was asked for.
    pub name: PathBuf,
    /// What it said.
    pub refusal: String,
}

/// Why there is no NCCL, or not this part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The system's loader refused all that it was asked for.
    Unloadable {
        /// Who named them.
        named_by: NamedBy,
        /// All of them, in order.
        tried: Vec<Attempt>,
    },
    /// The library has no such function: it is older than the function, or no NCCL.
    Missing {
        /// The function's name.
        symbol: &'static str,
        /// The first release that has it, as `ncclGetVersion` gives its code.
        since: Option<c_uint>,
        /// The library, as [`Library::name`] would say.
        library: PathBuf,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unloadable { named_by, tried } => {
                f.write_str("no NCCL could be loaded")?;
                for (position, Attempt { name, refusal }) in tried.iter().enumerate() {
                    let separator = if position == 0 { ": " } else { "; " };
                    write!(f, "{separator}`{}` was refused ({refusal})", name.display())?;
                }
                f.write_str(match named_by {
                    NamedBy::Argument => "; name another library",
                    NamedBy::Environment => "; NCCL_LIBRARY names it: correct or unset that",
                    NamedBy::Nobody => "; set NCCL_LIBRARY to the path of libnccl.so.2",
                })
            }
            Self::Missing { symbol, since, library } => {
                write!(f, "`{}` has no function {symbol}", library.display())?;
                if let Some(since) = since {
                    write!(f, ", which NCCL {} brought", Release(*since))?;
                }
                f.write_str("; name a newer NCCL in NCCL_LIBRARY")
            }
        }
    }
}

impl Error for LoadError {}

/// A release by its code, as people write it.
struct Release(c_uint);

impl fmt::Display for Release {
    #[allow(clippy::arithmetic_side_effects)] // dividing by constants
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0;
        let per_major = if code < 10_000 { 1_000 } else { 10_000 };
        let (major, minor, patch) = (code / per_major, code % per_major / 100, code % 100);
        write!(f, "{major}.{minor}")?;
        if patch == 0 { Ok(()) } else { write!(f, ".{patch}") }
    }
}

/// What the library says that it is, if it is a stand-in.
///
/// # Safety
///
/// What has the marker's name is a function without parameters that returns null or a C
/// string which stays.
unsafe fn stand_in(library: &libloading::Library) -> Option<String> {
    // SAFETY: the type, by this function's contract.
    let marker = unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(MARKER) }.ok()?;
    // SAFETY: by this function's contract.
    let words = unsafe { marker() };
    if words.is_null() {
        return None;
    }
    // SAFETY: not null, and then by this function's contract.
    Some(unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned())
}

/// What to ask the loader for, in order; never nothing.
fn candidates(path: Option<&Path>, variable: Option<PathBuf>) -> (NamedBy, Vec<PathBuf>) {
    if let Some(path) = path {
        return (NamedBy::Argument, Vec::from([path.to_owned()]));
    }
    match variable.filter(|name| !name.as_os_str().is_empty()) {
        Some(name) => (NamedBy::Environment, Vec::from([name])),
        None => (NamedBy::Nobody, USUAL.map(PathBuf::from).into()),
    }
}

/// What the loader said, with the reason that some systems give separately.
fn words(error: &libloading::Error) -> String {
    match error.source() {
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: Option<&str>, variable: Option<&str>) -> (NamedBy, Vec<PathBuf>) {
        candidates(path.map(Path::new), variable.map(PathBuf::from))
    }

    #[test]
    fn the_argument_goes_before_the_variable_and_that_before_the_usual_names() {
        let only = |name: &str| Vec::from([PathBuf::from(name)]);
        assert_eq!(named(Some("a"), Some("v")), (NamedBy::Argument, only("a")));
        assert_eq!(named(Some("a"), None), (NamedBy::Argument, only("a")));
        assert_eq!(named(None, Some("v")), (NamedBy::Environment, only("v")));
        let usual = Vec::from(["libnccl.so.2", "libnccl.so"].map(PathBuf::from));
        assert_eq!(named(None, None), (NamedBy::Nobody, usual.clone()));
        assert_eq!(named(None, Some("")), (NamedBy::Nobody, usual));
    }

    #[test]
    fn errors_name_what_was_tried_and_what_to_do() {
        let attempt = |name: &str| Attempt { name: name.into(), refusal: "not there".to_owned() };
        let usual = LoadError::Unloadable {
            named_by: NamedBy::Nobody,
            tried: Vec::from([attempt("libnccl.so.2"), attempt("libnccl.so")]),
        };
        assert_eq!(
            usual.to_string(),
            "no NCCL could be loaded: `libnccl.so.2` was refused (not there); \
             `libnccl.so` was refused (not there); set NCCL_LIBRARY to the path of libnccl.so.2"
        );
        let missing = |symbol| {
            let since = since(symbol);
            LoadError::Missing { symbol, since, library: "old.so".into() }.to_string()
        };
        assert_eq!(
            missing("ncclAlltoAll"),
            "`old.so` has no function ncclAlltoAll, which NCCL 2.28 brought; name a newer NCCL \
             in NCCL_LIBRARY"
        );
        assert!(missing("ncclCommRevoke").contains("NCCL 2.28.7 brought"));
        assert!(missing("ncclSend").contains("NCCL 2.7 brought"));
    }
}
