//! Implementations of std's traits, and methods of builders, that many types have in the same shape.
//!
//! `derive` does not fit these types: it would print fields that mean nothing to a user, and ask that the
//! type in a channel or a lock can be printed too. A crate that extends `derive` would be a proc-macro in the
//! build.

/// Implements `Debug`: the name, the fields that are given, and `..` if the type has others.
///
/// `[generics] type, "Name"` prints the name and `..` alone.
macro_rules! impl_debug {
    ([$($generics:tt)*] $type:ty, $name:literal) => {
        impl<$($generics)*> ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
    ([$($generics:tt)*] $type:ty, $this:ident => $name:literal { $($field:ident: $value:expr,)* .. }) => {
        impl<$($generics)*> ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $this = self;
                f.debug_struct($name)$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
    ([$($generics:tt)*] $type:ty, $this:ident => $name:literal { $($field:ident: $value:expr),+ $(,)? }) => {
        impl<$($generics)*> ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $this = self;
                f.debug_struct($name)$(.field(stringify!($field), &$value))*.finish()
            }
        }
    };
}

/// Implements `Display` by a text: the same for all values, or one that is picked by the value.
macro_rules! impl_display {
    ([$($generics:tt)*] $type:ty, $text:literal) => {
        $crate::impls::impl_display!([$($generics)*] $type, _this => $text);
    };
    ([$($generics:tt)*] $type:ty, $this:ident => $text:expr) => {
        impl<$($generics)*> ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $this = self;
                f.write_str($text)
            }
        }
    };
}

/// Implements `Error`, and `Display` as [`impl_display`] does.
macro_rules! impl_error {
    ([$($generics:tt)*] $type:ty, $($text:tt)*) => {
        $crate::impls::impl_display!([$($generics)*] $type, $($text)*);

        impl<$($generics)*> ::std::error::Error for $type {}
    };
}

/// Promises that a panic in the middle of an operation leaves the value as it was, or fit for use.
macro_rules! impl_unwind_safe {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> ::std::panic::UnwindSafe for $type {}
        impl<$($generics)*> ::std::panic::RefUnwindSafe for $type {}
    };
}

/// Implements `Default` by `new`.
macro_rules! impl_default {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Default for $type {
            #[track_caller]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// Methods of a builder: each does one thing to it, and returns it.
macro_rules! setters {
    (
        |$this:ident|
        $(
            $(#[$doc:meta])*
            $name:ident $([$($generics:tt)*])? ($($argument:ident: $type:ty),*) => $set:expr;
        )*
    ) => {$(
        $(#[$doc])*
        pub fn $name $(<$($generics)*>)? (&mut self $(, $argument: $type)*) -> &mut Self {
            let $this = &mut *self;
            $set;
            self
        }
    )*};
}

pub(crate) use {impl_debug, impl_default, impl_display, impl_error, impl_unwind_safe, setters};
