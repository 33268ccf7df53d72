// The results of day.js for formatting, adding and subtracting, as one JSON object.
//
//     node golden.mjs <directory that contains node_modules/dayjs>
//
// day.js mixes the zone of the machine into some results for another zone: the tokens X and x, and
// w, ww, wo and gggg near the edges of a week. Each formatting row is therefore computed as on
// machines in several zones, and included only if they all agree. The output therefore does not
// depend on the zone of the machine that runs this script.

import { createRequire } from 'node:module'
import path from 'node:path'

const directory = process.argv[2]
if (directory === undefined) {
  console.error('usage: node golden.mjs <directory that contains node_modules/dayjs>')
  process.exit(2)
}

const require = createRequire(path.join(path.resolve(directory), 'x.js'))
const dayjs = require('dayjs')
for (const plugin of ['utc', 'timezone', 'advancedFormat', 'weekOfYear', 'weekYear', 'isoWeek', 'quarterOfYear']) {
  dayjs.extend(require(`dayjs/plugin/${plugin}`))
}
require('dayjs/locale/zh-cn')
dayjs.locale('en')

const LOCALES = { en: 'en', zh: 'zh-cn' }

const MACHINES = ['UTC', 'Asia/Shanghai', 'America/New_York', 'Pacific/Auckland']

const ZONES = [
  'UTC',
  'Asia/Shanghai',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Auckland',
  'America/St_Johns'
]

// Before 1970 only whole seconds: day.js takes the offset of an earlier instant with milliseconds
// wrongly.
const INSTANTS = [
  '1969-12-31T23:59:59.000Z',
  '1970-01-01T00:00:00.000Z',
  '1999-12-31T23:59:59.999Z',
  '2000-02-29T12:00:00.001Z',
  '2010-01-03T12:30:00.000Z', // Sunday of ISO week 53 of 2009
  '2015-12-31T16:00:00.000Z', // midnight of New Year in Shanghai
  '2016-01-01T05:00:00.000Z', // midnight of New Year in New York
  '2019-12-30T12:00:00.000Z', // Monday of ISO week 1 of 2020
  '2020-02-29T00:00:00.000Z',
  '2020-12-31T12:00:00.000Z', // ISO week 53
  '2021-01-03T12:34:56.789Z', // still ISO week 53 of 2020
  '2021-01-04T00:00:00.000Z',
  '2022-01-01T12:00:00.000Z',
  '2023-01-01T12:00:00.000Z', // a Sunday: week 1 for en, week 52 of 2022 for zh
  '2023-03-12T06:59:59.999Z', // a second before New York springs forward
  '2023-03-12T07:00:00.000Z',
  '2023-03-26T01:00:00.000Z', // Berlin springs forward
  '2023-11-05T05:30:00.000Z', // 01:30 in New York, first time
  '2023-11-05T06:30:00.000Z', // 01:30 in New York, second time
  '2024-01-15T08:05:09.007Z',
  '2024-02-29T23:59:59.999Z',
  '2024-05-13T12:00:00.000Z', // noon of a Monday
  '2024-09-22T16:00:00.050Z', // midnight in Shanghai
  '2024-10-09T04:03:02.001Z',
  '2024-12-29T12:00:00.000Z',
  '2024-12-31T10:30:00.000Z',
  '2025-06-21T21:45:30.120Z',
  '2099-11-23T14:00:00.000Z'
]

const PLAIN_TOKENS = [
  'YY', 'YYYY', 'M', 'MM', 'MMM', 'MMMM', 'D', 'DD', 'd', 'dd', 'ddd', 'dddd', 'H', 'HH', 'h', 'hh',
  'm', 'mm', 's', 'ss', 'SSS', 'Z', 'ZZ', 'A', 'a', 'Q', 'Do', 'k', 'kk'
]
const WEEK_TOKENS = ['w', 'ww', 'W', 'WW', 'wo', 'gggg', 'GGGG']
const STAMP_TOKENS = ['X', 'x']
const NAME_TOKENS = ['z', 'zzz']
const NAME_ZONES = ['UTC', 'America/New_York', 'Asia/Shanghai']

const PLAIN_COMBINATIONS = [
  'YYYY-MM-DD',
  'YYYY-MM-DD HH:mm:ss',
  'YYYY-MM-DDTHH:mm:ss.SSSZ',
  'YYYY-MM-DDTHH:mm:ssZZ',
  'YYYY/M/D H:m:s',
  'DD/MM/YYYY hh:mm A',
  'h:mm a',
  'dddd, MMMM D, YYYY h:mm A',
  'ddd, DD MMM YYYY HH:mm:ss ZZ',
  'MMM Do, YYYY',
  'Do MMMM YYYY',
  'YYYY年MM月DD日 dddd A h:mm',
  'YYYY [Q]Q',
  'dd d ddd',
  'YYYYMMDDHHmmssSSS',
  'YYMMDD',
  'kk:mm k',
  'Do[ of ]MMMM'
]

