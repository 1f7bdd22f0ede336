//! Slurm's lists: nodes as `n[1-2,05],m7`, numbers for them as `3,1` or `4,1(x2)`.

use crate::failure::{Failure, printable};
use crate::job::hosts::{
    HOSTS_MAX, Host, check_name, expand_ranges, parse_slots, split_outside_brackets,
};

use super::{Variables, text_of, unreadable};

/// What holds the nodes of a job.
const NODES: &str = "SLURM_JOB_NODELIST";

/// What holds the slots of each node, the first that is set.
const SLOTS: [&str; 2] = ["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"];

/// Steps above this number are no `srun` of the user: the batch script, an interactive shell.
const STEP_OF_USER_MAX: u32 = 0xffff_ff00;

/// The hosts of the job, if this process is to use them.
pub(super) fn hosts(variable: &impl Variables) -> Result<Option<Vec<Host>>, Failure> {
    let Some(list) = text_of(variable, NODES) else {
        return Ok(None);
    };
    if is_one_of_several_tasks(variable) {
        return Ok(None);
    }
    let names = expand(&list).map_err(|reason| unreadable(NODES, &reason))?;
    let slots = SLOTS
        .into_iter()
        .find_map(|name| Some((name, text_of(variable, name)?)));
    let slots = match slots {
        None => vec![None; names.len()],
        Some((name, text)) => {
            let slots = numbers(&text, names.len()).map_err(|reason| unreadable(name, &reason))?;
            slots.into_iter().map(Some).collect()
        }
    };
    let hosts = names.into_iter().zip(slots);
    let hosts = hosts.map(|(name, slots)| Host { name, slots });
    Ok(Some(hosts.collect()))
}

/// Returns true if `srun` has started several copies of this very `mpirun`: each keeps to its own
/// machine.
fn is_one_of_several_tasks(variable: &impl Variables) -> bool {
    let number = |name| text_of(variable, name)?.parse::<u32>().ok();
    let is_in_step = number("SLURM_STEP_ID").is_some_and(|step| step < STEP_OF_USER_MAX);
    is_in_step && number("SLURM_STEP_NUM_TASKS").is_some_and(|tasks| tasks > 1)
}

/// Expands `n[1-2,05],m7` to four names, and `r[1-2]n[1-2]` as well.
pub(super) fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in split_outside_brackets(list.trim()) {
        let wrong = || {
            let shown = printable(entry);
            format!("'{shown}' is not a list of nodes such as n[1-2,05]")
        };
        let expanded = expand_entry(entry, HOSTS_MAX - names.len()).ok_or_else(wrong)?;
        expanded.iter().try_for_each(|name| check_name(name))?;
        names.extend(expanded);
    }
    Ok(names)
}

/// All names of one entry, unless they are more than `most` or the entry is none. The last bracket
/// counts fastest.
fn expand_entry(entry: &str, most: usize) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = entry;
    while let Some(open) = rest.find('[') {
        let inside = &rest[open + 1..];
        let close = inside.find(']')?;
        let numbers = expand_ranges(&inside[..close], most)?;
        if names.len().checked_mul(numbers.len())? > most {
            return None;
        }
        let with = |name: &String| {
            let start = name.clone() + &rest[..open];
            numbers.iter().map(move |number| start.clone() + number)
        };
        names = names.iter().flat_map(with).collect();
        rest = &inside[close + 1..];
    }
    if rest.contains(']') || names.len() > most {
        return None;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Some(names)
}

/// The numbers of `4,1(x2)`, one for each of so many nodes.
pub(super) fn numbers(text: &str, nodes: usize) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    let shown = printable(text);
    for part in text.trim().split(',') {
        let (number, times) = part.split_once("(x").unwrap_or((part, "1)"));
        let times = times.strip_suffix(')').and_then(|times| times.parse().ok());
        let times: usize = times.ok_or_else(|| {
            let part = printable(part);
            format!("'{part}' is not a number of slots such as 4 or 4(x2)")
        })?;
        let number = parse_slots(number)?;
        if times > nodes.saturating_sub(all.len()) {
            return Err(format!("'{shown}' is for more than {nodes} nodes"));
        }
        all.extend(std::iter::repeat_n(number, times));
    }
    if all.len() < nodes {
        let given = all.len();
        return Err(format!("'{shown}' is for {given} of {nodes} nodes"));
    }
    Ok(all)
}
