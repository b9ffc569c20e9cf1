//! The ring and its sleep protocol as a model. For each scenario, loom runs the two sides in every order of their accesses,
//! and with every value that each load may return under the C11 memory model.
//!
//! usage: crossings-model [--mutant SITE]
//!
//! Prints the number of executions of each scenario, then every site. Exits with 101 at the first failure.
mod c_side;
mod memory;
mod node_side;
mod sites;

use c_side::{CReceiver, CSender};
use loom::thread;
use memory::{new_channel, End, Over};
use node_side::Node;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;

trait Sender {
    fn end(&self) -> &End;
    fn send(&mut self, message: u32) -> Result<(), Over>;
    fn close(&mut self);
}

trait Receiver {
    fn end(&self) -> &End;
    fn receive(&mut self) -> Result<u32, Over>;
    fn close(&mut self);
}

macro_rules! side {
    ($trait:ident for $type:ident, $call:ident($($argument:ident: u32)?) -> $result:ty) => {
        impl $trait for $type {
            fn end(&self) -> &End {
                &self.end
            }
            fn $call(&mut self, $($argument: u32)?) -> $result {
                $type::$call(self, $($argument)?)
            }
            fn close(&mut self) {
                $type::close(self)
            }
        }
    };
}

side!(Sender for CSender, send(message: u32) -> Result<(), Over>);
side!(Sender for Node, send(message: u32) -> Result<(), Over>);
side!(Receiver for CReceiver, receive() -> Result<u32, Over>);
side!(Receiver for Node, receive() -> Result<u32, Over>);

/// Node, with receiveSync() instead of receive().
struct Blocking(Node);

impl Receiver for Blocking {
    fn end(&self) -> &End {
        &self.0.end
    }
    fn receive(&mut self) -> Result<u32, Over> {
        self.0.receive_sync()
    }
    fn close(&mut self) {
        self.0.close()
    }
}

type NewSender = fn(End) -> Box<dyn Sender>;
type NewReceiver = fn(End) -> Box<dyn Receiver>;

const SENDERS: [(&str, NewSender); 3] = [
    ("C", |end| Box::new(CSender::new(end))),
    ("Node", |end| Box::new(Node::new(end, false))),
    ("Node that looks", |end| Box::new(Node::new(end, true))),
];

const RECEIVERS: [(&str, NewReceiver); 4] = [
    ("C", |end| Box::new(CReceiver::new(end))),
    ("Node", |end| Box::new(Node::new(end, false))),
    ("Node that looks", |end| Box::new(Node::new(end, true))),
    ("Node that blocks", |end| Box::new(Blocking(Node::new(end, false)))),
];

/// How a side ends.
#[derive(Clone, Copy)]
enum Ending {
    Stays,
    Closes,
    Dies,
}

/// Send `messages` through a ring of `capacity` slots. The first `before` of them are there when the sides start, so that
/// they need not be explored in every order. Then the sender ends.
fn stream(new: (NewSender, NewReceiver), capacity: u32, before: u32, messages: u32, ending: Ending) {
    let (a, b) = new_channel(capacity, true);
    let ends = (a.clone(), b.clone());
    let mut sender = new.0(a);
    let mut receiver = new.1(b);
    for n in 1..=before {
        sender.send(n).unwrap();
    }
    let sending = thread::spawn(move || {
        for n in before + 1..=messages {
            assert_eq!(sender.send(n), Ok(()));
        }
        match ending {
            Ending::Stays => (),
            Ending::Closes => sender.close(),
            Ending::Dies => sender.end().die(),
        }
    });
    for n in 1..=messages {
        assert_eq!(receiver.receive(), Ok(n), "every message arrives once, in order");
    }
    match ending {
        Ending::Stays => (),
        Ending::Closes => assert_eq!(receiver.receive(), Err(Over::PeerClosed)),
        Ending::Dies => assert_eq!(receiver.receive(), Err(Over::PeerDied)),
    }
    sending.join().unwrap();
    for end in [ends.0, ends.1] {
        let (rings, sleeps) = (end.socket.rings.load(Relaxed), end.sleeps.load(Relaxed));
        assert!(rings <= sleeps, "a sleep is rung once: {rings} rings, {sleeps} sleeps");
    }
}

