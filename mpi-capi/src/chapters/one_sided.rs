//! Chapter 12, one-sided communication.

use mpi_lite::rma::{Hints, Window, WindowAction};

use crate::abi;
use crate::args::*;
use crate::calls::windows::{self, OF_ACCESS, OF_FENCE, OF_POST, TargetPlace, assertions, given};

mpi! {
    /// Combines data with that of a target, each element at once. MPI 5.0, 12.3.4.
    #[inline(always)]
    fn MPI_Accumulate | MPI_Accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let run = origin_addr.run(origin_count, &origin_datatype);
        let is_done = windows::change_run(&win, &place, [run, run], |win, basic, runs, at| {
            win.combine_run((&op.lite, basic), (runs[0], None), at)
        });
        if is_done {
            return Ok(());
        }
        windows::perform(&win, &place, || {
            let origin = origin_addr.all(origin_count, &origin_datatype)?;
            Ok(WindowAction::Accumulate { origin, op: op.lite })
        })
    }

    /// Sets an element of a target if it is equal to another one; gives the old value. MPI 5.0,
    /// 12.3.4.
    #[inline(always)]
    fn MPI_Compare_and_swap(
        origin_addr: SendPtr, compare_addr: ConstAddress, result_addr: RecvPtr,
        datatype: Datatype, target_rank: Rank, target_disp: Aint, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: Count(1), datatype: &datatype,
        };
        let runs = [origin_addr.run(Count(1), &datatype), result_addr.run(Count(1), &datatype)];
        let compare = SendPtr(compare_addr.0).run(Count(1), &datatype);
        let is_done = windows::change_run(&win, &place, runs, |win, basic, [origin, old], at| {
            compare.is_some_and(|(_, compare)| win.swap_run(basic, [origin, compare, old], at))
        });
        if is_done {
            return Ok(());
        }
        windows::perform(&win, &place, || {
            let (origin, compare) = (origin_addr, SendPtr(compare_addr.0));
            Ok(WindowAction::CompareAndSwap {
                origin: origin.all(Count(1), &datatype)?,
                compare: compare.all(Count(1), &datatype)?,
                result: result_addr.all(Count(1), &datatype)?,
            })
        })
    }

    /// Combines an element with one of a target; gives the old value. MPI 5.0, 12.3.4.
    #[inline(always)]
    fn MPI_Fetch_and_op(
        origin_addr: SendPtr, result_addr: RecvPtr, datatype: Datatype, target_rank: Rank,
        target_disp: Aint, op: Op, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: Count(1), datatype: &datatype,
        };
        let runs = [origin_addr.run(Count(1), &datatype), result_addr.run(Count(1), &datatype)];
        let is_done = windows::change_run(&win, &place, runs, |win, basic, [origin, old], at| {
            win.combine_run((&op.lite, basic), (origin, Some(old)), at)
        });
        if is_done {
            return Ok(());
        }
        windows::perform(&win, &place, || {
            windows::check_predefined(&datatype)?;
            let origin = given(origin_addr, Count(1), &datatype, &op)?;
            let result = result_addr.all(Count(1), &datatype)?;
            Ok(WindowAction::GetAccumulate { origin, result, op: op.lite })
        })
    }

    /// Copies data of a target to this process. MPI 5.0, 12.3.2.
    #[inline(always)]
    fn MPI_Get | MPI_Get_c(
        origin_addr: RecvPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let run = origin_addr.run(origin_count, &origin_datatype);
        if windows::move_run(&win, &place, run, |win, run, at| win.get_run(run, at)) {
            return Ok(());
        }
        windows::perform(&win, &place, || {
            Ok(WindowAction::Get(origin_addr.all(origin_count, &origin_datatype)?))
        })
    }

    /// Combines data with that of a target; gives what was there. MPI 5.0, 12.3.4.
    fn MPI_Get_accumulate | MPI_Get_accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: MessageType,
        result_addr: RecvPtr, result_count: Count, result_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        windows::perform(&win, &place, || {
            let origin = given(origin_addr, origin_count, &origin_datatype, &op)?;
            let result = result_addr.all(result_count, &result_datatype)?;
            Ok(WindowAction::GetAccumulate { origin, result, op: op.lite })
        })
    }

    /// Copies data of this process to a target. MPI 5.0, 12.3.1.
    #[inline(always)]
    fn MPI_Put | MPI_Put_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: QuickWin
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let run = origin_addr.run(origin_count, &origin_datatype);
        if windows::move_run(&win, &place, run, |win, run, at| win.put_run(run, at)) {
            return Ok(());
        }
        windows::perform(&win, &place, || {
            Ok(WindowAction::Put(origin_addr.all(origin_count, &origin_datatype)?))
        })
    }

    /// Starts to combine data with that of a target. MPI 5.0, 12.3.5.
    fn MPI_Raccumulate | MPI_Raccumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: QuickWin,
        request: Out<Request>
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let started = windows::start(&win, &place, || {
            let origin = origin_addr.all(origin_count, &origin_datatype)?;
            Ok(WindowAction::Accumulate { origin, op: op.lite })
        })?;
        request.set(started)
    }

    /// Starts to copy data of a target to this process. MPI 5.0, 12.3.5.
    fn MPI_Rget | MPI_Rget_c(
        origin_addr: RecvPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: QuickWin,
        request: Out<Request>
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let started = windows::start(&win, &place, || {
            Ok(WindowAction::Get(origin_addr.all(origin_count, &origin_datatype)?))
        })?;
        request.set(started)
    }

    /// Starts to combine data with that of a target, and gets what was there. MPI 5.0, 12.3.5.
    fn MPI_Rget_accumulate | MPI_Rget_accumulate_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: MessageType,
        result_addr: RecvPtr, result_count: Count, result_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: QuickWin,
        request: Out<Request>
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let started = windows::start(&win, &place, || {
            let origin = given(origin_addr, origin_count, &origin_datatype, &op)?;
            let result = result_addr.all(result_count, &result_datatype)?;
            Ok(WindowAction::GetAccumulate { origin, result, op: op.lite })
        })?;
        request.set(started)
    }

    /// Starts to copy data of this process to a target. MPI 5.0, 12.3.5.
    fn MPI_Rput | MPI_Rput_c(
        origin_addr: SendPtr, origin_count: Count, origin_datatype: Datatype, target_rank: Rank,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: QuickWin,
        request: Out<Request>
    ) {
        let place = TargetPlace {
            rank: target_rank, displacement: target_disp, count: target_count,
            datatype: &target_datatype,
        };
        let started = windows::start(&win, &place, || {
            Ok(WindowAction::Put(origin_addr.all(origin_count, &origin_datatype)?))
        })?;
        request.set(started)
    }

    /// Makes a window of new memory. Collective. MPI 5.0, 12.2.2.
    fn MPI_Win_allocate | MPI_Win_allocate_c(
        size: Aint, disp_unit: Unit, info: Info, comm: Comm, baseptr: OutAddress, win: Out<Win>
    ) {
        let extent = windows::extent(size, disp_unit)?;
        let hints = windows::hints(Hints::default(), info);
        let (handle, base) = windows::register(Window::allocate(&comm.lite, extent, hints)?);
        baseptr.set(base.cast());
        win.set(handle)
    }

    /// Makes a window of new memory that its processes share. Collective. MPI 5.0, 12.2.3.
    fn MPI_Win_allocate_shared | MPI_Win_allocate_shared_c(
        size: Aint, disp_unit: Unit, info: Info, comm: Comm, baseptr: OutAddress, win: Out<Win>
    ) {
        let extent = windows::extent(size, disp_unit)?;
        let hints = windows::hints(Hints::default(), info);
        let (handle, base) = windows::register(Window::allocate_shared(&comm.lite, extent, hints)?);
        baseptr.set(base.cast());
        win.set(handle)
    }

    /// Adds memory to a dynamic window. MPI 5.0, 12.2.4.
    fn MPI_Win_attach(win: Win, base: Address, size: Aint) {
        let memory = base.memory(windows::bytes(size)? as usize);
        Ok(win.lite()?.attach(base.0.addr() as u64, memory)?)
    }

    /// Ends an access epoch that `MPI_Win_start` began. MPI 5.0, 12.5.2.
    fn MPI_Win_complete(win: QuickWin) {
        Ok(win.lite()?.complete()?)
    }

    /// Makes a window of memory of the program. Collective. MPI 5.0, 12.2.1.
    fn MPI_Win_create | MPI_Win_create_c(
        base: Address, size: Aint, disp_unit: Unit, info: Info, comm: Comm, win: Out<Win>
    ) {
        let (size, unit) = (windows::bytes(size)?, windows::unit(disp_unit)?);
        let hints = windows::hints(Hints::default(), info);
        let lite = Window::create(&comm.lite, base.memory(size as usize), unit, hints)?;
        win.set(windows::register(lite).0)
    }

    /// Makes a window to which memory is added later. Collective. MPI 5.0, 12.2.4.
    fn MPI_Win_create_dynamic(info: Info, comm: Comm, win: Out<Win>) {
        let hints = windows::hints(Hints::default(), info);
        win.set(windows::register(Window::create_dynamic(&comm.lite, hints)?).0)
    }

    /// Takes memory out of a dynamic window. MPI 5.0, 12.2.4.
    fn MPI_Win_detach(win: Win, base: ConstAddress) {
        Ok(win.lite()?.detach(base.0.addr() as u64)?)
    }

    /// Ends an epoch for all processes, and begins one. Collective. MPI 5.0, 12.5.1.
    fn MPI_Win_fence(assert: Assertion, win: QuickWin) {
        Ok(win.lite()?.fence(assertions(assert, OF_FENCE)?)?)
    }

    /// Waits until operations at a target are complete there. MPI 5.0, 12.5.4.
    #[inline(always)]
    fn MPI_Win_flush(rank: Rank, win: QuickWin) {
        windows::with(&win, rank, Window::flush)
    }

    /// Waits until operations at all targets are complete there. MPI 5.0, 12.5.4.
    fn MPI_Win_flush_all(win: QuickWin) {
        Ok(win.lite()?.flush_all()?)
    }

    /// Waits until operations at a target are complete here. MPI 5.0, 12.5.4.
    fn MPI_Win_flush_local(rank: Rank, win: QuickWin) {
        windows::with(&win, rank, Window::flush_local)
    }

    /// Waits until operations at all targets are complete here. MPI 5.0, 12.5.4.
    fn MPI_Win_flush_local_all(win: QuickWin) {
        Ok(win.lite()?.flush_local_all()?)
    }

    /// Frees a window, after its attributes. Collective. MPI 5.0, 12.2.5.
    fn MPI_Win_free(win: InOut<Win>) {
        let ended = win.value.get()?.free()?;
        win.set(abi::MPI_WIN_NULL)?;
        ended
    }

    /// The processes of a window. MPI 5.0, 12.2.6.
    fn MPI_Win_get_group(win: Win, group: Out<Group>) {
        group.set(super::groups::insert(win.lite()?.communicator().group().clone()))
    }

    /// The hints in use. MPI 5.0, 12.2.7.
    fn MPI_Win_get_info(win: Win, info_used: Out<Info>) {
        info_used.set(Info::make(win.lite()?.hints())?)
    }

    /// Begins an access epoch for one target. MPI 5.0, 12.5.3.
    #[inline(always)]
    fn MPI_Win_lock(lock_type: LockType, rank: Rank, assert: Assertion, win: QuickWin) {
        let (kind, assertions) = (windows::lock_kind(lock_type)?, assertions(assert, OF_ACCESS)?);
        windows::with(&win, rank, |window, rank| window.lock(kind, rank, assertions))
    }

    /// Begins an access epoch for all targets. MPI 5.0, 12.5.3.
    fn MPI_Win_lock_all(assert: Assertion, win: QuickWin) {
        Ok(win.lite()?.lock_all(assertions(assert, OF_ACCESS)?)?)
    }

    /// Begins an exposure epoch for a group of origins. MPI 5.0, 12.5.2.
    fn MPI_Win_post(group: Group, assert: Assertion, win: QuickWin) {
        Ok(win.lite()?.post(&group.lite, assertions(assert, OF_POST)?)?)
    }

    /// Gives hints. Collective. MPI 5.0, 12.2.7.
    fn MPI_Win_set_info(win: Win, info: Info) {
        Ok(win.lite()?.set_hints(|known| *known = windows::hints(known.clone(), info))?)
    }

    /// The memory of a process, if it is shared; for `MPI_PROC_NULL`, of the first process that has
    /// some. MPI 5.0, 12.2.3.
    fn MPI_Win_shared_query | MPI_Win_shared_query_c(
        win: Win, rank: Rank, size: Out<Aint>, disp_unit: Out<Unit>, baseptr: OutAddress
    ) {
        let window = win.lite()?;
        let (bytes, unit, base) = window.shared_query(windows::process(window, "rank", rank)?)?;
        size.set(bytes.cast_signed())?;
        disp_unit.set(unit)?;
        baseptr.set(base.cast());
        Ok(())
    }

    /// Begins an access epoch for a group of targets. MPI 5.0, 12.5.2.
    fn MPI_Win_start(group: Group, assert: Assertion, win: QuickWin) {
        Ok(win.lite()?.start(&group.lite, assertions(assert, OF_ACCESS)?)?)
    }

    /// Brings together what this process and others see of its memory. MPI 5.0, 12.5.4.
    fn MPI_Win_sync(win: QuickWin) {
        Ok(win.lite()?.sync()?)
    }

    /// Ends an exposure epoch if all origins have done with it. MPI 5.0, 12.5.2.
    fn MPI_Win_test(win: QuickWin, flag: Out<Flag>) {
        flag.set(win.lite()?.test()?)
    }

    /// Ends the access epoch of one target. MPI 5.0, 12.5.3.
    #[inline(always)]
    fn MPI_Win_unlock(rank: Rank, win: QuickWin) {
        windows::with(&win, rank, Window::unlock)
    }

    /// Ends the access epoch of all targets. MPI 5.0, 12.5.3.
    fn MPI_Win_unlock_all(win: QuickWin) {
        Ok(win.lite()?.unlock_all()?)
    }

    /// Ends an exposure epoch when all origins have done with it. MPI 5.0, 12.5.2.
    fn MPI_Win_wait(win: QuickWin) {
        Ok(win.lite()?.wait()?)
    }
}
