//! How many files a process may have open.

pub(crate) use system::limit;

#[cfg(unix)]
mod system {
    use std::process::Command;

    /// What POSIX systems give at least, nearly everywhere.
    const USUAL: usize = 256;

    /// A shell knows it, and has inherited it from this process.
    pub(crate) fn limit() -> usize {
        let answer = Command::new("sh").args(["-c", "ulimit -n"]).output();
        let answer = answer.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        match answer.as_deref() {
            Ok("unlimited") => usize::MAX,
            Ok(number) => number.parse().unwrap_or(USUAL),
            Err(_) => USUAL,
        }
    }
}

#[cfg(not(unix))]
mod system {
    /// There is no such limit; this many sockets are within any.
    pub(crate) fn limit() -> usize {
        2048
    }
}
