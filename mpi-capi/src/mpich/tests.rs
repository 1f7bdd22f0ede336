//! Calls of both interfaces in one process have the same results. The process is a job of one rank.
#![expect(unsafe_code, reason = "functions of C are called")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};
use std::process::Command;

use super::constants::{self, STATUS_IGNORE};
use super::handles;
use super::header;
use super::statuses::Status;
use super::{code_of, standard_code};
use crate::abi::{self, Handle};
use crate::args::status::Status as StandardStatus;

type Handler = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int);

// The second interface, as a header would declare it.
unsafe extern "C" {
    fn mpilite_mpich_MPI_Comm_create_errhandler(function: Handler, errhandler: *mut c_int)
    -> c_int;
    fn mpilite_mpich_MPI_Comm_dup(comm: c_int, copy: *mut c_int) -> c_int;
    fn mpilite_mpich_MPI_Comm_free(comm: *mut c_int) -> c_int;
    fn mpilite_mpich_MPI_Comm_set_errhandler(comm: c_int, errhandler: c_int) -> c_int;
    fn mpilite_mpich_MPI_Error_string(code: c_int, text: *mut c_char, len: *mut c_int) -> c_int;
    fn mpilite_mpich_MPI_Get_count(
        status: *const Status,
        datatype: c_int,
        count: *mut c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Irecv(
        buf: *mut c_void,
        count: c_int,
        datatype: c_int,
        source: c_int,
        tag: c_int,
        comm: c_int,
        request: *mut c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Isend(
        buf: *const c_void,
        count: c_int,
        datatype: c_int,
        dest: c_int,
        tag: c_int,
        comm: c_int,
        request: *mut c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Recv(
        buf: *mut c_void,
        count: c_int,
        datatype: c_int,
        source: c_int,
        tag: c_int,
        comm: c_int,
        status: *mut Status,
    ) -> c_int;
    fn mpilite_mpich_MPI_Send(
        buf: *const c_void,
        count: c_int,
        datatype: c_int,
        dest: c_int,
        tag: c_int,
        comm: c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Send_c(
        buf: *const c_void,
        count: i64,
        datatype: c_int,
        dest: c_int,
        tag: c_int,
        comm: c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Waitall(
        count: c_int,
        requests: *mut c_int,
        statuses: *mut Status,
    ) -> c_int;
}

// The standard's.
unsafe extern "C" {
    fn MPI_Init(argc: *mut c_int, argv: *mut c_void) -> c_int;
    fn MPI_Finalize() -> c_int;
    fn MPI_Error_string(code: c_int, text: *mut c_char, len: *mut c_int) -> c_int;
    fn MPI_Get_count(status: *const StandardStatus, datatype: Handle, count: *mut c_int) -> c_int;
    fn MPI_Irecv(
        buf: *mut c_void,
        count: c_int,
        datatype: Handle,
        source: c_int,
        tag: c_int,
        comm: Handle,
        request: *mut Handle,
    ) -> c_int;
    fn MPI_Send(
        buf: *const c_void,
        count: c_int,
        datatype: Handle,
        dest: c_int,
        tag: c_int,
        comm: Handle,
    ) -> c_int;
    fn MPI_Waitall(count: c_int, requests: *mut Handle, statuses: *mut StandardStatus) -> c_int;
}

const COMM_WORLD: c_int = 0x4400_0000;
const COMM_SELF: c_int = 0x4400_0001;
const COMM_NULL: c_int = 0x0400_0000;
const INT: c_int = 0x4c00_0405;
const BYTE: c_int = 0x4c00_010d;
const ERRORS_RETURN: c_int = 0x5400_0001;
const REQUEST_NULL: c_int = 0x2c00_0000;
const PROC_NULL: c_int = -1;
const ANY_SOURCE: c_int = -2;
const ANY_TAG: c_int = -1;
const ERR_TYPE: c_int = 3;
const ERR_COMM: c_int = 5;
const ERR_RANK: c_int = 6;
const ERR_TRUNCATE: c_int = 14;
const ERR_IN_STATUS: c_int = 17;
const ERR_REQUEST: c_int = 19;

/// Where MPICH has its room for the text of an error.
const MAX_ERROR_STRING: usize = 512;

/// A value that no call writes.
const UNTOUCHED: c_int = 77;

const BLANK: Status = Status {
    count_lo: UNTOUCHED,
    count_hi_and_cancelled: UNTOUCHED,
    source: UNTOUCHED,
    tag: UNTOUCHED,
    error: UNTOUCHED,
};

/// Set for the copy of a test that is a job of one rank.
const RANK: &str = "MPI_CAPI_TEST_RANK";

/// Runs `job` between `MPI_Init` and `MPI_Finalize`, in a process of its own.
fn in_a_job(test: &str, job: fn()) {
    if std::env::var_os(RANK).is_none() {
        let own = std::env::current_exe().expect("a running program has a path");
        let output = Command::new(own)
            .args(["--exact", "--nocapture", &format!("mpich::tests::{test}")])
            .env(RANK, "1")
            .output()
            .expect("this very program");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{errors}");
        assert!(printed.contains("1 passed"), "{printed}{errors}");
        return;
    }
    // SAFETY: MPI was not initialized before in this process.
    unsafe {
        assert_eq!(MPI_Init(ptr::null_mut(), ptr::null_mut()), 0);
        for comm in [COMM_WORLD, COMM_SELF] {
            assert_eq!(
                mpilite_mpich_MPI_Comm_set_errhandler(comm, ERRORS_RETURN),
                0
            );
        }
        job();
        assert_eq!(MPI_Finalize(), 0);
    }
}

fn send(value: &c_int, dest: c_int, tag: c_int, comm: c_int, datatype: c_int) -> c_int {
    // SAFETY: the buffer is there.
    unsafe { mpilite_mpich_MPI_Send(ptr::from_ref(value).cast(), 1, datatype, dest, tag, comm) }
}

fn isend(value: &c_int, tag: c_int) -> c_int {
    let mut request = 0;
    let buf = ptr::from_ref(value).cast();
    // SAFETY: the caller waits as long as the buffer is there.
    let code =
        unsafe { mpilite_mpich_MPI_Isend(buf, 1, INT, 0, tag, COMM_WORLD, &raw mut request) };
    assert_eq!(code, 0);
    request
}

fn irecv(room: &mut [c_int], tag: c_int) -> c_int {
    let mut request = 0;
    let (buf, count) = (room.as_mut_ptr().cast(), room.len() as c_int);
    let place = &raw mut request;
    // SAFETY: the caller waits as long as the buffer is there.
    let code =
        unsafe { mpilite_mpich_MPI_Irecv(buf, count, INT, ANY_SOURCE, tag, COMM_WORLD, place) };
    assert_eq!(code, 0);
    request
}

fn irecv_standard(value: &mut c_int, tag: c_int) -> Handle {
    let (source, world) = (abi::MPI_ANY_SOURCE, abi::MPI_COMM_WORLD);
    let mut request = Handle(0);
    let (buf, place) = (ptr::from_mut(value).cast(), &raw mut request);
    // SAFETY: the caller waits as long as the buffer is there.
    let code = unsafe { MPI_Irecv(buf, 1, abi::MPI_INT, source, tag, world, place) };
    assert_eq!(code, 0);
    request
}

fn wait_standard(mut request: Handle) -> (c_int, StandardStatus) {
    let mut status = StandardStatus::EMPTY;
    // SAFETY: one request, one status.
    let code = unsafe { MPI_Waitall(1, &raw mut request, &raw mut status) };
    assert_eq!(request, abi::MPI_REQUEST_NULL);
    (code, status)
}

fn count(status: &Status, datatype: c_int) -> c_int {
    let mut count = UNTOUCHED;
    // SAFETY: both are there.
    let code = unsafe { mpilite_mpich_MPI_Get_count(status, datatype, &raw mut count) };
    assert_eq!(code, 0);
    count
}

#[test]
fn a_message_goes_from_one_interface_to_the_other() {
    in_a_job("a_message_goes_from_one_interface_to_the_other", || {
        let (sent, mut received) = (42, 0);
        let request = irecv_standard(&mut received, abi::MPI_ANY_TAG);
        assert_eq!(send(&sent, 0, 7, COMM_WORLD, INT), 0);
        let (code, standard) = wait_standard(request);
        assert_eq!((code, received), (0, 42));
        assert_eq!((standard.source, standard.tag), (0, 7));
        let mut counted = 0;
        // SAFETY: both are there.
        unsafe { MPI_Get_count(&raw const standard, abi::MPI_INT, &raw mut counted) };
        assert_eq!(counted, 1);

        let mut status = BLANK;
        let mut room = 0;
        let request = isend(&sent, 8);
        let (buf, place) = ((&raw mut room).cast(), &raw mut status);
        // SAFETY: both are there.
        let code =
            unsafe { mpilite_mpich_MPI_Recv(buf, 1, INT, ANY_SOURCE, ANY_TAG, COMM_WORLD, place) };
        assert_eq!((code, room, status.source, status.tag), (0, 42, 0, 8));
        assert_eq!((count(&status, INT), count(&status, BYTE)), (1, 4));
        assert_eq!(
            status.error, UNTOUCHED,
            "only MPI_Waitall and its like set it"
        );
        wait(&mut [request], &mut [BLANK]);

        // From nobody: no element, and the source has its name.
        // SAFETY: both are there.
        let code = unsafe { mpilite_mpich_MPI_Recv(buf, 1, INT, PROC_NULL, 9, COMM_WORLD, place) };
        assert_eq!((code, status.source, status.tag), (0, PROC_NULL, ANY_TAG));
        assert_eq!(count(&status, INT), 0);
        assert_eq!(send(&sent, PROC_NULL, 9, COMM_WORLD, INT), 0);
    });
}

fn wait(requests: &mut [c_int], statuses: &mut [Status]) -> c_int {
    let count = requests.len() as c_int;
    // SAFETY: as many requests as statuses.
    unsafe { mpilite_mpich_MPI_Waitall(count, requests.as_mut_ptr(), statuses.as_mut_ptr()) }
}

#[test]
fn arrays_of_requests_and_statuses_come_back() {
    in_a_job("arrays_of_requests_and_statuses_come_back", || {
        for pairs in [1_usize, 8, 9, 100] {
            let sent: Vec<c_int> = (0..pairs as c_int).collect();
            let mut received = vec![[0]; pairs];
            let places = received.iter_mut().zip(0..);
            let mut requests: Vec<_> = places.map(|(place, tag)| irecv(place, tag)).collect();
            requests.extend(sent.iter().map(|value| isend(value, *value)));
            let mut statuses = vec![BLANK; 2 * pairs];
            assert_eq!(wait(&mut requests, &mut statuses), 0);
            assert!(requests.iter().all(|request| *request == REQUEST_NULL));
            for (tag, (value, status)) in (0..).zip(received.iter().zip(&statuses)) {
                assert_eq!((value[0], status.source, status.tag), (tag, 0, tag));
                assert_eq!(count(status, INT), 1);
                assert_eq!(status.error, UNTOUCHED);
            }
        }

        // Nobody wants the statuses; then one of two fails, and the other one does not.
        let (sent, mut long, mut short) = (5, [0; 2], []);
        let mut requests = [irecv(&mut long, 1), isend(&sent, 1)];
        let ignore = ptr::without_provenance_mut(STATUS_IGNORE);
        // SAFETY: two requests.
        let code = unsafe { mpilite_mpich_MPI_Waitall(2, requests.as_mut_ptr(), ignore) };
        assert_eq!((code, requests), (0, [REQUEST_NULL; 2]));
        let mut requests = [
            isend(&sent, 1),
            isend(&sent, 2),
            irecv(&mut long, 2),
            irecv(&mut short, 1),
        ];
        let mut statuses = [BLANK; 4];
        assert_eq!(wait(&mut requests, &mut statuses), ERR_IN_STATUS);
        let errors = statuses.map(|status| status.error);
        assert_eq!(errors, [0, 0, 0, ERR_TRUNCATE]);
        assert_eq!(requests, [REQUEST_NULL; 4]);
        assert_eq!((long[0], statuses[2].tag), (5, 2));
    });
}

static COMM: AtomicI32 = AtomicI32::new(0);
static CODE: AtomicI32 = AtomicI32::new(0);

unsafe extern "C-unwind" fn keep(comm: *mut c_int, code: *mut c_int) {
    // SAFETY: both are there while a handler runs.
    let (comm, code) = unsafe { (*comm, *code) };
    COMM.store(comm, Ordering::Relaxed);
    CODE.store(code, Ordering::Relaxed);
}

#[test]
fn an_error_handler_gets_handles_and_codes_of_its_interface() {
    in_a_job(
        "an_error_handler_gets_handles_and_codes_of_its_interface",
        || {
            let (mut comm, mut errhandler, mut request) = (0, 0, REQUEST_NULL);
            // SAFETY: the places are there.
            unsafe {
                assert_eq!(mpilite_mpich_MPI_Comm_dup(COMM_WORLD, &raw mut comm), 0);
                assert_eq!(
                    mpilite_mpich_MPI_Comm_create_errhandler(keep, &raw mut errhandler),
                    0
                );
                assert_eq!(mpilite_mpich_MPI_Comm_set_errhandler(comm, errhandler), 0);
            }
            assert_eq!(
                comm.cast_unsigned() >> 26,
                0x21,
                "kind and object of {comm:#x}"
            );
            assert_eq!(errhandler.cast_unsigned() >> 26, 0x25, "of {errhandler:#x}");

            let got = || {
                (
                    COMM.swap(0, Ordering::Relaxed),
                    CODE.swap(0, Ordering::Relaxed),
                )
            };
            assert_eq!(send(&1, 99, 0, comm, INT), ERR_RANK);
            assert_eq!(got(), (comm, ERR_RANK));
            assert_eq!(send(&1, -3, 0, comm, INT), ERR_RANK);
            assert_eq!(send(&1, 0, 0, comm, COMM_WORLD), ERR_TYPE);
            assert_eq!(got(), (comm, ERR_TYPE));
            let (buf, place) = (ptr::null(), &raw mut request);
            // SAFETY: an empty message.
            let code = unsafe { mpilite_mpich_MPI_Isend(buf, 0, INT, 99, 0, comm, place) };
            assert_eq!((code, request), (ERR_RANK, REQUEST_NULL));

            let freed = comm;
            // SAFETY: the place is there.
            assert_eq!(unsafe { mpilite_mpich_MPI_Comm_free(&raw mut comm) }, 0);
            assert_eq!(comm, COMM_NULL);
            got();
            assert_eq!(send(&1, 0, 0, freed, INT), ERR_COMM);
            assert_eq!(got(), (0, 0), "the communicator and its handler are gone");
        },
    );
}

#[test]
fn wrong_arguments_have_the_classes_of_the_standard() {
    in_a_job("wrong_arguments_have_the_classes_of_the_standard", || {
        let (comm, datatype) = (abi::MPI_COMM_WORLD, abi::MPI_INT);
        let wrong = Handle(0xdead_beef);
        let standard = |datatype, rank, tag, comm| {
            let value = 1;
            // SAFETY: the buffer is there.
            unsafe { MPI_Send((&raw const value).cast(), 1, datatype, rank, tag, comm) }
        };
        let same = |second: c_int, standard: c_int| {
            assert_ne!(second, 0);
            assert_eq!(
                (standard_code(second), second),
                (standard, code_of(standard))
            );
        };
        for garbage in [0, 1, 0x101, 0x7fff_ffff, -1, INT, COMM_NULL, REQUEST_NULL] {
            same(
                send(&1, 0, 0, garbage, INT),
                standard(datatype, 0, 0, wrong),
            );
        }
        for garbage in [0, 1, 0x209, COMM_WORLD, 0x4cff_ff99, 0x0c00_0000] {
            same(
                send(&1, 0, 0, COMM_WORLD, garbage),
                standard(wrong, 0, 0, comm),
            );
        }
        for rank in [1, -2, -3, -4, c_int::MIN] {
            same(
                send(&1, rank, 0, COMM_WORLD, INT),
                standard(datatype, 9, 0, comm),
            );
        }
        for tag in [-1, -2, -3] {
            same(
                send(&1, 0, tag, COMM_WORLD, INT),
                standard(datatype, 0, -9, comm),
            );
        }
        // SAFETY: it has no elements.
        let negative = unsafe { mpilite_mpich_MPI_Send_c(ptr::null(), -1, INT, 0, 0, COMM_WORLD) };
        assert_eq!(negative, abi::MPI_ERR_COUNT);

        let mut requests = [0x1234];
        assert_eq!(wait(&mut requests, &mut [BLANK]), ERR_REQUEST);
        assert_eq!(requests, [0x1234], "what the call does not change stays");
        // SAFETY: a null array.
        let code = unsafe { mpilite_mpich_MPI_Waitall(1, ptr::null_mut(), ptr::null_mut()) };
        assert_eq!(code, code_of(abi::MPI_ERR_ARG));
    });
}

#[test]
fn a_text_fits_the_room_of_its_interface() {
    in_a_job("a_text_fits_the_room_of_its_interface", || {
        for class in 0..63 {
            let mut whole = [MaybeUninit::<c_char>::uninit(); 512];
            let mut short = [c_char::MAX; MAX_ERROR_STRING + 1];
            let (mut whole_len, mut short_len) = (0, 0);
            let place = whole.as_mut_ptr().cast();
            // SAFETY: each has the room that its interface demands.
            let (whole, short_text) = unsafe {
                assert_eq!(MPI_Error_string(class, place, &raw mut whole_len), 0);
                let (code, place) = (code_of(class), short.as_mut_ptr());
                assert_eq!(
                    mpilite_mpich_MPI_Error_string(code, place, &raw mut short_len),
                    0
                );
                (CStr::from_ptr(place_of(&whole)), CStr::from_ptr(place))
            };
            let most = whole.to_bytes().len().min(MAX_ERROR_STRING - 1);
            assert_eq!(short_text.to_bytes(), &whole.to_bytes()[..most]);
            assert_eq!(short_len as usize, most);
            assert_eq!(
                short[MAX_ERROR_STRING],
                c_char::MAX,
                "nothing behind the room"
            );
        }
    });
}

fn place_of(text: &[MaybeUninit<c_char>]) -> *const c_char {
    text.as_ptr().cast()
}

/// The standard's value of a constant of MPICH, by the map of its kind.
fn standard_of(name: &str, value: i64) -> Option<i64> {
    let int = value as c_int;
    if let Some((_, number, handle)) = handles::NAMED.iter().find(|row| row.0 == name) {
        assert_eq!(i64::from(*number), value, "{name}");
        return Some(handle.0 as i64);
    }
    if let Some((_, own, standard)) = constants::NAMED.iter().find(|row| row.0 == name) {
        assert_eq!(*own, int, "{name}");
        return Some((*standard).into());
    }
    let is_code = name.starts_with("MPI_ERR_") || name.starts_with("MPI_T_ERR_");
    let mapped = match name {
        "MPI_SUCCESS" => standard_code(int),
        _ if is_code && !name.starts_with("MPI_ERRORS") => {
            assert_eq!(code_of(standard_code(int)), int, "{name}");
            standard_code(int)
        }
        "MPI_ANY_SOURCE" => constants::standard_source(int),
        "MPI_PROC_NULL" => constants::standard_rank(int),
        "MPI_ROOT" => constants::standard_root(int),
        "MPI_ANY_TAG" => constants::standard_tag(int),
        "MPI_IN_PLACE" => constants::standard_address(value as usize) as c_int,
        "MPI_BUFFER_AUTOMATIC" => constants::standard_room(value as usize) as c_int,
        _ => return None,
    };
    Some(mapped.into())
}

#[test]
fn every_constant_that_differs_is_mapped() {
    /// What a program sees in its header and the library need not know, or knows in another place:
    /// room for strings, the layout of a status, versions, places in a file.
    const ELSEWHERE: &[&str] = &[
        "MPI_BSEND_OVERHEAD",
        "MPI_DISPLACEMENT_CURRENT",
        "MPI_FILE_NULL",
        "MPI_F_",
        "MPI_LONG_LONG",
        "MPI_C_COMPLEX",
        "MPI_C_FLOAT_COMPLEX",
        "MPI_MAX_",
        "MPI_STATUSES_IGNORE",
        "MPI_STATUS_IGNORE",
        "MPI_SUBVERSION",
        "MPI_VERSION",
        "MPI_WIN_FLAVOR_",
        "MPI_WIN_SEPARATE",
        "MPI_WIN_UNIFIED",
    ];
    let mut mapped = 0;
    for (name, value) in header::constants() {
        let standard = abi::CONSTANTS.iter().find(|constant| constant.name == name);
        let standard = standard.expect("a name of the standard").value;
        match standard_of(name, value) {
            Some(found) => {
                assert_eq!(found, standard, "{name}");
                mapped += 1;
            }
            None => assert!(
                value == standard || ELSEWHERE.iter().any(|start| name.starts_with(start)),
                "{name}: {value} in MPICH, {standard} in the standard"
            ),
        }
    }
    assert!(mapped > 300, "{mapped}");
}

#[test]
fn built_in_handles_lead_to_the_standards_and_back() {
    use crate::handle::Kind;
    let kinds = [
        ("MPI_COMM_", Kind::Comm),
        ("MPI_GROUP_", Kind::Group),
        ("MPI_ERR", Kind::Errhandler),
        ("MPI_INFO_", Kind::Info),
        ("MPI_REQUEST_", Kind::Request),
        ("MPI_MESSAGE_", Kind::Message),
        ("MPI_SESSION_", Kind::Session),
        ("MPI_WIN_", Kind::Win),
    ];
    for (name, number, handle) in handles::NAMED {
        let of_name = kinds.iter().find(|(start, _)| name.starts_with(start));
        let kind = match of_name {
            Some((_, kind)) => *kind,
            None if number >> 26 & 15 == 6 => Kind::Op,
            None => Kind::Datatype,
        };
        let int = number.cast_signed();
        assert_eq!(handles::standard_handle(kind, int), *handle, "{name}");
        assert_eq!(handles::number_of(kind, *handle), int, "{name}");
    }
}
