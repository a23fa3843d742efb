/* Tells what the binding would take over in a command, for "xylem-preload
 * --check". The program is read and never run: the system's loader lists its
 * libraries, and the front says which MPI is among them. One thread.
 *
 *   xylem-mpi-check SAID WORD...
 *
 *   SAID   the launcher's version text; "": there is no launcher
 *   WORD   of the launcher's command line, or of the command
 *
 * The program is the first word that is a program with MPI, as options of
 * launchers have values of all kinds, and programs such as env start others.
 * Exits with 0 if the binding takes over collectives of every program. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/mpi/front/front.h"

enum { LINE_BYTES = PATH_MAX + 256 };

/* A file in memory; NULL: there is no such file, or it is empty. */
typedef struct image {
    const char *bytes;
    size_t count;
} image_t;

typedef enum kind {
    NO_PROGRAM,
    OTHER,  /* a file that is no program of this system */
    SCRIPT, /* starts other programs */
    PLAIN,  /* without MPI */
    STATIC, /* contains MPI's functions */
    DYNAMIC /* loads an MPI library */
} kind_t;

typedef struct program {
    kind_t kind;
    char path[PATH_MAX];
    char library[PATH_MAX]; /* the MPI library */
} program_t;

/* ---- files of programs ---- */

static image_t image_open(const char *path)
{
    image_t image = {NULL, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat state;
    void *bytes;

    if (file < 0)
        return image;
    if (fstat(file, &state) == 0 && S_ISREG(state.st_mode) &&
        state.st_size > 0) {
        bytes =
            mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED)
            image = (image_t){bytes, (size_t)state.st_size};
    }
    close(file);
    return image;
}

static void image_close(image_t image)
{
    if (image.count != 0)
        munmap((void *)(uintptr_t)image.bytes, image.count);
}

/* NULL: the part does not lie within the file. */
static const void *part(image_t image, size_t offset, size_t count)
{
    return offset <= image.count && count <= image.count - offset
               ? image.bytes + offset
               : NULL;
}

/* NULL: the file is no program of this system. */
static const ElfW(Ehdr) * header_of(image_t image)
{
    const ElfW(Ehdr) *header = part(image, 0, sizeof *header);

    return header != NULL && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                   header->e_ident[EI_CLASS] ==
                       (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                   header->e_shentsize == sizeof(ElfW(Shdr)) &&
                   header->e_phentsize == sizeof(ElfW(Phdr))
               ? header
               : NULL;
}

/* The path of a program's loader; NULL: the program has none. */
static const char *loader_of(image_t image, const ElfW(Ehdr) * header)
{
    const ElfW(Phdr) *entry =
        part(image, header->e_phoff, header->e_phnum * sizeof *entry);
    size_t i;

    for (i = 0; entry != NULL && i < header->e_phnum; i++) {
        const char *path = part(image, entry[i].p_offset, entry[i].p_filesz);
        if (entry[i].p_type == PT_INTERP && path != NULL &&
            entry[i].p_filesz > 0 && path[entry[i].p_filesz - 1] == '\0')
            return path;
    }
    return NULL;
}

static int table_defines(image_t image, const ElfW(Shdr) * table,
                         const ElfW(Shdr) * names, const char *name)
{
    const ElfW(Sym) *symbols = part(image, table->sh_offset, table->sh_size);
    const char *texts = part(image, names->sh_offset, names->sh_size);
    size_t i, bytes = strlen(name) + 1;

    for (i = 0; symbols != NULL && texts != NULL &&
                i < table->sh_size / sizeof *symbols;
         i++)
        if (symbols[i].st_shndx != SHN_UNDEF &&
            symbols[i].st_name < names->sh_size &&
            names->sh_size - symbols[i].st_name >= bytes &&
            memcmp(texts + symbols[i].st_name, name, bytes) == 0)
            return 1;
    return 0;
}

static int defines(image_t image, const char *name)
{
    const ElfW(Ehdr) *header = header_of(image);
    const ElfW(Shdr) * sections;
    size_t i;

    if (header == NULL)
        return 0;
    sections = part(image, header->e_shoff, header->e_shnum * sizeof *sections);
    for (i = 0; sections != NULL && i < header->e_shnum; i++)
        if ((sections[i].sh_type == SHT_DYNSYM ||
             sections[i].sh_type == SHT_SYMTAB) &&
            sections[i].sh_link < header->e_shnum &&
            table_defines(image, &sections[i], &sections[sections[i].sh_link],
                          name))
            return 1;
    return 0;
}

/* ---- libraries of a program ---- */

static int file_defines(const char *path, const char *name)
{
    image_t image = image_open(path);
    int result = defines(image, name);

    image_close(image);
    return result;
}

/* "\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)", as loaders write it. */
static int line_names_mpi(char *line, char *library)
{
    char *path = strstr(line, "=> /"), *end;

    if (path == NULL)
        return 0;
    path += 3;
    end = strstr(path, " (0x");
    if (end != NULL)
        *end = '\0';
    if (!file_defines(path, "PMPI_Get_library_version"))
        return 0;
    snprintf(library, PATH_MAX, "%s", path);
    return 1;
}

/* Asks the loader for the libraries; it does not start the program. */
static int library_find(const char *loader, const char *path, char *library)
{
    char line[LINE_BYTES];
    int ends[2], found = 0;
    FILE *from;
    pid_t child;

    if (pipe(ends) != 0)
        return 0;
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(loader, loader, "--list", path, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    from = fdopen(ends[0], "r");
    while (from != NULL && fgets(line, sizeof line, from) != NULL)
        found = found || line_names_mpi(line, library);
    if (from != NULL)
        fclose(from);
    if (child > 0)
        waitpid(child, NULL, 0);
    return found;
}

/* ---- the words ---- */

static int is_program(const char *path)
{
    struct stat state;

    return stat(path, &state) == 0 && S_ISREG(state.st_mode) &&
           access(path, X_OK) == 0;
}

/* Finds a program as launchers do; 0: there is none. */
static int path_find(const char *word, char path[PATH_MAX])
{
    const char *at = getenv("PATH");

    snprintf(path, PATH_MAX, "%s", word);
    if (strchr(word, '/') != NULL || at == NULL)
        return is_program(path);
    while (*at != '\0') {
        size_t bytes = strcspn(at, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)bytes, at, word) <
                PATH_MAX &&
            is_program(path))
            return 1;
        at += bytes + (at[bytes] == ':');
    }
    return 0;
}

