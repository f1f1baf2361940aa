//! A Cargo workspace on disk: its packages, what they depend on, and the text of their source files.
//!
//! `tests/house.rs` reads this repository with it, once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use walkdir::WalkDir;

use crate::error::Error;

/// All packages of a workspace.
#[derive(Debug)]
pub struct Workspace {
    /// In order of their folders.
    pub packages: Vec<Package>,
    /// The text of each Rust file of the packages' `src`, by its path below the workspace's root.
    pub sources: BTreeMap<PathBuf, String>,
}

/// One package.
#[derive(Debug)]
pub struct Package {
    /// As in `Cargo.toml`: `weir-sched`.
    pub name: String,
    /// Below the workspace's root: `crates/weir-sched`.
    pub folder: PathBuf,
    /// The packages of this workspace that `[dependencies]` names. Those for tests don't count.
    pub dependencies: BTreeSet<String>,
    /// The files at which its library and programs begin.
    pub roots: Vec<PathBuf>,
}

impl Package {
    /// Its name in code: `weir_sched`.
    pub fn code_name(&self) -> String {
        self.name.replace('-', "_")
    }
}

impl Workspace {
    /// Reads the workspace whose `Cargo.toml` stands in `root`.
    ///
    /// # Errors
    ///
    /// If a manifest or a source file can't be read.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let manifest = manifest(root, Path::new("Cargo.toml"))?;
        let members = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
        let members =
            members.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut folders = BTreeSet::new();
        for member in members {
            match member.strip_suffix("/*") {
                Some(parent) => folders.extend(packages_below(root, parent)?),
                None => _ = folders.insert(PathBuf::from(member)),
            }
        }
        let mut packages = Vec::new();
        let mut sources = BTreeMap::new();
        for folder in folders {
            packages.push(package(root, folder.clone())?);
            for file in text_files(root, &folder.join("src"), "rs") {
                let text = std::fs::read_to_string(root.join(&file))
                    .map_err(|e| Error::Unreadable(file.clone(), e))?;
                sources.insert(file, text);
            }
        }
        let names: BTreeSet<String> = packages.iter().map(|package| package.name.clone()).collect();
        for package in &mut packages {
            package.dependencies.retain(|name| names.contains(name));
        }
        Ok(Self { packages, sources })
    }
}

/// Files below `folder` with this extension, by their paths below `root`, in order. What is hidden or built is left out.
pub fn text_files(root: &Path, folder: &Path, extension: &str) -> Vec<PathBuf> {
    let visible = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || name == "target")
    };
    WalkDir::new(root.join(folder))
        .sort_by_file_name()
        .into_iter()
        .filter_entry(visible)
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|found| found == extension))
        .filter_map(|entry| entry.path().strip_prefix(root).ok().map(Path::to_owned))
        .collect()
}

fn packages_below(root: &Path, parent: &str) -> Result<Vec<PathBuf>, Error> {
    let entries =
        std::fs::read_dir(root.join(parent)).map_err(|e| Error::Unreadable(parent.into(), e))?;
    let folders =
        entries.filter_map(Result::ok).map(|entry| Path::new(parent).join(entry.file_name()));
    Ok(folders.filter(|folder| root.join(folder).join("Cargo.toml").exists()).collect())
}

fn package(root: &Path, folder: PathBuf) -> Result<Package, Error> {
    let file = folder.join("Cargo.toml");
    let manifest = manifest(root, &file)?;
    let name =
        manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    let name = name.ok_or_else(|| Error::Manifest(file, "no package.name".to_owned()))?.to_owned();
    let mut roots: Vec<PathBuf> = ["src/lib.rs", "src/main.rs"]
        .iter()
        .map(|file| folder.join(file))
        .filter(|file| root.join(file).exists())
        .collect();
    roots.extend(text_files(root, &folder.join("src/bin"), "rs"));
    Ok(Package { name, dependencies: dependencies(&manifest), roots, folder })
}

/// What `[dependencies]` names, also those of one platform.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let platforms =
        manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = platforms.filter_map(Value::as_table).chain([manifest]);
    let entries = tables.filter_map(|table| table.get("dependencies")?.as_table()).flatten();
    entries
        .map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned())
        .collect()
}

fn manifest(root: &Path, file: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(root.join(file))
        .map_err(|e| Error::Unreadable(file.to_owned(), e))?;
    text.parse()
        .map_err(|error: toml::de::Error| Error::Manifest(file.to_owned(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_platforms_count_and_those_of_tests_do_not() {
        let text = "[dependencies]\na = '1'\nb = { package = 'c' }\n\
                    [target.'cfg(unix)'.dependencies]\nd.workspace = true\n[dev-dependencies]\ne = '1'\n";
        let found = dependencies(&text.parse().unwrap());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "c", "d"]);
    }
}
