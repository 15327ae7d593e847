// Each name that the page `liten::guide::migrating` calls the same, used in the same way on `rt`, which is
// tokio or liten. It only has to compile. What takes any type that implements a trait is called, and not only
// named.

use rt::io::{DuplexStream, Empty, Interest, Ready, Repeat, Sink, Stderr, Stdin, Stdout};
use rt::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use rt::net::unix::{UCred, pipe};
use rt::net::{
    TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, UnixDatagram, UnixListener,
    UnixSocket, UnixStream, lookup_host,
};
use rt::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use rt::runtime::{
    Builder, EnterGuard, Handle, Id, LocalRuntime, Runtime, RuntimeFlavor, RuntimeMetrics,
    TryCurrentError, is_rt_shutdown_err, worker_index,
};
use rt::signal::unix::{Signal, SignalKind, signal};
use rt::sync::{
    AcquireError, Barrier, BarrierWaitResult, MappedMutexGuard, Mutex, MutexGuard, Notify,
    OnceCell, OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard,
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    SetError, SetOnce, SetOnceError, TryAcquireError, TryLockError, broadcast, futures, mpsc,
    oneshot, watch,
};
use rt::task::{
    AbortHandle, JoinError, JoinHandle, JoinSet, LocalEnterGuard, LocalKey, LocalSet,
    block_in_place, coop, id, spawn_blocking, spawn_local, try_id, yield_now,
};
use rt::time::{
    Duration, Instant, Interval, MissedTickBehavior, Sleep, Timeout, interval, interval_at, sleep,
    sleep_until, timeout, timeout_at,
};
use rt::{fs, spawn};
use std::future::ready;
use std::io;
use std::net::SocketAddr;

rt::task_local! {
    static KEY: u8;
}

#[rt::main]
async fn attribute_main() {}

#[rt::main(flavor = "multi_thread", worker_threads = 1)]
async fn attribute_main_with_options() {}

#[rt::test]
async fn attribute_test() {}

#[rt::test(start_paused = true)]
async fn attribute_test_with_time_paused() {}

async fn several_at_once() -> Result<u8, ()> {
    rt::pin! {
        let two = ready(2_u8);
    }
    let three = ready(3_u8);
    rt::pin!(three);
    let (one, two) = rt::join!(ready(1_u8), two);
    let (three, four) = rt::try_join!(biased; async { Ok(three.await) }, ready(Ok(4_u8)))?;
    Ok(rt::select! {
        biased;
        Some(other) = ready(None), if one < two => other,
        five = ready(5_u8) => five + three + four,
        else => 0,
    })
}

fn runtime() -> io::Result<()> {
    let mut builder = Builder::new_multi_thread();
    let _ = Builder::new_current_thread;
    Builder::worker_threads(&mut builder, 1);
    Builder::max_blocking_threads(&mut builder, 1);
    Builder::thread_keep_alive(&mut builder, Duration::ZERO);
    Builder::thread_stack_size(&mut builder, 1 << 20);
    Builder::thread_name(&mut builder, "name");
    Builder::on_thread_start(&mut builder, || ());
    Builder::on_thread_stop(&mut builder, || ());
    Builder::on_thread_park(&mut builder, || ());
    Builder::on_thread_unpark(&mut builder, || ());
    Builder::name(&mut builder, "name");
    Builder::thread_name_fn(&mut builder, String::new);
    Builder::start_paused(&mut builder, false);
    let runtime: Runtime = Builder::build(&mut builder)?;
    let _ = (Runtime::new, Runtime::handle, Runtime::metrics, Runtime::shutdown_background);
    let _ = (Runtime::enter, Runtime::shutdown_timeout);
    Runtime::block_on(&runtime, ready(()));
    let _: JoinHandle<()> = Runtime::spawn(&runtime, ready(()));
    let _: JoinHandle<()> = Runtime::spawn_blocking(&runtime, || ());
    let handle: &Handle = Runtime::handle(&runtime);
    let _: fn() -> Handle = Handle::current;
    let _: fn() -> Result<Handle, TryCurrentError> = Handle::try_current;
    let guard: EnterGuard<'_> = Handle::enter(handle);
    drop(guard);
    Handle::block_on(handle, ready(()));
    let _: JoinHandle<()> = Handle::spawn(handle, ready(()));
    let _: JoinHandle<()> = Handle::spawn_blocking(handle, || ());
    let metrics: RuntimeMetrics = Handle::metrics(handle);
    let _: (usize, usize) =
        (RuntimeMetrics::num_workers(&metrics), RuntimeMetrics::num_alive_tasks(&metrics));
    let _: usize = RuntimeMetrics::global_queue_depth(&metrics);
    let _: u64 = RuntimeMetrics::worker_park_count(&metrics, 0);
    let _: u64 = RuntimeMetrics::worker_park_unpark_count(&metrics, 0);
    let _: Duration = RuntimeMetrics::worker_total_busy_duration(&metrics, 0);
    let local: LocalRuntime = LocalRuntime::new()?;
    LocalRuntime::block_on(&local, ready(()));
    let _: JoinHandle<()> = LocalRuntime::spawn_local(&local, ready(()));
    let _ = (LocalRuntime::enter, LocalRuntime::handle, LocalRuntime::metrics);
    let _: JoinHandle<()> = LocalRuntime::spawn_blocking(&local, || ());
    let _ = (LocalRuntime::shutdown_timeout, LocalRuntime::shutdown_background);
    let _: RuntimeFlavor = Handle::runtime_flavor(handle);
    let _: Id = Handle::id(handle);
    let _: Option<&str> = Handle::name(handle);
    let _: Option<usize> = worker_index();
    let _: fn(&io::Error) -> bool = is_rt_shutdown_err;
    let _: fn(&TryCurrentError) -> bool = TryCurrentError::is_missing_context;
    let _: fn(&TryCurrentError) -> bool = TryCurrentError::is_thread_local_destroyed;
    Ok(())
}

