//! `SignalKind`: which signal.

use nix::libc;
use std::ffi::c_int;

/// A kind of signal: one of those named here, or any other by its number.
///
/// # Examples
///
/// ```
/// use liten::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::from_raw(SignalKind::hangup().as_raw_value()), SignalKind::hangup());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(c_int);

/// Functions that each return one kind: `name = its constant in libc`.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident = $signal:ident;)*) => {$(
        $(#[$attribute])*
        pub const fn $name() -> Self {
            Self(libc::$signal)
        }
    )*};
}

impl SignalKind {
    /// Returns the kind with this number, for signals that only some systems have. Whether there is such a
    /// signal is found out by [`signal`](super::signal).
    pub const fn from_raw(signum: c_int) -> Self {
        Self(signum)
    }

    /// Returns the number of the signal.
    #[must_use]
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }

    kinds! {
        /// `SIGALRM`: a timer of the process has run out. By default it ends the process.
        alarm = SIGALRM;
        /// `SIGCHLD`: a child process has ended, stopped or continued. By default it is ignored.
        child = SIGCHLD;
        /// `SIGHUP`: the terminal is gone; services read their configuration again. By default it ends the
        /// process.
        hangup = SIGHUP;
        /// `SIGINFO`: the user at the terminal asks what the process is doing. By default it is ignored. The
        /// BSDs and macOS only.
        #[cfg(any(
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd"
        ))]
        info = SIGINFO;
        /// `SIGINT`: ctrl-c at the terminal. By default it ends the process.
        interrupt = SIGINT;
        /// `SIGIO`: a descriptor is ready. By default it ends the process on Linux and is ignored elsewhere.
        io = SIGIO;
        /// `SIGPIPE`: the process wrote to a pipe that no process reads. By default it ends the process, but
        /// Rust programs ignore it from the start.
        pipe = SIGPIPE;
        /// `SIGQUIT`: ctrl-\ at the terminal. By default it ends the process with a core dump.
        quit = SIGQUIT;
        /// `SIGTERM`: the process is asked to end. By default it ends the process.
        terminate = SIGTERM;
        /// `SIGUSR1`: whatever the program makes of it. By default it ends the process.
        user_defined1 = SIGUSR1;
        /// `SIGUSR2`: whatever the program makes of it. By default it ends the process.
        user_defined2 = SIGUSR2;
        /// `SIGWINCH`: the terminal's window has another size. By default it is ignored.
        window_change = SIGWINCH;
    }
}

impl From<c_int> for SignalKind {
    fn from(signum: c_int) -> Self {
        Self(signum)
    }
}

impl From<SignalKind> for c_int {
    fn from(kind: SignalKind) -> Self {
        kind.0
    }
}
