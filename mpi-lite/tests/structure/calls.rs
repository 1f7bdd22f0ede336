//! Few files of the engine call each other in a circle, and few of the core.
//!
//! A file leads to another if it calls a method that the other defines, of a type or of a trait's
//! impl. `Type::name` means the type. The type of what stands before `.name(` is known if it is
//! `self`, a parameter, a variable or field whose type is written down, or the result of a call of
//! the same kind, or if it is called like its type (`lane`). Else the call means the only type of
//! the room that has a method of this name, and nothing if there are several. Calls in the
//! arguments of macros are looked at; what macros write is not. `bounds.rs` says how to see all
//! calls, the circles and what makes them.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprMethodCall, ExprPath, Fields, FnArg, GenericArgument, ImplItem, Item, Local,
    Macro, Member, Pat, PatIdent, PathArguments, ReturnType, Signature, Token, TraitItem, Type,
    UnOp,
};

use super::bounds::{Bounds, Counts, print};
use super::groups::{self, Edges};
use super::library::{Crate, path_of};
use super::source::{Name, is_apart};

/// A room, its crate and folders, and the most files that shall call each other in a circle.
type Room = (&'static str, &'static str, &'static [&'static str], usize);

const ROOMS: [Room; 2] = [
    ("mpi-lite/src/engine", "mpi-lite", &["engine/"], 8),
    ("rmpp-core/src", "rmpp-core", &[""], 6),
];

/// Above the goal today. These bounds only go down.
const ABOVE: &[(&str, usize)] = &[("rmpp-core/src", 11)];

/// Types of the standard library that need no import.
const STANDARD: [&str; 18] = [
    "bool", "char", "f32", "f64", "i32", "i64", "isize", "str", "u8", "u16", "u32", "u64", "u128",
    "usize", "Option", "Result", "String", "Vec",
];

/// Methods of the standard library's options, collections and iterators: where nothing is known of
/// what stands before them, they are taken for those.
const COMMON: [&str; 42] = [
    "all",
    "and",
    "any",
    "at",
    "clear",
    "clone",
    "contains",
    "count",
    "drain",
    "end",
    "extend",
    "find",
    "first",
    "get",
    "get_mut",
    "insert",
    "is_empty",
    "iter",
    "last",
    "len",
    "load",
    "lock",
    "map",
    "max",
    "min",
    "next",
    "or",
    "pop",
    "position",
    "push",
    "remove",
    "replace",
    "set",
    "split",
    "start",
    "store",
    "swap",
    "take",
    "then",
    "transpose",
    "write",
    "zip",
];

/// What is known of a type.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    Here(Name),
    /// Of another crate, or none that has a name.
    Elsewhere,
}

/// Where a method of a type stands, and what it returns.
#[derive(Default)]
struct Method {
    files: BTreeSet<String>,
    returns: Option<Known>,
}

/// The methods and fields of a crate.
#[derive(Default)]
struct Members {
    methods: BTreeMap<(Name, String), Method>,
    fields: BTreeMap<(Name, String), Known>,
    /// The types that fields of one name have.
    by_field: BTreeMap<String, Vec<Known>>,
}

/// The types of a room that have a method of some name.
type ByName = BTreeMap<String, BTreeSet<Name>>;

fn known(files: &Crate, module: &[String], own: Option<&Name>, it: &Type) -> Option<Known> {
    let path = match it {
        Type::Reference(it) => return known(files, module, own, &it.elem),
        Type::Paren(it) => return known(files, module, own, &it.elem),
        Type::Path(it) => &it.path,
        Type::Slice(_) | Type::Array(_) | Type::Tuple(_) | Type::Ptr(_) => {
            return Some(Known::Elsewhere);
        }
        _ => return None,
    };
    let last = path.segments.last()?;
    if let PathArguments::AngleBracketed(arguments) = &last.arguments
        && ["Box", "Rc", "Arc"].iter().any(|it| last.ident == it)
        && let Some(GenericArgument::Type(inner)) = arguments.args.first()
    {
        return known(files, module, own, inner);
    }
    if path.is_ident("Self") {
        return own.cloned().map(Known::Here);
    }
    let path = path_of(it)?;
    let here = files.type_at(module, &path);
    if here.as_ref().is_some_and(|it| files.aliases.contains(it)) {
        return None;
    }
    let here = here.map(Known::Here);
    let is_elsewhere = STANDARD.contains(&path[0].as_str()) || files.imports(module, &path);
    here.or(is_elsewhere.then_some(Known::Elsewhere))
}

