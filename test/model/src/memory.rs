//! What the two sides share: a region each, as in native/ring.h, and a socket.
//!
//! Simplified: every frame takes one slot, positions count slots and do not wrap (the ring does), and a frame has no kind.
//! Regions map read-only at the peer, so each word below has one writer.
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::sync::Arc;
use loom::thread::{self, Thread};
use std::sync::atomic::{AtomicU32 as Counter, Ordering::{AcqRel, Relaxed}};

/// native/ring.h: ring_frame
pub struct Frame {
    /// 0: not yet published.
    pub signal: AtomicU32,
    /// Copied without atomics. loom fails if a read and a write of it are not ordered.
    pub payload: UnsafeCell<u32>,
}

/// native/ring.h: ring_region
pub struct Region {
    pub frames: Vec<Frame>,
    pub read_position: AtomicU32,
    pub waiting_for_data: AtomicU32,
    pub waiting_for_room: AtomicU32,
    pub closed: AtomicU32,
}

/// One side's end of the socket. The kernel's lock on the queue orders what happens before send() and close() with what
/// happens after the recv() that sees them, and so do these read-modify-writes.
#[derive(Default)]
pub struct Socket {
    queue: AtomicU32, // rings that wait, and ENDED
    waiter: std::sync::Mutex<Option<Thread>>,
    pub rings: Counter, // for the check at the end; not part of the protocol
}

const ENDED: u32 = 1 << 31;

impl Socket {
    fn add(&self, what: u32) {
        self.queue.fetch_add(what, AcqRel);
        if let Some(waiter) = self.waiter.lock().unwrap().as_ref() {
            waiter.unpark();
        }
    }

    /// native/doorbell.c: doorbell_ring
    pub fn ring(&self) {
        self.rings.fetch_add(1, Relaxed);
        self.add(1);
    }

    /// native/doorbell.c: doorbell_drain
    pub fn drain(&self) -> bool {
        self.queue.fetch_and(ENDED, AcqRel) & ENDED == 0
    }

    /// native/deadline.h: wait_readable
    pub fn wait_readable(&self) {
        *self.waiter.lock().unwrap() = Some(thread::current());
        while self.queue.fetch_add(0, AcqRel) == 0 {
            thread::park();
        }
        *self.waiter.lock().unwrap() = None;
    }

    /// The peer closes its end, or the kernel does because the peer has died.
    pub fn end(&self) {
        self.add(ENDED);
    }
}

/// What one side has: its own region, the peer's, and both ends of the socket (a side waits at its own and rings the
/// peer's).
#[derive(Clone)]
pub struct End {
    pub mine: Arc<Region>,
    pub peer: Arc<Region>,
    pub socket: Arc<Socket>,
    pub peer_socket: Arc<Socket>,
    pub capacity: u32,
    /// False: the peer has RING_FLAG_NEVER_SLEEPS.
    pub peer_may_sleep: bool,
    /// How often this side announced a sleep, for the check at the end.
    pub sleeps: std::sync::Arc<Counter>,
}

/// Both ends of a new channel. Only the first one's ring is used.
pub fn new_channel(capacity: u32, may_sleep: bool) -> (End, End) {
    let region = |slots| {
        Arc::new(Region {
            frames: (0..slots).map(|_| Frame { signal: AtomicU32::new(0), payload: UnsafeCell::new(0) }).collect(),
            read_position: AtomicU32::new(0),
            waiting_for_data: AtomicU32::new(0),
            waiting_for_room: AtomicU32::new(0),
            closed: AtomicU32::new(0),
        })
    };
    let (mine, peer) = (region(capacity), region(0));
    let (socket, peer_socket) = (Arc::new(Socket::default()), Arc::new(Socket::default()));
    let end = End { mine, peer, socket, peer_socket, capacity, peer_may_sleep: may_sleep, sleeps: Default::default() };
    let mut other = end.clone();
    (other.mine, other.peer) = (end.peer.clone(), end.mine.clone());
    (other.socket, other.peer_socket) = (end.peer_socket.clone(), end.socket.clone());
    other.sleeps = Default::default();
    (end, other)
}

impl End {
    /// The frame at a position of a ring.
    pub fn frame<'a>(&self, region: &'a Region, position: u32) -> &'a Frame {
        &region.frames[(position % self.capacity) as usize]
    }

    /// The process dies: the kernel closes its socket. Nothing else is written.
    pub fn die(&self) {
        self.peer_socket.end();
    }
}

/// What a call that waits returns when there is nothing more to wait for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    PeerClosed,
    PeerDied,
}
