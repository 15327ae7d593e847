//! What happens later: packets on their way, and timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Nanos};

/// When an event is due, a number that keeps equal times in their order, and its slot.
pub(super) type EventKey = (Nanos, u64, usize);

/// Events by their times. The first of the heap is never a removed one.
#[derive(Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<EventKey>>,
    /// Each with the number of its key. A slot is used again when its key has left the heap.
    slots: Vec<Option<(u64, Event)>>,
    free: Vec<usize>,
    made: u64,
}

impl Events {
    pub(super) fn add(&mut self, at: Nanos, event: Event) -> EventKey {
        let number = self.made;
        self.made += 1;
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some((number, event));
        self.heap.push(Reverse((at, number, slot)));
        (at, number, slot)
    }

    /// Removes an event, if it has not happened already.
    pub(super) fn remove(&mut self, (_, number, slot): EventKey) {
        if self.slots[slot].as_ref().is_some_and(|(kept, _)| *kept == number) {
            self.slots[slot] = None;
            self.clean();
        }
    }

    /// All that are still to happen, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.slots.iter().flatten().map(|(_, event)| event)
    }

    /// When the first one is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the first one that is due at `now`.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<Event> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, _, slot)) = self.heap.pop()?;
        let event = self.slots[slot].take();
        self.free.push(slot);
        self.clean();
        event.map(|(_, event)| event)
    }

    /// Lets go of removed events at the head of the heap.
    fn clean(&mut self) {
        while let Some(Reverse((_, _, slot))) = self.heap.peek()
            && self.slots[*slot].is_none()
        {
            self.free.push(*slot);
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Events;
    use crate::network::{Event, SocketId};

    /// The sockets whose timers are due at `now`.
    fn due(events: &mut Events, now: u64) -> Vec<usize> {
        let timers = std::iter::from_fn(|| events.take_due(now)).map(|event| match event {
            Event::Timer(SocketId(id)) => id,
            _ => unreachable!("there are only timers"),
        });
        timers.collect()
    }

    #[test]
    fn events_come_in_their_order_and_removed_ones_never() {
        let mut events = Events::default();
        let keys: Vec<_> = [5, 3, 5, 1, 9]
            .iter()
            .enumerate()
            .map(|(id, at)| events.add(*at, Event::Timer(SocketId(id))))
            .collect();
        events.remove(keys[3]);
        assert_eq!(events.next(), Some(3));
        assert_eq!(due(&mut events, 5), [1, 0, 2]);
        // The slots are others' now.
        let later = events.add(8, Event::Timer(SocketId(5)));
        keys[..4].iter().for_each(|key| events.remove(*key));
        assert_eq!(events.next(), Some(8));
        events.remove(later);
        assert_eq!(due(&mut events, 9), [4]);
        assert_eq!(events.next(), None);
    }
}
