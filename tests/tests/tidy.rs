//! The style by the numbers, over the whole tree; and proof that each rule finds what it forbids.
//! With `UPDATE=1` in the environment the number of lines in README is written first.

use mpi_lite_tests::source_root;
use mpi_lite_tests::tidy::dependencies::{list, packages, violations_of_package};
use mpi_lite_tests::tidy::{
    SourceFile, files, readme_with_size, violations_of_file, violations_of_tree,
};

/// The violations of one Rust file with a good first line.
fn of_rust(path: &str, body: &str) -> Vec<String> {
    let file = SourceFile::new(path, &format!("//! Good.\n{body}"));
    violations_of_file(&file)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn function(lines: usize) -> String {
    format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
}

fn assert_found(found: &[String], what: &str) {
    assert!(
        found.len() == 1 && found[0].contains(what),
        "`{what}` expected alone in {found:?}"
    );
}

#[test]
fn the_tree_keeps_the_style() {
    let root = source_root();
    if std::env::var_os("UPDATE").is_some() {
        let readme = readme_with_size(&files(&root)).expect("README gives a number of lines");
        std::fs::write(root.join("README.md"), readme).expect("the tree is writable");
    }
    let files = files(&root);
    assert!(
        files.len() > 20,
        "only {} files found: is the root right?",
        files.len()
    );
    let found: Vec<_> = violations_of_tree(&files)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        found.is_empty(),
        "{} violations:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_line_of_101_columns_is_found_and_one_of_100_is_not() {
    assert!(of_rust("a.rs", &"x".repeat(100)).is_empty());
    assert_found(
        &of_rust("a.rs", &"x".repeat(101)),
        "a.rs:2: more than 100 columns",
    );
}

#[test]
fn a_function_of_71_lines_is_found_and_one_of_70_is_not() {
    assert!(of_rust("a.rs", &function(70)).is_empty());
    assert_found(
        &of_rust("a.rs", &function(71)),
        "a.rs:2: function of 71 lines",
    );
    let method = format!(
        "impl A {{\n    pub unsafe fn f() {{\n{}    }}\n}}",
        "g();\n".repeat(69)
    );
    assert_found(&of_rust("a.rs", &method), "a.rs:3: function of 71 lines");
    for qualifiers in [
        "pub(in crate::a) ",
        "pub(super) async ",
        "unsafe extern \"C-unwind\" ",
    ] {
        let found = of_rust("a.rs", &format!("{qualifiers}{}", function(71)));
        assert_found(&found, "a.rs:2: function of 71 lines");
    }
    let behind_tests = format!("#[cfg(test)]\nmod tests;\n{}", function(71));
    assert_found(
        &of_rust("a.rs", &behind_tests),
        "a.rs:4: function of 71 lines",
    );
    let c = format!(
        "/* Good. */\nint f(void)\n{{\n{}}}\n",
        "    g();\n".repeat(69)
    );
    let found = violations_of_file(&SourceFile::new("a.c", &c));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn declarations_without_a_body_open_no_function() {
    let text = format!(
        "trait T {{\n    fn a(&self);\n    fn b(\n        x: u8,\n    );\n}}\n{}",
        "\n".repeat(80)
    );
    assert!(of_rust("a.rs", &text).is_empty());
}

#[test]
fn a_file_of_601_lines_is_found_and_its_tests_do_not_count() {
    let lines = |n: usize| "// line\n".repeat(n);
    assert!(of_rust("a.rs", &lines(599)).is_empty());
    assert_found(&of_rust("a.rs", &lines(600)), "601 lines");
    assert!(
        of_rust(
            "a.rs",
            &format!("{}#[cfg(test)]\n{}", lines(500), lines(500))
        )
        .is_empty()
    );
    assert!(of_rust("launcher/tests/a.rs", &lines(600)).is_empty());
    // The lines behind tests count, whatever kind of item the tests are.
    for tests in [
        "#[cfg(test)]\nmod tests;\n",
        "#[cfg(test)]\n#[path = \"b.rs\"]\nmod b;\n",
        "#[cfg(all(test, unix))]\nmod tests {\n    fn f() {\n    }\n}\n",
        "    #[cfg(test)]\n    fn f(\n        a: u8,\n    ) {\n        a\n    }\n",
        "    #[cfg(test)]\n    field: u8,\n",
    ] {
        let around = |behind| format!("{}{tests}{}", lines(300), lines(behind));
        assert!(of_rust("a.rs", &around(299)).is_empty(), "{tests}");
        assert_found(&of_rust("a.rs", &around(300)), "601 lines");
    }
}

#[test]
fn a_file_that_does_not_say_what_it_is_for_is_found() {
    let found = violations_of_file(&SourceFile::new("a.rs", "use std::fmt;\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    let found = violations_of_file(&SourceFile::new("a.c", "#include <mpi.h>\n"));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn unfinished_work_is_found() {
    for word in [
        "TO_DO",
        "FIX_ME",
        "dbg_!(x)",
        "todo_!()",
        "unimple_mented!()",
    ] {
        let found = of_rust("a.rs", &word.replace('_', ""));
        assert_found(&found, "finish it");
    }
}

#[test]
fn a_path_of_one_machine_is_found_in_any_kind_of_file() {
    for path in ["a.rs", "Makefile", "docs/a.md"] {
        let text = format!("//! {}ome/me/mpi\n", "/h");
        let found = violations_of_file(&SourceFile::new(path, &text));
        assert_eq!(found.len(), 1, "{path}: {found:?}");
    }
}

#[test]
fn global_state_is_found_in_mpi_lite_and_only_there() {
    for line in [
        "static A: u8 = 0;",
        "pub static mut A: u8 = 0;",
        "pub(super) static A: u8 = 0;",
        "thread_local! {",
        "        std::thread_local!(static A: u8 = 0);",
        "fn f() -> &'static str { static mut A: u8 = 0; }",
        "#[allow(x)] pub(crate) static A: u8 = 0;",
        concat!("lazy", "_static! {"),
    ] {
        assert_found(&of_rust("mpi-lite/src/a.rs", line), "global state");
        assert!(of_rust("mpi-capi/src/a.rs", line).is_empty());
        let behind_tests = format!("#[cfg(test)]\nmod tests;\n{line}");
        assert_found(&of_rust("mpi-lite/src/a.rs", &behind_tests), "global state");
    }
    for line in [
        "const A: &'static str = \"\";",
        "fn f(a: &'static mut u8) {} // a static one",
        "fn is_static (a: u8) {}",
    ] {
        assert!(of_rust("mpi-lite/src/a.rs", line).is_empty(), "{line}");
    }
}

/// None of the rules stops where tests begin, nor looks away from them.
#[test]
fn names_and_global_state_are_found_in_tests_and_behind_them() {
    for bad in [
        concat!("pub struct Peer", "Manager {}"),
        "static A: u8 = 0;",
    ] {
        let inside = format!("#[cfg(test)]\nmod tests {{\n    {bad}\n}}");
        let behind = format!("#[cfg(test)]\nmod tests {{\n    fn f() {{}}\n}}\n{bad}");
        for text in [inside, behind] {
            assert_eq!(of_rust("mpi-lite/src/a.rs", &text).len(), 1, "{text}");
        }
    }
}

#[test]
fn a_name_that_says_nothing_is_found() {
    let declare = |name: &str| of_rust("a.rs", &format!("pub struct {name} {{"));
    assert_found(&declare("PeerManager"), "PeerManager");
    assert!(declare("Manageress").is_empty());
    let behind_tests = |name: &str| format!("#[cfg(test)]\nmod tests;\npub struct {name} {{");
    let behind_tests = of_rust("a.rs", &behind_tests("PeerManager"));
    assert_found(&behind_tests, "PeerManager");
}

#[test]
fn a_folder_that_the_map_does_not_name_is_found() {
    let code = SourceFile::new("mpi-lite/src/engine/wait.rs", "//! Waits.\n");
    let map = |text| SourceFile::new("ARCHITECTURE.md", text);
    assert!(violations_of_tree(&[code.clone(), map("`engine/` turns")]).is_empty());
    assert_eq!(violations_of_tree(&[code.clone(), map("nothing")]).len(), 1);
    assert_eq!(violations_of_tree(&[code]).len(), 1);
}

#[test]
fn a_decision_without_a_status_or_a_line_in_the_index_is_found() {
    let path = "docs/decisions/0001-a.md";
    let of = |record: &str, index: &str| {
        let index = SourceFile::new("docs/decisions/README.md", index);
        let found = violations_of_tree(&[SourceFile::new(path, record), index]);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let row = "| [0001](0001-a.md) | A | accepted |\n";
    assert!(of("# 0001. A\n\nStatus: accepted. Later.\n", row).is_empty());
    assert_found(&of("# 0001. A\n\nWhy.\n", row), "Status");
    assert_found(&of("# 0001 A\n\nStatus: accepted.\n", row), "TITLE");
    assert_found(&of("0001. A\n\nStatus: accepted.\n", row), "TITLE");
    let other = of("# 0001. A\n\nStatus: replaced by 0002.\n", row);
    assert_found(&other, "lacks the line");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let text =
        "[a](docs/b.md) [c](docs) [d](https://example.org) [e](#part)\n```\n[f](gone)\n```\n";
    let documents = [
        SourceFile::new("A.md", text),
        SourceFile::new("docs/b.md", "[up](../A.md#top)\n"),
    ];
    assert!(violations_of_tree(&documents).is_empty());
    let gone = SourceFile::new("docs/c.md", "one\n[x](b.txt)\n");
    let found = violations_of_tree(&[gone]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, 2);
}

/// README with this number of lines, and a crate of 130.
fn tree_with_size(size: &str) -> Vec<SourceFile> {
    let code = format!(
        "//! Good.\n#[cfg(test)]\nmod a;\n{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        "// a\n".repeat(129),
        "    // b\n".repeat(5000)
    );
    let readme = format!("# A\n| size | {size} lines of Rust without tests; b |\n");
    let files = [
        ("README.md", &*readme),
        ("mpi-lite/src/a.rs", &*code),
        ("tests/src/b.rs", &*code),
    ];
    files.map(|(path, text)| SourceFile::new(path, text)).into()
}

#[test]
fn a_readme_with_an_untrue_number_of_lines_is_found() {
    let of = |size: &str| {
        let found = violations_of_tree(&tree_with_size(size));
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(of("600").is_empty());
    for size in ["601", "1,600", "many"] {
        let found = format!("README.md:2: {size} lines, but there are 100");
        assert_found(&of(size), &found);
    }
    let silent = [SourceFile::new("README.md", "# A\n")];
    assert_eq!(violations_of_tree(&silent).len(), 1);
}

#[test]
fn the_true_number_of_lines_is_written_into_readme() {
    let mut files = tree_with_size("9,700");
    let written = |files: &[SourceFile]| readme_with_size(files).expect("it has a number");
    let expected = "# A\n| size | 100 lines of Rust without tests; b |\n";
    assert_eq!(written(&files), expected);
    files.push(SourceFile::new(
        "launcher/src/c.rs",
        &"// c\n".repeat(8_930),
    ));
    assert_eq!(written(&files), expected.replace("100", "9,100"));
}

#[test]
fn the_dependencies_keep_the_rules_of_deny_toml() {
    let rules = std::fs::read_to_string(source_root().join("deny.toml")).expect("it is there");
    let allowed = list(&rules, "allow");
    for target in list(&rules, "targets") {
        let packages = packages(&source_root(), &target);
        assert!(packages.len() > 20, "only {} for {target}", packages.len());
        let found: Vec<_> = packages
            .iter()
            .flat_map(|package| violations_of_package(package, &allowed))
            .collect();
        assert!(found.is_empty(), "{target}:\n{}", found.join("\n"));
    }
}

#[test]
fn the_lists_of_deny_toml_are_read() {
    let rules = "[graph]\ntargets = [\"a\", \"b\"]\n[licenses]\nallow = [\n  \"MIT\",\n]\n";
    assert_eq!(list(rules, "targets"), ["a", "b"]);
    assert_eq!(list(rules, "allow"), ["MIT"]);
}

/// The violations of a package with this licence, if MIT, ISC and Zlib are allowed.
fn of_licence(licence: &str) -> Vec<String> {
    let package = serde_json::json!({ "name": "it", "license": licence, "source": null });
    violations_of_package(&package, &["MIT", "ISC", "Zlib"].map(String::from))
}

#[test]
fn a_forbidden_licence_is_found() {
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "(GPL-3.0 OR MIT) AND ISC",
        "GPL-3.0 OR MIT AND ISC",
    ] {
        assert!(of_licence(good).is_empty(), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "MIT WITH some-exception",
        "MIT ISC",
        "(MIT",
        "",
    ] {
        assert_eq!(of_licence(bad), [format!("it: its licence is {bad}")]);
    }
}

#[test]
fn a_package_without_a_licence_is_found() {
    let package = serde_json::json!({ "name": "it", "source": null });
    assert_found(
        &violations_of_package(&package, &[]),
        "it: it names no licence",
    );
}

#[test]
fn a_foreign_source_is_found() {
    let package =
        |source: &str| serde_json::json!({ "name": "it", "license": "MIT", "source": source });
    let allowed = ["MIT".to_owned()];
    let good = package("registry+https://github.com/rust-lang/crates.io-index");
    assert!(violations_of_package(&good, &allowed).is_empty());
    for bad in [
        "git+https://example.org/it",
        "registry+https://example.org/index",
    ] {
        assert_found(&violations_of_package(&package(bad), &allowed), bad);
    }
}

#[test]
fn a_dependency_on_any_version_is_found() {
    let package = |path: Option<&str>| {
        let dependency = serde_json::json!({ "name": "other", "req": "*", "path": path });
        let dependencies = [dependency];
        serde_json::json!({ "name": "it", "license": "MIT", "dependencies": dependencies })
    };
    let allowed = ["MIT".to_owned()];
    assert!(violations_of_package(&package(Some("../other")), &allowed).is_empty());
    assert_found(
        &violations_of_package(&package(None), &allowed),
        "any version of \"other\"",
    );
}
