/* gnuplot. One thread. */
#include "bench/common/gnuplot.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/child.h"
#include "bench/common/results.h"
#include "bench/common/sorted.h"

enum {
    PATH_BYTES = 4096,
    TEXT_BYTES = 64,
    BAR_TEXT_BYTES = 3 * TEXT_BYTES,
    WIDTH = 1000,       /* 300 dots per inch of a paper's column */
    BARS_ABOVE = 50,    /* in pixels; for each line of the title */
    BARS_BELOW = 110,   /* the axis */
    AXIS_TITLE_AT = 79, /* below the axis */
    BAR_HEIGHT = 32,
    KEY_HEIGHT = 34, /* of a line of the key */
    TITLE_AT = 24,   /* the middle of its first line */
    ROWS_ABOVE = 90, /* and below */
    ROW_HEIGHT = 110,
    ROW_WIDTH = 840, /* between its margins */
    RANK_TICS = 16,
    FONT = 20,         /* of texts, at the width above */
    FONT_OF_BARS = 17, /* of texts on bars */
    LETTER = 14,       /* width of a letter of a text, with a margin */
    NAME_MAX = 16,     /* a longer one of a group takes two lines */
    SERIES_MAX = 56,   /* letters of a series that there is room for */
    CUT = 3 /* an axis ends at CUT times the need of three quarters */
};

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

/* A word that pictures of these programs have in a chunk of text, and no other
 * file has. */
#define PICTURE_MARK "xylem-picture"

int gnuplot_may_draw(const char *program, const char *path)
{
    char found[PATH_BYTES];

    if (child_find("gnuplot", found, sizeof found))
        return results_may_replace(program, path, PICTURE_MARK);
    fprintf(stderr, "%s: no plot: gnuplot is not installed\n", program);
    return 0;
}

/* ---- the file ---- */

/* Writes the mark before the picture's last chunk, which has no content. */
static int mark_write(const char *path)
{
    /* A chunk of PNG: its length, kind, key and text, and their CRC-32. */
    static const char chunk[] =
        "\0\0\0\x16"
        "tEXtSoftware\0" PICTURE_MARK "\xc6\x7f\xbd\x21";
    enum { END = 12 };
    char end[END];
    FILE *file = fopen(path, "r+");
    int ok;

    if (file == NULL)
        return 0;
    ok = fseek(file, -END, SEEK_END) == 0 && fread(end, END, 1, file) == 1 &&
         memcmp(end + 4, "IEND", 4) == 0 && fseek(file, -END, SEEK_END) == 0 &&
         fwrite(chunk, sizeof chunk - 1, 1, file) == 1 &&
         fwrite(end, END, 1, file) == 1;
    return fclose(file) == 0 && ok;
}

/* ---- the pipe ---- */

/* Returns a pipe that has its output and size set; or prints why not, and
 * returns NULL. Ignores SIGPIPE, as gnuplot may end early. */
static FILE *pipe_open(const char *program, const char *path, int height)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    char part[RESULTS_PATH_BYTES];
    FILE *pipe;

    if (!gnuplot_may_draw(program, path))
        return NULL;
    sigaction(SIGPIPE, &ignore, NULL);
    pipe = popen("gnuplot", "w");
    if (pipe == NULL) {
        fprintf(stderr, "%s: cannot start gnuplot\n", program);
        return NULL;
    }
    fprintf(pipe,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "set terminal pngcairo size %d,%d font ',%d'; "
            "else set terminal png size %d,%d\n"
            "set output ",
            WIDTH, height, FONT, WIDTH, height);
    results_part(path, part);
    text_write(pipe, part);
    fputs("\nset border 3\nset tics nomirror\n"
          "set style fill solid 1 noborder\n",
          pipe);
    return pipe;
}

/* The size of a font in which `letters` letters fit into `room` dots. */
static int font_of(size_t letters, int room)
{
    int font = letters > 0 ? FONT * room / (LETTER * (int)letters) : FONT;

    return font < FONT ? font : FONT;
}

