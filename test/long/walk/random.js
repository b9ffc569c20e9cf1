'use strict';
// The random choices of a walk, drawn from its seed.
const { Random } = require('../../channel/stress/plan.js');

class Choices extends Random {
  /** A whole number from `low` to `high`. @param {number} low @param {number} high */
  between(low, high) {
    return low + this.below(high - low + 1);
  }
}

module.exports = { Choices };
