//! The stacks of threads on Linux.

use super::calls::{Calls, StackCopy};
use super::interruption::{Interrupted, interrupt};
use super::memory::{self, Mapped, Memory, ranges};
use super::unwinding::{Frame, Tables};
use crate::engine::scheduler::thread_number;
use crate::observe::spare_descriptors::{read_file, read_to_string};
use crate::observe::thread_activity::SystemCall;
use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, Instant};

/// So many frames at most.
const MOST_FRAMES: usize = 512;

/// All threads that are interrupted have so long together.
const PATIENCE: Duration = Duration::from_millis(200);

/// Reads the stacks of threads, one after the other. What is mapped is read once.
#[derive(Default)]
pub(in crate::insight) struct ThreadStacks {
    maps: Option<(String, Vec<Mapped>)>,
    /// By the place in `maps`. `None`: there are none.
    tables: HashMap<usize, Option<Tables>>,
    /// How long threads that were interrupted were waited for.
    waited: Duration,
}

impl ThreadStacks {
    /// Reads those of threads in system calls, and interrupts no thread.
    pub(in crate::insight) fn of_calls() -> Self {
        Self { waited: PATIENCE, ..Self::default() }
    }

    pub(super) fn may_interrupt(&self) -> bool {
        self.waited < PATIENCE
    }

    /// Returns the addresses at which the functions go on that are on the stack of a thread of this process,
    /// the innermost first. Empty if the thread is not in this call, or if it has run meanwhile.
    pub(in crate::insight) fn addresses(&mut self, thread: u32, call: &SystemCall) -> Vec<usize> {
        let found = read_file("/proc/self/mem", |file| Ok(self.read(thread, call, &Memory(file))));
        found.ok().flatten().unwrap_or_default()
    }

    /// As [`addresses`](Self::addresses), of a thread that was seen to run, which is interrupted.
    pub(in crate::insight) fn interrupted(&mut self, thread: u32) -> Vec<usize> {
        if !self.may_interrupt() {
            return Vec::new();
        }
        let began = Instant::now();
        self.read_maps();
        let Some((maps, _)) = &self.maps else { return Vec::new() };
        let interrupted = interrupt(thread, PATIENCE.saturating_sub(self.waited), ranges(maps));
        self.waited += began.elapsed();
        let Some(Interrupted { pc, registers, stack }) = interrupted else { return Vec::new() };
        let frame = Frame { pc, registers: registers.map(Some) };
        let read = |file: &mut File| Ok(self.unwound(frame, &stack, &Memory(file)));
        let mut addresses = read_file("/proc/self/mem", read).ok().flatten().unwrap_or_default();
        // Names are those of the instruction in front of an address, behind which a function goes on.
        if let Some(first) = addresses.first_mut() {
            *first += 1;
        }
        addresses
    }

    fn read_maps(&mut self) {
        if self.maps.is_none() {
            self.maps = read_to_string("/proc/self/maps").ok().map(|maps| {
                let mapped = memory::mapped(&maps);
                (maps, mapped)
            });
        }
    }

    fn read(&mut self, thread: u32, call: &SystemCall, memory: &Memory<'_>) -> Option<Vec<usize>> {
        // The system answers for this thread, too, which goes on.
        if thread_number() == thread {
            return None;
        }
        self.read_maps();
        let of_thread = |file| read_to_string(format!("/proc/self/task/{thread}/{file}")).ok();
        let switches = || switches(&of_thread("status")?);
        let before = (switches()?, of_thread("syscall")?);
        let (stack_pointer, pc) = place(&before.1, call)?;
        let end = memory::end_of_mapping(&self.maps.as_ref()?.0, stack_pointer)?;
        let length = usize::try_from(end - stack_pointer).ok()?.min(StackCopy::MOST_BYTES);
        let bytes = memory.up_to(stack_pointer, length)?;
        // In this order: of a thread that runs again, the call is not told, and one that has run and is in
        // the call again was switched away from meanwhile.
        let call = of_thread("syscall")?;
        if (switches()?, call) != before {
            return None;
        }
        let stack = StackCopy { begin: stack_pointer, bytes };
        self.unwound(Frame::new(pc, stack_pointer), &stack, memory)
    }

