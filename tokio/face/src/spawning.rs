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
    ) => {{
        let (spawn, $future) =
            crate::runtime::unstable::spawned::wrap($future, $kind, $name, $place, $extras);
        if spawn.is_too_late() {
            spawn.cancelled($future)
        } else {
            spawn.done(::liten::runtime::door::boxed_if_large!(
                task $future: crate::runtime::unstable::spawned::Spawned<$F>, $origin => {
                    let $origin = ::liten::runtime::door::Boxed::<_, $F>::new($origin);
                    $then
                }
            ))
        }
    }};
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
        let $future = crate::runtime::unstable::spawned::$whose($future, $handle);
        ::liten::runtime::door::boxed_if_large!(
            root $future: crate::runtime::unstable::spawned::Root<$F> => $then
        )
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
    ($name:expr, $f:ident: $F:ty => $then:expr) => {{
        let $f = crate::runtime::unstable::span::blocking($name, $f);
        ::liten::runtime::door::boxed_if_large!(function $f: $F => $then)
    }};
}

pub(crate) use {blocked_on, blocking, spawned};
