// Complaints that still hold: a field that was changed since is no longer the one that was wrong.
import type { Violation } from '@/api/client';
import { isRecord, isSame, type JsonObject } from '@/components/schema-form/schema';

function at(value: unknown, path: string): unknown {
  let found = value;
  for (const step of path.split('.')) {
    found = Array.isArray(found) ? (found as unknown[])[Number(step)] : isRecord(found) ? found[step] : undefined;
  }
  return found;
}

export function stillWrong(violations: readonly Violation[], sent: JsonObject, now: JsonObject): readonly Violation[] {
  if (sent === now) return violations;
  return violations.filter(({ path }) => (path === '(root)' ? isSame(sent, now) : isSame(at(sent, path), at(now, path))));
}
