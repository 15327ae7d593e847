//! The suffix of panic messages in the package named `tokio`: it says that this `tokio` is liten's.
//!
//! The feature `tokio-name` is on in that package only; everywhere else the suffix is empty. The messages
//! that the feature replaces by tokio's own are in `runtime/tokio_words.rs`, except that the engine's
//! own are here.

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

/// The suffix of a message with arguments.
pub(crate) const NOTE: &str = noted!();

/// The beginning of the `Debug` output of a task's id.
pub(crate) const TASK_ID: &str = match cfg!(feature = "tokio-name") {
    true => "Id",
    false => "TaskId",
};

/// Whether a task that has yielded is in the registry from then on, where the dumps of tokio's unstable
/// features find it. Otherwise one that never waits enters none, and a yield is cheaper.
pub(crate) const LISTS_YIELDED: bool = cfg!(all(feature = "tokio-name", tokio_unstable));

/// The error of a source whose runtime has ended. tokio's, where programs may compare it.
pub(crate) const SOURCE_ENDED: &str = match cfg!(feature = "tokio-name") {
    true => "A Tokio 1.x context was found, but it is being shutdown.",
    false => "the runtime that drives this source has been shut down",
};
