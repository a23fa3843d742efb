# The other groups of suite.sh: xylem's own programs on the nodes.
# shellcheck shell=bash disable=SC2154 # run, here, tests, bench, out, err, code

colls=(bcast reduce allreduce barrier gather gatherv scatter scatterv allgather
    allgatherv alltoall alltoallv alltoallw reduce_scatter
    reduce_scatter_block scan exscan)

# colls_measure NAME BEGIN END SIZES "COLL..." COMMAND...: several collectives, in
# one job; a barrier has one size.
colls_measure()
{
    local name=$1 begin=$2 end=$3 sizes=$4 list coll wanted good
    read -ra list <<<"$5"
    shift 5

    attempt "$@" -c "$(IFS=, && echo "${list[*]}")" -b "$begin" -e "$end" -i 1 \
        --warmup 1 --buffers 2 --check --lines
    for coll in "${list[@]}"; do
        ((code != 77)) || { skip "$coll $name" "$(cat "$err")"; continue; }
        good=no
        wanted=$sizes
        [[ $coll != barrier ]] || wanted=1
        ((code != 0)) || (($(grep -c \
            "^xylem-result latency .* coll=$coll .* wrong=0$" "$out") != \
            wanted)) || good=yes
        report "$coll $name" $good
    done
}

# Algorithms that know nodes, one per line, without ":K"; also `node` itself.
node_algorithms_of()
{
    "$bench/xylem-bench" --algorithm list -c "$1" |
        sed -n '/node\|level/s/^  \([a-z_]*\).*/\1/p'
}

# bench_nodes NAME COMMAND...: by each algorithm that knows nodes, other than
# those for ranks of one node and for memory of GPUs.
bench_nodes()
{
    local name=$1 coll algorithm list
    local -A colls_of=()
    shift

    for coll in "${colls[@]}"; do
        list=$(node_algorithms_of "$coll")
        [[ -n $list ]] || holds "$coll has algorithms that know nodes" false
        for algorithm in $list; do
            [[ $algorithm == node* || $algorithm == cuda_* ]] ||
                colls_of[$algorithm]+=" $coll"
        done
    done
    for algorithm in "${!colls_of[@]}"; do
        colls_measure "by $algorithm on $name" 64 4K 7 \
            "${colls_of[$algorithm]}" "$@" "$bench/xylem-bench" --root 1 \
            --algorithm "$algorithm"
    done
}

# The ranks of a node follow each other, or not.
# noise_measures NAME LAUNCHER: eight ranks under two kinds of noise.
noise_measures()
{
    says "$1" 0 '^xylem .*%' "$bench/xylem-noise" -n 8 --launcher "$2" \
        -c bcast,allreduce,barrier -s 4K --impl xylem --check --rounds 1 \
        --seconds 0.02 --noise 'uniform:10Hz,0-5ms;sync:20Hz,1ms'
}

# long_cables COMMAND...: with those of two nodes.
long_cables()
{
    attempt bash "$run" delay 1 5 2
    ((code != 77)) || { skip "flight, long cables" "$(cat "$err")"; return; }
    gives "a longer cable" 0 bash "$run" delay 2 10
    gives "flight, long cables" 0 "$@"
    gives "a short one" 0 bash "$run" nodelay 1
    gives "and another" 0 bash "$run" nodelay 2
}

