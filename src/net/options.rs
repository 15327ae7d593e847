//! Options of sockets, written once: `options!` makes methods of a list, and the other macros are such lists
//! for several faces.

/// Methods that only pass on to the socket, as those do that read and set an option: `where the socket is;
/// documentation, name(arguments) -> result: its name there`. Each line of documentation says what the option
/// does; that an error comes from the operating system is said once, here.
macro_rules! options {
    (
        |$this:ident| $socket:expr;
        $(
            $(#[$doc:meta])*
            $name:ident($($argument:ident: $type:ty),*) -> $result:ty: $inner:ident;
        )*
    ) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn $name(&self $(, $argument: $type)*) -> ::std::io::Result<$result> {
            let $this = self;
            $socket.$inner($($argument),*)
        }
    )*};
}

/// Options that a TCP socket has before it connects and after.
macro_rules! tcp_options {
    () => {
        options! {
            |this| ::socket2::SockRef::from(this);
            /// Returns whether small writes are sent at once (`TCP_NODELAY`).
            nodelay() -> bool: tcp_nodelay;
            /// Sends small writes at once (`TCP_NODELAY`), instead of waiting a moment for more to put into
            /// the segment.
            set_nodelay(on: bool) -> (): set_tcp_nodelay;
            /// Returns how long closing waits for unsent data (`SO_LINGER`); `None` means that it is sent in
            /// the background.
            linger() -> Option<::std::time::Duration>: linger;
            /// Sets how long closing waits for unsent data (`SO_LINGER`).
            ///
            /// With [`Duration::ZERO`](std::time::Duration::ZERO) closing throws unsent data away and resets
            /// the connection. With a longer time **dropping the stream may block the thread** for that time:
            /// [`close`](crate::io::AsyncWriteExt::close) it and read to the end instead, if you must know
            /// that everything has arrived.
            set_linger(linger: Option<::std::time::Duration>) -> (): set_linger;
        }

        /// Makes closing throw unsent data away and reset the connection, without blocking (`SO_LINGER` of
        /// zero).
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn set_zero_linger(&self) -> ::std::io::Result<()> {
            self.set_linger(Some(::std::time::Duration::ZERO))
        }
    };
}

/// How many routers a packet of a TCP socket may pass.
macro_rules! time_to_live {
    () => {
        options! {
            |this| this.io.get_ref();
            /// Returns how many routers an outgoing packet may pass (`IP_TTL`).
            ttl() -> u32: ttl;
            /// Sets how many routers an outgoing packet may pass (`IP_TTL`), for a listener also those of
            /// connections accepted later.
            set_ttl(ttl: u32) -> (): set_ttl;
        }
    };
}

/// The field of an IPv4 packet that asks routers for a certain treatment.
macro_rules! type_of_service {
    () => {
        options! {
            |this| ::socket2::SockRef::from(this);
            /// Returns the type of service in outgoing IPv4 packets (`IP_TOS`). Some versions of Windows do
            /// not know this option.
            tos_v4() -> u32: tos_v4;
            /// Sets the type of service in outgoing IPv4 packets (`IP_TOS`), 0 to 255. The operating system
            /// may keep the lowest two bits, which report congestion, to itself. Some versions of Windows do
            /// not know this option.
            set_tos_v4(tos: u32) -> (): set_tos_v4;
        }
    };
}
