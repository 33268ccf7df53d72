// Writes a `.br` beside each text file of `dist`, and says how large the first load is.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url).pathname;
const most = 300 * 1024;
const sizes = new Map();

for (const entry of readdirSync(dist, { recursive: true })) {
  const path = join(dist, entry);
  if (!statSync(path).isFile() || !['.js', '.css', '.html', '.svg', '.json'].includes(extname(path))) continue;
  const bytes = readFileSync(path);
  const small = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
  writeFileSync(`${path}.br`, small);
  sizes.set(`/${entry}`, small.length);
}

// The first load: files that the page names. All others are loaded on demand.
const page = readFileSync(join(dist, 'index.html'), 'utf8');
const first = [...page.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, path]) => path);
const total = first.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
console.log(`first load: ${(total / 1024).toFixed(0)} KB of compressed script in ${first.length} files`);
if (total > most) {
  console.error(`that is more than ${most / 1024} KB`);
  process.exit(1);
}
