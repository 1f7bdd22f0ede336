//! What stands above `transport/` knows the contract, and no transport by its name. The laboratory
//! has few doors.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Ident, ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemUse, Macro};

use super::source::{all_files, files_of, is_apart};

/// What may name them: they themselves, what they stand on, what counts for them, and `world/`,
/// which makes the links.
const BESIDE: [&str; 6] = [
    "transport/",
    "node/",
    "boot/",
    "config/",
    "counters.rs",
    "world/",
];

/// Modules and types of the transports.
const TRANSPORTS: [&str; 22] = [
    "shm",
    "udp",
    "tcp",
    "rmpp",
    "gobackn",
    "unet",
    "sctp",
    "streams",
    "loopback",
    "sim",
    "tap",
    "Shm",
    "Udp",
    "Tcp",
    "GoBackN",
    "Unet",
    "Sctp",
    "Piped",
    "Loopback",
    "Sim",
    "laboratory",
    "Laboratory",
];

/// How often each file names a transport today. This list only shrinks; each line says for what.
const STANDING: &[(&str, usize)] = &[];

/// The names of transports in a file.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn look_at(&mut self, ident: &Ident) {
        if TRANSPORTS.iter().any(|transport| ident == transport) {
            self.0.push(ident.to_string());
        }
    }

    fn look_at_all(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => self.look_at(&ident),
                TokenTree::Group(group) => self.look_at_all(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_ident(&mut self, ident: &'a Ident) {
        self.look_at(ident);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.look_at_all(call.tokens.clone());
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_apart(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_apart(&item.attrs) {
            visit::visit_item_use(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_apart(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if !is_apart(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_apart(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

fn names_in(text: &str) -> Vec<String> {
    let mut names = Names::default();
    names.visit_file(&syn::parse_file(text).expect("Rust"));
    names.0
}

#[test]
fn no_module_above_the_transport_names_a_transport_except_the_listed_ones() {
    let is_above = |file: &str| !BESIDE.iter().any(|folder| file.starts_with(folder));
    let mut files = all_files();
    files.retain(|(file, _)| is_above(file));
    let count = |(file, text): &(String, String)| (file.clone(), names_in(text).len());
    let found: BTreeMap<String, usize> = files.iter().map(count).filter(|it| it.1 > 0).collect();
    let standing = STANDING
        .iter()
        .map(|(file, count)| ((*file).to_owned(), *count));
    let standing: BTreeMap<String, usize> = standing.collect();
    assert_eq!(
        found, standing,
        "found, and listed: less is to be struck off the list"
    );
}

/// The condition by which the laboratory is there, and how often it may stand in the library: at
/// modules, the variant of `Uncommon`, the makers, and unit tests.
const CONDITION: &str = "feature = \"laboratory\"";
const CONDITIONS: usize = 5;

/// The files outside `transport/laboratory/` that may name something inside.
const DOORS: [&str; 3] = [
    "transport/link.rs",
    "transport/sim.rs",
    "world/transports.rs",
];

#[test]
fn the_laboratory_has_few_doors() {
    let files = files_of(&["transport", "world"]);
    let is_outside = |it: &&(String, String)| !it.0.starts_with("transport/laboratory/");
    let names_it = |it: &&(String, String)| it.1.contains("laboratory::");
    let doors = files.iter().filter(is_outside).filter(names_it);
    let doors: BTreeSet<_> = doors.map(|it| it.0.as_str()).collect();
    assert_eq!(doors, BTreeSet::from(DOORS));

    let unit_tests = include_str!("../../src/transport/tests.rs");
    let texts = files.iter().map(|it| it.1.as_str()).chain([unit_tests]);
    let count: usize = texts.map(|text| text.matches(CONDITION).count()).sum();
    assert!((1..=CONDITIONS).contains(&count), "{count}");
}

#[test]
fn a_transport_is_found_however_it_is_named() {
    for text in [
        "use crate::transport::shm::Watch;",
        "use crate::transport::{Link, sim};",
        "fn f() { match link { Link::Shm(it) => it.go(), _ => {} } }",
        "fn f() { assert!(matches!(link, Link::Udp(_))); }",
        "struct A { rmpp: u8 }",
    ] {
        assert_eq!(names_in(text).len(), 1, "{text}");
    }
    for text in [
        "// shm\nfn f() -> &'static str { \"shm\" }",
        "use rmpp_core::Caps; fn shmem() {}",
        "#[cfg(test)] mod tests { use crate::transport::shm; }",
    ] {
        assert_eq!(names_in(text), Vec::<String>::new(), "{text}");
    }
}
