//! What senders of channels with a bound and without have in common, weak ones or not: each macro is a part
//! of an `impl`, or implements a trait.

/// How many senders and weak senders the channel has.
macro_rules! counts {
    () => {
        /// Returns how many senders there are.
        pub fn strong_count(&self) -> usize {
            self.tx.shared.senders()
        }

        /// Returns how many weak senders there are.
        pub fn weak_count(&self) -> usize {
            self.tx.shared.weak()
        }
    };
}

/// What a sender asks of its channel, and `downgrade`.
macro_rules! sender_methods {
    ($weak:ident) => {
        /// Waits until the receiver closes the channel or is dropped.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: dropping the future loses nothing.
        ///
        /// # Examples
        ///
        /// Work is given up when no receiver waits for its result:
        ///
        /// ```
        /// # liten::block_on(async {
        /// let (sender, receiver) = liten::sync::mpsc::channel::<u32>(1);
        /// let task = liten::spawn(async move {
        ///     liten::select! {
        ///         _ = sender.closed() => "given up",
        ///         _ = std::future::pending::<u32>() => "done",
        ///     }
        /// });
        /// drop(receiver);
        /// assert_eq!(task.await.unwrap(), "given up");
        /// # });
        /// ```
        pub async fn closed(&self) {
            self.tx.closed().await;
        }

        /// Returns whether the receiver has closed the channel, or has been dropped.
        pub fn is_closed(&self) -> bool {
            self.tx.shared.room.is_closed()
        }

        /// Returns whether both senders are of the same channel.
        pub fn same_channel(&self, other: &Self) -> bool {
            self.tx.same_channel(&other.tx)
        }

        /// Returns a sender that does not keep the channel open.
        #[must_use = "the sender itself stays as it is"]
        pub fn downgrade(&self) -> $weak<T> {
            $weak { tx: self.tx.downgrade() }
        }

        counts!();
    };
}

/// What a weak sender can do, which `upgrade` makes a sender again.
macro_rules! weak_sender_methods {
    ($sender:ident) => {
        /// Returns a sender; `None` if all senders have been dropped.
        pub fn upgrade(&self) -> Option<$sender<T>> {
            self.tx.upgrade().map(|tx| $sender { tx })
        }

        counts!();
    };
}

/// Each clone counts as a sender, or as a weak one.
macro_rules! clones {
    ($handle:ident) => {
        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                Self { tx: self.tx.clone() }
            }
        }
    };
}
