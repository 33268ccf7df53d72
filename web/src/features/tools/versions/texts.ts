// Texts of the Versions tab.
import { texts } from '@/i18n/language';

export const TEXTS = texts(
  {
    versions: 'Versions', version: (number: number) => `Version ${number}`, live: 'Live', held: 'Held', first: 'Created',
    changed: (fields: string) => `Changed ${fields}`, backTo: (number: number) => `Back to version ${number}`,
    by: (name: string) => `by ${name}`, more: 'Show older', and: ', ', others: (count: number) => `${count} more`,
    before: 'Before', after: 'After', compare: 'What changed', pick: 'Compare', liveOption: (number: number) => `${number} (live)`,
    heldOption: (number: number) => `${number} (held)`, view: 'View', list: 'As a list', code: 'Side by side',
    same: 'These two versions are equal.', only: 'There is only one version so far. Every change creates a new version, and you can roll back to any of them.',
    rollBack: 'Roll back to this version', rollBackTitle: (number: number) => `Roll back to version ${number}?`,
    rollBackText: (next: number) => `Version ${next} will be created with this definition and becomes live. No version is lost.`,
    approve: 'Approve', approveTitle: (number: number) => `Approve version ${number}?`,
    approveText: 'It becomes the live version, which calls use.', heldText: 'This version is held: it is not called until it is approved.',
    cut: 'Long values are truncated, and at most 20 differences are listed. “Side by side” shows everything.', nothing: 'not set',
    fold: 'Hide unchanged lines', unchanged: '$ unchanged lines', showing: (from: number, to: number) => `Definition: version ${from} beside version ${to}`,
  },
  {
    versions: '版本', version: (number) => `版本 ${number}`, live: '当前', held: '待批准', first: '创建',
    changed: (fields) => `修改了 ${fields}`, backTo: (number) => `恢复到版本 ${number}`,
    by: (name) => `· ${name}`, more: '显示更早的版本', and: '、', others: (count) => `另外 ${count} 项`,
    before: '之前', after: '之后', compare: '差异', pick: '比较', liveOption: (number) => `${number}（当前）`,
    heldOption: (number) => `${number}（待批准）`, view: '显示方式', list: '列表', code: '并排对照',
    same: '这两个版本完全相同。', only: '目前只有一个版本。每次修改都会产生新版本，并可随时恢复。',
    rollBack: '恢复到此版本', rollBackTitle: (number) => `恢复到版本 ${number}？`,
    rollBackText: (next) => `将以当时的定义创建版本 ${next}，之后的调用都使用它。不会丢失任何内容。`,
    approve: '批准', approveTitle: (number) => `批准版本 ${number}？`,
    approveText: '之后的调用都将使用它。', heldText: '此版本待批准：批准之前不会被调用。',
    cut: '此处较长的值会被截短，最多列出 20 处差异；并排对照会显示全部。', nothing: '未设置',
    fold: '隐藏相同部分', unchanged: '$ 行相同', showing: (from, to) => `定义：版本 ${from} 与版本 ${to} 对照`,
  },
);
