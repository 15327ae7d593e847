//! Connections over links that lose, delay and cut, and hosts that fail.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::stream::{RECEIVE_CAPACITY, SEND_CAPACITY};
use super::*;
use crate::choices::Chance;

/// A network with its time.
pub(super) struct World {
    pub(super) network: Network,
    choices: Choices,
    now: Nanos,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let choices = Choices::new(seed, BTreeSet::new(), false, BTreeSet::new());
        Self { network: Network::new(), choices, now: 0 }
    }

    pub(super) fn with<R>(&mut self, call: impl FnOnce(&mut Network, &mut Moment) -> R) -> R {
        call(&mut self.network, &mut Moment { now: self.now, choices: &mut self.choices })
    }

    /// Handles all events of the next `length`.
    pub(super) fn pass(&mut self, length: Nanos) {
        let end = self.now + length;
        while let Some(at) = self.network.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.with(|network, moment| network.advance(moment));
        }
        self.now = end;
    }

    fn tcp(&mut self, host: HostId) -> SocketId {
        self.network.socket(host, Version::V4, Transport::Stream)
    }

    fn udp(&mut self, host: HostId, port: u16) -> SocketId {
        let id = self.network.socket(host, Version::V4, Transport::Datagram);
        self.network.bind(id, any(port), false, false).unwrap();
        id
    }

    fn listener(&mut self, host: HostId, backlog: i32) -> SocketId {
        let id = self.tcp(host);
        self.network.bind(id, any(80), true, false).unwrap();
        self.network.listen(id, backlog).unwrap();
        id
    }

    fn connect(&mut self, id: SocketId, to: SocketAddr) -> Result<(), Errno> {
        self.with(|network, moment| network.connect(moment, id, to))
    }

    fn accept(&mut self, id: SocketId) -> Result<SocketId, Errno> {
        self.with(|network, moment| network.accept(moment, id)).map(|(child, _)| child)
    }

    fn write(&mut self, id: SocketId, data: &[u8]) -> Result<usize, Errno> {
        self.with(|network, moment| network.write(moment, id, data))
    }

    fn read(&mut self, id: SocketId, length: usize) -> Result<Vec<u8>, Errno> {
        let mut into = vec![0; length];
        let count = self.with(|network, moment| network.read(moment, id, &mut into, false))?;
        into.truncate(count);
        Ok(into)
    }

    fn close(&mut self, id: SocketId) {
        self.with(|network, moment| network.close(moment, id, None));
    }
}

fn any(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)
}

struct Pair {
    world: World,
    hosts: [HostId; 2],
    listener: SocketId,
    address: SocketAddr,
    client: SocketId,
    server: SocketId,
}

fn hosts(seed: u64, link: Link) -> (World, HostId, HostId, SocketAddr) {
    let mut world = World::new(seed);
    let (a, b) = (world.network.add_host("a"), world.network.add_host("b"));
    world.network.change_links(|each| *each = link.clone());
    let address = SocketAddr::new(world.network.addresses(b)[0], 80);
    (world, a, b, address)
}

