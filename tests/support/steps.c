#include "tests/support/steps.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t steps_count(void (*fn)(void *arg), void *arg)
{
    uint64_t steps = 0;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        raise(SIGSTOP);
        fn(arg);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    while (WIFSTOPPED(status) &&
           ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
           waitpid(child, &status, 0) == child)
        steps++;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? steps : 0;
}
