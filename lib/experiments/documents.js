'use strict';
// The published texts whose claims the experiments test. The project numbers them, and so do its commands and pages.

/** @type {Record<string, string>} */
const DOCUMENTS = {
  '000': 'an article on counting crossings by the author of Tachyon, a shared-memory library',
  '001': '“Interprocess Communication in FreeBSD 11: Performance Analysis” by A. H. Bell-Thomas',
  '002': '“Microkernel IPC Without the Performance Tax”, an article on KeuOS (June 2026)',
  '003': '“Everything is Inter-Process Communication: HTTP, REST APIs, Serverless functions, what not”, an article',
  '004': 'the README of Tachyon’s round-trip benchmark',
};

/** @param {string} number */
const sourceOf = (number) => `document ${number}, ${DOCUMENTS[number] ?? 'an unknown source'}`;

module.exports = { sourceOf };
