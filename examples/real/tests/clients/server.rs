//! A server of Debian's, started for one test in a folder of its own.

use crate::process::LIMIT;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::thread;
use std::time::{Duration, Instant};

/// A folder that is gone when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Not below the target folder: servers that give up root's rights have no way in there.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("liten-{name}-{}", id()));
        fs::create_dir_all(&path).expect("the folder for temporary files can be written to");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Dropped after the server has ended.
    _folder: Folder,
}

impl Server {
    /// Starts what `command` describes for a port, until it accepts connections.
    ///
    /// These servers take no port 0. The one that was free a moment ago may be another program's by now: then
    /// the server ends, and another port is tried.
    pub(crate) fn start(folder: Folder, command: impl Fn(u16) -> Command) -> Self {
        for _ in 0..5 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
            let address = listener.local_addr().expect("it is bound");
            drop(listener);
            let mut command = command(address.port());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            if listens(&mut child, address) {
                return Self { child, address, _folder: folder };
            }
        }
        panic!("the server does not start: {:?}", command(0));
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is a child of ours");
        self.child.wait().expect("it is a child of ours");
    }
}

/// Whether the server accepts connections; `false` if it has ended instead.
fn listens(child: &mut Child, address: SocketAddr) -> bool {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if TcpStream::connect(address).is_ok() {
            // Another program may have been quicker with this port.
            return child.try_wait().expect("it is a child of ours").is_none();
        }
        if child.try_wait().expect("it is a child of ours").is_some() {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the server does not listen on {address}");
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
