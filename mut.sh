# mut NAME FILE OLD NEW
mut() { cp "$2" /tmp/shmnode_orig; python3 - "$2" "$3" "$4" <<'P'
import sys
f,a,b=sys.argv[1:]; s=open(f).read(); assert a in s, a; open(f,'w').write(s.replace(a,b,1))
P
timeout 200 ninja -C b $T 2>&1 | grep -E "error|FAILED" | head -3
echo "== $1"; for t in $T; do timeout 60 b/$t 2>&1 | grep "^not ok"; [ ${PIPESTATUS[0]} -eq 0 ] || echo "   $t fails"; done; cp /tmp/shmnode_orig "$2"; }
T="tests/test_shm_directory tests/test_shm_node tests/test_shm_sleep tests/test_shm_heap tests/test_ranges"
mut "no rivals" progress/shm_node_directory.c "if (has_rival(entries, key, own, is_patient))" "if (0 && has_rival(entries, key, own, is_patient))"
mut "no kill" progress/shm_node_directory.c "if (state == STATE_LIVE || gives_way)" "if (state == STATE_LIVE)"
mut "no patience" progress/shm_node_directory.c "tries < TRIES_PATIENT" "1"
mut "no punch" progress/shm_node_ops.c "FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE" "FALLOC_FL_KEEP_SIZE"
mut "no wake" progress/shm_node_ops.c "if (atomic_load(&xyl_shm_node_header(node)->sleepers) != 0)" "if (0)"
mut "sigpipe" progress/shm_node_ops.c "O_RDWR | O_NONBLOCK" "O_WRONLY | O_NONBLOCK"
mut "no look" progress/driver.c "(engine->shm == NULL || xyl_engine_poll(engine) == 0)" "1"
mut "no drain" progress/shm_node_ops.c "    drain(node);" ""
mut "no pow" progress/shm_node_heap.c "(*view)->bytes < number + bytes" "0"
mut "punch too much" progress/shm_node_heap.c "uint64_t first = round_up(begin, PAGE_BYTES);" "uint64_t first = begin / PAGE_BYTES * PAGE_BYTES - PAGE_BYTES;"
