// The packages' end of the line: signs an event for every row, says so in one line on stdout, and is the app that holds
// whatever arrives against the row's package. It ends with its stdin.

import { createServer } from 'node:http';

import { senders } from './senders.mjs';
import { verifiers } from './verifiers.mjs';

const rows = [...senders, ...verifiers];
const publicUrl = process.argv[2];
const now = Date.now();

/** An event as its sender would send it. */
async function signed(row) {
  const target = `/hooks/${row.name}${row.query ?? ''}`;
  const body = row.seal ? row.seal(row.body, now) : row.body;
  const seal = await row.sign({ body, now, target, url: publicUrl + target });
  return {
    name: row.name,
    provider: row.provider ?? row.name,
    secret: row.secret,
    sign_secret: row.signSecret ?? null,
    target,
    headers: Object.entries({ ...row.headers, ...seal }),
    body,
    sealed_by_sender: Object.keys(seal),
    sealed_for_app: row.sealed ?? Object.keys(seal),
  };
}

/** What the row's package says of a request; a package that throws says no. */
async function judge(request, raw) {
  const target = request.url;
  const name = target.split('?')[0].replace('/hooks/', '');
  const row = rows.find((row) => row.name === name);
  try {
    const { headers } = request;
    const said = await row.verify({ request, headers, raw, body: raw.toString(), target, url: publicUrl + target });
    return { genuine: Boolean(said), said: String(said) };
  } catch (error) {
    return { genuine: false, said: String(error) };
  }
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const raw = Buffer.concat(pieces);
  const { genuine, said } = await judge(request, raw);
  const copy = { headers: pairs(request.rawHeaders), body: raw.toString() };
  response.statusCode = genuine ? 200 : 403;
  response.end(JSON.stringify({ said, copy }));
});

function pairs(list) {
  return Array.from({ length: list.length / 2 }, (_, at) => list.slice(2 * at, 2 * at + 2));
}

const events = await Promise.all(rows.map(signed));
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port, events })));
process.stdin.resume().on('end', () => process.exit());