// Escaped, unknown, adjacent and unfinished tokens.
const ODDITIES = [
  '',
  ' ',
  '[YYYY]',
  '[Today is] dddd',
  '[]',
  '[]YYYY',
  '[YYYY',
  'YYYY]',
  '[[YYYY]]',
  '[[Q]',
  '[a [b] c]',
  '[Do] Do',
  '[ab Do',
  '[M Do] M',
  '[Q1] Q [quarter]',
  '[年]YYYY[月]M',
  '[A] A [a] a',
  '[w W gggg GGGG z x X k]',
  '[]Q]',
  '][YYYY',
  'YYYY[T]HH[h]',
  '[a][b]',
  '[ ]',
  '[\n]YYYY',
  'Y',
  'YYY',
  'YYYYY',
  'YYYYYY',
  'YYYYYYYY',
  'y yy yyyy',
  'MMMMM',
  'MMMMMM',
  'Mo',
  'DDD',
  'DDDD',
  'DDDo',
  'DDo',
  'Dog',
  'ddddd',
  'dddddd',
  'do',
  'HHH',
  'hhh',
  'mmm',
  'sss',
  'S',
  'SS',
  'SSSS',
  'SSSSSS',
  'AA',
  'aa',
  'Aa',
  'ZZZ',
  'ZZZZ',
  'QQ',
  'Qo',
  'kkk',
  'kkkk',
  'g',
  'gg',
  'ggg',
  'G GG GGG',
  'E e N n',
  'L LL LLL LLLL LT LTS l ll',
  'B b C c F f I i J j K O o P p R r T t U u V v',
  'q',
  'Today',
  'Hour',
  'Year: YYYY',
  'at hh o\'clock',
  'January',
  'YYYY-MM-DD at HH:mm',
  '!@#$%^&*()_+-={};:\'"\\|,.<>/?`~',
  '$1 $& YYYY',
  '%Y-%m-%d',
  '{YYYY}',
  '今天是YYYY年M月D日',
  '😀YYYY😀',
  '2024',
  'YYYY\nMM',
  'YYYY\tMM'
]

const WEEK_COMBINATIONS = [
  'gggg-[W]ww',
  'GGGG-[W]WW',
  'w wo W',
  'GGGG-[W]WW-d',
  'www',
  'wwww',
  'wwo',
  'wow',
  'WWW',
  'Wo',
  'WWo',
  'ggggg',
  'GGGGG',
  'YYYY gggg GGGG',
  'week'
]

const STAMP_COMBINATIONS = ['X.SSS', 'XX', 'xx', 'x|X', '[X]X', 'Xx', 'max']
const NAME_COMBINATIONS = [
  'zz', 'zzzz', 'zzzzz', 'YYYY-MM-DD HH:mm z', 'h:mm A zzz', '[z] z', 'z Z ZZ', '[at z', 'zoo'
]

function formatRequests () {
  const rows = []
  const seen = new Set()
  const put = (iso, timezone, locale, format) => {
    const row = { iso, timezone, locale, format }
    const key = JSON.stringify(row)
    if (seen.has(key)) return
    seen.add(key)
    rows.push(row)
  }
  const locales = Object.keys(LOCALES)

  // All tokens at once, for every instant, zone and locale.
  for (const iso of INSTANTS) {
    for (const timezone of ZONES) {
      for (const locale of locales) {
        put(iso, timezone, locale, PLAIN_TOKENS.join('|'))
        put(iso, timezone, locale, WEEK_TOKENS.join('|'))
      }
    }
  }

  // Each token alone, for every instant and locale, through the zones by turns.
  let turn = 0
  for (const token of [...PLAIN_TOKENS, ...WEEK_TOKENS]) {
    for (const iso of INSTANTS) {
      for (const locale of locales) {
        put(iso, ZONES[turn++ % ZONES.length], locale, token)
      }
      turn++
    }
  }

  // Combinations and oddities, at a few instants each.
  for (const format of [...PLAIN_COMBINATIONS, ...WEEK_COMBINATIONS, ...ODDITIES]) {
    for (let n = 0; n < 4; n++) {
      for (const locale of locales) {
        put(INSTANTS[turn % INSTANTS.length], ZONES[turn % ZONES.length], locale, format)
      }
      turn += 5
    }
    for (const locale of locales) put('2024-10-09T04:03:02.001Z', 'UTC', locale, format)
  }

  for (const iso of INSTANTS) {
    for (const token of STAMP_TOKENS) for (const locale of locales) put(iso, 'UTC', locale, token)
    for (const timezone of NAME_ZONES) {
      for (const token of NAME_TOKENS) put(iso, timezone, 'en', token)
    }
  }
  for (const iso of ['1969-12-31T23:59:59.000Z', '2021-01-03T12:34:56.789Z', '2025-06-21T21:45:30.120Z']) {
    for (const format of STAMP_COMBINATIONS) put(iso, 'UTC', 'en', format)
    for (const timezone of NAME_ZONES) {
      for (const format of NAME_COMBINATIONS) put(iso, timezone, 'en', format)
    }
  }
  return rows
}