async fn tasks() -> Result<(), JoinError> {
    let task: JoinHandle<u8> = spawn(ready(1));
    let _ =
        (JoinHandle::<u8>::abort, JoinHandle::<u8>::abort_handle, JoinHandle::<u8>::is_finished);
    let _ = JoinHandle::<u8>::id;
    let abort: AbortHandle = task.abort_handle();
    AbortHandle::abort(&abort);
    let _ = (AbortHandle::is_finished, AbortHandle::id);
    let _ = (JoinError::is_cancelled, JoinError::is_panic, JoinError::into_panic);
    let _ = (JoinError::try_into_panic, JoinError::id);
    let _: u8 = task.await?;
    let _: u8 = spawn_blocking(|| 1).await?;
    let _: JoinHandle<u8> = spawn_local(ready(1));
    let _: u8 = block_in_place(|| 1);
    yield_now().await;
    let _ = (id, try_id);
    coop::consume_budget().await;
    let _: bool = coop::has_budget_remaining();
    coop::cooperative(coop::unconstrained(ready(()))).await;
    rt::task::consume_budget().await;
    rt::task::unconstrained(ready(())).await;
    let _ = (coop::poll_proceed, coop::RestoreOnPending::made_progress);
    rt::task::spawn(ready(())).await
}

async fn local_sets(mut set: JoinSet<u8>, runtime: Runtime) {
    let local: LocalSet = LocalSet::new();
    let _: JoinHandle<u8> = LocalSet::spawn_local(&local, ready(1));
    let _: AbortHandle = JoinSet::spawn_local_on(&mut set, ready(1), &local);
    let guard: LocalEnterGuard = LocalSet::enter(&local);
    drop(guard);
    let _: Id = LocalSet::id(&local);
    let _: u8 = LocalSet::block_on(&local, &runtime, ready(1));
    let _: u8 = LocalSet::run_until(&local, ready(1)).await;
    local.await;
    // The name of this type is another one here.
    let _ = Box::pin(KEY.scope(1, ready(()))).as_mut().take_value();
}

async fn sets_and_locals(handle: &Handle) {
    let mut set = JoinSet::<u8>::new();
    let _: AbortHandle = JoinSet::spawn(&mut set, ready(1));
    let _: AbortHandle = JoinSet::spawn_on(&mut set, ready(1), handle);
    let _: AbortHandle = JoinSet::spawn_local(&mut set, ready(1));
    let _: AbortHandle = JoinSet::spawn_blocking(&mut set, || 1);
    let _: AbortHandle = JoinSet::spawn_blocking_on(&mut set, || 1, handle);
    let _ = (JoinSet::<u8>::len, JoinSet::<u8>::is_empty, JoinSet::<u8>::detach_all);
    let _: Option<Result<u8, JoinError>> = JoinSet::join_next(&mut set).await;
    let _: Option<Result<u8, JoinError>> = JoinSet::try_join_next(&mut set);
    let _ = (JoinSet::<u8>::join_next_with_id, JoinSet::<u8>::try_join_next_with_id);
    let _ = (JoinSet::<u8>::poll_join_next, JoinSet::<u8>::poll_join_next_with_id);
    JoinSet::abort_all(&mut set);
    JoinSet::shutdown(&mut set).await;
    let _: Vec<u8> = JoinSet::join_all(set).await;
    let key: &'static LocalKey<u8> = &KEY;
    LocalKey::scope(key, 1, ready(())).await;
    LocalKey::sync_scope(key, 1, || ());
    LocalKey::with(key, |_| ());
    let _ = LocalKey::try_with(key, |_| ());
    let _: u8 = LocalKey::get(key);
    let _ = LocalKey::try_get(key);
}

