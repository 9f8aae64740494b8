// Packages that verify with a public key. The private half is made anew for each run and signs with node:crypto, where the
// package cannot.

import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, generateKeyPairSync, sign as signWith } from 'node:crypto';
import { EventEmitter } from 'node:events';
import https from 'node:https';
import { Readable } from 'node:stream';

import sendgrid from '@sendgrid/eventwebhook';
import discord from 'discord-interactions';
import { SignJWT, exportJWK, jwtVerify } from 'jose';
import SnsValidator from 'sns-validator';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const seconds = (now) => String(Math.floor(now / 1000));
const spki = (key) => key.export({ type: 'spki', format: 'der' });

const ed25519 = generateKeyPairSync('ed25519');
// The last 32 bytes of a SubjectPublicKeyInfo for Ed25519 are the key.
const discordKey = spki(ed25519.publicKey).subarray(-32).toString('hex');
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const sendgridKey = spki(p256.publicKey).toString('base64');
const plaidKey = JSON.stringify({ ...(await exportJWK(p256.publicKey)), alg: 'ES256', kid: 'one', use: 'sig' });
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const amazon = execFileSync(
  'openssl',
  'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=sns.amazonaws.com -keyout - -out -'.split(' '),
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
);
const amazonKey = createPrivateKey(amazon);
const amazonCertificate = amazon.slice(amazon.indexOf('-----BEGIN CERTIFICATE-----'));

// The validator fetches the certificate from Amazon; here it gets ours.
https.get = (_url, answered) => {
  answered(Object.assign(Readable.from([amazonCertificate]), { statusCode: 200 }));
  return new EventEmitter();
};

/** The lines of a notification in the order in which Amazon signs them. */
const snsLines = (body) => {
  const message = JSON.parse(body);
  const keys = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
  return keys.map((key) => `${key}\n${message[key]}\n`).join('');
};

const discordRow = (row) => ({
  ...row,
  secret: discordKey,
  headers: JSON_TYPE,
  sign: ({ body, now }) => ({
    'X-Signature-Ed25519': signWith(null, seconds(now) + body, ed25519.privateKey).toString('hex'),
    'X-Signature-Timestamp': seconds(now),
  }),
  verify: ({ raw, headers }) =>
    discord.verifyKey(raw, headers['x-signature-ed25519'], headers['x-signature-timestamp'], discordKey),
});

export const keys = [
  discordRow({ name: 'discord-interactions', body: '{"id":"846462639134605312","type":2,"data":{"name":"paid"}}' }),
  discordRow({
    name: 'discord-webhook-events',
    body: '{"version":1,"application_id":"1234560123453231555","type":1,"event":{"type":"QUEST","data":"paid"}}',
    // It has no id.
    settings: 'on_missing_id = "hash"',
  }),
  {
    name: 'sendgrid',
    secret: sendgridKey,
    headers: JSON_TYPE,
    body: '[{"email":"a@example.com","event":"processed","category":"paid","sg_event_id":"ZGVsaXZlcmVk"}]\r\n',
    sign: ({ body, now }) => ({
      'X-Twilio-Email-Event-Webhook-Signature': signWith('sha256', seconds(now) + body, p256.privateKey).toString('base64'),
      'X-Twilio-Email-Event-Webhook-Timestamp': seconds(now),
    }),
    verify: ({ raw, headers }) => {
      const webhook = new sendgrid.EventWebhook();
      const signature = headers[sendgrid.EventWebhookHeader.SIGNATURE().toLowerCase()];
      const timestamp = headers[sendgrid.EventWebhookHeader.TIMESTAMP().toLowerCase()];
      return webhook.verifySignature(webhook.convertPublicKeyToECDSA(sendgridKey), raw, signature, timestamp);
    },
  },
  {
    // Plaid's own package does not verify; its documentation says how, with any package for JWT.
    name: 'plaid',
    secret: plaidKey,
    // It has no id.
    settings: 'on_missing_id = "hash"',
    headers: JSON_TYPE,
    body: '{"webhook_type":"TRANSFER","webhook_code":"TRANSFER_EVENTS_UPDATE","environment":"paid"}',
    sign: async ({ body, now }) => ({
      'Plaid-Verification': await new SignJWT({ request_body_sha256: sha256(body) })
        .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'JWT' })
        .setIssuedAt(Number(seconds(now)))
        .sign(p256.privateKey),
    }),
    verify: async ({ raw, headers }) => {
      const options = { algorithms: ['ES256'], maxTokenAge: '5 min' };
      const { payload } = await jwtVerify(headers['plaid-verification'], p256.publicKey, options);
      return payload.request_body_sha256 === sha256(raw);
    },
  },
  {
    name: 'aws-sns',
    secret: amazonCertificate,
    settings: 'parameters = { topic_arn = "arn:aws:sns:us-west-2:123456789012:MyTopic" }',
    headers: { 'Content-Type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': 'Notification' },
    // Its signature is in the body; the placeholders give way to it and to the time.
    body: JSON.stringify({
      Type: 'Notification',
      MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
      TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
      Subject: 'Bills',
      Message: 'All paid.\nÜberall.',
      Timestamp: 'NOW',
      SignatureVersion: '2',
      Signature: 'SIGNATURE',
      SigningCertURL: 'https://sns.us-west-2.amazonaws.com/SimpleNotificationService.pem',
    }),
    seal: (body, now) => {
      const timed = body.replace('NOW', new Date(now).toISOString());
      return timed.replace('SIGNATURE', signWith('sha256', snsLines(timed), amazonKey).toString('base64'));
    },
    sign: () => ({}),
    verify: ({ body }) => new Promise((hold, refuse) => {
      new SnsValidator().validate(body, (error) => (error ? refuse(error) : hold(true)));
    }),
  },
];
