//! The program: everything is in the library, the allocator alone is chosen here.

use std::process::ExitCode;

/// Claims are many small allocations from several threads; with this one the commit thread is half as busy.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    onced::cli::run(std::env::args_os()).into()
}
