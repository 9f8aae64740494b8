// Packages that can only verify: node:crypto makes the signature, as the sender's documentation says.

import { createHmac } from 'node:crypto';

import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { Paddle } from '@paddle/paddle-node-sdk';
import '@shopify/shopify-api/adapters/node';
import { shopifyApi } from '@shopify/shopify-api';
import slack from '@slack/bolt';
import Razorpay from 'razorpay';
import square from 'square';

const TEXT = 'a secret of the sender and of its receiver';
const JSON_TYPE = { 'Content-Type': 'application/json' };

const shop = shopifyApi({
  apiKey: 'none', apiSecretKey: TEXT, apiVersion: '2026-01', hostName: 'shop.example.com', isEmbeddedApp: false,
  // It would write to stdout, where the events go.
  logger: { log: () => {} },
});

const seconds = (now) => String(Math.floor(now / 1000));
const hmac = (encoding, ...pieces) => createHmac('sha256', TEXT).update(pieces.join('')).digest(encoding);

export const verifiers = [
  {
    name: 'slack',
    secret: TEXT,
    headers: JSON_TYPE,
    body: '{"type":"event_callback","event_id":"Ev08MFMKH6","event":{"type":"message","text":"paid"}}',
    sign: ({ body, now }) => ({
      'X-Slack-Request-Timestamp': seconds(now),
      'X-Slack-Signature': `v0=${hmac('hex', 'v0:', seconds(now), ':', body)}`,
    }),
    verify: ({ body, headers }) => slack.isValidSlackRequest({
      signingSecret: TEXT,
      body,
      headers: {
        'x-slack-signature': headers['x-slack-signature'],
        'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
      },
    }),
  },
  {
    name: 'paddle-billing',
    secret: TEXT,
    headers: JSON_TYPE,
    body:
      '{"event_id":"evt_01hv8x2a","event_type":"future.paid","occurred_at":"2026-01-01T00:00:00Z",' +
      '"notification_id":"ntf_1","data":{}}',
    sign: ({ body, now }) => ({ 'Paddle-Signature': `ts=${seconds(now)};h1=${hmac('hex', seconds(now), ':', body)}` }),
    verify: ({ body, headers }) => new Paddle('none').webhooks.unmarshal(body, TEXT, headers['paddle-signature']),
  },
  {
    name: 'square',
    secret: TEXT,
    headers: JSON_TYPE,
    body: '{"merchant_id":"MLEFBHHSJGVHD","type":"invoice.paid","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f"}',
    sign: ({ body, url }) => ({ 'x-square-hmacsha256-signature': hmac('base64', url, body) }),
    verify: ({ body, url, headers }) => square.WebhooksHelper.verifySignature({
      requestBody: body,
      signatureHeader: headers['x-square-hmacsha256-signature'],
      signatureKey: TEXT,
      notificationUrl: url,
    }),
  },
  {
    name: 'shopify',
    secret: TEXT,
    headers: {
      ...JSON_TYPE,
      'X-Shopify-Topic': 'orders/paid',
      'X-Shopify-Shop-Domain': 'shop.example.com',
      'X-Shopify-API-Version': '2026-01',
      'X-Shopify-Webhook-Id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
    },
    body: '{"id":820982911946154508,"financial_status":"paid","total_price":"398.00"}',
    sign: ({ body }) => ({ 'X-Shopify-Hmac-Sha256': hmac('base64', body) }),
    verify: async ({ body, request }) => (await shop.webhooks.validate({ rawBody: body, rawRequest: request })).valid,
  },
  {
    name: 'linear',
    secret: TEXT,
    headers: { ...JSON_TYPE, 'Linear-Delivery': '234d1a4e-b617-4388-90fe-adc3633d6b72', 'Linear-Event': 'Issue' },
    body: '{"action":"update","data":{"title":"Be paid"},"type":"Issue","webhookTimestamp":NOW}',
    seal: (body, now) => body.replace('NOW', now),
    sign: ({ body }) => ({ 'Linear-Signature': hmac('hex', body) }),
    verify: ({ raw, body, headers }) =>
      new LinearWebhookClient(TEXT).verify(raw, headers['linear-signature'], JSON.parse(body).webhookTimestamp),
  },
  {
    name: 'razorpay',
    secret: TEXT,
    headers: { ...JSON_TYPE, 'x-razorpay-event-id': 'L8nVnLQKyJaRL4' },
    body: '{"entity":"event","event":"payment.captured","payload":{"status":"paid"}}',
    sign: ({ body }) => ({ 'X-Razorpay-Signature': hmac('hex', body) }),
    verify: ({ body, headers }) => Razorpay.validateWebhookSignature(body, headers['x-razorpay-signature'], TEXT),
  },
];
