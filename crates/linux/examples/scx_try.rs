//! try
use evenkeel_linux::sched_ext::load::*;
use std::sync::atomic::Ordering::Relaxed;
fn main() {
    let mut k = match KernelSide::load(Setup::default()) { Ok(k) => k, Err(e) => { println!("{e}"); std::process::exit(1) } };
    println!("loaded");
    let b = k.board();
    b.own_process.store(std::process::id(), Relaxed);
    b.cpu_count.store(4, Relaxed); b.queue_count.store(2, Relaxed);
    b.slot_count.store(SLOTS as u32, Relaxed);
    b.machine[0].store(15, Relaxed);
    b.interest.store(0xfff, Relaxed);
    for i in 1..SLOTS { k.free_slots[i-1].store(i as u64, Relaxed); }
    b.freed.store(SLOTS as u64 - 1, Relaxed);
    let t = &k.slots[0];
    for i in 0..8 { t.rate[i].store((1<<24)/1, Relaxed); t.slice[i].store(3_000_000, Relaxed); }
    t.weight.store(1024, Relaxed);
    for q in 0..2 { k.queues[q].served[0].store(15, Relaxed); k.queues[q].sleeper.store(10_000_000, Relaxed); }
    for c in 0..4 { let c = &k.cpus[c]; c.running.store(u32::MAX, Relaxed); c.last.store(u32::MAX, Relaxed); c.sibling.store(u32::MAX, Relaxed); c.adopt.store(u32::MAX, Relaxed); c.used.store(1, Relaxed);
      c.tier_count.store(1, Relaxed); c.tier_end[0].store(2, Relaxed); c.served[0].store(0, Relaxed); c.served[1].store(1, Relaxed); }
    if let Err(e) = k.attach() { println!("{e}"); std::process::exit(1) }
    println!("attached");
    let secs: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(5);
    for _ in 0..secs * 4 {
        k.board().heartbeat.store(0, Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(250));
        let mut v = vec![]; k.notes(&mut v);
        for &s in &v { if s != u32::MAX { k.slots[s as usize].pending.swap(0, Relaxed); } }
        println!("{} notes; taken {} slotless {}", v.len(), k.board().taken.load(Relaxed), k.board().slotless.load(Relaxed));
        if let Some(e) = k.ended() { println!("ended {e:?}"); return; }
    }
    println!("obey {:?}", k.obey(0));
    k.detach();
    std::thread::sleep(std::time::Duration::from_millis(250));
    println!("{:?}", k.ended());
}
