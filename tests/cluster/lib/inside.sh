# What the first processes of the head node and of the nodes share; sourced.
# shellcheck shell=bash disable=SC2154 # cluster_dir

# Mounts from here on stay in this namespace. In a chroot / may be no mount, so
# that what lies below it can only be told from outside of the chroot, where
# entering the own namespace leads.
keep_mounts()
{
    mount --make-rprivate / 2>/dev/null ||
        nsenter --mount=/proc/self/ns/mnt mount --make-rprivate /
}

# Sets outer_pid: this process as those count who made its namespace. /proc is
# theirs until mount_own.
find_outer_pid()
{
    local rest

    # shellcheck disable=SC2034 # used by the scripts that source this
    read -r outer_pid rest </proc/self/stat
}

# What must be the node's own: /sys lists the network's interfaces.
mount_own()
{
    mount -t proc proc /proc &&
        mount -t sysfs sysfs /sys &&
        mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
        mount -t tmpfs -o mode=1777 tmpfs "$cluster_dir/tmp"
}

# A machine has an identity of its own per boot, and so have the nodes: by it
# programs tell whom they share memory with.
mount_boot_id()
{
    local id=/proc/sys/kernel/random

    cat $id/uuid >"$cluster_dir/tmp/boot_id" &&
        mount --bind "$cluster_dir/tmp/boot_id" $id/boot_id
}

# A small system may have no /etc/hosts to put another one on.
mount_hosts()
{
    if [[ ! -e /etc/hosts ]]; then
        cp -a /etc "$cluster_dir/tmp/etc" && : >"$cluster_dir/tmp/etc/hosts" &&
            mount --bind "$cluster_dir/tmp/etc" /etc || return
    fi
    mount --bind "$cluster_dir/hosts" /etc/hosts
}

# Stays for as long as the node does. Bash waits for the orphans, too.
stay()
{
    sleep infinity &
    wait
}
