//! What `make dist` makes beside the wheel: packages for Debian, the source archive, the bill of
//! materials, and the recipe of an image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Job, Scratch, c_source, prefix, source_root};
use serde_json::Value;

/// Where the packages have the installation.
const PRIVATE: &str = "usr/lib/mpi-lite";

/// A date of all files, in seconds.
const DATE: &str = "1700000000";

/// Runs a command that must succeed. Returns what it printed.
fn text(command: &mut Command) -> String {
    let output = command.env("LC_ALL", "C").output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?} failed: {stdout}{stderr}"
    );
    stdout
}

fn script(name: &str) -> PathBuf {
    source_root().join("launcher/dist").join(name)
}

/// Runs a script of `launcher/dist` with these file permissions taken away.
fn make(name: &str, mask: &str, words: &[&Path]) -> String {
    let interpreter = if name.ends_with(".py") {
        "python3 -B"
    } else {
        "sh"
    };
    let line = format!("umask {mask} && exec {interpreter} \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &line, "sh"]).arg(script(name));
    text(command.args(words).env("SOURCE_DATE_EPOCH", DATE))
}

/// Makes the three packages of the installation, without compression.
fn debs(folder: &Path, mask: &str) -> Vec<PathBuf> {
    let lines = make("deb.py", mask, &[&prefix(), folder, Path::new("0")]);
    let paths: Vec<_> = lines.lines().map(PathBuf::from).collect();
    assert_eq!(paths.len(), 3, "{lines}");
    paths
}

#[test]
fn packages_are_the_same_each_time_and_leave_names_to_others() {
    let scratch = Scratch::new("debs");
    let one = debs(&scratch.path().join("one"), "022");
    let other = debs(&scratch.path().join("other"), "077");
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.file_name(), other.file_name());
        assert!(fs::read(one).expect("a package") == fs::read(other).expect("a package"));
        let contents = text(Command::new("dpkg-deb").arg("--contents").arg(one));
        for line in contents.lines() {
            assert_eq!(line.split_whitespace().nth(1), Some("root/root"), "{line}");
            let place = line.split(" ./").nth(1).unwrap_or_default();
            let place = place.split(" -> ").next().unwrap_or_default();
            let name = place.strip_prefix("usr/bin/").unwrap_or_default();
            let is_ours = name.is_empty() || name.ends_with(".mpilite") || name == "mpi-packets";
            let is_library = place.contains(".so") && !place.starts_with(PRIVATE);
            assert!(is_ours && !is_library, "{line}");
        }
    }
    let field = |package: &Path, name| {
        let value = text(
            Command::new("dpkg-deb")
                .arg("--field")
                .arg(package)
                .arg(name),
        );
        value.trim_end().to_owned()
    };
    let names: Vec<_> = one
        .iter()
        .map(|package| field(package, "Package"))
        .collect();
    assert_eq!(names, ["mpi-lite", "mpi-lite-dev", "mpi-lite-doc"]);
    assert!(field(&one[0], "Depends").contains("libc6 (>= 2."));
    let own = format!("mpi-lite (= {})", field(&one[0], "Version"));
    assert!(field(&one[1], "Depends").starts_with(&own));
}

/// A program of the system's administrator.
fn system(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// A root in which dpkg can install, with another MPI's mpirun.
struct Root(PathBuf);

impl Root {
    fn new(path: PathBuf) -> Self {
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "usr/bin"] {
            fs::create_dir_all(path.join(folder)).expect("a folder");
        }
        fs::create_dir_all(path.join("etc/alternatives")).expect("a folder");
        fs::write(path.join("var/lib/dpkg/status"), "").expect("a file");
        fs::write(path.join("usr/bin/mpirun.other"), "").expect("a file");
        let root = Self(path);
        let words = ["/usr/bin/mpirun", "mpirun", "/usr/bin/mpirun.other", "40"];
        text(root.alternatives(&["--install"]).args(words));
        root
    }

    fn alternatives(&self, words: &[&str]) -> Command {
        let mut command = system("update-alternatives");
        command.arg("--root").arg(&self.0).args(words);
        command
    }

    /// The scripts of a package run here, and get the root in a variable. What a package needs of
    /// the system is not in this root.
    fn dpkg(&self) -> Command {
        let mut command = system("dpkg");
        command.arg(format!("--root={}", self.0.display()));
        command.args(["--force-script-chrootless", "--force-not-root"]);
        command.args(["--force-depends", "--log=/dev/null"]);
        command
    }

    fn path(&self, place: &str) -> PathBuf {
        self.0.join(place)
    }

    /// What a name that several packages offer leads to.
    fn chosen(&self, name: &str) -> PathBuf {
        let link = self.path("etc/alternatives").join(name);
        fs::read_link(&link).unwrap_or_else(|error| panic!("{}: {error}", link.display()))
    }

    /// All files, links and folders but those of dpkg itself.
    fn tree(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.path("usr"), self.path("etc")];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                found.insert(path);
            }
        }
        found
    }
}

