#!/bin/busybox sh
# The guest's first process. It gets the system ready, says so, waits until its cores are as slow as
# they are to be, runs the command, says how that ended, and sends the files asked for. What it runs
# and sends is in /etc/evenkeel.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root TERM=dumb

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s "/proc/self/${name#*:}" "/dev/${name%%:*}"; done
hostname lab
ip link set lo up
ulimit -l unlimited
ulimit -c 0

# Ports are there some time after the kernel is.
control= files= out= err=
while [ -z "$control" ] || [ -z "$files" ] || [ -z "$out" ] || [ -z "$err" ]; do
    for port in /sys/class/virtio-ports/*; do
        read -r name <"$port/name" && [ -c "/dev/${port##*/}" ] || continue
        case $name in
            evenkeel.control) control=/dev/${port##*/} ;;
            evenkeel.files) files=/dev/${port##*/} ;;
            evenkeel.stdout) out=/dev/${port##*/} ;;
            evenkeel.stderr) err=/dev/${port##*/} ;;
        esac
    done
done 2>/dev/null

# A port can be opened once only, and programs open /dev/stdout: so they get a pipe.
mkdir -p /run/evenkeel
mkfifo /run/evenkeel/stdout /run/evenkeel/stderr
cat /run/evenkeel/stdout >"$out" &
first=$!
cat /run/evenkeel/stderr >"$err" &
second=$!

exec 3<>"$control"
echo up >&3
# What sleeps on a core whose clock does not tick never wakes. The host then waits in vain for the
# next line, and boots once more.
sleepers=
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
    taskset -c "${cpu##*/cpu}" usleep 1000 &
    sleepers="$sleepers $!"
done
wait $sleepers
echo ready >&3
read -r _ <&3
# From here on the console has all that the kernel says.
dmesg -n 8

( exec 3>&-; . /etc/evenkeel/environment; cd / && exec sh /etc/evenkeel/command ) \
    </dev/null >/run/evenkeel/stdout 2>/run/evenkeel/stderr
echo "exit $?" >&3
read -r _ <&3

# Whoever the command has left behind may hold its output open.
waits=0
while [ $waits -lt 50 ] && { kill -0 $first || kill -0 $second; } 2>/dev/null; do
    usleep 20000
    waits=$((waits + 1))
done
( cd / && sh /etc/evenkeel/files ) >"$files" 2>/dev/null
echo done >&3
poweroff -f
