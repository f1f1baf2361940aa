//! The operating system: system calls without a safe wrapper, and what stands on them (clock,
//! descriptors). The only `unsafe` code of the server is in this file. Used by all other modules.

pub(crate) mod clock;
pub(crate) mod crew;
pub(crate) mod descriptors;
pub(crate) mod file_helper;
pub(crate) mod file_stamp;
pub(crate) mod keep_alive;
pub(crate) mod queues;
pub(crate) mod rights;
pub(crate) mod service_manager;

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The beginning of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h), to what is used.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    state: u8,
    ca_state_to_windows: [u8; 7],
    rto: u32,
    ato: u32,
    /// Bytes of stream in a full segment that is sent.
    pub(crate) snd_mss: u32,
    rcv_mss: u32,
    /// Unacknowledged segments; of a listener: connections that wait to be accepted.
    pub(crate) unacked: u32,
    /// Of a listener: how many may wait.
    pub(crate) sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    times: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    /// Smoothed round-trip time in microseconds; 0 before the first sample.
    pub(crate) rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    /// Segments that may be under way.
    pub(crate) snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Segments sent again since the beginning.
    pub(crate) total_retrans: u32,
    pacing_rates: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    /// Segments sent since the beginning, with and without data.
    pub(crate) segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    /// Segments with data sent since the beginning.
    pub(crate) data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    /// Bytes of stream sent again since the beginning.
    pub(crate) bytes_retrans: u64,
}

impl TcpInfo {
    /// Bytes that the congestion window lets through at once, beyond those that are under way or
    /// queued in the socket (`tcp_packets_in_flight` in the kernel's include/net/tcp.h).
    pub(crate) fn window_credit(&self) -> u64 {
        self.window_room().saturating_sub(self.notsent_bytes.into())
    }

    /// Unsent bytes that the congestion window would let through at once.
    pub(crate) fn unsent_in_window(&self) -> u64 {
        self.window_room().min(self.notsent_bytes.into())
    }

    /// Bytes of the congestion window that are not under way.
    fn window_room(&self) -> u64 {
        let lost = self.sacked.saturating_add(self.lost);
        let under_way = self.unacked.saturating_add(self.retrans).saturating_sub(lost);
        let segments = self.snd_cwnd.saturating_sub(under_way);
        u64::from(segments) * u64::from(self.snd_mss)
    }

    /// The smoothed round trip to the client; zero before the first measurement.
    pub(crate) fn round_trip(&self) -> Duration {
        Duration::from_micros(self.rtt.into())
    }

    /// Bytes that the other end has acknowledged since the beginning, if it has not acknowledged all that was
    /// written.
    pub(crate) fn acknowledged_part(&self) -> Option<u64> {
        (self.unacked > 0 || self.notsent_bytes > 0).then_some(self.bytes_acked)
    }

    /// Whether a whole segment is written that TCP has not sent yet.
    pub(crate) fn has_unsent_segment(&self) -> bool {
        self.notsent_bytes >= self.snd_mss.max(1)
    }

    /// Whether the other end has closed its side, or both.
    pub(crate) fn is_closed_by_peer(&self) -> bool {
        // TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_CLOSING (include/net/tcp_states.h).
        matches!(self.state, 7 | 8 | 9 | 11)
    }
}

/// What TCP knows of a connection, or of a listener. Fields that an old kernel lacks are zero.
pub(crate) fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    // SAFETY: every bit pattern is a valid `TcpInfo`.
    unsafe { option(socket, libc::IPPROTO_TCP, libc::TCP_INFO) }
}

/// What the kernel tells of a socket's option; what it does not fill in keeps its default.
///
/// # Safety
///
/// Every bit pattern must be a valid `T`.
unsafe fn option<T: Default>(
    socket: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which outlives the call; the kernel writes at
    // most `length` bytes.
    let result = unsafe {
        let descriptor = socket.as_fd().as_raw_fd();
        libc::getsockopt(descriptor, level, name, (&raw mut value).cast(), &raw mut length)
    };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Bytes that were written to the connection and not yet acknowledged by the client.
pub(crate) fn unacknowledged(socket: impl AsFd) -> io::Result<u64> {
    let mut bytes = MaybeUninit::<libc::c_int>::zeroed();
    // SAFETY: TIOCOUTQ (SIOCOUTQ) writes one int to the pointer, which is valid for the call.
    let result =
        unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, bytes.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was zeroed, and the kernel wrote an int.
    Ok(u64::try_from(unsafe { bytes.assume_init() }).unwrap_or(0))
}

/// Bytes of memory that packets of the connection take in this host's queues: those that TCP has given to
/// a device and that have not left it. What is on its way to the client does not count, nor do
/// acknowledgements. Of a Unix socket it is what the peer has not read.
pub(crate) fn queued_here(socket: impl AsFd) -> io::Result<u64> {
    /// Where SO_MEMINFO has it (SK_MEMINFO_WMEM_ALLOC of include/uapi/linux/sock_diag.h), which is what
    /// TCP itself goes by to keep its queues short (tcp_small_queue_check in net/ipv4/tcp_output.c).
    const AT: usize = 2;
    /// The beginning of what SO_MEMINFO tells; an old kernel tells no less.
    type MemInfo = [u32; AT + 1];
    // SAFETY: integers have no invalid bit patterns.
    let info: MemInfo = unsafe { option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO) }?;
    Ok(info[AT].into())
}

