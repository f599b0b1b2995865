//! What one module declares, imports and names.

use std::collections::BTreeSet;

use super::tokens::{is_name, tokens, without_tests};

/// Names of modules from the root of the crate.
pub(crate) type ModulePath = Vec<String>;

/// One `use` after its braces were resolved.
#[derive(Debug)]
pub(crate) struct Import {
    /// What is imported.
    pub(crate) path: Vec<String>,
    /// The name that it has here; none for `*`.
    pub(crate) name: Option<String>,
    /// `pub use`, `pub(crate) use`: other modules may reach the name through this one.
    pub(crate) is_reexport: bool,
}

/// A module: a file, or a block `mod name { .. }` in it.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The file that has its text.
    pub(crate) file: String,
    /// Its place in the crate.
    pub(crate) path: ModulePath,
    /// Items that it defines.
    pub(crate) definitions: BTreeSet<String>,
    /// Everything that it imports, also inside of functions.
    pub(crate) imports: Vec<Import>,
    /// Paths of two or more names in its code.
    pub(crate) paths: BTreeSet<Vec<String>>,
    /// All words of its code outside of `use`.
    pub(crate) words: BTreeSet<String>,
}

/// The modules of a file, and the names of child modules that are compiled for tests alone.
pub(crate) fn modules(file: &str, path: ModulePath, text: &str) -> (Vec<Module>, Vec<String>) {
    let all = tokens(text);
    let (code, test_modules) = without_tests(&all);
    let root = Module { file: file.to_owned(), path, ..Module::default() };
    let mut reader = Reader { code: &code, at: 0, open: vec![(root, 0)], depth: 0, closed: Vec::new() };
    while reader.at < code.len() {
        reader.step();
    }
    let mut found = reader.closed;
    found.extend(reader.open.into_iter().map(|(module, _)| module));
    (found, test_modules.into_iter().map(str::to_owned).collect())
}

struct Reader<'a> {
    code: &'a [&'a str],
    at: usize,
    /// The modules around the present place, each with the depth of its own items.
    open: Vec<(Module, usize)>,
    /// Open brackets.
    depth: usize,
    closed: Vec<Module>,
}

impl Reader<'_> {
    fn token(&self, ahead: usize) -> &str {
        self.code.get(self.at + ahead).copied().unwrap_or("")
    }

    fn module(&mut self) -> (&mut Module, usize) {
        let (module, depth) = self.open.last_mut().expect("the file's own module is never closed");
        (module, *depth)
    }

    fn step(&mut self) {
        let token = self.token(0).to_owned();
        let next = self.token(1).to_owned();
        match token.as_str() {
            "{" | "(" | "[" => self.depth += 1,
            "}" | ")" | "]" => self.close(),
            "use" if next != "<" => return self.import(),
            "mod" if self.token(2) == "{" && is_name(&next) => {
                let mut path = self.module().0.path.clone();
                path.push(next);
                let file = self.module().0.file.clone();
                self.depth += 1;
                self.open.push((Module { file, path, ..Module::default() }, self.depth));
                self.at += 3;
                return;
            }
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" => self.define(1),
            "macro_rules" => self.define(2),
            _ if is_name(&token) && next == "::" => return self.path(),
            _ => {}
        }
        if is_name(&token) {
            self.module().0.words.insert(token);
        }
        self.at += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.open.len() > 1 && self.depth < self.module().1 {
            self.closed.extend(self.open.pop().map(|(module, _)| module));
        }
    }

    /// An item whose name is `ahead` tokens further, where items of the module stand.
    fn define(&mut self, ahead: usize) {
        let name = self.token(ahead).to_owned();
        let depth = self.depth;
        let (module, own) = self.module();
        if depth == own && is_name(&name) {
            module.definitions.insert(name);
        }
    }

    /// `a::b::c` in code.
    fn path(&mut self) {
        let is_continued = self.at > 0 && self.code[self.at - 1] == "::";
        let mut names = vec![self.token(0).to_owned()];
        while self.token(1) == "::" && is_name(self.token(2)) {
            self.at += 2;
            names.push(self.token(0).to_owned());
        }
        self.at += 1;
        let module = self.module().0;
        module.words.insert(names[0].clone());
        if !is_continued && names.len() > 1 {
            module.paths.insert(names);
        }
    }

    /// `use ..;`
    fn import(&mut self) {
        let before = &self.code[..self.at];
        let is_reexport = match before {
            [.., "pub"] => true,
            [.., ")"] => before.iter().rev().take(6).skip_while(|t| **t != "(").nth(1) == Some(&"pub"),
            _ => false,
        };
        self.at += 1;
        let mut found = Vec::new();
        self.tree(&[], &mut found);
        self.at += usize::from(self.token(0) == ";");
        let imports =
            found.into_iter().map(|(path, name)| Import { path, name, is_reexport }).collect::<Vec<_>>();
        self.module().0.imports.extend(imports);
    }

    /// One branch of a `use`, up to the `,`, `}` or `;` after it.
    fn tree(&mut self, before: &[String], found: &mut Vec<(Vec<String>, Option<String>)>) {
        let mut path = before.to_vec();
        loop {
            let token = self.token(0).to_owned();
            match token.as_str() {
                "::" => self.at += 1,
                "*" => {
                    self.at += 1;
                    return found.push((path, None));
                }
                "{" => {
                    self.at += 1;
                    while !["}", ""].contains(&self.token(0)) {
                        self.tree(&path, found);
                        self.at += usize::from(self.token(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    let name = self.token(1).to_owned();
                    self.at += 2;
                    return found.push((path, Some(name)));
                }
                "self" if !path.is_empty() => self.at += 1,
                _ if is_name(&token) => {
                    path.push(token);
                    self.at += 1;
                }
                "," | "}" | ";" | "" => {
                    let name = path.last().cloned();
                    return found.push((path, name));
                }
                _ => self.at += 1,
            }
        }
    }
}
