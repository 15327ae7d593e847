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

/// The innermost functions of the program on the calling thread's stack, the innermost first.
pub(crate) fn of_caller() -> String {
    let text = Backtrace::force_capture().to_string();
    functions(&text).join(", in ")
}

/// Reads what `Backtrace` prints: a line with a number and a function, and perhaps one with its
/// place.
fn functions(text: &str) -> Vec<String> {
    let mut functions: Vec<String> = Vec::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let place = lines.next_if(|next| next.starts_with("at ")).unwrap_or("");
        let Some((number, name)) = line.split_once(": ") else { continue };
        let is_frame = number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_frame || is_machinery(name) {
            continue;
        }
        if functions.len() == MOST {
            break;
        }
        let separator = if place.is_empty() { "" } else { " " };
        functions.push(format!("{name}{separator}{place}"));
    }
    functions
}

/// The C library's functions have no path, and those of the program that have none are rare.
fn is_machinery(name: &str) -> bool {
    !name.contains("::") || MACHINERY.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn the_machinery_is_left_out() {
        let text = "   0: liten_sim::baton::Baton::tell\n             at ./src/baton.rs:80:20\n   1: syscall\n   \
            2: std::sync::mutex::lock\n   3: shop::orders::take\n             at ./src/orders.rs:31:5\n   4: \
            shop::main\n   5: core::ops::function::FnOnce::call_once\n   6: start_thread\n";
        assert_eq!(functions(text), ["shop::orders::take at ./src/orders.rs:31:5", "shop::main"]);
    }
}
