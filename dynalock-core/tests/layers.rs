//! The modules of this crate are in layers. `src/lib.rs` lists them from the lowest to the highest.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

/// The name of a module: its path inside the crate.
type Module = Vec<String>;

/// The modules that each module names in `use` items and in paths.
struct Crate {
    layers: Vec<String>,
    imports: BTreeMap<Module, BTreeSet<Module>>,
}

impl Crate {
    fn read() -> Self {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        collect(&src, &mut files);
        let parse = |file: &PathBuf| syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        let sources: BTreeMap<Module, syn::File> = files.iter().map(|file| (module(&src, file), parse(file))).collect();
        let layers = sources[&Module::new()].items.iter().filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
            _ => None,
        });
        let layers = layers.collect();
        let tests: Vec<Module> = sources.iter().flat_map(|(module, file)| test_modules(module, file)).collect();
        let sources = sources.iter().filter(|(module, _)| !tests.iter().any(|test| module.starts_with(test)));
        let sources: BTreeMap<_, _> = sources.collect();
        let imports = sources.iter().map(|(&module, file)| {
            let mut names = Names { module, known: sources.keys().copied().collect(), found: BTreeSet::new() };
            names.visit_file(file);
            (module.clone(), names.found)
        });
        Self { layers, imports: imports.collect() }
    }

    /// The imports between modules that do not contain each other.
    fn edges(&self) -> impl Iterator<Item = (&Module, &Module)> {
        let all = self.imports.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
        all.filter(|(from, to)| !from.starts_with(to) && !to.starts_with(from))
    }

    fn layer(&self, module: &Module) -> usize {
        self.layers.iter().position(|layer| *layer == module[0]).unwrap()
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module(src: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let mut parts: Module = path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// The modules in separate files that are compiled only for tests.
fn test_modules(parent: &Module, file: &syn::File) -> Vec<Module> {
    let tests = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if is_test(&module.attrs) => Some([&parent[..], &[module.ident.to_string()]].concat()),
        _ => None,
    });
    tests.collect()
}

/// Collects the modules that a file names.
struct Names<'a> {
    module: &'a Module,
    known: BTreeSet<&'a Module>,
    found: BTreeSet<Module>,
}

impl Names<'_> {
    /// Records the module of a path, if it is a path within the crate.
    fn note(&mut self, path: &[String]) {
        let Some(first) = path.first() else { return };
        let mut target = match first.as_str() {
            "crate" => Module::new(),
            "self" | "super" => self.module.clone(),
            _ => return,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => drop(target.pop()),
                name => {
                    target.push(name.to_owned());
                    if !self.known.contains(&target) {
                        target.pop();
                        break;
                    }
                }
            }
        }
        self.found.insert(target);
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.note(&with(&name.ident)),
            UseTree::Rename(rename) => self.note(&with(&rename.ident)),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_tree(&[], &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // A module in a separate file is visited there. The imports of tests are no part of the
        // layers.
        if item.content.is_some() && !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(crate)` imports nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&parts);
        visit::visit_path(self, path);
    }
}

#[test]
fn modules_import_only_from_lower_layers() {
    let this = Crate::read();
    let upward: Vec<_> =
        this.edges().filter(|(from, to)| from[0] != to[0] && this.layer(to) > this.layer(from)).collect();
    assert!(upward.is_empty(), "these modules import from a layer that `lib.rs` lists below them: {upward:?}");
}

#[test]
fn no_two_files_import_each_other() {
    let this = Crate::read();
    let mut left: BTreeSet<_> = this.edges().collect();
    loop {
        // In a circle, each module imports and is imported.
        let importers: BTreeSet<_> = left.iter().map(|(from, _)| *from).collect();
        let imported: BTreeSet<_> = left.iter().map(|(_, to)| *to).collect();
        let before = left.len();
        left.retain(|(from, to)| importers.contains(to) && imported.contains(from));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "these imports make a circle: {left:?}");
}

#[test]
fn no_file_imports_from_the_root() {
    let this = Crate::read();
    let is_importer = |(from, to): &(&Module, &BTreeSet<Module>)| !from.is_empty() && to.contains(&Module::new());
    let importers: Vec<_> = this.imports.iter().filter(is_importer).map(|(from, _)| from.join("::")).collect();
    assert_eq!(importers, ["private"], "import from the module of the item instead");
}
