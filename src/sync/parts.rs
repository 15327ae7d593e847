//! What locks have in common, and guards that can be narrowed to a part of the data, or downgraded.

/// `map` and `try_map`: `[& or &mut] data => part, guard<its first argument>; examples of map`. After a comma
/// their type parameters and the bounds of these, where tokio has them in another order.
macro_rules! parts {
    (
        [$($lend:tt)+] $data:ident => $part:ident, $guard:ident<$first:tt>;
        $(#[$examples:meta])*
    ) => {
        parts! {
            [$($lend)+] $data => $part, $guard<$first>, [F, $part: ?Sized] [];
            $(#[$examples])*
        }
    };
    (
        [$($lend:tt)+] $data:ident => $part:ident, $guard:ident<$first:tt>,
        [$($parameters:tt)*] [$($bounds:tt)*];
        $(#[$examples:meta])*
    ) => {
        /// Returns a guard for the part of the data that `f` picks.
        $(#[$examples])*
        #[inline]
        pub fn map<$($parameters)*>(this: Self, f: F) -> $guard<$first, $part>
        where
            $($bounds)*
            F: FnOnce($($lend)+ $data) -> $($lend)+ $part,
        {
            $guard::new(this.inner.map(f))
        }

        /// Returns a guard for the part of the data that `f` picks, if it picks one.
        ///
        /// # Errors
        ///
        /// The guard itself, if `f` returns `None`.
        #[inline]
        pub fn try_map<$($parameters)*>(this: Self, f: F) -> Result<$guard<$first, $part>, Self>
        where
            $($bounds)*
            F: FnOnce($($lend)+ $data) -> Option<$($lend)+ $part>,
        {
            this.inner.try_map(f).map($guard::new).map_err(Self::new)
        }
    };
}

/// What a write guard of all the data can become: `its mapped guard, read guard, read guard of a part U`.
macro_rules! downgrades {
    ($mapped:ty, $read:ty, $read_part:ty) => {
        /// Returns a read guard for the part of the data that `f` picks. No writer gets the lock in between.
        #[inline]
        pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> $read_part
        where
            F: FnOnce(&T) -> &U,
        {
            <$read_part>::new(this.inner.downgrade(f))
        }

        /// Returns a read guard for the part of the data that `f` picks, if it picks one. No writer gets the
        /// lock in between.
        ///
        /// # Errors
        ///
        /// The guard itself, if `f` returns `None`.
        #[inline]
        pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<$read_part, Self>
        where
            F: FnOnce(&T) -> Option<&U>,
        {
            this.inner.try_downgrade(f).map(<$read_part>::new).map_err(Self::new)
        }

        /// Returns a guard of the type that [`map`](Self::map) makes, for all of the data.
        #[inline]
        pub fn into_mapped(this: Self) -> $mapped {
            <$mapped>::new(this.inner)
        }

        /// Returns a read guard. No writer gets the lock in between.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::RwLock;
        ///
        /// # liten::block_on(async {
        /// let lock = RwLock::new(1);
        /// let mut writes = lock.write().await;
        /// *writes += 1;
        /// let reads = writes.downgrade();
        /// // Other tasks may read now, too.
        /// assert_eq!((*reads, *lock.read().await), (2, 2));
        /// # });
        /// ```
        pub fn downgrade(self) -> $read {
            Self::downgrade_map(self, |data| data)
        }
    };
}

/// Implements `From`, `Default` and `Debug` for a lock, whose method `$look` shows the data if it is free.
macro_rules! lock_impls {
    ($lock:ident, $name:literal, $look:ident) => {
        impl<T> From<T> for $lock<T> {
            fn from(data: T) -> Self {
                Self::new(data)
            }
        }

        impl<T: Default> Default for $lock<T> {
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut debug = f.debug_struct($name);
                match self.$look() {
                    Ok(guard) => debug.field("data", &&*guard),
                    Err(_) => debug.field("data", &format_args!("<locked>")),
                };
                debug.finish()
            }
        }
    };
}
