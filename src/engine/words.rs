//! What the messages of panics end with under the name `tokio`: whose it is.
//!
//! A program uses this crate under that name by the feature `tokio-name`. The texts that are then tokio's are
//! in `runtime/tokio_words.rs`, but for the driver's one.

#[cfg(not(feature = "tokio-name"))]
macro_rules! noted {
    ($($text:literal)?) => {
        concat!($($text)?)
    };
}
#[cfg(feature = "tokio-name")]
macro_rules! noted {
    ($($text:literal)?) => {
        concat!($($text,)? " (this `tokio` is liten's)")
    };
}
/// A message without arguments, and what it ends with: a literal, which a `const fn` can panic with.
pub(crate) use noted;

/// What a message with arguments ends with.
pub(crate) const NOTE: &str = noted!();

/// The error of a source whose runtime has ended. tokio's, where programs may compare it.
pub(crate) const SOURCE_ENDED: &str = match cfg!(feature = "tokio-name") {
    true => "A Tokio 1.x context was found, but it is being shutdown.",
    false => "the runtime that drives this source has been shut down",
};