/* `text` in two lines, the second from `rest` on; NULL: in one. */
static void lines_write(FILE *pipe, const char *text, const char *end,
                        const char *rest)
{
    char first[PATH_BYTES];

    snprintf(first, sizeof first, "%.*s",
             (int)(rest != NULL ? end - text : (ptrdiff_t)strlen(text)), text);
    text_write(pipe, first);
    if (rest == NULL)
        return;
    fputs(".\"\\n\".", pipe);
    text_write(pipe, rest);
}

/* The title, above all; in two lines if it has a colon. */
static void title_write(FILE *pipe, const char *title, int height)
{
    const char *colon = strstr(title, ": ");
    size_t first = colon != NULL ? (size_t)(colon - title) : strlen(title);
    size_t second = strlen(title) - first;

    fputs("set label 3 ", pipe);
    lines_write(pipe, title, colon, colon != NULL ? colon + 2 : NULL);
    fprintf(pipe, " at screen 0.5,%.4f center noenhanced font ',%d'\n",
            1 - (double)TITLE_AT / height,
            font_of(first > second ? first : second, WIDTH));
}

static int pipe_close(FILE *pipe, const char *program, const char *path)
{
    int is_bad = ferror(pipe) != 0;
    char part[RESULTS_PATH_BYTES];

    results_part(path, part);
    is_bad |= pclose(pipe) != 0 || !mark_write(part);
    if (!is_bad)
        return results_place(program, part, path);
    remove(part);
    fprintf(stderr, "%s: gnuplot did not draw %s\n", program, path);
    return 0;
}

/* ---- axes ---- */

double gnuplot_axis_end(const double *values, size_t count)
{
    double *sorted = calloc(count + 1, sizeof *sorted), end = 0;

    if (sorted == NULL || count == 0) {
        free(sorted);
        return 1;
    }
    memcpy(sorted, values, count * sizeof *values);
    sorted_make(sorted, count);
    end = fmin(sorted[count - 1], CUT * sorted[(count - 1) * 3 / 4]);
    free(sorted);
    return end > 0 ? end : 1;
}

/* The largest of 1, 2, 4 and 5 times a power of ten up to `end`. */
static double tics_of(double end)
{
    double power = pow(10, floor(log10(end)));
    double times = end / power;

    return power * (times < 2 ? 1 : times < 4 ? 2 : times < 5 ? 4 : 5);
}

/* ---- groups of bars ---- */

static void number_write(char text[TEXT_BYTES], double value)
{
    snprintf(text, TEXT_BYTES, value < 100 ? "%.3g" : "%.0f", value);
}

/* "1.5  +7 %", or "18  x 12" if per cent are hard to read. */
static void bar_text(char text[BAR_TEXT_BYTES], double time, double base)
{
    char value[TEXT_BYTES], times[TEXT_BYTES];

    number_write(value, time);
    number_write(times, base > 0 ? time / base : 0);
    if (time <= 0)
        snprintf(text, BAR_TEXT_BYTES, "-");
    else if (base <= 0)
        snprintf(text, BAR_TEXT_BYTES, "%s", value);
    else if (time < 3 * base)
        snprintf(text, BAR_TEXT_BYTES, "%s  %+.*f %%", value,
                 fabs(time / base - 1) < 0.095, 100 * (time / base - 1));
    else
        snprintf(text, BAR_TEXT_BYTES, "%s  x %s", value, times);
}

/* The place of a bar: groups go from above to below, with gaps between them. */
static double bar_place(const struct gnuplot_bars *bars, size_t group,
                        double series)
{
    return (double)group * ((double)bars->series_count + 0.7) + series;
}

/* The bars of one series: place, length, and the text behind each. */
static void series_write(FILE *pipe, const struct gnuplot_bars *bars,
                         size_t series, double unit, double end)
{
    char text[BAR_TEXT_BYTES];
    size_t group;

    fprintf(pipe, "$series%zu << EOD\n", series);
    for (group = 0; group < bars->groups_count; group++) {
        const double *us = &bars->us[group * bars->series_count];
        double time = us[series] / unit;

        bar_text(text, time, series > 0 ? us[0] / unit : 0);
        fprintf(pipe, "%.4f %.6g \"%s%s\"\n",
                bar_place(bars, group, (double)series), fmin(time, end),
                time > end * 1.0001 ? "// " : "", text);
    }
    fputs("EOD\n", pipe);
}

