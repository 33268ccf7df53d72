// The bounds of a field, in words.
import { type JsonSchema, numberOf } from './schema';
import type { Drawn } from './shape';
import type { WORDS } from './words';

type Said = typeof WORDS.zh;

/** A bound like this is no advice to anybody. */
const FAR = 1e9;
const MANY = 1000;
const LONG = 100;

export function limitsOf({ shape, schema }: Drawn, t: Said): string | undefined {
  switch (shape.kind) {
    case 'number':
      return numberLimits(schema, t);
    case 'text': {
      const most = numberOf(schema, 'maxLength');
      const least = numberOf(schema, 'minLength');
      return counted((least ?? 0) > 1 ? least : undefined, most !== undefined && most <= LONG ? most : undefined, t, t.characters);
    }
    case 'list':
      return counted(shape.least > 0 ? shape.least : undefined, shape.most < MANY ? shape.most : undefined, t, t.items);
    default:
      return undefined;
  }
}

/** How many; the number that stands last decides between one and several. */
function counted(least: number | undefined, most: number | undefined, t: Said, said: (range: string, last: number) => string): string | undefined {
  const range = rangeOf(least, most, t);
  const last = most ?? least;
  return range === undefined || last === undefined ? undefined : said(range, last);
}

function numberLimits(schema: JsonSchema, t: Said): string | undefined {
  const near = (keyword: string) => {
    const bound = numberOf(schema, keyword);
    return bound !== undefined && Math.abs(bound) < FAR ? bound : undefined;
  };
  const [above, below, step] = [near('exclusiveMinimum'), near('exclusiveMaximum'), near('multipleOf')];
  const said = [
    rangeOf(near('minimum'), near('maximum'), t),
    above === undefined ? undefined : t.above(String(above)),
    below === undefined ? undefined : t.below(String(below)),
    step === undefined ? undefined : t.multiple(String(step)),
  ].filter((one) => one !== undefined);
  return said.length === 0 ? undefined : said.join(', ');
}

function rangeOf(least: number | undefined, most: number | undefined, t: Said): string | undefined {
  if (least !== undefined && most !== undefined) return least === most ? String(least) : t.between(String(least), String(most));
  if (least !== undefined) return t.atLeast(String(least));
  return most === undefined ? undefined : t.atMost(String(most));
}
