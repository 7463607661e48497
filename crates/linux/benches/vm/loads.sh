#!/bin/sh
# Runs in the hybrid VM lab, under the scheduler that its argument names: "kernel" is the kernel's own, a path is any sched_ext scheduler, all
# else is a policy of evenkeel's. One line per load: its name, a colon, and what it printed.
under=$1
factors="--speedup scales=3 --speedup waits=1"
state=/sys/kernel/sched_ext/state

case $under in
kernel) ;;
*/*) "$under" >/tmp/scheduler.log 2>&1 & ;;
*) evenkeel schedule --backend sched_ext -p "$under" $factors >/tmp/scheduler.log 2>&1 & ;;
esac
scheduler=$!
if [ "$under" != kernel ]; then
    tries=0
    until [ "$(cat $state)" = enabled ]; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ]; then
            cat /tmp/scheduler.log >&2
            echo "$under did not begin" >&2
            exit 1
        fi
        usleep 100000
    done
    sleep 1
fi

load() {
    name=$1
    shift
    echo "$name: $("$@" | tr '\n' ' ')"
}

for threads in 2 4 6 12; do
    load "spin $threads" worker spin $threads 5000
done
# Blocks of some 50 ms on a fast core.
load barrier worker barrier 4 40 540
# Two programs that scale with their cores, two threads that do not.
load mix sh -c 'scales spin 2 5000 & waits paced 5000 & waits paced 5000 & wait'
load hackbench sh -c 'hackbench -g 4 -f 10 -l 300 | sed -n "s/^Time: //p"'
# Wake-ups beside threads that work all the time.
worker spin 4 16000 >/dev/null &
beside=$!
load wakes worker wakes 4 5000
load cyclictest sh -c 'cyclictest -q -t 4 -i 3000 -D 5 --policy=other -h 1 | sed -n "s/^# Max Latencies: //p"; true'
kill $beside 2>/dev/null
wait $beside 2>/dev/null
if [ "$under" != kernel ]; then
    [ "$(cat $state)" = enabled ] || { cat /tmp/scheduler.log >&2; dmesg | grep -i sched_ext >&2; echo "$under has ended" >&2; exit 1; }
    # User-side CPU time of the scheduler, in ticks of 10 ms.
    echo "ticks: $(awk '{ print $14 + $15 }' /proc/$scheduler/stat)"
    kill -INT $scheduler
    wait $scheduler
fi
exit 0
