// The results of mathjs for the expressions in expressions.txt, as a JSON array.
//
//     node golden.mjs <directory that contains node_modules/mathjs>

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const directory = process.argv[2]
if (directory === undefined) {
  console.error('usage: node golden.mjs <directory that contains node_modules/mathjs>')
  process.exit(2)
}

const require = createRequire(path.join(path.resolve(directory), 'x.js'))
const { create, all } = require('mathjs')
const math = create(all)

function evaluated (expression) {
  try {
    const value = math.evaluate(expression, {})
    const isWhole = typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15
    const text = isWhole ? String(value) : math.format(value, { precision: 14, upperExp: 14 })
    const plain =
      (typeof value === 'number' && Number.isFinite(value)) || typeof value === 'boolean'
    return { result: plain ? value : text, text }
  } catch (e) {
    return { error: e.message }
  }
}

const rows = []
let group = ''
for (const line of readFileSync(new URL('expressions.txt', import.meta.url), 'utf8').split('\n')) {
  if (line === '') continue
  if (line.startsWith('#')) {
    group = line.slice(1).trim()
    continue
  }
  const expression = line.replaceAll('\\n', '\n')
  rows.push({ group, expression, ...evaluated(expression) })
}

process.stdout.write(JSON.stringify(rows, null, 1) + '\n')
