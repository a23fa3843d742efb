/* gnuplot. One thread. */
#include "bench/common/gnuplot.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/child.h"

enum {
    PATH_BYTES = 4096,
    TEXT_BYTES = 64,
    BAR_TEXT_BYTES = 2 * TEXT_BYTES,
    WIDTH = 1000,
    BARS_HEIGHT = 560,
    BAR_WIDTH = 16,   /* of many */
    LETTER_WIDTH = 7, /* about */
    LINE_LETTERS = 3, /* that a line is high where names stand aslant, about */
    ROWS_ABOVE = 50,  /* and below, in pixels */
    ROW_HEIGHT = 84,
    RANK_TICS = 16,
    UPRIGHT_FROM = 25, /* bars, from which on texts stand upright */
    CUT = 3 /* an axis ends at so many times what three quarters need */
};

/* ---- the pipe ---- */

/* Text in quotes. */
static void text_write(FILE *pipe, const char *text)
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

/* NULL, and it has said why, or a pipe that has been told where and how large
 * to draw. From then on a gnuplot that ends early does not end this process. */
static FILE *pipe_open(const char *program, const char *path, int width,
                       int height)
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
    fprintf(pipe,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "set terminal pngcairo size %d,%d font ',11'; "
            "else set terminal png size %d,%d\n"
            "set output ",
            width, height, width, height);
    text_write(pipe, path);
    fputs("\nset border 3\nset tics nomirror\nset grid ytics lc rgb "
          "'#dddddd'\nset style fill solid 1 noborder\n",
          pipe);
    return pipe;
}

static int pipe_close(FILE *pipe, const char *program, const char *path)
{
    int is_bad = ferror(pipe) != 0;

    is_bad |= pclose(pipe) != 0;
    if (is_bad)
        fprintf(stderr, "%s: gnuplot did not draw %s\n", program, path);
    return !is_bad;
}

/* ---- axes ---- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

double gnuplot_axis_end(const double *values, size_t count)
{
    double *sorted = calloc(count + 1, sizeof *sorted), end = 0;

    if (sorted == NULL || count == 0) {
        free(sorted);
        return 1;
    }
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    end = fmin(sorted[count - 1], CUT * sorted[(count - 1) * 3 / 4]);
    free(sorted);
    return end > 0 ? end : 1;
}

/* ---- groups of bars ---- */

static void number_write(char text[TEXT_BYTES], double value)
{
    snprintf(text, TEXT_BYTES, value < 100 ? "%.3g" : "%.0f", value);
}

/* "+7 %", or "x 12" where per cent are hard to read; of what is cut off the
 * time as well, behind `gap`. */
static void bar_text(char text[BAR_TEXT_BYTES], double time, double base,
                     const char *gap)
{
    char value[TEXT_BYTES], times[TEXT_BYTES];

    number_write(value, time);
    if (time <= 0) {
        snprintf(text, BAR_TEXT_BYTES, "-");
        return;
    }
    if (base <= 0) {
        snprintf(text, BAR_TEXT_BYTES, "%s", value);
        return;
    }
    number_write(times, time / base);
    if (time < 3 * base)
        snprintf(text, BAR_TEXT_BYTES, "%+.3g %%", 100 * (time / base - 1));
    else
        snprintf(text, BAR_TEXT_BYTES, "x %s", times);
    if (gap != NULL) {
        size_t used = strlen(text);

        snprintf(text + used, BAR_TEXT_BYTES - used, "%s(%s)", gap, value);
    }
}

/* The bars of one series: place, height, width, what is written on each. */
static void series_write(FILE *pipe, const struct gnuplot_bars *bars,
                         size_t series, double unit, double end, int is_upright)
{
    double width = 0.84 / (double)bars->series_count;
    char text[BAR_TEXT_BYTES];
    size_t group;

    fprintf(pipe, "$series%zu << EOD\n", series);
    for (group = 0; group < bars->groups_count; group++) {
        const double *us = &bars->us[group * bars->series_count];
        double time = us[series] / unit;
        double place =
            (double)group +
            width * ((double)series - (double)(bars->series_count - 1) / 2);

        bar_text(text, time, series > 0 ? us[0] / unit : 0,
                 time <= end * 1.0001 ? NULL
                 : is_upright         ? " "
                                      : "\\n");
        /* Two lines need to stand higher. */
        fprintf(pipe, "%.4f %.6g %.4f \"%s\" %.6g\n", place, fmin(time, end),
                width * 0.94, text,
                time > end * 1.0001 && !is_upright ? end * 1.035
                                                   : fmin(time, end));
    }
    fputs("EOD\n", pipe);
}