static kind_t kind_of(program_t *program)
{
    image_t image = image_open(program->path);
    const ElfW(Ehdr) *header = header_of(image);
    const char *loader, *begin = part(image, 0, 2);
    kind_t kind = OTHER;

    if (header != NULL) {
        loader = loader_of(image, header);
        kind = defines(image, "PMPI_Init") || defines(image, "MPI_Init")
                   ? STATIC
               : loader != NULL &&
                       library_find(loader, program->path, program->library)
                   ? DYNAMIC
                   : PLAIN;
    } else if (begin != NULL && memcmp(begin, "#!", 2) == 0) {
        kind = SCRIPT;
    }
    image_close(image);
    return kind;
}

/* Finds the program before ":"; returns the number of words, with ":". */
static size_t program_find(char **words, program_t *program_out)
{
    program_t program;
    size_t i;

    *program_out = (program_t){.kind = NO_PROGRAM};
    for (i = 0; words[i] != NULL && strcmp(words[i], ":") != 0; i++) {
        if (words[i][0] == '-' || program_out->kind >= STATIC)
            continue;
        program = (program_t){.kind = NO_PROGRAM};
        if (path_find(words[i], program.path))
            program.kind = kind_of(&program);
        else if (strchr(words[i], '/') == NULL)
            continue;
        /* A path without a program is reported, unless a program follows. */
        if (program.kind >= STATIC || program_out->path[0] == '\0' ||
            program_out->kind == NO_PROGRAM)
            *program_out = program;
    }
    return i + (words[i] != NULL);
}

/* ---- messages ---- */

/* The family of an MPI: a launcher of a family starts programs of all MPIs of
 * the family. NULL: unknown. */
static const char *family_of(const char *text)
{
    static const struct {
        const char *says, *family;
    } names[] = {{"Open MPI", "Open MPI"},  {"OpenRTE", "Open MPI"},
                 {"PRRTE", "Open MPI"},     {"PRTE", "Open MPI"},
                 {"prte", "Open MPI"},      {"HYDRA", "MPICH"},
                 {"Intel(R) MPI", "MPICH"}, {"MPICH", "MPICH"},
                 {"MVAPICH", "MPICH"}};
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(text, names[i].says) != NULL)
            return names[i].family;
    return NULL;
}

/* Loads the front from the folder of this program, or from the one above. */
static xmpi_check_t front_open(void)
{
    static const char *const places[] = {"", "/.."};
    char self[PATH_MAX - 64] = "", path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = bytes > 0 ? strrchr(self, '/') : NULL;
    xmpi_check_t check = NULL;
    void *front = NULL;
    size_t i;

    if (slash != NULL)
        *slash = '\0';
    for (i = 0; i < sizeof places / sizeof places[0] && front == NULL; i++) {
        snprintf(path, sizeof path, "%s%s/libxylem-mpi.so", self, places[i]);
        front = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    if (front != NULL)
        *(void **)(void *)&check = dlsym(front, XMPI_CHECK);
    return check;
}

static int mpi_print(const program_t *program, const char *said)
{
    const char *version = "", *launcher, *library;
    xmpi_check_t check;
    int is_taken;

    if (dlopen(program->library, RTLD_LAZY | RTLD_GLOBAL) == NULL) {
        printf("cannot load %s: %s\n", program->library, dlerror());
        return 0;
    }
    check = front_open();
    if (check == NULL) {
        puts("there is no libxylem-mpi.so beside this program");
        return 0;
    }
    is_taken = check(&version);
    launcher = family_of(said);
    library = family_of(version);
    if (launcher != NULL && library != NULL && strcmp(launcher, library) != 0) {
        printf("launcher: that of %s, another MPI: it would start each rank as "
               "a job of its own\n",
               launcher);
        return 0;
    }
    return is_taken;
}

/* 1: the binding takes over the program's collectives. */
static int program_print(const program_t *program, const char *said)
{
    static const char *const reasons[] = {
        [NO_PROGRAM] = "there is no such program",
        [OTHER] = "this is no program of this system",
        [SCRIPT] = "a script: check the programs that it starts",
        [PLAIN] = "no MPI library: nothing would be taken over, unless the "
                  "program loads one while it runs (as mpi4py does)",
        [STATIC] = "MPI is part of the program itself, and no MPI library: "
                   "nothing would be taken over"};

    if (program->path[0] == '\0') {
        puts("there is no program in the command");
        return 0;
    }
    printf("program: %s\n", program->path);
    fflush(stdout);
    if (program->kind == DYNAMIC)
        return mpi_print(program, said);
    puts(reasons[program->kind]);
    return 0;
}

int main(int argc, char **argv)
{
    int is_taken = argc > 2;
    program_t program;
    char **words;

    for (words = argv + (argc > 1 ? 2 : 1); *words != NULL;) {
        words += program_find(words, &program);
        is_taken &= program_print(&program, argv[1]);
    }
    return is_taken ? EXIT_SUCCESS : EXIT_FAILURE;
}
