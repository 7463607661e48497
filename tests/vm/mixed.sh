#!/bin/sh
# In the lab: each policy that is named schedules a mixed load for so many seconds, and leaves the
# machine to the kernel. Prints a line per policy: its name and "ok", or what went wrong.
#
#   mixed.sh SECONDS WATCHDOG POLICY...
seconds=$1
watchdog=$2
shift 2
ms=$((seconds * 1000))
state=/sys/kernel/sched_ext/state

# Threads that always work, sleepers, pipes, a fork storm, nice levels, threads bound to a CPU, a
# real-time thread.
load() {
    worker spin 3 $ms >/tmp/spin &
    worker crowd 20 $ms &
    worker pipes 3 $ms >/tmp/pipes &
    worker forks $ms >/tmp/forks &
    worker nice 0,5,19,-5 $ms >/tmp/nice &
    for cpu in $(seq 0 $(($(nproc) - 1))); do
        taskset -c "$cpu" worker spin 1 $ms >"/tmp/bound$cpu" &
    done
    chrt -f 10 worker crowd 1 $ms &
}

is() {
    for _ in $(seq 400); do
        [ "$(cat $state)" = "$1" ] && return
        usleep 100000
    done
    return 1
}

judge() {
    is enabled || { echo "did not begin: $(tail -n 3 /tmp/evenkeel)"; return; }
    load
    sleep "$seconds"
    [ "$(cat $state)" = enabled ] || { echo "ended early: $(tail -n 3 /tmp/evenkeel)"; return; }
    kill -INT $1
    wait $1 || { echo "exit code $?: $(tail -n 3 /tmp/evenkeel)"; return; }
    is disabled || { echo "not unloaded"; return; }
    # What the load still has to do it can do under the kernel's own scheduler.
    wait
    for did in spin pipes forks nice bound*; do
        for file in /tmp/$did; do
            # Everybody had some of the machine.
            awk 'NF && $1 > 0 { some++ } { all++ } END { exit !(all && some == all) }' "$file" || { echo "${file#/tmp/} got nothing done"; return; }
        done
    done
    echo ok
}

# The lab has no power model, and some policies go by one: as of some big and little cores.
sed -e 's/^operating_points/idle_power_w = 0.01\n&/' -e '/"fast"/,/^]/ s/capacity = [0-9.]*/&, power_w = 1.6, cluster_power_w = 0.4/' \
    -e '/"slow"/,/^]/ s/capacity = [0-9.]*/&, power_w = 0.14, cluster_power_w = 0.1/' "$EVENKEEL_MACHINE" >/tmp/powered.toml

for policy in "$@"; do
    dmesg -c >/dev/null
    rm -f /tmp/spin /tmp/pipes /tmp/forks /tmp/nice /tmp/bound*
    evenkeel schedule --backend sched_ext --watchdog "${watchdog}s" -p "$policy" --machine /tmp/powered.toml >/tmp/evenkeel 2>&1 &
    # Not in a subshell, which has no children to wait for.
    judge $! >/tmp/verdict
    echo "$policy: $(cat /tmp/verdict)"
    # Where it went wrong, the next one finds the machine as this one did.
    killall worker evenkeel 2>/dev/null
    wait
    is disabled || echo "$policy: the machine is not the kernel's again"
    # With the reason, which may be any words.
    dmesg | grep 'sched_ext: ' | grep -v 'enabled$\|(unregistered from user space)$'
done
exit 0
