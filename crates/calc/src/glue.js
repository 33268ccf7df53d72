// The glue between mathjs and Rust: one function that takes an expression and returns JSON.
(function (library) {
  'use strict'
  const math = library.create(library.all)
  const evaluate = math.evaluate
  const format = math.format

  // Disabled as mathjs recommends for untrusted expressions: functions that change the engine, or that evaluate
  // a second expression outside of the limits.
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
  // mathjs itself needs these two, so they are disabled only for expressions.
  for (const name of ['config', 'typed']) math.expression.mathWithTransform[name] = refuse(name)

  // mathjs prefers recently used units, so one expression would change the format of the next. The initial
  // preferences are restored before each expression.
  const preferred = math.Unit.UNIT_SYSTEMS.auto
  const atStart = Object.assign({}, preferred)
  const restoreUnits = function () {
    for (const dimension of Object.keys(preferred)) {
      if (!(dimension in atStart)) delete preferred[dimension]
    }
    Object.assign(preferred, atStart)
  }

  // Formats numbers without an exponent if no digit is rounded, which is easier to read than 7.006652e+6. With 14
  // digits of precision, longer numbers have an exponent; whole numbers below 1e15 are written in full.
  const formatted = function (value) {
    if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15) return String(value)
    return format(value, { precision: 14, upperExp: 14 })
  }

  return function (expression) {
    let value
    let text
    try {
      restoreUnits()
      value = evaluate(expression, {})
      text = formatted(value)
    } catch (error) {
      const name = error && error.name
      const message = String((error && error.message) || error)
      // Only errors of the engine; an expression may throw an error with the same message.
      if (name === 'InternalError' || name === 'RangeError') {
        if (message === 'out of memory') return JSON.stringify({ limit: 'memory' })
        if (/^(Maximum call stack size exceeded|stack overflow)$/.test(message)) return JSON.stringify({ limit: 'depth' })
      }
      const shortened = message.length > 1000 ? message.slice(0, 1000) + '…' : message
      return JSON.stringify({ error: shortened.toWellFormed() })
    }
    if (text.length > 1000000) return JSON.stringify({ limit: 'size' })
    // A lone surrogate cannot be represented in JSON.
    text = text.toWellFormed()
    const plain = (typeof value === 'number' && Number.isFinite(value)) || typeof value === 'boolean'
    return JSON.stringify({ result: plain ? value : text, text })
  }
})
