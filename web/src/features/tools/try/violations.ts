// Filters the violations of a call: those of fields that were changed since are removed.
import type { Violation } from '@/api/client';
import { isRecord, isSame, type JsonObject } from '@/components/schema-form/schema';

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const step of path.split('.')) {
    found = Array.isArray(found) ? (found as unknown[])[Number(step)] : isRecord(found) ? found[step] : undefined;
  }
  return found;
}

export function remainingViolations(violations: readonly Violation[], sent: JsonObject, now: JsonObject): readonly Violation[] {
  if (sent === now) return violations;
  return violations.filter(({ path }) => (path === '(root)' ? isSame(sent, now) : isSame(valueAt(sent, path), valueAt(now, path))));
}
