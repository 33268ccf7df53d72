// How the console is built into `dist`, which the binary embeds; `npm run dev` asks a Haft on its usual port.
import { fileURLToPath } from 'node:url';

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const haft = process.env['HAFT_URL'] ?? 'http://127.0.0.1:7420';

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@': fileURLToPath(new URL('src', import.meta.url)) } },
  // Nothing inline: the policy of the page forbids it.
  build: { target: 'es2023', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { '/api': { target: haft } } },
});
