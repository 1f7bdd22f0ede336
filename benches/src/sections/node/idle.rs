//! A rank that waits in `MPI_Recv`: what processor time it uses, how soon it has its message.

use super::{AUTO, RMPP, gather, program, rows};
use crate::bench::{Bench, Missing};
use crate::goal::{Goal, Limit};
use crate::report::Report;
use crate::sections::{figure_after, in_rounds, medians};

const SECONDS: &str = "3";
const CPU: &str = "processor time of the rank that waits, %";
const WOKEN: &str = "from send to woken receiver, us";
const LONGEST: &str = "the longest of 21 times, us";

/// The second number behind these words.
fn second_after(output: &str, words: &str) -> Option<f64> {
    let rest = output.split_once(words)?.1;
    rest.split_whitespace().nth(1)?.parse().ok()
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let mut contenders = gather(bench, report);
    if bench.options.is_quick {
        contenders.retain(super::Contender::is_ours);
    }
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        let output = bench.run(who, &program("idle", 2, &[SECONDS], 30));
        all.enter(&who.name, CPU, figure_after(&output, "cpu: "));
        all.enter(&who.name, WOKEN, figure_after(&output, "woken: "));
        let longest = output.and_then(|it| second_after(&it, "woken: ").ok_or(Missing::figure()));
        all.enter(&who.name, LONGEST, longest);
    });
    let title = format!("a rank blocked {SECONDS} s in MPI_Recv, {how}");
    let rows = rows(&[CPU, WOKEN, LONGEST]);
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    for who in [AUTO, RMPP] {
        let of = |what: &str| all.spread(|round| round.get(who, what));
        let mut goal = |what: &str, limit, measured| {
            report.goal(Goal::new(format!("{who}: {what}"), limit, measured));
        };
        goal(
            &format!("blocked {SECONDS} s in MPI_Recv, % CPU"),
            Limit::Most(2.0),
            of(CPU),
        );
        goal("wake-up, us", Limit::Most(60.0), of(WOKEN));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::number_after;

    #[test]
    fn both_numbers_of_a_line_are_read() {
        let output = "cpu: 0.5\nwoken: 12.5 80.25\n";
        assert_eq!(number_after(output, "woken: "), Some(12.5));
        assert_eq!(second_after(output, "woken: "), Some(80.25));
        assert_eq!(second_after("woken: 1\n", "woken: "), None);
    }
}
