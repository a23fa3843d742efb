#!/bin/bash
# Packs the release build with every shared library and plugin that it needs,
# so that the benchmarks and their rivals run on an x86-64 Linux machine on
# which none of them is installed. Only the C library is the machine's own: at
# least of the version with which this was built (the script prints it).
#
#   bench/bundle.sh [--no-build] [--peers]
#
#   --no-build   take build/release as it is
#   --peers      also the MPI libraries that bench/peers.sh makes
#
# Writes build/bundle/ and build/bundle.tar.gz. Unpack anywhere, then:
#
#   bundle/selftest.sh
#   bundle/run-in-bundle.sh xylem-noise -c bcast
#   bundle/run-in-bundle.sh mpirun.openmpi -n 4 xylem-mpi-driver-openmpi
#   bundle/run-in-bundle.sh mpirun.mpich -n 4 -genv LD_PRELOAD \
#       libxylem-mpi.so xylem-mpi-overlap-mpich
#   bundle/run-in-bundle.sh mpirun.intel -n 4 xylem-mpi-driver-mpich
#   bundle/run-in-bundle.sh compare.sh -c bcast --impls xylem,mpich5,intel
#   bundle/run-in-bundle.sh predict.sh
#   bundle/run-in-bundle.sh retune.sh --np 16,32
#   bundle/run-in-bundle.sh retune.sh --cluster 4,4 --table FILE
#   bundle/run-in-bundle.sh tune.sh --parts table --seconds 500
#   bundle/run-in-bundle.sh apps.sh --seconds 200
#
# An MPI, or an application of others, that is not installed here is left out.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
release=build/release
bundle=build/bundle
system=/usr/lib/x86_64-linux-gnu
# Open MPI looks for its plugins here, below the prefix it is told.
openmpi_plugins=lib/x86_64-linux-gnu/openmpi/lib/openmpi3

programs=(launcher/xylem-run bench/xylem-bench bench/xylem-noise
    bench/tune/xylem-tune bench/xylem-info simulator/xylem-sim bench/bench_copy
    bench/xylem-mpi-{driver,overhead,overlap,vectors}-{openmpi,mpich}
    bench/xylem-{asp,train,cg,fft}{,-openmpi,-mpich})
openmpi_programs=(orterun orted)
mpich_programs=(mpiexec.hydra hydra_pmi_proxy)
cluster_programs=(ip tc nft) # for tests/cluster/run.sh

# The machine's own: mixing versions of these with its loader cannot work.
libc_pattern='^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nss_.*))\.so'
# What serves hardware and interfaces that no measurement here uses.
unused_plugins='mca_((btl|mtl)_(ofi|openib|psm2?)|(spml|scoll|sshmem)_.*'
unused_plugins+='|memheap_.*|atomic_.*|sharedfp_.*|fcoll_.*|fbtl_.*|fs_.*'
unused_plugins+='|io_.*|.*_monitoring|vprotocol_.*|schizo_(flux|jsm)'
unused_plugins+='|pmix_flux|plm_slurm|ras_.*)\.so'

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' bench/bundle.sh
}

fail()
{
    printf 'bundle.sh: %s\n' "$1" >&2
    exit 1
}

build_release()
{
    [[ -f $release/build.ninja ]] ||
        meson setup "$release" --buildtype release -Db_lto=true -Dtests=false
    ninja -C "$release"
}

# Copies files as themselves, not as links, without their debug information.
place()
{
    local folder=$bundle/$1 file
    shift

    mkdir -p "$folder"
    for file; do
        cp -L "$file" "$folder/"
        chmod u+w "$folder/${file##*/}"
        strip --strip-unneeded "$folder/${file##*/}" 2>/dev/null || true
    done
}