/* Names that would overlap stand aslant. */
static int are_wide(const struct gnuplot_bars *bars, int width)
{
    size_t letters = 0, i;

    for (i = 0; i < bars->groups_count; i++)
        letters += strlen(bars->groups[i]) + 2;
    return letters * LETTER_WIDTH > (size_t)width &&
           strchr(bars->groups[0], '-') == NULL;
}

/* Below the groups; a name with a dash in two lines. */
static void names_write(FILE *pipe, const struct gnuplot_bars *bars, int width)
{
    int wide = are_wide(bars, width);
    size_t i, longest = 0;

    for (i = 0; i < bars->groups_count; i++)
        if (strlen(bars->groups[i]) > longest)
            longest = strlen(bars->groups[i]);

    fprintf(pipe, "set bmargin %zu\nset xtics %s (",
            wide ? 2 + longest / LINE_LETTERS : 4,
            wide ? "rotate by 55 right" : "norotate");
    for (i = 0; i < bars->groups_count; i++) {
        const char *name = bars->groups[i], *dash = strrchr(name, '-');

        fprintf(pipe, "%s\"%.*s", i > 0 ? ", " : "",
                (int)(dash != NULL ? dash - name : (ptrdiff_t)strlen(name)),
                name);
        fprintf(pipe, "%s%s\" %zu", dash != NULL ? "\\n" : "",
                dash != NULL ? dash + 1 : "", i);
    }
    fprintf(pipe, ") noenhanced scale 0\nset xrange [-0.6:%.1f]\n",
            (double)bars->groups_count - 0.4);
}

/* From gray over orange to red. */
static const char *shade(size_t series)
{
    static const char *const shades[] = {"#8fa3b3", "#f2b134", "#d1495b",
                                         "#7b2d8b", "#2e4057", "#66a182",
                                         "#00798c", "#444444"};

    return shades[series % (sizeof shades / sizeof shades[0])];
}

/* From a power of ten below the least to well above the largest. */
static void log_axis_write(FILE *pipe, const struct gnuplot_bars *bars,
                           double end)
{
    size_t count = bars->groups_count * bars->series_count, i;
    double least = end;

    for (i = 0; i < count; i++)
        if (bars->us[i] > 0)
            least = fmin(least, bars->us[i]);
    fprintf(pipe, "set logscale y\nset yrange [%g:%g]\n",
            pow(10, floor(log10(least / 1.5))), end * 6);
}

static double largest(const double *values, size_t count)
{
    double most = 0;

    while (count-- > 0)
        most = fmax(most, values[count]);
    return most;
}

int gnuplot_bars(const char *program, const char *path,
                 const struct gnuplot_bars *bars)
{
    size_t count = bars->groups_count * bars->series_count, i;
    double end = bars->is_log ? largest(bars->us, count)
                              : gnuplot_axis_end(bars->us, count);
    double unit = end >= 2000 && !bars->is_log ? 1000 : 1;
    int width = (int)fmax(WIDTH, BAR_WIDTH * (double)count);
    FILE *pipe = pipe_open(program, path, width, BARS_HEIGHT);
    int is_upright = count >= UPRIGHT_FROM;

    if (pipe == NULL)
        return 0;
    end /= unit;
    fputs("set title ", pipe);
    text_write(pipe, bars->title);
    fprintf(pipe,
            " noenhanced\nset key top left Left reverse noenhanced\n"
            "set ylabel 'time per call, %s'\nset yrange [0:%g]\n",
            unit > 1 ? "ms" : "microseconds", end * (is_upright ? 1.4 : 1.25));
    if (bars->is_log)
        log_axis_write(pipe, bars, end);
    names_write(pipe, bars, width);
    for (i = 0; i < bars->series_count; i++)
        series_write(pipe, bars, i, unit, end, is_upright);
    fputs("plot ", pipe);
    for (i = 0; i < bars->series_count; i++) {
        fprintf(pipe, "%s$series%zu using 1:2:3 with boxes lc rgb '%s' title ",
                i > 0 ? ", " : "", i, shade(i));
        text_write(pipe, bars->series[i]);
        fprintf(pipe,
                ", $series%zu using 1:5:4 with labels %s font ',9' noenhanced "
                "notitle",
                i,
                is_upright ? "rotate by 90 left offset 0,0.3"
                           : "center offset 0,0.6");
    }
    fputc('\n', pipe);
    return pipe_close(pipe, program, path);
}

