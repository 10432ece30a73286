//! Finding an NCCL at run time.

use core::error::Error;
use core::fmt;
use std::borrow::ToOwned;
use std::boxed::Box;
use std::env;
use std::format;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use crate::dynamic::Nccl;

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
}

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
            // SAFETY: so are the types of what has the names of NCCL's functions.
            let found = library.and_then(|library| unsafe { Nccl::from_library(library) });
            match found {
                Ok(functions) => return Self::keep(functions, name),
                Err(error) => tried.push(Attempt { name, refusal: words(&error) }),
            }
        }
        Err(LoadError::Unloadable { named_by, tried })
    }

    /// Keeps the library for good if it is an NCCL. If not, it is unloaded again:
    /// nothing was taken out of it yet.
    fn keep(functions: Nccl, name: PathBuf) -> Result<Self, LoadError> {
        if functions.ncclGetVersion.is_err() {
            return Err(LoadError::Missing { symbol: "ncclGetVersion", library: name });
        }
        Ok(Self { loaded: Box::leak(Box::new(Loaded { functions, name })) })
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
        let missing = |_| LoadError::Missing { symbol, library: self.name().to_owned() };
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
            Self::Missing { symbol, library } => write!(
                f,
                "`{}` has no function {symbol}; name a newer NCCL in NCCL_LIBRARY",
                library.display()
            ),
        }
    }
}

impl Error for LoadError {}

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
        let missing = LoadError::Missing { symbol: "ncclAlltoAll", library: "old.so".into() };
        assert_eq!(
            missing.to_string(),
            "`old.so` has no function ncclAlltoAll; name a newer NCCL in NCCL_LIBRARY"
        );
    }
}
