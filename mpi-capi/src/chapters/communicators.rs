//! Communicators of chapter 7: making, comparing and naming them; names of types and windows.

use core::ffi::c_int;

use mpi_lite::comm::{self, Bridge, Communicator, Comparison};
use mpi_lite::world::hardware;

use crate::abi::{self, Handle};
use crate::args::*;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::Kind;
use crate::objects::comm::CommObject;
use crate::objects::errhandler;
use crate::objects::session::ProcessSet;
use crate::objects::types;
use crate::registry;

mpi! {
    /// Compares two communicators. MPI 5.0, 7.4.1.
    fn MPI_Comm_compare(comm1: Comm, comm2: Comm, result: Out<Compared>) {
        result.set(comparison(comm1.lite.compare(&comm2.lite)))
    }

    /// Makes a communicator of a part of another's processes; collective over all of them.
    /// MPI 5.0, 7.4.2.
    fn MPI_Comm_create(comm: Comm, group: Group, newcomm: Out<Comm>) {
        let made = comm.lite.create(&group.lite)?;
        newcomm.set(handle_of(&comm, made))
    }

    /// Makes a communicator of a group without another one; collective over the group.
    /// MPI 5.0, 7.4.2.
    fn MPI_Comm_create_from_group(
        group: Group, stringtag: Text, info: Info, errhandler: FirstErrhandler, newcomm: Out<Comm>
    ) {
        let _ = info;
        errhandler::check(errhandler.0, Kind::Comm)?;
        let made = LIBRARY.process().create_from_group(&group.lite, stringtag.bytes())?;
        newcomm.set(first_handle(made, &group, errhandler)?)
    }

    /// Makes a communicator of a part of another's processes; collective over that part.
    /// MPI 5.0, 7.4.2.
    fn MPI_Comm_create_group(comm: Comm, group: Group, tag: Tag, newcomm: Out<Comm>) {
        let made = comm.lite.create_group(&group.lite, tag.0)?;
        newcomm.set(handle_of(&comm, made))
    }

    /// Makes a communicator of the same processes, with copies of the attributes.
    /// MPI 5.0, 7.4.2.
    fn MPI_Comm_dup(comm: Comm, newcomm: Out<Comm>) {
        newcomm.set(duplicate(&comm)?)
    }

    /// As `MPI_Comm_dup`; hints are taken and not followed. MPI 5.0, 7.4.2.
    fn MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>) {
        let _ = info;
        newcomm.set(duplicate(&comm)?)
    }

    /// Gives a communicator up; its pending messages still go. MPI 5.0, 7.4.3.
    fn MPI_Comm_free(comm: InOut<Comm>) {
        free(&comm)
    }

    /// The hints of a communicator: there are none. MPI 5.0, 7.4.4.
    fn MPI_Comm_get_info(comm: Comm, info_used: Out<Info>) {
        let _ = comm;
        info_used.set(super::info::insert(Default::default()))
    }

    /// The name of a communicator; `MPI_COMM_NULL` has its own. MPI 5.0, 7.8.
    fn MPI_Comm_get_name(comm: LateComm, comm_name: TextOut, resultlen: Out<Int>) {
        let name = match comm.handle {
            abi::MPI_COMM_NULL => b"MPI_COMM_NULL".to_vec(),
            _ => comm.get()?.name.lock().clone(),
        };
        resultlen.set(comm_name.set(&name, abi::MPI_MAX_OBJECT_NAME as usize)?)
    }

    /// The processes of a communicator; of an intercommunicator, those of this side. MPI 5.0,
    /// 7.3.2.
    fn MPI_Comm_group(comm: Comm, group: Out<Group>) {
        group.set(super::groups::insert(comm.lite.local_group().clone()))
    }

    /// Starts to make a communicator of the same processes. The attributes are copied at once;
    /// `newcomm` is there when the request completes. MPI 5.0, 7.4.2.
    fn MPI_Comm_idup(comm: Comm, newcomm: Out<Comm>, request: Out<Request>) {
        request.set(start_dup(comm, &newcomm)?)
    }

    /// As `MPI_Comm_idup`; hints are taken and not followed. MPI 5.0, 7.4.2.
    fn MPI_Comm_idup_with_info(
        comm: Comm, info: Info, newcomm: Out<Comm>, request: Out<Request>
    ) {
        let _ = info;
        request.set(start_dup(comm, &newcomm)?)
    }

    /// This process's rank. MPI 5.0, 7.4.1.
    fn MPI_Comm_rank(comm: Comm, rank: Out<Int>) {
        rank.set(c_rank(comm.lite.rank()))
    }

    /// The processes on the other side of an intercommunicator. MPI 5.0, 7.6.1.
    fn MPI_Comm_remote_group(comm: Comm, group: Out<Group>) {
        group.set(super::groups::insert(other_side(&comm)?.clone()))
    }

    /// The number of processes on the other side of an intercommunicator. MPI 5.0, 7.6.1.
    fn MPI_Comm_remote_size(comm: Comm, size: Out<Int>) {
        size.set(c_rank(other_side(&comm)?.size()))
    }

    /// Gives hints: they are taken and not followed. MPI 5.0, 7.4.4.
    fn MPI_Comm_set_info(comm: Comm, info: Info) {
        let _ = (comm, info);
        Ok(())
    }

    /// Names a communicator. MPI 5.0, 7.8.
    fn MPI_Comm_set_name(comm: Comm, comm_name: Text) {
        *comm.name.lock() = object_name(comm_name);
        Ok(())
    }

    /// The number of processes. MPI 5.0, 7.4.1.
    fn MPI_Comm_size(comm: Comm, size: Out<Int>) {
        size.set(c_rank(comm.lite.size()))
    }

    /// Parts a communicator by color. MPI 5.0, 7.4.2.
    fn MPI_Comm_split(comm: Comm, color: Int, key: Int, newcomm: Out<Comm>) {
        let color = match color.0 {
            abi::MPI_UNDEFINED => None,
            color => Some(u32::try_from(color).map_err(|_| Error::new(
                abi::MPI_ERR_ARG, "color is negative and not MPI_UNDEFINED"))?),
        };
        let made = comm.lite.split(color, key.0)?;
        newcomm.set(handle_of(&comm, made))
    }

    /// Parts a communicator by what its processes share: memory, a part of the machine (those of
    /// `MPI_Get_hw_resource_info`), or a set of processes. MPI 5.0, 7.4.2.
    fn MPI_Comm_split_type(
        comm: Comm, split_type: SplitType, key: Int, info: Info, newcomm: Out<Comm>
    ) {
        let (lite, key, hints) = (&comm.lite, key.0, info.to_object());
        let hint = |name: &[u8]| hints.get(name).ok().flatten();
        let made = match split_type.0 {
            abi::MPI_COMM_TYPE_SHARED => lite.split(Some(machine()), key)?,
            abi::MPI_COMM_TYPE_HW_UNGUIDED => split_further(lite, info, key)?,
            abi::MPI_COMM_TYPE_HW_GUIDED => split_by_part(lite, hint(PART), key)?,
            abi::MPI_COMM_TYPE_RESOURCE_GUIDED => match hint(b"mpi_pset_name") {
                Some(name) => lite.split(ProcessSet::named(name).ok().map(color_of), key)?,
                None => split_by_part(lite, hint(PART), key)?,
            },
            abi::MPI_UNDEFINED => lite.split(None, key)?,
            _ => return Err(Error::new(abi::MPI_ERR_ARG, "split_type is no MPI_COMM_TYPE value")),
        };
        newcomm.set(handle_of(&comm, made))
    }

    /// Sets `flag` to true if a communicator is an intercommunicator. MPI 5.0, 7.6.1.
    fn MPI_Comm_test_inter(comm: Comm, flag: Out<Flag>) {
        flag.set(comm.lite.is_inter())
    }

    /// Makes an intercommunicator of two communicators; collective over both. MPI 5.0, 7.6.2.
    fn MPI_Intercomm_create(
        local_comm: Comm, local_leader: Rank, peer_comm: PeerComm, remote_leader: Rank, tag: Tag,
        newintercomm: Out<Comm>
    ) {
        let bridge = || -> Result<Bridge> {
            let communicator = peer_comm.get()?.lite.clone();
            Ok(Bridge { communicator, remote_leader: remote_leader.0, tag: tag.0 })
        };
        let made = local_comm.lite.connect(local_leader.0, bridge)?;
        newintercomm.set(local_comm.register(made))
    }

    /// Makes an intercommunicator of two groups; collective over both. MPI 5.0, 7.6.2.
    fn MPI_Intercomm_create_from_groups(
        local_group: Group, local_leader: Rank, remote_group: LateGroup, remote_leader: Rank,
        stringtag: Text, info: Info, errhandler: FirstErrhandler, newintercomm: Out<Comm>
    ) {
        let _ = info;
        errhandler::check(errhandler.0, Kind::Comm)?;
        let local = (&local_group.lite, local_leader.0);
        let remote = || -> Result<_> { Ok((remote_group.get()?.lite, remote_leader.0)) };
        let made = LIBRARY.process().connect_groups(local, remote, stringtag.bytes())?;
        newintercomm.set(first_handle(made, &local_group, errhandler)?)
    }

    /// Makes an intracommunicator of both sides of an intercommunicator. MPI 5.0, 7.6.2.
    fn MPI_Intercomm_merge(intercomm: Comm, high: Flag, newintracomm: Out<Comm>) {
        let made = intercomm.lite.merge(high.0)?;
        newintracomm.set(intercomm.register(made))
    }

    /// The name of a datatype; predefined ones, and `MPI_DATATYPE_NULL`, have MPI's as long as they
    /// get no other. MPI 5.0, 7.8.
    fn MPI_Type_get_name(datatype: LateDatatype, type_name: TextOut, resultlen: Out<Int>) {
        let name = match datatype.handle {
            abi::MPI_DATATYPE_NULL => b"MPI_DATATYPE_NULL".to_vec(),
            _ => types::name(&datatype.get()?),
        };
        resultlen.set(type_name.set(&name, abi::MPI_MAX_OBJECT_NAME as usize)?)
    }

    /// Names a datatype, also a predefined one. MPI 5.0, 7.8.
    fn MPI_Type_set_name(datatype: Datatype, type_name: Text) {
        types::set_name(&datatype, object_name(type_name));
        Ok(())
    }

    /// The name of a window, at first empty; `MPI_WIN_NULL` has its own. MPI 5.0, 7.8.
    fn MPI_Win_get_name(win: Win, win_name: TextOut, resultlen: Out<Int>) {
        let name = match win.handle {
            abi::MPI_WIN_NULL => b"MPI_WIN_NULL".to_vec(),
            _ => win.get()?.name.lock().clone(),
        };
        resultlen.set(win_name.set(&name, abi::MPI_MAX_OBJECT_NAME as usize)?)
    }

    /// Names a window. MPI 5.0, 7.8.
    fn MPI_Win_set_name(win: Win, win_name: Text) {
        let name = object_name(win_name);
        win.lite()?.set_name(&String::from_utf8_lossy(&name));
        *win.get()?.name.lock() = name;
        Ok(())
    }
}