place_programs()
{
    local program

    for program in "${programs[@]}"; do
        if [[ -x $release/$program ]]; then
            place bin "$release/$program"
        else
            echo "$program is not built; the bundle will not have it"
        fi
    done
    for program in "$release"/bench/bench_* "$release"/bench/cuda/*; do
        [[ ! -f $program || ! -x $program ]] || place bin "$program"
    done
    for program in "$release"/examples/*; do
        [[ ! -f $program || ! -x $program ]] || place bin "$program"
    done
    [[ ! -x $bundle/bin/xylem-sim ]] || place bin bench/studies/{predict,tune}.sh
    mkdir -p "$bundle/share/machines"
    cp simulator/machines/*.json "$bundle/share/machines/"
    place bin bench/compare.sh bench/studies/retune.sh bench/mpi/apps.sh
    place common bench/common/{results,quiet}.sh bench/common/compare.awk
    program=$release/bench/libxylem-noise.so
    [[ ! -f $program ]] || place lib "$program"
    place lib "$release"/libxylem.so.0 "$release"/bindings/mpi/*.so
    program=$release/progress/exec/cuda/library/libxylem-cuda.so.0
    [[ ! -f $program ]] || place lib "$program"
    for program in "$release"/tests/{calls,device_aborts,device_levels}; do
        [[ ! -x $program ]] || place bin "$program" # for gpu.sh
    done
    place bin bench/gpu.sh
    ln -s libxylem.so.0 "$bundle/lib/libxylem.so"
}

place_openmpi()
{
    local plugin program plugins=$system/openmpi/lib/openmpi3

    if ! command -v orterun >/dev/null || [[ ! -d $plugins ]]; then
        echo "Open MPI is not installed here; the bundle will not have it"
        return
    fi
    for program in "${openmpi_programs[@]}"; do
        place bin "$(command -v "$program")"
    done
    ln -s orterun "$bundle/bin/mpirun.openmpi"
    for plugin in "$plugins"/mca_*.so; do
        [[ ${plugin##*/} =~ ^$unused_plugins$ ]] ||
            place "$openmpi_plugins" "$plugin"
    done
    mkdir -p "$bundle/share" "$bundle/etc/openmpi"
    cp -rL /usr/share/openmpi "$bundle/share/"
    # The machine's own file might name plugins that are not in the bundle.
    : >"$bundle/etc/openmpi/openmpi-mca-params.conf"
    : >"$bundle/etc/openmpi/openmpi-default-hostfile"
}

place_mpich()
{
    local program

    if ! command -v mpiexec.hydra >/dev/null; then
        echo "MPICH is not installed here; the bundle will not have it"
        return
    fi
    for program in "${mpich_programs[@]}"; do
        place bin "$(command -v "$program")"
    done
    ln -s mpiexec.hydra "$bundle/bin/mpirun.mpich"
}

# Programs that others wrote, for apps.sh.
place_apps()
{
    local mpi

    [[ ! -x /usr/bin/hpcc ]] || place apps/hpcc /usr/bin/hpcc
    [[ ! -f /usr/share/doc/hpcc/examples/_hpccinf.txt ]] ||
        place apps /usr/share/doc/hpcc/examples/_hpccinf.txt
    [[ ! -x /usr/lib/mumps/dsimpletest ]] ||
        place apps/mumps /usr/lib/mumps/dsimpletest
    for mpi in openmpi mpich; do
        [[ ! -x $system/scalapack/$mpi-tests/xdlu ]] ||
            place "apps/$mpi" "$system/scalapack/$mpi-tests/xdlu"
    done
}

place_peers()
{
    bash bench/peers.sh
    cp -a build/peers "$bundle/peers"
}

place_cluster()
{
    local program

    for program in "${cluster_programs[@]}"; do
        program=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program") ||
            continue
        place bin "$program"
    done
    mkdir -p "$bundle/tests"
    cp -r tests/cluster "$bundle/tests/"
}

