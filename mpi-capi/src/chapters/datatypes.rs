//! Chapter 5, datatypes: making them, asking them, packing.

use core::ffi::c_int;

use std::sync::Arc;

use mpi_lite::data::{self, Block};

use crate::abi::{self, Handle};
use crate::args::*;
use crate::calls::external;
use crate::calls::grids;
use crate::error::{Error, Result};
use crate::objects::recipe::Recipe;
use crate::objects::types;

mpi! {
    /// The address of a place as a number. MPI 5.0, 5.1.5.
    fn MPI_Get_address(location: ConstAddress, address: Out<Aint>) {
        address.set(location.0.addr().cast_signed() as i64)
    }

    /// Basic elements received, or `MPI_UNDEFINED` if one is not whole. MPI 5.0, 5.1.11.
    fn MPI_Get_elements | MPI_Get_elements_c(
        status: InStatus, datatype: Datatype, count: Out<Count>
    ) {
        count.set_or_undefined(datatype.committed()?.elements(status.0.bytes()))
    }

    /// Appends packed elements to a buffer. MPI 5.0, 5.2.
    fn MPI_Pack | MPI_Pack_c(
        inbuf: SendPtr, incount: Count, datatype: Datatype, outbuf: RecvPtr, outsize: Count,
        position: InOut<Count>, comm: Comm
    ) {
        let _ = comm;
        let buffer = inbuf.of(incount, &datatype)?;
        let (room, end) = outbuf.room(outsize.get(), position.value.get(), buffer.bytes()?)?;
        buffer.copy_out(0, room);
        position.set(end)
    }

    /// Appends elements in "external32" to a buffer. MPI 5.0, 5.3 and 14.5.2, whose table gives
    /// `MPI_LONG` 4 bytes and `MPI_WCHAR` 2: a value that does not fit is `MPI_ERR_CONVERSION`.
    fn MPI_Pack_external | MPI_Pack_external_c(
        datarep: Text, inbuf: SendPtr, incount: Count, datatype: Datatype, outbuf: RecvPtr,
        outsize: Displacement, position: InOut<Displacement>
    ) {
        external::check(datarep)?;
        let buffer = inbuf.of(incount, &datatype)?;
        let bytes = buffer.datatype().external_bytes(buffer.count())?;
        let window = external::window(outsize, &position.value, bytes)?;
        let (room, end) = outbuf.room(window.size, window.position, bytes)?;
        buffer.pack_external(room).map_err(external::refuse)?;
        position.set(end)
    }

    /// The bytes that elements take in "external32". MPI 5.0, 5.3.
    fn MPI_Pack_external_size | MPI_Pack_external_size_c(
        datarep: Text, incount: Count, datatype: Datatype, size: Out<Displacement>
    ) {
        external::check(datarep)?;
        let bytes = datatype.lite()?.external_bytes(incount.get())?;
        size.set(bytes.cast_signed())
    }

    /// The most bytes that packed elements take. MPI 5.0, 5.2.
    fn MPI_Pack_size | MPI_Pack_size_c(
        incount: Count, datatype: Datatype, comm: Comm, size: Out<Count>
    ) {
        let _ = comm;
        let bytes = datatype.lite()?.bytes(incount.get())?;
        size.set(bytes.cast_signed())
    }

    /// Allows a datatype in communication. MPI 5.0, 5.1.9.
    fn MPI_Type_commit(datatype: InOut<Datatype>) {
        datatype.value.lite()?.commit();
        Ok(())
    }

    /// Elements one after the other. MPI 5.0, 5.1.2.
    fn MPI_Type_contiguous | MPI_Type_contiguous_c(
        count: Count, oldtype: Datatype, newtype: NewDatatype
    ) {
        let lite = oldtype.lite()?.contiguous(count.get())?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_CONTIGUOUS).counts([count.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// The part of a process of a distributed array. MPI 5.0, 5.1.4.
    fn MPI_Type_create_darray | MPI_Type_create_darray_c(
        size: Int, rank: Rank, ndims: Int, array_of_gsizes: Counts,
        array_of_distribs: Distributions, array_of_dargs: DistributionArgs, array_of_psizes: Ints,
        order: Order, oldtype: Datatype, newtype: NewDatatype
    ) {
        let dimensions = grids::dimensions(ndims)?;
        let array = grids::Distribution {
            size: size.0,
            rank: rank.0,
            gsizes: array_of_gsizes.to_vec(dimensions)?,
            distribs: array_of_distribs.to_vec(dimensions)?,
            dargs: array_of_dargs.to_vec(dimensions)?,
            psizes: array_of_psizes.to_vec(dimensions)?,
        };
        let lite = oldtype.lite()?.grid(&array.axes(order)?)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_DARRAY);
        let recipe = recipe.integers([size.0, rank.0, ndims.0]).counts(array.gsizes);
        let recipe = recipe.integers(array.distribs).integers(array.dargs);
        let recipe = recipe.integers(array.psizes).integers([order.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Blocks of different lengths at distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: NewDatatype
    ) {
        let blocks = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        let lite = oldtype.lite()?.hindexed(&blocks)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_HINDEXED);
        let recipe = recipe.counts([count.0]).counts(lengths(&blocks)).addresses(places(&blocks));
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Blocks of one length at distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(
        count: Count, blocklength: BlockLength, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: NewDatatype
    ) {
        let blocks =
            blocks(count, |_| Ok(blocklength.get()), |at| array_of_displacements.get(at))?;
        let lite = oldtype.lite()?.hindexed(&blocks)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_HINDEXED_BLOCK);
        let recipe = recipe.counts([count.0, blocklength.0]).addresses(places(&blocks));
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Blocks at equal distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hvector | MPI_Type_create_hvector_c(
        count: Count, blocklength: BlockLength, stride: Displacement, oldtype: Datatype,
        newtype: NewDatatype
    ) {
        let lite = oldtype.lite()?.hvector(count.get(), blocklength.get(), stride.0)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_HVECTOR);
        let recipe = recipe.counts([count.0, blocklength.0]).addresses([stride.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Blocks of one length at distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(
        count: Count, blocklength: BlockLength, array_of_displacements: Counts, oldtype: Datatype,
        newtype: NewDatatype
    ) {
        let blocks =
            blocks(count, |_| Ok(blocklength.get()), |at| array_of_displacements.get(at))?;
        let lite = oldtype.lite()?.indexed(&blocks)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_INDEXED_BLOCK);
        let recipe = recipe.counts([count.0, blocklength.0]).counts(places(&blocks));
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Makes a datatype of the data of another one, with other bounds. MPI 5.0, 5.1.7.
    fn MPI_Type_create_resized | MPI_Type_create_resized_c(
        oldtype: Datatype, lb: Displacement, extent: Displacement, newtype: NewDatatype
    ) {
        let lite = oldtype.lite()?.resized(lb.0, extent.0)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_RESIZED).addresses([lb.0, extent.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Blocks of different datatypes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_struct | MPI_Type_create_struct_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        array_of_types: Datatypes, newtype: NewDatatype
    ) {
        let blocks = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        let types = members(count, array_of_types)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_STRUCT).counts([count.0]);
        let recipe = recipe.counts(lengths(&blocks)).addresses(places(&blocks));
        newtype.set(structure(&blocks, &types)?, recipe.types(types))
    }

    /// A box of an array. MPI 5.0, 5.1.3.
    fn MPI_Type_create_subarray | MPI_Type_create_subarray_c(
        ndims: Int, array_of_sizes: Counts, array_of_subsizes: Counts,
        array_of_starts: Counts, order: Order, oldtype: Datatype, newtype: NewDatatype
    ) {
        let dimensions = grids::dimensions(ndims)?;
        let sizes = array_of_sizes.to_vec(dimensions)?;
        let subsizes = array_of_subsizes.to_vec(dimensions)?;
        let starts = array_of_starts.to_vec(dimensions)?;
        let axes = grids::subarray(&sizes, &subsizes, &starts, order)?;
        let lite = oldtype.lite()?.grid(&axes)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_SUBARRAY).integers([ndims.0]);
        let recipe = recipe.counts(sizes).counts(subsizes).counts(starts).integers([order.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// A copy of a datatype, with copies of the attributes. MPI 5.0, 5.1.10.
    fn MPI_Type_dup(oldtype: Datatype, newtype: Out<Datatype>) {
        newtype.set(types::duplicate(&oldtype)?)
    }

    /// Gives a datatype up; messages under way keep it. MPI 5.0, 5.1.9.
    fn MPI_Type_free(datatype: InOut<Datatype>) {
        types::free(&datatype.value)?;
        datatype.set(abi::MPI_DATATYPE_NULL)
    }

    /// The arguments of the call that made a datatype. MPI 5.0, 5.1.13.
    fn MPI_Type_get_contents(
        datatype: Datatype, max_integers: Int, max_addresses: Int, max_datatypes: Int,
        array_of_integers: OutIntegers, array_of_addresses: OutAints,
        array_of_datatypes: OutDatatypes
    ) {
        let recipe = datatype.contents()?;
        recipe.check_small()?;
        let [integers, addresses, datatypes] =
            [max_integers, max_addresses, max_datatypes].map(|max| i64::from(max.0));
        recipe.check_room([integers, addresses, 0, datatypes])?;
        array_of_integers.set_all(recipe)?;
        array_of_addresses.set_all(&recipe.addresses)?;
        write_datatypes(recipe, array_of_datatypes)
    }

    /// The arguments of the call that made a datatype, with large counts. MPI 5.0, 5.1.13.
    fn MPI_Type_get_contents_c(
        datatype: Datatype, max_integers: LargeCount, max_addresses: LargeCount,
        max_large_counts: LargeCount, max_datatypes: LargeCount, array_of_integers: OutIntegers,
        array_of_addresses: OutAints, array_of_large_counts: OutLargeCounts,
        array_of_datatypes: OutDatatypes
    ) {
        let recipe = datatype.contents()?;
        recipe.check_room(
            [max_integers, max_addresses, max_large_counts, max_datatypes].map(|max| max.0),
        )?;
        array_of_integers.set_all(recipe)?;
        array_of_addresses.set_all(&recipe.addresses)?;
        array_of_large_counts.set_all(&recipe.large_counts)?;
        write_datatypes(recipe, array_of_datatypes)
    }

    /// The call that made a datatype, and how many arguments it had. MPI 5.0, 5.1.13.
    fn MPI_Type_get_envelope(
        datatype: Datatype, num_integers: Out<Int>, num_addresses: Out<Int>,
        num_datatypes: Out<Int>, combiner: Out<Combiner>
    ) {
        let recipe = datatype.recipe()?;
        recipe.map_or(Ok(()), Recipe::check_small)?;
        let [integers, addresses, _, datatypes] = recipe.map_or([0; 4], Recipe::lengths);
        num_integers.set(integers as c_int)?;
        num_addresses.set(addresses as c_int)?;
        num_datatypes.set(datatypes as c_int)?;
        combiner.set(recipe.map_or(abi::MPI_COMBINER_NAMED, |recipe| recipe.combiner))
    }

    /// The call that made a datatype, and how many arguments it had. MPI 5.0, 5.1.13.
    fn MPI_Type_get_envelope_c(
        datatype: Datatype, num_integers: Out<LargeCount>, num_addresses: Out<LargeCount>,
        num_large_counts: Out<LargeCount>, num_datatypes: Out<LargeCount>, combiner: Out<Combiner>
    ) {
        let recipe = datatype.recipe()?;
        let [integers, addresses, counts, datatypes] = recipe.map_or([0; 4], Recipe::lengths);
        num_integers.set(integers)?;
        num_addresses.set(addresses)?;
        num_large_counts.set(counts)?;
        num_datatypes.set(datatypes)?;
        combiner.set(recipe.map_or(abi::MPI_COMBINER_NAMED, |recipe| recipe.combiner))
    }

    /// Lower bound and extent in bytes. MPI 5.0, 5.1.7.
    fn MPI_Type_get_extent | MPI_Type_get_extent_c(
        datatype: Datatype, lb: Out<Displacement>, extent: Out<Displacement>
    ) {
        let datatype = datatype.lite()?;
        lb.set(datatype.lower_bound())?;
        extent.set(datatype.extent())
    }

    /// Lower bound and extent of the data alone. MPI 5.0, 5.1.8.
    fn MPI_Type_get_true_extent | MPI_Type_get_true_extent_c(
        datatype: Datatype, true_lb: Out<Displacement>, true_extent: Out<Displacement>
    ) {
        let datatype = datatype.lite()?;
        true_lb.set(datatype.true_lower_bound())?;
        true_extent.set(datatype.true_extent())
    }

    /// The datatype of pairs for `MPI_MINLOC` and `MPI_MAXLOC`, or `MPI_DATATYPE_NULL` if there is
    /// none of this value and index. We have those with a name. MPI 5.0, 6.9.4.
    fn MPI_Type_get_value_index(
        value_type: Datatype, index_type: Datatype, pair_type: Out<Datatype>
    ) {
        pair_type.set(pair_of(value_type.handle, index_type.handle))
    }

    /// Blocks of different lengths at distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_indexed | MPI_Type_indexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Counts,
        oldtype: Datatype, newtype: NewDatatype
    ) {
        let blocks = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        let lite = oldtype.lite()?.indexed(&blocks)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_INDEXED);
        let recipe = recipe.counts([count.0]).counts(lengths(&blocks)).counts(places(&blocks));
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Bytes of data in an element; `MPI_UNDEFINED` if we lack this optional type. MPI 5.0, 5.1.5.
    fn MPI_Type_size | MPI_Type_size_c(datatype: Datatype, size: Out<Count>) {
        size.set_or_undefined(datatype.supported().map(|datatype| datatype.size()))
    }

    /// Blocks at equal distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_vector | MPI_Type_vector_c(
        count: Count, blocklength: BlockLength, stride: Stride, oldtype: Datatype,
        newtype: NewDatatype
    ) {
        let lite = oldtype.lite()?.vector(count.get(), blocklength.get(), stride.0)?;
        let recipe = newtype.recipe(abi::MPI_COMBINER_VECTOR);
        let recipe = recipe.counts([count.0, blocklength.0, stride.0]);
        newtype.set(lite, recipe.types([oldtype]))
    }

    /// Takes packed elements out of a buffer. MPI 5.0, 5.2.
    fn MPI_Unpack | MPI_Unpack_c(
        inbuf: SendPtr, insize: Count, position: InOut<Count>, outbuf: RecvPtr, outcount: Count,
        datatype: Datatype, comm: Comm
    ) {
        let _ = comm;
        let buffer = outbuf.of(outcount, &datatype)?;
        let (packed, end) = inbuf.packed(insize.get(), position.value.get(), buffer.bytes()?)?;
        buffer.copy_in(0, packed);
        position.set(end)
    }

    /// Takes elements in "external32" out of a buffer. MPI 5.0, 5.3.
    fn MPI_Unpack_external | MPI_Unpack_external_c(
        datarep: Text, inbuf: SendPtr, insize: Displacement, position: InOut<Displacement>,
        outbuf: RecvPtr, outcount: Count, datatype: Datatype
    ) {
        external::check(datarep)?;
        let buffer = outbuf.of(outcount, &datatype)?;
        let bytes = buffer.datatype().external_bytes(buffer.count())?;
        let window = external::window(insize, &position.value, bytes)?;
        let (packed, end) = inbuf.packed(window.size, window.position, bytes)?;
        buffer.unpack_external(packed).map_err(external::refuse)?;
        position.set(end)
    }
}

values! {
    /// The address `disp` bytes after `base`. MPI 5.0, 5.1.5.
    fn MPI_Aint_add(base: Aint, disp: Aint) -> Aint { base.wrapping_add(disp) }

    /// The distance in bytes from `addr2` to `addr1`. MPI 5.0, 5.1.5.
    fn MPI_Aint_diff(addr1: Aint, addr2: Aint) -> Aint { addr1.wrapping_sub(addr2) }
}

fn pair_of(value: Handle, index: Handle) -> Handle {
    match (value, index) {
        (abi::MPI_FLOAT, abi::MPI_INT) => abi::MPI_FLOAT_INT,
        (abi::MPI_DOUBLE, abi::MPI_INT) => abi::MPI_DOUBLE_INT,
        (abi::MPI_LONG, abi::MPI_INT) => abi::MPI_LONG_INT,
        (abi::MPI_INT, abi::MPI_INT) => abi::MPI_2INT,
        (abi::MPI_SHORT, abi::MPI_INT) => abi::MPI_SHORT_INT,
        (abi::MPI_LONG_DOUBLE, abi::MPI_INT) => abi::MPI_LONG_DOUBLE_INT,
        (abi::MPI_INTEGER, abi::MPI_INTEGER) => abi::MPI_2INTEGER,
        _ => abi::MPI_DATATYPE_NULL,
    }
}

/// The blocks that arrays of lengths and displacements name.
fn blocks(
    count: Count,
    length: impl Fn(usize) -> Result<u64>,
    displacement: impl Fn(usize) -> Result<i64>,
) -> Result<Vec<(u64, i64)>> {
    let count = usize::try_from(count.get()).expect("addresses have 64 bits");
    (0..count)
        .map(|at| Ok((length(at)?, displacement(at)?)))
        .collect()
}

fn length_at(lengths: Counts, at: usize) -> Result<u64> {
    u64::try_from(lengths.get(at)?)
        .map_err(|_| Error::new(abi::MPI_ERR_ARG, "a block length is negative"))
}

fn lengths(blocks: &[(u64, i64)]) -> impl Iterator<Item = i64> {
    blocks.iter().map(|(length, _)| length.cast_signed())
}

fn places(blocks: &[(u64, i64)]) -> impl Iterator<Item = i64> {
    blocks.iter().map(|(_, place)| *place)
}

/// The datatypes of the members of a structure.
fn members(count: Count, array_of_types: Datatypes) -> Result<Vec<Datatype>> {
    let refuse = |what| Error::of_handle("a member of array_of_types", what, abi::MPI_ERR_TYPE);
    (0..count.get() as usize)
        .map(|at| Datatype::of(array_of_types.get(at)?).map_err(refuse))
        .collect()
}

fn structure(blocks: &[(u64, i64)], types: &[Datatype]) -> Result<data::Datatype> {
    let block = |(&(count, displacement), datatype): (&(u64, i64), &Datatype)| {
        Ok(Block {
            displacement,
            count,
            datatype: datatype.lite()?.clone(),
        })
    };
    let blocks = blocks.iter().zip(types).map(block).collect::<Result<_>>()?;
    Ok(data::Datatype::structure(blocks)?)
}

/// Writes a handle to each of the datatypes. A handle to a datatype that the program made is a new
/// one, which the program has to free.
fn write_datatypes(recipe: &Recipe, room: OutDatatypes) -> Result<()> {
    for (at, part) in recipe.datatypes.iter().enumerate() {
        // A handle is made only if there is a place for it.
        room.check()?;
        match part.made().filter(|_| !part.is_unnamed_predefined()) {
            Some(made) => room.set(at, types::register(Arc::clone(made)))?,
            None => room.set(at, part.handle)?,
        }
    }
    Ok(())
}
