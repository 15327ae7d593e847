//! What `select!`, `join!`, `try_join!` and `pin!` expand to: no interface of the crate, and hidden from its
//! documentation.
//!
//! The macros stand at the crate's root, where `macro_rules!` puts them. All that they name beside `core`
//! is in this module. A function here does what needs no token of the caller's; what is left in the macros
//! is the part that has another type, or another number of branches, at each use.
//!
//! Rejected:
//!
//! * a proc-macro, as tokio has for the patterns of `select!`: a guard that looks at the pattern and then
//!   refuses does the same (see `combinators/select.rs`), and no program has to build `syn` for it;
//! * futures in nested pairs, pinned by `pin-project-lite`, for no `unsafe` in the macros: 64 branches are
//!   then 64 levels of types for the compiler, and in a build without optimisation each level is copied into
//!   the next one.

mod join;
mod pin;
mod select;

pub use self::join::{Declared, Rotating, kept, output, poll_fallible, value};
pub use self::select::{bit, first_branch, poll_budget, start_branch};
use std::iter::Chain;
use std::ops::Range;

/// How many there are.
pub const fn count<const N: usize>(_places: [usize; N]) -> usize {
    N
}

/// Each place below `count` once, from `first` to the last one and then those before it.
#[inline]
pub fn places(first: usize, count: usize) -> Chain<Range<usize>, Range<usize>> {
    (first..count).chain(0..first)
}
