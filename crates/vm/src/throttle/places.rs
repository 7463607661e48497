//! Which virtual cores share a CPU of the host. The host's kernel takes seconds to balance them:
//! two threads of 60 % stay on one CPU for a while, and neither gets its share.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// A CPU of the host for each core, so that cores on one CPU take no more than all of it. Each
/// core, the largest first, gets the CPU that has most left. `None` if that does not fit: then the
/// host decides.
pub fn places(percents: &[u32], cpus: &[u32]) -> Option<Vec<u32>> {
    let mut left: Vec<(u32, u32)> = cpus.iter().map(|&cpu| (100, cpu)).collect();
    let mut order: Vec<usize> = (0..percents.len()).collect();
    order.sort_by_key(|&core| std::cmp::Reverse(percents[core]));
    let mut places = vec![0; percents.len()];
    for core in order {
        // Of CPUs with as much left, the first.
        let (free, cpu) = left.iter_mut().rev().max_by_key(|(free, _)| *free)?;
        *free = free.checked_sub(percents[core])?;
        places[core] = *cpu;
    }
    Some(places)
}

/// Binds threads to their CPUs, except to CPU numbers beyond the range of the system call's
/// wrapper.
///
/// # Errors
/// A thread has ended, or the kernel refuses.
pub fn bind(threads: &[u32], places: &[u32]) -> io::Result<()> {
    let known = |cpu: &&u32| **cpu < CpuSet::MAX_CPU as u32;
    for (&thread, &cpu) in threads.iter().zip(places).filter(|(_, cpu)| known(cpu)) {
        let mut set = CpuSet::new();
        set.set(cpu as usize);
        let thread = i32::try_from(thread)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidInput)?;
        sched_setaffinity(Some(thread), &set)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_spread_so_that_each_gets_what_it_is_to_get() {
        assert_eq!(places(&[60, 60, 20, 20], &[0, 1]), Some(vec![0, 1, 0, 1]));
        assert_eq!(places(&[20, 60, 20, 60], &[2, 5]), Some(vec![2, 2, 5, 5]));
        assert_eq!(places(&[60, 40, 20, 20], &[0, 1]), Some(vec![0, 1, 1, 0]));
        assert_eq!(places(&[100], &[3]), Some(vec![3]));
    }

    #[test]
    fn what_does_not_fit_core_by_core_is_left_to_the_host() {
        assert_eq!(places(&[60, 60, 60], &[0, 1]), None);
        assert_eq!(places(&[60], &[]), None);
    }
}
