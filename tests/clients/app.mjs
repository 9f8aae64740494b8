// The packages' end of the line: signs an event of a row when asked to, and is the app that holds whatever arrives against
// the row's package. It says on stdout where it is and what onced has to know of each row, and ends with its stdin.

import { webcrypto } from 'node:crypto';
import { createServer } from 'node:http';

import { keys } from './keys.mjs';
import { senders } from './senders.mjs';
import { verifiers } from './verifiers.mjs';

// Some packages expect it of node 20; that of Debian 12 is 18.
globalThis.crypto ??= webcrypto;

const rows = [...senders, ...verifiers, ...keys];
const publicUrl = process.argv[2];

const known = (row) => ({
  name: row.name,
  provider: row.provider ?? row.name,
  secret: row.secret,
  sign_secret: row.signSecret ?? null,
  settings: row.settings ?? '',
});

/** An event as its sender would send it now. */
async function sign(row) {
  const now = Date.now();
  const target = `/hooks/${row.name}${row.query ?? ''}`;
  const body = row.seal ? row.seal(row.body, now) : row.body;
  const seal = await row.sign({ body, now, target, url: publicUrl + target });
  return {
    target,
    headers: Object.entries({ ...row.headers, ...seal }),
    body,
    sealed_by_sender: Object.keys(seal),
    sealed_for_app: row.sealed ?? Object.keys(seal),
  };
}

/** What the row's package says of a request; a package that throws says no. */
async function judge(row, request, raw) {
  const { headers, url: target } = request;
  try {
    const said = await row.verify({ request, headers, raw, body: raw.toString(), target, url: publicUrl + target });
    return { genuine: Boolean(said), said: String(said) };
  } catch (error) {
    return { genuine: false, said: String(error) };
  }
}

function pairs(list) {
  return Array.from({ length: list.length / 2 }, (_, at) => list.slice(2 * at, 2 * at + 2));
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const raw = Buffer.concat(pieces);
  const [, what, name] = request.url.split('?')[0].split('/');
  const row = rows.find((row) => row.name === name);
  if (what === 'sign') {
    response.end(JSON.stringify(await sign(row)));
    return;
  }
  const { genuine, said } = await judge(row, request, raw);
  response.statusCode = genuine ? 200 : 403;
  response.end(JSON.stringify({ said, copy: { headers: pairs(request.rawHeaders), body: raw.toString() } }));
});

server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port, rows: rows.map(known) })));
process.stdin.resume().on('end', () => process.exit());