async fn times(instant: std::time::Instant) -> Result<(), rt::time::error::Elapsed> {
    let mut now: Instant = Instant::from_std(instant);
    let _ = (Instant::now, Instant::into_std, Instant::elapsed, Instant::duration_since);
    let _ = (Instant::checked_add, Instant::checked_sub, Instant::checked_duration_since);
    let _ = Instant::saturating_duration_since;
    now += Duration::ZERO;
    let sleeping: Sleep = sleep(Duration::ZERO);
    let _ = (Sleep::deadline, Sleep::is_elapsed, Sleep::reset);
    sleeping.await;
    sleep_until(now).await;
    let limited: Timeout<_> = timeout(Duration::ZERO, ready(()));
    let _ = Timeout::get_ref(&limited);
    let _ = Timeout::into_inner(limited);
    let _ = Timeout::get_mut(&mut timeout_at(now, ready(())));
    timeout_at(now, ready(())).await?;
    let mut ticks: Interval = interval(Duration::from_secs(1));
    let _: Instant = Interval::tick(&mut ticks).await;
    let _ = (Interval::poll_tick, Interval::reset, Interval::reset_immediately);
    let _ = (Interval::reset_after, Interval::reset_at, Interval::period);
    let _ = (Interval::missed_tick_behavior, Interval::set_missed_tick_behavior);
    let _ = interval_at(now, Duration::from_secs(1));
    let _ = (MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip);
    rt::time::pause();
    rt::time::advance(Duration::ZERO).await;
    rt::time::resume();
    Ok(())
}

async fn tcp(address: SocketAddr, resolved: impl ToSocketAddrs) -> io::Result<()> {
    let _: Option<SocketAddr> = lookup_host(resolved).await?.next();
    let listener: TcpListener = TcpListener::bind("127.0.0.1:0").await?;
    let (mut stream, _): (TcpStream, SocketAddr) = TcpListener::accept(&listener).await?;
    let _ = (TcpListener::poll_accept, TcpListener::from_std, TcpListener::into_std);
    let _ = (TcpListener::local_addr, TcpListener::ttl, TcpListener::set_ttl);
    let _: TcpStream = TcpStream::connect(("localhost", 1)).await?;
    let _ = (TcpStream::from_std, TcpStream::into_std, TcpStream::local_addr, TcpStream::peer_addr);
    let _ = (TcpStream::take_error, TcpStream::readable, TcpStream::writable);
    let _: Ready = TcpStream::ready(&stream, Interest::READABLE | Interest::WRITABLE).await?;
    let _ = (TcpStream::poll_read_ready, TcpStream::poll_write_ready, TcpStream::peek);
    let _ = (TcpStream::try_read, TcpStream::try_read_vectored);
    let _ = (TcpStream::try_write, TcpStream::try_write_vectored);
    let _: u8 = TcpStream::try_io(&stream, Interest::READABLE, || Ok(1))?;
    let _: u8 = TcpStream::async_io(&stream, Interest::READABLE, || Ok(1)).await?;
    let _ =
        (TcpStream::nodelay, TcpStream::set_nodelay, TcpStream::linger, TcpStream::set_zero_linger);
    let _ = (TcpStream::ttl, TcpStream::set_ttl, TcpStream::quickack, TcpStream::set_quickack);
    let _: (ReadHalf<'_>, WriteHalf<'_>) = TcpStream::split(&mut stream);
    let (reader, writer): (OwnedReadHalf, OwnedWriteHalf) = TcpStream::into_split(stream);
    let _ = OwnedWriteHalf::forget;
    let _: Result<TcpStream, rt::net::tcp::ReuniteError> = OwnedReadHalf::reunite(reader, writer);
    let _ = OwnedWriteHalf::reunite;
    let socket: TcpSocket = TcpSocket::new_v4()?;
    let _ = (TcpSocket::new_v6, TcpSocket::keepalive, TcpSocket::set_keepalive);
    let _ = (TcpSocket::reuseaddr, TcpSocket::set_reuseaddr, TcpSocket::reuseport);
    let _ = (TcpSocket::set_reuseport, TcpSocket::linger, TcpSocket::set_zero_linger);
    let _ = (TcpSocket::nodelay, TcpSocket::set_nodelay, TcpSocket::tos_v4, TcpSocket::set_tos_v4);
    let _ = (TcpSocket::tclass_v6, TcpSocket::set_tclass_v6, TcpSocket::device);
    let _ = (TcpSocket::bind_device, TcpSocket::bind, TcpSocket::take_error, TcpSocket::local_addr);
    let _: TcpListener = TcpSocket::listen(TcpSocket::new_v4()?, 1)?;
    let _: TcpStream = TcpSocket::connect(socket, address).await?;
    Ok(())
}