# Modules that are opened by name when needed, which ldd does not see.
place_modules()
{
    local module

    for module in "$system"/ucx/libuct_*.so.0; do
        place lib/ucx "$module"
        ln -s "${module##*/}" "$bundle/lib/ucx/$(basename "$module" .0)"
    done
    mkdir -p "$bundle/lib/hwloc" "$bundle/pmix/lib/pmix" "$bundle/pmix/share"
    for module in "$system"/pmix2/lib/pmix/*.so; do
        [[ ! -f $module ]] || place pmix/lib/pmix "$module"
    done
    cp -rL "$system/pmix2/share/pmix" "$bundle/pmix/share/"
}

# Every library that anything in the bundle is linked with.
place_libraries()
{
    local library

    find "$bundle" -path "$bundle/peers" -prune -o -type f \
        \( -path '*/bin/*' -o -path '*/apps/*' -o -name '*.so*' \) \
        ! -name '*.sh' ! -name '*.txt' -exec ldd {} + 2>/dev/null |
        awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        while read -r library; do
            [[ ${library##*/} =~ $libc_pattern ]] ||
                [[ -e $bundle/lib/${library##*/} ]] || place lib "$library"
        done
}

write_runner()
{
    cat >"$bundle/run-in-bundle.sh" <<'END'
#!/bin/bash
# Runs a command with the bundle's programs, libraries and plugins, wherever
# the bundle lies; without a command, starts a shell.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
export PATH=$here/bin:$here/peers/bin:$PATH
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OPAL_PREFIX=$here OPAL_SYSCONFDIR=$here/etc/openmpi
export PMIX_PREFIX=$here/pmix PMIX_LIBDIR=$here/pmix/lib
export PMIX_PKGLIBDIR=$here/pmix/lib/pmix
export PMIX_DATADIR=$here/pmix/share PMIX_PKGDATADIR=$here/pmix/share/pmix
export PMIX_SYSCONFDIR=$here/pmix/etc
export PMIX_MCA_pcompress=^zlib PMIX_MCA_pcompress_base_silence_warning=1
export UCX_MODULE_DIR=$here/lib/ucx
export HWLOC_PLUGINS_PATH=$here/lib/hwloc
export XYLEM_SIM_MACHINES=$here/share/machines
exec "${@:-bash}"
END
}

write_selftest()
{
    cat >"$bundle/selftest.sh" <<'END'
#!/bin/bash
# Whether everything in the bundle runs on this machine; about ten seconds.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
failed=0

check()
{
    local name=$1 output
    shift

    if output=$("$here/run-in-bundle.sh" timeout 60 "$@" 2>&1 </dev/null); then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n%s\n' "$name" "$output"
        failed=1
    fi
}

mpirun=(mpirun.openmpi --oversubscribe --bind-to none
    --mca pml ucx --mca opal_common_ucx_tls any
    --mca opal_common_ucx_devices any)
((EUID != 0)) || mpirun+=(--allow-run-as-root)
work=(-c bcast -b 1M -e 1M -i 5 --check)

# A library found nowhere, or found on the machine though it is in the bundle.
libraries=$("$here/run-in-bundle.sh" find "$here" -path "$here/peers" -prune \
    -o -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec ldd {} + 2>/dev/null)
if missing=$(grep 'not found' <<<"$libraries"); then
    printf 'FAILED  libraries are missing\n%s\n' "$missing"
    failed=1
fi
while IFS= read -r line; do
    name=${line%% =>*} path=${line#*=> }
    name=${name//[[:space:]]/} path=${path% (*}
    [[ $line == *' => /'* && -e $here/lib/$name && $path != "$here"/* ]] ||
        continue
    echo "FAILED  $name is taken from $path"
    failed=1
done <<<"$libraries"

[[ ! -x $here/bin/xylem-info ]] || check xylem-info xylem-info
[[ ! -x $here/bin/hello ]] || check "shared library" xylem-run -n 2 hello
check xylem-bench xylem-run -n 4 xylem-bench "${work[@]}"
if [[ -x $here/bin/xylem-sim ]] && (($(nproc) > 1)); then
    check xylem-sim xylem-sim --calibrate --quick -n 2 -o /dev/null
fi
check xylem-noise xylem-noise -n 4 -s 256K --impl xylem,waitall,blocking \
    --max-ms 0 --rounds 1 --seconds 0.2
if [[ -x $here/bin/orterun ]]; then
    check "Open MPI" "${mpirun[@]}" -n 4 xylem-mpi-driver-openmpi "${work[@]}"
    check "Open MPI adapt" "${mpirun[@]}" --mca coll_adapt_priority 100 -n 4 \
        xylem-mpi-driver-openmpi "${work[@]}"
    check "xylem under Open MPI's mpirun" "${mpirun[@]}" -n 4 \
        xylem-bench "${work[@]}"
fi
if [[ -x $here/bin/mpiexec.hydra ]]; then
    check MPICH mpirun.mpich -n 4 xylem-mpi-driver-mpich "${work[@]}"
fi
for peer in "$here"/peers/bin/*; do
    [[ -x $peer ]] || continue
    driver=mpich
    [[ $peer != *openmpi* ]] || driver=openmpi
    check "${peer##*/}" "$peer" -n 2 "xylem-mpi-driver-$driver" "${work[@]}"
done
exit "$failed"
END
}

build=yes
peers=no
for argument; do
    case $argument in
    --no-build) build=no ;;
    --peers) peers=yes ;;
    --help | -h) usage; exit 0 ;;
    *) fail "unknown argument '$argument'; see --help" ;;
    esac
done
[[ $(uname -m) == x86_64 ]] || fail "only for x86-64 machines"
[[ $build == no ]] || build_release
[[ -x $release/launcher/xylem-run ]] || fail "$release is not built"

rm -rf "$bundle" "$bundle.tar.gz"
mkdir -p "$bundle/bin" "$bundle/lib"
place_programs
place_openmpi
place_mpich
[[ $peers == no ]] || place_peers
place_apps
place_cluster
place_modules
place_libraries
write_runner
write_selftest
chmod +x "$bundle"/*.sh
tar -C build -czf "$bundle.tar.gz" bundle
echo "$bundle.tar.gz: $(du -h "$bundle.tar.gz" | cut -f1); needs" \
    "$(ldd --version | sed -n '1s/.* /glibc /p') or newer"
