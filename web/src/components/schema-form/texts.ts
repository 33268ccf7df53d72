// Texts of forms that come from the console and not from the schema.
import { texts } from '@/i18n/language';

export const TEXTS = texts(
  {
    notSet: 'Not set', byDefault: (value: string) => `Default: ${value}`, isDefault: 'default', clear: (what: string) => `Clear ${what}`,
    null: 'null', sendNull: (what: string) => `Send null for ${what}`,
    atLeast: (n: string) => `at least ${n}`, atMost: (n: string) => `at most ${n}`, between: (a: string, b: string) => `${a} to ${b}`,
    above: (n: string) => `more than ${n}`, below: (n: string) => `less than ${n}`, multiple: (n: string) => `a multiple of ${n}`,
    characters: (range: string, last: number) => `${range} ${last === 1 ? 'character' : 'characters'}`,
    items: (range: string, last: number) => `${range} ${last === 1 ? 'item' : 'items'}`,
    add: 'Add', addTo: (what: string) => `Add to ${what}`, item: (n: number) => `Item ${n}`, up: (n: number) => `Move item ${n} up`,
    down: (n: number) => `Move item ${n} down`, remove: (n: number) => `Remove item ${n}`,
    wasMoved: (n: number) => `Moved to position ${n}`, key: 'Name', value: 'Value', more: 'More fields', removeField: (name: string) => `Remove ${name}`,
    twice: 'Duplicate name: the last value is used.',
    badJson: (why: string) => `Not JSON: ${why}`, asJson: 'JSON', tooMany: 'Too many items for a form. Edit them as JSON.',
    kindOf: (what: string) => `Type of ${what}`, choose: 'Choose…', variant: (n: number) => `Variant ${n}`, yours: 'Your time zone',
    send: (value: string) => `Send ${value}`, always: 'always sent',
    string: 'Text', number: 'Number', integer: 'Whole number', boolean: 'Yes/no', object: 'Object', array: 'List', nothing: 'No fields to fill in.',
  },
  {
    notSet: '不填', byDefault: (value: string) => `默认：${value}`, isDefault: '默认', clear: (what: string) => `清除${what}`,
    null: 'null', sendNull: (what: string) => `${what}传 null`,
    atLeast: (n: string) => `至少 ${n}`, atMost: (n: string) => `至多 ${n}`, between: (a: string, b: string) => `${a} 到 ${b}`,
    above: (n: string) => `大于 ${n}`, below: (n: string) => `小于 ${n}`, multiple: (n: string) => `${n} 的倍数`,
    characters: (range: string) => `${range} 个字符`, items: (range: string) => `${range} 项`,
    add: '添加', addTo: (what: string) => `向${what}添加`, item: (n: number) => `第 ${n} 项`, up: (n: number) => `上移第 ${n} 项`,
    down: (n: number) => `下移第 ${n} 项`, remove: (n: number) => `移除第 ${n} 项`,
    wasMoved: (n: number) => `已移到第 ${n} 位`, key: '名称', value: '值', more: '更多字段', removeField: (name: string) => `移除 ${name}`,
    twice: '名称重复，以后面的为准。',
    badJson: (why: string) => `不是有效的 JSON：${why}`, asJson: 'JSON', tooMany: '项目太多，不便用表单填写，请直接编辑 JSON。',
    kindOf: (what: string) => `${what}的类型`, choose: '请选择…', variant: (n: number) => `方案 ${n}`, yours: '你所在的时区',
    send: (value: string) => `发送 ${value}`, always: '固定发送',
    string: '文本', number: '数字', integer: '整数', boolean: '是/否', object: '对象', array: '列表', nothing: '无需填写任何内容。',
  },
);
