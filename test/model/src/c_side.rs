//! A C program's side: the ring of native/ring.h and the waiting of native/messages.c. Each function names the one that
//! it mirrors.
use crate::memory::{End, Over};
use crate::sites::{full_fence, kept, order};
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;
use std::sync::atomic::Ordering;

/// native/ring.h: ring_sleeps
fn ring_sleeps(waiting: &AtomicU32, rung: &mut u32) -> bool {
    full_fence("ring_sleeps: ring_full_fence");
    let count = waiting.load(Relaxed);
    if count % 2 == 0 || (kept("ring_sleeps: a sleep is rung once") && count == *rung) {
        return false;
    }
    *rung = count;
    true
}

/// native/ring.h: ring_begin_waiting
fn ring_begin_waiting(end: &End, waiting: &AtomicU32) {
    end.sleeps.fetch_add(1, Ordering::Relaxed);
    waiting.store(waiting.load(Relaxed) + 1, Relaxed);
    full_fence("ring_begin_waiting: ring_full_fence");
}

/// native/ring.h: ring_end_waiting
fn ring_end_waiting(waiting: &AtomicU32) {
    waiting.store(waiting.load(Relaxed) + 1, Relaxed);
}

/// native/messages.c: check_peer
fn check_peer(end: &End) -> Option<Over> {
    if end.peer.closed.load(order("check_peer: ring_load_acquire", Acquire)) != 0 {
        return Some(Over::PeerClosed);
    }
    if end.socket.drain() {
        return None;
    }
    let closed = end.peer.closed.load(order("check_peer: ring_load_acquire 2", Acquire)) != 0
        && kept("check_peer: the second look at closed");
    Some(if closed { Over::PeerClosed } else { Over::PeerDied })
}

/// The end of crossings_close(): the word first, then the socket.
fn close(end: &End) {
    let word_first = kept("crossings_close: the word before the socket");
    if !word_first {
        end.die();
    }
    end.mine.closed.store(1, order("crossings_close: ring_store_release", Release));
    if word_first {
        end.die();
    }
}

pub struct CSender {
    pub end: End,
    position: u32,
    peer_read: u32,
    held: Option<u32>,
    rung: u32,
    pub corked: bool,
}

impl CSender {
    pub fn new(end: End) -> CSender {
        CSender { end, position: 0, peer_read: 0, held: None, rung: 0, corked: false }
    }

    /// native/ring.h: ring_room
    fn ring_room(&mut self) -> bool {
        let needed = if kept("ring_room: room for the end mark") { 2 } else { 1 };
        if self.end.capacity - (self.position - self.peer_read) >= needed {
            return true;
        }
        self.peer_read = self.end.peer.read_position.load(order("ring_room: ring_load_acquire", Acquire));
        self.end.capacity - (self.position - self.peer_read) >= needed
    }

    /// native/ring.h: ring_write
    fn ring_write(&mut self, message: u32) -> bool {
        if !self.ring_room() {
            return false;
        }
        let frame = self.end.frame(&self.end.mine, self.position);
        // SAFETY: loom reports a race.
        frame.payload.with_mut(|payload| unsafe { *payload = message });
        self.ring_commit();
        true
    }

    /// native/ring.h: ring_commit
    fn ring_commit(&mut self) {
        let region = &self.end.mine;
        if kept("ring_commit: the end mark") {
            self.end.frame(region, self.position + 1).signal.store(0, Relaxed);
        }
        if self.held.is_some() {
            self.end.frame(region, self.position).signal.store(1, Relaxed);
        } else {
            self.held = Some(self.position);
        }
        self.position += 1;
    }

    /// native/ring.h: ring_publish
    fn ring_publish(&mut self) {
        if let Some(held) = self.held.take() {
            let signal = &self.end.frame(&self.end.mine, held).signal;
            signal.store(1, order("ring_publish: ring_store_release", Release));
        }
    }

    /// native/ring.h: ring_reader_sleeps
    fn ring_reader_sleeps(&mut self) -> bool {
        self.end.peer_may_sleep && ring_sleeps(&self.end.peer.waiting_for_data, &mut self.rung)
    }

