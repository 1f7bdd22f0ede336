//! Arguments that are numbers, and places where results go.
//!
//! Each type carries the C type for both widths, its spelling in the header, and its check.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_int, c_void};
use core::fmt::Write as _;

use mpi_lite::comm::{ReceiveFrom, SendTo};
use mpi_lite::ids::{self, Dest, TagSelector};

use crate::abi::{self, Handle};
use crate::declaration::Declarator;
use crate::entry::{Arg, Large, Read, Small, Value};
use crate::error::{Cause, Result};
use crate::raise::Call;

/// Makes argument types that are one integer: the C type of a plain call, of a `_c` call, the type
/// of the value, and how the value is checked.
macro_rules! integers {
    ($(
        $(#[$doc:meta])*
        $name:ident: $small:ty = $small_c:literal | $large:ty = $large_c:literal,
        $value:ty, $check:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $value);

        integers!(@width $name Small $small, $small_c, $value, $check);
        integers!(@width $name Large $large, $large_c, $value, $check);

        impl Stored for $name {
            type Value = $value;
        }
    )*};
    (@width $name:ident $width:ident $c:ty, $spelling:literal, $value:ty, $check:expr) => {
        impl Arg<$width> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::value($spelling);

            fn show(c: $c, name: &str, line: &mut String) {
                show_number(i64::from(c), name, line);
            }
        }

        impl Read<$width> for $name {
            unsafe fn read(c: $c, name: &'static str, _call: &Call) -> Result<Self> {
                let check: fn(&'static str, i64) -> Result<()> = $check;
                check(name, i64::from(c))?;
                Ok(Self(c.into()))
            }
        }

        impl Slot<$width> for $name {
            type Raw = $c;
            const NAME: &'static str = $spelling;

            fn raw(value: $value) -> Result<$c> {
                <$c>::try_from(value).map_err(|_| Cause::TooLarge { value: value.into() }.into())
            }
        }
    };
}

integers! {
    /// What a program may do with a file: a set of bits.
    AccessMode: c_int = "int" | c_int = "int", c_int, any;
    /// What a program promises of an epoch: a set of bits.
    Assertion: c_int = "int" | c_int = "int", c_int, any;
    /// The object that a variable of the tool interface belongs to.
    Binding: c_int = "int" | c_int = "int", c_int, any;
    /// The constructor of a datatype.
    Combiner: c_int = "int" | c_int = "int", c_int, any;
    /// How two communicators or groups compare.
    Compared: c_int = "int" | c_int = "int", c_int, any;
    /// A key of attributes.
    KeyNumber: c_int = "int" | c_int = "int", c_int, any;
    /// A kind of lock of a window.
    LockType: c_int = "int" | c_int = "int", c_int, any;
    /// The order of an array's dimensions.
    Order: c_int = "int" | c_int = "int", c_int, any;
    /// A class of performance variables.
    PvarClass: c_int = "int" | c_int = "int", c_int, any;
    /// Where a control variable has to have the same value.
    Scope: c_int = "int" | c_int = "int", c_int, any;
    /// By what a communicator is split.
    SplitType: c_int = "int" | c_int = "int", c_int, any;
    /// A level of thread support.
    ThreadLevel: c_int = "int" | c_int = "int", c_int, any;
    /// A kind of topology.
    TopologyKind: c_int = "int" | c_int = "int", c_int, any;
    /// A class of datatypes of Fortran.
    TypeClass: c_int = "int" | c_int = "int", c_int, any;
    /// For whom a variable of the tool interface is.
    Verbosity: c_int = "int" | c_int = "int", c_int, any;
    /// From where a place in a file is counted.
    Whence: c_int = "int" | c_int = "int", c_int, any;
    /// An error code or class.
    Code: c_int = "int" | c_int = "int", c_int, any;
    /// A plain integer whose meaning the body defines.
    Int: c_int = "int" | c_int = "int", c_int, any;
    /// A number of elements of an argument array.
    Length: c_int = "int" | c_int = "int", c_int, not_negative;
    /// A rank that a message goes to or that an operation names.
    Rank: c_int = "int" | c_int = "int", c_int, any;
    /// The rank at the root of a collective operation.
    Root: c_int = "int" | c_int = "int", c_int, any;
    /// A rank that a message comes from, or any.
    Source: c_int = "int" | c_int = "int", c_int, any;
    /// A tag, or any.
    Tag: c_int = "int" | c_int = "int", c_int, any;
    /// An address or a distance in bytes.
    Aint: i64 = "MPI_Aint" | i64 = "MPI_Aint", i64, any;
    /// Where the view of a file begins, in bytes.
    ViewStart: i64 = "MPI_Offset" | i64 = "MPI_Offset", i64, any;
    /// A place in a file.
    Offset: i64 = "MPI_Offset" | i64 = "MPI_Offset", i64, any;
    /// A count that is large whatever the function's width.
    LargeCount: i64 = "MPI_Count" | i64 = "MPI_Count", i64, not_negative;
    /// A number of elements of a buffer.
    Count: c_int = "int" | i64 = "MPI_Count", i64, not_negative;
    /// A number of elements that matters only on some processes: checked where it does.
    LateCount: c_int = "int" | i64 = "MPI_Count", i64, any;
    /// A number of elements of a block.
    BlockLength: c_int = "int" | i64 = "MPI_Count", i64, argument_not_negative;
    /// Bytes of a buffer that the program gives away.
    BufferSize: c_int = "int" | i64 = "MPI_Count", i64, argument_not_negative;
    /// A distance in elements.
    Stride: c_int = "int" | i64 = "MPI_Count", i64, any;
    /// A distance in bytes.
    Displacement: i64 = "MPI_Aint" | i64 = "MPI_Count", i64, any;
    /// The unit of displacements of a window, in bytes.
    Unit: c_int = "int" | i64 = "MPI_Aint", i64, any;
}

