#!/bin/bash
# Stands in for ssh under mpirun on the head node: agent.sh [-OPTION]... HOST
# COMMAND...
set -u
# shellcheck source=tests/cluster/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

while [[ ${1-} == -* ]]; do
    shift
done
host=$1
shift
[[ $host != "$cluster_net".* ]] || host=n$((${host##*.} - 1))
read -r pid <"$cluster_dir/pid.${host#n}" || fail "there is no node $host"
exec "${enter[@]}" --target "$pid" -- env -C "$PWD" -- /bin/sh -c "$*"