async fn udp(socket: &UdpSocket, address: SocketAddr) -> io::Result<()> {
    let mut buf = [0; 1];
    let _: UdpSocket = UdpSocket::bind(address).await?;
    UdpSocket::connect(socket, address).await?;
    let _: usize = UdpSocket::send_to(socket, &buf, address).await?;
    let _: (usize, SocketAddr) = UdpSocket::recv_from(socket, &mut buf).await?;
    let _ = (UdpSocket::from_std, UdpSocket::into_std, UdpSocket::local_addr, UdpSocket::peer_addr);
    let _ = (UdpSocket::send, UdpSocket::recv, UdpSocket::peek, UdpSocket::peek_from);
    let _ = (UdpSocket::peek_sender, UdpSocket::poll_peek_sender, UdpSocket::try_peek_sender);
    let _ = (UdpSocket::try_send, UdpSocket::try_send_to, UdpSocket::try_recv);
    let _ = (UdpSocket::try_recv_from, UdpSocket::try_peek, UdpSocket::try_peek_from);
    let _ = (UdpSocket::poll_send, UdpSocket::poll_send_to, UdpSocket::take_error);
    let _ = (UdpSocket::poll_recv_ready, UdpSocket::poll_send_ready);
    let _ = (UdpSocket::readable, UdpSocket::writable, UdpSocket::ready);
    let _: u8 = UdpSocket::try_io(socket, Interest::READABLE, || Ok(1))?;
    let _: u8 = UdpSocket::async_io(socket, Interest::READABLE, || Ok(1)).await?;
    let _ = (UdpSocket::broadcast, UdpSocket::set_broadcast, UdpSocket::ttl, UdpSocket::set_ttl);
    let _ = (UdpSocket::multicast_loop_v4, UdpSocket::set_multicast_loop_v4);
    let _ = (UdpSocket::multicast_loop_v6, UdpSocket::set_multicast_loop_v6);
    let _ = (UdpSocket::multicast_ttl_v4, UdpSocket::set_multicast_ttl_v4);
    let _ = (UdpSocket::join_multicast_v6, UdpSocket::leave_multicast_v6);
    let _ =
        (UdpSocket::tos_v4, UdpSocket::set_tos_v4, UdpSocket::tclass_v6, UdpSocket::set_tclass_v6);
    let _ = (UdpSocket::device, UdpSocket::bind_device);
    Ok(())
}

async fn unix() -> io::Result<()> {
    let listener: UnixListener = UnixListener::bind("path")?;
    let _ = UnixListener::accept(&listener).await?;
    let _ = (UnixListener::poll_accept, UnixListener::from_std, UnixListener::into_std);
    let _ = (UnixListener::local_addr, UnixListener::take_error);
    let _: UnixStream = UnixStream::connect("path").await?;
    let (stream, _): (UnixStream, UnixStream) = UnixStream::pair()?;
    let credentials: UCred = UnixStream::peer_cred(&stream)?;
    let _ = (UCred::uid(&credentials), UCred::gid(&credentials), UCred::pid(&credentials));
    let _ =
        (UnixStream::from_std, UnixStream::into_std, UnixStream::local_addr, UnixStream::peer_addr);
    let _ = (UnixStream::readable, UnixStream::writable, UnixStream::ready, UnixStream::take_error);
    let _ = (UnixStream::try_read, UnixStream::try_read_vectored, UnixStream::poll_read_ready);
    let _ = (UnixStream::try_write, UnixStream::try_write_vectored, UnixStream::poll_write_ready);
    let _: u8 = UnixStream::try_io(&stream, Interest::READABLE, || Ok(1))?;
    let _: u8 = UnixStream::async_io(&stream, Interest::READABLE, || Ok(1)).await?;
    let _ = (UnixStream::split, UnixStream::into_split);
    let socket: UnixDatagram = UnixDatagram::bind("path")?;
    UnixDatagram::connect(&socket, "path")?;
    let _: usize = UnixDatagram::send_to(&socket, &[0], "path").await?;
    let _ = UnixDatagram::try_send_to(&socket, &[0], "path")?;
    let _ =
        (UnixDatagram::pair, UnixDatagram::unbound, UnixDatagram::from_std, UnixDatagram::into_std);
    let _ =
        (UnixDatagram::send, UnixDatagram::recv, UnixDatagram::recv_from, UnixDatagram::try_send);
    let _ = (UnixDatagram::try_recv, UnixDatagram::try_recv_from, UnixDatagram::poll_send);
    let _ = (UnixDatagram::poll_recv_ready, UnixDatagram::poll_send_ready);
    let _ = (UnixDatagram::local_addr, UnixDatagram::peer_addr, UnixDatagram::take_error);
    let _ = (
        UnixDatagram::readable,
        UnixDatagram::writable,
        UnixDatagram::ready,
        UnixDatagram::shutdown,
    );
    let socket: UnixSocket = UnixSocket::new_stream()?;
    UnixSocket::bind(&socket, "path")?;
    let _ = (UnixSocket::new_datagram, UnixSocket::listen, UnixSocket::datagram);
    let _: UnixStream = UnixSocket::connect(socket, "path").await?;
    let (sender, receiver): (pipe::Sender, pipe::Receiver) = pipe::pipe()?;
    let _: pipe::Sender = pipe::OpenOptions::new().open_sender("path")?;
    let _: pipe::Receiver = pipe::OpenOptions::new().open_receiver("path")?;
    let _ = (pipe::Sender::from_file, pipe::Sender::from_owned_fd, pipe::Sender::into_blocking_fd);
    let _ = (pipe::Sender::into_nonblocking_fd, pipe::Sender::try_write, pipe::Sender::writable);
    let _ = (pipe::Receiver::from_file, pipe::Receiver::from_owned_fd, pipe::Receiver::try_read);
    let _ = (pipe::Receiver::into_blocking_fd, pipe::Receiver::into_nonblocking_fd);
    let _ = (pipe::Receiver::readable, pipe::Receiver::ready, pipe::Sender::ready);
    drop((sender, receiver));
    Ok(())
}

