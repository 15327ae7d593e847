//! Where the attribute may stand, and what of the function it keeps.
#![deny(warnings)]
#![forbid(
    unused,
    unreachable_code,
    missing_docs,
    deprecated,
    nonstandard_style,
    future_incompatible
)]
#![forbid(unused_qualifications, unit_bindings, unreachable_pub, let_underscore_drop)]

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;

#[liten::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Becomes a `Box<dyn Error>` only if the async block knows its type.
    if std::env::args().count() > 100 {
        return Err(Box::new(std::fmt::Error));
    }
    let _: u8 = "7".parse()?;
    Ok(())
}

/// Generics, a where clause, patterns and `mut` in arguments.
#[liten::main(flavor = "current_thread")]
pub async fn generic<'a, T, const N: usize>(
    (first, mut n): (T, u32),
    rest: &'a [T; N],
) -> (T, &'a [T])
where
    T: Clone,
{
    n += rest.len() as u32;
    assert!(n as usize >= N);
    (first.clone(), rest)
}

/// A type that cannot be written inside the function.
#[liten::main]
pub async fn opaque(n: u8) -> Result<impl Display + Send, Infallible> {
    Ok(n)
}

/// An argument that cannot be named.
#[liten::main]
pub async fn opaque_argument(n: impl Display) -> String {
    n.to_string()
}

/// Never comes back.
#[liten::main]
pub async fn never() -> ! {
    std::process::exit(0)
}

/// No value of this type exists.
#[liten::main]
pub async fn uninhabited() -> Infallible {
    std::process::exit(0)
}

/// A body that never ends.
#[liten::main]
pub async fn endless() {
    loop {
        std::future::ready(()).await;
    }
}

/// Can be called from C.
#[liten::main]
pub async extern "C" fn from_c(n: u8) -> u8 {
    n
}

/// Has a promise to keep.
///
/// # Safety
/// None is asked for here.
#[liten::main]
pub async unsafe fn promising(n: *const u8) -> bool {
    n.is_null()
}

/// Has an attribute inside.
#[liten::main]
pub async fn inner_attribute() {
    #![allow(clippy::let_unit_value)]
    //! And words.
    let () = std::future::ready(()).await;
}

/// Methods.
#[derive(Clone, Debug)]
pub struct Counter(u32);

impl Counter {
    /// Borrows.
    #[liten::main]
    pub async fn get<'a>(&'a self, _name: &str) -> &'a u32 {
        &self.0
    }

    /// Borrows mutably and gives it back.
    #[liten::main]
    pub async fn add(&mut self, n: u32) -> &mut Self {
        self.0 += n;
        self
    }

    /// Consumes.
    #[liten::main]
    pub(crate) async fn into_inner(mut self) -> u32 {
        self.add(1);
        self.0
    }
}

/// Default methods.
pub trait Named: Sync {
    /// The name.
    #[liten::main]
    async fn name(&self) -> String
    where
        Self: std::fmt::Debug,
    {
        format!("{self:?}")
    }
}

impl Named for Counter {}

/// Uses them.
pub fn callers() {
    assert_eq!(generic((1, 2), &[3, 4]).0, 1);
    drop(Counter(1).name());
    assert_eq!(Counter(1).into_inner(), 2);
}