impl Members {
    fn new(files: &Crate) -> Self {
        let mut all = Self::default();
        files.each_item(&mut |item, module, file| match item {
            Item::Struct(it) => {
                let name = [module, &[it.ident.to_string()]].concat();
                let Fields::Named(fields) = &it.fields else {
                    return;
                };
                for field in &fields.named {
                    if let Some(ident) = &field.ident
                        && let Some(known) = known(files, module, Some(&name), &field.ty)
                    {
                        let ident = ident.to_string();
                        let by_field = all.by_field.entry(ident.clone()).or_default();
                        if !by_field.contains(&known) {
                            by_field.push(known.clone());
                        }
                        all.fields.insert((name.clone(), ident), known);
                    }
                }
            }
            _ => {
                let Some((own, functions)) = functions_of(files, module, item) else {
                    return;
                };
                let Some(own) = own else { return };
                for (signature, _) in functions {
                    let key = (own.clone(), signature.ident.to_string());
                    let method = all.methods.entry(key).or_default();
                    method.files.insert(file.to_owned());
                    if let ReturnType::Type(_, it) = &signature.output {
                        method.returns = known(files, module, Some(&own), it);
                    }
                }
            }
        });
        all
    }

    /// What the room has by each name.
    fn by_name(&self, folders: &[&str]) -> ByName {
        let mut by_name = ByName::new();
        for ((own, name), method) in &self.methods {
            if method.files.iter().any(|it| is_in(it, folders)) {
                by_name.entry(name.clone()).or_default().insert(own.clone());
            }
        }
        by_name
    }
}

fn is_in(file: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| file.starts_with(folder))
}

/// The functions of an item that have a body, and the type or trait that they belong to.
type Functions<'a> = (Option<Name>, Vec<(&'a Signature, &'a Block)>);

fn functions_of<'a>(files: &Crate, module: &[String], item: &'a Item) -> Option<Functions<'a>> {
    match item {
        Item::Fn(it) => Some((None, vec![(&it.sig, &it.block)])),
        Item::Impl(it) => {
            let functions = it.items.iter().filter_map(|part| match part {
                ImplItem::Fn(it) if !is_apart(&it.attrs) => Some((&it.sig, &it.block)),
                _ => None,
            });
            let own = path_of(&it.self_ty).and_then(|path| files.type_at(module, &path));
            Some((own, functions.collect()))
        }
        Item::Trait(it) => {
            let functions = it.items.iter().filter_map(|part| match part {
                TraitItem::Fn(it) => it.default.as_ref().map(|block| (&it.sig, block)),
                _ => None,
            });
            let own = [module, &[it.ident.to_string()]].concat();
            Some((Some(own), functions.collect()))
        }
        _ => None,
    }
}

/// The calls of a function.
struct Calls<'a> {
    files: &'a Crate,
    members: &'a Members,
    by_name: &'a ByName,
    module: &'a [String],
    own: Option<Name>,
    variables: BTreeMap<String, Known>,
    /// The methods that are called.
    found: BTreeSet<(Name, String)>,
}

