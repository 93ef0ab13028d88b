// Plays the recorded exchanges against fresh servers and compares every answer: node run.mjs [SCENARIO...]
// selection.json says which scenarios, and which of their steps, are Leat's to answer.
import { readFileSync } from "node:fs";
import { differences } from "./compare.mjs";
import { Player } from "./player.mjs";
import { sqlToken, withServers } from "../servers.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));
const selection = read("selection");
const differencesShownMax = 6;

let passed = 0;
let failed = 0;

async function playScenario(name, urls) {
  const player = new Player({ ...urls, sqlToken });
  const without = new Set(selection.without[name]?.steps);
  try {
    for (const [index, step] of read(name).steps.entries()) {
      if (without.has(index)) continue;
      let found;
      try {
        const answer = await player.play(step);
        if (answer === undefined) continue;
        found = differences(player.fill(step.expect), answer);
      } catch (error) {
        found = [String(error.cause ?? error)];
      }
      if (found.length === 0) {
        passed += 1;
        continue;
      }
      failed += 1;
      console.log(`${name} step ${index} ${step.path ?? step.ws} ${JSON.stringify(step.body ?? null).slice(0, 200)}`);
      for (const line of found.slice(0, differencesShownMax)) console.log(`    ${line}`);
    }
  } finally {
    player.close();
  }
}

const names = process.argv.length > 2 ? process.argv.slice(2) : selection.scenarios;
for (const name of names) {
  try {
    await withServers((urls) => playScenario(name, urls));
  } catch (error) {
    failed += 1;
    console.log(`${name}: ${error.stack}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
