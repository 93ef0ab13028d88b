// Starts a fresh master and follower for a test: free ports, a temporary folder, config files.
// LEAT_BIN is the folder of the programs; LEAT_MASTER_PROGRAM and LEAT_FOLLOWER_PROGRAM replace either.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";

const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const bin = process.env.LEAT_BIN ?? join(repository, "build/bin");
const masterProgram = process.env.LEAT_MASTER_PROGRAM ?? join(bin, "leat-master");
const followerProgram = process.env.LEAT_FOLLOWER_PROGRAM ?? join(bin, "leat-follower");
const readyMsMax = 20_000;
const stopMsMax = 15_000;

export const sqlToken = "sql-token";

class Server {
  constructor(program, config, folder, name) {
    this.name = name;
    this.log = "";
    this.output = [];
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(config));
    this.process = spawn(program, ["--config", file], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, RINDLE_RESTART_ON_MIGRATE: "0" },
    });
    this.process.stderr.on("data", (data) => { this.log += data; });
    this.exited = new Promise((done) => {
      this.process.on("error", (error) => { this.log += String(error); done(-1); });
      this.process.on("exit", (code, signal) => done(signal ?? code));
    });
  }

  async ready() {
    const line = new Promise((done) => {
      createInterface({ input: this.process.stdout }).on("line", (text) => { this.output.push(text); done(text); });
    });
    const late = new Promise((done) => setTimeout(done, readyMsMax, null).unref());
    const first = await Promise.race([line, this.exited, late]);
    if (typeof first !== "string" || !first.startsWith("{")) {
      throw new Error(`${this.name} did not get ready (${first}):\n${this.log}`);
    }
    const parsed = JSON.parse(first);
    if (parsed.ready !== true) throw new Error(`${this.name} is not ready: ${first}`);
    Object.assign(this, { httpPort: parsed.httpPort, wsPort: parsed.wsPort });
  }

  // Asks it to stop; what is wrong with how it stopped, or null.
  async stop() {
    this.process.kill("SIGTERM");
    const killer = setTimeout(() => this.process.kill("SIGKILL"), stopMsMax);
    const code = await this.exited;
    clearTimeout(killer);
    if (code !== 0) return `${this.name} ended with ${code} after SIGTERM`;
    if (this.output.length !== 1) return `${this.name} printed ${this.output.length} lines, not the ready line alone`;
    return null;
  }
}

// Runs `test({masterUrl, followerUrl, wsUrl, restartMaster, restartFollower})` and stops the servers whatever happens.
export async function withServers(test) {
  const folder = mkdtempSync(join(tmpdir(), "leat-conformance-"));
  const started = [];
  const start = async (program, config, name) => {
    const server = new Server(program, config, folder, name);
    started.push(server);
    await server.ready();
    return server;
  };
  const masterConfig = (httpPort, wsPort) => ({
    db: "m.db", name: "conformance-master", bindHost: "127.0.0.1", httpPort, wsPort, sqlAuthToken: sqlToken, tables: [],
  });
  const followerConfig = (sourcePort, httpPort, wsPort) => ({
    db: "f.db", bindHost: "127.0.0.1", httpPort, wsPort, defaultLeaseTtlMs: 60000,
    sources: [{ kind: "replicator", name: "conformance-master", url: `ws://127.0.0.1:${sourcePort}/subscribe` }],
  });
  let succeeded = false;
  try {
    let master = await start(masterProgram, masterConfig(0, 0), "master");
    let follower = await start(followerProgram, followerConfig(master.wsPort, 0, 0), "follower");
    const kill = async (server) => {
      server.process.kill("SIGKILL");
      await server.exited;
      started.splice(started.indexOf(server), 1);
    };
    await test({
      masterUrl: `http://127.0.0.1:${master.httpPort}`,
      followerUrl: `http://127.0.0.1:${follower.httpPort}`,
      wsUrl: `ws://127.0.0.1:${follower.wsPort}`,
      // Each kills with SIGKILL and starts the same database again on the same ports.
      restartMaster: async () => {
        await kill(master);
        master = await start(masterProgram, masterConfig(master.httpPort, master.wsPort), "master");
      },
      restartFollower: async () => {
        await kill(follower);
        const config = followerConfig(master.wsPort, follower.httpPort, follower.wsPort);
        follower = await start(followerProgram, config, "follower");
      },
    });
    succeeded = true;
  } finally {
    const problems = [];
    for (const server of started.reverse()) {
      const problem = await server.stop();
      if (problem !== null) problems.push(problem);
    }
    if (!succeeded || problems.length > 0) {
      for (const server of started) process.stderr.write(`--- log of ${server.name}\n${server.log.slice(-4000)}\n`);
    }
    rmSync(folder, { recursive: true, force: true });
    if (succeeded && problems.length > 0) throw new Error(problems.join("; "));
  }
}
