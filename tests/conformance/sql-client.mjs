// The published SQL client, unmodified, against a fresh master; and a subscription to a fresh follower, with the published
// fingerprint. Prints TAP.
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import WebSocket from "ws";
import { sqlToken } from "./servers.mjs";
import { runTests, test } from "./tap.mjs";

// What the published packages expect of the runtime and Debian's Node does not have yet.
globalThis.crypto ??= webcrypto;
globalThis.WebSocket ??= WebSocket;
const { createSqlClient } = await import("@rindle/sql-client");
const { normalizedFp } = await import("@rindle/remote");

const frameMsMax = 5_000;

const client = ({ masterUrl }, options = {}) => createSqlClient({ url: masterUrl, authToken: sqlToken, ...options });
const rejects = (promise, expected) => assert.rejects(promise, (error) => {
  for (const [field, value] of Object.entries(expected)) assert.equal(error[field], value, `${field} of ${error}`);
  return true;
});

test("migrates once, and says so when asked again", async (urls) => {
  const migration = {
    id: "0001-notes", checksum: "sum-1",
    statements: ["create table note (id integer primary key, title text not null unique, score real, n bigint)"],
  };
  const db = client(urls);
  assert.equal((await db.migrate(migration)).applied, true);
  assert.equal((await db.migrate(migration)).applied, false);
  await rejects(db.migrate({ ...migration, checksum: "sum-2" }), { status: 409 });
});

test("executes a write and reads it back through RETURNING and SELECT", async (urls) => {
  const db = client(urls);
  const written = await db.execute({
    sql: "insert into note (title, score, n) values (?, ?, ?) returning id, title", args: ["first", 1.5, 7n],
  });
  assert.match(written.commitCursor, /^w:[0-9a-f]{16}$/);
  assert.deepEqual(written.result.rows, [[1n, "first"]]);
  assert.equal(written.result.lastInsertRowid, "1");
  assert.equal(written.result.rowsAffected, 1);
  const read = await db.execute("select title, score, n from note");
  assert.deepEqual(read.result.rows, [["first", 1.5, 7n]]);
  assert.deepEqual(read.result.columns.map((column) => column.name), ["title", "score", "n"]);
  assert.equal(read.commitCursor, null);
});

test("carries every kind of value bit for bit", async (urls) => {
  const db = client(urls);
  const values = [
    null, "", "text with \u0000 inside", "\u{1F30A}", 0n, -(1n << 63n), (1n << 63n) - 1n, 0.1, -1e308, 5e-324, Infinity,
    -Infinity, true, false, 42,
  ];
  const expected = values.map((value) => (typeof value === "boolean" ? BigInt(value) : value === 42 ? 42n : value));
  const sql = `select ${values.map(() => "?").join(", ")}`;
  assert.deepEqual((await db.execute({ sql, args: values })).result.rows, [expected]);
  const types = await db.execute({ sql: "select typeof(?), typeof(?), typeof(?), typeof(?)", args: [null, 1n, 1.5, "a"] });
  assert.deepEqual(types.result.rows, [["null", "integer", "real", "text"]]);
});

test("binds named arguments", async (urls) => {
  const db = client(urls);
  const answer = await db.execute({ sql: "select :a, @b, $c", args: { a: 1n, "@b": "two", $c: null } });
  assert.deepEqual(answer.result.rows, [[1n, "two", null]]);
});

test("runs a batch whole or not at all", async (urls) => {
  const db = client(urls);
  const done = await db.batch([
    { sql: "insert into note (title) values (?)", args: ["b1"] },
    { sql: "update note set n = 2 where title = ?", args: ["b1"] },
    { sql: "select n from note where title = ?", args: ["b1"] },
  ]);
  assert.deepEqual(done.results.map((result) => result.rowsAffected), [1, 1, 0]);
  assert.deepEqual(done.results[2].rows, [[2n]]);
  await rejects(db.batch([
    { sql: "insert into note (title) values (?)", args: ["b2"] },
    { sql: "insert into note (title) values (?)", args: ["b1"] },
  ]), { code: "SQLITE_ERROR", sqliteCode: 2067, retryScope: "never" });
  assert.deepEqual((await db.execute("select count(*) from note where title = 'b2'")).result.rows, [[0n]]);
});

test("reports errors with code, SQLite's code and scope", async (urls) => {
  const db = client(urls);
  await rejects(db.execute("select * from missing"), { code: "SQLITE_ERROR", sqliteCode: 1, retryScope: "never" });
  await rejects(db.execute("insert into note (title) values (null)"), { code: "SQLITE_ERROR", sqliteCode: 1299 });
  await rejects(db.execute("select 1; select 2"), { code: "STATEMENT_INVALID" });
  await rejects(client(urls, { authToken: "wrong" }).execute("select 1"), { status: 401 });
});

