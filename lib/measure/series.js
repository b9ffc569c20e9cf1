'use strict';
// Every sample taken of one mechanism, and its summary as a run file holds it.
const { RoundTrips } = require('./round-trips.js');
const { isSteady, median, medianInterval, summarize } = require('./statistics.js');

const STEADY_TOLERANCE = 0.02; // of the median, to either side

/**
 * @typedef {object} Sample
 * @property {number | null} messagesPerSecond null: the sample had no throughput pass
 * @property {[number, number][]} values round trips: [nanoseconds, how many took this long]
 * @property {number} tripNs their median
 * @property {number | null} floorNs the cache-line floor measured beside them; null: not measurable here
 */

/** The median of what is known. @param {(number | null)[]} values */
function medianOrNull(values) {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? median(known) : null;
}

/** The samples of one mechanism. */
class Series {
  /** @type {number[]} */ rates = []; // messages per second
  /** @type {number[]} */ tripNs = [];
  /** @type {(number | null)[]} */ floorNs = [];
  roundTrips = new RoundTrips();

  /** @param {Sample} sample */
  add({ messagesPerSecond, values, tripNs, floorNs }) {
    if (messagesPerSecond !== null) this.rates.push(messagesPerSecond);
    this.tripNs.push(tripNs);
    this.floorNs.push(floorNs);
    this.roundTrips.record(values);
  }

  /** Are both medians known closely enough to stop? */
  isSteady() {
    return isSteady(this.rates, STEADY_TOLERANCE) && isSteady(this.tripNs, STEADY_TOLERANCE);
  }

  /** `throughput` of a run file's result. @param {number} sizeBytes of a message */
  throughput(sizeBytes) {
    return {
      messagesPerSecond: {
        ...summarize(this.rates),
        interval95: medianInterval(this.rates),
        samples: [...this.rates],
      },
      bytesPerSecond: summarize(this.rates.map((rate) => rate * sizeBytes)),
    };
  }

  /** `roundTrip` of a run file's result. */
  roundTrip() {
    const overFloor = this.tripNs.flatMap((ns, i) => {
      const floor = this.floorNs[i];
      return floor === null ? [] : [ns / floor];
    });
    return {
      count: this.roundTrips.count,
      floorNs: medianOrNull(this.floorNs),
      overFloor: overFloor.length > 0 ? summarize(overFloor) : null,
      ns: this.roundTrips.summary(),
      sampleP50Ns: [...this.tripNs],
      sampleFloorNs: [...this.floorNs],
      distribution: this.roundTrips.distribution(),
    };
  }
}

module.exports = { medianOrNull, Series };
