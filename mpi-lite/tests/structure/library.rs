//! The crates, read: which types they define, and which type a name means.
//!
//! What macros write is not looked at, nor are tests.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, Type};

use super::source::{Name, absolute, files_below, flatten, is_apart, module_of};

/// A crate by its name, with the way to it from this one.
pub(crate) const CRATES: [(&str, &str); 5] = [
    ("rmpp-core", "../rmpp-core"),
    ("mpi-lite", "."),
    ("mpi-lite/boot", "boot"),
    ("mpi-capi", "../mpi-capi"),
    ("launcher", "../launcher"),
];

/// The files of a crate, its types, and what its modules import.
pub(crate) struct Crate {
    pub(crate) name: String,
    files: Vec<(String, syn::File)>,
    /// Each type with the file that defines it.
    pub(crate) types: BTreeMap<Name, String>,
    /// Those of them that are other names of types.
    pub(crate) aliases: BTreeSet<Name>,
    /// What a module calls by a name of its own.
    imported: BTreeMap<Name, Name>,
    /// The modules from which a module imports all.
    globs: BTreeMap<Name, Vec<Name>>,
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// The item of a module, its module and its file.
type Look<'a> = dyn FnMut(&Item, &[String], &str) + 'a;

fn walk(items: &[Item], module: &[String], file: &str, look: &mut Look<'_>) {
    for item in items.iter().filter(|it| !is_apart(attributes_of(it))) {
        look(item, module, file);
        if let Item::Mod(inner) = item
            && let Some((_, items)) = &inner.content
        {
            let module = [module, &[inner.ident.to_string()]].concat();
            walk(items, &module, file, look);
        }
    }
}

/// The module that a file is; none for the crate's own.
fn module_of_file(file: &str) -> Name {
    match file {
        "lib.rs" | "main.rs" => Name::new(),
        _ => module_of(file),
    }
}

/// The modules in files of their own that are there for tests alone.
fn modules_apart(files: &[(String, syn::File)]) -> BTreeSet<Name> {
    let mut apart = BTreeSet::new();
    for (file, parsed) in files {
        for item in &parsed.items {
            if let Item::Mod(it) = item
                && is_apart(&it.attrs)
            {
                apart.insert([module_of_file(file), vec![it.ident.to_string()]].concat());
            }
        }
    }
    apart
}

impl Crate {
    /// A crate by its name in [`CRATES`].
    pub(crate) fn read(name: &str) -> Self {
        let known = CRATES.iter().find(|it| it.0 == name);
        let (_, root) = known.unwrap_or_else(|| panic!("{name} is not in CRATES"));
        let from_src = |(file, text): (String, String)| (file["src/".len()..].to_owned(), text);
        let files = files_below(root, &["src"]).into_iter().map(from_src);
        Self::new(name, &files.collect::<Vec<_>>())
    }

    pub(crate) fn new(name: &str, files: &[(String, String)]) -> Self {
        let parse = |(file, text): &(String, String)| {
            let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"));
            (file.clone(), parsed)
        };
        let mut files: Vec<_> = files.iter().map(parse).collect();
        let apart = modules_apart(&files);
        files.retain(|(file, _)| {
            let module = module_of_file(file);
            (1..=module.len()).all(|length| !apart.contains(&module[..length]))
        });
        let mut new = Self {
            name: name.to_owned(),
            files: Vec::new(),
            types: BTreeMap::new(),
            aliases: BTreeSet::new(),
            imported: BTreeMap::new(),
            globs: BTreeMap::new(),
        };
        for (file, parsed) in &files {
            walk(
                &parsed.items,
                &module_of_file(file),
                file,
                &mut |item, module, file| new.note(item, module, file),
            );
        }
        new.files = files;
        new
    }

    /// A crate of one's own invention.
    pub(crate) fn made_up(files: &[(&str, &str)]) -> Self {
        let owned = |(file, text): &(&str, &str)| (file.to_string(), text.to_string());
        Self::new("made-up", &files.iter().map(owned).collect::<Vec<_>>())
    }

