//! The standard streams of the process, where reading and writing may block for as long as a user takes.

mod futures_io;
mod input;
mod output;

pub use self::input::{Stdin, stdin};
pub use self::output::{Stderr, Stdout, stderr, stdout};