fn ios() {
    let _: (Stdin, Stdout, Stderr) = (rt::io::stdin(), rt::io::stdout(), rt::io::stderr());
    let _: (DuplexStream, DuplexStream) = rt::io::duplex(1);
    let _: (Empty, Repeat, Sink) = (rt::io::empty(), rt::io::repeat(1), rt::io::sink());
    let _ = (Interest::is_readable, Interest::is_writable);
    let both: Interest = Interest::add(Interest::PRIORITY, Interest::ERROR);
    let _: Option<Interest> = Interest::remove(both, Interest::ERROR);
    let _: Ready = Ready::ALL;
    let _ =
        (Ready::EMPTY, Ready::READABLE, Ready::WRITABLE, Ready::READ_CLOSED, Ready::WRITE_CLOSED);
    let _ = (Ready::is_empty, Ready::is_readable, Ready::is_writable, Ready::is_read_closed);
    let _ = (
        Ready::is_write_closed,
        Ready::PRIORITY,
        Ready::ERROR,
        Ready::is_priority,
        Ready::is_error,
    );
}

async fn files(permissions: std::fs::Permissions) -> io::Result<()> {
    let file: fs::File = fs::File::open("path").await?;
    let _ = (fs::File::create("path").await?, fs::File::create_new("path").await?);
    let _: fs::OpenOptions = fs::File::options();
    let _ = (fs::File::from_std, fs::File::into_std, fs::File::try_into_std, fs::File::try_clone);
    let _ = (fs::File::sync_all, fs::File::sync_data, fs::File::set_len, fs::File::metadata);
    let _ = (fs::File::set_permissions, fs::File::max_buf_size, fs::File::set_max_buf_size);
    drop(file);
    let mut options = fs::OpenOptions::new();
    fs::OpenOptions::read(&mut options, true).write(true).append(true).truncate(true);
    options.create(true).create_new(true).mode(0o600).custom_flags(0);
    let _: fs::File = fs::OpenOptions::open(&options, "path").await?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create("path").await?;
    let mut entries: fs::ReadDir = fs::read_dir("path").await?;
    let _ = fs::ReadDir::poll_next_entry;
    let entry: fs::DirEntry = fs::ReadDir::next_entry(&mut entries).await?.expect("only compiled");
    let _ =
        (fs::DirEntry::path(&entry), fs::DirEntry::file_name(&entry), fs::DirEntry::ino(&entry));
    let _ = (fs::DirEntry::metadata(&entry).await?, fs::DirEntry::file_type(&entry).await?);
    let _: Vec<u8> = fs::read("path").await?;
    let _: String = fs::read_to_string("path").await?;
    fs::write("path", "text").await?;
    let _: u64 = fs::copy("path", "path").await?;
    fs::rename("path", "path").await?;
    fs::remove_file("path").await?;
    fs::remove_dir("path").await?;
    fs::remove_dir_all("path").await?;
    fs::create_dir("path").await?;
    fs::create_dir_all("path").await?;
    fs::hard_link("path", "path").await?;
    fs::symlink("path", "path").await?;
    let _ = (fs::canonicalize("path").await?, fs::read_link("path").await?);
    let _ = (fs::metadata("path").await?, fs::symlink_metadata("path").await?);
    let _: bool = fs::try_exists("path").await?;
    fs::set_permissions("path", permissions).await
}

async fn processes() -> io::Result<()> {
    let mut command: Command = Command::new("true");
    Command::arg(&mut command, "a").args(["a"]).env("a", "b").envs([("a", "b")]).env_remove("a");
    Command::env_clear(&mut command).current_dir("path").kill_on_drop(true).arg0("a");
    Command::uid(&mut command, 0).gid(0).process_group(0);
    let null = std::process::Stdio::null;
    Command::stdin(&mut command, null()).stdout(null()).stderr(null());
    let _ = (Command::as_std, Command::as_std_mut, Command::into_std, Command::get_kill_on_drop);
    let _ = (Command::status(&mut command).await?, Command::output(&mut command).await?);
    let mut child: Child = Command::spawn(&mut command)?;
    let _: Option<u32> = Child::id(&child);
    let _ = (Child::wait(&mut child).await?, Child::try_wait(&mut child)?);
    Child::start_kill(&mut child)?;
    Child::kill(&mut child).await?;
    let _: (Option<ChildStdin>, Option<ChildStdout>) = (child.stdin.take(), child.stdout.take());
    let _: Option<ChildStderr> = child.stderr.take();
    let _ = (ChildStdin::from_std, ChildStdin::into_owned_fd, ChildStdout::from_std);
    let _ = (ChildStdout::into_owned_fd, ChildStderr::from_std, ChildStderr::into_owned_fd);
    let _: std::process::Output = Child::wait_with_output(child).await?;
    Ok(())
}

