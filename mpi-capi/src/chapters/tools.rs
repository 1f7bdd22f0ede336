//! Chapter 15: the tool information interface and the profiling control.

use core::ffi::c_int;

use mpi_lite::config::{Setting, Settings, Value};
use mpi_lite::counters::Row;
use mpi_lite::engine::Counters;

use crate::abi;
use crate::args::*;
use crate::error::{Error, Result};
use crate::event_types::{self, EventType};
use crate::events;
use crate::variables::TOOLS;
use crate::variables::{self, Act, TEXT_ROOM, in_use, number, tools};

mpi! {
    /// Speaks to a profiling tool; without one it does nothing. MPI 5.0, 15.2.4.
    fn MPI_Pcontrol(level: Level) {
        let _ = level;
        Ok(())
    }

    /// How often the categories have changed: never. MPI 5.0, 15.3.9.
    fn MPI_T_category_changed(update_number: Out<Int>) {
        in_use()?;
        update_number.set(0)
    }

    /// The categories in a category. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_categories(cat_index: Int, len: Length, indices: OutInts) {
        list(&category(cat_index)?.categories, len, indices)
    }

    /// The settings in a category. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_cvars(cat_index: Int, len: Length, indices: OutInts) {
        list(&category(cat_index)?.cvars, len, indices)
    }

    /// The kinds of event in a category. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_events(cat_index: Int, len: Length, indices: OutInts) {
        list(&category(cat_index)?.events, len, indices)
    }

    /// The index of a category. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_index(name: Text, cat_index: Out<Int>) {
        in_use()?;
        let is_it = |it: &variables::Category| it.name.as_bytes() == name.bytes();
        cat_index.set(variables::find(&variables::categories(), is_it)?)
    }

    /// What a category is about. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_info(
        cat_index: Int, name: TextOut, name_len: Room, desc: TextOut, desc_len: Room,
        num_cvars: Wanted<Int>, num_pvars: Wanted<Int>, num_categories: Wanted<Int>
    ) {
        let category = category(cat_index)?;
        name_len.give(&category.name, name)?;
        desc_len.give(&category.about, desc)?;
        num_cvars.set(number(category.cvars.len()))?;
        num_pvars.set(number(category.pvars.len()))?;
        num_categories.set(number(category.categories.len()))
    }

    /// How many categories there are. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_num(num_cat: Out<Int>) {
        in_use()?;
        num_cat.set(number(variables::categories().len()))
    }

    /// How many kinds of event a category has. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_num_events(cat_index: Int, num_events: Out<Int>) {
        num_events.set(number(category(cat_index)?.events.len()))
    }

    /// The counters in a category. MPI 5.0, 15.3.9.
    fn MPI_T_category_get_pvars(cat_index: Int, len: Length, indices: OutInts) {
        list(&category(cat_index)?.pvars, len, indices)
    }

    /// The index of a setting. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_get_index(name: Text, cvar_index: Out<Int>) {
        in_use()?;
        let is_it = |it: &Setting| it.variable.as_bytes() == name.bytes();
        cvar_index.set(variables::find(&Settings::default().rows(), is_it)?)
    }

    /// What a setting is. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_get_info(
        cvar_index: Int, name: TextOut, name_len: Room, verbosity: Wanted<Verbosity>,
        datatype: Wanted<Datatype>, enumtype: Wanted<ToolEnum>, desc: TextOut, desc_len: Room,
        bind: Wanted<Binding>, scope: Wanted<Scope>
    ) {
        in_use()?;
        let settings = Settings::default().rows();
        let setting = &settings[variables::index(cvar_index.0, settings.len())?];
        name_len.give(setting.variable, name)?;
        desc_len.give(setting.doc, desc)?;
        verbosity.set(abi::MPI_T_VERBOSITY_TUNER_BASIC)?;
        datatype.set(match setting.value {
            Value::Number(_) => abi::MPI_UNSIGNED_LONG_LONG,
            Value::Text(_) => abi::MPI_CHAR,
        })?;
        enumtype.set(abi::MPI_T_ENUM_NULL)?;
        bind.set(abi::MPI_T_BIND_NO_OBJECT)?;
        scope.set(abi::MPI_T_SCOPE_READONLY)
    }

    /// How many settings there are. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_get_num(num_cvar: Out<Int>) {
        in_use()?;
        num_cvar.set(number(Settings::default().rows().len()))
    }

    /// Makes a handle of a setting. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_handle_alloc(
        cvar_index: Int, obj_handle: Address, handle: Out<CvarHandle>, count: Out<Int>
    ) {
        let _ = obj_handle;
        let mut tools = tools()?;
        let settings = Settings::default().rows();
        let place = variables::index(cvar_index.0, settings.len())?;
        count.set(match settings[place].value {
            Value::Number(_) => 1,
            Value::Text(_) => number(TEXT_ROOM),
        })?;
        handle.set(tools.bind_cvar(place))
    }

    /// Frees a handle of a setting. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_handle_free(handle: InOut<CvarHandle>) {
        tools()?.free_cvar(handle.value.0)?;
        handle.set(abi::MPI_T_CVAR_HANDLE_NULL)
    }

    /// Reads a setting. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_read(handle: CvarHandle, buf: RecvPtr) {
        let place = tools()?.cvar(handle.0)?;
        match &variables::settings()?[place].value {
            Value::Number(number) => put(buf, &number.to_ne_bytes()),
            Value::Text(text) => {
                let text = &text.as_bytes()[..text.len().min(TEXT_ROOM - 1)];
                put(buf, &[text, &[0]].concat())
            }
        }
    }

    /// Settings are made by the environment, before `MPI_Init`. MPI 5.0, 15.3.6.
    fn MPI_T_cvar_write(handle: CvarHandle, buf: ConstAddress) {
        let _ = buf;
        tools()?.cvar(handle.0)?;
        Err(Error::new(abi::MPI_T_ERR_CVAR_SET_NEVER, BY_ENVIRONMENT))
    }

    /// What an enumeration is: no variable has one. MPI 5.0, 15.3.5.
    fn MPI_T_enum_get_info(enumtype: ToolEnum, num: Wanted<Int>, name: TextOut, name_len: Room) {
        nothing((enumtype, num, name, name_len), NO_HANDLE)
    }

    /// A value of an enumeration: no variable has one. MPI 5.0, 15.3.5.
    fn MPI_T_enum_get_item(
        enumtype: ToolEnum, indx: Int, value: Wanted<Int>, name: TextOut, name_len: Room
    ) {
        nothing((enumtype, indx, value, name, name_len), NO_HANDLE)
    }

    /// Hints of a callback: none. MPI 5.0, 15.3.8.
    fn MPI_T_event_callback_get_info(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info_used: Out<Info>
    ) {
        tools()?.registration(event_registration.0)?;
        events::level(cb_safety.0)?;
        info_used.set(super::info::insert(Default::default()))
    }

    /// Hints for a callback: none is known. MPI 5.0, 15.3.8.
    fn MPI_T_event_callback_set_info(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info: Info
    ) {
        let _ = info;
        tools()?.registration(event_registration.0)?;
        events::level(cb_safety.0).map(drop)
    }

    /// The elements of an event. MPI 5.0, 15.3.8.
    fn MPI_T_event_copy(event_instance: EventInstance, buffer: RecvPtr) {
        put(buffer, tools()?.event(event_instance.0)?.bytes())
    }

    /// The index of a kind of event. MPI 5.0, 15.3.8.
    fn MPI_T_event_get_index(name: Text, event_index: Out<Int>) {
        in_use()?;
        let is_it = |it: &EventType| it.name.as_bytes() == name.bytes();
        event_index.set(variables::find(&event_types::TYPES, is_it)?)
    }

    /// What a kind of event is. MPI 5.0, 15.3.8.
    fn MPI_T_event_get_info(
        event_index: Int, name: TextOut, name_len: Room, verbosity: Wanted<Verbosity>,
        array_of_datatypes: OutDatatypes, array_of_displacements: OutAints,
        num_elements: Room, enumtype: Wanted<ToolEnum>, info: Wanted<Info>, desc: TextOut,
        desc_len: Room, bind: Wanted<Binding>
    ) {
        in_use()?;
        let kind = &event_types::TYPES[variables::index(event_index.0, event_types::TYPES.len())?];
        name_len.give(kind.name, name)?;
        desc_len.give(&kind.description(), desc)?;
        verbosity.set(abi::MPI_T_VERBOSITY_USER_DETAIL)?;
        let room = num_elements.settle(kind.elements.len())?;
        for (at, (datatype, displacement)) in kind.elements.iter().take(room).enumerate() {
            array_of_datatypes.set_if_given(at, *datatype)?;
            array_of_displacements.set_if_given(at, i64::from(number(*displacement)))?;
        }
        enumtype.set(abi::MPI_T_ENUM_NULL)?;
        bind.set(abi::MPI_T_BIND_NO_OBJECT)?;
        info.set_with(|| super::info::insert(Default::default()))
    }

    /// How many kinds of event there are. MPI 5.0, 15.3.8.
    fn MPI_T_event_get_num(num_events: Out<Int>) {
        in_use()?;
        num_events.set(number(event_types::TYPES.len()))
    }

    /// Where an event comes from: there is one source. MPI 5.0, 15.3.8.
    fn MPI_T_event_get_source(event_instance: EventInstance, source_index: Out<Int>) {
        tools()?.event(event_instance.0)?;
        source_index.set(0)
    }

    /// When an event happened. MPI 5.0, 15.3.8.
    fn MPI_T_event_get_timestamp(event_instance: EventInstance, event_timestamp: Out<LargeCount>) {
        event_timestamp.set(tools()?.event(event_instance.0)?.time)
    }

    /// Makes a handle of a kind of event. MPI 5.0, 15.3.8.
    fn MPI_T_event_handle_alloc(
        event_index: Int, obj_handle: Address, info: Info,
        event_registration: Out<EventRegistration>
    ) {
        let _ = (obj_handle, info);
        let mut tools = tools()?;
        let kind = variables::index(event_index.0, event_types::TYPES.len())?;
        event_registration.set(tools.bind_event(kind))
    }

    /// Frees a handle of a kind of event. Its free function is called when no other callback of it
    /// is called any more. MPI 5.0, 15.3.8.
    fn MPI_T_event_handle_free(
        event_registration: EventRegistration, user_data: Address, free_cb_function: EventFreeFn
    ) {
        tools()?.free_event(event_registration.0)?;
        let (data, function) = (user_data.0, free_cb_function.0);
        events::tell_freed(
            event_registration.0, data.expose_provenance(), function.expose_provenance());
        Ok(())
    }

    /// Hints of a handle: none. MPI 5.0, 15.3.8.
    fn MPI_T_event_handle_get_info(event_registration: EventRegistration, info_used: Out<Info>) {
        tools()?.registration(event_registration.0)?;
        info_used.set(super::info::insert(Default::default()))
    }

    /// Hints for a handle: none is known. MPI 5.0, 15.3.8.
    fn MPI_T_event_handle_set_info(event_registration: EventRegistration, info: Info) {
        let _ = info;
        tools()?.registration(event_registration.0).map(drop)
    }

    /// An element of an event. MPI 5.0, 15.3.8.
    fn MPI_T_event_read(event_instance: EventInstance, element_index: Int, buffer: RecvPtr) {
        put(buffer, tools()?.event(event_instance.0)?.element(element_index.0)?)
    }

    /// Sets the callback of a safety level; null removes it. MPI 5.0, 15.3.8.
    fn MPI_T_event_register_callback(
        event_registration: EventRegistration, cb_safety: CallbackSafety, info: Info,
        user_data: Address, event_cb_function: EventFn
    ) {
        let _ = info;
        let mut tools = tools()?;
        let registration = tools.registration(event_registration.0)?;
        let level = events::level(cb_safety.0)?;
        registration.set_handler(level, event_cb_function.0, user_data.0);
        Ok(())
    }

    /// Sets the callback for lost events; null removes it. MPI 5.0, 15.3.8.
    fn MPI_T_event_set_dropped_handler(
        event_registration: EventRegistration, dropped_cb_function: EventDroppedFn
    ) {
        tools()?.registration(event_registration.0)?.set_dropped(dropped_cb_function.0);
        Ok(())
    }

    /// Ends the use of the tool interface, once for each `MPI_T_init_thread`. MPI 5.0, 15.3.4.
    fn MPI_T_finalize() {
        tools()?.end();
        Ok(())
    }

    /// Begins the use of the tool interface, also before `MPI_Init`; any thread may call it at any
    /// time. MPI 5.0, 15.3.4.
    fn MPI_T_init_thread(required: ThreadLevel, provided: Out<ThreadLevel>) {
        provided.set(required.0.clamp(abi::MPI_THREAD_SINGLE, abi::MPI_THREAD_MULTIPLE))?;
        TOOLS.lock().begin();
        Ok(())
    }

    /// The index of a counter. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_get_index(name: Text, var_class: PvarClass, pvar_index: Out<Int>) {
        in_use()?;
        let is_it = |row: &Row| {
            variables::class_of(row.measure) == var_class.0 && row.name().as_bytes() == name.bytes()
        };
        pvar_index.set(variables::find(&Counters::default().rows(), is_it)?)
    }

    /// What a counter is. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_get_info(
        pvar_index: Int, name: TextOut, name_len: Room, verbosity: Wanted<Verbosity>,
        var_class: Wanted<PvarClass>, datatype: Wanted<Datatype>, enumtype: Wanted<ToolEnum>,
        desc: TextOut, desc_len: Room, bind: Wanted<Binding>, readonly: Wanted<Int>,
        continuous: Wanted<Int>, atomic: Wanted<Int>
    ) {
        let (_, row) = counter(pvar_index)?;
        name_len.give(&row.name(), name)?;
        desc_len.give(&row.about(), desc)?;
        verbosity.set(match row.part {
            "mpi" => abi::MPI_T_VERBOSITY_USER_BASIC,
            _ => abi::MPI_T_VERBOSITY_TUNER_DETAIL,
        })?;
        var_class.set(variables::class_of(row.measure))?;
        datatype.set(abi::MPI_UNSIGNED_LONG_LONG)?;
        enumtype.set(abi::MPI_T_ENUM_NULL)?;
        bind.set(abi::MPI_T_BIND_NO_OBJECT)?;
        let is_continuous = variables::is_continuous(row.measure);
        readonly.set(c_int::from(is_continuous))?;
        continuous.set(c_int::from(is_continuous))?;
        atomic.set(c_int::from(!is_continuous))
    }

    /// How many counters there are. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_get_num(num_pvar: Out<Int>) {
        in_use()?;
        num_pvar.set(number(Counters::default().rows().len()))
    }

    /// Makes a handle of a counter for a session. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_handle_alloc(
        session: PvarSession, pvar_index: Int, obj_handle: Address, handle: Out<PvarHandle>,
        count: Out<Int>
    ) {
        let _ = obj_handle;
        let (place, row) = counter(pvar_index)?;
        handle.set(tools()?.bind_pvar(session.0, place, row.measure)?)?;
        count.set(1)
    }

    /// Frees a handle of a counter. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_handle_free(session: PvarSession, handle: InOut<PvarHandle>) {
        tools()?.free_pvar(session.0, handle.value.0)?;
        handle.set(abi::MPI_T_PVAR_HANDLE_NULL)
    }

    /// What a counter has counted in a session. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_read(session: PvarSession, handle: PvarHandle, buf: RecvPtr) {
        let value = tools()?.read(session.0, handle.0)?;
        put(buf, &value.to_ne_bytes())
    }

    /// Reads a counter and begins it anew, in one step. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_readreset(session: PvarSession, handle: PvarHandle, buf: RecvPtr) {
        let value = tools()?.read_and_reset(session.0, handle.0)?;
        put(buf, &value.to_ne_bytes())
    }

    /// Begins one or all counters of a session anew. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_reset(session: PvarSession, handle: PvarHandle) {
        tools()?.act(session.0, handle.0, Act::Set(0))
    }

    /// Begins a session: counters in it run by themselves. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_session_create(session: Out<PvarSession>) {
        session.set(tools()?.begin_session())
    }

    /// Ends a session and frees its handles. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_session_free(session: InOut<PvarSession>) {
        tools()?.end_session(session.value.0)?;
        session.set(abi::MPI_T_PVAR_SESSION_NULL)
    }

    /// Starts one or all counters of a session. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_start(session: PvarSession, handle: PvarHandle) {
        tools()?.act(session.0, handle.0, Act::Start)
    }

    /// Stops one or all counters of a session. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_stop(session: PvarSession, handle: PvarHandle) {
        tools()?.act(session.0, handle.0, Act::Stop)
    }

    /// Gives a counter another value, in this session. MPI 5.0, 15.3.7.
    fn MPI_T_pvar_write(session: PvarSession, handle: PvarHandle, buf: SendPtr) {
        let (span, _) = buf.packed(8, 0, 8)?;
        let mut bytes = [0; 8];
        span.read_into(&mut bytes);
        let value = u64::from_ne_bytes(bytes);
        tools()?.act(session.0, handle.0, Act::Set(value))
    }

    /// What the source of events is. MPI 5.0, 15.3.8.
    fn MPI_T_source_get_info(
        source_index: Int, name: TextOut, name_len: Room, desc: TextOut,
        desc_len: Room, ordering: Wanted<SourceOrder>, ticks_per_second: Wanted<LargeCount>,
        max_ticks: Wanted<LargeCount>, info: Wanted<Info>
    ) {
        in_use()?;
        variables::index(source_index.0, 1)?;
        name_len.give(event_types::SOURCE.0, name)?;
        desc_len.give(event_types::SOURCE.1, desc)?;
        ordering.set(abi::MPI_T_SOURCE_ORDERED)?;
        ticks_per_second.set(1_000_000_000)?;
        max_ticks.set(i64::MAX)?;
        info.set_with(|| super::info::insert(Default::default()))
    }

    /// How many sources of events there are: one. MPI 5.0, 15.3.8.
    fn MPI_T_source_get_num(num_sources: Out<Int>) {
        in_use()?;
        num_sources.set(1)
    }

    /// The time of the source of events. MPI 5.0, 15.3.8.
    fn MPI_T_source_get_timestamp(source_index: Int, timestamp: Out<LargeCount>) {
        in_use()?;
        variables::index(source_index.0, 1)?;
        timestamp.set(events::now())
    }
}

