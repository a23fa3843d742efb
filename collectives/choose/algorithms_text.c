/* XYLEM_ALGORITHMS: "bcast=knomial:4,allreduce@0-4K=recursive_doubling". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "runtime/base/config.h"
#include "runtime/base/status.h"

enum { ITEM_BYTES = 160 };

static xylem_status_t item_complain(const char *item, const char *why)
{
    return xyl_fail(XYLEM_ERR_CONFIG, "XYLEM_ALGORITHMS: '%s': %s", item, why);
}

/* "4K-64K", "-4K", "64K-"; both ends belong to the range. */
static int parse_range(char *text, xyl_rule_t *rule)
{
    char *dash = strchr(text, '-');

    if (dash == NULL)
        return 0;
    *dash = '\0';
    return (*text == '\0' ||
            xyl_config_parse_bytes(text, &rule->bytes_min) == XYLEM_OK) &&
           (dash[1] == '\0' ||
            xyl_config_parse_bytes(dash + 1, &rule->bytes_max) == XYLEM_OK) &&
           rule->bytes_min <= rule->bytes_max;
}

static xylem_status_t parse_item(const char *item, xyl_rule_t *rule)
{
    char text[ITEM_BYTES], why[XYL_ALGORITHM_WHY_BYTES], *equals, *at;
    xyl_named_t named;
    xylem_coll_t coll;

    snprintf(text, sizeof text, "%s", item);
    equals = strchr(text, '=');
    if (equals == NULL)
        return item_complain(item, "wants COLLECTIVE=ALGORITHM, or "
                                   "COLLECTIVE@BYTES-BYTES=ALGORITHM");
    *equals = '\0';
    at = strchr(text, '@');
    if (at != NULL)
        *at = '\0';
    coll = xyl_coll_named(text, strlen(text));
    if (coll == XYLEM_COLL_COUNT)
        return item_complain(item, "there is no such collective");
    *rule = (xyl_rule_t){XYL_RULE_ANYWHERE, .colls = 1u << coll,
                         .origin = "by setting"};
    if (at != NULL && !parse_range(at + 1, rule))
        return item_complain(item,
                             "behind @ stand the least and the most bytes, "
                             "as in 0-4K");
    if (!xyl_algorithm_parse(coll, equals + 1, &named, why))
        return item_complain(item, why);
    xyl_rule_name(rule, &named);
    return XYLEM_OK;
}

/* The length of the item at the beginning of `text`. An item ends at the comma
 * before the next collective; a comma before a part of its own algorithm
 * belongs to it. */
static size_t item_length(const char *text)
{
    size_t length = strcspn(text, ",");

    while (text[length] == ',' && xyl_algorithm_is_part(text + length + 1))
        length += 1 + strcspn(text + length + 1, ",");
    return length;
}

static size_t count_items(const char *text)
{
    size_t count = 1;

    for (; *text != '\0'; text++)
        count += *text == ',';
    return count;
}

xylem_status_t xyl_algorithms_parse(const char *text, xyl_rule_t **rules_out,
                                    size_t *count_out)
{
    size_t count = count_items(text), i = 0, length; /* `count` or fewer */
    xyl_rule_t *rules = calloc(count, sizeof *rules);
    xylem_status_t status = XYLEM_OK;
    char item[ITEM_BYTES];

    if (rules == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for rules");
    do {
        text += strspn(text, " ");
        length = item_length(text);
        snprintf(item, sizeof item, "%.*s",
                 (int)(length < sizeof item ? length : sizeof item), text);
        status = parse_item(item, &rules[i++]);
        text += length;
    } while (status == XYLEM_OK && *text++ == ',');
    if (status != XYLEM_OK) {
        free(rules);
        return status;
    }
    *rules_out = rules;
    *count_out = i;
    return XYLEM_OK;
}
