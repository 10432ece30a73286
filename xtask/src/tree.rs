//! The files of the repository, read once.

use std::fs;
use std::path::{Path, PathBuf};

use crate::outcome::Failure;

/// A file whose contents are text.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Its path from the root, with `/` between the parts.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

/// Every file below a root, without what is built, fetched or version control's own.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    /// The text files, in order of path.
    pub(crate) texts: Vec<TextFile>,
}

/// Folders that hold nothing of ours, wherever they are.
const NOT_OURS: [&str; 3] = [".git", "target", "artifacts"];

impl Tree {
    /// Reads everything below `root`.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self { root: root.to_owned(), texts: Vec::new() };
        tree.read_folder("")?;
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree that only the tests of the rules know.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let file =
            |(path, text): (&str, &str)| TextFile { path: path.to_owned(), text: text.to_owned() };
        Self { root: PathBuf::new(), texts: files.map(file).into() }
    }

    fn read_folder(&mut self, folder: &str) -> Result<(), Failure> {
        let here = self.root.join(folder);
        let doing = || Failure::io(format!("reading {}", here.display()));
        for entry in fs::read_dir(&here).map_err(doing())? {
            let entry = entry.map_err(doing())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().map_err(doing())?;
            if kind.is_dir() {
                if !NOT_OURS.contains(&name.as_str()) {
                    self.read_folder(&path)?;
                }
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).map_err(doing())?;
                if let Ok(text) = String::from_utf8(bytes) {
                    self.texts.push(TextFile { path, text });
                }
            }
        }
        Ok(())
    }

    /// The text files whose name ends so.
    pub(crate) fn ending(&self, end: &str) -> impl Iterator<Item = &TextFile> {
        self.texts.iter().filter(move |file| file.path.ends_with(end))
    }

    /// The text file at that path.
    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.texts.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or folder at that path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.file(path).is_some() || (self.root != Path::new("") && self.root.join(path).exists())
    }

    /// The folder that everything is in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}
