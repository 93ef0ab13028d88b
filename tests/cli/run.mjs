// `leat sql` and `leat watch` against real servers, as a person sees them. Prints TAP.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { bin, sqlToken } from "../conformance/servers.mjs";
import { runTests, test } from "../conformance/tap.mjs";

const leat = join(bin, "leat");
const lineMsMax = 10_000;

// Runs the program to its end.
function run(...args) {
  return new Promise((done) => {
    const child = spawn(leat, args, { stdio: ["ignore", "pipe", "pipe"] });
    const result = { out: "", error: "" };
    child.stdout.on("data", (data) => { result.out += data; });
    child.stderr.on("data", (data) => { result.error += data; });
    child.on("close", (code) => done({ ...result, code }));
  });
}

// A `leat watch` that runs until it is closed.
class Watch {
  constructor(...args) {
    this.out = "";
    this.error = "";
    this.child = spawn(leat, ["watch", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout.on("data", (data) => { this.out += data; });
    this.child.stderr.on("data", (data) => { this.error += data; });
  }
  async line(pattern) {
    const deadline = Date.now() + lineMsMax;
    while (!pattern.test(this.out)) {
      assert.ok(Date.now() < deadline, `no line like ${pattern} in:\n${this.out}${this.error}`);
      await new Promise((done) => setTimeout(done, 10));
    }
  }
  close() { this.child.kill(); }
}

const sql = (url, ...args) => run("sql", "--url", url, "--token", sqlToken, ...args);

test("sql runs a write and says what it changed", async ({ masterUrl }) => {
  const made = await sql(masterUrl, "create table note (id integer primary key, title text, score real)");
  assert.equal(made.code, 0, made.error);
  const written = await sql(masterUrl, "insert into note (title, score) values (?, ?)", "hello there", "1.5");
  assert.equal(written.code, 0, written.error);
  assert.match(written.out, /^1 row changed, rowid 1, cursor w:[0-9a-f]{16}\n$/);
});

test("sql prints rows as a table", async ({ masterUrl }) => {
  const read = await sql(masterUrl, "select * from note where title = ?", "hello there");
  assert.equal(read.code, 0, read.error);
  assert.equal(read.out, "id  title        score\n--  -----------  -----\n 1  hello there    1.5\n1 row\n");
});

test("sql --json prints the server's answer", async ({ masterUrl }) => {
  const read = await sql(masterUrl, "--json", "select 1");
  assert.deepEqual(JSON.parse(read.out).result.rows, [[{ $rindle: "i64", value: "1" }]]);
});

test("sql carries blobs both ways", async ({ masterUrl }) => {
  const read = await sql(masterUrl, "select typeof(?1), ?1", "x'00ff'");
  assert.equal(read.code, 0, read.error);
  assert.match(read.out, /blob +x'00ff'/);
});

test("a refused statement ends with 1, a wrong command line with 2, no server with 3", async ({ masterUrl }) => {
  const refused = await sql(masterUrl, "select * from missing");
  assert.equal(refused.code, 1);
  assert.match(refused.error, /no such table: missing/);
  assert.equal((await run("sql", "--url", masterUrl, "--token", "wrong", "select 1")).code, 1);
  assert.equal((await run("sql")).code, 2);
  assert.equal((await run("watch", "--url", masterUrl, "note", "--where", "nonsense")).code, 2);
  assert.equal((await run("sql", "--url", "nonsense", "select 1")).code, 2);
  assert.equal((await run("sql", "--url", "http://127.0.0.1:1", "select 1")).code, 3);
  assert.equal((await run("watch", "--url", "http://127.0.0.1:1", "note")).code, 3);
});

test("watch of a table that does not exist says so", async ({ followerUrl }) => {
  const refused = await run("watch", "--url", followerUrl, "--token", sqlToken, "missing");
  assert.equal(refused.code, 1);
  assert.match(refused.error, /missing/);
});

test("watch prints rows, changes and removals of exactly its query, and goes on after the follower was killed", async (servers) => {
  const { masterUrl, followerUrl } = servers;
  const watch = new Watch("--url", followerUrl, "--token", sqlToken, "note", "--where", "score>=1");
  try {
    await watch.line(/\+ note  id=1 title='hello there' score=1\.5/);
    await watch.line(/= note  1 row now/);
    await sql(masterUrl, "insert into note (title, score) values ('unseen', 0.5), ('seen', 2)");
    await watch.line(/\+ note  id=3 title=seen score=2(\.0)?\n/);
    await sql(masterUrl, "update note set title = 'edited' where id = 3");
    await watch.line(/~ note  id=3  title: seen -> edited/);
    await sql(masterUrl, "update note set score = 0 where id = 3");
    await watch.line(/- note  id=3 title=edited/);
    assert.doesNotMatch(watch.out, /unseen/);
    await servers.restartFollower();
    await sql(masterUrl, "update note set title = 'later' where id = 1");
    await watch.line(/~ note  id=1  title: 'hello there' -> later/);
    assert.match(watch.error, /trying again/);
  } finally {
    watch.close();
  }
});

await runTests();
