//! Mixes drawn at random for amd-2b10s: a thread for each of its twelve cores, at least one
//! multithreaded program in each.

use evenkeel_model::SplitMix64;

/// Single-threaded programs that mixes are drawn from. With the multithreaded ones they are
/// fourteen: those of the ten named mixes, and mcf as a second one bound by memory. Which fourteen
/// the study used is not known.
const SINGLE: [&str; 8] =
    ["gamess", "hmmer", "gobmk", "h264ref", "perlbench", "soplex", "astar", "mcf"];

/// Multithreaded ones.
const MULTI: [&str; 6] = ["fma3d_m", "wupwise_m", "semphy", "BLAST", "FFTW3D", "blackscholes_ps"];

/// Shapes of mixes: the number of single-threaded programs, and the threads of each multithreaded
/// one. They are those of the named mixes.
const SHAPES: [(usize, &[u32]); 5] =
    [(3, &[9]), (2, &[5, 5]), (1, &[6, 5]), (0, &[4, 4, 4]), (0, &[6, 6])];

/// Draws `count` different mixes, as the names of their programs with the threads of each.
pub(super) fn draw(count: usize, seed: u64) -> Vec<Vec<String>> {
    let mut random = SplitMix64(seed);
    let mut mixes: Vec<Vec<String>> = Vec::new();
    while mixes.len() < count {
        let (singles, multis) = SHAPES[random.below(SHAPES.len())];
        let mut mix: Vec<String> =
            choose(&SINGLE, singles, &mut random).into_iter().map(str::to_owned).collect();
        let chosen = choose(&MULTI, multis.len(), &mut random);
        mix.extend(
            chosen.into_iter().zip(multis).map(|(program, threads)| format!("{program}:{threads}")),
        );
        if !mixes.contains(&mix) {
            mixes.push(mix);
        }
    }
    mixes
}

/// Chooses `count` different ones, in the order in which they are listed.
fn choose<'a>(all: &[&'a str], count: usize, random: &mut SplitMix64) -> Vec<&'a str> {
    let mut left: Vec<usize> = (0..all.len()).collect();
    let mut chosen: Vec<usize> =
        (0..count).map(|_| left.remove(random.below(left.len()))).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|i| all[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_has_at_least_one_multithreaded_program_and_a_thread_for_each_of_at_most_twelve_cores()
     {
        let mixes = draw(44, 1);
        assert_eq!(mixes.len(), 44);
        for mix in &mixes {
            let threads = |program: &String| {
                program.split_once(':').map_or(1, |(_, threads)| threads.parse().unwrap())
            };
            assert_eq!(mix.iter().map(threads).sum::<u32>(), 12, "{mix:?}");
            assert!(mix.iter().any(|program| threads(program) > 1), "{mix:?}");
        }
        assert!(
            SINGLE
                .iter()
                .chain(&MULTI)
                .all(|name| mixes.concat().iter().any(|drawn| drawn.starts_with(name)))
        );
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(draw(5, 7), draw(5, 7));
        assert_ne!(draw(5, 7), draw(5, 8));
    }
}
