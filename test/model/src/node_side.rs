//! A Node program's side: the ring and the waiting machine of lib/channel/. Each function names the one that it mirrors.
//!
//! Simplified: a turn of the event loop has no time limit, at most one call is pending, and a look is a single look.
use crate::memory::{End, Over};
use crate::sites::{kept, Atomics};
use loom::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::Ordering;

const FOR_DATA: u32 = 1;
const FOR_ROOM: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    Looking,
    Asleep,
}

pub struct Node {
    pub end: End,
    atomics: Atomics,
    // lib/channel/ring-writer.js
    position: u32,
    cleared: u32,
    peer_read: u32,
    held: Option<u32>,
    rung_for_data: u32,
    // lib/channel/ring-reader.js
    read: u32,
    announced: u32,
    each: bool, // announce each frame
    streak: u32,
    rung_for_room: u32,
    must_ring: bool,
    // lib/channel/connection.js
    asleep: u32,
    over: Option<Over>,
    // lib/channel/pump.js
    pub may_look: bool,
    phase: Phase,
    looked: bool,
    moved: u32,
    receiving: bool,
    sending: Option<u32>,
    received: Option<Result<u32, Over>>,
    sent: Option<Result<(), Over>>,
}

impl Node {
    pub fn new(end: End, may_look: bool) -> Node {
        Node {
            end,
            atomics: Atomics::default(),
            position: 0,
            cleared: 0,
            peer_read: 0,
            held: None,
            rung_for_data: 0,
            read: 0,
            announced: 0,
            each: false,
            streak: 0,
            rung_for_room: 0,
            must_ring: false,
            asleep: 0,
            over: None,
            may_look,
            phase: Phase::Idle,
            looked: false,
            moved: 0,
            receiving: false,
            sending: None,
            received: None,
            sent: None,
        }
    }

    // ---- The ring: writing ----

    /// lib/channel/ring-writer.js: hasRoom
    fn has_room(&mut self) -> bool {
        let needed = 2; // the frame, and the end mark behind it
        if self.end.capacity - (self.position - self.peer_read) >= needed {
            return true;
        }
        self.peer_read = self.atomics.load("RingWriter.hasRoom: Atomics.load", &self.end.peer.read_position);
        self.end.capacity - (self.position - self.peer_read) >= needed
    }

    /// lib/channel/ring-writer.js: isReady
    fn writer_is_ready(&self) -> bool {
        self.atomics.load("RingWriter.isReady: Atomics.load", &self.end.peer.read_position) != self.peer_read
    }

    /// lib/channel/ring-writer.js: write
    fn ring_write(&mut self, message: u32) -> bool {
        if !self.has_room() {
            return false;
        }
        let region = &self.end.mine;
        let next = self.position + 1;
        if next != self.cleared && kept("RingWriter.write: the end mark") {
            self.end.frame(region, next).signal.store(0, Relaxed);
        }
        let frame = self.end.frame(region, self.position);
        // SAFETY: loom reports a race.
        frame.payload.with_mut(|payload| unsafe { *payload = message });
        if self.held.is_some() {
            frame.signal.store(1, Relaxed);
        } else {
            self.held = Some(self.position);
        }
        self.position = next;
        true
    }

    /// lib/channel/ring-writer.js: publish
    fn ring_publish(&mut self) -> bool {
        if let Some(held) = self.held.take() {
            let signal = &self.end.frame(&self.end.mine, held).signal;
            self.atomics.store("RingWriter.publish: Atomics.store", signal, 1);
            self.clear_ahead();
        }
        if !self.end.peer_may_sleep {
            return false;
        }
        let count = self.atomics.load("RingWriter.publish: Atomics.load", &self.end.peer.waiting_for_data);
        if count & 1 == 0 || (kept("RingWriter.publish: a sleep is rung once") && count == self.rung_for_data) {
            return false;
        }
        self.rung_for_data = count;
        true
    }

