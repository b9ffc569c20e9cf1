// How much of a recording the page opens. Whatever a file contains, the page stays usable.
// crossings trace stays within these limits (lib/trace/program/limits.js).

const MIB = 1 << 20;

export const LIMITS = {
  fileBytes: 256 * MIB,
  levels: 1000, // of arrays and objects
  events: 500_000,
  processes: 1000,
  threads: 4000,
  objects: 100_000,
  descriptors: 200_000,
  waits: 1000,
  notes: 20,
  files: 500,
  sourceCharacters: 8 * MIB, // all files together
  argumentsOfEvent: 64,
  descriptorsOfEvent: 64,
  wordsOfCommand: 1_000_000, // Linux allows 6 MiB
  wordCharacters: 131_072, // as Linux
  textCharacters: 65_536, // an argument, a result, a payload
  nameCharacters: 1000, // a name, a path
  readingSeconds: 30,
};