async fn signals() -> io::Result<()> {
    rt::signal::ctrl_c().await?;
    let mut terminate: Signal = signal(SignalKind::terminate())?;
    let _: Option<()> = Signal::recv(&mut terminate).await;
    let _ = (Signal::poll_recv, SignalKind::from_raw, SignalKind::as_raw_value);
    let _ = (SignalKind::alarm, SignalKind::child, SignalKind::hangup, SignalKind::interrupt);
    let _ = (SignalKind::io, SignalKind::pipe, SignalKind::quit, SignalKind::user_defined1);
    let _ = (SignalKind::user_defined2, SignalKind::window_change);
    Ok(())
}

fn message_channels() {
    let _ = (mpsc::channel::<u8>, mpsc::unbounded_channel::<u8>, oneshot::channel::<u8>);
    let _ = (mpsc::Sender::<u8>::send, mpsc::Sender::<u8>::try_send);
    let _ = (mpsc::Sender::<u8>::send_timeout, mpsc::Sender::<u8>::blocking_send);
    let _ = (mpsc::Sender::<u8>::reserve, mpsc::Sender::<u8>::reserve_many);
    let _ = (mpsc::Sender::<u8>::reserve_owned, mpsc::Sender::<u8>::try_reserve);
    let _ = (mpsc::Sender::<u8>::try_reserve_many, mpsc::Sender::<u8>::try_reserve_owned);
    let _ = (mpsc::Sender::<u8>::closed, mpsc::Sender::<u8>::is_closed);
    let _ = (mpsc::Sender::<u8>::same_channel, mpsc::Sender::<u8>::downgrade);
    let _ = (mpsc::Sender::<u8>::capacity, mpsc::Sender::<u8>::max_capacity);
    let _ = (mpsc::Sender::<u8>::strong_count, mpsc::Sender::<u8>::weak_count);
    let _ = (mpsc::WeakSender::<u8>::upgrade, mpsc::WeakSender::<u8>::strong_count);
    let _ = (mpsc::WeakSender::<u8>::weak_count, mpsc::Receiver::<u8>::recv);
    let _ = (mpsc::Receiver::<u8>::recv_many, mpsc::Receiver::<u8>::try_recv);
    let _ = (mpsc::Receiver::<u8>::blocking_recv, mpsc::Receiver::<u8>::blocking_recv_many);
    let _ = (mpsc::Receiver::<u8>::close, mpsc::Receiver::<u8>::is_closed);
    let _ = (mpsc::Receiver::<u8>::is_empty, mpsc::Receiver::<u8>::len);
    let _ = (mpsc::Receiver::<u8>::capacity, mpsc::Receiver::<u8>::max_capacity);
    let _ = (mpsc::Receiver::<u8>::poll_recv, mpsc::Receiver::<u8>::poll_recv_many);
    let _ = (mpsc::Receiver::<u8>::sender_strong_count, mpsc::Receiver::<u8>::sender_weak_count);
    let _ = (mpsc::Permit::<u8>::send, mpsc::OwnedPermit::<u8>::send);
    let _ = (mpsc::OwnedPermit::<u8>::release, mpsc::OwnedPermit::<u8>::same_channel);
    let _ = (mpsc::OwnedPermit::<u8>::same_channel_as_sender, mpsc::UnboundedSender::<u8>::send);
    let _ = (mpsc::UnboundedSender::<u8>::closed, mpsc::UnboundedSender::<u8>::is_closed);
    let _ = (mpsc::UnboundedSender::<u8>::same_channel, mpsc::UnboundedSender::<u8>::downgrade);
    let _ = (mpsc::UnboundedSender::<u8>::strong_count, mpsc::UnboundedSender::<u8>::weak_count);
    let _ = mpsc::WeakUnboundedSender::<u8>::upgrade;
    let _ = mpsc::WeakUnboundedSender::<u8>::strong_count;
    let _ = (mpsc::WeakUnboundedSender::<u8>::weak_count, mpsc::UnboundedReceiver::<u8>::recv);
    let _ = (mpsc::UnboundedReceiver::<u8>::recv_many, mpsc::UnboundedReceiver::<u8>::try_recv);
    let _ = mpsc::UnboundedReceiver::<u8>::blocking_recv;
    let _ = mpsc::UnboundedReceiver::<u8>::blocking_recv_many;
    let _ = (mpsc::UnboundedReceiver::<u8>::close, mpsc::UnboundedReceiver::<u8>::is_closed);
    let _ = (mpsc::UnboundedReceiver::<u8>::is_empty, mpsc::UnboundedReceiver::<u8>::len);
    let _ = mpsc::UnboundedReceiver::<u8>::poll_recv;
    let _ = mpsc::UnboundedReceiver::<u8>::poll_recv_many;
    let _ = mpsc::UnboundedReceiver::<u8>::sender_strong_count;
    let _ = (mpsc::UnboundedReceiver::<u8>::sender_weak_count, oneshot::Sender::<u8>::send);
    let _ = (oneshot::Sender::<u8>::closed, oneshot::Sender::<u8>::is_closed);
    let _ = (oneshot::Sender::<u8>::poll_closed, oneshot::Receiver::<u8>::close);
    let _ = (oneshot::Receiver::<u8>::is_terminated, oneshot::Receiver::<u8>::is_empty);
    let _ = (oneshot::Receiver::<u8>::try_recv, oneshot::Receiver::<u8>::blocking_recv);
}

