//! Compares the model with the kernel that the test runs on.
//!
//! A script is a random sequence of socket calls. Each call goes to the model and, on a socket with
//! `O_NONBLOCK` on an address of 127.0.0.0/8, to the kernel. Both come to rest, and then the
//! results, the bits of `poll`, the addresses and the number of unread bytes have to be equal. In
//! half of the scripts all sockets are registered with an edge-triggered epoll as well, and the
//! events since the last call have to be equal.
//!
//! The kernel gets two seconds, on a machine that may be busy, before something counts as a
//! difference. Each script has addresses of its own, so what the kernel keeps of an old script
//! cannot disturb a new one.
//!
//! Differences that we keep, and that scripts therefore avoid:
//!
//! - The sizes of buffers. Scripts leave less than 16 KiB unread; back pressure has a test of its own.
//! - Which free port a socket gets. Ports from 10,000 on are equal if both sides have one.
//! - A connection that gets no answer repeats its SYN at other times: Linux 6.5 and later repeat it each
//!   second at first. Scripts end before that, and a script that takes longer is given up.
//! - A TCP socket that connects to itself, and two that connect to each other at once: the model refuses.
//! - Delayed acknowledgements: the kernel may acknowledge a FIN 40 ms later than the model, and the event
//!   that tells the sender comes as late. One such event after each shutdown is left out.
//! - An IPv6 socket that fails to connect to an IPv4 address and then tries an IPv6 address: Linux gets no
//!   answer.
//! - An IPv6 socket with an IPv6 address that sends to an IPv4 address: Linux sends from 127.0.0.6.
//! - `connect` with `AF_UNSPEC` on an IPv6 UDP socket: Linux forgets the peer, but goes on to drop what
//!   others send.
//! - A second `bind` after a connection has ended: Linux allows it if the port was not chosen by the program.

mod kernel;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

use super::tests::World;
use super::*;
use crate::choices::{Draw, Kind, mix};
use kernel::{Epoll, Real};

/// All that a program can wait for.
const MASK: u32 = IN | OUT | RDHUP | ERR | HUP;
/// How long the kernel may take for what the model has done.
const PATIENCE: Duration = Duration::from_secs(2);
/// A script that has taken longer is given up, because the kernel repeats a SYN after a second. A difference
/// counts if it was there before.
const LONGEST_SCRIPT: Duration = Duration::from_millis(800);
/// A kind of script runs for this long at most, once it has come to its end this often.
const LONGEST: Duration = Duration::from_secs(8);
const FEWEST: u64 = 200;
/// Fixed ports of scripts are below, those that the kernel picks are above.
const CHOSEN: u16 = 10_000;

/// What a call returned, as text, so that all calls have the same type.
type Outcome = Result<String, Errno>;

struct Both {
    model: SocketId,
    real: Real,
    transport: Transport,
    version: Version,
    /// An IPv6 socket has tried to connect to an IPv4 address.
    tried_v4: bool,
}

struct Script {
    world: World,
    host: HostId,
    draw: Draw,
    transport: Transport,
    sockets: Vec<Both>,
    epoll: Option<Epoll>,
    /// Model sockets that were registered since events were last taken.
    added: Vec<SocketId>,
    /// Sockets whose FIN the kernel may acknowledge later than the model (see the header).
    late: BTreeSet<SocketId>,
    addresses: [Ipv4Addr; 2],
    wildcard_port: u16,
    /// Bytes that may still be written.
    budget: usize,
    log: Vec<String>,
    begun: Instant,
    /// The sides differ, but that was found too late to prove anything.
    is_given_up: bool,
}

/// Ports that no script chose count as equal.
fn blurred(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port().min(32_768))
}

/// Whether the kernel has nothing left of earlier scripts on this port.
fn is_free(port: u16, transport: Transport) -> bool {
    let real = Real::new(Version::V6, transport);
    real.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &0);
    real.bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port), false).is_ok()
}

