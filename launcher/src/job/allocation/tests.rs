//! What the variables and files of each scheduler become.

use proptest::prelude::*;

use super::*;

/// What is found in an environment of these variables, on a machine of this name.
fn found(variables: &[(&str, &str)], hostname: &str) -> Result<Option<Allocation>, Failure> {
    let get = |name: &str| {
        let mut known = variables.iter();
        known
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.into())
    };
    Allocation::find(&get, hostname)
}

fn slots(variables: &[(&str, &str)]) -> Vec<(String, Option<u32>)> {
    let allocation = found(variables, "login").unwrap().expect("an allocation");
    let hosts = allocation.hosts.into_iter();
    hosts.map(|host| (host.name, host.slots)).collect()
}

fn expected(hosts: &[(&str, u32)]) -> Vec<(String, Option<u32>)> {
    let hosts = hosts.iter();
    hosts
        .map(|(name, slots)| (name.to_string(), Some(*slots)))
        .collect()
}

struct File(PathBuf);

impl File {
    fn new(name: &str, text: impl AsRef<[u8]>) -> File {
        let directory = std::env::temp_dir();
        let path = directory.join(format!("{name}.{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn slurm_lists_are_expanded_in_all_forms() {
    let cases: [(&str, &[&str]); 7] = [
        ("n1", &["n1"]),
        ("n[1-2,05],m7", &["n1", "n2", "n05", "m7"]),
        ("n[08-11]", &["n08", "n09", "n10", "n11"]),
        ("r[1-2]n[1,3]", &["r1n1", "r1n3", "r2n1", "r2n3"]),
        ("r[1-2]-gpu", &["r1-gpu", "r2-gpu"]),
        ("a,b-1.x,c[2]", &["a", "b-1.x", "c2"]),
        ("[1-2]x", &["1x", "2x"]),
    ];
    for (list, names) in cases {
        assert_eq!(slurm::expand(list).unwrap(), names, "{list}");
    }
}

#[test]
fn a_wrong_slurm_list_is_refused() {
    for list in [
        "",
        ",",
        "n[",
        "n]",
        "n[]",
        "n[1",
        "n[2-1]",
        "n[a]",
        "n[1-]",
        "n[1-999999999]",
        "n 1",
        "-oX",
        "n[1-1000]x[1-1000]",
        "n[[1]]",
        "$(x)",
        "n[99999999999999999999]",
    ] {
        assert!(slurm::expand(list).is_err(), "{list}");
    }
}

#[test]
fn slurm_gives_tasks_and_else_cpus() {
    let nodes = ("SLURM_JOB_NODELIST", "n[1-3]");
    let tasks = ("SLURM_TASKS_PER_NODE", "4,1(x2)");
    let cpus = ("SLURM_JOB_CPUS_PER_NODE", "8(x3)");
    assert_eq!(
        slots(&[nodes, tasks, cpus]),
        expected(&[("n1", 4), ("n2", 1), ("n3", 1)])
    );
    assert_eq!(
        slots(&[nodes, cpus]),
        expected(&[("n1", 8), ("n2", 8), ("n3", 8)])
    );
}

#[test]
fn the_node_of_slurmd_is_here_and_no_other() {
    let nodes = ("SLURM_JOB_NODELIST", "n[1-3]");
    let own = |variables: &[(&str, &str)], hostname| {
        found(variables, hostname).unwrap().expect("slurm").own
    };
    let here = ("SLURMD_NODENAME", "n2");
    assert_eq!(own(&[nodes, here], "n1").as_deref(), Some("n2"));
    assert_eq!(own(&[nodes], "n1").as_deref(), Some("n1"));
    assert_eq!(own(&[nodes], "n3.cluster").as_deref(), Some("n3"));
    assert_eq!(own(&[nodes], "login"), None);
    assert_eq!(own(&[nodes, ("SLURMD_NODENAME", "x")], "n1"), None);
}

#[test]
fn two_hosts_that_differ_only_by_domain_are_not_taken_for_this_machine() {
    let nodes = |list| {
        found(&[("LSB_HOSTS", list)], "w")
            .unwrap()
            .expect("lsf")
            .own
    };
    assert_eq!(nodes("w.1.x v"), Some("w.1.x".to_string()));
    assert_eq!(nodes("w.1.x w.2.x"), None);
}

#[test]
fn several_copies_of_mpirun_under_srun_keep_to_their_machine() {
    let nodes = ("SLURM_JOB_NODELIST", "n[1-3]");
    let cases = [
        ("0", "2", false),
        ("0", "1", true),
        ("4294967290", "3", true),
    ];
    for (step, tasks, is_used) in cases {
        let step = [("SLURM_STEP_ID", step), ("SLURM_STEP_NUM_TASKS", tasks)];
        let found = found(&[&[nodes], &step[..]].concat(), "n1").unwrap();
        assert_eq!(found.is_some(), is_used, "{step:?}");
    }
}

#[test]
fn files_and_lists_of_other_systems_give_hosts_and_slots() {
    let two = expected(&[("a", 2), ("b.x", 1)]);
    let lines = File::new("lines", "a\r\na\n\nb.x\n");
    for name in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE"] {
        assert_eq!(slots(&[(name, lines.name())]), two, "{name}");
    }
    assert_eq!(slots(&[("LSB_MCPU_HOSTS", "a 2 b.x 1")]), two);
    assert_eq!(slots(&[("LSB_HOSTS", "a b.x a")]), two);
    let queues = File::new("queues", "a 2 all.q@a UNDEFINED\nb.x 1 all.q@b <NULL>\n");
    assert_eq!(slots(&[("PE_HOSTFILE", queues.name())]), two);
    let open_mpi = File::new("open_mpi", "a slots=2\nb.x slots=1\n");
    let hydra = File::new("hydra", "a:2\nb.x:1\n");
    for name in HOST_FILES {
        assert_eq!(slots(&[(name, open_mpi.name())]), two, "{name}");
        assert_eq!(slots(&[(name, hydra.name())]), two, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_variable() {
    let empty = File::new("empty", "\n");
    let garbage = File::new("garbage", [0xff, 0xfe, 0]);
    let words = File::new("words", "a many\n$(x) 1\n");
    for name in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"]
        .into_iter()
        .chain(HOST_FILES)
    {
        for value in [empty.name(), garbage.name(), "/no/such/file", "/"] {
            let failure = found(&[(name, value)], "a").unwrap_err();
            assert!(failure.text.contains(name), "{failure}");
            assert!(!failure.text.contains('\n'), "{failure}");
        }
    }
    let nodes = ("SLURM_JOB_NODELIST", "n[1-3]");
    for (name, value) in [
        ("SLURM_JOB_NODELIST", "n[1-"),
        ("SLURM_TASKS_PER_NODE", "1(x2)"),
        ("SLURM_TASKS_PER_NODE", "1(x4)"),
        ("SLURM_TASKS_PER_NODE", "1(y3)"),
        ("SLURM_TASKS_PER_NODE", "0(x3)"),
        ("SLURM_JOB_CPUS_PER_NODE", "many"),
        ("PE_HOSTFILE", words.name()),
        ("LSB_MCPU_HOSTS", "a 2 b"),
        ("LSB_HOSTS", "a -b"),
    ] {
        let rest = if name.starts_with("SLURM_") {
            &[nodes][..]
        } else {
            &[]
        };
        let failure = found(&[&[(name, value)], rest].concat(), "a").unwrap_err();
        assert_eq!(failure.code, crate::failure::LAUNCH);
        assert!(
            failure.text.contains(&format!("from {name}: ")),
            "{failure}"
        );
    }
}

#[test]
fn an_environment_without_a_scheduler_has_no_allocation() {
    assert_eq!(found(&[("PBS_NODEFILE", "")], "a").unwrap(), None);
}

#[test]
fn a_flux_job_of_several_nodes_is_noted() {
    let note_of = |value: &str| note(|name| (name == "FLUX_JOB_NNODES").then(|| value.into()));
    assert!(note_of("2").unwrap().contains("2 nodes (FLUX_JOB_NNODES)"));
    assert_eq!(note_of("1"), None);
}

proptest! {
    #[test]
    fn a_range_has_its_numbers_in_order_and_width(
        from in 0usize..5000, more in 0usize..200, width in 1usize..6
    ) {
        let to = from + more;
        let names = slurm::expand(&format!("n[{from:0width$}-{to:0width$}]x")).unwrap();
        let all: Vec<String> = (from..=to).map(|n| format!("n{n:0width$}x")).collect();
        prop_assert_eq!(names, all);
    }

    #[test]
    fn names_without_brackets_stay_as_they_are(
        names in proptest::collection::vec("[a-z][a-z0-9.-]{0,9}", 1..20)
    ) {
        prop_assert_eq!(slurm::expand(&names.join(",")).unwrap(), names);
    }

    #[test]
    fn any_text_is_a_list_of_plain_names_or_a_failure_in_one_line(
        text in "\\PC{0,40}|[n0-9\\[\\],-]{0,20}",
    ) {
        match slurm::expand(&text) {
            Ok(names) => for name in names {
                prop_assert!(!name.is_empty() && !name.starts_with('-'));
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:@%-".contains(c);
                prop_assert!(name.chars().all(is_plain));
            },
            Err(reason) => prop_assert!(!reason.chars().any(char::is_control)),
        }
    }

    #[test]
    fn repeated_numbers_are_one_for_each_node(
        parts in proptest::collection::vec((1u32..100, 1usize..50), 1..10)
    ) {
        let text: Vec<String> = parts
            .iter()
            .map(|(number, times)| match times {
                1 => number.to_string(),
                _ => format!("{number}(x{times})"),
            })
            .collect();
        let all: Vec<u32> = parts
            .iter()
            .flat_map(|(number, times)| std::iter::repeat_n(*number, *times))
            .collect();
        let text = text.join(",");
        prop_assert_eq!(slurm::numbers(&text, all.len()).unwrap(), all.clone());
        prop_assert!(slurm::numbers(&text, all.len() + 1).is_err());
    }
}