function formatRows () {
  const requests = formatRequests()
  const answers = MACHINES.map(machine => {
    process.env.TZ = machine
    return requests.map(({ iso, timezone, locale, format }) =>
      dayjs(new Date(iso)).locale(LOCALES[locale]).tz(timezone).format(format))
  })
  process.env.TZ = 'UTC'
  const rows = []
  requests.forEach((request, n) => {
    const expected = answers[0][n]
    if (answers.every(answer => answer[n] === expected)) rows.push({ ...request, expected })
  })
  return rows
}

const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond']

const ADD_DATES = [
  '2024-01-31T10:00:00Z',
  '2023-01-31T23:59:59Z',
  '2024-02-29T00:00:00Z',
  '2023-12-31T23:59:59.999Z',
  '2024-03-30T12:34:56.789Z',
  '2000-02-29T06:00:00Z',
  '1900-02-28T00:00:00Z',
  '2025-08-31T18:45:00Z',
  '1970-01-01T00:00:00Z',
  '2024-10-15T05:06:07.008Z'
]

const ADD_AMOUNTS = {
  year: [0, 1, -1, 4, -4, 100, -100, 1000],
  month: [0, 1, -1, 2, 11, 12, 13, -2, -11, -13, 25, 1200, -600],
  quarter: [0, 1, -1, 3, 4, -5, 400],
  week: [0, 1, -1, 52, 53, -104, 1000],
  millisecond: [0, 1, -1, 999, 1000, 86400000, -86400001],
  day: [0, 1, -1, 30, -31, 365, 366, 10000, -10000],
  hour: [0, 1, -1, 24, -25, 1000, 100000, -100000],
  minute: [0, 1, -1, 59, 60, -61, 1440, 10000000],
  second: [0, 1, -1, 60, 86399, 86400, -86401, 1000000000]
}

function addRows () {
  const rows = []
  for (const date of ADD_DATES) {
    for (const unit of UNITS) {
      for (const amount of ADD_AMOUNTS[unit]) {
        rows.push({ date, amount, unit, expected: dayjs.utc(date).add(amount, unit).toISOString() })
      }
    }
  }
  return rows
}