impl Calls<'_> {
    fn look_at(&mut self, signature: &Signature, body: &Block) {
        for input in &signature.inputs {
            if let FnArg::Typed(it) = input
                && let Pat::Ident(pattern) = &*it.pat
                && let Some(known) = self.known_type(&it.ty)
            {
                self.variables.insert(pattern.ident.to_string(), known);
            }
        }
        self.visit_block(body);
    }

    fn known_type(&self, it: &Type) -> Option<Known> {
        known(self.files, self.module, self.own.as_ref(), it)
    }

    /// The type and method that a path like `Lane::new` means.
    fn at_path(&self, it: &ExprPath) -> Option<(Name, String)> {
        let segments = it.path.segments.iter().map(|it| it.ident.to_string());
        let mut path: Name = segments.collect();
        let name = path.pop().filter(|_| it.qself.is_none())?;
        let own = match path.first()?.as_str() {
            "Self" if path.len() == 1 => self.own.clone()?,
            _ => self.files.type_at(self.module, &path)?,
        };
        let key = (own, name);
        self.members.methods.contains_key(&key).then_some(key)
    }

    /// The type whose method is called, and the method.
    fn at_call(&self, receiver: &Expr, name: &str) -> Option<(Name, String)> {
        let is_self = matches!(receiver, Expr::Path(it) if it.path.is_ident("self"));
        match self.known_value(receiver) {
            Some(Known::Elsewhere) => return None,
            Some(Known::Here(own)) => {
                let key = (own, name.to_owned());
                if self.members.methods.contains_key(&key) {
                    return Some(key);
                }
                // A method of a trait, or by way of `Deref`.
                if !is_self {
                    return None;
                }
            }
            None => {}
        }
        if COMMON.contains(&name) {
            return None;
        }
        let types = self.by_name.get(name).filter(|it| it.len() == 1)?;
        Some((types.first()?.clone(), name.to_owned()))
    }

    /// The only type that is called like a variable: `lane` is a `Lane`.
    fn named_like(&self, variable: &str) -> Option<Name> {
        let is_alike = |it: &&Name| {
            let last = it.last().expect("a type has a name");
            last.to_lowercase() == variable.replace('_', "")
        };
        let mut alike = self.files.types.keys().filter(is_alike);
        alike.next().filter(|_| alike.next().is_none()).cloned()
    }

    fn known_value(&self, it: &Expr) -> Option<Known> {
        let returns = |key| self.members.methods.get(&key)?.returns.clone();
        match it {
            Expr::Path(it) if it.path.is_ident("self") => self.own.clone().map(Known::Here),
            Expr::Path(it) => {
                let called = it.path.get_ident()?.to_string();
                let named_like = || self.named_like(&called).map(Known::Here);
                self.variables.get(&called).cloned().or_else(named_like)
            }
            Expr::Reference(it) => self.known_value(&it.expr),
            Expr::Paren(it) => self.known_value(&it.expr),
            Expr::Unary(it) if matches!(it.op, UnOp::Deref(_)) => self.known_value(&it.expr),
            Expr::Field(it) => {
                let Member::Named(field) = &it.member else {
                    return None;
                };
                let field = field.to_string();
                if let Some(Known::Here(own)) = self.known_value(&it.base) {
                    return self.members.fields.get(&(own, field)).cloned();
                }
                let same = self
                    .members
                    .by_field
                    .get(&field)
                    .filter(|it| it.len() == 1)?;
                same.first().cloned()
            }
            Expr::Call(it) => match &*it.func {
                Expr::Path(path) => returns(self.at_path(path)?),
                _ => None,
            },
            Expr::MethodCall(it) => returns(self.at_call(&it.receiver, &it.method.to_string())?),
            _ => None,
        }
    }
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_expr_method_call(&mut self, it: &'a ExprMethodCall) {
        let method = self.at_call(&it.receiver, &it.method.to_string());
        self.found.extend(method);
        visit::visit_expr_method_call(self, it);
    }

    fn visit_expr_path(&mut self, it: &'a ExprPath) {
        self.found.extend(self.at_path(it));
        visit::visit_expr_path(self, it);
    }

    fn visit_local(&mut self, it: &'a Local) {
        let value = it.init.as_ref().and_then(|it| self.known_value(&it.expr));
        visit::visit_local(self, it);
        let (pattern, known) = match &it.pat {
            Pat::Type(typed) => (&*typed.pat, self.known_type(&typed.ty)),
            pattern => (pattern, value),
        };
        if let Pat::Ident(pattern) = pattern
            && let Some(known) = known
        {
            self.variables.insert(pattern.ident.to_string(), known);
        }
    }

    /// It hides a variable of the same name.
    fn visit_pat_ident(&mut self, it: &'a PatIdent) {
        self.variables.remove(&it.ident.to_string());
        visit::visit_pat_ident(self, it);
    }

    fn visit_macro(&mut self, it: &'a Macro) {
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        for expression in it.parse_body_with(arguments).into_iter().flatten() {
            Calls::visit_expr(self, &expression);
        }
    }
}

