//! Finding the shared library of this crate.

use std::fmt;
use std::path::{Path, PathBuf};

/// There is no stand-in where cargo would have put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where it was looked for.
    pub tried: Vec<PathBuf>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no stand-in for libnccl; add host-libnccl to the dev-dependencies")?;
        let mut between = "; tried ";
        for place in &self.tried {
            write!(f, "{between}{}", place.display())?;
            between = ", ";
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

/// The file that holds the stand-in, next to the running program or where cargo puts
/// what a program depends on. It is to be loaded as any NCCL is, after the stand-in for
/// the driver.
///
/// # Errors
///
/// [`Missing`], with the places that were tried.
pub fn library_file() -> Result<PathBuf, Missing> {
    let program = std::env::current_exe().unwrap_or_default();
    let tried = places(&program);
    let found = tried.iter().find(|place| place.is_file()).cloned();
    found.ok_or(Missing { tried })
}

fn places(program: &Path) -> Vec<PathBuf> {
    const NAME: &str =
        if cfg!(target_os = "macos") { "libhost_libnccl.dylib" } else { "libhost_libnccl.so" };
    let folder = program.parent().unwrap_or(Path::new(""));
    // A test is in `deps` itself, an example in `examples` beside it, a program above it.
    let folders = [
        Some(folder.to_path_buf()),
        Some(folder.join("deps")),
        folder.parent().map(|above| above.join("deps")),
    ];
    folders.into_iter().flatten().map(|folder| folder.join(NAME)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_said_with_every_place() {
        let tried = vec![PathBuf::from("a"), PathBuf::from("b")];
        assert_eq!(
            Missing { tried }.to_string(),
            "no stand-in for libnccl; add host-libnccl to the dev-dependencies; tried a, b"
        );
    }

    #[test]
    fn the_file_is_looked_for_beside_the_test_and_in_deps() {
        let places = places(Path::new("target/debug/deps/a-test"));
        assert_eq!(places[0].parent(), Some(Path::new("target/debug/deps")));
        assert!(places.iter().all(|place| !place.ends_with("libnccl.so.2")));
    }
}
