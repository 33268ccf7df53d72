// The limits of a field as a text: "1 to 10", "at most 80 characters".
import { type JsonSchema, numberOf } from './schema';
import type { ParsedField } from './shape';
import type { TEXTS } from './texts';

type FormTexts = typeof TEXTS.zh;

/** Larger bounds, counts and lengths are technical limits and not shown. */
const MAX_DISPLAYED_BOUND = 1e9;
const MAX_DISPLAYED_ITEMS = 1000;
const MAX_DISPLAYED_LENGTH = 100;

export function limitsOf({ shape, schema }: ParsedField, t: FormTexts): string | undefined {
  switch (shape.kind) {
    case 'number':
      return numberLimits(schema, t);
    case 'text': {
      const maximum = numberOf(schema, 'maxLength');
      const minimum = numberOf(schema, 'minLength');
      return formatCount((minimum ?? 0) > 1 ? minimum : undefined, maximum !== undefined && maximum <= MAX_DISPLAYED_LENGTH ? maximum : undefined, t, t.characters);
    }
    case 'list':
      return formatCount(shape.minItems > 0 ? shape.minItems : undefined, shape.maxItems < MAX_DISPLAYED_ITEMS ? shape.maxItems : undefined, t, t.items);
    default:
      return undefined;
  }
}

/** Formats a count. The last number decides between singular and plural. */
function formatCount(minimum: number | undefined, maximum: number | undefined, t: FormTexts, format: (range: string, last: number) => string): string | undefined {
  const range = rangeOf(minimum, maximum, t);
  const last = maximum ?? minimum;
  return range === undefined || last === undefined ? undefined : format(range, last);
}

function numberLimits(schema: JsonSchema, t: FormTexts): string | undefined {
  const near = (keyword: string) => {
    const bound = numberOf(schema, keyword);
    return bound !== undefined && Math.abs(bound) < MAX_DISPLAYED_BOUND ? bound : undefined;
  };
  const [above, below, step] = [near('exclusiveMinimum'), near('exclusiveMaximum'), near('multipleOf')];
  const parts = [
    rangeOf(near('minimum'), near('maximum'), t),
    above === undefined ? undefined : t.above(String(above)),
    below === undefined ? undefined : t.below(String(below)),
    step === undefined ? undefined : t.multiple(String(step)),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

function rangeOf(minimum: number | undefined, maximum: number | undefined, t: FormTexts): string | undefined {
  if (minimum !== undefined && maximum !== undefined) return minimum === maximum ? String(minimum) : t.between(String(minimum), String(maximum));
  if (minimum !== undefined) return t.atLeast(String(minimum));
  return maximum === undefined ? undefined : t.atMost(String(maximum));
}
