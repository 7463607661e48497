//! What is asked for, and whether it holds.

use super::OURS;
use super::cases::{self, COARSE, Family};
use super::measured::{Measured, median};

/// A row: what is compared, the values of the rounds, and where their median has to be.
pub struct Demand {
    pub what: String,
    pub values: Vec<f64>,
    pub bound: Bound,
    pub kind: Kind,
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What a row is of.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Kind {
    /// What we have come to.
    Figure,
    /// We and another system in the same rounds.
    Comparison,
}

/// What the rounds say of a demand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    Holds,
    /// The median is beyond the bound, but chance would put as many rounds there of a system that
    /// is exactly at it.
    NotToldApart,
    Missed,
}

/// Which chance of that is small enough to say that it is none.
const LEVEL: f64 = 0.05;

impl Bound {
    fn is_kept_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }
}

impl Demand {
    /// In how many rounds it is beyond the bound.
    pub fn beyond(&self) -> usize {
        self.values.iter().filter(|value| !self.bound.is_kept_by(**value)).count()
    }

    pub fn verdict(&self) -> Verdict {
        if self.bound.is_kept_by(median(&self.values)) {
            Verdict::Holds
        } else if self.kind == Kind::Comparison
            && of_coins(self.values.len(), self.beyond()) > LEVEL
        {
            Verdict::NotToldApart
        } else {
            Verdict::Missed
        }
    }
}

/// How likely it is that of so many coins so many or more show heads.
fn of_coins(coins: usize, heads: usize) -> f64 {
    let choose = |k: usize| (0..k).fold(1.0, |it, i| it * (coins - i) as f64 / (i + 1) as f64);
    (heads..=coins).map(choose).sum::<f64>() / 2_f64.powi(coins as i32)
}

fn parallel(cases: &'static [&'static str]) -> Vec<&'static str> {
    cases.iter().copied().filter(|case| !case.ends_with("-serial")).collect()
}

struct Demands<'a> {
    measured: &'a Measured,
    rows: Vec<Demand>,
}

impl Demands<'_> {
    fn figure(&mut self, case: &str, unit: &str, bound: Bound) {
        let Some(values) = self.measured.values(OURS, case) else { return };
        self.rows.push(Demand {
            what: format!("{case}, {unit}"),
            values: values.to_vec(),
            bound,
            kind: Kind::Figure,
        });
    }

    fn ratio(&mut self, case: &str, to: (&str, &str), bound: Bound) {
        let Some(values) = self.measured.ratios((OURS, case), to) else { return };
        self.comparison(case, to, values, bound);
    }

    fn comparison(
        &mut self,
        case: &str,
        (system, other): (&str, &str),
        values: Vec<f64>,
        bound: Bound,
    ) {
        let other = if other == case { String::new() } else { format!(" {other}") };
        self.rows.push(Demand {
            what: format!("{case} / {system}{other}"),
            values,
            bound,
            kind: Kind::Comparison,
        });
    }

    fn of_families(&mut self, families: &[&Family], ratio: f64) {
        for family in families {
            let ways = parallel(family.cases);
            let own = ways.iter().find(|case| case.ends_with("-auto")).unwrap_or(&ways[0]);
            if let Some(values) = shares(self.measured, OURS, own, ratio) {
                let what = format!("{own}, share of the ideal");
                self.rows.push(Demand {
                    what,
                    values,
                    bound: Bound::AtLeast(0.95),
                    kind: Kind::Figure,
                });
            }
            self.ahead_of_all(own, &ways);
        }
    }

    fn ahead_of_all(&mut self, case: &str, cases: &[&'static str]) {
        let Some(best) = self.measured.to_best_peer(case, cases) else { return };
        self.comparison(case, best.peer, best.values, Bound::AtMost(1.0));
    }
}

/// On equal cores (issue 6).
pub fn on_equal_cores(measured: &Measured) -> Vec<Demand> {
    let mut demands = Demands { measured, rows: Vec::new() };
    for (case, bound) in [
        ("independent", 60.0),
        ("chains", 150.0),
        ("independent-again", 50.0),
        ("chains-again", 50.0),
    ] {
        demands.figure(case, "ns per task", Bound::AtMost(bound));
        demands.ahead_of_all(case, &[case]);
    }
    demands.ratio("fib", ("rayon", "fib"), Bound::AtMost(1.3));
    for case in ["prices-auto", "short", "frames-auto", "coarse-loop"] {
        for peer in ["rayon", "oneTBB"] {
            demands.ratio(case, (peer, case), Bound::AtMost(1.03));
        }
    }
    for case in ["memory-independent", "memory-chains"] {
        demands.figure(
            case,
            "bytes per task, closure and all",
            Bound::AtMost(128.0 + cases::CLOSURE),
        );
    }
    demands.rows
}

/// With one core slowed to one part in `ratio`, as measured.
pub fn in_the_lab(measured: &Measured, families: &[&Family], ratio: f64) -> Vec<Demand> {
    let mut demands = Demands { measured, rows: Vec::new() };
    demands.of_families(families, ratio);
    for case in ["coarse-tasks", "coarse-loop"] {
        let rounds = measured.values(OURS, case).zip(measured.values(OURS, "coarse-serial"));
        let Some((times, serial)) = rounds else { continue };
        let over = times.iter().zip(serial).map(|(time, serial)| {
            let slow_task = serial / COARSE as f64 * ratio;
            (time - ideal(*serial, ratio)) / slow_task
        });
        let what = format!("{case}, beyond the ideal in tasks of the slow core");
        demands.rows.push(Demand {
            what,
            values: over.collect(),
            bound: Bound::AtMost(1.0),
            kind: Kind::Figure,
        });
    }
    if let Some(values) = measured.ratios((OURS, "frames-static"), (OURS, "frames-auto")) {
        // With one core at half the speed even the ideal is 1.5 times as fast: asked for at 3:1
        // (issue 6).
        let most = 1.5_f64.min(0.95 * (1.0 + ratio) / 2.0);
        demands.rows.push(Demand {
            what: "frames: pinned version / ours".into(),
            values,
            bound: Bound::AtLeast(most),
            kind: Kind::Figure,
        });
    }
    demands.rows
}

/// Beside another program, which has half of a core. Issue 6 asks for nothing there: the bounds are
/// those of the lab.
pub fn beside_another(measured: &Measured, families: &[&Family], ratio: f64) -> Vec<Demand> {
    let mut demands = Demands { measured, rows: Vec::new() };
    demands.of_families(families, ratio);
    demands.rows
}

/// What takes so long on the fast core, on both: B x ratio + L in units of the slow core.
fn ideal(serial: f64, ratio: f64) -> f64 {
    serial * ratio / (ratio + 1.0)
}

/// Round by round, the ideal time / the time. A system that has no serial version of its own goes
/// by ours: the same arithmetic.
pub fn shares(measured: &Measured, system: &str, case: &str, ratio: f64) -> Option<Vec<f64>> {
    let serial = format!("{}-serial", case.split('-').next()?);
    let serial = measured.values(system, &serial).or_else(|| measured.values(OURS, &serial))?;
    let times = measured.values(system, case)?;
    Some(times.iter().zip(serial).map(|(time, serial)| ideal(*serial, ratio) / time).collect())
}
