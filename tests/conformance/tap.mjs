// A list of tests that share one pair of servers, reported as TAP.
import { withServers } from "./servers.mjs";

const tests = [];
export const test = (name, body) => tests.push({ name, body });

// Runs them in order, each with the servers; the process's exit code says whether all passed.
export async function runTests() {
  console.log(`TAP version 13\n1..${tests.length}`);
  let passed = 0;
  let failed = 0;
  try {
    await withServers(async (servers) => {
      for (const [index, { name, body }] of tests.entries()) {
        try {
          await body(servers);
          passed += 1;
          console.log(`ok ${index + 1} - ${name}`);
        } catch (error) {
          failed += 1;
          console.log(`not ok ${index + 1} - ${name}\n${String(error.stack).replace(/^/gm, "    ")}`);
        }
      }
    });
  } catch (error) {
    failed += 1;
    console.log(`Bail out! ${error.stack}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