impl Count {
    /// The count, of bytes or elements.
    #[inline]
    pub fn get(self) -> u64 {
        self.0.cast_unsigned()
    }
}

impl LateCount {
    /// The count.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` if it is negative.
    #[inline(always)]
    pub fn get(self) -> Result<Count> {
        not_negative("the count", self.0)?;
        Ok(Count(self.0))
    }
}

impl BlockLength {
    /// The number of elements.
    #[inline]
    pub fn get(self) -> u64 {
        self.0.cast_unsigned()
    }
}

impl Out<Count> {
    /// Lays down a count, or `MPI_UNDEFINED` where there is none or C's type cannot hold it.
    ///
    /// # Errors
    /// None.
    pub fn set_or_undefined(&self, count: Option<u64>) -> Result<()> {
        let fitting = count.and_then(|count| i64::try_from(count).ok());
        let undefined = i64::from(abi::MPI_UNDEFINED);
        self.set(fitting.unwrap_or(undefined))
            .or_else(|_| self.set(undefined))
    }
}

impl Rank {
    /// Where a message goes.
    pub fn dest(self) -> Dest {
        match self.0 {
            abi::MPI_PROC_NULL => Dest::Null,
            rank => Dest::Rank(rank),
        }
    }

    /// Where a message with `tag` goes.
    pub fn with(self, tag: Tag) -> SendTo {
        SendTo {
            dest: self.dest(),
            tag: tag.0,
        }
    }
}

impl Source {
    /// Where a message may come from.
    pub fn selector(self) -> ids::Source {
        match self.0 {
            abi::MPI_PROC_NULL => ids::Source::Null,
            abi::MPI_ANY_SOURCE => ids::Source::Any,
            rank => ids::Source::Rank(rank),
        }
    }

    /// Which message is received.
    pub fn with(self, tag: Tag) -> ReceiveFrom {
        ReceiveFrom {
            source: self.selector(),
            tag: tag.selector(),
        }
    }
}

impl Tag {
    /// Which tags a receive takes.
    pub fn selector(self) -> TagSelector {
        match self.0 {
            abi::MPI_ANY_TAG => TagSelector::Any,
            tag => TagSelector::Tag(tag),
        }
    }
}

fn any(_name: &'static str, _value: i64) -> Result<()> {
    Ok(())
}

fn not_negative(name: &'static str, value: i64) -> Result<()> {
    check_sign(name, value, abi::MPI_ERR_COUNT)
}

fn argument_not_negative(name: &'static str, value: i64) -> Result<()> {
    check_sign(name, value, abi::MPI_ERR_ARG)
}

