//! The macros `select!`, `join!`, `try_join!` and `pin!`, and the functions that they expand to. The
//! functions are public only for the macros, and hidden from the documentation.
//!
//! The macros are at the crate's root, where `macro_rules!` puts them. They use only `core` and this module.
//! What does not depend on the tokens of the caller is done by functions here. What has another type, or
//! another number of branches, at each use is done in the macros.
//!
//! Rejected:
//!
//! * A proc-macro, as tokio has for the patterns of `select!`. A match guard does the same (see
//!   `combinators/select.rs`), and no program has to build `syn` for it.
//! * Futures in nested pairs, pinned by `pin-project-lite`, which would need no `unsafe` in the macros. 64
//!   branches are then 64 levels of types for the compiler, and in a build without optimisation each level is
//!   copied into the next one.

mod join;
mod pin;
mod select;

pub use self::join::{Declared, Rotating, kept, output, poll_fallible, value};
pub use self::select::{bit, first_branch, poll_budget, start_branch};
use std::iter::Chain;
use std::ops::Range;

/// How many places there are.
pub const fn count<const N: usize>(_places: [usize; N]) -> usize {
    N
}

/// All places below `count`, once each: from `first` to the last one, then from 0 to the one before `first`.
#[inline]
pub fn places(first: usize, count: usize) -> Chain<Range<usize>, Range<usize>> {
    (first..count).chain(0..first)
}
