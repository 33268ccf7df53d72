// The few HTML entities that people write in Markdown.
const NAMED: Readonly<Record<string, string>> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: '\'', nbsp: '\u00a0', copy: '©', reg: '®', hellip: '…', mdash: '—', ndash: '–', times: '×', deg: '°',
  rarr: '→', larr: '←', middot: '·', bull: '•', euro: '€', laquo: '«', raquo: '»',
};

const HIGHEST = 0x10ffff;

export function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const point = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
    return point > 0 && point <= HIGHEST ? String.fromCodePoint(point) : whole;
  });
}
