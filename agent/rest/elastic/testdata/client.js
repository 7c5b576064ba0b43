// Walks through the API with Microsoft's client @azure/arm-sql, and prints what the client returned as one JSON object.
// Usage: node client.js MODULE FRONT TOKEN SUBSCRIPTION GROUP SERVER AGENT TARGET-SERVER TARGET-DATABASE PREFIX LOGIN PASSWORD
'use strict';
const [module_, front, token, subscription, group, server, agent, targetServer, targetDatabase, prefix, login, password] = process.argv.slice(2);
const { SqlManagementClient } = require(module_);
const credential = { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3600e3 }) };
// Version 8 is made for another runtime: other options, other names, lists in pages.
const old = module_.endsWith('-8');
const client = old
  ? new SqlManagementClient({ signRequest: async (r) => { r.headers.set('Authorization', 'Bearer ' + token); return r; } }, subscription, { baseUri: front, longRunningOperationRetryTimeout: 0 })
  : new SqlManagementClient(credential, subscription, { endpoint: front });
const seen = {};
const fast = { updateIntervalInMs: 50 };
const start = (...at) => (old ? client.jobExecutions.create(...at) : client.jobExecutions.beginCreateAndWait(...at, fast));
const put = (...at) => (old ? client.jobExecutions.createOrUpdate(...at) : client.jobExecutions.beginCreateOrUpdateAndWait(...at, fast));
const remove = (part, ...at) => (old ? part.deleteMethod(...at) : part.delete(...at));

// all returns the elements of all pages of a list.
async function all(part, method, ...at) {
  const list = [];
  if (!old) {
    for await (const one of part[method](...at)) list.push(one);
    return list;
  }
  let page = await part[method](...at);
  list.push(...page);
  while (page.nextLink) {
    page = await part[method + 'Next'](page.nextLink);
    list.push(...page);
  }
  return list;
}

// ended waits until no run of the job is active, and returns all runs.
async function ended(...at) {
  for (;;) {
    const list = await all(client.jobExecutions, 'listByJob', ...at);
    if (list.every((e) => e.endTime)) return list;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// failure returns what the client says of an error.
async function failure(call) {
  try {
    await call();
    return 'no error';
  } catch (e) {
    return { status: e.statusCode, code: e.code };
  }
}

(async () => {
  seen.agent = await client.jobAgents.get(group, server, agent);
  seen.agents = (await all(client.jobAgents, 'listByServer', group, server)).map((a) => a.name);

  seen.credential = await client.jobCredentials.createOrUpdate(group, server, agent, prefix + 'c', { username: login, password });
  seen.credentials = (await all(client.jobCredentials, 'listByAgent', group, server, agent)).map((c) => c.name).filter((n) => n.startsWith(prefix));

  const members = [{ membershipType: 'Include', type: 'SqlDatabase', serverName: targetServer, databaseName: targetDatabase }];
  seen.group = await client.jobTargetGroups.createOrUpdate(group, server, agent, prefix + 'g', { members });
  seen.groupRead = await client.jobTargetGroups.get(group, server, agent, prefix + 'g');

  const job = { description: 'first', schedule: { enabled: false, type: 'Once', startTime: new Date('2030-01-02T03:04:05Z'), endTime: new Date('9999-12-31T11:59:59Z') } };
  seen.job = await client.jobs.createOrUpdate(group, server, agent, prefix + 'j', job);
  seen.jobUpdated = await client.jobs.createOrUpdate(group, server, agent, prefix + 'j', { description: 'second' });
  seen.jobRead = await client.jobs.get(group, server, agent, prefix + 'j');
  seen.jobs = (await all(client.jobs, 'listByAgent', group, server, agent)).map((j) => j.name).filter((n) => n.startsWith(prefix));

  const step = (script) => ({
    targetGroup: seen.group.id, credential: seen.credential.id, action: { value: script }, executionOptions: { retryAttempts: 0, timeoutSeconds: 60 },
  });
  seen.step = await client.jobSteps.createOrUpdate(group, server, agent, prefix + 'j', 's', step("WAITFOR DELAY '00:00:00.500';"));
  seen.steps = (await all(client.jobSteps, 'listByJob', group, server, agent, prefix + 'j')).map((s) => s.name);

  const begun = Date.now();
  seen.started = await start(group, server, agent, prefix + 'j');
  seen.startTook = Date.now() - begun;
  const id = seen.started.jobExecutionId;
  await ended(group, server, agent, prefix + 'j'); // a run skips targets on which another one of the job is active
  seen.put = await put(group, server, agent, prefix + 'j', '5a3f6f0a-9d43-4c5c-8a0a-5e5f0a4d6b' + module_.slice(-2).replace('-', '0'));
  seen.executions = (await ended(group, server, agent, prefix + 'j')).map((e) => e.lifecycle);
  seen.watched = await client.jobExecutions.get(group, server, agent, prefix + 'j', id);
  seen.stepRuns = (await all(client.jobStepExecutions, 'listByJobExecution', group, server, agent, prefix + 'j', id)).map((e) => e.lifecycle);
  seen.targets = (await all(client.jobTargetExecutions, 'listByJobExecution', group, server, agent, prefix + 'j', id)).map((e) => [e.target.databaseName, e.lifecycle]);

  await client.jobSteps.createOrUpdate(group, server, agent, prefix + 'j', 's', step("THROW 50000, 'no', 1;"));
  seen.failed = await start(group, server, agent, prefix + 'j').catch((e) => ({ error: e.message }));

  seen.failedLast = (await ended(group, server, agent, prefix + 'j'))[0].lifecycle;
  await remove(client.jobs, group, server, agent, prefix + 'j');
  seen.missing = await failure(() => client.jobs.get(group, server, agent, prefix + 'j'));
  await remove(client.jobTargetGroups, group, server, agent, prefix + 'g');
  await remove(client.jobCredentials, group, server, agent, prefix + 'c');
  seen.gone = await failure(() => client.jobCredentials.get(group, server, agent, prefix + 'c'));
  process.stdout.write(JSON.stringify(seen) + '\n');
})().catch((e) => {
  process.stderr.write((e.stack || e) + '\n' + JSON.stringify(seen) + '\n');
  process.exit(1);
});