/// A rank or a number of ranks as C's `int`.
pub(super) fn c_rank(rank: u32) -> c_int {
    c_int::try_from(rank).expect("ranks are C's int")
}

/// A comparison as C's constant.
pub(super) fn comparison(comparison: Comparison) -> c_int {
    match comparison {
        Comparison::Identical => abi::MPI_IDENT,
        Comparison::Congruent => abi::MPI_CONGRUENT,
        Comparison::Similar => abi::MPI_SIMILAR,
        Comparison::Unequal => abi::MPI_UNEQUAL,
    }
}

/// The hint that names a part of the machine.
const PART: &[u8] = b"mpi_hw_resource_type";

/// The part that all machines have: its processes share memory.
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// Parts a communicator by the part of the machine to which its processes are bound. A process that
/// may run on several is in no part, and nobody is if the name is unknown.
fn split_by_part(
    comm: &Communicator,
    name: Option<&[u8]>,
    key: c_int,
) -> Result<Option<Communicator>> {
    if name == Some(SHARED_MEMORY.as_bytes()) {
        return Ok(comm.split(Some(machine()), key)?);
    }
    let parts = hardware::parts();
    let part = parts.iter().find(|part| Some(part.name.as_bytes()) == name);
    let color = part.map(|_| machine());
    match (comm.split(color, key)?, part) {
        (Some(local), Some(part)) => Ok(local.split(part.number, key)?),
        _ => Ok(None),
    }
}