impl Script {
    fn new(seed: u64, base: u32, transport: Transport) -> Self {
        let mut world = World::new(seed);
        let host = world.network.add_host("here");
        let draw = world.with(|_, moment| moment.choices.draw(Kind::Program, seed));
        // 127.1.0.0 and above, two addresses for each script.
        let number = (base + seed as u32 * 2) % 0x7e_0000;
        let addresses = [0, 1].map(|i| Ipv4Addr::from_bits(0x7f01_0000 + number + i));
        let epoll = (seed % 2 == 1).then(Epoll::new);
        let ports = (0..20_000).map(|i| CHOSEN + ((base / 2 + seed as u32 + i) % 20_000) as u16);
        let wildcard_port =
            ports.into_iter().find(|port| is_free(*port, transport)).expect("a port is free");
        Self {
            world,
            host,
            draw,
            transport,
            sockets: Vec::new(),
            epoll,
            added: Vec::new(),
            late: BTreeSet::new(),
            addresses,
            wildcard_port,
            budget: 16_000,
            log: Vec::new(),
            begun: Instant::now(),
            is_given_up: false,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.draw.below(bound as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn any_socket(&mut self) -> usize {
        self.below(self.sockets.len())
    }

    fn add(&mut self, model: SocketId, real: Real, version: Version) {
        if let Some(epoll) = &self.epoll {
            epoll.add(&real, model);
            self.added.push(model);
        }
        self.sockets.push(Both {
            model,
            real,
            transport: self.transport,
            version,
            tried_v4: false,
        });
    }

    fn open(&mut self) {
        let version = if self.one_in(5) { Version::V6 } else { Version::V4 };
        let model = self.world.network.socket(self.host, version, self.transport);
        let real = Real::new(version, self.transport);
        let only_v6 = version == Version::V6 && self.one_in(3);
        if version == Version::V6 {
            self.world.network.set_only_v6(model, only_v6);
            real.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &i32::from(only_v6));
        }
        self.add(model, real, version);
        self.log.push(format!("#{}: socket {version:?}, only {only_v6}", self.sockets.len() - 1));
    }

    /// An address that a script binds or connects to.
    fn address(&mut self, version: Version, to: bool) -> SocketAddr {
        let wildcard = self.one_in(5);
        let ip = match self.below(12) {
            0 if !to => Ipv4Addr::new(192, 0, 2, 1),
            1 | 2 => self.addresses[1],
            _ => self.addresses[0],
        };
        let mut address =
            SocketAddr::new(IpAddr::V4(ip), if self.one_in(4) { 7_002 } else { 7_001 });
        if wildcard {
            // The wildcard overlaps with the addresses of all scripts, so the port has to be this
            // script's own.
            address = SocketAddr::new(
                IpAddr::V4(if to { ip } else { Ipv4Addr::UNSPECIFIED }),
                self.wildcard_port,
            );
        }
        if !to && self.one_in(6) {
            address.set_port(0);
        }
        if version == Version::V6 && wildcard && self.one_in(2) {
            let ip = if to && self.one_in(2) { Ipv6Addr::LOCALHOST } else { Ipv6Addr::UNSPECIFIED };
            address.set_ip(IpAddr::V6(ip));
        } else if wildcard && to && self.one_in(4) {
            address.set_ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        }
        if self.one_in(40) { address } else { shown(version, address) }
    }

    /// Compares what the two sides returned.
    fn same(&mut self, call: String, model: Outcome, kernel: Outcome) {
        self.log.push(format!("{call} = {model:?}"));
        if model != kernel {
            self.differ(&format!("the kernel returned {kernel:?}"));
        }
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() > LONGEST_SCRIPT
    }

    fn differ(&mut self, what: &str) {
        if !self.is_late() {
            self.fail(what);
        }
        self.is_given_up = true;
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{}\n{what}", self.log.join("\n"))
    }

    fn step(&mut self) {
        let i = self.any_socket();
        match (self.transport, self.below(100)) {
            (_, 0..5) if self.sockets.len() < 8 => self.open(),
            (_, 5..10) => self.bind(i),
            (Transport::Stream, 10..15) => self.listen(i),
            (Transport::Stream, 15..30) => self.connect(i),
            (Transport::Stream, 30..42) => self.accept(i),
            (Transport::Stream, 42..60) => self.write(i),
            (Transport::Stream, 60..78) => self.read(i),
            (Transport::Datagram, 10..15) => self.disconnect(i),
            (Transport::Datagram, 15..25) => self.connect(i),
            (Transport::Datagram, 25..55) => self.send_to(i),
            (Transport::Datagram, 55..78) => self.receive_from(i),
            (_, 78..88) => self.shutdown(i),
            (_, 88..95) => self.close(i),
            (_, 95..100) => self.take_error(i),
            _ => {}
        }
    }

    fn bind(&mut self, i: usize) {
        let (address, reuse) = (self.address(self.sockets[i].version, false), self.one_in(2));
        let socket = &self.sockets[i];
        // Linux allows a new `bind` to a socket whose connection has ended (see the header).
        if self.world.network.local_address(socket.model).port() != 0 && !self.is_bound(i) {
            return;
        }
        let model = self.world.network.bind(socket.model, address, reuse, false);
        let kernel = socket.real.bind(address, reuse);
        // A failed `bind` leaves the kernel's options changed.
        self.world.network.set_reuse(socket.model, reuse, false);
        self.same(format!("#{i}: bind {address} {reuse}"), text(model), text(kernel));
    }

    fn is_bound(&self, i: usize) -> bool {
        let socket = self.world.network.at(self.sockets[i].model);
        !matches!(&socket.body, Body::Stream(stream) if stream.state == State::Closed && !socket.keeps_port)
    }

    fn listen(&mut self, i: usize) {
        let backlog = if self.one_in(2) { 1 } else { 5 };
        let socket = &self.sockets[i];
        let model = self.world.network.listen(socket.model, backlog);
        let kernel = socket.real.listen(backlog);
        self.same(format!("#{i}: listen {backlog}"), text(model), text(kernel));
    }

    /// Whether an IPv6 socket with an IPv6 address would send to an IPv4 address (see the header).
    fn mixes_versions(&self, i: usize, to: SocketAddr) -> bool {
        let own = self.world.network.at(self.sockets[i].model).ip;
        own.is_some_and(|ip| ip.is_ipv6()) && plain(to).is_ipv4()
    }

    fn connect(&mut self, i: usize) {
        let to = self.address(self.sockets[i].version, true);
        // A TCP socket that connects to itself is left out (see the header).
        if self.world.network.local_address(self.sockets[i].model).port() == to.port() {
            return;
        }
        if self.mixes_versions(i, to) {
            return;
        }
        let socket = &mut self.sockets[i];
        let mapped = socket.version == Version::V6 && to.ip() != plain(to).ip();
        if self.transport == Transport::Stream && socket.tried_v4 && !mapped {
            return;
        }
        socket.tried_v4 |= mapped;
        let socket = &self.sockets[i];
        let model = self.world.with(|network, moment| network.connect(moment, socket.model, to));
        let kernel = socket.real.connect(to);
        self.same(format!("#{i}: connect {to}"), text(model), text(kernel));
    }

    fn disconnect(&mut self, i: usize) {
        if self.sockets[i].version == Version::V6 {
            return;
        }
        self.world.network.disconnect(self.sockets[i].model);
        self.sockets[i].real.disconnect();
        self.log.push(format!("#{i}: disconnect"));
    }

    fn accept(&mut self, i: usize) {
        let socket = &self.sockets[i];
        let version = socket.version;
        let model = self.world.with(|network, moment| network.accept(moment, socket.model));
        let kernel = socket.real.accept();
        let texts = (
            text(model.map(|(_, from)| blurred(from))),
            text(kernel.as_ref().map(|(_, from)| blurred(*from)).map_err(|error| *error)),
        );
        if let (Ok((model, _)), Ok((real, _))) = (model, kernel) {
            if self.world.network.at(model).shut.write {
                self.late.insert(model);
            }
            self.add(model, real, version);
        }
        self.same(format!("#{i}: accept"), texts.0, texts.1);
    }

    fn data(&mut self) -> Vec<u8> {
        let length = [0, 1, 100, 3_000][self.below(4)].min(self.budget);
        self.budget -= length;
        let first = self.below(256);
        (0..length).map(|i| (first + i) as u8).collect()
    }

    fn room(&mut self) -> Vec<u8> {
        vec![0; [0, 1, 50, 20_000][self.below(4)]]
    }

    fn write(&mut self, i: usize) {
        let data = self.data();
        let socket = &self.sockets[i];
        let model = self.world.with(|network, moment| network.write(moment, socket.model, &data));
        let kernel = socket.real.send(&data, None);
        self.same(format!("#{i}: write {}", data.len()), text(model), text(kernel));
    }

    fn read(&mut self, i: usize) {
        let (mut into, mut other, peek) = (self.room(), self.room(), self.one_in(5));
        other.resize(into.len(), 0);
        let socket = &self.sockets[i];
        let model =
            self.world.with(|network, moment| network.read(moment, socket.model, &mut into, peek));
        let kernel = socket.real.read(&mut other, peek);
        let call = format!("#{i}: read {} {}", into.len(), if peek { "peek" } else { "" });
        self.same(call, text(model), text(kernel));
        if into != other {
            self.differ("the bytes differ");
        }
    }

    fn send_to(&mut self, i: usize) {
        let mut data = self.data();
        if self.one_in(50) {
            data.resize([65_507, 65_508, 70_000][self.below(3)], 1);
        }
        let to = self.one_in(2).then(|| self.address(self.sockets[i].version, true));
        if to.is_some_and(|to| self.mixes_versions(i, to)) {
            return;
        }
        let socket = &self.sockets[i];
        let model =
            self.world.with(|network, moment| network.send_to(moment, socket.model, &data, to));
        let kernel = socket.real.send(&data, to);
        self.same(format!("#{i}: send {} {to:?}", data.len()), text(model), text(kernel));
    }

    fn receive_from(&mut self, i: usize) {
        let (mut into, mut other, peek) = (self.room(), self.room(), self.one_in(5));
        other.resize(into.len(), 0);
        let socket = &self.sockets[i];
        let model = self
            .world
            .with(|network, moment| network.receive_from(moment, socket.model, &mut into, peek));
        let kernel = socket.real.receive_from(&mut other, peek);
        let [model, kernel] =
            [model, kernel].map(|result| text(result.map(|(a, b, from)| (a, b, blurred(from)))));
        self.same(format!("#{i}: receive {} {peek}", into.len()), model, kernel);
        if into != other {
            self.differ("the bytes differ");
        }
    }

    fn shutdown(&mut self, i: usize) {
        let (read, write) =
            [(true, false), (false, true), (false, true), (true, true)][self.below(4)];
        let socket = &self.sockets[i];
        let model =
            self.world.with(|network, moment| network.shutdown(moment, socket.model, read, write));
        let kernel = socket.real.shutdown(read, write);
        if write {
            self.late.insert(socket.model);
        }
        self.same(format!("#{i}: shutdown {read} {write}"), text(model), text(kernel));
    }

    fn close(&mut self, i: usize) {
        let linger = self.one_in(4).then_some(0);
        let Both { model, real, .. } = self.sockets.swap_remove(i);
        self.late.remove(&model);
        if linger.is_some() {
            let value = libc::linger { l_onoff: 1, l_linger: 0 };
            real.set(libc::SOL_SOCKET, libc::SO_LINGER, &value);
        }
        self.world.with(|network, moment| network.close(moment, model, linger));
        drop(real);
        self.log.push(format!("#{i}: close {linger:?}, and the last number becomes #{i}"));
        if self.sockets.is_empty() {
            self.open();
        }
    }

    fn take_error(&mut self, i: usize) {
        let model = self.world.network.take_error(self.sockets[i].model);
        let kernel = self.sockets[i].real.take_error();
        self.same(format!("#{i}: SO_ERROR"), text(Ok(model)), text(Ok(kernel)));
    }

    /// Lets both sides come to rest and compares all that can be seen without a change.
    fn rest(&mut self) {
        self.world.pass(MILLISECOND);
        let states: Vec<String> =
            self.sockets.iter().map(|socket| self.model_state(socket)).collect();
        let events = self.model_events();
        let mut kernel_events = BTreeMap::new();
        let (start, mut tries) = (Instant::now(), 0);
        let mut in_time = Vec::new();
        loop {
            if let Some(epoll) = &self.epoll {
                epoll.take(&mut kernel_events);
            }
            let (late, network) = (&mut self.late, &self.world.network);
            kernel_events.retain(|id, bits| {
                let known = events.contains_key(id) || *bits != network.readiness(*id);
                known || !late.remove(id)
            });
            let kernel: Vec<String> =
                self.sockets.iter().map(|socket| self.kernel_state(socket)).collect();
            if kernel == states && (self.epoll.is_none() || kernel_events == events) {
                return;
            }
            if !self.is_late() {
                in_time.clone_from(&kernel);
            }
            tries += 1;
            if start.elapsed() > PATIENCE && tries > 100 {
                if kernel != in_time {
                    self.is_given_up = true;
                    return;
                }
                let list = |states: &[String]| {
                    let lines = states.iter().zip(&self.sockets).enumerate();
                    lines
                        .map(|(i, (state, both))| format!("  #{i} {:?} {state}\n", both.model))
                        .collect::<String>()
                };
                let (model, kernel) = (list(&states), list(&kernel));
                self.fail(&format!(
                    "model {events:x?}\n{model}kernel {kernel_events:x?}\n{kernel}"
                ));
            }
            std::thread::yield_now();
        }
    }

    fn model_events(&mut self) -> BTreeMap<SocketId, u32> {
        let touched = self.world.network.take_touched();
        let added = self.added.drain(..).map(|id| (id, MASK));
        let events = touched.into_iter().chain(added).filter(|(_, bits)| bits & MASK != 0);
        events
            .map(|(id, _)| (id, self.world.network.readiness(id)))
            .filter(|(_, bits)| *bits != 0)
            .collect()
    }

    fn model_state(&self, socket: &Both) -> String {
        let network = &self.world.network;
        let unread = if network.is_listening(socket.model) {
            None
        } else {
            Some(network.unread(socket.model))
        };
        let addresses = (network.local_address(socket.model), network.peer_address(socket.model));
        state_text(network.readiness(socket.model), unread, addresses, socket)
    }

    fn kernel_state(&self, socket: &Both) -> String {
        let real = &socket.real;
        state_text(
            real.readiness(),
            real.unread(),
            (real.local_address(), real.peer_address()),
            socket,
        )
    }
}

fn state_text(
    bits: u32,
    unread: Option<usize>,
    (own, peer): (SocketAddr, Option<SocketAddr>),
    socket: &Both,
) -> String {
    let names = [(IN, "in"), (OUT, "out"), (RDHUP, "rdhup"), (ERR, "err"), (HUP, "hup")];
    let bits: Vec<&str> =
        names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    let addresses = (blurred(own), peer.map(blurred));
    format!("{:?} {:?} {bits:?} unread {unread:?} {addresses:?}", socket.transport, socket.version)
}

fn text<T: std::fmt::Debug>(result: Result<T, Errno>) -> Outcome {
    result.map(|value| format!("{value:?}"))
}

/// Runs a script. Returns whether it has come to its end in time.
fn run_script(seed: u64, base: u32, transport: Transport) -> bool {
    let mut script = Script::new(seed, base, transport);
    script.open();
    script.open();
    if transport == Transport::Stream && !seed.is_multiple_of(8) {
        prepare(&mut script);
    }
    script.rest();
    for _ in 0..40 {
        if script.is_given_up || script.is_late() {
            return false;
        }
        script.step();
        script.rest();
    }
    !script.is_given_up
}

/// Runs `count` scripts, or as many as a busy machine runs in time.
fn run_scripts(transport: Transport, count: u64) {
    let start = Instant::now();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // A place of its own for this run: the kernel still knows the connections of the last minute.
    let base = (mix(since.as_nanos() as u64 ^ transport as u64) as u32 % 0x70_0000) & !1;
    let mut ended = 0;
    for seed in 0..count {
        if ended >= FEWEST && start.elapsed() >= LONGEST {
            break;
        }
        ended += u64::from(run_script(seed, base, transport));
    }
    assert!(ended >= FEWEST, "only {ended} scripts have come to their end in time");
}

/// Makes socket 0 a listener and connects socket 1 to it.
fn prepare(script: &mut Script) {
    let at = SocketAddr::new(IpAddr::V4(script.addresses[0]), 7_001);
    let calls: [fn(&mut Script, SocketAddr); 4] = [
        |script, at| {
            let own = shown(script.sockets[0].version, at);
            for socket in script.sockets.iter().filter(|socket| socket.version == Version::V6) {
                script.world.network.set_only_v6(socket.model, false);
                socket.real.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &0);
            }
            script.world.network.bind(script.sockets[0].model, own, true, false).unwrap();
            script.sockets[0].real.bind(own, true).unwrap();
        },
        |script, _| script.listen(0),
        |script, at| {
            let (model, to) = (script.sockets[1].model, shown(script.sockets[1].version, at));
            let _ = script.world.with(|network, moment| network.connect(moment, model, to));
            let _ = script.sockets[1].real.connect(to);
            script.sockets[1].tried_v4 = true;
        },
        |script, _| script.accept(0),
    ];
    for call in calls {
        call(script, at);
        script.rest();
    }
    script.log.push("#0: bind, listen; #1: connect; #2: accepted".to_owned());
}

/// Whether this process runs the one test `name` and nothing else. If it does not, it starts one
/// that does, and fails when that fails.
///
/// Other tests start processes. Between its birth and its program, a process has copies of all
/// descriptors, and the kernel keeps sockets open that a script has closed.
fn is_alone(name: &str) -> bool {
    const VARIABLE: &str = "LITEN_SIM_ALONE";
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let test = format!("network::compare::{name}");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test.as_str(), "--exact", "--nocapture"]).env(VARIABLE, "1");
    assert!(command.status().unwrap().success(), "{test} failed, see above");
    false
}

