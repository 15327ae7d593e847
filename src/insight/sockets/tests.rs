use super::{Kind, Socket, Targets};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that stands for `/proc`, until it is dropped.
struct Proc(PathBuf);

impl Proc {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("liten-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

impl Drop for Proc {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn where_nothing_can_be_read_it_is_said_what() {
    let mut targets = Targets::under("/there/is/no/such/folder");
    assert_eq!((targets.of(0), targets.is_connection(0)), (None, false));
    let folder = Path::new("/there/is/no/such/folder").join("self/fd");
    let trouble = targets.trouble().expect("it is said");
    assert!(trouble.starts_with(&format!("{}: ", folder.display())), "{trouble}");
    // A file in the place of the folder.
    let proc = Proc::new("no-fd");
    proc.write("self/fd", "");
    let mut targets = Targets::under(&proc.0);
    assert_eq!(targets.of(1), None);
    assert!(targets.trouble().is_some_and(|trouble| trouble.contains("fd: ")));
}

/// A descriptor that is closed meanwhile is nothing to complain of.
#[test]
fn a_descriptor_that_there_is_not_is_no_trouble() {
    let proc = Proc::new("closed");
    fs::create_dir_all(proc.0.join("self/fd")).unwrap();
    let mut targets = Targets::under(&proc.0);
    assert_eq!((targets.of(7), targets.trouble()), (None, None));
}

#[cfg(all(unix, target_endian = "little"))]
mod links {
    use super::*;
    use std::os::unix::fs::symlink;

    const TCP: &str = "  sl  local_address\n   0: 0100007F:1F90 0100007F:1267 01 00000002:00000003 \
                       00:00000000 00000000 1000 0 31969 1 0000000000000000 20 4 30 10 -1\n";

    fn link(proc: &Proc, descriptor: i32, target: &str) {
        let folder = proc.0.join("self/fd");
        fs::create_dir_all(&folder).unwrap();
        symlink(target, folder.join(descriptor.to_string())).unwrap();
    }

    #[test]
    fn a_descriptor_is_looked_up_once_until_it_is_forgotten() {
        let proc = Proc::new("once");
        proc.write("self/net/tcp", TCP);
        link(&proc, 9, "socket:[31969]");
        let mut targets = Targets::under(&proc.0);
        assert_eq!(targets.of(9).as_deref(), Some("127.0.0.1:4711"));
        fs::remove_file(proc.0.join("self/fd/9")).unwrap();
        assert!(targets.is_connection(9), "from what was found before");
        link(&proc, 9, "pipe:[7]");
        targets.forget_descriptors();
        assert_eq!((targets.of(9).as_deref(), targets.is_connection(9)), (Some("pipe:[7]"), false));
        assert_eq!(targets.trouble(), None);
    }

    #[test]
    fn a_socket_without_tables_is_a_socket_and_the_table_is_named() {
        let proc = Proc::new("no-net");
        link(&proc, 9, "socket:[31969]");
        link(&proc, 10, "/dev/null");
        let mut targets = Targets::under(&proc.0);
        assert_eq!(targets.find(9).map(|target| target.kind()), Some("socket"));
        assert_eq!(targets.find(10).map(|target| target.kind()), Some("file"));
        let trouble = targets.trouble().expect("it is said");
        assert!(trouble.contains(&*proc.0.join("self/net/tcp").to_string_lossy()), "{trouble}");
        // A folder in the place of a table, and nothing but that.
        let proc = Proc::new("folder");
        link(&proc, 9, "socket:[31969]");
        for table in ["tcp", "udp", "unix"] {
            fs::create_dir_all(proc.0.join("self/net").join(table)).unwrap();
        }
        let mut targets = Targets::under(&proc.0);
        assert_eq!(targets.of(9).as_deref(), Some("socket:[31969]"));
        assert!(targets.trouble().is_some());
    }
}

#[cfg(target_endian = "little")]
#[test]
fn lines_are_read_as_the_kernel_writes_them() {
    let said = |socket: Socket| {
        let [local, peer] = [socket.local, socket.peer]
            .map(|address| address.map_or_else(String::new, |address| address.to_string()));
        let queues = (socket.received.unwrap_or(99), socket.unsent.unwrap_or(99));
        (format!("{local} → {peer}"), socket.state, queues)
    };
    let seen =
        |kind: Kind, text: &str| kind.parse(text).map(|(number, socket)| (number, said(socket)));
    let connected = "   0: 0100007F:1F90 0100007F:1267 01 00000010:00000003 00:00000000 00000000 \
                     1000 0 31969 1 0000000000000000 20 4 30 10 -1";
    let both = "127.0.0.1:8080 → 127.0.0.1:4711".to_owned();
    assert_eq!(seen(Kind::Tcp, connected), Some((31969, (both.clone(), "established", (3, 16)))));
    assert_eq!(seen(Kind::Udp, connected), Some((31969, (both, "connected", (3, 16)))));
    let listens = "   1: 00000000:0016 00000000:0000 0A 00000000:00000002 00:00000000 00000000 0 \
                   0 7 1";
    let all = (7, ("0.0.0.0:22 → ".to_owned(), "listens", (2, 0)));
    assert_eq!(seen(Kind::Tcp, listens), Some(all));
    let six = "0: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:1267 08 \
               0:0 00:0 0 1000 0 5 1";
    let six_said = ("[::1]:8080 → [::1]:4711".to_owned(), "closed by the peer", (0, 0));
    assert_eq!(seen(Kind::Tcp6, six), Some((5, six_said)));
    let unix = "0000000000000000: 00000002 00000000 00010000 0001 01 23 /run/x.sock";
    assert_eq!(seen(Kind::Unix, unix), Some((23, ("/run/x.sock → ".into(), "listens", (99, 99)))));
    let pair = "0000000000000000: 00000003 00000000 00000000 0001 03 24";
    assert_eq!(seen(Kind::Unix, pair), Some((24, (" → ".into(), "connected", (99, 99)))));
    for nothing in ["", "0: x y", "  sl  local_address rem_address", "Num RefCount Protocol Flags"]
    {
        for kind in [Kind::Tcp, Kind::Udp, Kind::Unix] {
            assert_eq!(seen(kind, nothing), None);
        }
    }
}
