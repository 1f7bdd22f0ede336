//! The manual pages and the completion in `launcher/share` are made from the tables of options.
//! `UPDATE=1` writes them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use launcher::cli::foreign::{FOREIGN, Foreign, Treatment};
use launcher::cli::help;
use launcher::cli::options::{Entry, OPTIONS, Value, dashed};
use roff::{Roff, bold, roman};

/// Asserts that the file in `launcher/share` is this text.
fn expect(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("share")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).expect("it is in the source tree");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, text, "{name}: run this test with UPDATE=1");
}

/// The head of a page: its name and purpose, and how the program is called.
fn page(name: &str, purpose: &str, arguments: &str) -> Roff {
    let mut page = Roff::new();
    let version = concat!("mpi-lite ", env!("CARGO_PKG_VERSION"));
    page.control("TH", [&*name.to_uppercase(), "1", " ", version]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {purpose}"))]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold(name), roman(format!(" {arguments}"))]);
    page
}

fn row(page: &mut Roff, head: &str, text: &str) {
    page.control("TP", []);
    page.text([bold(head)]);
    page.text([roman(text)]);
}

fn section(page: &mut Roff, title: &str, text: &str) {
    page.control("SH", [title]);
    page.text([roman(text)]);
}

fn is_shown(entry: &&Entry) -> bool {
    !entry.text.is_empty()
}

#[test]
fn the_manual_page_of_mpirun_has_all_options() {
    let mut page = page(
        "mpirun",
        "run an MPI program",
        "[options] program [arguments]",
    );
    section(&mut page, "DESCRIPTION", help::RULES);
    page.control("SH", ["OPTIONS"]);
    for entry in OPTIONS.iter().filter(is_shown) {
        row(&mut page, &entry.heading(), entry.text);
    }
    let ignored = format!("Accepted and ignored: {}.", help::ignored());
    page.control("PP", []).text([roman(ignored)]);
    page.control("SH", ["ENVIRONMENT"]);
    page.text([roman(
        "Options win over these. settings.md has all of them.",
    )]);
    for (variable, meaning) in launcher::cli::settings::main() {
        row(&mut page, variable, &meaning);
    }
    section(&mut page, "EXIT STATUS", help::EXIT_STATUS);
    page.control("SH", ["EXAMPLES"]);
    for (line, meaning) in help::EXAMPLES {
        row(&mut page, line, meaning);
    }
    let files = "PREFIX/share/doc/mpilite has settings.md (all environment variables), counters.md \
                 (what --stats prints) and coverage.md (the functions of MPI).";
    section(&mut page, "FILES", files);
    section(&mut page, "SEE ALSO", "mpicc(1)");
    expect("mpirun.1", &page.render());
}

#[test]
fn the_manual_page_of_mpicc_has_all_options() {
    let mut page = page("mpicc", "compile an MPI program", "[options] file...");
    let names = "mpicc compiles C; mpicxx, mpic++ and mpiCC compile C++. Each calls the compiler \
                 with the flags for the header and the library of mpi-lite. All options that are \
                 not listed here go to the compiler.";
    section(&mut page, "DESCRIPTION", names);
    page.control("SH", ["OPTIONS"]);
    for (option, text) in wrappers::OPTIONS {
        row(&mut page, option, text);
    }
    section(&mut page, "SEE ALSO", "mpirun(1)");
    expect("mpicc.1", &page.render());
}

/// What completes the value of an option, as arguments of bash's `compgen`.
fn candidates(entry: &Entry) -> Option<String> {
    let (Value::Word(text) | Value::Optional(text)) = entry.value else {
        return None;
    };
    let choices: Vec<_> = entry.choices().collect();
    match text.rsplit('|').next() {
        Some("DIR") => Some("-d".to_string()),
        Some("FILE") => Some(format!("-f -W '{}'", choices.join(" "))),
        _ => Some(format!("-W '{}'", choices.join(" "))),
    }
}

fn completion() -> String {
    let mut after_word = String::new();
    let mut after_equals = String::new();
    for entry in OPTIONS.iter().filter(is_shown) {
        let Some(candidates) = candidates(entry) else {
            continue;
        };
        let names: Vec<String> = entry.spellings().collect();
        let line = format!("        {}) words=({candidates}) ;;\n", names.join("|"));
        match entry.value {
            Value::Word(_) => after_word += &line,
            _ => after_equals += &line,
        }
    }
    let shown = OPTIONS.iter().filter(is_shown);
    let all: Vec<String> = shown.flat_map(Entry::spellings).collect();
    format!(
        "# Completion of mpirun's options for bash. Made from the table in \
         launcher/src/cli/options.rs.\n\
         _mpilite_mpirun() {{\n\
         \x20   local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n\
         \x20   local option=$before words=()\n\
         \x20   if [ \"$word\" = = ]; then word= option+==\n\
         \x20   elif [ \"$before\" = = ]; then option=${{COMP_WORDS[COMP_CWORD-2]}}=; fi\n\
         \x20   case ${{option%=}} in\n{after_word}    esac\n\
         \x20   case $option in *=) case ${{option%=}} in\n{after_equals}    esac ;; esac\n\
         \x20   if [ ${{#words[@]}} = 0 ]; then\n\
         \x20       case $word in\n\
         \x20       -*) words=(-W '{}') ;;\n\
         \x20       *) words=(-c -f) ;;\n\
         \x20       esac\n\
         \x20   fi\n\
         \x20   mapfile -t COMPREPLY < <(compgen \"${{words[@]}}\" -- \"$word\")\n\
         }}\n\
         complete -o filenames -F _mpilite_mpirun mpirun mpiexec\n",
        all.join(" ")
    )
}

#[test]
fn bash_completes_options_and_their_values() {
    expect("mpirun.bash", &completion());
    for (words, expected) in [
        ("mpirun --transp", "--transport"),
        ("mpirun --transport r", "rmpp"),
        ("mpirun --secure = t", "tag"),
        ("mpirun --map-by n", "node numa"),
    ] {
        let script = format!(
            ". share/mpirun.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _mpilite_mpirun; echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = bash.output().expect("bash runs");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            expected,
            "{words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// What becomes of an option of another launcher, in words.
fn treatment(entry: &Foreign) -> String {
    match entry.treatment {
        Treatment::Ours(ours, None) => format!("as `{}`", dashed(ours)),
        Treatment::Ours(ours, Some(value)) => format!("as `{} {value}`", dashed(ours)),
        Treatment::Ignored => "passed over".into(),
        Treatment::Noted(reason) => format!("passed over, with a note: {reason}"),
        Treatment::Refused(instead) => format!("refused: {instead}"),
    }
}

#[test]
fn the_page_about_mpirun_has_a_row_for_each_option_of_other_launchers() {
    let mut tables = String::new();
    for (launcher, entries) in FOREIGN {
        tables += &format!("\n### {launcher}\n\n| option | what becomes of it |\n|---|---|\n");
        for entry in *entries {
            let names = entry.names.iter().map(|name| format!("`{}`", dashed(name)));
            let names = names.collect::<Vec<_>>().join(", ");
            tables += &format!("| {names} | {} |\n", treatment(entry));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mpirun.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let mark = "<!-- generated from launcher/src/cli/foreign.rs -->\n";
    let (head, found) = page.split_once(mark).expect("the page has the mark");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{head}{mark}{tables}")).expect("it is in the source tree");
    } else {
        assert_eq!(found, tables, "docs/mpirun.md: run this test with UPDATE=1");
    }
}
