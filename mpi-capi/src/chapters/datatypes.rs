//! Chapter 5, datatypes: making them, asking them, packing.

use mpi_lite::data::{self, Block};
use mpi_lite::memory::Way;

use crate::abi;
use crate::args::*;
use crate::error::{Error, Result};
use crate::types::{self, register};

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
        buffer.copy(0, room, Way::Out);
        position.set(end)
    }

    fn MPI_Pack_external | MPI_Pack_external_c(
        datarep: Text, inbuf: SendPtr, incount: Count, datatype: Datatype, outbuf: RecvPtr,
        outsize: Displacement, position: InOut<Displacement>
    );

    fn MPI_Pack_external_size | MPI_Pack_external_size_c(
        datarep: Text, incount: Count, datatype: Datatype, size: Out<Displacement>
    );

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
        count: Count, oldtype: Datatype, newtype: Out<Datatype>
    ) {
        newtype.set(register(oldtype.lite()?.contiguous(count.get())?))
    }

    fn MPI_Type_create_darray | MPI_Type_create_darray_c(
        size: Int, rank: Rank, ndims: Length, array_of_gsizes: Counts, array_of_distribs: Ints,
        array_of_dargs: Ints, array_of_psizes: Ints, order: Int, oldtype: Datatype,
        newtype: Out<Datatype>
    );

    /// Blocks of different lengths at distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: Out<Datatype>
    ) {
        let blocks = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        newtype.set(register(oldtype.lite()?.hindexed(&blocks)?))
    }

    /// Blocks of one length at distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(
        count: Count, blocklength: BlockLength, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: Out<Datatype>
    ) {
        let blocks =
            blocks(count, |_| Ok(blocklength.get()), |at| array_of_displacements.get(at))?;
        newtype.set(register(oldtype.lite()?.hindexed(&blocks)?))
    }

    /// Blocks at equal distances in bytes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_hvector | MPI_Type_create_hvector_c(
        count: Count, blocklength: BlockLength, stride: Displacement, oldtype: Datatype,
        newtype: Out<Datatype>
    ) {
        let lite = oldtype.lite()?.hvector(count.get(), blocklength.get(), stride.0)?;
        newtype.set(register(lite))
    }

    /// Blocks of one length at distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(
        count: Count, blocklength: BlockLength, array_of_displacements: Counts, oldtype: Datatype,
        newtype: Out<Datatype>
    ) {
        let blocks =
            blocks(count, |_| Ok(blocklength.get()), |at| array_of_displacements.get(at))?;
        newtype.set(register(oldtype.lite()?.indexed(&blocks)?))
    }

    /// Makes a datatype of the data of another one, with other bounds. MPI 5.0, 5.1.7.
    fn MPI_Type_create_resized | MPI_Type_create_resized_c(
        oldtype: Datatype, lb: Displacement, extent: Displacement, newtype: Out<Datatype>
    ) {
        newtype.set(register(oldtype.lite()?.resized(lb.0, extent.0)?))
    }

    /// Blocks of different datatypes. MPI 5.0, 5.1.2.
    fn MPI_Type_create_struct | MPI_Type_create_struct_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        array_of_types: Datatypes, newtype: Out<Datatype>
    ) {
        let places = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        newtype.set(register(structure(&places, array_of_types)?))
    }

    fn MPI_Type_create_subarray | MPI_Type_create_subarray_c(
        ndims: Length, array_of_sizes: Counts, array_of_subsizes: Counts,
        array_of_starts: Counts, order: Int, oldtype: Datatype, newtype: Out<Datatype>
    );

    /// A copy of a datatype, with copies of the attributes. MPI 5.0, 5.1.10.
    fn MPI_Type_dup(oldtype: Datatype, newtype: Out<Datatype>) {
        newtype.set(types::duplicate(&oldtype)?)
    }

    /// Gives a datatype up; messages under way keep it. MPI 5.0, 5.1.9.
    fn MPI_Type_free(datatype: InOut<Datatype>) {
        types::free(&datatype.value)?;
        datatype.set(abi::MPI_DATATYPE_NULL)
    }

    fn MPI_Type_get_contents(
        datatype: Datatype, max_integers: Int, max_addresses: Int, max_datatypes: Int,
        array_of_integers: OutInts, array_of_addresses: OutAints,
        array_of_datatypes: OutDatatypes
    );

    fn MPI_Type_get_contents_c(
        datatype: Datatype, max_integers: LargeCount, max_addresses: LargeCount,
        max_large_counts: LargeCount, max_datatypes: LargeCount, array_of_integers: OutInts,
        array_of_addresses: OutAints, array_of_large_counts: OutLargeCounts,
        array_of_datatypes: OutDatatypes
    );

    fn MPI_Type_get_envelope(
        datatype: Datatype, num_integers: Out<Int>, num_addresses: Out<Int>,
        num_datatypes: Out<Int>, combiner: Out<Int>
    );

    fn MPI_Type_get_envelope_c(
        datatype: Datatype, num_integers: Out<LargeCount>, num_addresses: Out<LargeCount>,
        num_large_counts: Out<LargeCount>, num_datatypes: Out<LargeCount>, combiner: Out<Int>
    );

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

    fn MPI_Type_get_value_index(
        value_type: Datatype, index_type: Datatype, pair_type: Out<Datatype>
    );

    /// Blocks of different lengths at distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_indexed | MPI_Type_indexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Counts,
        oldtype: Datatype, newtype: Out<Datatype>
    ) {
        let blocks = blocks(count, |at| length_at(array_of_blocklengths, at), |at| {
            array_of_displacements.get(at)
        })?;
        newtype.set(register(oldtype.lite()?.indexed(&blocks)?))
    }

    /// Bytes of data in an element; `MPI_UNDEFINED` if we lack this optional type. MPI 5.0, 5.1.5.
    fn MPI_Type_size | MPI_Type_size_c(datatype: Datatype, size: Out<Count>) {
        size.set_or_undefined(datatype.supported().map(|datatype| datatype.size()))
    }

    /// Blocks at equal distances in elements. MPI 5.0, 5.1.2.
    fn MPI_Type_vector | MPI_Type_vector_c(
        count: Count, blocklength: BlockLength, stride: Stride, oldtype: Datatype,
        newtype: Out<Datatype>
    ) {
        let lite = oldtype.lite()?.vector(count.get(), blocklength.get(), stride.0)?;
        newtype.set(register(lite))
    }

    /// Takes packed elements out of a buffer. MPI 5.0, 5.2.
    fn MPI_Unpack | MPI_Unpack_c(
        inbuf: SendPtr, insize: Count, position: InOut<Count>, outbuf: RecvPtr, outcount: Count,
        datatype: Datatype, comm: Comm
    ) {
        let _ = comm;
        let buffer = outbuf.of(outcount, &datatype)?;
        let (packed, end) = inbuf.packed(insize.get(), position.value.get(), buffer.bytes()?)?;
        buffer.copy(0, packed, Way::Into);
        position.set(end)
    }

    fn MPI_Unpack_external | MPI_Unpack_external_c(
        datarep: Text, inbuf: SendPtr, insize: Displacement, position: InOut<Displacement>,
        outbuf: RecvPtr, outcount: Count, datatype: Datatype
    );
}

values! {
    /// The address `disp` bytes after `base`. MPI 5.0, 5.1.5.
    fn MPI_Aint_add(base: Aint, disp: Aint) -> Aint { base.wrapping_add(disp) }

    /// The distance in bytes from `addr2` to `addr1`. MPI 5.0, 5.1.5.
    fn MPI_Aint_diff(addr1: Aint, addr2: Aint) -> Aint { addr1.wrapping_sub(addr2) }
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

fn structure(places: &[(u64, i64)], array_of_types: Datatypes) -> Result<data::Datatype> {
    let block = |(at, &(count, displacement)): (usize, &(u64, i64))| {
        let refuse = |what| Error::of_handle("a member of array_of_types", what, abi::MPI_ERR_TYPE);
        let datatype = Datatype::of(array_of_types.get(at)?).map_err(refuse)?;
        Ok(Block {
            displacement,
            count,
            datatype: datatype.lite()?.clone(),
        })
    };
    let blocks = places
        .iter()
        .enumerate()
        .map(block)
        .collect::<Result<_>>()?;
    Ok(data::Datatype::structure(blocks)?)
}