/// Parts a communicator by the largest parts of a machine, or by machines, of which its processes
/// use several, and gives their name to `info`. A process that is not bound to one of them is in no
/// part, and nobody is if there are none. Source: MPI 5.0, 7.4.2.
fn split_further(comm: &Communicator, info: Info, key: c_int) -> Result<Option<Communicator>> {
    // Processes that pass MPI_UNDEFINED are none of those that are parted.
    let mut within = comm.split(Some(0), key)?;
    let machines = (SHARED_MEMORY, Some(machine()));
    let parts = hardware::parts().map(|part| (part.name, part.number));
    // The processes of a part go on together: while they all are in one, nobody stops.
    for (name, number) in [machines].into_iter().chain(parts) {
        let Some(all) = within else { break };
        within = all.split(number, key)?;
        let is_smaller = |part: &&Communicator| part.size() < all.size();
        if let Some(part) = within.as_ref().filter(is_smaller) {
            info.tell(PART, name)?;
            return Ok(Some(part.clone()));
        }
    }
    Ok(None)
}

/// A number that this process has in common with the processes of its set.
fn color_of(set: ProcessSet) -> u32 {
    match set {
        ProcessSet::World => 0,
        ProcessSet::Own => LIBRARY.process().assignment().rank,
        ProcessSet::Node => machine(),
    }
}

