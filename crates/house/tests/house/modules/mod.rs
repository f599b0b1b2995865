//! The graph of a crate's modules: which file needs which.
//!
//! The rule, for the files of a crate's `src` and the code outside of `#[cfg(test)]`:
//!
//! - File A needs file B where A names an item that B defines: in a `use`, or in a path of its code.
//! - A name is followed through re-exports to the file that defines the item. A `mod.rs` or `lib.rs` that only declares
//!   and re-exports its children is therefore needed by no file and is part of no cycle.
//! - A re-export alone (`pub use`, `pub(crate) use`) needs nothing: it gives a name. When the same file uses the name, it
//!   needs the file that defines it.
//! - Importing a module needs nothing by itself; a path that begins with its name does. `use module::*` needs the
//!   module's file when that defines items.
//! - Methods in an `impl` block of another file and items that macros define are not seen: a path that ends at such an
//!   item needs the file of the last module on the way.

use std::collections::{BTreeMap, BTreeSet};

use source::{Module, ModulePath};

mod source;
mod tokens;

/// File -> file -> the paths by which the first needs the second.
pub(crate) type Needs = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// What a path leads to.
enum Target {
    Module(ModulePath),
    /// An item of this file.
    Item(String),
    /// Something of another crate.
    Outside,
}

/// The modules of one crate.
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    /// Reads files: path below `src` and text.
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut modules = BTreeMap::new();
        let mut tests: Vec<ModulePath> = Vec::new();
        for (file, text) in files {
            let path = module_path(file);
            let (found, test_modules) = source::modules(file, path.clone(), text);
            tests.extend(test_modules.into_iter().map(|name| [path.as_slice(), &[name]].concat()));
            modules.extend(found.into_iter().map(|module| (module.path.clone(), module)));
        }
        modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        Self { modules }
    }

    /// Which file needs which, and by what.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs::new();
        for module in self.modules.values() {
            let mut need = |target: Option<Target>, path: &[String]| {
                if let Some(Target::Item(file)) = target
                    && file != module.file
                {
                    let places = needs.entry(module.file.clone()).or_default().entry(file).or_default();
                    places.insert(path.join("::"));
                }
            };
            for import in &module.imports {
                let is_used = match &import.name {
                    Some(name) => !import.is_reexport || module.words.contains(name),
                    None => !import.is_reexport,
                };
                let target = self.resolve(module, &import.path, &mut BTreeSet::new());
                let target = match (target, &import.name) {
                    (Some(Target::Module(path)), None) => self.defining(&path),
                    (target, _) => target,
                };
                if is_used {
                    need(target, &import.path);
                }
            }
            for path in &module.paths {
                need(self.resolve(module, path, &mut BTreeSet::new()), path);
            }
        }
        needs
    }

    /// The file of a module that defines items.
    fn defining(&self, path: &[String]) -> Option<Target> {
        let module = self.modules.get(path)?;
        (!module.definitions.is_empty()).then(|| Target::Item(module.file.clone()))
    }

    /// What a path leads to that stands in `module`. None for a name that is not of this crate.
    fn resolve(
        &self,
        module: &Module,
        path: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<Target> {
        let mut names = path.iter();
        let first = names.next()?;
        let is_last = path.len() == 1;
        let mut current = match first.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(module.path.clone()),
            "super" => Target::Module(parent(&module.path)),
            _ => self.look_up(&module.path, first, is_last, seen)?,
        };
        for (index, name) in names.enumerate() {
            let Target::Module(here) = &current else { break };
            let is_last = index + 2 == path.len();
            current = match name.as_str() {
                "super" => Target::Module(parent(here)),
                _ => self.look_up(here, name, is_last, seen).or_else(|| {
                    let module = self.modules.get(here)?;
                    Some(Target::Item(module.file.clone()))
                })?,
            };
        }
        Some(current)
    }

    /// The name in the module: an item, a child, or something imported.
    fn look_up(
        &self,
        here: &[String],
        name: &str,
        is_last: bool,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<Target> {
        if !seen.insert((here.to_vec(), name.to_owned())) {
            return None;
        }
        let module = self.modules.get(here)?;
        let is_defined = module.definitions.contains(name);
        let child = [here, &[name.to_owned()]].concat();
        let found = match self.modules.contains_key(&child) {
            true if !(is_defined && is_last) => Some(Target::Module(child)),
            _ if is_defined => Some(Target::Item(module.file.clone())),
            _ => self.imported(module, name, seen),
        };
        seen.remove(&(here.to_vec(), name.to_owned()));
        found
    }

    fn imported(
        &self,
        module: &Module,
        name: &str,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<Target> {
        let is_it = |import: &&source::Import| import.name.as_deref() == Some(name);
        if let Some(import) = module.imports.iter().find(is_it) {
            return Some(self.resolve(module, &import.path, seen).unwrap_or(Target::Outside));
        }
        module.imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
            match self.resolve(module, &import.path, seen)? {
                Target::Module(path) => self.look_up(&path, name, true, seen),
                _ => None,
            }
        })
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` are the root.
fn module_path(file: &str) -> ModulePath {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if ["lib", "main"].contains(&path) {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}

fn parent(path: &[String]) -> ModulePath {
    path.split_last().map_or_else(Vec::new, |(_, parent)| parent.to_vec())
}

/// The cycles: sets of files each of which needs, over others, every other one. The largest first.
pub(crate) fn cycles(needs: &Needs) -> Vec<BTreeSet<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|file| (file.as_str(), reachable(needs, file))).collect();
    let mut found: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    for (file, others) in &reach {
        let is_back = |other: &&str| reach.get(other).is_some_and(|back| back.contains(file));
        let cycle: BTreeSet<&str> = others.iter().copied().filter(is_back).collect();
        if cycle.len() > 1 {
            found.insert(cycle);
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    found
}

fn reachable<'a>(needs: &'a Needs, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in needs.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