    /// lib/channel/ring-writer.js: #clearAhead
    fn clear_ahead(&mut self) {
        let ahead = self.position + 1;
        if ahead + 1 - self.peer_read > self.end.capacity && kept("RingWriter.#clearAhead: only what was read") {
            self.cleared = self.position;
            return;
        }
        self.end.frame(&self.end.mine, ahead).signal.store(0, Relaxed);
        self.cleared = ahead;
    }

    // ---- The ring: reading ----

    /// lib/channel/ring-reader.js: peekMessage
    fn peek_message(&mut self) -> bool {
        let signal = &self.end.frame(&self.end.peer, self.read).signal;
        let found = self.atomics.load("RingReader.peekMessage: Atomics.load", signal) != 0;
        if !found && self.streak != 0 {
            self.caught_up();
        }
        found
    }

    /// lib/channel/ring-reader.js: peek
    fn peek(&mut self) -> bool {
        let signal = &self.end.frame(&self.end.peer, self.read).signal;
        let found = self.atomics.load("RingReader.peek: Atomics.load", signal) != 0;
        if !found && self.streak != 0 {
            self.caught_up();
        }
        found
    }

    /// lib/channel/ring-reader.js: isReady
    fn reader_is_ready(&self) -> bool {
        let signal = &self.end.frame(&self.end.peer, self.read).signal;
        self.atomics.load("RingReader.isReady: Atomics.load", signal) != 0
    }

    /// lib/channel/ring-reader.js: #caughtUp
    fn caught_up(&mut self) {
        self.announce_rest();
        self.streak = 0;
    }

    /// lib/channel/ring-reader.js: #announce
    fn announce(&mut self) {
        self.announced = self.read;
        self.atomics.store("RingReader.#announce: Atomics.store", &self.end.mine.read_position, self.read);
        if !self.end.peer_may_sleep {
            return;
        }
        let count = self.atomics.load("RingReader.#announce: Atomics.load", &self.end.peer.waiting_for_room);
        let rung = kept("RingReader.#announce: a sleep is rung once") && count == self.rung_for_room;
        if count & 1 != 0 && !rung {
            self.rung_for_room = count;
            self.must_ring = true;
        }
    }

    /// lib/channel/ring-reader.js: announceRest
    fn announce_rest(&mut self) {
        if self.announced != self.read && kept("RingReader.announceRest: before a wait") {
            self.announce();
        }
    }

    /// lib/channel/ring-reader.js: announceEach
    pub fn announce_each(&mut self, yes: bool) {
        self.each = yes;
    }

    /// lib/channel/ring-reader.js: consume
    fn consume(&mut self) {
        self.read += 1;
        self.streak += 1;
        // A sixteenth of the model's ring is less than a frame, so without this limit each frame would be announced.
        if self.each || self.read - self.announced >= self.end.capacity {
            self.announce();
        }
    }

    // ---- The connection ----

    /// lib/channel/connection.js: write
    fn write(&mut self, message: u32) -> bool {
        let written = self.ring_write(message);
        if !written {
            self.publish();
        }
        written
    }

    /// lib/channel/connection.js: publish
    fn publish(&mut self) {
        if self.ring_publish() && kept("Connection.publish: the doorbell") {
            self.end.peer_socket.ring();
        }
    }

    /// lib/channel/connection.js: flush
    fn flush(&mut self) {
        if self.held.is_some() && self.over.is_none() {
            self.publish();
        }
    }

    /// lib/channel/connection.js: showAll
    fn show_all(&mut self) {
        self.flush();
        self.announce_rest();
        self.ring_for_room();
    }

    /// lib/channel/connection.js: ringForRoom
    fn ring_for_room(&mut self) {
        if self.must_ring {
            self.must_ring = false;
            if kept("Connection.ringForRoom: the doorbell") {
                self.end.peer_socket.ring();
            }
        }
    }