/// A number of this process's machine: the lowest rank on it.
fn machine() -> u32 {
    let assignment = LIBRARY.process().assignment();
    let here = assignment.hosts.get(assignment.rank as usize);
    let first = assignment
        .hosts
        .all()
        .position(|host| Some(&**host) == here)
        .unwrap_or(0);
    u32::try_from(first).expect("ranks have 32 bits")
}

/// The handle of a communicator made from `parent`, null where this process is not in it.
pub(super) fn handle_of(parent: &Comm, made: Option<Communicator>) -> Handle {
    made.map_or(abi::MPI_COMM_NULL, |made| parent.register(made))
}

/// The handle of a communicator that was made of a group, null if the group is empty.
fn first_handle(
    made: Option<Communicator>,
    group: &Group,
    errhandler: FirstErrhandler,
) -> Result<Handle> {
    let is_stranger = made.is_none() && group.lite.size() > 0;
    if is_stranger {
        return Err(Error::new(
            abi::MPI_ERR_GROUP,
            "this process is not in the group",
        ));
    }
    let register = |made| CommObject::register_first(made, errhandler.0);
    Ok(made.map_or(abi::MPI_COMM_NULL, register))
}

/// The other side of an intercommunicator.
fn other_side(comm: &Comm) -> Result<&comm::Group> {
    match comm.lite.is_inter() {
        true => Ok(comm.lite.group()),
        false => Err(Error::new(
            abi::MPI_ERR_COMM,
            "the communicator is no intercommunicator",
        )),
    }
}

fn duplicate(comm: &Comm) -> Result<Handle> {
    let handle = comm.register(comm.lite.dup()?);
    let made = crate::objects::comm::find(handle).expect("it was just registered");
    made.attributes.copy_from(&comm.attributes, comm.handle())?;
    Ok(handle)
}

fn start_dup(comm: Comm, newcomm: &Out<Comm>) -> Result<Handle> {
    newcomm.set(abi::MPI_COMM_NULL)?;
    let started = CommObject::start_dup(comm.0, newcomm.later())?;
    Ok(crate::objects::request::handle_of(started))
}

/// Deletes a communicator's attributes and gives its handle up.
pub(super) fn free(comm: &InOut<Comm>) -> Result<()> {
    let object = &comm.value;
    if object.is_predefined() {
        return Err(Error::new(
            abi::MPI_ERR_COMM,
            "a predefined communicator cannot be freed",
        ));
    }
    object.attributes.delete_all(object.handle())?;
    registry::remove::<std::sync::Arc<CommObject>>(object.handle()).ok();
    comm.set(abi::MPI_COMM_NULL)
}

/// A name of an object, cut to what MPI has room for.
fn object_name(name: Text<'_>) -> Vec<u8> {
    let name = name.bytes();
    name[..name.len().min(abi::MPI_MAX_OBJECT_NAME as usize - 1)].to_vec()
}