fn state_channels() {
    let _ = (broadcast::channel::<u8>, watch::channel::<u8>, broadcast::Sender::<u8>::new);
    let _ = (broadcast::Sender::<u8>::send, broadcast::Sender::<u8>::subscribe);
    let _ = (broadcast::Sender::<u8>::downgrade, broadcast::Sender::<u8>::len);
    let _ = (broadcast::Sender::<u8>::is_empty, broadcast::Sender::<u8>::receiver_count);
    let _ = (broadcast::Sender::<u8>::same_channel, broadcast::Sender::<u8>::closed);
    let _ = (broadcast::Sender::<u8>::strong_count, broadcast::Sender::<u8>::weak_count);
    let _ = (broadcast::WeakSender::<u8>::upgrade, broadcast::WeakSender::<u8>::strong_count);
    let _ = (broadcast::WeakSender::<u8>::weak_count, broadcast::Receiver::<u8>::recv);
    let _ = (broadcast::Receiver::<u8>::try_recv, broadcast::Receiver::<u8>::blocking_recv);
    let _ = (broadcast::Receiver::<u8>::resubscribe, broadcast::Receiver::<u8>::len);
    let _ = (broadcast::Receiver::<u8>::is_empty, broadcast::Receiver::<u8>::same_channel);
    let _ = broadcast::Receiver::<u8>::sender_strong_count;
    let _ = (broadcast::Receiver::<u8>::sender_weak_count, broadcast::Receiver::<u8>::is_closed);
    let _ = (watch::Sender::<u8>::new, watch::Sender::<u8>::send);
    let _ = |sender| watch::Sender::<u8>::send_modify(sender, |_| ());
    let _ = |sender| watch::Sender::<u8>::send_if_modified(sender, |_| true);
    let _ = (watch::Sender::<u8>::send_replace, watch::Sender::<u8>::borrow);
    let _ = (watch::Sender::<u8>::subscribe, watch::Sender::<u8>::closed);
    let _ = (watch::Sender::<u8>::is_closed, watch::Sender::<u8>::receiver_count);
    let _ = (watch::Sender::<u8>::sender_count, watch::Sender::<u8>::same_channel);
    let _ = (watch::Receiver::<u8>::is_closed, watch::Receiver::<u8>::borrow);
    let _ = (watch::Receiver::<u8>::borrow_and_update, watch::Receiver::<u8>::has_changed);
    let _ = watch::Receiver::<u8>::changed;
    let _ = |receiver| drop(watch::Receiver::<u8>::wait_for(receiver, |_| true));
    let _ = (watch::Receiver::<u8>::mark_changed, watch::Receiver::<u8>::mark_unchanged);
    let _ = (watch::Receiver::<u8>::same_channel, watch::Ref::<u8>::has_changed);
}

fn locks() {
    let _ = (Semaphore::new, Semaphore::const_new, Semaphore::MAX_PERMITS);
    let _ = (Semaphore::available_permits, Semaphore::add_permits, Semaphore::forget_permits);
    let _ = (Semaphore::acquire, Semaphore::acquire_many, Semaphore::try_acquire);
    let _ = (Semaphore::try_acquire_many, Semaphore::acquire_owned, Semaphore::acquire_many_owned);
    let _ = (Semaphore::try_acquire_owned, Semaphore::try_acquire_many_owned, Semaphore::close);
    let _ = (Semaphore::is_closed, Semaphore::blocking_acquire, Semaphore::blocking_acquire_many);
    let _ = (Semaphore::blocking_acquire_owned, Semaphore::blocking_acquire_many_owned);
    let _ = (SemaphorePermit::forget, SemaphorePermit::merge, SemaphorePermit::split);
    let _ = (SemaphorePermit::num_permits, OwnedSemaphorePermit::forget);
    let _ = (OwnedSemaphorePermit::merge, OwnedSemaphorePermit::split);
    let _ = (OwnedSemaphorePermit::semaphore, OwnedSemaphorePermit::num_permits, Mutex::<u8>::new);
    let _ = (Mutex::<u8>::const_new, Mutex::<u8>::lock, Mutex::<u8>::lock_owned);
    let _ = (Mutex::<u8>::try_lock, Mutex::<u8>::try_lock_owned, Mutex::<u8>::blocking_lock);
    let _ = (Mutex::<u8>::blocking_lock_owned, Mutex::<u8>::get_mut, Mutex::<u8>::into_inner);
    let _ = (RwLock::<u8>::new, RwLock::<u8>::const_new, RwLock::<u8>::with_max_readers);
    let _ = (RwLock::<u8>::const_with_max_readers, RwLock::<u8>::read, RwLock::<u8>::read_owned);
    let _ = (RwLock::<u8>::write, RwLock::<u8>::write_owned, RwLock::<u8>::try_read);
    let _ = (RwLock::<u8>::try_read_owned, RwLock::<u8>::try_write, RwLock::<u8>::try_write_owned);
    let _ = (RwLock::<u8>::blocking_read, RwLock::<u8>::blocking_write, RwLock::<u8>::get_mut);
    let _ = RwLock::<u8>::into_inner;
}

