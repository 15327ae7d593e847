//! Whether the program may do what the user that has started it may not: then that user must not look inside.

#[cfg(unix)]
use nix::unistd::{getegid, geteuid, getgid, getuid};

#[cfg(unix)]
pub(super) fn are_raised() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}

/// Only Unix has files that give their rights to a program.
#[cfg(not(unix))]
pub(super) fn are_raised() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_that_a_user_starts_has_that_users_rights() {
        assert!(!super::are_raised());
    }
}
