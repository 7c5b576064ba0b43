// An AMQP 1.0 peer that behaves like Service Bus as far as a sender sees it. The address of a link
// says what happens to its messages. Usage: node amqp_peer.js KEY.pem CERTIFICATE.pem
// It prints "listening PORT", then one line of JSON for each message that it receives.
'use strict';
const fs = require('fs');
const rhea = require('rhea');

const outcomes = {
  accepted: (d) => d.accept(),
  rejected: (d) => d.reject({ condition: 'amqp:decode-error', description: 'the body is no good' }),
  full: (d) => d.reject({ condition: 'amqp:resource-limit-exceeded', description: 'the queue is full' }),
  busy: (d) => d.reject({ condition: 'com.microsoft:server-busy', description: 'try again later' }),
  released: (d) => d.release(),
  modified: (d) => d.modified({ delivery_failed: true }),
  cut: (d, link) => link.connection.socket.destroy(),
  detached: (d, link) => link.close({ condition: 'amqp:link:detach-forced', description: 'the link is idle' }),
  silent: () => {},
};
const refused = { // by the reason for which the link is closed
  missing: { condition: 'amqp:not-found', description: 'no such queue' },
  forbidden: { condition: 'amqp:unauthorized-access', description: 'the claim Send is missing' },
};

const container = rhea.create_container({ id: 'peer' });
container.sasl_server_mechanisms.enable_anonymous();

function mirror(link) {
  link.local.attach.snd_settle_mode = link.remote.attach.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.remote.attach.rcv_settle_mode;
  if (link.remote.attach.source) link.set_source(link.remote.attach.source);
  if (link.remote.attach.target) link.set_target(link.remote.attach.target);
}

container.on('sender_open', ({ sender }) => mirror(sender));
container.on('receiver_open', ({ receiver }) => {
  const address = receiver.remote.attach.target.address;
  if (refused[address]) { // a link without a target is refused
    receiver.close(refused[address]);
    return;
  }
  mirror(receiver);
  if (address !== 'stopped') receiver.add_credit(10);
});

function putToken({ message, receiver }) {
  const token = String(message.body);
  const denied = message.application_properties.name.includes('/denied');
  const reply = receiver.connection.find_sender((s) => s.remote.attach.target.address === message.reply_to);
  console.log(JSON.stringify({ cbs: message.application_properties.name, type: message.application_properties.type, token }));
  reply.send({
    correlation_id: message.message_id,
    application_properties: {
      'status-code': rhea.types.wrap_int(denied ? 401 : 202),
      'status-description': denied ? 'the token is not valid' : 'Accepted',
    },
  });
}

container.on('message', (context) => {
  const { message, delivery, receiver } = context;
  const address = receiver.remote.attach.target.address;
  if (address === '$cbs') {
    delivery.accept();
    putToken(context);
    return;
  }
  const body = message.body.content === undefined ? message.body : message.body.content;
  console.log(JSON.stringify({ address, ...message, body: Buffer.from(body).toString('utf8') }));
  outcomes[address](delivery, receiver);
});
for (const event of ['disconnected', 'connection_error', 'session_error', 'receiver_error', 'sender_error', 'error']) {
  container.on(event, () => {}); // ends are expected
}

const server = container.listen({
  host: '127.0.0.1', port: 0, transport: 'tls', key: fs.readFileSync(process.argv[2]), cert: fs.readFileSync(process.argv[3]),
  requestCert: false, receiver_options: { autoaccept: false, credit_window: 0 },
});
server.on('secureConnection', (socket) => socket.setNoDelay(true)); // small frames are not held back
server.on('listening', () => console.log('listening ' + server.address().port));
process.stdin.on('end', () => process.exit(0)); // the test has ended
process.stdin.resume();
