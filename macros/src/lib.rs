//! The attribute macros of [liten](https://docs.rs/liten): `#[liten::main]` and `#[liten::test]`.
//!
//! Use them through `liten`, which re-exports both behind its feature `macros`. This is a package
//! of its own because the compiler loads a proc-macro crate as a plug-in; it holds no part of the
//! runtime.
//!
//! Reading order: `function` reads what the attribute stands on, `options` what is written in its
//! brackets, and `expand` writes the new function. None of them stops at the first mistake: each
//! puts what it finds into one [`syn::Error`], and the function is still expanded, so that one
//! build shows every mistake and an editor keeps its hints inside the body.

mod expand;
mod function;
mod options;

use std::fmt;

use options::Flavor;
use proc_macro::TokenStream;

/// Which of the two attributes is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Main,
    Test,
}

impl Entry {
    fn default_flavor(self) -> Flavor {
        match self {
            Entry::Main => Flavor::MultiThread,
            Entry::Test => Flavor::CurrentThread,
        }
    }
}

/// As users write it, for messages.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Entry::Main => "`#[liten::main]`",
            Entry::Test => "`#[liten::test]`",
        })
    }
}

/// Builds a runtime and runs the async function on it; to its callers it is an ordinary function.
///
/// # What it becomes
///
/// ```text
/// #[liten::main(worker_threads = 4)]
/// async fn main() -> io::Result<()> {
///     serve().await
/// }
/// ```
///
/// is short for
///
/// ```text
/// fn main() -> io::Result<()> {
///     return ::liten::runtime::Builder::new_multi_thread()
///         .worker_threads(4)
///         .build()
///         .expect("the liten runtime could not be built")
///         .block_on(async move { serve().await });
/// }
/// ```
///
/// On wasm, where there is one thread, it is short for `Builder::new_current_thread()` and
/// `build_local()` instead.
///
/// The body runs on the calling thread, what it spawns runs on the workers. When the body is done
/// the runtime is dropped, and with it the tasks that are still waiting.
///
/// Attributes, visibility, arguments, generics, where clause and return type stay as they are, and
/// so do `unsafe` and `extern`. Any async function may have the attribute, a method too; only a
/// function called `main` must be without arguments. But each call builds a runtime and takes it
/// down again, and inside a task it panics: where a runtime is running already, call and await.
///
/// # Options
///
/// - `flavor = "multi_thread"` (the default, but on wasm): tasks move between workers.
/// - `flavor = "current_thread"`: all tasks run on the calling thread and may be `!Send`; the runtime is
///   what `Builder::new_current_thread()` and `build_local()` make.
/// - `worker_threads = N`: that many workers, at least one. Only for `"multi_thread"`; the default
///   is the variable `LITEN_WORKER_THREADS` of the environment, or else a worker for each CPU.
/// - `name = "prefix"`: how the names of the runtime's threads begin.
/// - `start_paused = true`: the clock of the runtime stands still from the start, and jumps to the next
///   deadline when there is nothing else to do. For tests; see "Testing with paused time" in `liten::time`.
/// - `crate = "path"`: where liten is found if not at `::liten`. The quotes may be left out.
///
/// For wasm, what asks for threads (`flavor = "multi_thread"`, `worker_threads`) is an error of the compiler.
/// A program for both writes `#[cfg_attr(not(target_family = "wasm"), liten::main(worker_threads = 4))]` and
/// `#[cfg_attr(target_family = "wasm", liten::main)]`.
///
/// # Panics
///
/// The function panics if the runtime cannot be built, for example because the system has no thread
/// or descriptor left. To go on without one, use `runtime::Builder`.
#[proc_macro_attribute]
pub fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Entry::Main, args.into(), item.into()).into()
}

/// Makes a test of an async function: it gets `#[test]` and a runtime of its own.
///
/// The options are those of `#[liten::main]`, but the default is `flavor = "current_thread"`: most
/// tests need no workers, and a suite of many tests would start and stop them for each. For workers
/// write `#[liten::test(flavor = "multi_thread", worker_threads = 2)]`.
///
/// With `sim` the test is run in simulation, by the package `liten-sim`: once for each seed, on workers whose
/// order, time and network the seed decides. `seeds = N` says how many seeds, ten without it. `workers = N`
/// says how many workers; without it the seed does. `#[liten::test(sim, seeds = 200, workers = 3)]` is short
/// for
///
/// ```text
/// liten_sim::Check::new().seeds(200).cpus(3).run(|sim| sim.client("test", || runtime.block_on(body)))
/// ```
///
/// Other attributes such as `#[should_panic]` stay, and so does the return type: a test may return
/// a `Result`. It takes no arguments, and it must not have a second `#[test]`.
///
/// # Panics
///
/// The test panics, and so fails, if the runtime cannot be built.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Entry::Test, args.into(), item.into()).into()
}