    fn note(&mut self, item: &Item, module: &[String], file: &str) {
        let ident = match item {
            Item::Enum(it) => &it.ident,
            Item::Struct(it) => &it.ident,
            Item::Trait(it) => &it.ident,
            Item::Type(it) => &it.ident,
            Item::Use(it) => {
                let mut found = Vec::new();
                flatten(&it.tree, &[], &mut found);
                for (path, called) in found {
                    let name = absolute(module, &path);
                    let name = name.unwrap_or_else(|| [module, &path].concat());
                    if called == "*" {
                        self.globs.entry(module.to_vec()).or_default().push(name);
                    } else {
                        self.imported.insert([module, &[called]].concat(), name);
                    }
                }
                return;
            }
            _ => return,
        };
        let name = [module, &[ident.to_string()]].concat();
        if matches!(item, Item::Type(_)) {
            self.aliases.insert(name.clone());
        }
        self.types.insert(name, file.to_owned());
    }

    /// Shows each item of each module, but for tests.
    pub(crate) fn each_item(&self, look: &mut Look<'_>) {
        for (file, parsed) in &self.files {
            walk(&parsed.items, &module_of_file(file), file, look);
        }
    }

    /// The type that a path in a module means; none if this crate does not define it.
    pub(crate) fn type_at(&self, module: &[String], path: &[String]) -> Option<Name> {
        let name = absolute(module, path);
        self.origin(&name.unwrap_or_else(|| [module, path].concat()), 0)
    }

    /// Whether a module imports the first word of a path.
    pub(crate) fn imports(&self, module: &[String], path: &[String]) -> bool {
        self.imported.contains_key(&[module, &path[..1]].concat())
    }

    fn origin(&self, name: &[String], depth: usize) -> Option<Name> {
        if self.types.contains_key(name) {
            return Some(name.to_vec());
        }
        if depth > 9 {
            return None;
        }
        for length in (1..=name.len()).rev() {
            let (part, rest) = name.split_at(length);
            if let Some(origin) = self.imported.get(part).filter(|it| *it != part) {
                return self.origin(&[origin, rest].concat(), depth + 1);
            }
        }
        let (last, module) = name.split_last()?;
        let globs = self.globs.get(module)?.iter();
        globs
            .filter(|it| *it != module)
            .find_map(|it| self.origin(&[it, std::slice::from_ref(last)].concat(), depth + 1))
    }

    /// How a table calls a type: by its last name, with its module if the crate has more of them.
    pub(crate) fn called(&self, name: &[String]) -> String {
        let last = name.last().expect("a type has a name");
        let same = self.types.keys().filter(|it| it.last() == Some(last));
        let shown = if same.count() > 1 {
            name.join("::")
        } else {
            last.clone()
        };
        format!("{} {shown}", self.name)
    }
}

/// The path of a type, without references.
pub(crate) fn path_of(it: &Type) -> Option<Name> {
    match it {
        Type::Path(path) => {
            let segments = path.path.segments.iter();
            Some(segments.map(|it| it.ident.to_string()).collect())
        }
        Type::Reference(it) => path_of(&it.elem),
        Type::Paren(it) => path_of(&it.elem),
        Type::Group(it) => path_of(&it.elem),
        _ => None,
    }
}

#[test]
fn a_name_means_the_type_that_its_module_imports() {
    let files = Crate::made_up(&[
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod rig;"),
        ("rig.rs", "struct Rig;"),
        ("a/mod.rs", "mod c; pub use c::Inner as Outer; struct Twin;"),
        (
            "a/c.rs",
            "pub struct Inner; #[cfg(test)] mod tests { struct T; }",
        ),
        (
            "b.rs",
            "use crate::a::*; use std::Twin; mod d { struct Twin; }",
        ),
    ]);
    let name = |text: &str| -> Name { text.split("::").map(str::to_owned).collect() };
    let types: Vec<_> = files.types.keys().map(|it| it.join("::")).collect();
    assert_eq!(types, ["a::Twin", "a::c::Inner", "b::d::Twin"]);
    for (module, path, means) in [
        ("b", "Outer", Some("a::c::Inner")),
        ("b", "crate::a::Outer", Some("a::c::Inner")),
        ("b", "Twin", None),
        ("b::d", "Twin", Some("b::d::Twin")),
        ("a::c", "super::Twin", Some("a::Twin")),
    ] {
        let found = files.type_at(&name(module), &name(path));
        assert_eq!(found, means.map(name), "{path} in {module}");
    }
    assert_eq!(files.called(&name("a::c::Inner")), "made-up Inner");
    assert_eq!(files.called(&name("a::Twin")), "made-up a::Twin");
}