/* The name of a group; a long one in two lines: "waitall", "(own design)". */
static void name_write(FILE *pipe, const char *name)
{
    const char *mark = strstr(name, " ("), *comma = strstr(name, ", ");

    if (strlen(name) <= NAME_MAX)
        mark = comma = NULL;
    if (comma != NULL)
        lines_write(pipe, name, comma + 1, comma + 2);
    else
        lines_write(pipe, name, mark, mark != NULL ? mark + 1 : NULL);
}

/* The name of a series; of a long one the end. */
static void series_name_write(FILE *pipe, const char *name)
{
    static const char mark[] = "...";
    char text[SERIES_MAX + sizeof mark];
    size_t length = strlen(name);

    snprintf(text, sizeof text, "%s%s", length > SERIES_MAX ? mark : "",
             length > SERIES_MAX ? name + length - SERIES_MAX : name);
    text_write(pipe, text);
}

/* Beside the groups. */
static void names_write(FILE *pipe, const struct gnuplot_bars *bars)
{
    double middle = (double)(bars->series_count - 1) / 2;
    size_t i;

    fputs("set ytics (", pipe);
    for (i = 0; i < bars->groups_count; i++) {
        fputs(i > 0 ? ", " : "", pipe);
        name_write(pipe, bars->groups[i]);
        fprintf(pipe, " %.3f", bar_place(bars, i, middle));
    }
    fprintf(pipe, ") noenhanced scale 0\nset yrange [%.3f:-0.7]\n",
            bar_place(bars, bars->groups_count - 1,
                      (double)bars->series_count - 0.3));
}

/* From gray over orange to red. */
static const char *shade(size_t series)
{
    static const char *const shades[] = {"#8fa3b3", "#f2b134", "#d1495b",
                                         "#7b2d8b", "#2e4057", "#66a182",
                                         "#00798c", "#444444"};

    return shades[series % (sizeof shades / sizeof shades[0])];
}

/* As many columns as the longest name allows. */
static int key_columns(const struct gnuplot_bars *bars)
{
    size_t longest = 1, i, columns;

    for (i = 0; i < bars->series_count; i++)
        longest = longest < strlen(bars->series[i]) ? strlen(bars->series[i])
                                                    : longest;
    columns = 45 / (longest + 6);
    if (columns > bars->series_count)
        columns = bars->series_count;
    return columns > 0 ? (int)columns : 1;
}

/* Bars are drawn from `from`: an axis of powers has no 0. */
static void bars_plot(FILE *pipe, const struct gnuplot_bars *bars, double from)
{
    size_t i;

    fputs("plot ", pipe);
    for (i = 0; i < bars->series_count; i++) {
        fprintf(pipe,
                "%s$series%zu using 2:1:(%g):2:($1-0.44):($1+0.44) with "
                "boxxyerror lc rgb '%s' title ",
                i > 0 ? ", " : "", i, from, shade(i));
        series_name_write(pipe, bars->series[i]);
        fprintf(pipe,
                ", $series%zu using 2:1:3 with labels left offset 0.5,0 font "
                "',%d' noenhanced notitle",
                i, FONT_OF_BARS);
    }
    fputc('\n', pipe);
}

/* The least and the greatest time that is not 0. */
static void bars_range(const struct gnuplot_bars *bars, double *least,
                       double *most)
{
    size_t count = bars->groups_count * bars->series_count, i;

    *least = *most = 0;
    for (i = 0; i < count; i++) {
        double us = bars->us[i];

        if (us > 0 && (*least <= 0 || us < *least))
            *least = us;
        *most = fmax(*most, us);
    }
}

