#!/bin/sh
# Starts Slurm on this machine, for tests alone: munge, a controller and one node, on 127.0.0.1, all
# of their files in target/slurm. Installs them first where it may. `setup-slurm.sh stop` ends them.
# Says in a line what is missing where it cannot; that is a failure with EVENKEEL_SLURM=required.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p target
place=$(cd target && pwd)/slurm
export SLURM_CONF="$place/slurm.conf"

missing() {
    echo "no tests of Slurm: $1"
    [ "${EVENKEEL_SLURM:-}" = required ] && exit 1
    exit 0
}
# Ends what a file names, if it is still what it was.
end() {
    pid=$(cat "$place/$1.pid" 2>/dev/null) || return 0
    case $(cat "/proc/$pid/comm" 2>/dev/null) in "$1") kill "$pid" ;; esac
    for _ in $(seq 100); do
        [ -e "/proc/$pid" ] || break
        sleep 0.1
    done
    rm -f "$place/$1.pid"
}
is_up() { timeout 10 sinfo -h -t idle,mix,alloc -o %n 2>/dev/null | grep -q . ; }

if [ "${1:-}" = stop ]; then
    end slurmctld
    end slurmd
    end munged
    exit 0
fi
[ -e "$SLURM_CONF" ] && is_up && exit 0

[ "$(id -u)" = 0 ] || missing "its daemons are root's to start"
wanted=
for tool in slurmctld slurmd sbatch munged; do
    command -v $tool >/dev/null || wanted="slurmctld slurmd slurm-client munge"
done
if [ -n "$wanted" ]; then
    command -v apt-get >/dev/null || missing "missing are $wanted"
    # Its packages start daemons of their own otherwise.
    install() {
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"
    }
    { install $wanted || { apt-get -q update && install $wanted; }; } >"$place.log" 2>&1 ||
        missing "apt does not install $wanted ($place.log says why)"
fi

# What an earlier one has left is of no use to anybody.
"$0" stop
rm -rf "$place"
mkdir -p "$place/state" "$place/spool" || exit 1
head -c 128 /dev/urandom >"$place/munge.key"
chmod 600 "$place/munge.key"
# Checkouts on one machine take ports of their own.
port=$((20000 + $(echo "$place" | cksum | cut -d ' ' -f 1) % 10000))
host=$(hostname -s)
cat >"$SLURM_CONF" <<END
ClusterName=evenkeel
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$place/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
MinJobAge=2
KillWait=1
MessageTimeout=5
# More CPUs than there may be: tests wait more than they compute.
SlurmdParameters=config_overrides
NodeName=evenkeel NodeHostname=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=60
END
{
    munged --force --socket="$place/munge.socket" --key-file="$place/munge.key" \
        --pid-file="$place/munged.pid" --log-file="$place/munged.log" \
        --seed-file="$place/munge.seed" && slurmctld -c && slurmd -c -N evenkeel
} >"$place/start.log" 2>&1 || missing "it does not start ($place/*.log say why)"
for _ in $(seq 100); do
    is_up && exit 0
    sleep 0.2
done
missing "its node does not come up ($place/*.log say why)"