/// The ring is full and its receiver ends while the sender waits for room.
fn receiver_ends(new: (NewSender, NewReceiver), ending: Ending) {
    let (a, b) = new_channel(2, true);
    let mut sender = new.0(a);
    let mut receiver = new.1(b);
    sender.send(1).unwrap();
    let sending = thread::spawn(move || sender.send(2));
    let over = match ending {
        Ending::Dies => {
            receiver.end().die();
            Over::PeerDied
        }
        _ => {
            receiver.close();
            Over::PeerClosed
        }
    };
    assert_eq!(sending.join().unwrap(), Err(over));
}

/// Both sides only poll. The ring has two slots, so each is used again and again.
fn polling_c() {
    let (a, b) = new_channel(2, false);
    let sending = thread::spawn(move || {
        let mut sender = CSender::new(a);
        for n in 1..=3 {
            while !sender.try_send(n) {
                thread::yield_now();
            }
        }
    });
    let mut receiver = CReceiver::new(b);
    for n in 1..=3 {
        let message = loop {
            match receiver.try_receive() {
                Some(message) => break message,
                None => thread::yield_now(),
            }
        };
        assert_eq!(message, n);
    }
    sending.join().unwrap();
}

/// A batch is published by its first frame's signal.
fn batch_c() {
    let (a, b) = new_channel(3, true);
    let sending = thread::spawn(move || {
        let mut sender = CSender::new(a);
        sender.corked = true;
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        sender.uncork();
    });
    let mut receiver = CReceiver::new(b);
    assert_eq!(receiver.receive(), Ok(1));
    assert_eq!(receiver.try_receive(), Some(2), "the whole batch is visible at once");
    sending.join().unwrap();
}

/// Explore one scenario completely.
fn check(name: String, scenario: impl Fn() + Send + Sync + 'static) {
    if std::env::var("S").is_ok_and(|s| !name.contains(&s)) { return }
    let executions = Arc::new(AtomicU64::new(0));
    let counter = executions.clone();
    let began = Instant::now();
    eprintln!("scenario {name}");
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = None; // exhaustive
    builder.max_branches = 10_000;
    builder.check(move || {
        counter.fetch_add(1, Relaxed);
        scenario();
    });
    println!("scenario {name}: {} executions, {} ms", executions.load(Relaxed), began.elapsed().as_millis());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => (),
        [option, site] if option == "--mutant" => sites::MUTANT.set(site.clone()).unwrap(),
        _ => {
            eprintln!("usage: crossings-model [--mutant SITE]");
            std::process::exit(2);
        }
    }
    check("polling: C to C".to_string(), polling_c);
    check("batch: C to C".to_string(), batch_c);
    for (from, sender) in SENDERS {
        for (to, receiver) in RECEIVERS {
            let new = (sender, receiver);
            let named = |what: &str| format!("{what}: {from} to {to}");
            check(named("one message"), move || stream(new, 3, 0, 1, Ending::Stays));
            check(named("two messages"), move || stream(new, 3, 0, 2, Ending::Stays));
            check(named("a full ring"), move || stream(new, 2, 1, 2, Ending::Stays));
            check(named("the sender closes"), move || stream(new, 3, 0, 1, Ending::Closes));
            check(named("the sender dies"), move || stream(new, 3, 0, 1, Ending::Dies));
            check(named("the receiver closes"), move || receiver_ends(new, Ending::Closes));
            check(named("the receiver dies"), move || receiver_ends(new, Ending::Dies));
        }
    }
    for site in sites::PASSED.lock().unwrap().iter() {
        println!("site {site}");
    }
}
