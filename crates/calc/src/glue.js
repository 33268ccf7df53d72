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
    'simplifyConstant', 'rationalize', 'derivative', 'resolve', 'leafCount', 'symbolicEqual',
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

  // Plain digits as far as all of them are written: people and models read 7.006652e+6 badly. With 14 digits, a
  // longer number has a rounded digit and is written with an exponent; a whole number alone is written in full.
  const written = function (value) {
    if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15) return String(value)
    return format(value, { precision: 14, upperExp: 14 })
  }

  return function (expression) {
    let value
    let text
    try {
      forget()
      value = evaluate(expression, {})
      text = written(value)
    } catch (error) {
      const name = error && error.name
      const message = String((error && error.message) || error)
      // Words of the engine itself, and not of an expression that holds the same words.
      if (name === 'InternalError' || name === 'RangeError') {
        if (message === 'out of memory') return JSON.stringify({ limit: 'memory' })
        if (/^(Maximum call stack size exceeded|stack overflow)$/.test(message)) return JSON.stringify({ limit: 'depth' })
      }
      const told = message.length > 1000 ? message.slice(0, 1000) + '…' : message
      return JSON.stringify({ error: told.toWellFormed() })
    }
    if (text.length > 1000000) return JSON.stringify({ limit: 'size' })
    // Half of a character, cut out of a text, has no form in JSON.
    text = text.toWellFormed()
    const plain = (typeof value === 'number' && Number.isFinite(value)) || typeof value === 'boolean'
    return JSON.stringify({ result: plain ? value : text, text })
  }
})
