//! The rights that a program has beside those of the user that has started it.
#![allow(unsafe_code)]

#[cfg(unix)]
use nix::unistd::{getegid, geteuid, getgid, getuid};

/// Whether the program may do what the user that has started it may not.
#[cfg(unix)]
pub(super) fn has_raised_privileges() -> bool {
    getuid() != geteuid() || getgid() != getegid() || was_started_with_more_rights()
}

/// Whether the program's file has given it rights, also if the program has given them up since, or if they
/// are capabilities.
#[cfg(target_os = "linux")]
fn was_started_with_more_rights() -> bool {
    // SAFETY: it reads a value that the system has left in this process, and has no other conditions.
    unsafe { nix::libc::getauxval(nix::libc::AT_SECURE) != 0 }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn was_started_with_more_rights() -> bool {
    false
}

/// Only Unix has files that give their rights to a program.
#[cfg(not(unix))]
pub(super) fn has_raised_privileges() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_that_a_user_starts_has_that_users_rights() {
        assert!(!super::has_raised_privileges());
    }
}
