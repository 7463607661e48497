# Runs in the hybrid VM lab: systemd, in namespaces of its own, starts the unit as a machine would
# at boot.
sched_ext=/sys/kernel/sched_ext/state
machine=/new

# systemd mounts and moves roots, which the first file system in memory does not let it.
mkdir -p $machine
mount -t tmpfs tmpfs $machine
for folder in bin lib lib64 usr etc sbin; do [ ! -e /$folder ] || cp -a /$folder $machine/; done
mkdir -p $machine/proc $machine/sys $machine/dev $machine/run $machine/tmp $machine/var/tmp $machine/root $machine/home
mount --rbind /sys $machine/sys
mount --rbind /dev $machine/dev
mount -t tmpfs tmpfs $machine/run

units=$machine/etc/systemd/system
echo 0123456789abcdef0123456789abcdef >$machine/etc/machine-id
for target in sysinit basic multi-user shutdown; do printf '[Unit]\nDescription=%s\n' $target >$units/$target.target; done
printf '[Unit]\nDescription=boot\nWants=evenkeel.service\n' >$units/default.target
unshare -m -p -f chroot $machine /bin/sh -c \
    'mount -t proc proc /proc; container=lab exec /usr/lib/systemd/systemd --system --log-target=console --show-status=no' >/tmp/systemd.log 2>&1 &

is() {
    for _ in $(seq 60); do
        [ "$(cat $sched_ext)" = "$1" ] && return
        sleep 1
    done
    cat /tmp/systemd.log >&2
    echo "sched_ext is not $1" >&2
    exit 1
}

is enabled
echo "enabled"
pid=$(pidof evenkeel)
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/"$pid"/status | tr '\t' ' '
worker spin 4 3000 >/tmp/units && [ "$(wc -l </tmp/units)" = 4 ] && echo "four threads have run"
echo "# another's journal" >$machine/run/evenkeel/another
kill -9 "$pid"
is disabled
is enabled
[ "$(pidof evenkeel)" != "$pid" ] && echo "started again after kill -9"
echo S >/proc/sysrq-trigger
is disabled
sleep 5
[ "$(cat $sched_ext)" = disabled ] && echo "stays ended after Alt-SysRq-S"
nsenter -t "$(pidof systemd)" -m -p -r /usr/bin/systemctl start evenkeel.service || cat /tmp/systemd.log >&2
is enabled
kill -INT "$(pidof evenkeel)"
is disabled
sleep 5
[ "$(cat $sched_ext)" = disabled ] && echo "stays ended after SIGINT"
[ -e $machine/run/evenkeel/another ] && echo "others' files are there still"
