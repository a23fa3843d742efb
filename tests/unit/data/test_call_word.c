/* Calls in words, which fit into their texts. */
#include "collectives/data/call_word.h"

#include <string.h>

#include "collectives/data/description.h"
#include "runtime/core/module.h"
#include "tests/support/check.h"

enum { LONG = 256, USERS_OWN = 1000, RANKS = 2 };

static uint64_t word_of(xylem_coll_t coll, uint32_t op, uint32_t type)
{
    static const uint64_t counts[RANKS] = {UINT64_MAX / 16, 1};
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = coll;
    args.op = op;
    args.type = type;
    args.root = 255;
    args.count = UINT64_MAX / 16;
    args.recv_counts = counts;
    args.segment_bytes = 1;
    return xyl_word_of_call(&args, RANKS);
}

static void fits(uint64_t word)
{
    char whole[LONG], enough[XYL_CALL_WORDS], shortened[LONG];
    size_t bytes;

    xyl_word_in_words(word, whole, sizeof whole);
    xyl_word_in_words(word, enough, sizeof enough);
    CHECK(strcmp(enough, whole) == 0);
    for (bytes = 1; bytes <= strlen(whole); bytes++) {
        memset(shortened, 0x5a, sizeof shortened);
        xyl_word_in_words(word, shortened, bytes);
        CHECK_EQ(strlen(shortened), bytes - 1);
        CHECK(memcmp(shortened, whole, bytes - 1) == 0);
        CHECK_EQ(shortened[bytes], 0x5a);
    }
}

static void test_words_fit(void)
{
    int coll;
    uint32_t op, type;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (op = 0; op <= XYLEM_OP_COUNT; op++)
            for (type = 0; type <= XYLEM_TYPE_COUNT; type++)
                fits(word_of((xylem_coll_t)coll,
                             op < XYLEM_OP_COUNT ? op : USERS_OWN,
                             type < XYLEM_TYPE_COUNT ? type : USERS_OWN));
    fits(xyl_word_of_split());
    fits(xyl_word_of_nothing(3));
}

/* A choice of the library is no setting; all others are, and they change no
 * other field of a call's word. */
static void test_settings(void)
{
    const char *const names[] = {"binary", "flat", "chain", "binomial"};
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    char words[XYL_CALL_WORDS], plain[XYL_CALL_WORDS];
    uint64_t without, word;
    uint32_t i;

    args.count = 8;
    args.type = XYLEM_BYTE;
    args.root = 3;
    without = xyl_word_of_call(&args, RANKS);
    xyl_word_in_words(without, plain, sizeof plain);
    CHECK(strcmp(plain, "bcast of 8 bytes, root 3") == 0);
    args.algorithm = "AUTO";
    CHECK_EQ(xyl_word_of_call(&args, RANKS), without);
    for (i = 0; i < 2000; i++) {
        args.algorithm = i % 5 < 4 ? names[i % 5] : NULL;
        args.segment_bytes = i;
        args.recv_window = i % 64;
        args.send_window = i % 64 / 2;
        word = xyl_word_of_call(&args, RANKS);
        xyl_word_in_words(word, words, sizeof words);
        CHECK_EQ(word == without, i == 0 && args.algorithm == NULL);
        CHECK(memcmp(words, plain, strlen(plain)) == 0);
        CHECK(strncmp(words + strlen(plain), ", settings ", 11) == 0);
        CHECK_EQ(word >> XYL_CALL_GENERATION, 0);
    }
}

static const check_case_t cases[] = {
    {"words_fit", test_words_fit},
    {"settings", test_settings},
};
CHECK_MAIN(cases)
