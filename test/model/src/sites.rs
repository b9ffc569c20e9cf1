//! The sites: every access, fence and step of the protocol that a mutant can weaken or leave out. A site's name is the
//! function that it mirrors and what stands there, as in "ring_publish: ring_store_release". model.test.js compares
//! the names with the code.
use loom::sync::atomic::{fence, AtomicU32, Ordering};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// The site that this run weakens. Empty: none.
pub static MUTANT: OnceLock<String> = OnceLock::new();

/// Every site that this run has passed.
pub static PASSED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Is this site as in the code? False if this run leaves it out.
pub fn kept(site: &'static str) -> bool {
    PASSED.lock().unwrap().insert(site);
    MUTANT.get().is_none_or(|mutant| mutant != site)
}

/// The memory order of an access: Relaxed if this run weakens it.
pub fn order(site: &'static str, order: Ordering) -> Ordering {
    if kept(site) { order } else { Ordering::Relaxed }
}

/// ring_full_fence() of native/ring.h.
pub fn full_fence(site: &'static str) {
    if kept(site) {
        fence(Ordering::SeqCst);
    }
}

/// The Atomics of JavaScript, for one thread. They are sequentially consistent. loom knows SeqCst fences but treats SeqCst
/// accesses as AcqRel (https://github.com/tokio-rs/loom/issues/180). Therefore a store is modeled as a release store, a
/// load as an acquire load, and there is a SeqCst fence between a store and the next load. A weakened site is a plain
/// access: it has no order and causes no fence.
#[derive(Default)]
pub struct Atomics {
    stored: Cell<bool>, // there was a store since the last load
}

impl Atomics {
    pub fn load(&self, site: &'static str, word: &AtomicU32) -> u32 {
        if !kept(site) {
            return word.load(Ordering::Relaxed);
        }
        self.fence();
        word.load(Ordering::Acquire)
    }

    pub fn store(&self, site: &'static str, word: &AtomicU32, value: u32) {
        if kept(site) {
            word.store(value, Ordering::Release);
            self.stored.set(true);
        } else {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Only the owner writes the word, so a plain `word += 1` would count correctly, too.
    pub fn add(&self, site: &'static str, word: &AtomicU32) {
        if kept(site) {
            word.fetch_add(1, Ordering::AcqRel);
            self.stored.set(true);
        } else {
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn fence(&self) {
        if self.stored.take() {
            fence(Ordering::SeqCst);
        }
    }
}
