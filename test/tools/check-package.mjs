// Checks a tarball with publint (package.json and the files that it names) and with the engine of "Are the types wrong?" (what
// TypeScript finds for `require` and `import`). Prints what they find as JSON, and exits with 1 if there is anything:
//   node test/tools/check-package.mjs crossings-0.1.0.tgz
import { readFileSync } from 'node:fs';

const [, , path] = process.argv;
const tarball = readFileSync(path);
const [{ publint }, { checkPackage, createPackageFromTarballData }] = await Promise.all(
  ['publint', '@arethetypeswrong/core'].map((name) => import(name)),
);

const { messages } = await publint({ pack: { tarball: Uint8Array.from(tarball).buffer }, strict: true });
// A package without types has no problems; whether it should have types is for the caller to say.
const { types, problems = [] } = await checkPackage(createPackageFromTarballData(tarball));

console.log(JSON.stringify({ types: Boolean(types), found: [...messages, ...problems] }, null, 2));
process.exitCode = messages.length + problems.length > 0 ? 1 : 0;
