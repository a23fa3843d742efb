/* Prints a table of options. */
#include <stdio.h>
#include <string.h>

#include "bench/common/cli.h"

enum {
    LINE_WIDTH = 79,
    NAME_WIDTH = 22,
    HELP_INDENT = 6 + NAME_WIDTH + 1,
    NAME_BYTES = 80
};

static int takes_value(const struct cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_REST;
}

/* ---- help ---- */

/* The words of `text` from column HELP_INDENT on. */
static void wrapped_print(const char *text)
{
    size_t column = HELP_INDENT;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (column > HELP_INDENT && column + 1 + length > LINE_WIDTH) {
            printf("\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        }
        if (column > HELP_INDENT)
            putchar(' ');
        column += length + (column > HELP_INDENT);
        printf("%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void option_print(char letter, const char *name, const char *help)
{
    int width = strlen(name) <= NAME_WIDTH ? NAME_WIDTH + 1 : 0;

    if (letter != 0)
        printf("  -%c, %-*s", letter, width, name);
    else
        printf("      %-*s", width, name);
    if (width == 0)
        printf("\n%*s", HELP_INDENT, "");
    wrapped_print(help);
}

static void aliases_print(const struct cli *cli)
{
    size_t i;

    if (cli->aliases_count == 0)
        return;
    puts("\nOlder spellings:");
    for (i = 0; i < cli->aliases_count; i++) {
        const struct cli_alias *alias = &cli->aliases[i];
        int is_letter = alias->old[1] == '\0';

        printf("  %s%-*s --%s%s\n", is_letter ? "-" : "--", 14, alias->old,
               alias->name, is_letter ? ", in this program only" : "");
    }
}

void cli_help_print(const struct cli *cli)
{
    int has_bytes = 0, has_times = 0;
    size_t i;

    printf("Usage: %s %s\n\n%s\n\nOptions:\n", cli->program, cli->usage,
           cli->summary);
    for (i = 0; i < cli->options_count; i++) {
        const struct cli_option *option = &cli->options[i];
        char name[NAME_BYTES];

        if (option->kind == CLI_REST)
            continue;
        has_bytes |= option->kind == CLI_BYTES;
        has_times |= option->kind >= CLI_NS && option->kind <= CLI_MIN;
        snprintf(name, sizeof name, "--%s%s%s", option->name,
                 takes_value(option) ? " " : "",
                 takes_value(option) ? option->arg : "");
        option_print(option->letter, name, option->help);
    }
    option_print('h', "--help", "this text");
    option_print(0, "--version", "the version");
    if (has_bytes)
        puts(
            "\nBYTES may end in K, M, G or T, as in 64K, 64KB or 64KiB: powers "
            "of 1024.");
    if (has_times)
        puts(
            "\nTimes may have a unit of their own: ns, us, ms, s, min or h, as "
            "in 20ms.");
    aliases_print(cli);
    if (cli->notes != NULL)
        printf("\n%s\n", cli->notes);
}

/* ---- completion ---- */

/* The program as the name of a function. */
static void function_print(const char *program)
{
    putchar('_');
    for (; *program != '\0' && *program != ' '; program++)
        putchar(*program == '-' ? '_' : *program);
}

/* "case" of the word before, with the words that may follow it. Options that
 * take any value have no case; bash offers files for them. */
static void case_print(const struct cli_option *option)
{
    const char *word;

    if (!takes_value(option))
        return;
    printf("    --%s", option->name);
    if (option->letter != 0)
        printf(" | -%c", option->letter);
    fputs(") words='", stdout);
    for (word = option->kind == CLI_WORD ? option->arg : ""; *word != '\0';
         word++)
        putchar(*word == '|' ? ' ' : *word);
    puts("' ;;");
}

void cli_completion_print(const struct cli *cli)
{
    size_t i;

    function_print(cli->program);
    puts("()\n"
         "{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} words='--help --version'\n"
         "\n"
         "    case ${COMP_WORDS[COMP_CWORD - 1]} in");
    for (i = 0; i < cli->options_count; i++)
        case_print(&cli->options[i]);
    fputs("    *) words+='", stdout);
    for (i = 0; i < cli->options_count; i++) {
        if (cli->options[i].kind != CLI_REST)
            printf(" --%s", cli->options[i].name);
    }
    puts("' ;;\n"
         "    esac\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}");
    fputs("complete -o bashdefault -o default -F ", stdout);
    function_print(cli->program);
    printf(" %s\n", cli->program);
}