/// Compiles and runs programs in C and C++ with the names that the packages have in /usr/bin.
fn compile_and_run(root: &Root, folder: &Path) {
    let languages = [
        ("mpicc", "tests/c/tools/hello.c"),
        ("mpicxx", "tests/c/tools/hello.cpp"),
    ];
    for (compiler, source) in languages {
        let binary = folder.join(compiler);
        let compiler = root.path(&format!("usr/bin/{compiler}.mpilite"));
        let mut command = Command::new(compiler);
        text(command.arg(c_source(source)).arg("-o").arg(&binary));
        for launcher in ["mpirun", "mpiexec"] {
            let launcher = root.path(&format!("usr/bin/{launcher}.mpilite"));
            let outcome = Job::new(launcher).args(["-n", "2"]).arg(&binary).run();
            let _ = outcome.expect_code(0).expect_stdout("hello from 1 of 2");
        }
    }
}

#[test]
fn packages_stand_beside_another_mpi_and_a_purge_leaves_nothing() {
    let scratch = Scratch::new("dpkg");
    let packages = debs(scratch.path(), "022");
    let root = Root::new(scratch.path().join("root"));
    let before = root.tree();
    text(root.dpkg().arg("--install").args(&packages));

    // The other mpirun is still the one that is taken; nobody else has an mpicc.
    assert_eq!(root.chosen("mpirun"), Path::new("/usr/bin/mpirun.other"));
    assert_eq!(root.chosen("mpi"), Path::new("/usr/bin/mpicc.mpilite"));
    text(&mut root.alternatives(&["--set", "mpirun", "/usr/bin/mpirun.mpilite"]));
    assert_eq!(
        root.chosen("mpiexec"),
        Path::new("/usr/bin/mpiexec.mpilite")
    );
    for entry in root.path("etc/alternatives").read_dir().expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let target = root.chosen(name.to_str().expect("text"));
        let inside = root
            .0
            .join(target.strip_prefix("/").expect("from the root"));
        assert!(inside.exists(), "{name:?} leads to {}", target.display());
    }

    compile_and_run(&root, scratch.path());
    // A message of the library names this page.
    let page = format!("{PRIVATE}/share/doc/mpilite/coverage.md");
    assert!(root.path(&page).is_file());
    for library in ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"] {
        let path = root.path(PRIVATE).join("lib").join(library);
        assert!(path.is_file(), "{library}");
    }

    let names = ["mpi-lite", "mpi-lite-dev", "mpi-lite-doc"];
    text(root.dpkg().arg("--purge").args(names));
    assert_eq!(root.chosen("mpirun"), Path::new("/usr/bin/mpirun.other"));
    let left: Vec<_> = root.tree().difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Name and version of each crate of `Cargo.lock` that is not ours, with its checksum.
fn locked() -> BTreeMap<(String, String), String> {
    let lock = fs::read_to_string(source_root().join("Cargo.lock")).expect("Cargo.lock");
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, name| {
        let start = format!("\n{name} = \"");
        let (_, rest) = package.split_once(&start)?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    packages
        .filter_map(|package| {
            let checksum = field(package, "checksum")?;
            Some((
                (field(package, "name")?, field(package, "version")?),
                checksum,
            ))
        })
        .collect()
}

/// Some files of the source archive.
const FILES: [&str; 4] = [
    "Makefile",
    "LICENSE-MIT",
    "mpi-capi/mpich/libmpi.S",
    "include/mpi.h",
];

/// What cargo reads of it.
const KINDS: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "config.toml",
    ".cargo-checksum.json",
    "*.rs",
];