test_collectives()
{
    local node even=(bash "$run" run -p 2) uneven=(bash "$run" run -s '1,2,3')
    local mixed=(--in-turn) late=(XYLEM_BYPASS_US=5 XYLEM_DETACH_BYTES=1)

    need_cluster 4
    for node in 0 1 2 3; do
        says "xylem-info on n$node" 0 '^xylem [0-9]' bash "$run" exec $node \
            "$bench/xylem-info"
    done
    gives "four nodes of two" 0 "${even[@]}" "$tests/cluster/places" 4
    gives "four nodes of two, mixed" 0 "${even[@]}" "${mixed[@]}" \
        "$tests/cluster/places" 4
    gives "uneven nodes" 0 "${uneven[@]}" "$tests/cluster/places" 3
    gives "uneven nodes, mixed" 0 "${uneven[@]}" "${mixed[@]}" \
        "$tests/cluster/places" 3
    gives "ranks of a node share memory" 0 "${even[@]}" "$tests/nameless" shared
    gives "all roots, four nodes of two" 0 "${even[@]}" "$tests/calls" roots 1024
    gives "all roots, mixed" 0 "${even[@]}" "${mixed[@]}" "$tests/calls" roots 64
    gives "all roots, uneven" 0 "${uneven[@]}" "$tests/calls" roots 1024
    gives "all roots, uneven and mixed" 0 "${uneven[@]}" "${mixed[@]}" \
        "$tests/calls" roots 64
    gives "sweep" 0 "${even[@]}" "$tests/calls" sweep 400
    gives "sweep, uneven and mixed" 0 "${uneven[@]}" "${mixed[@]}" \
        "$tests/calls" sweep 400
    gives "flight" 0 "${even[@]}" "$tests/calls" flight 8
    gives "threads" 0 env XYLEM_PROGRESS=thread "${even[@]}" \
        "$tests/calls" threads 30
    gives "sweep, late leaders are passed" 0 env XYLEM_BYPASS_US=1 "${even[@]}" \
        "$tests/calls" sweep 100
    gives "late ranks" 0 env "${late[@]}" "${even[@]}" "$tests/calls" late 2
    gives "late ranks, mixed" 0 env "${late[@]}" "${even[@]}" "${mixed[@]}" \
        "$tests/calls" late 1
    gives "teams" 0 "${uneven[@]}" "$tests/collectives" teams 50
    long_cables "${even[@]}" "$tests/calls" flight 4
    colls_measure "on four nodes of two" 8 64K 14 "${colls[*]}" "${even[@]}" \
        "$bench/xylem-bench" --root 5
    colls_measure "on uneven nodes, mixed" 1K 1K 1 "${colls[*]}" "${uneven[@]}" \
        "${mixed[@]}" "$bench/xylem-bench" --root 3
    bench_nodes "four nodes of two" "${even[@]}"
    bench_nodes "uneven nodes" "${uneven[@]}"
    noise_measures "mpirun: noise" "bash $run run -p 2"
}

# ---------------------------------------------------------------------------

# ended: as many ranks as there are have said with which code they ended.
ended()
{
    (($(grep -c '^code ' "$out") == 8))
}

# mpirun ends a job when a rank dies, or, told to let it live, never ends: so
# it is stopped when all ranks have.
run_death()
{
    local seconds=$1 program=$2 tries job
    shift 2

    : >"$out"
    : >"$err"
    # shellcheck disable=SC2016 # expanded by the ranks
    XYLEM_LOG=none bash "$run" run -p 2 -o --enable-recovery \
        -t 160 bash -c '"$0" "$@"; echo "code $?"' "$tests/$program" "$@" \
        >"$out" 2>"$err" </dev/null &
    job=$!
    for ((tries = 0; tries < seconds * 10; tries++)); do
        ! ended && kill -0 $job 2>/dev/null || break
        sleep 0.1
    done
    bash "$run" stop
    wait $job
    code=$?
}

# death VICTIM SEED MODE: the others all learn of it, and end well.
death()
{
    local name="rank $1 of 8 dies, $3, seed $2" good=no

    run_death 150 death "$@"
    ((code != 77)) || { skip "$name" "$(cat "$err")"; return; }
    if ended && (($(grep -c 'survived$' "$out") == 7)) &&
        grep -q '^code 137$' "$out"; then
        good=yes
    fi
    report "$name" $good
}

# phases FIRST STEP: six of eight ranks die, one after the other, each in a phase
# of a collective.
phases()
{
    local name="6 of 8 ranks die by phase, $1 $2" good=no

    : >"$work/died"
    run_death 150 phases "$1" "$2" 100 "$work/died"
    ((code != 77)) || { skip "$name" "$(cat "$err")"; return; }
    if ended && (($(grep -c 'survived 6 deaths$' "$out") == 2)) &&
        (($(grep -c '^code 137$' "$out") == 6)); then
        good=yes
    fi
    report "$name" $good
}

