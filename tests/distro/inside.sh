#!/bin/bash
# The first process of a bare root: inside.sh ROOT COMMAND. Its mounts and all
# processes below it go when it ends.
set -eu

root=$1
command=$2
mount -t proc proc "$root/proc"
mount --rbind --make-rprivate /sys "$root/sys"
mount --rbind --make-rprivate /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
cp /etc/hosts "$root/etc/hosts"
chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /src/xylem && $command"
