// Plays the steps of one scenario and yields an answer for each step that has one.
import { createHash, randomBytes } from "node:crypto";
import WebSocket from "ws";
import { comparableFrames } from "./compare.mjs";

const framesMsMax = 5_000;
const followerMsMax = 10_000;
// How long after the last awaited frame one too many may still show up.
const quietMs = 150;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export class Player {
  constructor({ masterUrl, followerUrl, wsUrl, sqlToken }) {
    this.base = { master: masterUrl, follower: followerUrl };
    this.wsUrl = wsUrl;
    this.tokens = { sql: sqlToken, bad: "wrong-token" };
    this.run = randomBytes(4).toString("hex");
    this.keyTime = Date.now();
    this.saved = {};
    this.cursor = ""; // of the last write, in its text form, whose order is the cursors' order
    this.inbox = [];
  }

  // Replaces "${now}", "${run}", "${key:NAME}" and saved names in every string of a value.
  fill(value) {
    if (typeof value === "string") return value.replace(/\$\{([^}]+)\}/g, (_, name) => this.variable(name));
    if (Array.isArray(value)) return value.map((entry) => this.fill(entry));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, this.fill(entry)]));
  }

  variable(name) {
    if (name === "now") return String(Date.now());
    if (name === "run") return this.run;
    if (name.startsWith("key:")) {
      return `sql1.${this.keyTime}.${createHash("sha256").update(this.run + name).digest("hex").slice(0, 32)}`;
    }
    if (!(name in this.saved)) throw new Error(`no step has saved ${name}`);
    return this.saved[name];
  }

  // The answer of a step, or undefined for a step that has none.
  async play(step) {
    if (step.sleep !== undefined) return this.followerHasEveryWrite();
    if (step.http !== undefined) return this.request(step);
    return this.socketStep(step);
  }

  async request(step) {
    const token = this.tokens[step.token ?? (step.path.startsWith("/v1/sql") ? "sql" : "control")];
    const body = step.raw ?? (step.body === undefined ? undefined : JSON.stringify(this.fill(step.body)));
    const response = await fetch(this.base[step.http] + this.fill(step.path), {
      method: step.method ?? (body === undefined ? "GET" : "POST"),
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body,
    });
    const text = await response.text();
    let answer = null;
    try {
      if (text !== "") answer = JSON.parse(text);
    } catch {
      answer = { notJson: text.slice(0, 200) };
    }
    this.cursor = answer?.commit_cursor ?? answer?.cursor ?? this.cursor;
    for (const [name, field] of Object.entries(step.save ?? {})) this.saved[name] = answer?.[field];
    return { status: response.status, body: answer };
  }

  // A recorded pause gave the follower time to catch up.
  async followerHasEveryWrite() {
    const deadline = Date.now() + followerMsMax;
    for (;;) {
      const response = await fetch(`${this.base.follower}/stats`, {
        method: "POST", headers: { "content-type": "application/json" }, body: "{}",
      });
      if ((await response.json()).followerSourceOffset >= this.cursor) return;
      if (Date.now() > deadline) throw new Error(`the follower has not reached ${this.cursor}`);
      await wait(5);
    }
  }

  async socketStep(step) {
    switch (step.ws) {
      case "open":
        return this.open();
      case "send":
        this.socket.send(step.raw ?? JSON.stringify(this.fill(step.frame)));
        return undefined;
      case "close":
        this.socket.close();
        return undefined;
      case "frames":
        return this.frames(step.count);
      default:
        throw new Error(`unknown step ${JSON.stringify(step)}`);
    }
  }

  async open() {
    this.socket = new WebSocket(this.wsUrl);
    this.inbox = [];
    this.socket.on("message", (data) => {
      const frame = JSON.parse(String(data));
      // Placement and release frames depend on timing; sql-client.mjs and the unit tests look at them.
      if (frame.t !== "affinity" && frame.t !== "progress") this.inbox.push(frame);
    });
    await new Promise((done, fail) => {
      this.socket.on("open", done);
      this.socket.on("error", fail);
    });
  }

  async frames(count) {
    const deadline = Date.now() + framesMsMax;
    while (this.inbox.length < count && Date.now() < deadline) await wait(5);
    await wait(quietMs);
    return comparableFrames(this.inbox.splice(0));
  }

  close() {
    this.socket?.terminate();
  }
}
