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

const OF_SRUN: &str = "use srun --mpi=pmi2 or --mpi=pmix, or ";

/// All of them.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI's mpirun",
        marks: &["OMPI_COMM_WORLD_RANK"],
        sizes: &["OMPI_COMM_WORLD_SIZE"],
        advice: "",
    },
    Launcher {
        name: "a PMI launcher (MPICH's mpiexec, or srun --mpi=pmi2)",
        marks: &["PMI_RANK"],
        sizes: &["PMI_SIZE"],
        advice: "let no wrapper (sudo, Python's subprocess with close_fds) close the descriptor of \
                 PMI_FD, or ",
    },
    Launcher {
        name: "a PMI launcher (MPICH's mpiexec)",
        marks: &["PMI_FD"],
        sizes: &["PMI_SIZE"],
        advice: "let no wrapper (sudo, Python's subprocess with close_fds) close the descriptor of \
                 PMI_FD, or ",
    },
    Launcher {
        name: "a PMI launcher (MPICH's mpiexec -pmi-port)",
        marks: &["PMI_ID", "PMI_PORT"],
        sizes: &["PMI_SIZE"],
        advice: "let no wrapper (sudo, Python's subprocess with close_fds) close the descriptor of \
                 PMI_FD, or ",
    },
    Launcher {
        name: "MVAPICH's mpirun_rsh",
        marks: &["MV2_COMM_WORLD_RANK"],
        sizes: &["MV2_COMM_WORLD_SIZE"],
        advice: "",
    },
    Launcher {
        name: "IBM's jsrun",
        marks: &["JSM_NAMESPACE_RANK"],
        sizes: &["JSM_NAMESPACE_SIZE"],
        advice: "",
    },
    Launcher {
        name: "Flux",
        marks: &["FLUX_TASK_RANK"],
        sizes: &["FLUX_JOB_SIZE"],
        advice: "",
    },
    Launcher {
        name: "Cray's PALS",
        marks: &["PALS_RANKID"],
        sizes: &["PALS_SIZE", "PMI_SIZE"],
        advice: "",
    },
    Launcher {
        name: "Cray's aprun",
        marks: &["ALPS_APP_PE"],
        sizes: &["PMI_SIZE"],
        advice: "",
    },
    Launcher {
        name: "LSF's blaunch",
        marks: &["LSF_PM_TASKID"],
        sizes: &[],
        advice: "",
    },
    Launcher {
        name: "Slurm's srun",
        marks: &["SLURM_STEP_ID"],
        sizes: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        advice: OF_SRUN,
    },
    Launcher {
        name: "Slurm's srun",
        marks: &["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
        sizes: &["SLURM_STEP_NUM_TASKS"],
        advice: OF_SRUN,
    },
    Launcher {
        name: "a PMIx launcher (prterun, or srun --mpi=pmix)",
        marks: &["PMIX_RANK", "PMIX_NAMESPACE"],
        sizes: &[
            "OMPI_COMM_WORLD_SIZE",
            "JSM_NAMESPACE_SIZE",
            "SLURM_STEP_NUM_TASKS",
        ],
        advice: "",
    },
];

/// From this number on a step of Slurm is the batch script or an interactive shell, which srun did
/// not start.
const SLURM_OWN_STEPS: u64 = 0xffff_fff0;

impl Launcher {
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
