//! Where a thread stands, in the program's own words.

use std::backtrace::Backtrace;

/// How many functions are named at most.
const MOST: usize = 4;

/// Beginnings of names that belong to the machinery around the program: this package, Rust's
/// library, what threads wait with.
const MACHINERY: [&str; 14] = [
    "liten_sim::",
    "<liten_sim::",
    "std::",
    "<std::",
    "core::",
    "<core::",
    "alloc::",
    "<alloc::",
    "__rust",
    "rust_",
    "parking_lot",
    "<parking_lot",
    "lock_api::",
    "clone",
];

/// The same of the runtimes. A thread that is in nothing else is one of theirs, and says so.
const RUNTIMES: [&str; 8] = [
    "liten::",
    "<liten::",
    "tokio::",
    "<tokio::",
    "tokio_util::",
    "<tokio_util::",
    "mio::",
    "<mio::",
];

/// The innermost functions of the program on the calling thread's stack, the innermost first.
pub(crate) fn of_caller() -> String {
    let text = Backtrace::force_capture().to_string();
    functions(&text).join(", in ")
}

/// Reads what `Backtrace` prints: a line with a number and a function, and perhaps one with its
/// place.
fn functions(text: &str) -> Vec<String> {
    let mut functions: Vec<String> = Vec::new();
    let mut of_runtime = None;
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let place = lines.next_if(|next| next.starts_with("at ")).unwrap_or("");
        let Some((number, name)) = line.split_once(": ") else { continue };
        let is_frame = number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_frame || is_machinery(name) {
            continue;
        }
        let separator = if place.is_empty() { "" } else { " " };
        let function = format!("{name}{separator}{place}");
        if is_runtime(name) {
            of_runtime.get_or_insert(function);
        } else if functions.len() < MOST {
            functions.push(function);
        }
    }
    if functions.is_empty() { of_runtime.into_iter().collect() } else { functions }
}

/// The lines of an output without the frames in its stack traces that are not the program's.
pub(crate) fn without_machinery<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut is_left_out = false;
    for line in lines {
        let text = line.trim_start();
        let is_place = text.starts_with("at ") && text.len() < line.len();
        if !is_place {
            is_left_out = text.split_once(": ").is_some_and(|(number, name)| {
                let is_frame = number.parse::<u32>().is_ok() && text.len() < line.len();
                is_frame && (is_machinery(name) || is_runtime(name))
            });
        }
        if !is_left_out {
            kept.push(line);
        }
    }
    kept
}

/// The C library's functions have no path, and those of the program that have none are rare.
fn is_machinery(name: &str) -> bool {
    !name.contains("::") || MACHINERY.iter().any(|start| name.starts_with(start))
}

/// Whether the function belongs to a runtime.
pub(crate) fn is_runtime(name: &str) -> bool {
    RUNTIMES.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{functions, without_machinery};

    #[test]
    fn the_machinery_is_left_out() {
        let text = "   0: liten_sim::baton::Baton::tell\n             at ./src/baton.rs:80:20\n   1: syscall\n   \
            2: std::sync::mutex::lock\n   3: shop::orders::take\n             at ./src/orders.rs:31:5\n   4: \
            shop::main\n   5: core::ops::function::FnOnce::call_once\n   6: start_thread\n";
        assert_eq!(functions(text), ["shop::orders::take at ./src/orders.rs:31:5", "shop::main"]);
    }

    #[test]
    fn a_runtime_is_named_where_there_is_nothing_else() {
        let idle =
            "   0: liten::engine::park::Parker::park\n   1: liten::worker\n   2: start_thread\n";
        assert_eq!(functions(idle), ["liten::engine::park::Parker::park"]);
        let root = "   0: liten::engine::park::Parker::park\n   1: shop::main\n";
        assert_eq!(functions(root), ["shop::main"]);
    }

    #[test]
    fn a_trace_is_shown_without_the_machinery() {
        let text = "0: no frame\nstack backtrace:\n   0: std::panic\n             at /rustc/panic.rs:1:1\n   \
            1: shop::main\n             at ./src/main.rs:2:2\n   2: liten::worker\nend";
        assert_eq!(
            without_machinery(text.lines()),
            [
                "0: no frame",
                "stack backtrace:",
                "   1: shop::main",
                "             at ./src/main.rs:2:2",
                "end"
            ]
        );
    }
}
