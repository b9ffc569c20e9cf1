#!/usr/bin/env node
'use strict';
// The command `crossings`: the commands of lib/ and the lab.
const { runCommandLine } = require('../lib/cli.js');
const { labCommand } = require('./lab-command.js');

runCommandLine([labCommand]);