/* ---- rows of ranks ---- */

static void row_write(FILE *pipe, const struct gnuplot_rows *rows, size_t row)
{
    size_t rank;

    fprintf(pipe, "$row%zu << EOD\n", row);
    for (rank = 0; rank < rows->ranks; rank++)
        fprintf(
            pipe, "%zu %.6g %d\n", rank,
            fmax(0, fmin(rows->values[row * rows->ranks + rank], rows->end)),
            rank == rows->marked);
    fputs("EOD\n", pipe);
}

/* Its name above it to the left, its largest value to the right. */
static void row_plot(FILE *pipe, const struct gnuplot_rows *rows, size_t row,
                     double height)
{
    const double *values = &rows->values[row * rows->ranks];
    double above = ROWS_ABOVE / height, part = ROW_HEIGHT / height, most = 0;
    char text[TEXT_BYTES];
    size_t rank;

    for (rank = 0; rank < rows->ranks; rank++)
        most = fmax(most, values[rank]);
    number_write(text, most);
    fprintf(pipe,
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
            "set label 1 ",
            1 - above - part * ((double)row + 0.27),
            1 - above - part * ((double)row + 0.88));
    text_write(pipe, rows->rows[row]);
    fprintf(pipe,
            " at graph 0,1.18 left noenhanced\n"
            "set label 2 'up to %s%s' at graph 1,1.18 right noenhanced "
            "font ',9'\n"
            "set format x '%s'\n"
            "plot $row%zu using 1:($3 == 0 ? $2 : NaN):(0.8) with boxes lc rgb "
            "'%s' notitle, $row%zu using 1:($3 != 0 ? $2 : NaN):(0.8) with "
            "boxes lc rgb '%s' notitle\n",
            text, most > rows->end * 1.0001 ? ", cut off" : "",
            row + 1 == rows->rows_count ? "%g" : "", row, shade(0), row,
            shade(2));
}

/* 1, 2 or 5 times a power of ten, about a half of the axis. */
static double tics_of(double end)
{
    double power = pow(10, floor(log10(end / 2)));
    double times = end / 2 / power;

    return power * (times < 2 ? 1 : times < 5 ? 2 : 5);
}

int gnuplot_rows(const char *program, const char *path,
                 const struct gnuplot_rows *rows)
{
    int height = 2 * ROWS_ABOVE + ROW_HEIGHT * (int)rows->rows_count;
    FILE *pipe = pipe_open(program, path, WIDTH, height);
    size_t i;

    if (pipe == NULL)
        return 0;
    for (i = 0; i < rows->rows_count; i++)
        row_write(pipe, rows, i);
    fputs("set multiplot\nset label 3 ", pipe);
    text_write(pipe, rows->title);
    fprintf(pipe, " at screen 0.5,%.4f center noenhanced font ',12'\n",
            1 - 0.4 * ROWS_ABOVE / height);
    fputs("set label 4 ", pipe);
    text_write(pipe, rows->ylabel);
    fprintf(pipe,
            " at screen 0.02,0.5 center rotate by 90 noenhanced\n"
            "set label 5 'rank' at screen 0.54,%.4f center\n"
            "set lmargin at screen 0.1\nset rmargin at screen 0.98\n"
            "set yrange [0:%g]\nset ytics %g\nset xrange [-0.7:%zu.7]\n"
            "set xtics %zu scale 0\n",
            0.3 * ROWS_ABOVE / height, rows->end * 1.05, tics_of(rows->end),
            rows->ranks - 1, rows->ranks / RANK_TICS + 1);
    for (i = 0; i < rows->rows_count; i++) {
        row_plot(pipe, rows, i, height);
        fputs("unset label 3\nunset label 4\nunset label 5\n", pipe);
    }
    fputs("unset multiplot\n", pipe);
    return pipe_close(pipe, program, path);
}
