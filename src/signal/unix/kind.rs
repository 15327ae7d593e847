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

    /// `SIGALRM`: a timer of the process has run out. By default it ends the process.
    pub const fn alarm() -> Self {
        Self(libc::SIGALRM)
    }

    /// `SIGCHLD`: a child process has ended, stopped or continued. By default it is ignored.
    pub const fn child() -> Self {
        Self(libc::SIGCHLD)
    }

    /// `SIGHUP`: the terminal is gone; services read their configuration again. By default it ends the
    /// process.
    pub const fn hangup() -> Self {
        Self(libc::SIGHUP)
    }

    /// `SIGINFO`: the user at the terminal asks what the process is doing. By default it is ignored. The BSDs
    /// and macOS only.
    #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd"
    ))]
    pub const fn info() -> Self {
        Self(libc::SIGINFO)
    }

    /// `SIGINT`: ctrl-c at the terminal. By default it ends the process.
    pub const fn interrupt() -> Self {
        Self(libc::SIGINT)
    }

    /// `SIGIO`: a descriptor is ready. By default it ends the process on Linux and is ignored elsewhere.
    pub const fn io() -> Self {
        Self(libc::SIGIO)
    }

    /// `SIGPIPE`: the process wrote to a pipe that no process reads. By default it ends the process, but Rust
    /// programs ignore it from the start.
    pub const fn pipe() -> Self {
        Self(libc::SIGPIPE)
    }

    /// `SIGQUIT`: ctrl-\ at the terminal. By default it ends the process with a core dump.
    pub const fn quit() -> Self {
        Self(libc::SIGQUIT)
    }

    /// `SIGTERM`: the process is asked to end. By default it ends the process.
    pub const fn terminate() -> Self {
        Self(libc::SIGTERM)
    }

    /// `SIGUSR1`: whatever the program makes of it. By default it ends the process.
    pub const fn user_defined1() -> Self {
        Self(libc::SIGUSR1)
    }

    /// `SIGUSR2`: whatever the program makes of it. By default it ends the process.
    pub const fn user_defined2() -> Self {
        Self(libc::SIGUSR2)
    }

    /// `SIGWINCH`: the terminal's window has another size. By default it is ignored.
    pub const fn window_change() -> Self {
        Self(libc::SIGWINCH)
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
