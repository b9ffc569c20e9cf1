'use strict';
// Adaptive spinning: decides for one channel whether a wait first polls the ring (a "look"), which takes processor time but
// no system call, or sleeps at once. It learns from the channel's history: how often a look was answered, and how soon.
//
// - Each look that is answered in time raises the confidence by one; each other look lowers it by two. Looks therefore
//   continue while more than two thirds of them are answered.
// - At zero confidence, the channel sleeps. A short sleep suggests that a look would have been answered. After `backoff`
//   short sleeps, the channel tries one look. Each failed trial doubles the backoff. Trials therefore become rare where
//   the peer shares this side's core and cannot answer during a look: on a single core, or on a busy machine.
const { MOST_EQUAL, now } = require('./clock.js');
const turn = require('./turn.js');

const LOOKS_BEFORE_CLOCK = 200; // about 2 µs: a peer that is also polling usually answers within this time
const LOOKS_PER_READING = 32;
const MAX_CONFIDENCE = 16;
const FIRST_CONFIDENCE = 4;
const MISS_PENALTY = 2;
const QUICK_SLEEP_FACTOR = 5; // a sleep is short if it takes at most this many times the limit; it includes two wake-ups
const MAX_BACKOFF = 1024;
const LATE_FACTOR = 1.5;

class Pacer {
  #limitMs;
  #never; // polling is disabled
  #always; // wait: 'spin'
  #confidence;
  #backoff = 1;
  #quickSleeps = 0; // since the last trial
  #sleepMs = 0; // running mean of short sleeps
  #answerMs = 0; // running mean of the time until a look was answered
  looks = 0;
  answered = 0;

  /** @param {{wait: 'spin-then-sleep' | 'spin' | 'sleep', spinMicros: number}} options */
  constructor({ wait, spinMicros }) {
    this.#always = wait === 'spin';
    this.#never = !this.#always && (wait === 'sleep' || spinMicros === 0);
    this.#limitMs = spinMicros / 1000;
    this.#confidence = this.#never ? 0 : FIRST_CONFIDENCE;
  }

  /** May a wait that begins now look before it sleeps? */
  get mayLook() {
    if (this.#confidence > 0 || this.#always) return true;
    return !this.#never && this.#quickSleeps >= this.#backoff;
  }

  /** True if this channel never sleeps: the option wait is 'spin'. */
  get always() {
    return this.#always;
  }

  /** How long a look may take, in milliseconds. A trial may take as long as recent short sleeps if that is longer. */
  get limitMs() {
    return this.#confidence > 0 ? this.#limitMs : Math.max(this.#limitMs, this.#sleepMs);
  }

  /**
   * Poll until `end` is ready or the time limit has passed.
   * @param {{isReady: () => boolean}} end the reading or writing end of a ring, or the pump
   * @returns {boolean} true if it is ready
   */
  look(end) {
    for (let i = 0; i < LOOKS_BEFORE_CLOCK; i++) {
      if (end.isReady()) {
        this.#hit();
        return true;
      }
    }
    const began = now();
    const until = began + this.limitMs;
    let time = began;
    let equal = 0; // readings
    do {
      for (let i = 0; i < LOOKS_PER_READING; i++) {
        if (end.isReady()) {
          this.lookEnded(true, time - began);
          return true;
        }
      }
      time = now();
    } while (time < until && (time > began || ++equal < MOST_EQUAL));
    this.lookEnded(false, time - began);
    return false;
  }

  #hit() {
    this.looks++;
    this.answered++;
    if (this.#confidence < MAX_CONFIDENCE) this.#confidence++;
    this.#answerMs -= this.#answerMs / 16;
  }

  /** @param {boolean} found @param {number} ms how long the look took */
  lookEnded(found, ms) {
    const trial = this.#confidence === 0;
    // A much later answer probably means that the kernel preempted this process and ran the peer on its core.
    const answered = found && ms < LATE_FACTOR * this.limitMs;
    turn.recheck();
    this.looks++;
    if (answered) {
      this.answered++;
      this.#answerMs += (ms - this.#answerMs) / 16;
      this.#confidence = trial ? FIRST_CONFIDENCE : Math.min(MAX_CONFIDENCE, this.#confidence + 1);
      if (trial) this.#backoff = 1;
    } else {
      this.#confidence = Math.max(0, this.#confidence - MISS_PENALTY);
      if (trial) this.#backoff = Math.min(MAX_BACKOFF, this.#backoff * 2);
    }
    this.#quickSleeps = 0;
  }

  /** An answer arrived just as the channel was going to sleep: even a very short look would have found it. */
  answeredAtOnce() {
    if (this.#never || this.#confidence > 0) return;
    this.#confidence = FIRST_CONFIDENCE;
    this.#backoff = 1;
  }

  /** Record a sleep that the doorbell ended. @param {number} ms how long it took */
  slept(ms) {
    if (ms > QUICK_SLEEP_FACTOR * this.#limitMs) return;
    this.#quickSleeps++;
    this.#sleepMs += (ms - this.#sleepMs) / 4;
  }

  /** The pacer's part of stats(). */
  summary() {
    return {
      looks: this.looks,
      looksAnswered: this.answered,
      answerMicros: Math.round(this.#answerMs * 1e6) / 1000,
      looking: this.#always || this.#confidence > 0,
    };
  }
}

module.exports = { Pacer };