#[test]
fn random_tcp_scripts_do_what_the_kernel_does() {
    if !is_alone("random_tcp_scripts_do_what_the_kernel_does") {
        return;
    }
    run_scripts(Transport::Stream, 4_000);
}

#[test]
fn random_udp_scripts_do_what_the_kernel_does() {
    if !is_alone("random_udp_scripts_do_what_the_kernel_does") {
        return;
    }
    run_scripts(Transport::Datagram, 4_000);
}

/// Writes until neither side takes more. Returns how much each one took.
fn fill(script: &mut Script, data: &[u8]) -> [usize; 2] {
    let mut sent = [0, 0];
    for _ in 0..200 {
        let model = script.sockets[1].model;
        let part = &data[sent[0]..];
        sent[0] +=
            script.world.with(|network, moment| network.write(moment, model, part)).unwrap_or(0);
        sent[1] += script.sockets[1].real.send(&data[sent[1]..], None).unwrap_or(0);
        script.world.pass(MILLISECOND);
        std::thread::sleep(Duration::from_micros(100));
    }
    sent
}

/// Reads until there is nothing left. Returns what came.
fn drain(script: &mut Script) -> [Vec<u8>; 2] {
    let mut received = [Vec::new(), Vec::new()];
    let mut into = vec![0; 50_000];
    for _ in 0..500 {
        let model = script.sockets[2].model;
        let count =
            script.world.with(|network, moment| network.read(moment, model, &mut into, false));
        received[0].extend(&into[..count.unwrap_or(0)]);
        let count = script.sockets[2].real.read(&mut into, false);
        received[1].extend(&into[..count.unwrap_or(0)]);
        script.world.pass(MILLISECOND);
        std::thread::sleep(Duration::from_micros(100));
    }
    received
}