const DIFF_PAIRS = [
  ['2024-01-31T10:00:00Z', '2024-01-31T10:00:00Z'],
  ['2024-01-31T00:00:00Z', '2024-02-29T00:00:00Z'],
  ['2024-01-31T00:00:00Z', '2024-03-01T00:00:00Z'],
  ['2024-01-30T00:00:00Z', '2024-02-29T00:00:00Z'],
  ['2024-01-29T00:00:00Z', '2024-02-29T00:00:00Z'],
  ['2024-01-31T10:00:00Z', '2024-02-29T09:59:59Z'],
  ['2024-01-31T10:00:00Z', '2024-02-29T10:00:00Z'],
  ['2024-01-31T10:00:00Z', '2024-03-31T09:59:59.999Z'],
  ['2024-01-31T10:00:00Z', '2024-03-31T10:00:00Z'],
  ['2023-01-31T00:00:00Z', '2023-02-28T00:00:00Z'],
  ['2023-01-31T00:00:00Z', '2023-03-01T00:00:00Z'],
  ['2024-02-29T00:00:00Z', '2025-02-28T00:00:00Z'],
  ['2024-02-29T00:00:00Z', '2025-03-01T00:00:00Z'],
  ['2024-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['2024-02-29T12:00:00Z', '2028-02-29T11:59:59Z'],
  ['2000-02-29T00:00:00Z', '2100-02-28T00:00:00Z'],
  ['2023-12-31T23:59:59Z', '2024-01-01T00:00:00Z'],
  ['2023-12-31T23:59:59.999Z', '2024-01-01T00:00:00.000Z'],
  ['2023-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['2023-01-01T00:00:00Z', '2023-12-31T23:59:59Z'],
  ['2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'],
  ['2024-03-15T12:00:00Z', '2024-04-15T11:59:59Z'],
  ['2024-03-15T12:00:00Z', '2024-04-15T12:00:00Z'],
  ['2024-03-31T00:00:00Z', '2024-04-30T00:00:00Z'],
  ['2024-03-31T12:00:00Z', '2024-04-30T18:00:00Z'],
  ['2024-04-30T00:00:00Z', '2024-05-31T00:00:00Z'],
  ['2024-05-31T00:00:00Z', '2024-06-30T00:00:00Z'],
  ['2024-08-31T23:00:00Z', '2024-09-30T22:00:00Z'],
  ['2024-10-15T05:06:07.008Z', '2024-10-15T05:06:07.009Z'],
  ['2024-10-15T05:06:07Z', '2024-10-16T05:06:06Z'],
  ['2024-10-15T05:06:07Z', '2024-10-15T06:06:06Z'],
  ['2024-10-15T05:06:07Z', '2024-10-15T05:07:06.999Z'],
  ['1969-12-31T23:59:59Z', '1970-01-01T00:00:01Z'],
  ['1970-01-01T00:00:00Z', '2024-10-15T05:06:07.008Z'],
  ['1900-02-28T00:00:00Z', '2000-02-29T00:00:00Z'],
  ['1999-12-31T00:00:00Z', '2000-12-30T00:00:00Z'],
  ['2024-01-01T00:00:00Z', '2024-12-31T00:00:00Z'],
  ['2020-02-29T00:00:00Z', '2021-02-28T23:59:59.999Z'],
  ['1000-01-01T00:00:00Z', '2999-12-31T23:59:59Z']
]

function diffRows () {
  const rows = []
  for (const [a, b] of DIFF_PAIRS) {
    for (const [from, to] of a === b ? [[a, b]] : [[a, b], [b, a]]) {
      for (const unit of UNITS) {
        rows.push({ from, to, unit, expected: dayjs.utc(to).diff(dayjs.utc(from), unit) })
      }
    }
  }
  return rows
}

// Texts that day.js reads like Haft. Excluded are texts that Haft reads differently: digits after a point
// are a fraction of a second and not milliseconds, ten digits are unix seconds, and a day that does not
// exist is not a date.
const TEXTS = [
  '2018', '2018-4', '2018/4', '2018-4-', '201804', '20180203', '2018-2-3', '2018/2/3', '2018.4.1', '2018-02-03',
  '2018-4-1 1:1:1:22', '2018-4-1 1:1:1:2', '2018-4-1 1:1:1:220', '2018-04-01 12:30:45:123', '2018-04-01T12:30:45:5',
  '20210102T012345', '20210102T0123', '20210102T01', '20210102 012345', '20210102T012345.123', '20210102T01:23:45',
  '20210102 01:23', '201804011230', '20180401123045', '20180401123045123',
  '2018-04-01T12', '2018-04-01 12', '2018-04-01T12:30', '2018-04-01 12:30:45.123456', '2018-2-3 4:5:6', '2018-2-3T4:5:6',
  '2018-02-03t10:20', '2018-02-03 10', '2018-04-01T12:30:45.123z', '2018-04-01T12:30:45Z',
  '2018-02-03T10:20:30+08:00', '2018-02-03 10:20:30 +0800', '2018-02-03 10:20:30 GMT+8', '2018-02-03 1:30 PM',
  '2018 February 03', '2018 Feb 3', '2018 February', '2018 03 February', '2018, February 3', '2018-Feb-03', '2018/Feb/03',
  'February 2018', 'Feb 2018', 'Feb 3 2018', 'Feb. 3, 2018', 'Feb-03-2018', 'February 3, 2018 10:20:30',
  '3 Feb 2018', '03-Feb-2018', '03 February 2018 10:20', 'Saturday, February 3, 2018', 'Sat Feb 03 2018',
  'Sat, 03 Feb 2018 10:20:30 GMT', 'Sat Feb 03 2018 10:20:30 GMT+0800 (China Standard Time)',
  '4-3-2018', '04-03-2018', '4/3/2018', '4/3/18', '4/3/49', '4/3/50', '4/3/2018 5:06 PM', '4/3/2018, 5:06:07 PM',
  '  2018-02-03  '
]

function parseRows () {
  const rows = []
  for (const timezone of ['UTC', 'Asia/Shanghai']) {
    process.env.TZ = timezone
    for (const text of TEXTS) rows.push({ text, timezone, expected: String(dayjs(text).valueOf()) })
  }
  process.env.TZ = 'UTC'
  return rows
}

process.stdout.write(JSON.stringify({ format: formatRows(), add: addRows(), diff: diffRows(), parse: parseRows() }, null, 1) + '\n')
