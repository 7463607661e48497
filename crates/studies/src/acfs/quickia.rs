//! The nine mixes of single-threaded programs on quickia under every scheduler, with true speedup
//! factors and with errors of the factors.

use evenkeel_metrics::Record;
use evenkeel_policy::bounds::Optimum;

use super::table::ByPolicy;
use super::{MIXES, QUICKIA, SCHEDULERS, asp, bound, estimators, told, unfairness};
use crate::{Exhibit, Runs, StudyError};

pub(super) const SETTING: &str = "Nine mixes of four single-threaded programs on quickia (2 big + \
                                  2 small), true speedup factors of the present phase \
                                  (acfs-static: of the whole \
    run). All start together; one that ends starts again until the longest has ended three times; \
    geometric mean of the completion times. opt-unfairness is \
    the bound on the whole-run factors, solved; 'played out' is the bound on the factors of the \
    present phases, as a schedule in time. Then the means over the mixes with other estimators: \
    offline (whole run), sampled (last speed seen on each kind), \
    modelled (relative error of this standard deviation, by program and phase; mean of ten draws, \
    --quick: of two).";

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let [fairness, throughput] = measure(runs)?;
    let mut exhibits = vec![fairness.exhibit(), throughput.exhibit()];
    exhibits[0].remarks =
        vec![best("The least mean unfairness of the schedulers", &fairness, |a, b| a < b)];
    exhibits[1].remarks =
        vec![best("The greatest mean ASP of the schedulers", &throughput, |a, b| a > b)];
    exhibits.extend(estimators::exhibits(runs)?);
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let mixes = MIXES.iter().map(|mix| Ok(((*mix).to_owned(), runs.load(&machine, mix, 1.0)?)));
    let mixes = mixes.collect::<Result<Vec<_>, StudyError>>()?;
    exhibits.extend(told::beside_the_oracle(&machine, &mixes, "nine mixes", runs)?);
    Ok(exhibits)
}

/// The bound as a policy in simulated time.
const PLAYED_OUT: &str = "opt-unfairness";

/// Columns besides the schedulers: the bound, solved and played out.
const BOUNDS: [&str; 2] = ["opt-unfairness", "played out"];

/// Unfairness and ASP.
fn measure(runs: &Runs) -> Result<[ByPolicy; 2], StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let mut cases = Vec::new();
    for mix in MIXES {
        let apps = runs.load(&machine, mix, 1.0)?;
        let policies = SCHEDULERS.into_iter().chain([PLAYED_OUT]);
        cases.extend(policies.map(|policy| runs.case(&machine, apps.clone(), policy)));
    }
    let records = runs.records(&cases)?;
    let of = |title: &str, measure: &str, of: fn(&Record) -> f64, of_bound: fn(&Optimum) -> f64| {
        let row = |(mix, records): (&&str, &[Record])| {
            let mut row: Vec<f64> = records.iter().map(of).collect();
            row.insert(SCHEDULERS.len(), of_bound(&bound(&machine, &records[0])));
            ((*mix).to_owned(), row)
        };
        let rows = MIXES.iter().zip(records.chunks(SCHEDULERS.len() + 1)).map(row).collect();
        let policies = SCHEDULERS.into_iter().chain(BOUNDS).map(str::to_owned).collect();
        ByPolicy { title: title.into(), measure: measure.into(), policies, rows }
    };
    Ok([
        of(
            "Unfairness on quickia",
            "unfairness (greatest slowdown / least)",
            unfairness,
            |optimum| optimum.unfairness,
        ),
        of("Aggregate speedup on quickia", "ASP", asp, |optimum| optimum.asp),
    ])
}

/// The scheduler that is best on average, without the bound.
fn best(what: &str, table: &ByPolicy, better: fn(f64, f64) -> bool) -> String {
    let means = table.means();
    let best = (1..SCHEDULERS.len())
        .fold(0, |best, other| if better(means[other], means[best]) { other } else { best });
    format!("{what} is that of {}: {:.3}.", SCHEDULERS[best], means[best])
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::measures::geometric_mean;

    use super::*;

    #[test]
    fn acfs_has_the_least_unfairness_of_all_schedulers_in_the_mean_over_the_mixes_and_hsp_the_most_asp()
     {
        let [fairness, throughput] = measure(&Runs::new(false, 1, &|_, _| {})).unwrap();
        let geometric = |table: &ByPolicy, policy: usize| {
            geometric_mean(table.rows.iter().map(|(_, row)| row[policy])).unwrap()
        };
        let place = |name: &str| SCHEDULERS.iter().position(|&policy| policy == name).unwrap();
        let (acfs, hsp) = (place("acfs"), place("hsp"));
        for other in 0..SCHEDULERS.len() {
            let (unfairness, asp) = (fairness.means(), throughput.means());
            assert!(unfairness[acfs] <= unfairness[other], "{}: {unfairness:?}", SCHEDULERS[other]);
            assert!(
                geometric(&fairness, acfs) <= geometric(&fairness, other),
                "{}",
                SCHEDULERS[other]
            );
            assert!(asp[hsp] >= asp[other], "{}: {asp:?}", SCHEDULERS[other]);
            assert!(
                geometric(&throughput, hsp) >= geometric(&throughput, other),
                "{}",
                SCHEDULERS[other]
            );
        }
    }
}
