'use strict';
// Writes the names of this machine's system calls, numbered by its own kernel headers, as C initializers:
//   [0] = "read",
// binding.gyp runs it: node syscall-names.js OUTPUT
const { execFileSync } = require('node:child_process');
const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname } = require('node:path');

const [compiler, ...flags] = (process.env.CC || 'cc').split(' ');
const macros = execFileSync(compiler, [...flags, '-dM', '-E', '-x', 'c', '-'], {
  input: '#include <sys/syscall.h>\n',
  encoding: 'utf8',
});
const defined = new Map([...macros.matchAll(/^#define (__NR\w+) (\w+)$/gm)].map(([, name, value]) => [name, value]));
// Some numbers are defined through a second macro (arm64: __NR_sendfile is __NR3264_sendfile, which is 71).
const names = new Map();
for (const [macro, value] of defined) {
  const number = Number(defined.get(value) ?? value);
  const name = /^__NR_(\w+)$/.exec(macro)?.[1];
  // These two mark the end of a range and name no system call.
  if (name && Number.isInteger(number) && name !== 'syscalls' && name !== 'arch_specific_syscall')
    names.set(number, name);
}
const [output] = process.argv.slice(2);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(
  output,
  [...names]
    .sort(([a], [b]) => a - b)
    .map(([number, name]) => `[${number}] = "${name}",\n`)
    .join(''),
);
