/* gnuplot. One thread. */
#include "bench/common/gnuplot.h"

#include <signal.h>

#include "bench/common/child.h"

enum { PATH_BYTES = 4096 };

void gnuplot_text(FILE *pipe, const char *text)
{
    /* In single quotes only a quote is special. */
    fputc('\'', pipe);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', pipe);
        fputc(*text, pipe);
    }
    fputc('\'', pipe);
}

FILE *gnuplot_open(const char *program, const char *path)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    char found[PATH_BYTES];
    FILE *pipe;

    if (!child_find("gnuplot", found, sizeof found)) {
        fprintf(stderr, "%s: no plot: gnuplot is not installed\n", program);
        return NULL;
    }
    sigaction(SIGPIPE, &ignore, NULL);
    pipe = popen("gnuplot", "w");
    if (pipe == NULL) {
        fprintf(stderr, "%s: cannot start gnuplot\n", program);
        return NULL;
    }
    fputs("if (strstrt(GPVAL_TERMINALS, 'pngcairo')) "
          "set terminal pngcairo size 1000,600; "
          "else set terminal png size 1000,600\n"
          "set output ",
          pipe);
    gnuplot_text(pipe, path);
    fputc('\n', pipe);
    return pipe;
}

int gnuplot_close(FILE *pipe, const char *program, const char *path)
{
    int is_bad = ferror(pipe) != 0;

    is_bad |= pclose(pipe) != 0;
    if (is_bad)
        fprintf(stderr, "%s: gnuplot did not draw %s\n", program, path);
    return !is_bad;
}
