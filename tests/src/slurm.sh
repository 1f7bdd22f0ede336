# Runs a cluster in the namespaces that it is started in, until its standard input ends.
#
#     unshare --net --pid --mount --uts --fork --mount-proc --kill-child sh -c THIS slurm FOLDER KEEP...
#
# FOLDER has `slurm.conf`, `mpi.conf` and `hosts`. `/tmp` is empty but for KEEP, folders below it. Each node has its own network, mounts and host name; all see the same files. The
# programs of a user run beside the controller, on the host `login`. FOLDER/up appears when all
# daemons are started.

dir=$1
shift
exec 3<&0 </dev/null
set -e

# A fresh /tmp. What must stay is bound into it first: afterwards its old path is out of sight.
mkdir "$dir/tmp"
mount -t tmpfs -o mode=1777 tmp "$dir/tmp"
for keep; do
    mkdir -p "$dir/tmp${keep#/tmp}"
    mount --bind "$keep" "$dir/tmp${keep#/tmp}"
done
mount --rbind "$dir/tmp" /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
mount --bind "$dir/hosts" /etc/hosts

hostname login
ip link set lo up
ip link add name nodes type bridge
ip addr add 10.99.0.254/24 dev nodes
ip link set nodes up
slurmctld -D -f "$dir/slurm.conf" >"$dir/slurmctld.out" 2>&1 &

# The network card of a node is put into its network from outside; until then the node waits.
# Each slurmd has the same spool path in mounts of its own: the plugin for PMIx takes the path
# as it is written, without the name of the node.
node='
    set -e
    read -r _ <"$1/$2/go"
    hostname "$2"
    ip link set lo up
    ip addr add "$3/24" dev eth0
    ip link set eth0 up
    mount -t tmpfs -o mode=1777 shm /dev/shm
    mount --bind "$1/$2" "$1/spool"
    echo $$ >"$1/spool/pid"
    exec slurmd -D -N "$2" -f "$1/slurm.conf"
'
for number in 1 2 3; do
    name=n$number
    mkdir "$dir/$name"
    mkfifo "$dir/$name/go"
    unshare --net --mount --uts sh -c "$node" node "$dir" "$name" "10.99.0.$number" \
        >"$dir/$name.out" 2>&1 &
    while [ "$(readlink "/proc/$!/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do
        sleep 0.01
    done
    ip link add "$name" type veth peer name eth0 netns "$!"
    ip link set "$name" master nodes up
    echo go >"$dir/$name/go"
done
: >"$dir/up"

# The first process of the namespaces collects those whose parents have ended.
cat <&3 >/dev/null &
wait $! || :
