#!/usr/bin/env bash
# A Slurm of its own on one machine, for tests: munge, a controller and several nodes inside one folder.
# Nothing in /etc is read or changed, and only processes of this folder's cluster are ever ended.
#
#   tools/slurm-local.sh start DIR [NODES=4] [CPUS=2]    then: . DIR/env
#   tools/slurm-local.sh stop DIR
#   tools/slurm-local.sh slurmd DIR NODE                 starts a node's daemon again
#
# Needs Debian's slurm-wlm and munge (their build lets several nodes share a host). DIR must be short:
# a socket's path has under 108 bytes.
set -euo pipefail
command="${1:?start, stop or slurmd}"
folder="$(realpath -m "${2:?which folder}")"
sbin=/usr/sbin

# A zombie counts as ended.
alive() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# TERM, up to five seconds, then KILL.
end_process() {
  kill "$1" 2>/dev/null || return 0
  for _ in $(seq 50); do
    alive "$1" || return 0
    sleep 0.1
  done
  kill -9 "$1" 2>/dev/null || true
}

# Processes of this folder's cluster, known by the variable that leads to its configuration: those of
# jobs ($1 = job), or the daemons that watch over jobs ($1 = stepd).
ours() {
  local environment pid
  for environment in $(grep -lszxF "SLURM_CONF=$folder/conf/slurm.conf" /proc/[0-9]*/environ || true); do
    pid=${environment//[^0-9]/}
    case $1/$(readlink "/proc/$pid/exe" || true) in
      stepd/*slurmstepd*) echo "$pid" ;;
      job/*slurm*) ;;
      job/*) ! grep -qsz '^SLURM_JOB_ID=' "$environment" || echo "$pid" ;;
    esac
  done
}

stop() {
  local file pid
  for pid in $(ours job); do kill -9 "$pid" 2>/dev/null || true; done
  for file in "$folder"/run/slurmctld.pid "$folder"/run/slurmd-*.pid "$folder"/run/munged.pid; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    rm -f "$file"
    # The number may belong to somebody else by now.
    case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" || true) in
      *"$folder/"*) end_process "$pid" ;;
    esac
  done
  for pid in $(ours stepd) $(ours job); do kill -9 "$pid" 2>/dev/null || true; done
}

node() { SLURM_CONF=$folder/conf/slurm.conf $sbin/slurmd -f "$folder/conf/slurm.conf" -N "$1"; }

# The first of a row of ports on which nobody listens.
free_ports() {
  local base i
  for base in $(seq $((20000 + $$ % 180 * 64)) 64 32000); do
    for i in $(seq 0 "$1"); do
      (: <"/dev/tcp/127.0.0.1/$((base + i))") 2>/dev/null && continue 2
    done
    echo "$base"
    return
  done
}

configure() { # nodes, cpus, first port
  local host user i
  host=$(hostname -s)
  user=$(id -un)
  cat >"$folder/conf/slurm.conf" <<CONF
ClusterName=t$3
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$3
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
# Credentials that live long keep a requeued job waiting; a busy machine needs some seconds to use one.
AuthInfo=socket=$folder/run/munge.sock,cred_expire=15
MessageTimeout=100
StateSaveLocation=$folder/state/ctld
SlurmdSpoolDir=$folder/state/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$folder/log/jobcomp.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=120
KillWait=5
MinJobAge=3600
MaxArraySize=1001
MpiDefault=none
MailProg=/bin/true
PartitionName=main Nodes=n[0-$(($1 - 1))] Default=YES MaxTime=INFINITE State=UP
CONF
  for i in $(seq 0 $(($1 - 1))); do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$(($3 + 1 + i)) CPUs=$2 RealMemory=16000"
  done >>"$folder/conf/slurm.conf"
  # 22.05 knows no way to do without.
  echo CgroupPlugin=cgroup/v1 >"$folder/conf/cgroup.conf"
}

start() { # nodes, cpus
  local nodes=$1 i
  stop
  rm -rf "$folder"/{conf,run,log,state,munge}
  mkdir -p "$folder"/{conf,run,log,state,munge}
  chmod 0700 "$folder/munge"
  head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 0400 "$folder/munge/key"
  $sbin/munged --num-threads=2 --key-file="$folder/munge/key" --socket="$folder/run/munge.sock" \
    --pid-file="$folder/run/munged.pid" --log-file="$folder/munge/munged.log" --seed-file="$folder/munge/seed"
  configure "$nodes" "$2" "$(free_ports "$nodes")"
  export SLURM_CONF=$folder/conf/slurm.conf
  echo "export SLURM_CONF=$SLURM_CONF" >"$folder/env"
  $sbin/slurmctld -f "$SLURM_CONF"
  for i in $(seq 0 $((nodes - 1))); do
    node "n$i" || { tail "$folder/log/slurmd-n$i.log" >&2; stop; exit 1; }
  done
  for i in $(seq 3000); do
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" != "$nodes" ] || return 0
    sleep 0.2
  done
  echo "the nodes are not idle after ten minutes" >&2
  sinfo >&2 || true
  stop
  exit 1
}

case $command in
  start) start "${3:-4}" "${4:-2}" ;;
  stop) stop ;;
  slurmd) node "${3:?which node}" ;;
  *) exit 2 ;;
esac