#[test]
fn a_full_connection_stops_and_goes_on_as_in_the_kernel() {
    if !is_alone("a_full_connection_stops_and_goes_on_as_in_the_kernel") {
        return;
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // An odd seed: with epoll.
    let mut script =
        Script::new(1, (mix(since.as_nanos() as u64) as u32 % 0x70_0000) & !1, Transport::Stream);
    script.open();
    script.open();
    prepare(&mut script);
    let data: Vec<u8> = (0..40_000_000_u32).map(|i| (i / 7) as u8).collect();
    for _ in 0..3 {
        let sent = fill(&mut script, &data);
        assert!(sent.iter().all(|count| *count < data.len()), "{sent:?}");
        let state = |script: &Script| {
            let both = &script.sockets[1];
            [script.world.network.readiness(both.model), both.real.readiness()]
        };
        assert_eq!(state(&script), [0, 0]);
        let mut events = BTreeMap::new();
        let epoll = script.epoll.take().unwrap();
        script.model_events();
        epoll.take(&mut events);
        events.clear();
        let received = drain(&mut script);
        for (received, sent) in received.iter().zip(sent) {
            assert!(received.len() == sent && data.starts_with(received));
        }
        assert_eq!(state(&script), [OUT, OUT]);
        epoll.take(&mut events);
        script.epoll = Some(epoll);
        // The reader's new bytes and the writer's new room are events on both sides.
        let model = script.model_events();
        let (writer, reader) = (script.sockets[1].model, script.sockets[2].model);
        for events in [model, events] {
            assert_eq!(events.get(&writer), Some(&OUT));
            assert!(events.contains_key(&reader));
        }
    }
}
