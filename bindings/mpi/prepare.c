/* A call before and after its operation: its plan, its input, its result and
 * its mistakes, in all forms of calls. */
#include "bindings/mpi/call.h"

int xmpi_call_fail(const xmpi_call_t *call, const xmpi_comm_t *comm, int code)
{
    if (code == MPI_ERR_NO_MEM)
        (void)xylem_team_abort(comm->team, "no memory for a call of MPI's");
    xmpi_host.Comm_call_errhandler(call->comm, code);
    return code;
}

int xmpi_call_plan(xmpi_plan_t *plan, const xmpi_call_t *call,
                   const xmpi_comm_t *comm, xmpi_form_t form,
                   xmpi_fate_t *fate_out, int *code_out)
{
    *fate_out = xmpi_plan_make(plan, call, comm, form, code_out);
    if (*fate_out != XMPI_TAKEN)
        return 0;
    if (*code_out == MPI_SUCCESS && form != XMPI_PERSISTENT) {
        *code_out = xmpi_plan_pack(plan);
        if (*code_out != MPI_SUCCESS) {
            xmpi_plan_drop(plan);
            (void)xylem_team_abort(comm->team, "MPI_Pack has failed");
        }
    }
    if (*code_out != MPI_SUCCESS)
        xmpi_call_fail(call, comm, *code_out);
    return *code_out == MPI_SUCCESS;
}

void xmpi_op_failure_tell(const xmpi_plan_t *plan, xylem_team_t *team)
{
    if (xmpi_op_code(plan->op) != MPI_SUCCESS)
        (void)xylem_team_abort(team, "MPI_Reduce_local has failed");
}

int xmpi_plan_result(xmpi_plan_t *plan)
{
    int code = xmpi_op_code(plan->op);

    return code == MPI_SUCCESS ? xmpi_plan_unpack(plan) : code;
}