const BY_ENVIRONMENT: &str = "only environment variables change settings, before MPI_Init";

/// The answer to a call about an enumeration, whatever its arguments are: there is nothing of the
/// kind, so no handle can be right.
fn nothing<T>(_arguments: T, error: (c_int, &'static str)) -> Result<()> {
    in_use()?;
    Err(Error::new(error.0, error.1))
}

const NO_HANDLE: (c_int, &str) = (
    abi::MPI_T_ERR_INVALID_HANDLE,
    "this library has no objects of this kind",
);

/// The category at an index.
fn category(index: Int) -> Result<variables::Category> {
    in_use()?;
    let mut categories = variables::categories();
    let place = variables::index(index.0, categories.len())?;
    Ok(categories.swap_remove(place))
}

/// The counter at an index, and its place.
fn counter(index: Int) -> Result<(usize, Row)> {
    in_use()?;
    let rows = Counters::default().rows();
    let place = variables::index(index.0, rows.len())?;
    Ok((place, rows[place]))
}

/// Writes as many of `places` as there is room for.
fn list(places: &[usize], len: Length, indices: OutInts) -> Result<()> {
    for (at, place) in places.iter().take(len.0 as usize).enumerate() {
        indices.set(at, number(*place))?;
    }
    Ok(())
}

/// Writes the value of a variable.
fn put(buf: RecvPtr, bytes: &[u8]) -> Result<()> {
    let len = bytes.len() as u64;
    let (room, _) = buf.room(len, 0, len)?;
    room.write(0, bytes);
    Ok(())
}
