//! What can go wrong with time.

use std::fmt;

pub use liten::time::error::Elapsed;

/// Why a timer could not be used. Nothing returns it any more; it is here because it can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// Makes the error that tells of a timer whose runtime has ended.
    pub fn shutdown() -> Self {
        Self(Kind::Shutdown)
    }

    /// Returns whether the runtime of the timer has ended.
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// Makes the error that tells of too many timers.
    pub fn at_capacity() -> Self {
        Self(Kind::AtCapacity)
    }

    /// Returns whether there were too many timers.
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// Makes the error that tells of a configuration that makes no sense.
    pub fn invalid() -> Self {
        Self(Kind::Invalid)
    }

    /// Returns whether the configuration made no sense.
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => "the runtime of the timer has ended",
            Kind::AtCapacity => "there are too many timers",
            Kind::Invalid => "the timer is not configured in a way that makes sense",
        })
    }
}

impl std::error::Error for Error {}
