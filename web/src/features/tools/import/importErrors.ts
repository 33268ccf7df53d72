// Reads the error of an import: skipped operations and violations of fields.
import { ApiError, type Schemas } from '@/api/client';

type Skipped = Schemas['ImportReport']['skipped'][number];

export function skippedIn(error: unknown): Skipped[] {
  const skipped = error instanceof ApiError ? error.details['skipped'] : undefined;
  const isSkipped = (one: unknown): one is Skipped => typeof one === 'object' && one !== null && 'operation' in one && 'reason' in one;
  return Array.isArray(skipped) ? skipped.filter(isSkipped) : [];
}

/** Returns true if all operations were skipped because the document has no base URL. The reasons name the parameter. */
export function isBaseMissing(error: unknown): boolean {
  const skipped = skippedIn(error);
  return skipped.length > 0 && skipped.every(({ reason }) => reason.includes('baseUrl'));
}

export function messageAt(error: unknown, path: string): string | undefined {
  return error instanceof ApiError ? error.violations.find((one) => one.path === path)?.message : undefined;
}
