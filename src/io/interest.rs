//! What one wants to do with a source.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The directions in which a source is to be used: [`READABLE`](Self::READABLE),
/// [`WRITABLE`](Self::WRITABLE) or both.
///
/// # Examples
///
/// ```
/// use liten::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert!(!Interest::READABLE.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// Interest in reading: data, an incoming connection, the end of the stream.
    pub const READABLE: Self = Self(0b01);
    /// Interest in writing: room in the buffer, an established connection.
    pub const WRITABLE: Self = Self(0b10);

    /// Returns whether reading is wanted.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0 & Self::READABLE.0 != 0
    }

    /// Returns whether writing is wanted.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE.0 != 0
    }

    pub(super) fn to_mio(self) -> mio::Interest {
        match (self.is_readable(), self.is_writable()) {
            (true, true) => mio::Interest::READABLE | mio::Interest::WRITABLE,
            (true, false) => mio::Interest::READABLE,
            (false, _) => mio::Interest::WRITABLE,
        }
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_readable(), self.is_writable()) {
            (true, true) => "READABLE | WRITABLE",
            (true, false) => "READABLE",
            (false, _) => "WRITABLE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Interest;

    #[test]
    fn both_directions_survive_the_way_to_mio() {
        let both = Interest::READABLE | Interest::WRITABLE;
        assert_eq!(both.to_mio(), mio::Interest::READABLE | mio::Interest::WRITABLE);
        assert_eq!(Interest::READABLE.to_mio(), mio::Interest::READABLE);
        assert_eq!(Interest::WRITABLE.to_mio(), mio::Interest::WRITABLE);
        assert_eq!(format!("{both:?}"), "READABLE | WRITABLE");
    }
}
