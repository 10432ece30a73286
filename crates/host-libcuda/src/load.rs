//! Finding the shared library of this crate, and putting it in the driver's place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Why there is no stand-in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// It is in none of these places; cargo builds it next to the tests of a package
    /// that has this crate among its dev-dependencies.
    Missing {
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// It is there, and the loader refuses it.
    Refused {
        /// The file.
        file: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// Another `libcuda.so` has been loaded before, and programs would go on with that.
    AnotherDriver {
        /// The stand-in, which came too late.
        file: PathBuf,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { tried } => {
                f.write_str("no stand-in for libcuda; add host-libcuda to the dev-dependencies")?;
                let mut between = "; tried ";
                for place in tried {
                    write!(f, "{between}{}", place.display())?;
                    between = ", ";
                }
                Ok(())
            }
            Self::Refused { file, reason } => {
                write!(f, "{} cannot be loaded: {reason}", file.display())
            }
            Self::AnotherDriver { file } => write!(
                f,
                "libcuda.so was loaded before {}; load the stand-in first",
                file.display()
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// The file that holds the stand-in, next to the running program or where cargo puts
/// what a program depends on.
///
/// Its name is not that of the driver, so that no search path makes anybody use it
/// who did not ask for it.
///
/// # Errors
///
/// [`LoadError::Missing`], with the places that were tried.
pub fn library_file() -> Result<PathBuf, LoadError> {
    let program = std::env::current_exe().unwrap_or_default();
    let tried = places(&program);
    let found = tried.iter().find(|place| place.is_file()).cloned();
    found.ok_or(LoadError::Missing { tried })
}

fn places(program: &Path) -> Vec<PathBuf> {
    const NAME: &str =
        if cfg!(target_os = "macos") { "libhost_libcuda.dylib" } else { "libhost_libcuda.so" };
    let folder = program.parent().unwrap_or(Path::new(""));
    // A test is in `deps` itself, an example in `examples` beside it, a program above it.
    let deps = [Some(folder), Some(&folder.join("deps")), folder.parent()]
        .map(|folder| folder.map(Path::to_path_buf));
    let [beside, below, above] = deps;
    let above = above.map(|folder| folder.join("deps"));
    [beside, below, above].into_iter().flatten().map(|folder| folder.join(NAME)).collect()
}

/// Loads the stand-in for the rest of the process: from here on `libcuda.so` *is* it,
/// for whoever loads that by name and for whoever looks symbols up globally.
///
/// Call it before anything that uses the driver. Later calls change nothing and give
/// the same answer.
///
/// # Errors
///
/// [`LoadError`]: the file is missing, is refused, or comes too late.
pub fn load() -> Result<PathBuf, LoadError> {
    static LOADED: OnceLock<Result<PathBuf, LoadError>> = OnceLock::new();
    LOADED.get_or_init(|| library_file().and_then(open)).clone()
}

#[cfg(unix)]
fn open(file: PathBuf) -> Result<PathBuf, LoadError> {
    use std::error::Error as _;

    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, RTLD_NOW};

    // SAFETY: our own library, whose initialisers are those of the standard library.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) };
    let library = match library {
        Ok(library) => library,
        Err(error) => {
            // The loader's own words are the cause of libloading's.
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            return Err(LoadError::Refused { file, reason });
        }
    };
    let init = |library: &Library| {
        // SAFETY: only the address is taken.
        unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"cuInit\0") }
            .map(|symbol| *symbol as usize)
            .ok()
    };
    // What a program will get under the driver's name. Only what is loaded is looked
    // at if the stand-in is, as it should be.
    // SAFETY: as above, or the initialisers of a driver that is loaded already.
    let by_name = unsafe { Library::open(Some("libcuda.so"), RTLD_LAZY) };
    let is_ours = by_name.as_ref().is_ok_and(|by_name| init(by_name) == init(&library));
    // For good: its threads and whoever took an address live as long as the process.
    std::mem::forget(by_name);
    std::mem::forget(library);
    if is_ours { Ok(file) } else { Err(LoadError::AnotherDriver { file }) }
}

#[cfg(not(unix))]
fn open(file: PathBuf) -> Result<PathBuf, LoadError> {
    Err(LoadError::Refused { file, reason: "only tried on Unix".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_looked_for_in_the_deps_of_cargo_and_is_not_named_like_the_driver() {
        let tried = |program: &str| {
            let places = places(Path::new(program));
            places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            tried("target/debug/deps/a-test")[0],
            format!("target/debug/deps/{}", tried("x")[0])
        );
        assert!(tried("target/debug/rankwise")[1].starts_with("target/debug/deps/"));
        assert!(tried("target/debug/examples/one")[2].starts_with("target/debug/deps/"));
        for place in tried("target/debug/deps/a-test") {
            let name = Path::new(&place).file_name().and_then(|name| name.to_str());
            assert!(name.is_some_and(|name| name.starts_with("libhost_")), "{place}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_library_is_refused_in_the_loaders_words() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let refused = open(file.clone()).unwrap_err();
        let LoadError::Refused { file: named, reason } = refused else { panic!("{refused:?}") };
        assert_eq!(named, file);
        assert!(reason.contains("Cargo.toml"), "{reason}");
    }

    #[test]
    fn a_missing_file_is_said_with_every_place() {
        let tried = vec![PathBuf::from("a"), PathBuf::from("b")];
        assert_eq!(
            LoadError::Missing { tried }.to_string(),
            "no stand-in for libcuda; add host-libcuda to the dev-dependencies; tried a, b"
        );
    }
}
