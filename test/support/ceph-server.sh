#!/usr/bin/env bash
# ceph-server.sh <directory> <port> <port of the monitor> [<root>]: a Ceph of one node with its S3 gateway on loopback,
# from the packages of the system, or from those that were unpacked below <root>. The users ldm, laptop and keeper have keys
# such as ldmkey and ldmsecret0123456789, and there is the storage class STANDARD_IA. It runs until its standard input ends.
# `kill` in a line there kills the gateway with SIGKILL, `start` starts it again. Prints `ready` or `killed` when that is
# done. No manager is needed.
set -euo pipefail
directory=$1 port=$2 monitor_port=$3 root=${4:-}
if [ -n "$root" ] && [ -z "${CEPH_MOUNTED:-}" ]; then
  # Seen by these processes only, and gone with them.
  CEPH_MOUNTED=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
for name in proc dev dev/shm; do [ -z "$root" ] || mount --bind "/$name" "$root/$name"; done

export CEPH_CONF=$directory/ceph.conf CEPH_ARGS=
pids=()
run() { if [ -n "$root" ]; then chroot "$root" "$@"; else "$@"; fi; }
start() {
  local name=$1
  shift
  if [ -n "$root" ]; then chroot "$root" "$@" >"$directory/$name.out" 2>&1 </dev/null &
  else "$@" >"$directory/$name.out" 2>&1 </dev/null & fi
  pids+=($!)
}
stop() {
  kill -9 "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$directory"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

mkdir -p "$directory"/{mon,osd,run}
cluster=$(cat /proc/sys/kernel/random/uuid)
cat >"$CEPH_CONF" <<CONF
[global]
fsid = $cluster
mon host = [v2:127.0.0.1:$monitor_port]
ms bind msgr1 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
run dir = $directory/run
admin socket = $directory/run/\$name.asok
log file = $directory/\$name.log
log to stderr = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
paxos propose interval = 0.02
paxos min wait = 0.02
[mon.a]
mon data = $directory/mon
public addr = 127.0.0.1:$monitor_port
[osd.0]
osd data = $directory/osd
osd objectstore = bluestore
bluestore block size = 4294967296
bluestore block create = true
bluestore fsck on mkfs = false
bluestore fsck on mount = false
osd mclock skip benchmark = true
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw thread pool size = 32
CONF

run monmaptool --create --fsid "$cluster" --addv a "[v2:127.0.0.1:$monitor_port]" "$directory/monmap" >/dev/null
run ceph-mon -i a --mkfs --monmap "$directory/monmap"
start mon ceph-mon -i a -f
run timeout 60 ceph -s >/dev/null
disk=$(cat /proc/sys/kernel/random/uuid)
run ceph osd new "$disk" >/dev/null
run ceph-osd -i 0 --mkfs --osd-uuid "$disk" >/dev/null 2>&1
start osd ceph-osd -i 0 -f

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
start_gateway() {
  start rgw radosgw -n client.rgw -f
  gateway=$!
  until answers; do
    kill -0 "$gateway" 2>/dev/null || { cat "$directory/rgw.out" >&2; exit 1; }
    sleep 0.05
  done
}
administer() { run radosgw-admin "$@" >"$directory/admin.out" 2>&1 || { cat "$directory/admin.out" >&2; exit 1; }; }
for user in ldm laptop keeper; do
  administer user create --uid=$user --display-name=$user --access-key=${user}key --secret-key=${user}secret0123456789
done
# The gateway reads it when it starts.
administer zonegroup placement add --rgw-zonegroup default --placement-id default-placement --storage-class STANDARD_IA
administer zone placement add --rgw-zone default --placement-id default-placement --storage-class STANDARD_IA \
  --data-pool default.rgw.rare.data
start_gateway
echo "ready $(run radosgw --version | head -1)"
while read -r command; do
  case $command in
    kill) kill -9 "$gateway" && wait "$gateway" 2>/dev/null || true; echo killed ;;
    start) start_gateway; echo ready ;;
  esac
done
