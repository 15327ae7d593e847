//! `pin!`.

/// Pins values in the frame of the caller; each keeps its name.
///
/// The macro takes names of variables, or whole `let` statements. For one expression there is
/// [`std::pin::pin!`], which returns the pinned reference.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, sleep};
///
/// # liten::block_on(async {
/// let late = sleep(Duration::from_secs(60));
/// liten::pin!(late);
///
/// liten::pin! {
///     let soon = sleep(Duration::from_millis(1));
///     let number = async { 7 };
/// }
///
/// // Polled by reference, each of them may be polled again later.
/// let first = liten::select! {
///     _ = &mut late => 0,
///     _ = &mut soon => (&mut number).await,
/// };
/// assert_eq!(first, 7);
/// # });
/// ```
#[macro_export]
macro_rules! pin {
    ($($value:ident),* $(,)?) => {
        $(
            #[allow(unused_mut)]
            let mut $value = ::core::pin::pin!($value);
        )*
    };
    ($(let $value:ident = $init:expr;)*) => {
        $(
            #[allow(unused_mut)]
            let mut $value = ::core::pin::pin!($init);
        )*
    };
}