fn check_sign(name: &'static str, value: i64, class: c_int) -> Result<()> {
    if value < 0 {
        Err(Cause::Negative { name, value, class }.into())
    } else {
        Ok(())
    }
}

/// Appends `name=value`, with the name of the constant where a negative value has one.
pub fn show_number(value: i64, name: &str, line: &mut String) {
    let constant = match name {
        "source" | "dest" | "root" if value == i64::from(abi::MPI_ANY_SOURCE) => "MPI_ANY_SOURCE",
        "source" | "dest" | "root" if value == i64::from(abi::MPI_PROC_NULL) => "MPI_PROC_NULL",
        "root" if value == i64::from(abi::MPI_ROOT) => "MPI_ROOT",
        "tag" | "sendtag" | "recvtag" if value == i64::from(abi::MPI_ANY_TAG) => "MPI_ANY_TAG",
        _ => return append(line, format_args!("{name}={value}")),
    };
    append(line, format_args!("{name}={constant}"));
}

/// Appends `argument`, with a comma before it where it is not the first.
pub fn append(line: &mut String, argument: core::fmt::Arguments<'_>) {
    let comma = if line.ends_with('(') { "" } else { ", " };
    write!(line, "{comma}{argument}").expect("writing to a string cannot fail");
}

/// Appends `name=address`, or the name of the constant.
pub fn show_address(address: usize, name: &str, line: &mut String) {
    match address {
        0 => append(line, format_args!("{name}=NULL")),
        _ => append(line, format_args!("{name}={address:#x}")),
    }
}

/// A logical value: zero is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<W> Arg<W> for Flag {
    type C = c_int;
    const DECLARATION: Declarator = Declarator::value("int");

    fn show(c: c_int, name: &str, line: &mut String) {
        show_number(i64::from(c), name, line);
    }
}

impl<W> Read<W> for Flag {
    unsafe fn read(c: c_int, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c != 0))
    }
}

impl Stored for Flag {
    type Value = bool;
}

impl<W> Slot<W> for Flag {
    type Raw = c_int;
    const NAME: &'static str = "int";

    fn raw(value: bool) -> Result<c_int> {
        Ok(c_int::from(value))
    }
}

/// The argument of `MPI_Pcontrol`; what follows it in C is for tools.
#[derive(Debug, Clone, Copy)]
pub struct Level(pub c_int);

impl<W> Arg<W> for Level {
    type C = c_int;
    const DECLARATION: Declarator = Declarator {
        base: "const int",
        before: " ",
        after: ", ...",
    };

    fn show(c: c_int, name: &str, line: &mut String) {
        show_number(i64::from(c), name, line);
    }
}

impl<W> Read<W> for Level {
    unsafe fn read(c: c_int, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

/// What a result of some argument type is in Rust.
pub trait Stored {
    /// The value that a body gives.
    type Value: Copy;
}

/// How a result is laid down for C.
pub trait Slot<Width>: Stored {
    /// The C type.
    type Raw: Copy;

    /// Its name in the header.
    const NAME: &'static str;

    /// The null handle, if the result is a handle of an object.
    const NULL: Option<Self::Raw> = None;

    /// The value as C holds it.
    ///
    /// # Errors
    /// `Cause::TooLarge` if the C type cannot hold it.
    fn raw(value: Self::Value) -> Result<Self::Raw>;
}

/// A place for one result. It is not null, and the caller requires that it is writable.
pub struct Out<T: Stored> {
    place: *mut c_void,
    store: unsafe fn(*mut c_void, T::Value) -> Result<()>,
}

impl<T: Stored> Out<T> {
    /// The place that `store` writes.
    ///
    /// # Safety
    /// `store` may be called with `place` as long as the program may not free it.
    pub unsafe fn at(
        place: *mut c_void,
        store: unsafe fn(*mut c_void, T::Value) -> Result<()>,
    ) -> Self {
        Self { place, store }
    }

    /// Lays down the result.
    ///
    /// # Errors
    /// `Cause::TooLarge` if it does not fit the caller's type.
    #[inline]
    pub fn set(&self, value: impl Into<T::Value>) -> Result<()> {
        // SAFETY: `read` made the pair from one pointer type and checked it for null; the caller
        // of the C function passed a place of that type.
        unsafe { (self.store)(self.place, value.into()) }
    }
}

impl<T: Stored<Value = Handle>> Out<T> {
    /// Returns what lays the handle down later, in any thread. The place must last until then, as
    /// MPI demands for a result of a nonblocking call.
    pub fn later(&self) -> impl FnOnce(Handle) + Send + 'static {
        let (place, store) = (self.place.expose_provenance(), self.store);
        move |handle| {
            let place = core::ptr::with_exposed_provenance_mut(place);
            // SAFETY: as for `set`. A handle fits its place.
            let _ = unsafe { store(place, handle) };
        }
    }
}

/// # Safety
/// `place` is a writable `T::Raw`.
unsafe fn store<W, T: Slot<W>>(place: *mut c_void, value: T::Value) -> Result<()> {
    let raw = T::raw(value)?;
    // SAFETY: the place is a writable `T::Raw`; alignment is not relied on.
    unsafe { place.cast::<T::Raw>().write_unaligned(raw) };
    Ok(())
}

impl<W, T: Slot<W>> Arg<W> for Out<T> {
    type C = *mut T::Raw;
    const DECLARATION: Declarator = Declarator::pointer(T::NAME);
    const IS_KEPT: bool = false;

