//! tokio's interface on the runtime of liten.
//!
//! A program gets it by `[patch.crates-io]` and needs no other change. The I/O traits, what is built on them,
//! the macros and the faces of sockets, files and processes are tokio's own files, from its published crate;
//! what they stand on (runtime, tasks, timers, the driver of I/O, signals, channels and locks) is liten's.
//!
//! [`in_effect!`] in a program's source is the proof that the patch is in effect: with any other crate of
//! this name it does not compile.
// tokio's files are what they are.
#![allow(
    clippy::all,
    dead_code,
    unused_imports,
    unused_macros,
    unreachable_pub,
    rustdoc::broken_intra_doc_links
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(tokio_unstable, feature = "io-uring", target_os = "linux"))]
compile_error!(
    "this `tokio` is liten's, and liten does not use io_uring: take out the feature `io-uring` of tokio, \
     which `cargo tree -e features -i tokio` finds, or `tokio` out of [patch.crates-io]"
);

#[cfg(target_family = "wasm")]
compile_error!("this `tokio` is liten's and knows no wasm target: take it out of [patch.crates-io] there");

/// Says that this package named `tokio` is liten's. The real one has no such item.
pub const LITEN: &str = "this `tokio` is liten's";

/// Fails to compile unless the package named `tokio` is liten's.
///
/// ```
/// tokio::in_effect!();
/// ```
#[macro_export]
macro_rules! in_effect {
    () => {
        const _: &str = $crate::LITEN;
    };
}

#[macro_use]
#[doc(hidden)]
pub mod macros;

cfg_fs! {
    pub mod fs;
}

mod future;

mod spawning;

pub mod io;
pub mod net;

mod loom;

cfg_process! {
    pub mod process;
}

mod blocking;

cfg_rt! {
    pub mod runtime;
}
cfg_not_rt! {
    pub(crate) mod runtime;
}

cfg_signal! {
    pub mod signal;
}

cfg_sync! {
    pub mod sync;
}
cfg_not_sync! {
    mod sync;
}

pub mod task;
cfg_rt! {
    pub use task::spawn;
}

cfg_time! {
    pub mod time;
}

mod trace;
/// tokio's helpers, under the names that its files know.
mod util {
    #[cfg(feature = "fs")]
    pub(crate) mod as_ref;
    pub(crate) mod error;
    pub(crate) mod memchr;
    #[cfg(tokio_unstable)]
    pub(crate) mod metric_atomics;
    #[cfg(feature = "fs")]
    pub(crate) mod typeid;
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    pub(crate) mod linked_list;
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    pub(crate) mod trace;
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    mod wake_list;
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    pub(crate) use wake_list::WakeList;

    #[cfg(feature = "net")]
    mod blocking_check;
    #[cfg(feature = "net")]
    pub(crate) use blocking_check::check_socket_for_blocking;
}

/// Streams are in the crate `tokio-stream`.
pub mod stream {}

pub(crate) use std::os;

cfg_macros! {
    #[doc(hidden)]
    pub use tokio_macros::select_priv_declare_output_enum;

    #[doc(hidden)]
    pub use tokio_macros::select_priv_clean_pattern;

    cfg_rt! {
        #[cfg(feature = "rt-multi-thread")]
        #[doc(inline)]
        pub use tokio_macros::{main, test};

        cfg_not_rt_multi_thread! {
            #[doc(inline)]
            pub use tokio_macros::{main_rt as main, test_rt as test};
        }
    }

    cfg_not_rt! {
        #[doc(inline)]
        pub use tokio_macros::{main_fail as main, test_fail as test};
    }
}
