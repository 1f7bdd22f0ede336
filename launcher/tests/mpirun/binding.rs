//! What ranks are bound to, as the system sees it.

use crate::common::{Mpirun, Scratch, mpirun};
use launcher::node::cores::{Machine, Object, allowed, list};

/// A rank that prints the CPUs that it may use.
const RANK: [&str; 3] = ["grep", "Cpus_allowed_list", "/proc/self/status"];

fn ranks(options: &[&str]) -> Mpirun {
    mpirun(&[options, &RANK[..]].concat())
}

/// The CPUs that the ranks may use, as the system lists them, sorted.
fn lists(run: Mpirun) -> Vec<String> {
    let lines = run.run().succeeds().sorted();
    let list = |line: &String| line.split_whitespace().last().map(String::from);
    lines.iter().filter_map(list).collect()
}

/// The CPUs of each core of this machine that this process may use.
fn cores() -> Vec<Vec<u32>> {
    let parts = Machine::here().parts(Object::Core);
    parts.into_iter().map(|part| part.cpus).collect()
}

/// As the kernel writes them: also two neighbours are a range.
fn kernel_list(cpus: &[u32]) -> String {
    match cpus {
        [one, other] if one + 1 == *other => format!("{one}-{other}"),
        _ => list(cpus),
    }
}

fn one_per_core() -> Vec<String> {
    let mut lists: Vec<String> = cores().iter().map(|cpus| kernel_list(cpus)).collect();
    lists.sort();
    lists
}

#[test]
fn a_rank_per_core_has_its_core_alone() {
    let number = cores().len().to_string();
    let bound = lists(ranks(&["-n", &number, "--bind-to", "core"]));
    assert_eq!(bound, one_per_core());
}

#[test]
fn the_agent_of_another_host_binds_its_ranks() {
    let number = cores().len();
    let host = format!("n1:{number}");
    let options = ["--host", &host, "--bind-to", "core"];
    let bound = lists(ranks(&options).over_fake_ssh());
    assert_eq!(bound, one_per_core());
}

#[test]
fn no_rank_is_bound_without_an_option() {
    let all = kernel_list(&allowed());
    let bound = lists(ranks(&["-n", "3"]));
    assert_eq!(bound, vec![all.clone(); 3]);
    let bound = lists(ranks(&["-n", "2", "--bind-to", "none"]));
    assert_eq!(bound, vec![all; 2]);
}

#[test]
fn the_mask_of_mpirun_is_all_that_its_ranks_get() {
    let cpus = allowed();
    let last = cpus[cpus.len() - 1].to_string();
    let script = format!(
        "taskset -c {last} '{}' --bind-to core {}",
        env!("CARGO_BIN_EXE_mpirun"),
        RANK.join(" ")
    );
    // mpirun starts a shell, which starts mpirun with the narrower mask.
    let bound = lists(mpirun(&["-n", "1", "sh", "-c", &script]));
    assert_eq!(bound, [last]);
}

#[test]
fn more_ranks_than_cores_are_refused_unless_they_may_share() {
    let cores = cores().len();
    let more = (cores + 1).to_string();
    let parts = [
        &format!("{more} ranks do not fit on {cores} core"),
        "--bind-to core:overload-allowed",
    ];
    let options = ["-n", &more, "--bind-to", "core"];
    ranks(&options).run().fails_with(125, &parts);
    for allowed in [
        &["-n", &more, "--bind-to", "core:overload-allowed"][..],
        &["-n", &more, "--bind-to", "core", "--oversubscribe"],
    ] {
        let bound = lists(ranks(allowed));
        assert_eq!(bound.len(), cores + 1);
        assert!(bound.iter().all(|list| one_per_core().contains(list)));
    }
}

#[test]
fn ranks_that_are_only_dealt_to_cores_are_not_bound_where_there_are_too_few() {
    let more = cores().len() + 1;
    let bound = lists(ranks(&["-n", &more.to_string(), "--map-by", "core"]));
    assert_eq!(bound, vec![kernel_list(&allowed()); more]);
}

#[test]
fn the_bindings_of_all_hosts_are_reported() {
    let hosts = ["--host", "localhost,n2", "--bind-to", "core"];
    let options = [&hosts[..], &["--report-bindings", "true"]].concat();
    let outcome = mpirun(&options).over_fake_ssh().run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let mut lines: Vec<&str> = outcome.stderr.lines().collect();
    lines.sort_unstable();
    let core = &cores()[0];
    let noun = if core.len() == 1 { "CPU" } else { "CPUs" };
    for (rank, host) in [(0, "localhost"), (1, "n2")] {
        let start = format!("mpirun: rank {rank} on host {host}: bound to core ");
        let end = format!(" ({noun} {}) of socket ", list(core));
        let line = lines[rank];
        assert!(line.starts_with(&start) && line.contains(&end), "{line}");
    }
    assert_eq!(lines.len(), 2, "{outcome:?}");
}

#[test]
fn a_rank_that_is_not_bound_is_reported_as_such() {
    let outcome = mpirun(&["-n", "1", "--report-bindings", "true"]).run();
    let line = "mpirun: rank 0 on host localhost: not bound\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, line));
}

#[test]
fn a_line_per_host_shows_its_ranks() {
    let hosts = ["-n", "5", "--host", "localhost:3,n2:2", "--display-map"];
    for (order, [here, there]) in [
        ("slot", ["0-2", "3,4"]),
        ("fill", ["0-2", "3,4"]),
        ("node", ["0,2,4", "1,3"]),
        ("span", ["0,2,4", "1,3"]),
    ] {
        let options = [&hosts[..], &["--rank-by", order, "true"]].concat();
        let outcome = mpirun(&options).over_fake_ssh().run();
        let lines =
            format!("mpirun: host localhost: ranks {here}\nmpirun: host n2: ranks {there}\n");
        assert_eq!((outcome.code, outcome.stderr), (0, lines), "{order}");
    }
}

#[test]
fn each_line_of_the_host_file_gets_a_rank_in_order() {
    let scratch = Scratch::new();
    let file = scratch.write("hosts", "n2\nlocalhost slots=4\nn2\n", 0o644);
    let file = file.to_str().unwrap();
    let options = ["--hostfile", file, "--map-by", "seq", "--display-map"];
    let outcome = mpirun(&[&options[..], &["true"]].concat());
    let outcome = outcome.over_fake_ssh().run();
    let lines = "mpirun: host n2: ranks 0,2\nmpirun: host localhost: rank 1\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, lines));
    let more = [&options[..4], &["-n", "4", "true"]].concat();
    let parts = ["one rank per line", "has 3 for 4 ranks"];
    mpirun(&more).run().fails_with(2, &parts);
    let no_file = ["--map-by", "seq", "true"];
    mpirun(&no_file).run().fails_with(2, &["give --hostfile"]);
}

#[test]
fn ranks_per_part_count_the_parts_of_this_machine() {
    let cores = cores().len();
    let bound = lists(ranks(&["--map-by", "ppr:2:core"]));
    assert_eq!(bound.len(), 2 * cores);
    for core in one_per_core() {
        assert_eq!(bound.iter().filter(|list| **list == core).count(), 2);
    }
}

#[test]
fn what_a_rank_starts_inherits_its_cpus() {
    let script = format!("{} & wait", RANK.join(" "));
    let number = cores().len().to_string();
    let options = ["-n", &number, "--bind-to", "core", "sh", "-c", &script];
    assert_eq!(lists(mpirun(&options)), one_per_core());
}
