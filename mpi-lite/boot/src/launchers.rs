//! Other launchers, by what they leave in the environment of what they start.

use std::ffi::OsString;

/// A launcher, and how it is recognised.
#[derive(Debug)]
pub struct Launcher {
    /// Its name, as its users know it.
    pub name: &'static str,
    /// What it sets in each process that it starts, and nobody else does: all of them are there.
    pub marks: &'static [&'static str],
    /// Where it says how many processes it started; the first that is set counts. A single
    /// process is alone.
    pub sizes: &'static [&'static str],
    /// What makes it offer PMI or PMIx, and "or "; empty if nothing does.
    pub advice: &'static str,
}

const NO_WRAPPER: &str = "let no wrapper (sudo, Python's subprocess with close_fds) close the \
                          descriptor of PMI_FD, or ";

const OF_SRUN: &str = "use srun --mpi=pmi2 or --mpi=pmix, or ";

const ON_SLURM: &[&str] = &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"];

/// All of them.
pub const LAUNCHERS: &[Launcher] = &[
    known(
        "Open MPI's mpirun",
        &["OMPI_COMM_WORLD_RANK"],
        &["OMPI_COMM_WORLD_SIZE"],
    ),
    known(
        "a PMI launcher (MPICH's mpiexec, or srun --mpi=pmi2)",
        &["PMI_RANK"],
        &["PMI_SIZE"],
    )
    .advising(NO_WRAPPER),
    known(
        "a PMI launcher (MPICH's mpiexec)",
        &["PMI_FD"],
        &["PMI_SIZE"],
    )
    .advising(NO_WRAPPER),
    known(
        "a PMI launcher (MPICH's mpiexec -pmi-port)",
        &["PMI_ID", "PMI_PORT"],
        &["PMI_SIZE"],
    )
    .advising(NO_WRAPPER),
    known(
        "MVAPICH's mpirun_rsh",
        &["MV2_COMM_WORLD_RANK"],
        &["MV2_COMM_WORLD_SIZE"],
    ),
    known(
        "IBM's jsrun",
        &["JSM_NAMESPACE_RANK"],
        &["JSM_NAMESPACE_SIZE"],
    ),
    known("Flux", &["FLUX_TASK_RANK"], &["FLUX_JOB_SIZE"]),
    known("Cray's PALS", &["PALS_RANKID"], &["PALS_SIZE", "PMI_SIZE"]),
    known("Cray's aprun", &["ALPS_APP_PE"], &["PMI_SIZE"]),
    known("LSF's blaunch", &["LSF_PM_TASKID"], &[]),
    known("Slurm's srun", &["SLURM_STEP_ID"], ON_SLURM).advising(OF_SRUN),
    known(
        "Slurm's srun",
        &["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
        &["SLURM_STEP_NUM_TASKS"],
    )
    .advising(OF_SRUN),
    known(
        "a PMIx launcher (prterun, or srun --mpi=pmix)",
        &["PMIX_RANK", "PMIX_NAMESPACE"],
        &[
            "OMPI_COMM_WORLD_SIZE",
            "JSM_NAMESPACE_SIZE",
            "SLURM_STEP_NUM_TASKS",
        ],
    ),
];

const fn known(
    name: &'static str,
    marks: &'static [&'static str],
    sizes: &'static [&'static str],
) -> Launcher {
    Launcher {
        name,
        marks,
        sizes,
        advice: "",
    }
}

/// From this number on a step of Slurm is the batch script or an interactive shell, which srun did
/// not start.
const SLURM_OWN_STEPS: u64 = 0xffff_fff0;

impl Launcher {
    const fn advising(self, advice: &'static str) -> Launcher {
        Launcher { advice, ..self }
    }

    /// Returns true if it started this process together with others.
    pub fn started_several(&self, variable: &impl Fn(&str) -> Option<OsString>) -> bool {
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        let is_mark = |mark: &&str| match number(mark) {
            Some(step) if *mark == "SLURM_STEP_ID" => step < SLURM_OWN_STEPS,
            _ => variable(mark).is_some(),
        };
        let size = self.sizes.iter().find_map(|size| number(size));
        self.marks.iter().all(is_mark) && size != Some(1)
    }
}

/// The variables by which processes of other launchers are recognised.
pub fn foreign_marks() -> impl Iterator<Item = &'static str> {
    LAUNCHERS.iter().flat_map(|it| it.marks.iter().copied())
}
