//! What a scenario does to the links between hosts.

use std::time::Duration;

use super::{Sim, nanos};
use crate::choices::Chance;
use crate::network::Link;
use crate::world::{World, lock};

impl Sim {
    /// Loses every packet between two hosts, until [`heal`](Self::heal).
    ///
    /// # Panics
    ///
    /// When there is no host of one of the names.
    #[track_caller]
    pub fn partition(self, one: &str, other: &str) {
        self.partition_one_way(one, other);
        self.partition_one_way(other, one);
    }

    /// Loses every packet on the way from one host to another.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    #[track_caller]
    pub fn partition_one_way(self, from: &str, to: &str) {
        let mut world = lock();
        if world.fault(format!("partition {from} → {to}")) {
            world.link(from, to, |link| link.partitioned = true);
        }
    }

    /// Ends what [`partition`](Self::partition) did, in both directions.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    #[track_caller]
    pub fn heal(self, one: &str, other: &str) {
        let mut world = lock();
        world.record(format!("heal {one} ↔ {other}"));
        world.link(one, other, |link| link.partitioned = false);
        world.link(other, one, |link| link.partitioned = false);
    }

    /// Loses about so many packets of each link: 0.01 is one in a hundred.
    ///
    /// # Panics
    ///
    /// When `share` is not between 0 and 1.
    pub fn set_loss(self, share: f64) {
        let chance = chance_of(share);
        let mut world = lock();
        world.record(format!("loss {share}"));
        world.network.change_links(|link| link.loss = chance);
    }

    /// Delivers about so many datagrams of each link twice. TCP never shows such a copy to a
    /// program.
    ///
    /// # Panics
    ///
    /// When `share` is not between 0 and 1.
    pub fn set_duplicates(self, share: f64) {
        let chance = chance_of(share);
        let mut world = lock();
        world.record(format!("duplicates {share}"));
        world.network.change_links(|link| link.duplicate = chance);
    }

    /// Lets each link carry so many bytes in a second, in each direction.
    pub fn set_bandwidth(self, bytes_per_second: u64) {
        let mut world = lock();
        world.record(format!("bandwidth {bytes_per_second} bytes/s"));
        world.network.change_links(|link| link.bytes_per_second = Some(bytes_per_second));
    }

    /// Keeps the packets back that one host sends to another, until [`release`](Self::release).
    /// None is lost.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    #[track_caller]
    pub fn hold(self, from: &str, to: &str) {
        let mut world = lock();
        if world.fault(format!("hold {from} → {to}")) {
            world.link(from, to, |link| link.held = true);
        }
    }

    /// Lets the packets go that [`hold`](Self::hold) has kept back.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    #[track_caller]
    pub fn release(self, from: &str, to: &str) {
        let mut world = lock();
        world.record(format!("release {from} → {to}"));
        world.link(from, to, |link| link.held = false);
    }

    /// Lets each packet travel for at least `least`, and now and then for up to `most`.
    ///
    /// # Panics
    ///
    /// When `most` is less than `least`.
    pub fn set_latency(self, least: Duration, most: Duration) {
        assert!(least <= most, "liten-sim: the longest latency is less than the shortest");
        let mut world = lock();
        world.record(format!("latency {least:?} to {most:?}"));
        let (least, jitter) = (nanos(least), nanos(most - least));
        world.network.change_links(|link| {
            link.latency = least;
            link.jitter = jitter;
        });
    }
}

impl World {
    #[track_caller]
    fn link(&mut self, from: &str, to: &str, change: impl FnOnce(&mut Link)) {
        let (from, to) = (self.find(from), self.find(to));
        let (from, to) = (self.hosts[from].network, self.hosts[to].network);
        change(self.network.link_mut(from, to));
    }
}

/// A share of all as a chance. One that is not zero stays so.
///
/// # Panics
///
/// When it is no share.
fn chance_of(share: f64) -> Chance {
    assert!((0.0..=1.0).contains(&share), "liten-sim: a share is between 0 and 1");
    Chance((share * f64::from(Chance::ALWAYS.0)).ceil() as u32)
}