/// Has a listener's new connections wait in the kernel until their first bytes have come, up to about `wait`
/// (TCP_DEFER_ACCEPT, tcp(7)); the kernel counts in seconds. A `wait` of zero: they do not wait.
pub(crate) fn defer_accept(listener: impl AsFd, wait: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(wait.as_secs()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the pointer and the length describe `seconds`, which outlives the call; the kernel only
    // reads it.
    let result = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether all of a file's bytes in a range are in memory: cachestat(2), which tells the owner of
/// the file only, and not before Linux 6.5.
///
/// # Errors
///
/// It does not tell.
pub fn pages_in_memory(file: impl AsFd, offset: u64, count: u64) -> io::Result<bool> {
    /// `struct cachestat_range` (include/uapi/linux/mman.h).
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    /// `struct cachestat`.
    #[repr(C)]
    #[derive(Default)]
    struct Pages {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    /// The same on all architectures; libc does not name it on all (asm-generic/unistd.h).
    const SYS_CACHESTAT: libc::c_long = 451;
    let page = rustix::param::page_size() as u64;
    if count == 0 {
        return Ok(true);
    }
    let range = Range { offset, length: count };
    let mut pages = Pages::default();
    // SAFETY: both pointers are to values of the layout that the kernel documents, which outlive
    // the call; it reads the first and writes the second.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_fd().as_raw_fd(), &raw const range, &raw mut pages, 0)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(pages.cached > (offset + count - 1) / page - offset / page)
}

/// The `count` descriptors that a service manager has opened for this process, from 3 on
/// (sd_listen_fds(3)). Programs that this one starts do not get them. A second call returns none: they have
/// an owner then.
///
/// # Errors
///
/// One of them is not open.
fn descriptors_from_start(count: usize) -> io::Result<Vec<OwnedFd>> {
    /// SD_LISTEN_FDS_START.
    const FIRST: RawFd = 3;
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if count == 0 || TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let end = FIRST.saturating_add(RawFd::try_from(count).unwrap_or(RawFd::MAX));
    let owned = (FIRST..end).map(|number| {
        // SAFETY: it is given no pointer, and an error if nothing is open under the number.
        if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open. The service manager opened it for this process before that began, so nobody
        // here has been told of it, and this happens once.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    });
    owned.collect()
}

/// What stays the same descriptor for as long as it is held.
pub(crate) trait Lasting: AsRawFd {}

impl Lasting for OwnedFd {}
impl Lasting for Rc<OwnedFd> {}

/// Has the runtime tell when `descriptor` is ready.
pub(crate) fn watch<D: Lasting>(descriptor: D, interest: Interest) -> io::Result<AsyncFd<D>> {
    // SAFETY: an `OwnedFd`, shared or not, is one descriptor from its making to its end, and the
    // `AsyncFd` holds it; nobody here takes it out or replaces it.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
    Ok(watched?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_owner_is_told_what_is_in_memory() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 10_000]).unwrap();
        assert!(pages_in_memory(&file, 0, 10_000).unwrap());
        assert!(pages_in_memory(&file, 4095, 2).unwrap());
        assert!(!pages_in_memory(&file, 0, 20_000).unwrap());
    }

    #[test]
    fn tcp_tells_what_it_knows() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let waiting = tcp_info(&listener).unwrap();
        assert_eq!(waiting.unacked, 1);
        assert!(waiting.sacked >= 1);
        let (server, _) = listener.accept().unwrap();
        client.write_all(b"0123456789").unwrap();
        let info = tcp_info(&client).unwrap();
        assert!(info.snd_mss >= 536);
        assert_eq!((info.data_segs_out, info.bytes_retrans), (1, 0));
        assert!(info.segs_out >= 1);
        assert!(unacknowledged(&client).unwrap() <= 10);
        // Loopback has no queue.
        assert_eq!((queued_here(&client).unwrap(), info.unsent_in_window()), (0, 0));
        drop(server);
    }
}