/// Cargo itself says that all crates are there: it has neither a network nor crates of its own.
/// It reads manifests, and sees whether a crate has a `lib.rs`.
#[test]
fn the_source_archive_has_all_crates() {
    let scratch = Scratch::new("source");
    let archive = make("source.sh", "022", &[scratch.path(), Path::new("1")]);
    let archive = PathBuf::from(archive.trim_end());
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--wildcards", "--no-anchored"]);
    tar.arg("--exclude=vendor/*[!b].rs")
        .arg("--file")
        .arg(&archive);
    tar.arg("--directory").arg(scratch.path());
    text(tar.args(KINDS).args(FILES));
    let name = archive.file_name().and_then(|name| name.to_str());
    let name = name.and_then(|name| name.strip_suffix(".tar.gz"));
    let tree = scratch.path().join(name.expect("an archive"));
    for file in [
        "Makefile",
        "LICENSE-MIT",
        "mpi-capi/mpich/libmpi.S",
        "include/mpi.h",
    ] {
        let own = fs::read(source_root().join(file)).expect(file);
        assert!(fs::read(tree.join(file)).expect(file) == own, "{file}");
    }
    for (name, version) in locked().keys() {
        let folder = tree.join("vendor").join(format!("{name}-{version}"));
        assert!(folder.join("Cargo.toml").is_file(), "{}", folder.display());
    }
    let home = scratch.path().join("cargo");
    fs::create_dir(&home).expect("a folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version=1", "--frozen"]);
    text(command.current_dir(&tree).env("CARGO_HOME", home));
}

#[test]
fn the_bill_of_materials_has_the_checksums_of_the_lock_file() {
    let scratch = Scratch::new("sbom");
    let path = make("sbom.py", "022", &[scratch.path()]);
    let text = fs::read_to_string(path.trim_end()).expect("a bill");
    assert_eq!(make("sbom.py", "077", &[scratch.path()]), path);
    assert!(fs::read_to_string(path.trim_end()).expect("a bill") == text);
    let bill: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let locked = locked();
    let mut names = BTreeSet::new();
    for component in bill["components"].as_array().expect("components") {
        let [name, version] = ["name", "version"].map(|field| {
            let value = component[field].as_str();
            value.expect("each component has both").to_owned()
        });
        assert!(component["licenses"][0]["expression"].is_string(), "{name}");
        names.insert(name.clone());
        match locked.get(&(name, version)) {
            Some(checksum) => assert_eq!(component["hashes"][0]["content"], **checksum),
            None => assert!(component["purl"].is_null(), "{component}"),
        }
    }
    // Of ours, of others, of tests alone.
    for (name, is_there) in [("mpi-lite", true), ("ring", true), ("proptest", false)] {
        assert_eq!(names.contains(name), is_there, "{name}");
    }
}

/// The instructions of the recipe; those that go over several lines in one.
fn instructions() -> Vec<(String, String)> {
    let text = fs::read_to_string(script("Dockerfile")).expect("a recipe");
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words = lines.filter_map(|line| line.split_once(' '));
    words
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .collect()
}

#[test]
fn the_recipe_of_an_image_copies_what_is_there_and_has_all_crates() {
    let copied: BTreeSet<String> = instructions()
        .iter()
        .filter(|(name, rest)| name == "COPY" && !rest.starts_with("--from"))
        .flat_map(|(_, rest)| {
            let mut words: Vec<_> = rest.split_whitespace().map(str::to_owned).collect();
            words.pop();
            words
        })
        .collect();
    for place in &copied {
        assert!(source_root().join(place).exists(), "{place}");
    }
    let manifest = fs::read_to_string(source_root().join("Cargo.toml")).expect("a manifest");
    let (_, members) = manifest.split_once("members = [").expect("members");
    let (members, _) = members.split_once(']').expect("a list");
    for member in members.split('"').skip(1).step_by(2) {
        let folder = member.split('/').next().unwrap_or_default();
        assert!(copied.contains(folder), "{member}");
    }
}

#[test]
fn the_recipe_of_an_image_builds_as_the_readme_says() {
    let readme = fs::read_to_string(source_root().join("README.md")).expect("README");
    let line = readme.lines().find(|line| line.contains("apt-get install"));
    let known: BTreeSet<_> = line.expect("packages").split(' ').collect();
    let instructions = instructions();
    let runs = instructions.iter().filter(|(name, _)| name == "RUN");
    let runs: Vec<_> = runs.map(|(_, rest)| rest.as_str()).collect();
    let (_, packages) = runs[0]
        .split_once("--no-install-recommends")
        .expect("packages");
    for package in packages.split_whitespace() {
        // g++, which README has for C++, brings it.
        let is_brought = package == "libc6-dev";
        assert!(known.contains(package) || is_brought, "{package}");
    }
    let (rust, _) = runs[1].split_once(" --profile").expect("the small profile");
    assert!(readme.contains(rust), "{rust}");
    assert!(runs[2].starts_with("make install PREFIX=/opt/mpi-lite"));
    assert!(readme.contains("make install PREFIX="));
    // The last user is none with privileges.
    let users = instructions.iter().filter(|(name, _)| name == "USER");
    assert_eq!(
        users.map(|(_, user)| user.as_str()).next_back(),
        Some("mpi")
    );
}
