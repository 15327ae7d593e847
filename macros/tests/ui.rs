//! What the attribute macros accept and what they say when they do not; what `select!` and `join!` say.
//!
//! The expected messages are in `ui/fail/*.stderr`. Only messages of liten's own are among them:
//! those of the compiler change with its version. Write them anew with `TRYBUILD=overwrite cargo
//! test -p liten-macros --test ui`. That a wrong type in a body is reported inside the body is tested in
//! `macros/src/expand/tests.rs`.
//!
//! Here and not with liten, because each case is built with what its package needs for its tests, and liten needs
//! much.
#![cfg(not(miri))]

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
