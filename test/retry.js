'use strict';
// In CI a test that fails is tried once more, after the others of its file, and Jest prints why it failed at first. CI has
// two shared cores and more than two thousand tests, and some of these race real processes. Elsewhere a test has one try.
if (process.env.CI) jest.retryTimes(1, { logErrorsBeforeRetry: true });