/// From file to file of a room, with the methods that are called.
fn edges_of(files: &Crate, folders: &[&str]) -> Edges {
    let members = Members::new(files);
    let by_name = members.by_name(folders);
    let mut edges = Edges::new();
    files.each_item(&mut |item, module, file| {
        let functions = functions_of(files, module, item).filter(|_| is_in(file, folders));
        let Some((own, functions)) = functions else {
            return;
        };
        for (signature, body) in functions {
            let mut calls = Calls {
                files,
                members: &members,
                by_name: &by_name,
                module,
                own: own.clone(),
                variables: BTreeMap::new(),
                found: BTreeSet::new(),
            };
            calls.look_at(signature, body);
            for key in calls.found {
                let at = &members.methods[&key].files;
                let Some(other) = at.first().filter(|it| at.len() == 1 && *it != file) else {
                    continue;
                };
                if is_in(other, folders) {
                    let called = format!("{}::{}", key.0.last().expect("a name"), key.1);
                    let edge = (file.to_owned(), other.clone());
                    edges.entry(edge).or_default().insert(called);
                }
            }
        }
    });
    edges
}

#[test]
fn few_files_call_each_other_in_a_circle() {
    for (room, name, folders, goal) in ROOMS {
        let edges = edges_of(&Crate::read(name), folders);
        print(
            &format!("Calls in {room}"),
            edges
                .iter()
                .map(|((from, to), by)| format!("{from} > {to}: {by:?}")),
        );
        assert!(edges.len() > 50, "hardly a call in {room}: {edges:?}");
        let mut counts = Counts::new();
        groups::count(room, &edges, &mut counts);
        let above: Vec<_> = ABOVE.iter().filter(|it| it.0 == room).copied().collect();
        let bounds = Bounds {
            what: "files that call each other in a circle",
            goal,
            above: &above,
            advice: "Let calls go down only: what comes back up is a result that is returned.",
        };
        bounds.check(&counts);
    }
}

#[test]
fn a_call_leads_to_the_file_that_defines_the_method() {
    let files = Crate::made_up(&[
        (
            "r/a.rs",
            "use super::b::{B, Twin}; use std::vec::Drain; pub struct A { b: B, twin: Box<Twin> }
             impl A { pub fn one(&self) { self.two(); self.b.same(); self.twin.alike() }
                      fn three(list: Drain, it: &B) { list.only(); assert!(it.make().alike()); } }",
        ),
        (
            "r/b.rs",
            "use super::a::A; impl A { pub fn two(&self) {} }
             pub struct B; impl B { pub fn same(&self) {} pub fn make(&self) -> Twin { Twin } }
             pub struct Twin; impl Clone for Twin { fn alike(&self) {} }
             fn f() { for it in all() { it.only(); it.same(); it.outer(); it.count() } }",
        ),
        (
            "r/c.rs",
            "pub struct C; impl C { pub fn same(&self) { super::a::A::one(); } fn only(&self) {}
                                    fn count(&self) {} }
             #[cfg(test)] mod tests { fn f(a: crate::r::a::A) { a.two() } }",
        ),
        (
            "s.rs",
            "struct D; impl D { fn outer(&self) { crate::r::c::C::only() } }",
        ),
    ]);
    let edges = edges_of(&files, &["r/"]);
    let shown = |((from, to), by): (&(String, String), &BTreeSet<String>)| {
        format!(
            "{from}>{to} {}",
            by.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
        )
    };
    let expected = [
        "r/a.rs>r/b.rs A::two B::make B::same Twin::alike",
        "r/b.rs>r/c.rs C::only",
        "r/c.rs>r/a.rs A::one",
    ];
    assert_eq!(edges.iter().map(shown).collect::<Vec<_>>(), expected);
    let mut counts = Counts::new();
    groups::count("r", &edges, &mut counts);
    let bounds = Bounds {
        what: "files in a circle",
        goal: 2,
        above: &[],
        advice: "Part them.",
    };
    let complaint = "r: 3 files in a circle, at most 2. Part them. It has them in: r/a.rs, r/b.rs, \
                     r/c.rs";
    assert_eq!(bounds.complaints(&counts), [complaint]);
}