/// A connection from host a to host b.
fn pair(seed: u64, link: Link) -> Pair {
    let (mut world, a, b, address) = hosts(seed, link);
    let (listener, client) = (world.listener(b, 16), world.tcp(a));
    assert_eq!(world.connect(client, address), Err(libc::EINPROGRESS));
    world.pass(20 * SECOND);
    let server = world.accept(listener).unwrap();
    assert_eq!(world.connect(client, address), Ok(()));
    assert_eq!(world.connect(client, address), Err(libc::EISCONN));
    Pair { world, hosts: [a, b], listener, address, client, server }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Sends `data` from client to server, both as fast as they can. Returns what arrived within
/// `patience`.
fn send_all(pair: &mut Pair, data: &[u8], patience: Nanos) -> Vec<u8> {
    let (mut sent, mut received) = (0, Vec::new());
    let end = pair.world.now + patience;
    while received.len() < data.len() && pair.world.now < end {
        if let Ok(count) = pair.world.write(pair.client, &data[sent..]) {
            sent += count;
        }
        pair.world.pass(MILLISECOND);
        while let Ok(bytes) = pair.world.read(pair.server, 10_000) {
            assert!(!bytes.is_empty());
            received.extend(bytes);
        }
    }
    received
}

#[test]
fn bytes_arrive_in_order_and_both_sides_end() {
    let mut pair = pair(1, Link::default());
    let data = pattern(1_000_000);
    assert!(send_all(&mut pair, &data, 60 * SECOND) == data);
    pair.world.close(pair.client);
    pair.world.pass(SECOND);
    assert_eq!(pair.world.read(pair.server, 10), Ok(vec![]));
    pair.world.close(pair.server);
    pair.world.pass(100 * SECOND);
    let left = pair.world.network.sockets.iter().flatten().count();
    assert_eq!(
        (left, pair.world.network.connections.len(), pair.world.network.next_event()),
        (1, 0, None)
    );
}

#[test]
fn lost_segments_are_sent_again_and_arrive_in_order() {
    for seed in 0..20 {
        let link = Link { loss: Chance::one_in(6), cut: Chance::one_in(2), ..Link::default() };
        let mut pair = pair(seed, link);
        let data = pattern(300_000);
        assert!(send_all(&mut pair, &data, 900 * SECOND) == data, "seed {seed}");
    }
}

#[test]
fn bytes_arrive_after_a_partition_has_healed() {
    let mut pair = pair(2, Link::default());
    let [a, b] = pair.hosts;
    pair.world.network.link_mut(a, b).partitioned = true;
    let data = pattern(100_000);
    assert_eq!(send_all(&mut pair, &data, 5 * SECOND), []);
    pair.world.network.link_mut(a, b).partitioned = false;
    pair.world.pass(7 * SECOND);
    assert!(pair.world.read(pair.server, 100_000).unwrap() == data);
}

#[test]
fn a_partition_for_ever_ends_in_a_timeout() {
    let mut pair = pair(3, Link::default());
    let [a, b] = pair.hosts;
    pair.world.network.link_mut(b, a).partitioned = true;
    pair.world.write(pair.client, b"hello").unwrap();
    pair.world.pass(600 * SECOND);
    assert_eq!(pair.world.network.readiness(pair.client), OUT);
    pair.world.pass(600 * SECOND);
    assert_eq!(pair.world.network.readiness(pair.client), IN | OUT | ERR | HUP | RDHUP);
    assert_eq!(pair.world.write(pair.client, b"x"), Err(libc::ETIMEDOUT));
    assert_eq!(pair.world.write(pair.client, b"x"), Err(libc::EPIPE));
    assert_eq!(pair.world.read(pair.server, 10), Ok(b"hello".to_vec()));
}

#[test]
fn a_connect_that_nobody_answers_times_out_after_two_minutes() {
    let (mut world, a, b, address) = hosts(4, Link::default());
    world.network.power_off(b);
    let client = world.tcp(a);
    assert_eq!(world.connect(client, address), Err(libc::EINPROGRESS));
    world.pass(126 * SECOND);
    assert_eq!(world.network.readiness(client), 0);
    world.pass(2 * SECOND);
    assert_eq!(world.network.take_error(client), libc::ETIMEDOUT);
}

#[test]
fn a_crash_shows_as_an_end_or_as_a_reset_if_bytes_were_unread() {
    for unread in [false, true] {
        let mut pair = pair(5, Link::default());
        if unread {
            pair.world.write(pair.client, b"hello").unwrap();
            pair.world.pass(SECOND);
        }
        let host = pair.hosts[1];
        pair.world.with(|network, moment| network.crash(moment, host));
        pair.world.pass(SECOND);
        let read = pair.world.read(pair.client, 10);
        assert_eq!(read, if unread { Err(libc::ECONNRESET) } else { Ok(vec![]) });
        pair.world.listener(host, 1);
    }
}

#[test]
fn a_host_that_was_without_power_resets_its_old_connections() {
    let mut pair = pair(6, Link::default());
    let host = pair.hosts[1];
    pair.world.network.power_off(host);
    pair.world.write(pair.client, b"hello").unwrap();
    pair.world.pass(5 * SECOND);
    assert_eq!(pair.world.read(pair.client, 10), Err(libc::EAGAIN));
    pair.world.network.power_on(host);
    pair.world.pass(10 * SECOND);
    assert_eq!(pair.world.read(pair.client, 10), Err(libc::ECONNRESET));
    assert_eq!(pair.world.read(pair.client, 10), Ok(vec![]));
}

#[test]
fn a_full_accept_queue_makes_the_next_client_wait() {
    let (mut world, a, b, address) = hosts(7, Link::default());
    let listener = world.listener(b, 1);
    let clients: Vec<_> = (0..3).map(|_| world.tcp(a)).collect();
    for client in &clients {
        assert_eq!(world.connect(*client, address), Err(libc::EINPROGRESS));
        world.pass(5 * MILLISECOND);
    }
    let ready =
        |world: &World| clients.iter().map(|id| world.network.readiness(*id)).collect::<Vec<_>>();
    assert_eq!(ready(&world), [OUT, OUT, 0]);
    world.pass(2 * SECOND);
    assert_eq!(ready(&world), [OUT, OUT, 0]);
    world.accept(listener).unwrap();
    world.pass(SECOND * 2);
    assert_eq!(ready(&world), [OUT, OUT, OUT]);
}

#[test]
fn a_reader_that_stops_makes_the_writer_stop_and_go_on_later() {
    let mut pair = pair(8, Link::default());
    let data = pattern(4 * (SEND_CAPACITY + RECEIVE_CAPACITY));
    let mut sent = 0;
    for _ in 0..1_000 {
        sent += pair.world.write(pair.client, &data[sent..]).unwrap_or(0);
        pair.world.pass(10 * MILLISECOND);
    }
    assert_eq!(sent, SEND_CAPACITY + RECEIVE_CAPACITY);
    assert_eq!(pair.world.write(pair.client, &data[sent..]), Err(libc::EAGAIN));
    assert_eq!(pair.world.network.readiness(pair.client), 0);
    pair.world.pass(3_000 * SECOND);
    pair.world.network.take_touched();
    let mut received = pair.world.read(pair.server, data.len()).unwrap();
    pair.world.pass(SECOND);
    assert_eq!(pair.world.network.readiness(pair.client), OUT);
    assert!(pair.world.network.take_touched().contains(&(pair.client, OUT)));
    received.extend(send_all(&mut pair, &data[sent..], SECOND));
    received.truncate(data.len());
    assert!(data.starts_with(&received) && received.len() > sent);
}

#[test]
fn the_question_for_room_survives_a_lost_answer() {
    let mut pair = pair(9, Link::default());
    let [a, b] = pair.hosts;
    let data = pattern(SEND_CAPACITY + RECEIVE_CAPACITY);
    let mut sent = 0;
    while sent < data.len() {
        sent += pair.world.write(pair.client, &data[sent..]).unwrap_or(0);
        pair.world.pass(10 * MILLISECOND);
    }
    pair.world.network.link_mut(b, a).partitioned = true;
    let first = pair.world.read(pair.server, data.len()).unwrap();
    pair.world.pass(SECOND);
    pair.world.network.link_mut(b, a).partitioned = false;
    pair.world.pass(10 * SECOND);
    assert_eq!(first.len() + pair.world.read(pair.server, data.len()).unwrap().len(), data.len());
}

#[test]
fn held_packets_go_when_the_link_lets_them() {
    let mut pair = pair(10, Link::default());
    let [a, b] = pair.hosts;
    pair.world.network.link_mut(a, b).held = true;
    pair.world.write(pair.client, b"hello").unwrap();
    pair.world.pass(SECOND);
    assert_eq!(pair.world.read(pair.server, 10), Err(libc::EAGAIN));
    pair.world.network.link_mut(a, b).held = false;
    assert!(pair.world.network.next_event().unwrap() <= pair.world.now);
    pair.world.pass(0);
    assert_eq!(pair.world.read(pair.server, 10), Ok(b"hello".to_vec()));
}

#[test]
fn a_rate_makes_bytes_take_their_time() {
    let link = Link { bytes_per_second: Some(100_000), ..Link::default() };
    let mut pair = pair(11, link);
    let start = pair.world.now;
    let data = pattern(300_000);
    assert!(send_all(&mut pair, &data, 60 * SECOND) == data);
    let took = pair.world.now - start;
    assert!((3 * SECOND..4 * SECOND).contains(&took), "{took}");
}

#[test]
fn datagrams_are_lost_doubled_and_refused() {
    let link = Link { loss: Chance::one_in(4), duplicate: Chance::one_in(4), ..Link::default() };
    let (mut world, a, b, address) = hosts(12, link);
    let (from, to) = (world.udp(a, 9), world.udp(b, 80));
    let mut counts = [0; 3];
    for _ in 0..400 {
        world
            .with(|network, moment| network.send_to(moment, from, b"hello", Some(address)))
            .unwrap();
        world.pass(10 * MILLISECOND);
        let mut into = [0; 9];
        let mut receive =
            || world.with(|network, moment| network.receive_from(moment, to, &mut into, false));
        counts[(0..3).take_while(|_| receive().is_ok()).count()] += 1;
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
    world.network.change_links(|each| *each = Link::default());
    world.close(to);
    world.connect(from, address).unwrap();
    world.with(|network, moment| network.send_to(moment, from, b"hello", None)).unwrap();
    world.pass(SECOND);
    assert_eq!(world.network.readiness(from), OUT | ERR);
    let sent = world.with(|network, moment| network.send_to(moment, from, b"hello", None));
    assert_eq!(sent, Err(libc::ECONNREFUSED));
}

#[test]
fn an_ipv6_listener_takes_ipv4_unless_it_is_told_not_to() {
    for only in [false, true] {
        let (mut world, a, b, address) = hosts(13, Link::default());
        let listener = world.network.socket(b, Version::V6, Transport::Stream);
        world.network.set_only_v6(listener, only);
        world.network.bind(listener, "[::]:80".parse().unwrap(), false, false).unwrap();
        world.network.listen(listener, 5).unwrap();
        let client = world.tcp(a);
        world.connect(client, address).unwrap_err();
        world.pass(SECOND);
        assert_eq!(world.network.take_error(client), if only { libc::ECONNREFUSED } else { 0 });
        if !only {
            let peer = world.with(|network, moment| network.accept(moment, listener)).unwrap().1;
            assert_eq!(peer.to_string(), "[::ffff:10.0.0.1]:32768");
        }
    }
}

#[test]
fn an_address_that_nobody_has_is_unreachable() {
    let (mut world, a, ..) = hosts(14, Link::default());
    let (near, far) = (world.tcp(a), world.tcp(a));
    assert_eq!(world.connect(far, "8.8.8.8:80".parse().unwrap()), Err(libc::ENETUNREACH));
    assert_eq!(world.connect(near, "10.0.7.7:80".parse().unwrap()), Err(libc::EINPROGRESS));
    world.pass(4 * SECOND);
    assert_eq!(world.network.take_error(near), libc::EHOSTUNREACH);
}

#[test]
fn a_port_is_shared_as_linux_shares_it() {
    let mut pair = pair(15, Link::default());
    let host = pair.hosts[1];
    let bind = |world: &mut World, reuse| {
        let id = world.tcp(host);
        let result = world.network.bind(id, any(80), reuse, false);
        (id, result)
    };
    assert_eq!(bind(&mut pair.world, true).1, Err(libc::EADDRINUSE));
    pair.world.close(pair.listener);
    pair.world.close(pair.server);
    pair.world.pass(SECOND);
    pair.world.close(pair.client);
    pair.world.pass(SECOND);
    // The connection is in its last minute.
    assert_eq!(bind(&mut pair.world, false).1, Err(libc::EADDRINUSE));
    assert_eq!(bind(&mut pair.world, true).1, Ok(()));
    let client = pair.world.tcp(pair.hosts[0]);
    assert_eq!(pair.world.connect(client, pair.address), Err(libc::EINPROGRESS));
}

#[test]
fn a_new_connection_outlives_the_last_minute_of_the_old_one() {
    let (mut world, a, b, address) = hosts(18, Link::default());
    let listener = world.listener(b, 16);
    for last in [false, true] {
        let client = world.tcp(a);
        world.network.bind(client, any(5_555), true, false).unwrap();
        assert_eq!(world.connect(client, address), Err(libc::EINPROGRESS));
        world.pass(SECOND);
        let server = world.accept(listener).unwrap();
        if last {
            world.pass(200 * SECOND);
            world.write(client, b"hello").unwrap();
            world.pass(SECOND);
            assert_eq!(world.read(server, 10), Ok(b"hello".to_vec()));
        }
        world.close(client);
        world.close(server);
        world.pass(SECOND);
    }
}

/// The sockets on which something happened, by the time.
type Trace = Vec<(Nanos, Vec<(SocketId, u32)>)>;

/// Everything that can be seen of a run with all kinds of trouble.
fn trace(seed: u64) -> (Trace, u64) {
    let link = Link { loss: Chance::one_in(5), ..Link::default() };
    let mut pair = pair(seed, link);
    let data = pattern(50_000);
    let (mut seen, mut sent) = (Vec::new(), 0);
    for _ in 0..2_000 {
        sent += pair.world.write(pair.client, &data[sent..]).unwrap_or(0);
        let _ = pair.world.read(pair.server, 3_000);
        let Some(at) = pair.world.network.next_event() else { break };
        let wait = at.saturating_sub(pair.world.now);
        pair.world.pass(wait);
        seen.push((pair.world.now, pair.world.network.take_touched()));
    }
    (seen, pair.world.choices.hash())
}

#[test]
fn the_same_seed_gives_the_same_events() {
    assert!(trace(16) == trace(16));
    assert!(trace(16) != trace(17));
}

/// One random call or fault on hosts that are all connected.
fn disturb(
    world: &mut World,
    draw: &mut crate::choices::Draw,
    open: &mut Vec<SocketId>,
    hosts: &[HostId],
) {
    let mut below = |bound: usize| draw.below(bound as u64) as usize;
    let (host, other) = (hosts[below(hosts.len())], hosts[below(hosts.len())]);
    let (action, i) = (below(40), if open.is_empty() { 0 } else { below(open.len()) });
    let to = SocketAddr::new(world.network.addresses(other)[0], 80);
    match (action, open.get(i).copied()) {
        (0..4, _) => {
            let id = world.tcp(host);
            let _ = world.connect(id, to);
            open.push(id);
        }
        (4, _) => {
            let id = world.tcp(host);
            let _ = world.network.bind(id, any(80), true, false);
            let _ = world.network.listen(id, 2);
            open.push(id);
        }
        (5..12, Some(id)) => open.extend(world.accept(id)),
        (12..20, Some(id)) => drop(world.write(id, &vec![1; below(90_000)])),
        (20..28, Some(id)) => drop(world.read(id, below(90_000))),
        (28..30, Some(id)) => {
            let _ = world.with(|network, moment| network.shutdown(moment, id, false, true));
        }
        (30..34, Some(id)) => {
            open.swap_remove(i);
            world.close(id);
        }
        (34, _) => world.network.link_mut(host, other).partitioned = below(2) == 0,
        (35, _) => world.network.link_mut(host, other).held = below(2) == 0,
        (36, _) if below(4) == 0 => {
            open.retain(|id| world.network.at(*id).host != host);
            world.with(|network, moment| network.crash(moment, host));
        }
        (37, _) if below(4) == 0 => {
            open.retain(|id| world.network.at(*id).host != host);
            world.network.power_off(host);
            world.network.power_on(host);
        }
        _ => {}
    }
    world.pass([MILLISECOND, 10 * MILLISECOND, SECOND][below(3)]);
}

#[test]
fn nothing_is_left_after_any_trouble() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        let hosts = ["a", "b", "c"].map(|name| world.network.add_host(name));
        let link = Link { loss: Chance::one_in(8), ..Link::default() };
        world.network.change_links(|each| *each = link.clone());
        let mut draw =
            world.with(|_, moment| moment.choices.draw(crate::choices::Kind::Program, seed));
        let mut open = Vec::new();
        for _ in 0..600 {
            disturb(&mut world, &mut draw, &mut open, &hosts);
        }
        world.network.change_links(|each| *each = Link::default());
        for host in hosts {
            world.with(|network, moment| network.crash(moment, host));
        }
        world.pass(2_000 * SECOND);
        let network = &world.network;
        let left = network.sockets.iter().flatten().count();
        assert_eq!(
            (left, network.ports.len(), network.connections.len()),
            (0, 0, 0),
            "seed {seed}"
        );
        assert_eq!(network.next_event(), None);
    }
}