    /// lib/channel/connection.js: announceSleep
    fn announce_sleep(&mut self, wanted: u32) -> bool {
        let changed = self.asleep ^ wanted;
        if changed == 0 {
            return false;
        }
        if changed & FOR_DATA != 0 {
            self.atomics.add("Connection.announceSleep: Atomics.add", &self.end.mine.waiting_for_data);
        }
        if changed & FOR_ROOM != 0 {
            self.atomics.add("Connection.announceSleep: Atomics.add 2", &self.end.mine.waiting_for_room);
        }
        self.end.sleeps.fetch_add((wanted & changed).count_ones(), Ordering::Relaxed);
        self.announce_each(wanted != 0);
        self.asleep = wanted;
        wanted & changed != 0
    }

    /// lib/channel/connection.js: answerDoorbell
    fn answer_doorbell(&mut self) {
        self.check_peer();
    }

    /// lib/channel/connection.js: checkPeer
    fn check_peer(&mut self) {
        if self.over.is_some() {
            return;
        }
        let socket_first = kept("Connection.checkPeer: the socket before the word");
        let mut connected = !socket_first || self.end.socket.drain();
        let closed = self.atomics.load("Connection.checkPeer: Atomics.load", &self.end.peer.closed) != 0;
        if !socket_first {
            connected = self.end.socket.drain();
        }
        if !connected || closed {
            self.over = Some(if closed { Over::PeerClosed } else { Over::PeerDied });
        }
    }

    /// lib/channel/connection.js: close
    pub fn close(&mut self) {
        self.ring_publish();
        self.announce_sleep(0);
        let word_first = kept("Connection.close: the word before the socket");
        if !word_first {
            self.end.die();
        }
        self.atomics.store("Connection.close: Atomics.store", &self.end.mine.closed, 1);
        if word_first {
            self.end.die();
        }
    }

    // ---- Pending calls ----

    /// lib/channel/arrivals.js: take
    fn take(&mut self) -> Option<u32> {
        if !self.peek_message() {
            let found = self.peek();
            self.ring_for_room();
            if !found {
                return None;
            }
        }
        let frame = self.end.frame(&self.end.peer, self.read);
        // SAFETY: loom reports a race.
        let message = frame.payload.with(|payload| unsafe { *payload });
        self.consume();
        self.ring_for_room();
        Some(message)
    }

    /// lib/channel/incoming.js: attempt
    fn attempt(&mut self) -> Option<Result<u32, Over>> {
        if let Some(message) = self.take() {
            return Some(Ok(message));
        }
        let over = self.over?;
        if self.reader_is_ready() { None } else { Some(Err(over)) }
    }

    /// lib/channel/incoming.js: receive
    pub fn receive(&mut self) -> Result<u32, Over> {
        if let Some(now) = self.attempt() {
            return now;
        }
        self.receiving = true;
        self.begin();
        self.event_loop();
        self.received.take().unwrap()
    }

    /// A receive() is pending while other code polls, until the peer is checked.
    pub fn receive_beside_polling(&mut self) -> Result<u32, Over> {
        self.receiving = true;
        self.begin();
        self.looked();
        self.event_loop();
        self.received.take().unwrap()
    }

    /// lib/channel/channel.js: tryReceive
    pub fn try_receive(&mut self) -> Option<u32> {
        self.take()
    }

    /// lib/channel/outgoing.js: trySend
    pub fn try_send(&mut self, message: u32) -> bool {
        let written = self.write(message);
        if written {
            self.publish();
        }
        written
    }

    /// lib/channel/outgoing.js: send
    pub fn send(&mut self, message: u32) -> Result<(), Over> {
        if self.write(message) {
            self.publish();
            return Ok(());
        }
        self.sending = Some(message);
        self.begin();
        self.event_loop();
        self.sent.take().unwrap()
    }

    // ---- The pump ----

    /// libuv polls the socket; a look continues in the next microtask. Returns when no call is pending.
    fn event_loop(&mut self) {
        while self.wanted() != 0 {
            match self.phase {
                Phase::Looking => self.look(),
                Phase::Asleep => {
                    self.end.socket.wait_readable();
                    self.answer_doorbell();
                    self.wake();
                }
                Phase::Idle => panic!("a call is pending, and nothing will serve it"),
            }
        }
    }

