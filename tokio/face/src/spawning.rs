//! What stands between a spawn and liten: with `--cfg tokio_unstable` each task is wrapped in
//! what is told of it.

/// As `boxed_if_large!(task …)`, for a task of a kind, perhaps with a name, of a runtime or set that may
/// end when it panics. The place of the spawn comes before the origin, which may be more than that place.
#[cfg(not(tokio_unstable))]
macro_rules! spawned {
    (
        $kind:literal, $name:expr, $extras:expr,
        $future:ident: $F:ty, $place:ident, $origin:ident => $then:expr
    ) => {
        ::liten::runtime::door::boxed_if_large!(task $future: $F, $origin => $then)
    };
}
#[cfg(tokio_unstable)]
macro_rules! spawned {
    (
        $kind:literal, $name:expr, $extras:expr,
        $future:ident: $F:ty, $place:ident, $origin:ident => $then:expr
    ) => {
        // Into the box first, because what wraps it would be one more copy of a large one.
        ::liten::runtime::door::boxed_if_large!(root $future: $F => {
            let (spawn, $future) = crate::runtime::unstable::spawned::wrap::<$F, _>(
                $future, $kind, $name, $place, $extras,
            );
            if spawn.is_too_late() {
                spawn.cancelled($future)
            } else {
                let $origin = ::liten::runtime::door::Boxed::<_, $F>::new($origin);
                spawn.done($then)
            }
        })
    };
}

/// As `boxed_if_large!(root …)`, for the `block_on` of a runtime, or of a handle, which runs no tasks.
#[cfg(not(tokio_unstable))]
macro_rules! blocked_on {
    ($whose:ident $handle:expr, $future:ident: $F:ty => $then:expr) => {
        ::liten::runtime::door::boxed_if_large!(root $future: $F => $then)
    };
}
#[cfg(tokio_unstable)]
macro_rules! blocked_on {
    ($whose:ident $handle:expr, $future:ident: $F:ty => $then:expr) => {{
        let _seeded = crate::runtime::unstable::Extras::seeded($handle);
        ::liten::runtime::door::boxed_if_large!(root $future: $F => {
            let $future = crate::runtime::unstable::spawned::$whose($future, $handle);
            $then
        })
    }};
}

/// As `boxed_if_large!(function …)`, for blocking work, perhaps with a name.
#[cfg(not(all(tokio_unstable, feature = "tracing")))]
macro_rules! blocking {
    ($name:expr, $f:ident: $F:ty => $then:expr) => {
        ::liten::runtime::door::boxed_if_large!(function $f: $F => $then)
    };
}
#[cfg(all(tokio_unstable, feature = "tracing"))]
macro_rules! blocking {
    ($name:expr, $f:ident: $F:ty => $then:expr) => {
        ::liten::runtime::door::boxed_if_large!(function $f: $F => {
            let $f = crate::runtime::unstable::span::blocking::<$F, _, _>($name, $f);
            $then
        })
    };
}

pub(crate) use {blocked_on, blocking, spawned};