fn guards() {
    let _ = |guard| drop(MutexGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(MutexGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = MutexGuard::<u8>::mutex;
    let _ = |guard| drop(OwnedMutexGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(OwnedMutexGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = OwnedMutexGuard::<u8>::mutex;
    let _ = |guard| drop(RwLockReadGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(RwLockReadGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = |guard| drop(RwLockWriteGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(RwLockWriteGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = RwLockWriteGuard::<u8>::downgrade;
    let _ = |guard| drop(RwLockWriteGuard::<u8>::downgrade_map(guard, |value| value));
    let _ = |guard| drop(RwLockWriteGuard::<u8>::try_downgrade_map(guard, |value| Some(value)));
    let _ = RwLockWriteGuard::<u8>::into_mapped;
    let _ = |guard| drop(OwnedRwLockReadGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(OwnedRwLockReadGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = OwnedRwLockReadGuard::<u8>::rwlock;
    let _ = |guard| drop(OwnedRwLockWriteGuard::<u8>::map(guard, |value| value));
    let _ = |guard| drop(OwnedRwLockWriteGuard::<u8>::try_map(guard, |value| Some(value)));
    let _ = OwnedRwLockWriteGuard::<u8>::downgrade;
    let _ = |guard| drop(OwnedRwLockWriteGuard::<u8>::downgrade_map(guard, |value| value));
    let _ =
        |guard| drop(OwnedRwLockWriteGuard::<u8>::try_downgrade_map(guard, |value| Some(value)));
    let _ = (OwnedRwLockWriteGuard::<u8>::into_mapped, OwnedRwLockWriteGuard::<u8>::rwlock);
}

fn cells() {
    let _ = (Notify::new, Notify::const_new, Notify::notify_one, Notify::notify_last);
    let _ = (Notify::notify_waiters, Notify::notified, Notify::notified_owned);
    let _ = (futures::Notified::enable, Barrier::new, Barrier::wait, BarrierWaitResult::is_leader);
    let _ = (OnceCell::<u8>::new, OnceCell::<u8>::const_new, OnceCell::<u8>::new_with);
    let _ = (OnceCell::<u8>::const_new_with, OnceCell::<u8>::initialized, OnceCell::<u8>::get);
    let _ = (OnceCell::<u8>::get_mut, OnceCell::<u8>::set);
    let _ = |cell| drop(OnceCell::<u8>::get_or_init(cell, || ready(1)));
    let _ = |cell| drop(OnceCell::<u8>::get_or_try_init(cell, || ready(Ok::<u8, ()>(1))));
    let _ = (OnceCell::<u8>::into_inner, OnceCell::<u8>::take, SetOnce::<u8>::new);
    let _ = (SetOnce::<u8>::new_with, SetOnce::<u8>::const_new, SetOnce::<u8>::const_new_with);
    let _ = (SetOnce::<u8>::initialized, SetOnce::<u8>::get, SetOnce::<u8>::set);
    let _ = (SetOnce::<u8>::into_inner, SetOnce::<u8>::wait);
}

fn errors() {
    let _: Option<mpsc::PermitIterator<'static, u8>> = None;
    let _: Option<futures::OwnedNotified> = None;
    let _: Option<MappedMutexGuard<'static, u8>> = None;
    let _: Option<OwnedMappedMutexGuard<u8, u8>> = None;
    let _: Option<RwLockMappedWriteGuard<'static, u8>> = None;
    let _: Option<OwnedRwLockMappedWriteGuard<u8>> = None;
    let _: Option<mpsc::error::SendError<u8>> = None;
    let _: Option<mpsc::error::TrySendError<u8>> = None;
    let _: Option<mpsc::error::TryRecvError> = None;
    let _: Option<mpsc::error::SendTimeoutError<u8>> = None;
    let _: Option<oneshot::error::RecvError> = None;
    let _: Option<oneshot::error::TryRecvError> = None;
    let _: Option<broadcast::error::SendError<u8>> = None;
    let _: Option<broadcast::error::RecvError> = None;
    let _: Option<broadcast::error::TryRecvError> = None;
    let _: Option<watch::error::SendError<u8>> = None;
    let _: Option<watch::error::RecvError> = None;
    let _: Option<AcquireError> = None;
    let _: Option<TryAcquireError> = None;
    let _: Option<TryLockError> = None;
    let _: Option<SetError<u8>> = None;
    let _: Option<SetOnceError<u8>> = None;
}
