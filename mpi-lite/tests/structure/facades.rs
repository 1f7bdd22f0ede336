//! A facade has no more methods than its limit.
//!
//! Counted are the public methods of the protocol's `Endpoint` and of the views that it lends, and
//! all methods of the traits `Transport` and `Protocol`. What only the simulator may call is a part
//! of its own.

use syn::visit::{self, Visit};
use syn::{ImplItem, ItemImpl, ItemMod, ItemTrait, TraitItem, Type, Visibility};

use super::source::{files_below, is_apart};

const CORE: &str = "../rmpp-core/src";
const LIBRARY: &str = "src";

/// The file by which the simulator looks into an endpoint, with the feature `simulated` alone.
const OF_SIMULATOR: &str = "endpoint/survey.rs";

/// A type or trait, where it is to be found, and how many methods it may have. The limits only
/// shrink.
struct Facade {
    name: &'static str,
    root: &'static str,
    folder: &'static str,
    most: usize,
}

const FACADES: &[Facade] = &[
    Facade {
        name: "Endpoint",
        root: CORE,
        folder: "endpoint",
        most: 10,
    },
    Facade {
        name: "OutgoingMessages",
        root: CORE,
        folder: "endpoint",
        most: 4,
    },
    Facade {
        name: "IncomingMessages",
        root: CORE,
        folder: "endpoint",
        most: 5,
    },
    Facade {
        name: "Transport",
        root: LIBRARY,
        folder: "transport",
        most: 12,
    },
    Facade {
        name: "Protocol",
        root: LIBRARY,
        folder: "transport",
        most: 12,
    },
];

/// Most methods of `Endpoint` that only the simulator and tests may call.
const FOR_SIMULATOR: usize = 8;

/// The methods of the type or trait `name`: of a type those that are `pub` and of no trait.
struct Methods<'a> {
    name: &'a str,
    found: Vec<String>,
}

impl<'a> Visit<'a> for Methods<'_> {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_apart(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let is_of_name = match &*item.self_ty {
            Type::Path(path) => path
                .path
                .segments
                .last()
                .is_some_and(|it| it.ident == self.name),
            _ => false,
        };
        if !is_of_name || item.trait_.is_some() || is_apart(&item.attrs) {
            return;
        }
        for part in &item.items {
            if let ImplItem::Fn(method) = part
                && matches!(method.vis, Visibility::Public(_))
                && !is_apart(&method.attrs)
            {
                self.found.push(method.sig.ident.to_string());
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        if item.ident != self.name || is_apart(&item.attrs) {
            return;
        }
        for part in &item.items {
            if let TraitItem::Fn(method) = part {
                self.found.push(method.sig.ident.to_string());
            }
        }
    }
}

fn methods_in(text: &str, name: &str) -> Vec<String> {
    let found = Vec::new();
    let mut methods = Methods { name, found };
    methods.visit_file(&syn::parse_file(text).expect("Rust"));
    methods.found
}

#[test]
fn no_facade_has_more_methods_than_its_limit() {
    for facade in FACADES {
        let files = files_below(facade.root, &[facade.folder]);
        let files = files.iter().filter(|it| it.0 != OF_SIMULATOR);
        let methods: Vec<_> = files
            .flat_map(|it| methods_in(&it.1, facade.name))
            .collect();
        assert!(!methods.is_empty(), "{} was not found", facade.name);
        assert!(
            methods.len() <= facade.most,
            "{} has {methods:?}: merge what belongs together",
            facade.name
        );
    }
}

#[test]
fn the_simulator_has_no_more_ways_into_an_endpoint_than_its_limit() {
    let files = files_below(CORE, &["endpoint"]);
    let survey = files.iter().find(|it| it.0 == OF_SIMULATOR);
    let methods = methods_in(&survey.expect("the file of the survey").1, "Endpoint");
    assert!((1..=FOR_SIMULATOR).contains(&methods.len()), "{methods:?}");
    let facade = &files.iter().find(|it| it.0 == "endpoint/mod.rs");
    let facade = &facade.expect("the file of the facade").1;
    assert!(
        facade.contains("#[cfg(feature = \"simulated\")]\nmod survey;"),
        "the survey is open to all"
    );
}

#[test]
fn a_method_more_is_found_wherever_it_stands() {
    let short = "pub struct A; impl A { pub fn a() {} }";
    assert_eq!(methods_in(short, "A"), ["a"]);
    for more in [
        "impl A { pub fn b(&self) {} }",
        "impl<T> A<T> { #[inline] pub const fn b() {} }",
        "impl crate::endpoint::A<'_> { pub fn b(self) {} }",
        "mod inner { impl super::A { pub fn b() {} } }",
    ] {
        let longer = format!("{short} {more}");
        assert_eq!(methods_in(&longer, "A"), ["a", "b"], "{more}");
    }
    for other in [
        "impl A { fn b() {} pub(crate) fn c() {} pub(super) fn d() {} }",
        "impl Clone for A { fn clone(&self) -> Self { A } }",
        "impl B { pub fn b(a: A) {} }",
        "#[cfg(test)] mod tests { impl super::A { pub fn b() {} } }",
    ] {
        let longer = format!("{short} {other}");
        assert_eq!(methods_in(&longer, "A"), ["a"], "{other}");
    }
    let contract = "pub trait A { type B; const C: u8; fn d(&self); fn e(&self) {} }";
    assert_eq!(methods_in(contract, "A"), ["d", "e"]);
}
