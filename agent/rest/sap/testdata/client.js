'use strict';
// Calls @sap/jobs-client, unchanged, for tests. Each line of standard input is one call
// {"id", "method", "options"}, and is answered by one line {"id", "result"} or {"id", "error"}. The
// method "new" makes the client: its options are those of the constructor.
const readline = require('readline');
const { Scheduler } = require('@sap/jobs-client');

let scheduler;

function answer(id, error, result) {
    const line = { id };
    if (error) {
        line.error = { name: error.name, message: error.message, statusCode: error.statusCode, code: error.code };
    } else {
        line.result = result === undefined ? null : result;
    }
    process.stdout.write(JSON.stringify(line) + '\n');
}

readline.createInterface({ input: process.stdin }).on('line', (text) => {
    const { id, method, options } = JSON.parse(text);
    try {
        if (method === 'new') {
            scheduler = new Scheduler(options);
            answer(id);
            return;
        }
        scheduler[method](options, (error, result) => answer(id, error, result));
    } catch (error) {
        answer(id, error);
    }
}).on('close', () => process.exit(0));
