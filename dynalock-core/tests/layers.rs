//! The modules of this crate are in layers, which `src/lib.rs` lists from the lowest to the highest.
//! Each type has a name of its own.

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

struct Crate {
    layers: Vec<String>,
    /// The modules that each module names in `use` items and in paths.
    named: BTreeMap<Module, BTreeSet<Module>>,
    /// The modules that define the items which each module names. A module that re-exports an item
    /// does not define the item.
    imports: BTreeMap<Module, BTreeSet<Module>>,
    /// The structs, enums and traits, each with the modules that define a type of this name.
    types: BTreeMap<String, Vec<Module>>,
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
        let known: BTreeSet<&Module> = sources.keys().copied().collect();
        let all: Vec<_> = sources.iter().map(|(module, file)| Names::of(module, file, &known)).collect();
        let exports: BTreeMap<_, _> = all.iter().flat_map(|names| names.exports.clone()).collect();
        let modules_of = |resolve: &dyn Fn(ItemPath) -> ItemPath| {
            let modules = |names: &Names<'_>| names.paths.iter().cloned().map(|path| resolve(path).0).collect();
            all.iter().map(|names| (names.module.clone(), modules(names))).collect()
        };
        let named = modules_of(&|path| path);
        let imports = modules_of(&|path| definition(path, &exports));
        let mut types = BTreeMap::<_, Vec<Module>>::new();
        for (names, name) in all.iter().flat_map(|names| names.types.iter().map(move |name| (names, name))) {
            types.entry(name.clone()).or_default().push(names.module.clone());
        }
        Self { layers, named, imports, types }
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

/// A module, and the name of an item in the module, if the path names an item.
type ItemPath = (Module, Option<String>);

/// Follows the re-exports from the module that a path names to the module that defines the item.
fn definition(mut path: ItemPath, exports: &BTreeMap<ItemPath, ItemPath>) -> ItemPath {
    let mut seen = BTreeSet::new();
    while let Some(from) = exports.get(&path).filter(|_| seen.insert(path.clone())) {
        path = from.clone();
    }
    path
}

/// Collects the items that a file names, the items of other files that it re-exports, and the types
/// that it defines.
struct Names<'a> {
    module: &'a Module,
    known: &'a BTreeSet<&'a Module>,
    paths: BTreeSet<ItemPath>,
    exports: BTreeMap<ItemPath, ItemPath>,
    types: Vec<String>,
}

impl<'a> Names<'a> {
    fn of(module: &'a Module, file: &syn::File, known: &'a BTreeSet<&'a Module>) -> Self {
        let mut names = Self { module, known, paths: BTreeSet::new(), exports: BTreeMap::new(), types: Vec::new() };
        names.visit_file(file);
        names
    }

    /// Returns the module and the item of a path, if it is a path within the crate.
    fn resolve(&self, path: &[String]) -> Option<ItemPath> {
        let first = path.first()?;
        let mut target = match first.as_str() {
            "crate" => Module::new(),
            "self" | "super" => self.module.clone(),
            child if self.known.contains(&[&self.module[..], &[child.to_owned()]].concat()) => self.module.clone(),
            _ => return None,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => drop(target.pop()),
                name => {
                    target.push(name.to_owned());
                    if !self.known.contains(&target) {
                        target.pop();
                        return Some((target, Some(name.to_owned())));
                    }
                }
            }
        }
        Some((target, None))
    }

    fn note(&mut self, path: &[String]) {
        let resolved = self.resolve(path);
        self.paths.extend(resolved);
    }

    /// Records that this file imports the item of `path`, so that other files can name the item as
    /// `name` of this file.
    fn note_import(&mut self, path: &[String], name: &syn::Ident) {
        let Some(resolved) = self.resolve(path) else { return };
        let exported = (self.module.clone(), Some(name.to_string()));
        if resolved != exported {
            self.exports.insert(exported, resolved.clone());
        }
        self.paths.insert(resolved);
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.note_import(&with(&name.ident), &name.ident),
            UseTree::Rename(rename) => self.note_import(&with(&rename.ident), &rename.rename),
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

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.types.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.types.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.types.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.types.push(item.ident.to_string());
        visit::visit_item_type(self, item);
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
    let importers: Vec<_> = this.named.iter().filter(is_importer).map(|(from, _)| from.join("::")).collect();
    assert_eq!(importers, ["private"], "import from the module of the item instead");
}

#[test]
fn each_type_has_a_name_of_its_own() {
    let this = Crate::read();
    // `Sealed` is the usual name of a trait that only its own crate implements.
    let shared: Vec<_> = this.types.iter().filter(|(name, modules)| modules.len() > 1 && *name != "Sealed").collect();
    assert!(shared.is_empty(), "each of these names stands for several types: {shared:?}");
}
