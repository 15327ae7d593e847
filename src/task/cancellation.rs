//! Asking tasks to end, and letting them end by themselves.
//!
//! The tokens of one family (a token, its children, their children) stand in one tree under one lock. The
//! lock is taken when a child is made, when the last clone of a token is dropped, and by `cancel`. Beside the
//! tree, each token has a [`Latch`], which says whether it is cancelled, and wakes the futures that wait for
//! it.
//!
//! * A token that is cancelled leaves the tree with everything below it: no later cancel finds it again, and
//!   a child that is made of it is cancelled from the beginning.
//! * A token whose last clone is dropped leaves its children to its parent. So a chain `token =
//!   token.child_token()` does not grow, and dropping a chain is no recursion.
//!
//! Rejected: a lock per token, as in tokio-util, which takes parent and child in order, retries when the
//! parent changes, and walks the tree lock by lock: in most families all children have one parent, and would
//! contend for its lock in any case. Rejected: tokio-util itself: for the token alone it brings tokio's sync
//! half and three crates more, and the tracker needs tokio's runtime.

use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::waker::{note_of_poll, set_note};
use crate::engine::wakers::{Place, WakeList};
use crate::impls::{impl_debug, impl_default, impl_unwind_safe};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::latch::Latch;
use pin_project_lite::pin_project;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Tells any number of tasks that they should end; they do it in their own time.
///
/// Clones are the same token. A [`child_token`](Self::child_token) is cancelled with its parent, but not the
/// parent with the child. Cancelling lasts: there is no way back. Works in any runtime, and outside of one.
///
/// # Examples
///
/// ```
/// use liten::task::CancellationToken;
/// use liten::time::{Duration, sleep};
///
/// # liten::block_on(async {
/// let token = CancellationToken::new();
/// let theirs = token.child_token();
/// let server = liten::spawn(async move {
///     let mut served = 0;
///     while theirs.run_until_cancelled(sleep(Duration::from_millis(1))).await.is_some() {
///         served += 1;
///     }
///     served
/// });
/// sleep(Duration::from_millis(20)).await;
/// token.cancel();
/// println!("served {}", server.await.unwrap());
/// # });
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    inner: Arc<TokenInner>,
}

struct TokenInner {
    id: u64,
    tree: Arc<Mutex<Tree>>,
    latch: Arc<Latch>,
}

/// The tokens of a family that are not cancelled and not gone.
#[derive(Default)]
struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
}

struct Node {
    parent: Option<u64>,
    children: BTreeSet<u64>,
    latch: Arc<Latch>,
}

impl Tree {
    fn insert(&mut self, parent: Option<u64>, latch: Arc<Latch>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, Node { parent, children: BTreeSet::new(), latch });
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children.insert(id);
        }
        id
    }

    /// Takes one token out; its children are left to its parent.
    fn bridge(&mut self, id: u64) {
        let Some(node) = self.nodes.remove(&id) else {
            return;
        };
        for child in &node.children {
            if let Some(child) = self.nodes.get_mut(child) {
                child.parent = node.parent;
            }
        }
        if let Some(parent) = node.parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children.remove(&id);
            parent.children.extend(node.children);
        }
    }

    /// Takes a token out with everything below it; parents come before their children.
    fn cut(&mut self, id: u64) -> Vec<Arc<Latch>> {
        let (mut latches, mut left) = (Vec::new(), vec![id]);
        while let Some(id) = left.pop() {
            let Some(node) = self.nodes.remove(&id) else {
                continue;
            };
            left.extend(node.children);
            latches.push(node.latch);
            if let Some(parent) = node.parent.and_then(|parent| self.nodes.get_mut(&parent)) {
                // The topmost only: the parents of the others are out already.
                parent.children.remove(&id);
            }
        }
        latches
    }
}

impl CancellationToken {
    /// Polls for the future at `place`, which waits for nothing else.
    fn poll(&self, place: Pin<&Place>, cx: &Context<'_>) -> Poll<()> {
        let poll = self.inner.latch.poll(place, cx);
        if poll.is_pending() {
            self.note(cx);
        }
        poll
    }

    /// Says of a task that waits, what for.
    fn note(&self, cx: &Context<'_>) {
        set_note(cx.waker(), PrimitiveKind::CancellationToken, &*self.inner.latch);
    }

    /// Returns a token that is not cancelled and has no parent.
    pub fn new() -> Self {
        Self::founder(false)
    }

    /// The first of a family. A cancelled one stands in no tree.
    fn founder(cancelled: bool) -> Self {
        let (latch, mut tree) = (Arc::new(Latch::new(cancelled)), Tree::default());
        let id = if cancelled { 0 } else { tree.insert(None, latch.clone()) };
        Self { inner: Arc::new(TokenInner { id, tree: Arc::new(Mutex::new(tree)), latch }) }
    }

    /// Returns a token that is cancelled when this one is, and can be cancelled alone.
    ///
    /// Dropping this token does not end that: what cancels its parent cancels the child. The child of a
    /// cancelled token is cancelled.
    pub fn child_token(&self) -> CancellationToken {
        let TokenInner { id, tree, .. } = &*self.inner;
        let mut locked = tree.lock();
        if self.is_cancelled() {
            drop(locked);
            return Self::founder(true);
        }
        let latch = Arc::new(Latch::new(false));
        let id = locked.insert(Some(*id), latch.clone());
        drop(locked);
        Self { inner: Arc::new(TokenInner { id, tree: tree.clone(), latch }) }
    }

