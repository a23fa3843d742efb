#include "bench/common/begin.h"

#include <signal.h>

#include "runtime/base/standard.h"

void program_begin(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;

    xyl_standard_open();
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)sigaction(SIGCHLD, &usual, NULL);
}
