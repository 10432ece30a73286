//! The workspace as `cargo metadata` describes it.

use std::path::PathBuf;

use serde_json::Value;

use crate::cargo;
use crate::outcome::Failure;

/// Every member, and where things are.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
    /// The members, in cargo's order.
    pub(crate) packages: Vec<Package>,
    /// What builds are for.
    pub(crate) builds: Builds,
}

/// Whether what is compiled will be compiled again after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builds {
    /// It will; what makes that quick is worth its time.
    Repeated,
    /// It will not.
    Once,
}

/// A member of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Whether it may go to a registry.
    pub(crate) published: bool,
    /// The features it declares.
    pub(crate) features: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// An arrow as declared in a manifest, whatever the target or the features.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether it lives in this repository.
    pub(crate) ours: bool,
}

/// Which table of the manifest declares a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `[dependencies]`.
    Normal,
    /// `[build-dependencies]`.
    Build,
    /// `[dev-dependencies]`.
    Dev,
}

impl Workspace {
    /// Asks cargo. Resolves nothing and needs no network.
    pub(crate) fn read() -> Result<Self, Failure> {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let output = cargo::captured(cargo::command().args([
            "metadata",
            "--no-deps",
            "--format-version=1",
            "--manifest-path",
            manifest,
        ]))?;
        if !output.success {
            return Err(Failure::Said(output.stderr));
        }
        serde_json::from_str(&output.stdout)
            .ok()
            .and_then(|metadata: Value| Self::parse(&metadata))
            .ok_or_else(|| Failure::Said("`cargo metadata` printed something new".to_owned()))
    }

    fn parse(metadata: &Value) -> Option<Self> {
        let path = |key: &str| Some(PathBuf::from(metadata.get(key)?.as_str()?));
        let packages = metadata.get("packages")?.as_array()?;
        Some(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            builds: Builds::Repeated,
            packages: packages.iter().map(Package::parse).collect::<Option<_>>()?,
        })
    }

    /// The members in `crates/` that a registry gets.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.published)
    }
}

impl Package {
    fn parse(package: &Value) -> Option<Self> {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        let dependencies = package.get("dependencies")?.as_array()?;
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            published: package.get("publish")?.as_array().is_none_or(|to| !to.is_empty()),
            features: package.get("features")?.as_object()?.keys().cloned().collect(),
            dependencies: dependencies.iter().map(Dependency::parse).collect::<Option<_>>()?,
        })
    }
}

impl Dependency {
    fn parse(dependency: &Value) -> Option<Self> {
        Some(Self {
            name: dependency.get("name")?.as_str()?.to_owned(),
            kind: match dependency.get("kind")?.as_str() {
                None => Kind::Normal,
                Some("build") => Kind::Build,
                Some("dev") => Kind::Dev,
                Some(_) => return None,
            },
            ours: dependency.get("path").is_some_and(Value::is_string),
        })
    }
}
