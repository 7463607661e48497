#!/bin/sh
# Runs in the hybrid VM lab, under the scheduler that its argument names: "kernel" is the kernel's own, a path is any sched_ext scheduler, all
# else is a policy of evenkeel's. One line per load: its name, a colon, and what it printed.
under=$1
# "many": also beside 2,000 threads, which takes minutes.
many=$2
factors="--speedup scales=3 --speedup waits=1"
state=/sys/kernel/sched_ext/state

case $under in
kernel) ;;
*/*) "$under" >/tmp/scheduler.log 2>&1 & ;;
# Emulated, a look takes 2 ms of a virtual core, and not some 20 us: age has to look more often than its budget lets it.
age) evenkeel schedule --backend sched_ext -p age --budget 20 $factors >/tmp/scheduler.log 2>&1 & ;;
*) evenkeel schedule --backend sched_ext -p "$under" $factors >/tmp/scheduler.log 2>&1 & ;;
esac
scheduler=$!

# Waits until the state is as said.
is() {
    tries=0
    until [ "$(cat $state)" = "$1" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ]; then
            cat /tmp/scheduler.log >&2
            echo "under $under sched_ext is not $1" >&2
            exit 1
        fi
        usleep 100000
    done
}

if [ "$under" != kernel ]; then
    is enabled
    sleep 1
fi

# User-side CPU time of the scheduler, in ticks of 10 ms.
ticks() { if [ "$under" = kernel ]; then echo 0; else awk '{ print $14 + $15 }' /proc/$scheduler/stat; fi; }

# Loading costs more than minutes of scheduling.
begun=$(ticks)

# What the four CPUs can do at most just now: a thread bound to each. The host's speed changes from minute to minute, so that what a load
# comes to says little without what there was to be had.
capacity() { worker capacity 0,1,2,3 1200; }

had=$(capacity)
load() {
    name=$1
    shift
    echo "$name: $("$@" | tr '\n' ' ')"
    before=$had
    had=$(capacity)
    echo "$name capacity: $before $had"
}

# Programs of one thread each: what acfs makes equal is the slowdown of programs, not of one program's threads.
alone() {
    count=$1
    ms=$2
    for _ in $(seq "$count"); do worker spin 1 "$ms" & done
    wait
}

# Long enough that neither the time by which acfs lets threads be apart, which is fixed, nor a second of a slower host decides.
load "spin 2" alone 2 6000
load "spin 4" alone 4 30000
load "spin 6" alone 6 30000
load "spin 12" alone 12 6000
levels() {
    for which in 1 2 3; do
        # By files: of whom a figure is must be known.
        worker nice 0 30000 >/tmp/high$which &
        worker nice 5 30000 >/tmp/low$which &
    done
    wait
    cat /tmp/high* /tmp/low*
}
load nice levels
# Blocks of some 50 ms on a fast core.
load barrier worker barrier 4 40 540
# Two programs that scale with their cores, two threads that do not.
load mix sh -c 'scales spin 2 5000 & waits paced 5000 & waits paced 5000 & wait'
load hackbench sh -c 'hackbench -g 4 -f 10 -l 300 | sed -n "s/^Time: //p"'
# Wake-ups beside threads that work all the time.
worker spin 4 26000 >/dev/null &
beside=$!
load wakes worker wakes 4 15000
load cyclictest sh -c 'cyclictest -q -t 4 -i 3000 -D 5 --policy=other -h 1 | sed -n "s/^# Max Latencies: //p"; true'
kill $beside 2>/dev/null
wait $beside 2>/dev/null
[ "$under" = kernel ] || [ "$(cat $state)" = enabled ] || { tail -n 5 /tmp/scheduler.log >&2; echo "$under has ended" >&2; exit 1; }
echo "ticks: $(($(ticks) - begun)) $(cut -d. -f1 /proc/uptime)"
[ "$under" = kernel ] || { kill -INT $scheduler; wait $scheduler; }
[ "$many" ] || exit 0

# With the budget that everybody has by default. Only a real-time thread can measure beside 2,000 that work.
is disabled
evenkeel schedule --backend sched_ext -p "$under" >/tmp/scheduler.log 2>&1 &
scheduler=$!
is enabled
sleep 1
chrt -R -f 1 worker many 2000 15000 $scheduler >/tmp/many
if [ "$(cat $state)" = enabled ]; then
    echo "many: $(cat /tmp/many)"
    kill -INT $scheduler
    wait $scheduler
else
    dmesg | grep "sched_ext:.*failed to run" >&2
fi
exit 0
