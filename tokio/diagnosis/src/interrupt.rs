//! The signals by which a user, a terminal or the system ends a program.
//!
//! What was changed is put back where values are dropped, and a signal that ends the doctor at once would
//! drop none. So each only leaves a note here. cargo does not inherit that, as it would if the signals were
//! ignored: it ends, and the doctor then looks at the note and stops, too.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Lets the signals leave a note, from now on.
#[cfg(unix)]
pub(crate) fn watch() -> Result<(), String> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&CAME))
            .map_err(|error| format!("signal {signal} cannot be handled: {error}"))?;
    }
    Ok(())
}

/// Other systems have no such signals.
#[cfg(not(unix))]
pub(crate) fn watch() -> Result<(), String> {
    Ok(())
}

/// Is an error after a signal. What was found since then may be wrong: the signal may have ended cargo, too.
pub(crate) fn check() -> Result<(), String> {
    match CAME.load(Relaxed) {
        true => Err("interrupted by a signal: run this again".to_owned()),
        false => Ok(()),
    }
}
