//! The ring and its sleep protocol as a model. For each scenario, loom runs the two sides in every order of their accesses,
//! and with every value that each load may return under the C11 memory model.
//!
//! usage: crossings-model [--long] [--mutant SITE] [--scenario NAME]
//!
//! Explores the scenarios of the short list, of the long list, or one of them, with one site weakened or none. Prints a
//! line of JSON for each, with the sites that it has passed. Exits with 101 at the first failure.
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

trait Sender {
    fn end(&self) -> &End;
    fn try_send(&mut self, message: u32) -> bool;
    fn send(&mut self, message: u32) -> Result<(), Over>;
    fn close(&mut self);
}

trait Receiver {
    fn end(&self) -> &End;
    fn try_receive(&mut self) -> Option<u32>;
    fn receive(&mut self) -> Result<u32, Over>;
    fn close(&mut self);
}

macro_rules! side {
    ($trait:ident for $type:ident, $try:ident -> $tried:ty, $call:ident($($argument:ident: u32)?) -> $result:ty) => {
        impl $trait for $type {
            fn end(&self) -> &End {
                &self.end
            }
            fn $try(&mut self, $($argument: u32)?) -> $tried {
                $type::$try(self, $($argument)?)
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

side!(Sender for CSender, try_send -> bool, send(message: u32) -> Result<(), Over>);
side!(Sender for Node, try_send -> bool, send(message: u32) -> Result<(), Over>);
side!(Receiver for CReceiver, try_receive -> Option<u32>, receive() -> Result<u32, Over>);
side!(Receiver for Node, try_receive -> Option<u32>, receive() -> Result<u32, Over>);

/// Node, with receiveSync() instead of receive().
struct Blocking(Node);

impl Receiver for Blocking {
    fn end(&self) -> &End {
        &self.0.end
    }
    fn try_receive(&mut self) -> Option<u32> {
        self.0.try_receive()
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
    ("looking Node", |end| Box::new(Node::new(end, true))),
];

const RECEIVERS: [(&str, NewReceiver); 4] = [
    ("C", |end| Box::new(CReceiver::new(end))),
    ("Node", |end| Box::new(Node::new(end, false))),
    ("looking Node", |end| Box::new(Node::new(end, true))),
    ("blocking Node", |end| Box::new(Blocking(Node::new(end, false)))),
];

/// How a side ends.
#[derive(Clone, Copy)]
enum Ending {
    Stays,
    Closes,
    Dies,
}

/// Send `messages` through a ring with room for all of them. Then the sender ends.
fn stream(new: (NewSender, NewReceiver), messages: u32, ending: Ending) {
    let (a, b) = new_channel(3, true);
    let ends = (a.clone(), b.clone());
    let mut sender = new.0(a);
    let mut receiver = new.1(b);
    let sending = thread::spawn(move || {
        for n in 1..=messages {
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
    expect_few_rings(&ends);
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

/// The ring is full, and the sender waits for room until the receiver takes a message and looks once more.
fn full_ring(new: (NewSender, NewReceiver)) {
    let (a, b) = new_channel(2, true);
    let ends = (a.clone(), b.clone());
    let mut sender = new.0(a);
    let mut receiver = new.1(b);
    sender.send(1).unwrap();
    let sending = thread::spawn(move || assert_eq!(sender.send(2), Ok(())));
    assert_eq!(receiver.try_receive(), Some(1));
    if let Some(message) = receiver.try_receive() {
        assert_eq!(message, 2);
    }
    sending.join().unwrap();
    expect_few_rings(&ends);
}

fn expect_few_rings(ends: &(End, End)) {
    for end in [&ends.0, &ends.1] {
        let (rings, sleeps) = (end.socket.rings.load(Relaxed), end.sleeps.load(Relaxed));
        assert!(rings <= sleeps, "a sleep is rung once: {rings} rings, {sleeps} sleeps");
    }
}

/// Both sides only poll, so no fence orders anything. Then the sender closes.
fn polling_until_closed(new: NewSender, messages: u32) {
    let (a, b) = new_channel(2, false);
    let mut sender = new(a);
    let sending = thread::spawn(move || {
        send_polling(&mut *sender, 1, messages);
        sender.close();
    });
    let mut receiver = CReceiver::new(b);
    for n in 1..=messages {
        assert_eq!(receiver.receive_polling(), Ok(n), "every message arrives once, in order");
    }
    assert_eq!(receiver.receive_polling(), Err(Over::PeerClosed));
    sending.join().unwrap();
}

fn send_polling(sender: &mut dyn Sender, first: u32, last: u32) {
    for n in first..=last {
        while !sender.try_send(n) {
            thread::yield_now();
        }
    }
}

/// Both sides only poll, and the sender uses each of the two slots again.
fn polling_a_full_ring(new: (NewSender, NewReceiver)) {
    let (a, b) = new_channel(2, false);
    let mut sender = new.0(a);
    let mut receiver = new.1(b);
    send_polling(&mut *sender, 1, 1);
    let sending = thread::spawn(move || send_polling(&mut *sender, 2, 3));
    let mut next = 1;
    while next <= 2 {
        match receiver.try_receive() {
            Some(message) => assert_eq!(message, next),
            None => {
                thread::yield_now();
                continue;
            }
        }
        next += 1;
    }
    receiver.try_receive();
    sending.join().unwrap();
}

/// Each frame is so large that its read is announced at once: the receiver announces twice while the sender sleeps.
fn large_frames() {
    let (a, b) = new_channel(3, true);
    let ends = (a.clone(), b.clone());
    let mut sender = CSender::new(a);
    let mut receiver = Node::new(b, false);
    receiver.announce_each(true);
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    let sending = thread::spawn(move || assert_eq!(sender.send(3), Ok(())));
    assert_eq!(receiver.try_receive(), Some(1));
    assert_eq!(receiver.try_receive(), Some(2));
    sending.join().unwrap();
    expect_few_rings(&ends);
}

/// A receive() is pending, and other code of the same program polls and thereby takes the doorbell.
fn a_taken_doorbell() {
    let (a, b) = new_channel(3, true);
    let sending = thread::spawn(move || CSender::new(a).send(1).unwrap());
    assert_eq!(Node::new(b, false).receive_beside_polling(), Ok(1));
    sending.join().unwrap();
}

/// A corked sender publishes what it holds when the ring is full: otherwise it would wait for room forever.
fn a_corked_full_ring() {
    let (a, b) = new_channel(2, true);
    let mut sender = CSender::new(a);
    sender.corked = true;
    sender.send(1).unwrap();
    let sending = thread::spawn(move || sender.send(2).unwrap());
    let mut receiver = CReceiver::new(b);
    assert_eq!(receiver.receive(), Ok(1));
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

/// The sides between which a scenario is explored: in the short list, and in addition in the long list. The scenarios
/// left out have millions of executions.
fn lists(what: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match what {
        "two messages" => (&["C to C", "Node to C"], &["C to Node", "C to blocking Node", "looking Node to C"]),
        "the sender closes" => (&["C to C", "C to blocking Node"], &["C to Node", "C to looking Node", "Node to C"]),
        "the sender dies" => (&["C to C", "C to Node"], &ALL),
        _ => (&ALL, &[]),
    }
}

const ALL: [&str; 12] = [
    "C to C",
    "C to Node",
    "C to looking Node",
    "C to blocking Node",
    "Node to C",
    "Node to Node",
    "Node to looking Node",
    "Node to blocking Node",
    "looking Node to C",
    "looking Node to Node",
    "looking Node to looking Node",
    "looking Node to blocking Node",
];

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    long: bool,
    scenario: Option<String>,
}

fn read_arguments() -> Option<Arguments> {
    let mut read = Arguments::default();
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--long" => read.long = true,
            "--scenario" => read.scenario = Some(rest.next()?),
            "--mutant" => sites::MUTANT.set(rest.next()?).ok()?,
            _ => return None,
        }
    }
    Some(read)
}

/// Explore one scenario completely.
fn check(arguments: &Arguments, name: &str, scenario: impl Fn() + Send + Sync + 'static) {
    if arguments.scenario.as_ref().is_some_and(|wanted| wanted != name) {
        return;
    }
    sites::PASSED.lock().unwrap().clear();
    let executions = Arc::new(AtomicU64::new(0));
    let counter = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = None; // every order, not only those with few switches
    builder.max_branches = 10_000;
    builder.check(move || {
        counter.fetch_add(1, Relaxed);
        scenario();
    });
    let passed = sites::PASSED.lock().unwrap();
    let sites: Vec<_> = passed.iter().collect();
    println!("{{\"scenario\": {name:?}, \"executions\": {}, \"sites\": {sites:?}}}", executions.load(Relaxed));
}

fn main() {
    let Some(arguments) = read_arguments() else {
        eprintln!("usage: crossings-model [--long] [--mutant SITE] [--scenario NAME]");
        std::process::exit(2);
    };
    // End at once: while a panic unwinds, loom's objects can no longer be dropped.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::exit(101);
    }));
    let [c, node] = [SENDERS[0].1, SENDERS[1].1];
    check(&arguments, "polling until closed: C to C", move || polling_until_closed(c, 2));
    check(&arguments, "polling until closed: Node to C", move || polling_until_closed(node, 2));
    check(&arguments, "polling a full ring: C to C", move || polling_a_full_ring((c, RECEIVERS[0].1)));
    check(&arguments, "polling a full ring: C to Node", move || polling_a_full_ring((c, RECEIVERS[1].1)));
    check(&arguments, "polling a full ring: Node to C", move || polling_a_full_ring((node, RECEIVERS[0].1)));
    check(&arguments, "large frames: C to Node", large_frames);
    check(&arguments, "a taken doorbell: C to Node", a_taken_doorbell);
    check(&arguments, "a corked full ring: C to C", a_corked_full_ring);
    check(&arguments, "a batch: C to C", batch_c);
    for (from, sender) in SENDERS {
        for (to, receiver) in RECEIVERS {
            let new = (sender, receiver);
            let sides = format!("{from} to {to}");
            let check = |what: &str, scenario: Box<dyn Fn() + Send + Sync>| {
                let (short, long) = lists(what);
                let wanted = short.contains(&&*sides) || (arguments.long && long.contains(&&*sides));
                if wanted || arguments.scenario.is_some() {
                    check(&arguments, &format!("{what}: {sides}"), scenario);
                }
            };
            check("one message", Box::new(move || stream(new, 1, Ending::Stays)));
            check("two messages", Box::new(move || stream(new, 2, Ending::Stays)));
            check("a full ring", Box::new(move || full_ring(new)));
            check("the sender closes", Box::new(move || stream(new, 1, Ending::Closes)));
            check("the sender dies", Box::new(move || stream(new, 1, Ending::Dies)));
            check("the receiver closes", Box::new(move || receiver_ends(new, Ending::Closes)));
            check("the receiver dies", Box::new(move || receiver_ends(new, Ending::Dies)));
        }
    }
}