    /// The addresses on a stack whose innermost frame is `frame`.
    fn unwound(
        &mut self,
        mut frame: Frame,
        stack: &StackCopy,
        memory: &Memory<'_>,
    ) -> Option<Vec<usize>> {
        let mut at = frame.pc;
        let mut addresses = vec![usize::try_from(at).ok()?];
        while addresses.len() < MOST_FRAMES && self.unwind(memory, stack, &mut frame, at).is_some()
        {
            // A function that ends with a call returns to what lies behind it.
            at = frame.pc.wrapping_sub(1);
            if self.find(at).is_none() {
                break;
            }
            addresses.push(usize::try_from(frame.pc).ok()?);
        }
        Some(addresses)
    }

    fn find(&self, address: u64) -> Option<usize> {
        find(&self.maps.as_ref()?.1, address)
    }

    fn unwind(
        &mut self,
        memory: &Memory<'_>,
        stack: &StackCopy,
        frame: &mut Frame,
        at: u64,
    ) -> Option<()> {
        let index = self.find(at)?;
        let all = &self.maps.as_ref()?.1;
        let read = || Tables::read(memory, all.get(index)?);
        let tables = self.tables.entry(index).or_insert_with(read);
        let is_code = |address| find(all, address).is_some();
        tables.as_ref()?.unwind(frame, at, &Calls { memory, stack, is_code: &is_code })
    }
}

/// Which of them has code at that address.
fn find(all: &[Mapped], address: u64) -> Option<usize> {
    all.iter().position(|mapped| mapped.code.iter().any(|code| code.contains(&address)))
}

/// The stack pointer and the program counter of a thread, from its `syscall`, if it is in this call.
fn place(text: &str, call: &SystemCall) -> Option<(u64, u64)> {
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut words = text.split_ascii_whitespace();
    // -1 stands for a thread that waits in the kernel, and in no call.
    let number: u64 = words.next()?.parse().ok()?;
    let first = hex(words.next()?)? as u32;
    let is_same = number == call.number() && call.descriptor().is_none_or(|file| file == first);
    let mut words = words.rev();
    let (pc, stack_pointer) = (hex(words.next()?)?, hex(words.next()?)?);
    is_same.then_some((stack_pointer, pc))
}

