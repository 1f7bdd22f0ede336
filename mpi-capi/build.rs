//! Names the shared library as the standard ABI's users expect it, and binds its calls of itself.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // In a process with two binary interfaces `PMPI_X` of the program may be the other one's.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
