//! Chapter 12, one-sided communication.

use crate::args::*;

mpi! {
    fn MPI_Accumulate | MPI_Accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win
    );

    fn MPI_Compare_and_swap(
        origin_addr: SendPtr, compare_addr: ConstAddress, result_addr: RecvPtr,
        datatype: Datatype, target_rank: Rank, target_disp: Aint, win: Win
    );

    fn MPI_Fetch_and_op(
        origin_addr: SendPtr, result_addr: RecvPtr, datatype: Datatype, target_rank: Rank,
        target_disp: Aint, op: Op, win: Win
    );

    fn MPI_Get | MPI_Get_c(
        origin_addr: RecvPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win
    );

    fn MPI_Get_accumulate | MPI_Get_accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype,
        result_addr: RecvPtr, result_count: Count, result_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win
    );

    fn MPI_Put | MPI_Put_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win
    );

    fn MPI_Raccumulate | MPI_Raccumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win,
        request: Out<Request>
    );

    fn MPI_Rget | MPI_Rget_c(
        origin_addr: RecvPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win,
        request: Out<Request>
    );

    fn MPI_Rget_accumulate | MPI_Rget_accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype,
        result_addr: RecvPtr, result_count: Count, result_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win,
        request: Out<Request>
    );

    fn MPI_Rput | MPI_Rput_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win,
        request: Out<Request>
    );

    fn MPI_Win_allocate | MPI_Win_allocate_c(
        size: Aint, disp_unit: Unit, info: Info, comm: Comm, baseptr: OutAddress, win: Out<Win>
    );

    fn MPI_Win_allocate_shared | MPI_Win_allocate_shared_c(
        size: Aint, disp_unit: Unit, info: Info, comm: Comm, baseptr: OutAddress, win: Out<Win>
    );

    fn MPI_Win_attach(win: Win, base: Address, size: Aint);

    fn MPI_Win_complete(win: Win);

    fn MPI_Win_create | MPI_Win_create_c(
        base: Address, size: Aint, disp_unit: Unit, info: Info, comm: Comm, win: Out<Win>
    );

    fn MPI_Win_create_dynamic(info: Info, comm: Comm, win: Out<Win>);

    fn MPI_Win_detach(win: Win, base: ConstAddress);

    fn MPI_Win_fence(assert: Assertion, win: Win);

    fn MPI_Win_flush(rank: Rank, win: Win);

    fn MPI_Win_flush_all(win: Win);

    fn MPI_Win_flush_local(rank: Rank, win: Win);

    fn MPI_Win_flush_local_all(win: Win);

    fn MPI_Win_free(win: InOut<Win>);

    fn MPI_Win_get_group(win: Win, group: Out<Group>);

    fn MPI_Win_get_info(win: Win, info_used: Out<Info>);

    fn MPI_Win_lock(lock_type: LockType, rank: Rank, assert: Assertion, win: Win);

    fn MPI_Win_lock_all(assert: Assertion, win: Win);

    fn MPI_Win_post(group: Group, assert: Assertion, win: Win);

    fn MPI_Win_set_info(win: Win, info: Info);

    fn MPI_Win_shared_query | MPI_Win_shared_query_c(
        win: Win, rank: Rank, size: Out<Aint>, disp_unit: Out<Unit>, baseptr: OutAddress
    );

    fn MPI_Win_start(group: Group, assert: Assertion, win: Win);

    fn MPI_Win_sync(win: Win);

    fn MPI_Win_test(win: Win, flag: Out<Flag>);

    fn MPI_Win_unlock(rank: Rank, win: Win);

    fn MPI_Win_unlock_all(win: Win);

    fn MPI_Win_wait(win: Win);
}