/// How often the thread was switched away from, from its `status`.
fn switches(status: &str) -> Option<u64> {
    let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
    let counts: Vec<u64> = counts.map_while(|(_, count)| count.trim().parse().ok()).collect();
    match counts[..] {
        [voluntary, involuntary] => voluntary.checked_add(involuntary),
        _ => None,
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{ThreadStacks, place, switches, thread_number};
    use crate::observe::thread_activity::{self, SystemCall, ThreadActivity};
    use std::sync::mpsc::{self, TryRecvError};
    use std::thread;
    use std::time::{Duration, Instant};

    /// The call that a thread is in now.
    fn call_of(thread: u32) -> Option<SystemCall> {
        match thread_activity::look(thread, None) {
            ThreadActivity::Calls(call) => Some(call),
            _ => None,
        }
    }

    fn stack_of(thread: u32) -> Vec<usize> {
        let stack = |call| ThreadStacks::default().addresses(thread, &call);
        call_of(thread).map(stack).unwrap_or_default()
    }

    /// What is known of the thread after some time.
    fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            assert!(began.elapsed() < Duration::from_secs(60));
        }
    }

    /// Looks at a thread that waits, and ends it.
    fn at_one_that_waits<T>(look: impl FnOnce(u32) -> T) -> T {
        let (started, start) = mpsc::channel();
        let (stop, end) = mpsc::channel();
        let thread = thread::spawn(move || waits(&started, &end));
        let seen = look(start.recv().unwrap());
        drop(stop);
        thread.join().unwrap();
        seen
    }

    /// Looks at a thread that does this again and again, and ends it.
    fn at_one_that_does<T>(mut round: impl FnMut() + Send, look: impl FnOnce(u32) -> T) -> T {
        let (started, start) = mpsc::channel();
        let (stop, end) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                started.send(thread_number()).unwrap();
                while end.try_recv() == Err(TryRecvError::Empty) {
                    round();
                }
            });
            let seen = look(start.recv().unwrap());
            drop(stop);
            seen
        })
    }

    /// A thread that has ended, and the call in which it has waited.
    fn ended() -> (u32, SystemCall) {
        at_one_that_waits(|id| (id, until(|| call_of(id))))
    }

    #[test]
    fn what_the_kernel_writes_of_a_thread_is_read() {
        let (_, futex) = ended();
        let text = format!("{} 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f20\n", futex.number());
        assert_eq!(place(&text, &futex), Some((0x7ffd10, 0x7f20)));
        for other in
            ["9999 0x1 0x7ffd10 0x7f20\n", "-1 0x7ffd10 0x7f20\n", "running\n", "", "what is"]
        {
            assert_eq!(place(other, &futex), None, "{other}");
        }
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(switches(status), Some(9));
        assert_eq!(switches("voluntary_ctxt_switches:\t7\n"), None);
    }

    #[inline(never)]
    fn waits(started: &mpsc::Sender<u32>, end: &mpsc::Receiver<()>) {
        started.send(thread_number()).unwrap();
        _ = end.recv();
        std::hint::black_box(());
    }

    fn names(addresses: &[usize]) -> Vec<String> {
        let mut names = Vec::new();
        for &address in addresses {
            backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
                names.extend(symbol.name().map(|name| format!("{name:#}")));
            });
        }
        names
    }

    #[test]
    fn the_stack_of_a_thread_that_waits_goes_from_the_call_to_where_the_thread_begins() {
        let is_there = |id| Some(stack_of(id)).filter(|addresses| !addresses.is_empty());
        let names = at_one_that_waits(|id| names(&until(|| is_there(id))));
        let place = |end: &str| names.iter().position(|name| name.contains(end));
        let (recv, waits) = (place("::recv"), place("tests::waits"));
        assert!(recv.is_some() && recv < waits && waits < place("thread_start"), "{names:#?}");
    }

    #[test]
    fn of_a_thread_that_has_ended_and_of_the_one_that_asks_there_is_no_stack() {
        let (id, call) = ended();
        assert_eq!(ThreadStacks::default().addresses(id, &call), [0; 0]);
        let own = thread_number();
        assert_eq!(ThreadStacks::default().addresses(own, &call), [0; 0]);
    }

    #[inline(never)]
    fn sleeps(depth: u32) {
        match depth.checked_sub(1) {
            Some(less) => sleeps(less),
            None => thread::sleep(Duration::from_micros(500)),
        }
        std::hint::black_box(depth);
    }

    /// It is in another depth each time.
    #[test]
    fn the_stack_of_a_thread_that_goes_on_is_of_one_moment() {
        let mut depths = (0..40).cycle();
        let round = move || depths.by_ref().take(1).for_each(sleeps);
        let stacks = at_one_that_does(round, |id| {
            let mut stacks = Vec::new();
            until(|| {
                stacks.extend(Some(stack_of(id)).filter(|addresses| !addresses.is_empty()));
                (stacks.len() >= 100).then_some(())
            });
            stacks
        });
        for addresses in stacks {
            let names = names(&addresses);
            let has = |part: &str| names.iter().any(|name| name.contains(part));
            assert!(has("thread_start") && (has("sleep") || has("send")), "{names:#?}");
        }
    }

    #[test]
    fn of_a_thread_that_runs_there_is_no_stack() {
        let addresses = at_one_that_does(std::hint::spin_loop, |id| {
            thread::sleep(Duration::from_millis(20));
            ThreadStacks::default().addresses(id, &ended().1)
        });
        assert_eq!(addresses, [0; 0]);
    }
}