phase_matrix()
{
    local first

    for ((first = 0; first < 1080; first += 6)); do
        phases $first 1
    done
}

# cut_has KIND COUNT SECONDS: so many ranks have written their files of the kind.
cut_has()
{
    local tries files

    for ((tries = 0; tries < $3 * 10; tries++)); do
        files=("$work"/cut.*."$1")
        [[ -e ${files[0]} ]] && ((${#files[@]} == $2)) && return 0
        sleep 0.1
    done
    return 1
}

# begin_cut MODE: eight ranks wait for what rank 2, on n1, has to say; sets `job`.
begin_cut()
{
    rm -f "$work"/cut.*
    XYLEM_LOG=none XYLEM_SILENCE_S=8 XYLEM_PROGRESS=$1 bash "$run" run -p 2 \
        -o --enable-recovery -t 100 "$tests/cut" 2 "$work/cut" \
        >"$out" 2>"$err" </dev/null &
    job=$!
    cut_has pid 8 60 && sleep 1
}

# stop_leader STOP|CONT
stop_leader()
{
    bash "$run" exec 1 kill "-$1" "$(cat "$work/cut.2.pid")"
}

# A node without its cable for good: all are told, who only receive as well.
cut_off()
{
    local name="a node that is cut off is missed by who only receives, $1" good=no
    local job

    begin_cut "$1"
    bash "$run" link 1 down
    cut_has end 8 60 && ! grep -vq '^XYLEM_ERR_PROC_FAILED$' "$work"/cut.*.end &&
        good=yes
    bash "$run" link 1 up
    bash "$run" stop
    wait $job
    report "$name" $good
}

# A leader that is stopped for longer than a node may be silent, and a cable that
# is out for less, are no deaths.
cut_for_a_moment()
{
    local name="a process that is stopped, or a short cut, is no death, $1" good=no
    local job

    begin_cut "$1"
    stop_leader STOP
    sleep 12
    stop_leader CONT
    bash "$run" link 1 down
    sleep 2
    bash "$run" link 1 up
    sleep 10
    : >"$work/cut.go"
    cut_has end 8 60 && ! grep -vq '^XYLEM_OK$' "$work"/cut.*.end && good=yes
    wait $job || good=no
    report "$name" $good
}

test_death()
{
    need_cluster 4
    cut_off caller
    cut_off blocking
    cut_for_a_moment caller
    death 3 11 warm
    death 0 12 cold
    death 6 13 idle
    death 5 14 full
    death 2 15 combine
    death 7 16 warm
    XYLEM_BYPASS_US=50 death 4 18 warm
    XYLEM_BYPASS_US=50 death 3 19 cold
    phases 0 97
    phases 300 113
    death 6 22 silent
    death 3 17 silent
    if [ "${CHECK_DEPTH:-1}" -gt 1 ]; then
        phase_matrix
        XYLEM_PROGRESS=thread phase_matrix
    fi
}

# ---------------------------------------------------------------------------

test_slurm()
{
    local srun=(bash "$here/slurm.sh" run -N 4 --ntasks-per-node=2 --quiet)
    local round

    need_cluster 4
    attempt bash "$here/slurm.sh" up
    if ((code == 77)); then
        skip "srun" "$(sed -n 's/^cluster: //p' "$err")"
        return
    fi
    if ((code != 0)); then
        report "Slurm on four nodes" no
        return
    fi
    report "Slurm on four nodes" yes
    gives "srun: four nodes of two" 0 "${srun[@]}" "$tests/cluster/places" 4
    # A rank that left too early used to be taken for dead.
    for round in 1 2 3 4; do
        colls_measure "by srun, the end of round $round" 1M 1M 1 reduce \
            "${srun[@]}" "$bench/xylem-bench"
    done
    colls_measure "by srun" 8 64K 14 "${colls[*]}" "${srun[@]}" \
        "$bench/xylem-bench" --root 7
    gives "srun: all roots" 0 "${srun[@]}" "$tests/calls" roots 64
    gives "srun: cyclic" 0 "${srun[@]}" -m cyclic "$tests/calls" roots 64
    noise_measures "srun: noise" \
        "bash $here/slurm.sh run -N 4 --ntasks-per-node=2 --quiet"
    gives "Slurm goes" 0 bash "$here/slurm.sh" down
}

# ---------------------------------------------------------------------------

has_taken()
{
    grep -q ' taken$' "$err"
}

# has_passed NAME: the last command was a program of tests/mpi; it says PASS, and
# calls were taken.
has_passed()
{
    local name=$1 good=no

    ((code != 77)) || { skip "$name" "$(cat "$err")"; return; }
    if ((code == 0)) && grep -q '^PASS' "$out" && ! grep -q '^FAIL' "$out" &&
        has_taken && ! grep -q '^xylem: ' "$err"; then
        good=yes
    fi
    report "$name" $good
}

# passes NAME COMMAND...
passes()
{
    attempt "${@:2}"
    has_passed "$1"
}

# mpich_passes NAME ARGUMENT...: MPICH 4.0 itself often hangs at the end of
# MPI_Finalize here, where its nodes disconnect, without the binding as well;
# calls have been reported by then, or it was not given the time.
mpich_passes()
{
    local seconds

    for seconds in 20 100; do
        attempt bash "$run" run -m mpich -t $seconds \
            -o "-genv LD_PRELOAD $front -genv XYLEM_MPI_VERBOSE 1" "${@:2}"
        ((code == 124)) && ! has_taken || break
    done
    ((code != 124)) || code=0
    has_passed "$1"
}

test_mpich()
{
    local work=$work/mpich

    mkdir -p "$work"
    gives "MPICH: the programs compile" 0 bash "$here/../mpi/compile.sh" mpich \
        "$folder" "$work" collectives threads
    mpich_passes "MPICH: collectives, four nodes of two" -p 2 \
        "$work/collectives" few
    mpich_passes "MPICH: four threads, uneven nodes" -s 1,2,1 "$work/threads" 1
}

# The ranks get the binding, and no others. Open MPI's own messages go by TCP
# between nodes.
test_openmpi()
{
    local work=$work/openmpi options run_on way

    mkdir -p "$work"
    gives "Open MPI: the programs compile" 0 bash "$here/../mpi/compile.sh" \
        openmpi "$folder" "$work" collectives together threads errors
    options="-x LD_PRELOAD=$front -x XYLEM_MPI_VERBOSE=1"
    run_on=(bash "$run" run -t 110)
    for way in '' --in-turn; do
        passes "Open MPI: collectives, four nodes of two $way" "${run_on[@]}" \
            -p 2 -o "$options" $way "$work/collectives" few
    done
    run_on+=(-o "$options")
    passes "Open MPI: collectives, four nodes of one" "${run_on[@]}" \
        "$work/collectives" few
    passes "Open MPI: errors, four nodes of one" "${run_on[@]}" "$work/errors"
    passes "Open MPI: all programs, four nodes of one" "${run_on[@]}" \
        "$work/together"
    passes "Open MPI: all programs, uneven nodes" "${run_on[@]}" -s 1,2,1 \
        "$work/together"
    passes "Open MPI: four threads, four nodes of one" "${run_on[@]}" \
        "$work/threads" 1
    passes "Open MPI: a thread that makes progress" env \
        XYLEM_PROGRESS=thread "${run_on[@]}" -s 1,2,1 "$work/collectives" few
}

test_mpi()
{
    local folder front mpi

    folder=$(realpath -m "$tests/../bindings/mpi")
    front=$folder/libxylem-mpi.so
    need_cluster 4
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >/dev/null &&
            [[ -e $folder/libxylem-mpi-$mpi.so ]]; then
            "test_$mpi"
        else
            skip "$mpi on four nodes" "there is no binding for it"
        fi
    done
}
