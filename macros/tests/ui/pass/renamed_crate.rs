//! `crate` for a facade that hands liten on under another name.
//!
//! Were the path not used, `engine` would be an unused import.
#![forbid(unused)]

mod facade {
    pub(crate) mod strings {
        pub(crate) use liten as engine;
    }
    pub(crate) mod paths {
        pub(crate) use liten as engine;
    }
    pub(crate) mod inside {
        pub(crate) use liten as engine;
    }
    pub(crate) use liten::main;

    /// Knows its own way to liten, so that its users need not.
    macro_rules! entry {
        ($function:ident) => {
            #[$crate::facade::main(crate = $crate::facade::inside::engine)]
            async fn $function() -> &'static str {
                "through a macro"
            }
        };
    }
    pub(crate) use entry;
}

#[facade::main(crate = "crate::facade::strings::engine")]
async fn string() -> &'static str {
    "string"
}

#[facade::main(crate = facade::paths::engine)]
async fn path() -> &'static str {
    "path"
}

facade::entry!(generated);

fn main() {
    assert_eq!((string(), path(), generated()), ("string", "path", "through a macro"));
}
