//! Names of kinds: their makers' if known, else by rank.

use super::facts::IntelKind;

/// Names of kinds, fastest first. `lists`: the list that the CPUs of each are on.
pub(super) fn of(lists: &[Option<IntelKind>], is_apple: bool) -> Vec<String> {
    if lists.iter().any(Option::is_some) {
        by_list(lists)
    } else if is_apple && lists.len() == 2 {
        ["P", "E"].map(str::to_owned).to_vec()
    } else {
        by_rank(lists.len())
    }
}

/// Arm's terms, as in the presets.
fn by_rank(count: usize) -> Vec<String> {
    let names: &[&str] = match count {
        0 => &[],
        1 => &["core"],
        2 => &["big", "little"],
        3 => &["prime", "big", "little"],
        _ => &["prime", "big"],
    };
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    if count > 3 {
        // prime, big, mid, mid-2, …, little
        names.extend((1..count - 2).map(|number| numbered("mid", number)));
        names.push("little".to_owned());
    }
    names
}

/// Intel's terms.
fn by_list(lists: &[Option<IntelKind>]) -> Vec<String> {
    let has_low_power = lists.contains(&Some(IntelKind::LowPower));
    let mut names: Vec<String> = Vec::with_capacity(lists.len());
    for list in lists {
        let base = match list {
            None => "core",
            Some(IntelKind::Core) => "P",
            // Kernels without a list for low-power cores count them as cpu_atom's; they are the
            // slower ones.
            Some(IntelKind::Atom) if names.iter().any(|name| name == "E") && !has_low_power => {
                "LP-E"
            }
            Some(IntelKind::Atom) => "E",
            Some(IntelKind::LowPower) => "LP-E",
        };
        let free = (1..).map(|number| numbered(base, number)).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

fn numbered(name: &str, number: usize) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_nobody_names_are_named_by_rank() {
        let names = |count| of(&vec![None; count], false).join(" ");
        assert_eq!(names(1), "core");
        assert_eq!(names(2), "big little");
        assert_eq!(names(3), "prime big little");
        assert_eq!(names(4), "prime big mid little");
        assert_eq!(names(6), "prime big mid mid-2 mid-3 little");
        assert_eq!(of(&[None, None], true), ["P", "E"]);
    }

    #[test]
    fn the_slower_of_two_sorts_of_atom_is_the_low_power_one() {
        let (core, atom, low) =
            (Some(IntelKind::Core), Some(IntelKind::Atom), Some(IntelKind::LowPower));
        assert_eq!(of(&[core, atom, atom], false), ["P", "E", "LP-E"]);
        assert_eq!(of(&[core, atom, atom, low], false), ["P", "E", "E-2", "LP-E"]);
        assert_eq!(of(&[core, core, None], false), ["P", "P-2", "core"]);
    }
}
