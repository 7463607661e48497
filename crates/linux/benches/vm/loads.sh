#!/bin/sh
# Runs in the hybrid VM lab, and has schedulers take turns in one boot. Its first argument names
# those that have 2,000 threads at the end, its second those that have equal programs for long, its
# third those that have the barrier alone, the others all schedulers beside the kernel's own: a path
# is any sched_ext scheduler, all else is a policy of evenkeel's. One line per load and turn:
# scheduler, slash, name of the load, a colon, and what it printed. Beside times and work, which say
# little by themselves, stand those of the kernel's own scheduler: it has the turn before and the
# turn after each other.
many=$1
long=$2
brief=$3
shift 3
state=/sys/kernel/sched_ext/state

# Waits until the state is as said; no: it is not to be.
is() {
    tries=0
    until [ "$(cat $state)" = "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || return 1
        usleep 100000
    done
}

# Has a scheduler take over, and waits until it has: what that costs, seconds here, is no load's.
begin() {
    case $1 in
    kernel)
        scheduler=
        return
        ;;
    */*) "$@" >/tmp/scheduler.log 2>&1 & ;;
    *) evenkeel schedule --backend sched_ext -p "$@" >/tmp/scheduler.log 2>&1 & ;;
    esac
    scheduler=$!
    is enabled && sleep 1
}

# Gives the CPUs back to the kernel's own; no: the scheduler has not lasted.
finish() {
    [ "$1" != kernel ] || return 0
    lasted=$(cat $state)
    kill -INT $scheduler 2>/dev/null
    wait $scheduler
    is disabled
    [ "$lasted" = enabled ]
}

# User-side CPU time of the scheduler, in ticks of 10 ms.
ticks() { awk '{ print $14 + $15 }' /proc/$scheduler/stat; }

# One turn: a scheduler, and the loads that it has. Nothing is printed of one that has failed.
turn() {
    under=$1
    name=${under##*/}
    loads=$2
    case $under in
    kernel | */*) options= ;;
    # Emulated, a look takes 2 ms of a virtual core, and not some 20 us: age has to look more often
    # than its budget lets it.
    age) options="--budget 20 --speedup scales=3 --speedup waits=1" ;;
    *) options="--speedup scales=3 --speedup waits=1" ;;
    esac
    : >/tmp/turn
    if begin "$under" $options; then
        before=$([ "$under" = kernel ] || ticks)
        since=$(cut -d. -f1 /proc/uptime)
        $loads
        [ "$under" = kernel ] || echo "$name/user: $(($(ticks) - before)) $(($(cut -d. -f1 /proc/uptime) - since))" >>/tmp/turn
    fi
    if finish "$under"; then
        cat /tmp/turn
    else
        echo "$name has failed:" >&2
        tail -n 5 /tmp/scheduler.log >&2
    fi
}

load() {
    load=$1
    shift
    echo "$name/$load: $("$@" | tr '\n' ' ')" >>/tmp/turn
}

# Programs of one thread each: what acfs makes equal is the slowdown of programs, not of one
# program's threads.
alone() {
    programs=
    for _ in $(seq "$1"); do
        worker spin 1 "$2" &
        programs="$programs $!"
    done
    wait $programs
}

# Blocks of some 50 ms on a fast core, and a barrier after each.
meets() {
    load barrier worker barrier 4 20 1600
}

# Loads whose work or time is compared with the kernel's own.
compared() {
    load "spin 2" alone 2 4000
    load "spin 4" alone 4 15000
    load "spin 6" alone 6 15000
    load "spin 12" alone 12 4000
    meets
    # Two programs that scale with their cores, two threads that do not.
    load mix sh -c 'scales spin 2 4000 & waits paced 4000 & waits paced 4000 & wait'
    # Two seconds each, and single runs differ by a third.
    load hackbench sh -c 'for _ in 1 2 3 4 5; do hackbench -g 4 -f 10 -l 300; done | sed -n "s/^Time: //p" | sort -n | sed -n 3p'
}

# p50, p99 and the greatest of cyclictest's wake-ups, us, those of all four threads together: a line
# of its histogram has a latency, and how many of each thread's had it. Whatever is past its end
# counts as the greatest.
timers() {
    cyclictest -q -t 4 -i 3000 -D 4 --policy=other -h 100000 | awk '
        /^[0-9]/ { here = 0; for (at = 2; at <= NF; at++) here += $at; if (here) { latency[++lines] = $1 + 0; of[lines] = here; all += here } }
        /^# Max Latencies:/ { for (at = 4; at <= NF; at++) if ($at + 0 > greatest) greatest = $at + 0 }
        /^# Histogram Overflows:/ { for (at = 4; at <= NF; at++) all += $at }
        function quantile(part, seen, at) {
            for (at = 1; at <= lines; at++) if ((seen += of[at]) >= part * all) return latency[at]
            return greatest
        }
        END { if (all) print quantile(0.5), quantile(0.99), greatest }'
}

levels() {
    programs=
    for which in 1 2 3; do
        # By files: of whom a figure is must be known.
        worker nice 0 30000 >/tmp/high$which &
        programs="$programs $!"
        worker nice 5 30000 >/tmp/low$which &
        programs="$programs $!"
    done
    wait $programs
    cat /tmp/high* /tmp/low*
}

# Loads whose figures stand for themselves.
apart() {
    # So that the time by which acfs lets threads be apart, which is fixed, does not decide.
    case " $long " in
    *" $name "*)
        load "long 4" alone 4 30000
        load "long 6" alone 6 30000
        ;;
    esac
    # Long for the same reason.
    load nice levels
    # Wake-ups beside threads that work all the time.
    worker spin 4 90000 >/dev/null &
    beside=$!
    # Single turns differ by a factor of three: those whose wake-ups are compared have several. The
    # first two seconds are told apart, as schbench and others leave out a beginning: whoever is new
    # has yet to show that it sleeps much.
    turns=1
    case " kernel $long " in
    *" $name "*) turns=4 ;;
    esac
    for _ in $(seq $turns); do
        load wakes worker wakes 4 2000 8000
    done
    load cyclictest timers
    kill $beside
    wait $beside 2>/dev/null
}

turn kernel compared
for under; do
    loads=compared
    case " $brief " in
    *" $under "*) loads=meets ;;
    esac
    turn "$under" $loads
    turn kernel $loads
done
for under in kernel "$@"; do
    case " $brief " in
    *" $under "*) ;;
    *) turn "$under" apart ;;
    esac
done

# With the budget that everybody has by default. Only a real-time thread can measure beside 2,000
# that work.
for name in $many; do
    begin "$name" && chrt -R -f 1 worker many 2000 30000 $scheduler >/tmp/many
    if finish "$name"; then
        echo "$name/many: $(cat /tmp/many)"
    else
        dmesg | grep "sched_ext:.*failed to run" >&2
    fi
done
exit 0
