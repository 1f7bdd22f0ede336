//! Chapter 15: the tool information interface and the profiling control.

use crate::args::*;

mpi! {
    /// Speaks to a profiling tool; without one it does nothing. MPI 5.0, 15.2.4.
    fn MPI_Pcontrol(level: Level) {
        let _ = level;
        Ok(())
    }

    fn MPI_T_category_changed(update_number: Out<Int>);

    fn MPI_T_category_get_categories(cat_index: Int, len: Int, indices: OutInts);

    fn MPI_T_category_get_cvars(cat_index: Int, len: Int, indices: OutInts);

    fn MPI_T_category_get_events(cat_index: Int, len: Int, indices: OutInts);

    fn MPI_T_category_get_index(name: Text, cat_index: Out<Int>);

    fn MPI_T_category_get_info(
        cat_index: Int, name: TextOut, name_len: InOut<Int>, desc: TextOut, desc_len: InOut<Int>,
        num_cvars: Out<Int>, num_pvars: Out<Int>, num_categories: Out<Int>
    );

    fn MPI_T_category_get_num(num_cat: Out<Int>);

    fn MPI_T_category_get_num_events(cat_index: Int, num_events: Out<Int>);

    fn MPI_T_category_get_pvars(cat_index: Int, len: Int, indices: OutInts);

    fn MPI_T_cvar_get_index(name: Text, cvar_index: Out<Int>);

    fn MPI_T_cvar_get_info(
        cvar_index: Int, name: TextOut, name_len: InOut<Int>, verbosity: Out<Int>,
        datatype: Out<Datatype>, enumtype: Out<ToolEnum>, desc: TextOut, desc_len: InOut<Int>,
        bind: Out<Int>, scope: Out<Int>
    );

    fn MPI_T_cvar_get_num(num_cvar: Out<Int>);

    fn MPI_T_cvar_handle_alloc(
        cvar_index: Int, obj_handle: Address, handle: Out<CvarHandle>, count: Out<Int>
    );

    fn MPI_T_cvar_handle_free(handle: Out<CvarHandle>);

    fn MPI_T_cvar_read(handle: CvarHandle, buf: RecvPtr);

    fn MPI_T_cvar_write(handle: CvarHandle, buf: ConstAddress);

    fn MPI_T_enum_get_info(enumtype: ToolEnum, num: Out<Int>, name: TextOut, name_len: InOut<Int>);

    fn MPI_T_enum_get_item(
        enumtype: ToolEnum, indx: Int, value: Out<Int>, name: TextOut, name_len: InOut<Int>
    );

    fn MPI_T_event_callback_get_info(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info_used: Out<Info>
    );

    fn MPI_T_event_callback_set_info(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info: Info
    );

    fn MPI_T_event_copy(event_instance: EventInstance, buffer: Address);

    fn MPI_T_event_get_index(name: Text, event_index: Out<Int>);

    fn MPI_T_event_get_info(
        event_index: Int, name: TextOut, name_len: InOut<Int>, verbosity: Out<Int>,
        array_of_datatypes: OutDatatypes, array_of_displacements: OutAints,
        num_elements: Out<Int>, enumtype: Out<ToolEnum>, info: Out<Info>, desc: TextOut,
        desc_len: InOut<Int>, bind: Out<Int>
    );

    fn MPI_T_event_get_num(num_events: Out<Int>);

    fn MPI_T_event_get_source(event_instance: EventInstance, source_index: Out<Int>);

    fn MPI_T_event_get_timestamp(event_instance: EventInstance, event_timestamp: Out<LargeCount>);

    fn MPI_T_event_handle_alloc(
        event_index: Int, obj_handle: Address, info: Info,
        event_registration: Out<EventRegistration>
    );

    fn MPI_T_event_handle_free(
        event_registration: EventRegistration, user_data: Address, free_cb_function: EventFreeFn
    );

    fn MPI_T_event_handle_get_info(event_registration: EventRegistration, info_used: Out<Info>);

    fn MPI_T_event_handle_set_info(event_registration: EventRegistration, info: Info);

    fn MPI_T_event_read(event_instance: EventInstance, element_index: Int, buffer: Address);

    fn MPI_T_event_register_callback(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info: Info,
        user_data: Address, event_cb_function: EventFn
    );

    fn MPI_T_event_set_dropped_handler(
        event_registration: EventRegistration, dropped_cb_function: EventDroppedFn
    );

    fn MPI_T_finalize();

    fn MPI_T_init_thread(required: Int, provided: Out<Int>);

    fn MPI_T_pvar_get_index(name: Text, var_class: Int, pvar_index: Out<Int>);

    fn MPI_T_pvar_get_info(
        pvar_index: Int, name: TextOut, name_len: InOut<Int>, verbosity: Out<Int>,
        var_class: Out<Int>, datatype: Out<Datatype>, enumtype: Out<ToolEnum>, desc: TextOut,
        desc_len: InOut<Int>, bind: Out<Int>, readonly: Out<Int>, continuous: Out<Int>,
        atomic: Out<Int>
    );

    fn MPI_T_pvar_get_num(num_pvar: Out<Int>);

    fn MPI_T_pvar_handle_alloc(
        session: PvarSession, pvar_index: Int, obj_handle: Address, handle: Out<PvarHandle>,
        count: Out<Int>
    );

    fn MPI_T_pvar_handle_free(session: PvarSession, handle: Out<PvarHandle>);

    fn MPI_T_pvar_read(session: PvarSession, handle: PvarHandle, buf: RecvPtr);

    fn MPI_T_pvar_readreset(session: PvarSession, handle: PvarHandle, buf: RecvPtr);

    fn MPI_T_pvar_reset(session: PvarSession, handle: PvarHandle);

    fn MPI_T_pvar_session_create(session: Out<PvarSession>);

    fn MPI_T_pvar_session_free(session: Out<PvarSession>);

    fn MPI_T_pvar_start(session: PvarSession, handle: PvarHandle);

    fn MPI_T_pvar_stop(session: PvarSession, handle: PvarHandle);

    fn MPI_T_pvar_write(session: PvarSession, handle: PvarHandle, buf: ConstAddress);

    fn MPI_T_source_get_info(
        source_index: Int, name: TextOut, name_len: InOut<Int>, desc: TextOut,
        desc_len: InOut<Int>, ordering: Out<SourceOrder>, ticks_per_second: Out<LargeCount>,
        max_ticks: Out<LargeCount>, info: Out<Info>
    );

    fn MPI_T_source_get_num(num_sources: Out<Int>);

    fn MPI_T_source_get_timestamp(source_index: Int, timestamp: Out<LargeCount>);
}