    fn show(c: *mut T::Raw, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }

    unsafe fn void(c: *mut T::Raw) {
        if let Some(null) = T::NULL
            && !c.is_null()
        {
            // SAFETY: not null, and the caller passed a place of that type.
            unsafe { c.write_unaligned(null) };
        }
    }
}

impl<W, T: Slot<W>> Read<W> for Out<T> {
    #[inline]
    unsafe fn read(c: *mut T::Raw, name: &'static str, _call: &Call) -> Result<Self> {
        if c.is_null() {
            return Err(Cause::NullPointer { name }.into());
        }
        Ok(Self {
            place: c.cast(),
            store: store::<W, T>,
        })
    }
}

/// A place that holds an argument and takes a result.
pub struct InOut<T: Stored> {
    /// What the caller passed in.
    pub value: T,
    out: Out<T>,
}

impl<T: Stored> InOut<T> {
    /// The place `out`, which holds `value`.
    pub fn of(value: T, out: Out<T>) -> Self {
        Self { value, out }
    }

    /// Lays down the result.
    ///
    /// # Errors
    /// `Cause::TooLarge` if it does not fit the caller's type.
    #[inline]
    pub fn set(&self, value: impl Into<T::Value>) -> Result<()> {
        self.out.set(value)
    }
}

impl<W, T> Arg<W> for InOut<T>
where
    T: Slot<W> + Arg<W, C = <T as Slot<W>>::Raw>,
{
    type C = *mut <T as Slot<W>>::Raw;
    const DECLARATION: Declarator = Declarator::pointer(T::NAME);
    const IS_KEPT: bool = false;

    fn show(c: Self::C, name: &str, line: &mut String) {
        show_address(c.addr(), name, line);
    }

    /// As for the null handle, until the place is read.
    #[inline]
    fn note(_c: Self::C, call: &Call) {
        if let Some(null) = T::NULL {
            T::note(null, call);
        }
    }
}

impl<W, T> Read<W> for InOut<T>
where
    T: Slot<W> + Read<W, C = <T as Slot<W>>::Raw>,
{
    unsafe fn read(c: Self::C, name: &'static str, call: &Call) -> Result<Self> {
        // SAFETY: passed on.
        let out = unsafe { <Out<T> as Read<W>>::read(c, name, call)? };
        // SAFETY: not null, and the caller passed a place that holds the argument.
        let c = unsafe { c.read_unaligned() };
        T::note(c, call);
        // SAFETY: passed on.
        let value = unsafe { T::read(c, name, call)? };
        Ok(Self { value, out })
    }
}

/// The result of a clock, in seconds.
pub struct Double;

impl Value for Double {
    type C = f64;
    const NAME: &'static str = "double";
}

impl Value for Aint {
    type C = i64;
    const NAME: &'static str = "MPI_Aint";
}

impl Value for Int {
    type C = c_int;
    const NAME: &'static str = "int";
}

/// An index of an array whose length was an `int`.
pub fn c_index(index: usize) -> c_int {
    c_int::try_from(index).expect("below the length of an array of C")
}
