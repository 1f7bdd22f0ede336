//! Chapter 5, datatypes: making them, asking them, packing.

use crate::args::*;

mpi! {
    /// The address of a place as a number. MPI 5.0, 5.1.5.
    fn MPI_Get_address(location: ConstAddress, address: Out<Aint>) {
        address.set(location.0.addr().cast_signed() as i64)
    }

    fn MPI_Get_elements | MPI_Get_elements_c(
        status: InStatus, datatype: Datatype, count: Out<Count>
    );

    fn MPI_Pack | MPI_Pack_c(
        inbuf: SendPtr, incount: Count, datatype: Datatype, outbuf: RecvPtr, outsize: Count,
        position: InOut<Count>, comm: Comm
    );

    fn MPI_Pack_external | MPI_Pack_external_c(
        datarep: Text, inbuf: SendPtr, incount: Count, datatype: Datatype, outbuf: RecvPtr,
        outsize: Displacement, position: InOut<Displacement>
    );

    fn MPI_Pack_external_size | MPI_Pack_external_size_c(
        datarep: Text, incount: Count, datatype: Datatype, size: Out<Displacement>
    );

    fn MPI_Pack_size | MPI_Pack_size_c(
        incount: Count, datatype: Datatype, comm: Comm, size: Out<Count>
    );

    fn MPI_Type_commit(datatype: InOut<Datatype>);

    fn MPI_Type_contiguous | MPI_Type_contiguous_c(
        count: Count, oldtype: Datatype, newtype: Out<Datatype>
    );

    fn MPI_Type_create_darray | MPI_Type_create_darray_c(
        size: Int, rank: Rank, ndims: Length, array_of_gsizes: Counts, array_of_distribs: Ints,
        array_of_dargs: Ints, array_of_psizes: Ints, order: Int, oldtype: Datatype,
        newtype: Out<Datatype>
    );

    fn MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: Out<Datatype>
    );

    fn MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(
        count: Count, blocklength: Count, array_of_displacements: Displacements,
        oldtype: Datatype, newtype: Out<Datatype>
    );

    fn MPI_Type_create_hvector | MPI_Type_create_hvector_c(
        count: Count, blocklength: Count, stride: Displacement, oldtype: Datatype,
        newtype: Out<Datatype>
    );

    fn MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(
        count: Count, blocklength: Count, array_of_displacements: Counts, oldtype: Datatype,
        newtype: Out<Datatype>
    );

    fn MPI_Type_create_resized | MPI_Type_create_resized_c(
        oldtype: Datatype, lb: Displacement, extent: Displacement, newtype: Out<Datatype>
    );

    fn MPI_Type_create_struct | MPI_Type_create_struct_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Displacements,
        array_of_types: Datatypes, newtype: Out<Datatype>
    );

    fn MPI_Type_create_subarray | MPI_Type_create_subarray_c(
        ndims: Length, array_of_sizes: Counts, array_of_subsizes: Counts,
        array_of_starts: Counts, order: Int, oldtype: Datatype, newtype: Out<Datatype>
    );

    fn MPI_Type_dup(oldtype: Datatype, newtype: Out<Datatype>);

    fn MPI_Type_free(datatype: InOut<Datatype>);

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

    fn MPI_Type_get_extent | MPI_Type_get_extent_c(
        datatype: Datatype, lb: Out<Displacement>, extent: Out<Displacement>
    );

    fn MPI_Type_get_true_extent | MPI_Type_get_true_extent_c(
        datatype: Datatype, true_lb: Out<Displacement>, true_extent: Out<Displacement>
    );

    fn MPI_Type_get_value_index(
        value_type: Datatype, index_type: Datatype, pair_type: Out<Datatype>
    );

    fn MPI_Type_indexed | MPI_Type_indexed_c(
        count: Count, array_of_blocklengths: Counts, array_of_displacements: Counts,
        oldtype: Datatype, newtype: Out<Datatype>
    );

    fn MPI_Type_size | MPI_Type_size_c(datatype: Datatype, size: Out<Count>);

    fn MPI_Type_vector | MPI_Type_vector_c(
        count: Count, blocklength: Count, stride: Stride, oldtype: Datatype,
        newtype: Out<Datatype>
    );

    fn MPI_Unpack | MPI_Unpack_c(
        inbuf: SendPtr, insize: Count, position: InOut<Count>, outbuf: RecvPtr, outcount: Count,
        datatype: Datatype, comm: Comm
    );

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