int gnuplot_bars(const char *program, const char *path,
                 const struct gnuplot_bars *bars)
{
    size_t count = bars->groups_count * bars->series_count, i;
    double least, most, end, unit, from;
    int columns = key_columns(bars);
    int lines = ((int)bars->series_count + columns - 1) / columns;
    int above = BARS_ABOVE * (strstr(bars->title, ": ") != NULL ? 2 : 1);
    int below = BARS_BELOW + KEY_HEIGHT * lines;
    int height =
        above + below +
        (int)(BAR_HEIGHT * (bar_place(bars, bars->groups_count, 0) + 1));
    FILE *pipe = pipe_open(program, path, height);

    if (pipe == NULL)
        return 0;
    bars_range(bars, &least, &most);
    end = bars->is_log ? fmax(most, 1e-3) : gnuplot_axis_end(bars->us, count);
    unit = end >= 2000 ? 1000 : 1;
    end /= unit;
    from = bars->is_log ? least / unit / 2 : 0;
    title_write(pipe, bars->title, height);
    fprintf(pipe,
            "set key bmargin center horizontal Left reverse "
            "maxcols %d noenhanced\n"
            "set label 4 'time per call, %s%s' at screen 0.5,%.4f center\n"
            "set xlabel ' '\n%sset xrange [%g:%g]\n"
            "set grid xtics lc rgb '#dddddd'\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            columns, unit > 1 ? "milliseconds" : "microseconds",
            most / unit > end * 1.0001
                ? "; // a bar that is cut off, and its time"
                : "",
            (double)(below - AXIS_TITLE_AT) / height,
            bars->is_log ? "set logscale x\n" : "", from,
            bars->is_log ? end * pow(fmax(end / from, 2), 0.45) : end * 1.35,
            1 - (double)above / height, (double)below / height);
    if (!bars->is_log)
        fprintf(pipe, "set xtics %g\n", tics_of(end * 1.35 / 4));
    names_write(pipe, bars);
    for (i = 0; i < bars->series_count; i++)
        series_write(pipe, bars, i, unit, end);
    bars_plot(pipe, bars, from);
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
    double above = ROWS_ABOVE / height, part = ROW_HEIGHT / height;
    double most = 0, least = 0;
    char text[TEXT_BYTES], earlier[2 * TEXT_BYTES] = "", number[TEXT_BYTES];
    char upto[4 * TEXT_BYTES];
    size_t rank;

    for (rank = 0; rank < rows->ranks; rank++) {
        most = fmax(most, values[rank]);
        least = fmin(least, values[rank]);
    }
    number_write(text, most);
    number_write(number, -least);
    if (least < -0.02 * rows->end) /* bars begin at 0 */
        snprintf(earlier, sizeof earlier, ", %s earlier", number);
    fprintf(pipe,
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
            "set label 1 ",
            1 - above - part * ((double)row + 0.27),
            1 - above - part * ((double)row + 0.88));
    text_write(pipe, rows->rows[row]);
    snprintf(upto, sizeof upto, "up to %s%s%s", text,
             most > rows->end * 1.0001 ? ", cut off" : "", earlier);
    fprintf(pipe,
            " at graph 0,1.24 left noenhanced font ',%d'\n"
            "set label 2 '%s' at graph 1,1.24 right noenhanced font ',%d'\n"
            "set format x '%s'\n"
            "plot $row%zu using 1:($3 == 0 ? $2 : NaN):(0.8) with boxes lc rgb "
            "'%s' notitle, $row%zu using 1:($3 != 0 ? $2 : NaN):(0.8) with "
            "boxes lc rgb '%s' notitle\n",
            font_of(strlen(rows->rows[row]),
                    ROW_WIDTH - LETTER * ((int)strlen(upto) + 1)),
            upto, FONT_OF_BARS, row + 1 == rows->rows_count ? "%g" : "", row,
            shade(0), row, shade(2));
}

int gnuplot_rows(const char *program, const char *path,
                 const struct gnuplot_rows *rows)
{
    int height = 2 * ROWS_ABOVE + ROW_HEIGHT * (int)rows->rows_count;
    FILE *pipe = pipe_open(program, path, height);
    size_t i;

    if (pipe == NULL)
        return 0;
    for (i = 0; i < rows->rows_count; i++)
        row_write(pipe, rows, i);
    fputs("set grid ytics lc rgb '#dddddd'\nset multiplot\n", pipe);
    title_write(pipe, rows->title, height);
    fputs("set label 4 ", pipe);
    text_write(pipe, rows->ylabel);
    fprintf(pipe,
            " at screen 0.02,0.5 center rotate by 90 noenhanced\n"
            "set label 5 'rank' at screen 0.54,%.4f center\n"
            "set lmargin at screen 0.14\nset rmargin at screen 0.98\n"
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
