// When does an answer match a recorded one? Everything recorded must be there and equal. Fields that differ from run to
// run must be there with the same kind of value; texts for people are not compared.
const volatileFields = new Set([
  "cursor", "commit_cursor", "transaction_id", "sessionId", "leaseToken", "materializationId", "queryKey", "bootId",
  "epoch", "cv", "cvMin", "message", "error", "applied_lag_ms", "served_by", "fence_fallback", "retryAfterMs", "affinity",
  "schemaVersion", "restarting", "hashOverridden", "reused",
]);
// Volatile fields that a recording may hold as null where another server knows the value.
const mayBecomeKnown = new Set(["applied_lag_ms"]);

const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

function* compare(want, got, path) {
  const kinds = [kind(want), kind(got)];
  if (kinds[0] === "object" && kinds[1] === "object") {
    for (const [name, value] of Object.entries(want)) yield* compareField(name, value, got, `${path}.${name}`);
  } else if (kinds[0] === "array" && kinds[1] === "array") {
    if (want.length !== got.length) {
      yield `${path} should have ${want.length} entries, has ${got.length}: ${JSON.stringify(got).slice(0, 300)}`;
    }
    for (let i = 0; i < Math.min(want.length, got.length); i += 1) yield* compare(want[i], got[i], `${path}[${i}]`);
  } else if (want !== got) {
    yield `${path} should be ${JSON.stringify(want)}, is ${JSON.stringify(got)}`;
  }
}

function* compareField(name, want, object, path) {
  if (!(name in object)) {
    yield `${path} is missing`;
  } else if (!volatileFields.has(name)) {
    yield* compare(want, object[name], path);
  } else if (kind(want) !== kind(object[name]) && !(mayBecomeKnown.has(name) && want === null)) {
    yield `${path} should be of kind ${kind(want)}, is of kind ${kind(object[name])}`;
  }
}

// One line for each difference.
export const differences = (want, got) => [...compare(want, got, "answer")];

// Frames in an order that can be compared: operations of one frame on different rows carry no order, frames of different
// queries may interleave, frames of one query may not. The fingerprint covers the run's own table names.
export function comparableFrames(frames) {
  const text = (operation) => JSON.stringify(operation);
  for (const frame of frames) {
    if (!frame.batch?.ops) continue;
    frame.batch.ops.sort((a, b) => (text(a) < text(b) ? -1 : 1));
    delete frame.batch.normalizedFp;
  }
  return frames
    .map((frame, arrival) => ({ frame, arrival }))
    .sort((a, b) => (a.frame.queryId ?? 0) - (b.frame.queryId ?? 0) || a.arrival - b.arrival)
    .map(({ frame }) => frame);
}