    fn wanted(&self) -> u32 {
        (if self.receiving { FOR_DATA } else { 0 }) | (if self.sending.is_some() { FOR_ROOM } else { 0 })
    }

    /// lib/channel/pump.js: begin
    fn begin(&mut self) {
        self.looked = false;
        self.moved = self.read + self.position;
        if self.phase == Phase::Idle && self.may_look {
            self.enter(Phase::Looking);
        } else {
            self.run();
        }
    }

    /// lib/channel/pump.js: wake
    fn wake(&mut self) {
        self.looked = false;
        self.enter(Phase::Idle);
        self.run();
    }

    /// lib/channel/pump.js: looked
    /// After many looks. The check may take a doorbell that was meant for a pending call.
    fn looked(&mut self) {
        self.check_peer();
        if kept("Pump.looked: the wake-up") {
            self.wake();
        }
    }

    /// lib/channel/pump.js: run
    fn run(&mut self) {
        self.serve();
        while self.settle() && kept("Pump.run: the check after the announcement") {
            self.serve();
        }
    }

    /// lib/channel/pump.js: #serve
    fn serve(&mut self) {
        self.flush();
        if self.receiving {
            self.received = self.attempt();
            self.receiving = self.received.is_none();
        }
        if let Some(over) = self.over {
            self.end_waits(over);
            return;
        }
        if let Some(message) = self.sending {
            if self.write(message) {
                self.sending = None;
                self.sent = Some(Ok(()));
            }
            self.flush();
        }
    }

    /// lib/channel/pump.js: #endWaits
    fn end_waits(&mut self, over: Over) {
        if self.sending.take().is_some() {
            self.sent = Some(Err(over));
        }
    }

    /// lib/channel/pump.js: #settle
    fn settle(&mut self) -> bool {
        let wanted = self.wanted();
        if wanted == 0 || self.over.is_some() {
            self.enter(Phase::Idle);
            return false;
        }
        if self.moved != self.read + self.position {
            self.moved = self.read + self.position;
            self.looked = false;
        }
        self.show_all();
        if self.may_look && !self.looked {
            self.enter(Phase::Looking);
            return false;
        }
        self.enter(Phase::Asleep);
        self.announce_sleep(wanted)
    }

    /// lib/channel/pump.js: #enter
    fn enter(&mut self, phase: Phase) {
        if phase == self.phase {
            return;
        }
        if self.phase == Phase::Asleep {
            self.announce_sleep(0);
        }
        self.phase = phase;
    }

    /// lib/channel/pump.js: isReady
    fn is_ready(&self) -> bool {
        (self.sending.is_some() && self.writer_is_ready()) || (self.receiving && self.reader_is_ready())
    }

    /// lib/channel/pump.js: look
    fn look(&mut self) {
        self.show_all();
        self.is_ready();
        self.leave_lookout();
    }

    /// lib/channel/pump.js: #leaveLookout
    fn leave_lookout(&mut self) {
        self.looked = true;
        self.enter(Phase::Idle);
        self.run();
    }

    // ---- receiveSync() ----

    /// lib/channel/blocking.js: receiveBlocking
    pub fn receive_sync(&mut self) -> Result<u32, Over> {
        self.flush();
        self.announce_sleep(0);
        loop {
            if let Some(message) = self.attempt() {
                return message;
            }
            self.answer_doorbell();
            if let Some(last) = self.attempt() {
                return last;
            }
            self.sleep();
        }
    }

    /// lib/channel/blocking.js: sleep
    fn sleep(&mut self) {
        self.announce_sleep(FOR_DATA);
        if !(kept("sleep: the check after the announcement") && self.reader_is_ready()) {
            self.end.socket.wait_readable();
        }
        self.announce_sleep(0);
    }
}