test("retries a write whose answer was lost, and it is applied once", async (urls) => {
  let lost = 0;
  const bodies = [];
  const unreliable = async (input, init) => {
    const response = await fetch(input, init);
    bodies.push({ request: init.body, answer: await response.clone().text() });
    if (lost > 0) return response;
    lost += 1;
    throw new TypeError("connection lost after the server has answered");
  };
  const db = client(urls, { fetch: unreliable });
  const done = await db.execute({ sql: "insert into note (title) values (?)", args: ["retried"] });
  assert.equal(lost, 1);
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0].request, bodies[1].request);
  assert.equal(bodies[0].answer, bodies[1].answer);
  assert.equal(done.result.rowsAffected, 1);
  assert.deepEqual((await db.execute("select count(*) from note where title = 'retried'")).result.rows, [[1n]]);
});

test("answers a repeated key with the same bytes after the master was killed and started again", async (urls) => {
  const exchanges = [];
  const recording = async (input, init) => {
    const response = await fetch(input, init);
    exchanges.push({ input, init, answer: await response.clone().text() });
    return response;
  };
  await client(urls, { fetch: recording }).execute({ sql: "insert into note (title) values (?)", args: ["kept"] });
  await urls.restartMaster();
  const [{ input, init, answer }] = exchanges;
  const again = await fetch(input, init);
  assert.equal(again.status, 200);
  assert.equal(await again.text(), answer);
  const other = await fetch(input, { ...init, body: init.body.replace("kept", "else") });
  assert.equal(other.status, 409);
  assert.deepEqual((await client(urls).execute("select title from note where title in ('kept', 'else')")).result.rows, [["kept"]]);
});

test("moves its session cursor forward and reads its own writes", async (urls) => {
  const db = client(urls).session();
  const { commitCursor } = await db.execute({ sql: "insert into note (title) values (?)", args: ["session"] });
  assert.equal(db.getSessionCursor(), commitCursor);
  for (const consistency of ["session", "strong", "eventual"]) {
    const read = await db.execute("select count(*) from note where title = 'session'", { consistency });
    assert.deepEqual(read.result.rows, [[1n]]);
    assert.equal(read.routing.servedBy, "master");
  }
});

test("a subscription delivers a plain SQL write, under the fingerprint that the published client computes", async (urls) => {
  const db = client(urls);
  const { commitCursor } = await db.execute({ sql: "insert into note (title, score) values (?, ?)", args: ["live", 2.5] });
  assert.ok(commitCursor);
  // Column n is a 64-bit integer, which this plane cannot carry.
  const ast = { table: "note", select: ["id", "title", "score"], where: {
    type: "simple", op: "=", left: { type: "column", name: "title" }, right: { type: "literal", value: "live" },
  } };
  const lease = await (await fetch(`${urls.followerUrl}/materialize`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${sqlToken}` },
    body: JSON.stringify({ ast }),
  })).json();
  assert.equal(typeof lease.leaseToken, "string", JSON.stringify(lease));

  const socket = new WebSocket(urls.wsUrl);
  const frames = [];
  let arrived = () => {};
  socket.on("message", (data) => { frames.push(JSON.parse(String(data))); arrived(); });
  // The first frame for which `matches` holds, or a failure once time is up.
  const frame = async (matches) => {
    const deadline = Date.now() + frameMsMax;
    for (;;) {
      const found = frames.find(matches);
      if (found) return found;
      assert.ok(Date.now() < deadline, `no such frame among ${JSON.stringify(frames)}`);
      await new Promise((done) => { arrived = done; setTimeout(done, 50); });
    }
  };
  try {
    await new Promise((done, fail) => { socket.on("open", done); socket.on("error", fail); });
    socket.send(JSON.stringify({ t: "init", clientID: "conformance" }));
    socket.send(JSON.stringify({ t: "subscribe", queryId: 1, leaseToken: lease.leaseToken, mode: "normalized" }));
    const { hello } = await frame((f) => f.t === "nhello");
    assert.equal(hello.comparatorVersion, 2);
    assert.equal(hello.normalizedFp, normalizedFp(hello.tables));
    const [table] = hello.tables;
    assert.deepEqual(table.primaryKey.map((index) => table.columns[index]), ["id"]);
    const title = table.columns.indexOf("title");
    const titles = (f) => f.batch.ops.map((op) => [op.op, (op.row ?? op.new)[title]]);
    const batch = (seq) => frame((f) => f.t === "nbatch" && f.batch.seq === seq);
    const snapshot = await batch(0);
    assert.equal(snapshot.batch.normalizedFp, hello.normalizedFp);
    // The follower may have been behind the first insert: then it comes as a delta, as soon as it is applied.
    const early = titles(snapshot);
    const seen = early.length > 0 ? early : titles(await batch(1));
    assert.deepEqual(seen, [["add", "live"]]);

    await db.execute("update note set score = 3.5 where title = 'live'");
    const delta = await batch(early.length > 0 ? 1 : 2);
    assert.deepEqual(titles(delta), [["edit", "live"]]);
    assert.equal(delta.batch.ops[0].old[table.columns.indexOf("score")], 2.5);
    assert.equal(delta.batch.ops[0].new[table.columns.indexOf("score")], 3.5);
    await frame((f) => f.t === "progress" && f.frame.cvMin >= delta.batch.cv);
  } finally {
    socket.terminate();
  }
});

await runTests();
