//! The macros: attributes on functions, and those for several futures.

#[cfg(feature = "macros")]
mod attributes;
mod join;
mod select;
