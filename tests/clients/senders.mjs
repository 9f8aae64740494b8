// Packages that can sign as well as verify: their own code makes the sender's signature.

import adyenPackage from '@adyen/api-library';
import { verifyWebhook as verifyClerk } from '@clerk/backend/webhooks';
import * as contentful from '@contentful/node-apps-toolkit';
import hubspot from '@hubspot/api-client';
import { Webhooks as GitHub } from '@octokit/webhooks';
import coinbase from 'coinbase-commerce-node';
import { Resend } from 'resend';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import twilio from 'twilio';

const TEXT = 'a secret of the sender and of its receiver';
const WHSEC = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const HEX = '44782def547aaa06c910c43932b1eb0c71fc68d9d0c057550c48ec2acf6ba056';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const github = {
  provider: 'github',
  secret: TEXT,
  headers: { ...JSON_TYPE, 'X-GitHub-Event': 'ping', 'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  body: '{"zen":"Well paid.","hook_id":1}',
  sign: async ({ body }) => ({ 'X-Hub-Signature-256': await new GitHub({ secret: TEXT }).sign(body) }),
};

/** What a sender signs by the rules of Standard Webhooks. */
const standard = (name, body) => ({
  name,
  secret: WHSEC,
  headers: JSON_TYPE,
  body,
  sign: ({ body, now }) => ({
    'webhook-id': `msg_${name}`,
    'webhook-timestamp': seconds(now),
    'webhook-signature': new StandardWebhook(WHSEC).sign(`msg_${name}`, new Date(now), body),
  }),
  verify: ({ body, headers }) => new StandardWebhook(WHSEC).verify(body, headers),
});

/** What Svix signs, for those who send with it. */
const svix = (id, body) => ({
  secret: WHSEC,
  headers: JSON_TYPE,
  body,
  sign: ({ body, now }) => ({
    'svix-id': id,
    'svix-timestamp': seconds(now),
    'svix-signature': new SvixWebhook(WHSEC).sign(id, new Date(now), body),
  }),
});

/** An event of GitHub's that reaches an app which checks our signature alone. */
const signedByUs = (row) => ({
  ...github,
  ...row,
  signSecret: WHSEC,
  sealed: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
});

const seconds = (now) => String(Math.floor(now / 1000));
/** A form as Twilio's package wants it: a name that comes several times has a list. */
const form = (body) => {
  const fields = new URLSearchParams(body);
  return Object.fromEntries([...new Set(fields.keys())].map((name) => [name, fields.getAll(name)]));
};
const adyen = new adyenPackage.hmacValidator();
const adyenItem = (body) => JSON.parse(body).notificationItems[0].NotificationRequestItem;

/** What is no form has its hash in the URL. */
const twilioJson = (body) => ({
  secret: TEXT,
  query: `?id=1&bodySHA256=${twilio.getExpectedBodyHash(body)}`,
  body,
  sign: ({ url }) => ({ 'X-Twilio-Signature': twilio.getExpectedTwilioSignature(TEXT, url, {}) }),
  verify: ({ body, url, headers }) => twilio.validateRequestWithBody(TEXT, headers['x-twilio-signature'], url, body),
});


export const senders = [
  {
    name: 'github',
    ...github,
    verify: ({ body, headers }) => new GitHub({ secret: TEXT }).verify(body, headers['x-hub-signature-256'] ?? ''),
  },
  {
    name: 'stripe',
    secret: WHSEC,
    headers: JSON_TYPE,
    body: '{\n  "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy",\n  "object": "event",\n  "type": "invoice.paid"\n}',
    sign: ({ body }) => ({ 'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload: body, secret: WHSEC }) }),
    verify: ({ raw, headers }) => Stripe.webhooks.constructEvent(raw, headers['stripe-signature'], WHSEC),
  },
  standard('standard-webhooks', '{"type":"invoice.paid","data":{"text":"für drei Äpfel"}}'),
  // These sign by Standard Webhooks, and their own packages need a newer node or do not verify.
  standard('openai', '{"id":"evt_1","object":"event","type":"response.completed","data":{"id":"paid"}}'),
  standard('gitlab-signed', '{"object_kind":"push","ref":"refs/heads/paid"}'),
  {
    name: 'svix',
    ...svix('msg_2Lh9KRb0pzN4LePd3XiA4v12Axj', '{"event":"invoice.paid"}'),
    verify: ({ raw, headers }) => new SvixWebhook(WHSEC).verify(raw, headers),
  },
  {
    name: 'resend',
    ...svix('msg_resend', '{"type":"email.delivered","data":{"subject":"Your invoice is paid"}}'),
    verify: ({ body, headers }) => {
      const [id, timestamp, signature] = ['svix-id', 'svix-timestamp', 'svix-signature'].map((name) => headers[name]);
      const resend = new Resend('re_none');
      return resend.webhooks.verify({ payload: body, headers: { id, timestamp, signature }, webhookSecret: WHSEC });
    },
  },
  {
    name: 'clerk',
    ...svix('msg_clerk', '{"object":"event","type":"user.updated","data":{"id":"user_1","plan":"paid"}}'),
    verify: ({ url, raw, headers }) =>
      verifyClerk(new Request(url, { method: 'POST', headers: svixAlone(headers), body: raw }), { signingSecret: WHSEC }),
  },
  {
    name: 'twilio',
    secret: TEXT,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'I-Twilio-Idempotency-Token': 'd8e1c0a0-0001' },
    body: 'Body=paid+%26+done+%C3%A4&From=%2B15017122661&MediaUrl=b&MediaUrl=a&MessageSid=SM1&SmsStatus=',
    sign: ({ body, url }) => ({ 'X-Twilio-Signature': twilio.getExpectedTwilioSignature(TEXT, url, form(body)) }),
    verify: ({ body, url, headers }) => twilio.validateRequest(TEXT, headers['x-twilio-signature'], url, form(body)),
  },
  {
    name: 'twilio-json',
    provider: 'twilio',
    headers: { ...JSON_TYPE, 'I-Twilio-Idempotency-Token': 'd8e1c0a0-0002' },
    ...twilioJson('{"status":"paid","from":"+15017122661"}'),
  },
  { name: 'twilio-event-streams', headers: JSON_TYPE, ...twilioJson('[{"id":"EZ1","type":"com.paid"},{"id":"EZ2"}]') },
  {
    name: 'hubspot',
    secret: TEXT,
    query: '?portal=62515',
    headers: JSON_TYPE,
    body:
      '[{"eventId":1,"subscriptionId":12,"portalId":62515,"occurredAt":1564113600000,"attemptNumber":0,"objectId":123,' +
      '"subscriptionType":"deal.paid"}]',
    sign: ({ body, url, now }) => ({
      'X-HubSpot-Request-Timestamp': String(now),
      'X-HubSpot-Signature-v3': hubspot.Signature.getSignature('POST', 'v3', {
        clientSecret: TEXT, requestBody: body, url, timestamp: now,
      }),
    }),
    verify: ({ body, url, headers }) => hubspot.Signature.isValid({
      signatureVersion: 'v3',
      signature: headers['x-hubspot-signature-v3'],
      method: 'POST',
      clientSecret: TEXT,
      requestBody: body,
      url,
      timestamp: Number(headers['x-hubspot-request-timestamp']),
    }),
  },
  {
    name: 'contentful',
    secret: HEX,
    headers: JSON_TYPE,
    body: '{"sys":{"type":"Entry","id":"7BslKh9TdKGOK41VmLDjFZ"},"fields":{"status":"paid"}}',
    sign: ({ body, target, now }) => {
      const own = {
        'X-Contentful-Idempotency-Key': '0f4cbb1f8d7e4b4e',
        'X-Contentful-Topic': 'ContentManagement.Entry.publish',
      };
      return { ...own, ...contentful.signRequest(HEX, { method: 'POST', path: target, headers: own, body }, now) };
    },
    // The package does not hold the list of signed headers against the signature: it makes the list itself from those named.
    sealed: ['X-Contentful-Idempotency-Key', 'X-Contentful-Topic', 'x-contentful-signature', 'x-contentful-timestamp'],
    verify: ({ body, target, headers }) =>
      contentful.verifyRequest(HEX, { method: 'POST', path: target, headers, body }, 30),
  },
  {
    name: 'coinbase-commerce',
    secret: TEXT,
    headers: JSON_TYPE,
    body: '{"attempt_number":1,"event":{"id":"24934862-d980-46cb-9402-43c81b0cdba6","data":{"name":"paid"}},"id":1}',
    sign: ({ body }) => ({ 'X-CC-Webhook-Signature': coinbase.Webhook.computeSignature(body, TEXT) }),
    verify: ({ body, headers }) => coinbase.Webhook.verifyEventBody(body, headers['x-cc-webhook-signature'], TEXT),
  },
  {
    name: 'adyen',
    secret: HEX,
    headers: JSON_TYPE,
    // Its signature is in the body; the placeholder gives way to it.
    body: JSON.stringify({
      live: 'false',
      notificationItems: [{
        NotificationRequestItem: {
          additionalData: { hmacSignature: 'SIGNATURE' },
          amount: { currency: 'EUR', value: 1130 },
          eventCode: 'AUTHORISATION',
          eventDate: '2026-01-01T01:00:00+02:00',
          merchantAccountCode: 'TestMerchant',
          merchantReference: 'to be paid',
          originalReference: '',
          pspReference: '7914073381342284',
          success: 'true',
        },
      }],
    }),
    seal: (body) => body.replace('SIGNATURE', adyen.calculateHmac(adyenItem(body), HEX)),
    sign: () => ({}),
    verify: ({ body }) => adyen.validateHMAC(adyenItem(body), HEX),
  },
  {
    name: 'adyen-platform',
    secret: HEX,
    settings: 'event_id = { parts = [{ pointer = "/type" }, { pointer = "/data/id" }, { pointer = "/timestamp" }] }',
    headers: JSON_TYPE,
    body:
      '{"data":{"id":"EVJN42272224222B5JB8BRC84N686ZEUR","status":"paid"},"environment":"test",' +
      '"timestamp":"2026-01-01T01:00:00+02:00","type":"balancePlatform.transfer.updated"}',
    // For want of another name: what it calculates over a text is what it validates.
    sign: ({ body }) => ({ HmacSignature: adyen.calculateHmac(body, HEX) }),
    verify: ({ body, headers }) => adyen.validateHMACSignature(HEX, headers.hmacsignature, body),
  },
  signedByUs({
    name: 'ours-by-standardwebhooks',
    verify: ({ body, headers }) => new StandardWebhook(WHSEC).verify(body, headers),
  }),
  signedByUs({ name: 'ours-by-svix', verify: ({ raw, headers }) => new SvixWebhook(WHSEC).verify(raw, headers) }),
];

/** The headers that Clerk's verifier reads, for the others (Connection, say) have no place in a `Request`. */
function svixAlone(headers) {
  return Object.entries(headers).filter(([name]) => name.startsWith('svix-'));
}