    /// Cancels this token, its clones, and everything below them, and wakes all futures that wait for that.
    ///
    /// A caller that sees a token cancelled sees everything below it cancelled.
    ///
    /// A second call does nothing. Wakers that panic have no consequence for the others or for the caller.
    pub fn cancel(&self) {
        let mut tree = self.inner.tree.lock();
        let latches = tree.cut(self.inner.id);
        // Parents last: a caller that sees a token cancelled sees everything below it cancelled.
        for latch in latches.iter().rev() {
            // Under the lock, so that a child that is made meanwhile is either among these or sees that it
            // comes too late.
            latch.set();
        }
        drop(tree);
        let mut wakes = WakeList::new();
        latches.iter().for_each(|latch| latch.wake(&mut wakes));
        wakes.wake();
    }

    /// Returns whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.inner.latch.is_set()
    }

    /// Waits until the token is cancelled; returns at once if it is.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let token = liten::task::CancellationToken::new();
    /// let waits = token.clone();
    /// let task = liten::spawn(async move { waits.cancelled().await });
    /// token.cancel();
    /// task.await.unwrap();
    /// # });
    /// ```
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        WaitForCancellationFuture { token: self, place: Latch::place() }
    }

    /// As [`cancelled`](Self::cancelled), for a future that outlives the borrow.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        WaitForCancellationFutureOwned { token: self, place: Latch::place() }
    }

    /// Returns a guard that cancels the token when it is dropped, unless it is
    /// [disarmed](DropGuard::disarm).
    ///
    /// # Examples
    ///
    /// ```
    /// let token = liten::task::CancellationToken::new();
    /// let guard = token.clone().drop_guard();
    /// drop(guard);
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }

    /// Returns `Some` of the output of `future`, or `None` if the token is cancelled first; `future` is
    /// dropped then.
    ///
    /// If the token is cancelled already, `future` is not polled at all. If both happen at once later, the
    /// result of `future` is returned.
    ///
    /// # Cancel safety
    ///
    /// As cancel safe as `future`.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let token = liten::task::CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
    /// token.cancel();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, None);
    /// # });
    /// ```
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        let (mut future, mut cancelled) = (pin!(future), pin!(self.cancelled()));
        std::future::poll_fn(|cx| {
            let noted = note_of_poll(cx.waker());
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            let place = cancelled.as_mut().project().place;
            let poll = self.inner.latch.poll(place.as_ref(), cx).map(|()| None);
            // If `future` has left a note of what it waits for, that says more.
            if poll.is_pending() && note_of_poll(cx.waker()) == noted {
                self.note(cx);
            }
            poll
        })
        .await
    }

    /// As [`run_until_cancelled`](Self::run_until_cancelled), for a future that outlives the borrow.
    ///
    /// # Cancel safety
    ///
    /// As cancel safe as `future`.
    pub async fn run_until_cancelled_owned<F: Future>(self, future: F) -> Option<F::Output> {
        self.run_until_cancelled(future).await
    }
}

impl Drop for TokenInner {
    fn drop(&mut self) {
        self.tree.lock().bridge(self.id);
    }
}

impl_default!([] CancellationToken);

/// Clones of one token are equal; parent and child are not.
impl PartialEq for CancellationToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for CancellationToken {}

// A panic leaves a token as it was: no user code runs under its locks.
impl_unwind_safe!([] CancellationToken);

impl_debug!([] CancellationToken, this => "CancellationToken" { is_cancelled: this.is_cancelled(), .. });

pin_project! {
    /// Ready when a token is cancelled; made by [`CancellationToken::cancelled`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WaitForCancellationFuture<'a> {
        token: &'a CancellationToken,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for WaitForCancellationFuture<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.token.inner.latch.leave(this.place.as_ref());
        }
    }
}

pin_project! {
    /// Ready when a token is cancelled; made by [`CancellationToken::cancelled_owned`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WaitForCancellationFutureOwned {
        token: CancellationToken,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for WaitForCancellationFutureOwned {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.token.inner.latch.leave(this.place.as_ref());
        }
    }
}

impl Future for WaitForCancellationFuture<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.token.poll(this.place.as_ref(), cx)
    }
}

impl Future for WaitForCancellationFutureOwned {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.token.poll(this.place.as_ref(), cx)
    }
}

impl_debug!([] WaitForCancellationFuture<'_>, "WaitForCancellationFuture");
impl_debug!([] WaitForCancellationFutureOwned, "WaitForCancellationFutureOwned");

/// Cancels a token when it is dropped; made by [`CancellationToken::drop_guard`].
#[derive(Debug)]
#[must_use = "the token is cancelled when the guard is dropped"]
pub struct DropGuard {
    /// Taken by `disarm` only.
    token: Option<CancellationToken>,
}

impl DropGuard {
    /// Returns the token, which is not cancelled by this any more.
    pub fn disarm(mut self) -> CancellationToken {
        self.token.take().expect("taken here only")
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
