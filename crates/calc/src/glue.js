// What stands between mathjs and the Rust side: one function that takes an expression and answers JSON.
(function (library) {
  'use strict'
  const math = library.create(library.all)
  const evaluate = math.evaluate
  const format = math.format

  // mathjs's own advice for expressions of strangers: nothing that changes the engine,
  // nothing that runs a second expression out of sight of the limits.
  const disabled = [
    'import', 'createUnit', 'reviver', 'evaluate', 'parse', 'parser', 'compile', 'simplify', 'simplifyCore',
    'simplifyConstant', 'rationalize', 'derivative', 'resolve', 'leafCount', 'symbolicEqual', 'chain',
    'help'
  ]
  const refuse = function (name) {
    return function () { throw new Error('Function ' + name + ' is disabled') }
  }
  const replacements = {}
  for (const name of disabled) replacements[name] = refuse(name)
  math.import(replacements, { override: true })
  // mathjs needs these two itself, so they are taken only from what expressions see.
  for (const name of ['config', 'typed']) math.expression.mathWithTransform[name] = refuse(name)

  // mathjs prefers the units it has seen last, so that one expression would change how the
  // next is written. What it prefers at the start is put back before each.
  const preferred = math.Unit.UNIT_SYSTEMS.auto
  const atStart = Object.assign({}, preferred)
  const forget = function () {
    for (const dimension of Object.keys(preferred)) {
      if (!(dimension in atStart)) delete preferred[dimension]
    }
    Object.assign(preferred, atStart)
  }

  return function (expression) {
    let value
    let text
    try {
      forget()
      value = evaluate(expression, {})
      text = format(value, { precision: 14 })
    } catch (error) {
      const name = error && error.name
      const message = String((error && error.message) || error)
      if (/out of memory/i.test(message)) return JSON.stringify({ limit: 'memory' })
      if (name === 'InternalError' || (name === 'RangeError' && /call stack|stack overflow/i.test(message))) {
        return JSON.stringify({ limit: 'depth' })
      }
      return JSON.stringify({ error: message })
    }
    if (text.length > 1000000) return JSON.stringify({ limit: 'size' })
    const plain = (typeof value === 'number' && Number.isFinite(value)) || typeof value === 'boolean'
    return JSON.stringify({ result: plain ? value : text, text })
  }
})
