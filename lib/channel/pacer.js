'use strict';
// Decides for one channel whether a wait looks at the ring again and again, which takes processor time but no system
// call, or goes to sleep at once. It learns from the channel's own history: how often a look was answered, and how soon.
//
// - Each look that was answered in time raises the confidence by one, each that was not lowers it by two: looking
//   continues while more than two thirds of the looks pay.
// - At zero the channel sleeps. A sleep that ended soon suggests that looking would have paid; after `backoff` such
//   sleeps one trial look is made. Each trial that fails doubles the backoff, so that on one core, or on a busy
//   machine, where a peer that shares our core cannot answer while we look, trials become rare.
const turn = require('./turn.js');

const LOOKS_BEFORE_CLOCK = 200; // about 2 µs: most answers of a peer that looks, too, come within it
const LOOKS_A_READING = 32;
const MOST_CONFIDENCE = 16;
const FIRST_CONFIDENCE = 4;
const MISS_COSTS = 2;
const QUICK_SLEEP_FACTOR = 5; // a sleep counts as short up to this many times the limit: two wake-ups are part of it
const MOST_BACKOFF = 1024;
const LATE_FACTOR = 1.5;

class Pacer {
  #limitMs;
  #never; // looking is switched off
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

  /** Never sleeps: wait is 'spin'. */
  get always() {
    return this.#always;
  }

  /** How long a look may last, milliseconds. A trial lasts as long as a short sleep has recently lasted. */
  get limitMs() {
    return this.#confidence > 0 ? this.#limitMs : Math.max(this.#limitMs, this.#sleepMs);
  }

  /**
   * Look until something is there, or for as long as a look may last.
   * @param {{isReady: () => boolean}} end of the ring
   * @returns {boolean} is it there?
   */
  look(end) {
    for (let i = 0; i < LOOKS_BEFORE_CLOCK; i++) {
      if (end.isReady()) {
        this.#hit();
        return true;
      }
    }
    const began = performance.now();
    const until = began + this.limitMs;
    let now = began;
    do {
      for (let i = 0; i < LOOKS_A_READING; i++) {
        if (end.isReady()) {
          this.lookEnded(true, now - began);
          return true;
        }
      }
      now = performance.now();
    } while (now < until);
    this.lookEnded(false, now - began);
    return false;
  }

  #hit() {
    this.looks++;
    this.answered++;
    if (this.#confidence < MOST_CONFIDENCE) this.#confidence++;
    this.#answerMs -= this.#answerMs / 16;
  }

  /** @param {boolean} found @param {number} ms how long the look lasted */
  lookEnded(found, ms) {
    const trial = this.#confidence === 0;
    // An answer that came much later came because the kernel took the core from us and gave it to the peer.
    const answered = found && ms < LATE_FACTOR * this.limitMs;
    turn.recheck();
    this.looks++;
    if (answered) {
      this.answered++;
      this.#answerMs += (ms - this.#answerMs) / 16;
      this.#confidence = trial ? FIRST_CONFIDENCE : Math.min(MOST_CONFIDENCE, this.#confidence + 1);
      if (trial) this.#backoff = 1;
    } else {
      this.#confidence = Math.max(0, this.#confidence - MISS_COSTS);
      if (trial) this.#backoff = Math.min(MOST_BACKOFF, this.#backoff * 2);
    }
    this.#quickSleeps = 0;
  }

  /** The answer came just as the channel was going to sleep: the shortest look would have found it. */
  answeredAtOnce() {
    if (this.#never || this.#confidence > 0) return;
    this.#confidence = FIRST_CONFIDENCE;
    this.#backoff = 1;
  }

  /** A sleep was ended by the doorbell. @param {number} ms */
  slept(ms) {
    if (ms > QUICK_SLEEP_FACTOR * this.#limitMs) return;
    this.#quickSleeps++;
    this.#sleepMs += (ms - this.#sleepMs) / 4;
  }

  /** What has been learned, for stats(). */
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
