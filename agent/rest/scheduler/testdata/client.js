// Walks through the API with Microsoft's own client, and prints what the client returned as one JSON object.
// Usage: node client.js FRONT TOKEN SUBSCRIPTION GROUP ENDPOINT
'use strict';
const moment = require('moment');
const msRest = require('ms-rest');
const SchedulerManagementClient = require('azure-arm-scheduler');

const [front, token, subscription, group, endpoint] = process.argv.slice(2);
const client = new SchedulerManagementClient(new msRest.TokenCredentials(token), subscription, front);
const seen = {};

// failure returns what the client says of an error.
async function failure(call) {
  try {
    await call();
    return 'no error';
  } catch (e) {
    return { status: e.statusCode, code: e.code, body: e.body && e.body.code };
  }
}

function job(path, properties) {
  return {
    properties: Object.assign({
      startTime: new Date('2015-07-13T00:00:00Z'),
      action: {
        type: 'Http',
        request: {
          uri: endpoint + path, method: 'POST', body: 'hello', headers: { 'Content-Type': 'text/plain' },
          authentication: { type: 'Basic', username: 'u', password: 'pw-node-1' },
        },
        retryPolicy: { retryType: 'Fixed', retryInterval: moment.duration(1, 'minutes'), retryCount: 2 },
        errorAction: { type: 'StorageQueue', queueMessage: { storageAccount: 'account1', queueName: 'errors', sasToken: 'sig=node', message: 'm' } },
      },
      recurrence: {
        frequency: 'Month', interval: 1, count: 10, endTime: new Date('2100-01-01T00:00:00Z'),
        schedule: { hours: [1], minutes: [0], monthlyOccurrences: [{ day: 'Monday', occurrence: -1 }] },
      },
      state: 'Enabled',
    }, properties),
  };
}

(async () => {
  const collections = client.jobCollections, jobs = client.jobs;
  seen.created = await collections.createOrUpdate(group, 'node1', {
    name: 'node1', location: 'onprem', tags: { a: 'b' },
    properties: { sku: { name: 'Standard' }, state: 'Enabled', quota: { maxJobCount: 2, maxRecurrence: { frequency: 'Minute', interval: 1 } } },
  });
  seen.read = await collections.get(group, 'node1');
  seen.patched = await collections.patch(group, 'node1', { tags: { a: 'c' } });
  seen.group = (await collections.listByResourceGroup(group)).map((c) => c.name);
  seen.subscription = (await collections.listBySubscription()).map((c) => c.name);

  seen.job = await jobs.createOrUpdate(group, 'node1', 'h1', job('/node'));
  seen.jobRead = await jobs.get(group, 'node1', 'h1');
  seen.jobPatched = await jobs.patch(group, 'node1', 'h1', { properties: { recurrence: { frequency: 'Day', interval: 1, schedule: { hours: [2] } } } })
    .catch((e) => ({ status: e.statusCode, code: e.code }));
  seen.jobReplaced = await jobs.createOrUpdate(group, 'node1', 'h1', job('/node', { recurrence: { frequency: 'Week', interval: 1 } }));
  await jobs.createOrUpdate(group, 'node1', 'h2', job('/node', { state: 'Disabled' }));
  seen.all = (await jobs.list(group, 'node1', { top: 100 })).map((j) => j.name);
  seen.disabled = (await jobs.list(group, 'node1', { filter: 'state eq Disabled' })).map((j) => j.name);

  await jobs.run(group, 'node1', 'h1');
  for (let i = 0; i < 300 && !(seen.history && seen.history.length); i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    seen.history = await jobs.listJobHistory(group, 'node1', 'h1', { top: 10 });
  }
  seen.completed = (await jobs.listJobHistory(group, 'node1', 'h1', { filter: 'status eq Completed' })).length;

  await collections.disable(group, 'node1');
  seen.whileDisabled = (await jobs.get(group, 'node1', 'h1')).properties.state;
  seen.runRefused = await failure(() => jobs.run(group, 'node1', 'h1'));
  await collections.enable(group, 'node1');
  seen.afterwards = [(await jobs.get(group, 'node1', 'h1')).properties.state, (await jobs.get(group, 'node1', 'h2')).properties.state];

  seen.tooMany = await failure(() => jobs.createOrUpdate(group, 'node1', 'h3', job('/node')));
  seen.invalid = await failure(() => jobs.createOrUpdate(group, 'node1', 'h1', job('/node', { recurrence: { frequency: 'Day', interval: 5000 } })));
  seen.missing = await failure(() => jobs.get(group, 'node1', 'nope'));
  await jobs.deleteMethod(group, 'node1', 'h1');
  seen.deletedAgain = await failure(() => jobs.deleteMethod(group, 'node1', 'h1'));
  await collections.deleteMethod(group, 'node1');
  seen.gone = await failure(() => collections.get(group, 'node1'));
  process.stdout.write(JSON.stringify(seen) + '\n');
})().catch((e) => {
  process.stderr.write((e.stack || e) + '\n' + JSON.stringify(e.body || {}) + '\n');
  process.exit(1);
});