    /// native/messages.c: publish
    fn publish(&mut self) {
        self.ring_publish();
        if self.ring_reader_sleeps() && kept("publish: the doorbell") {
            self.end.peer_socket.ring();
        }
    }

    /// native/messages.c: crossings_try_send
    pub fn try_send(&mut self, message: u32) -> bool {
        let written = self.ring_write(message);
        if (!written && kept("crossings_try_send: a full ring is published")) || !self.corked {
            self.publish();
        }
        written
    }

    /// native/messages.c: crossings_uncork
    pub fn uncork(&mut self) {
        self.corked = false;
        self.publish();
    }

    /// native/messages.c: block_on
    pub fn send(&mut self, message: u32) -> Result<(), Over> {
        loop {
            if self.try_send(message) {
                return Ok(());
            }
            if let Some(over) = check_peer(&self.end) {
                return Err(over);
            }
            ring_begin_waiting(&self.end, &self.end.mine.waiting_for_room);
            let sent = kept("block_on: the last attempt") && self.try_send(message);
            if !sent {
                self.end.socket.wait_readable();
            }
            ring_end_waiting(&self.end.mine.waiting_for_room);
            if sent {
                return Ok(());
            }
        }
    }

    /// native/channel.c: crossings_close
    pub fn close(&mut self) {
        self.ring_publish();
        close(&self.end);
    }
}

pub struct CReceiver {
    pub end: End,
    position: u32,
    rung: u32,
}

impl CReceiver {
    pub fn new(end: End) -> CReceiver {
        CReceiver { end, position: 0, rung: 0 }
    }

    /// native/ring.h: ring_peek
    fn ring_peek(&self) -> bool {
        let frame = self.end.frame(&self.end.peer, self.position);
        frame.signal.load(order("ring_peek: ring_load_acquire", Acquire)) != 0
    }

    /// native/ring.h: ring_consume
    fn ring_consume(&mut self) {
        self.position += 1;
        let order = order("ring_consume: ring_store_release", Release);
        self.end.mine.read_position.store(self.position, order);
    }

    /// native/ring.h: ring_writer_sleeps
    fn ring_writer_sleeps(&mut self) -> bool {
        self.end.peer_may_sleep && ring_sleeps(&self.end.peer.waiting_for_room, &mut self.rung)
    }

    /// native/messages.c: crossings_try_receive
    pub fn try_receive(&mut self) -> Option<u32> {
        if !self.ring_peek() {
            return None;
        }
        let frame = self.end.frame(&self.end.peer, self.position);
        // SAFETY: loom reports a race.
        let message = frame.payload.with(|payload| unsafe { *payload });
        self.ring_consume();
        if self.ring_writer_sleeps() && kept("crossings_try_receive: the doorbell") {
            self.end.peer_socket.ring();
        }
        Some(message)
    }

    /// native/messages.c: try_last
    fn try_last(&mut self) -> Option<Result<u32, Over>> {
        let over = check_peer(&self.end)?;
        let last = if kept("try_last: what was sent before the end") { self.try_receive() } else { None };
        Some(last.ok_or(over))
    }

    /// native/messages.c: block_on
    pub fn receive(&mut self) -> Result<u32, Over> {
        loop {
            if let Some(message) = self.try_receive() {
                return Ok(message);
            }
            if let Some(end) = self.try_last() {
                return end;
            }
            ring_begin_waiting(&self.end, &self.end.mine.waiting_for_data);
            let message = if kept("block_on: the last attempt") { self.try_receive() } else { None };
            if message.is_none() {
                self.end.socket.wait_readable();
            }
            ring_end_waiting(&self.end.mine.waiting_for_data);
            if let Some(message) = message {
                return Ok(message);
            }
        }
    }

    /// native/messages.c: block_on
    /// With CROSSINGS_SPIN: it does not sleep.
    pub fn receive_polling(&mut self) -> Result<u32, Over> {
        loop {
            if let Some(message) = self.try_receive() {
                return Ok(message);
            }
            if let Some(end) = self.try_last() {
                return end;
            }
            thread::yield_now();
        }
    }

    /// native/channel.c: crossings_close
    pub fn close(&mut self) {
        close(&self.end);
    }
}
