/* An MPI library that the binding has no module for, or that is less than its
 * name says: compiled with SAYS, what MPI_Get_library_version says, and with
 * the soname of another. With PROGRAM it is a program for it. */
#include <stdio.h>
#include <string.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Barrier(void *comm);

#ifdef PROGRAM

int main(void)
{
    if (MPI_Init(NULL, NULL) == 0 && MPI_Barrier(NULL) == 0)
        puts("PASS");
    return 0;
}

#else

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int PMPI_Barrier(void *comm)
{
    (void)comm;
    return 0;
}

int PMPI_Get_library_version(char *text, int *length)
{
    strcpy(text, SAYS "\nand more");
    *length = (int)strlen(text);
    return 0;
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(void *comm)
{
    return PMPI_Barrier(comm);
}

#endif
