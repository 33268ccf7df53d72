// One sentence per kind of change; `{who}` stands for the user, `{thing}` for the changed object.
import { texts } from '@/i18n/language';

export const SENTENCES = texts(
  {
    'tool.created': '{who} created the tool {thing}', 'tool.updated': '{who} changed the tool {thing}',
    'tool.rolledBack': '{who} restored an older version of the tool {thing}', 'tool.approved': '{who} approved the tool {thing}',
    'tool.deleted': '{who} deleted the tool {thing}',
    'agent.created': '{who} created the agent {thing}', 'agent.updated': '{who} changed the agent {thing}', 'agent.deleted': '{who} deleted the agent {thing}',
    'provider.created': '{who} added the provider {thing}', 'provider.updated': '{who} changed the provider {thing}',
    'provider.deleted': '{who} deleted the provider {thing}',
    'secret.set': '{who} set the secret {thing}', 'secret.deleted': '{who} deleted the secret {thing}',
    'ownSecret.set': '{who} set their own secret {thing}', 'ownSecret.deleted': '{who} deleted their own secret {thing}',
    'space.created': '{who} created the space {thing}', 'space.updated': '{who} renamed the space to {thing}', 'space.deleted': '{who} deleted the space {thing}',
    'member.invited': '{who} invited {thing} to the space', 'member.added': '{who} added {thing} to the space', 'member.updated': '{who} changed the role of {thing}', 'member.removed': '{who} removed {thing} from the space',
    'token.created': '{who} created the token {thing}', 'token.revoked': '{who} revoked the token {thing}',
    'user.created': '{who} created the user {thing}', 'user.updated': '{who} changed the rights of {thing}', 'user.passwordSet': '{who} set the password of {thing}',
    'alert.created': '{who} created the alert {thing}', 'alert.updated': '{who} changed the alert {thing}', 'alert.deleted': '{who} deleted the alert {thing}',
    'task.cancelled': '{who} cancelled a task of {thing}', 'task.retried': '{who} retried a task of {thing}', 'task.resolved': '{who} recorded the outcome of a task of {thing}',
    'approval.approved': '{who} approved a call of {thing}', 'approval.denied': '{who} denied a call of {thing}',
    'alert.fired': 'The alert {thing} fired', 'alert.resolved': 'The alert {thing} resolved',
    other: '{who} changed {thing}',
  },
  {
    'tool.created': '{who} 创建了工具 {thing}', 'tool.updated': '{who} 修改了工具 {thing}',
    'tool.rolledBack': '{who} 将工具 {thing} 恢复到旧版本', 'tool.approved': '{who} 批准了工具 {thing}',
    'tool.deleted': '{who} 删除了工具 {thing}',
    'agent.created': '{who} 创建了智能体 {thing}', 'agent.updated': '{who} 修改了智能体 {thing}', 'agent.deleted': '{who} 删除了智能体 {thing}',
    'provider.created': '{who} 添加了模型服务 {thing}', 'provider.updated': '{who} 修改了模型服务 {thing}',
    'provider.deleted': '{who} 删除了模型服务 {thing}',
    'secret.set': '{who} 设置了密钥 {thing}', 'secret.deleted': '{who} 删除了密钥 {thing}',
    'ownSecret.set': '{who} 设置了自己的密钥 {thing}', 'ownSecret.deleted': '{who} 删除了自己的密钥 {thing}',
    'space.created': '{who} 创建了空间 {thing}', 'space.updated': '{who} 将空间重命名为 {thing}', 'space.deleted': '{who} 删除了空间 {thing}',
    'member.invited': '{who} 邀请 {thing} 加入空间', 'member.added': '{who} 将 {thing} 加入空间', 'member.updated': '{who} 更改了 {thing} 的角色', 'member.removed': '{who} 将 {thing} 移出空间',
    'token.created': '{who} 创建了令牌 {thing}', 'token.revoked': '{who} 吊销了令牌 {thing}',
    'user.created': '{who} 创建了用户 {thing}', 'user.updated': '{who} 更改了 {thing} 的权限', 'user.passwordSet': '{who} 设置了 {thing} 的密码',
    'alert.created': '{who} 创建了告警 {thing}', 'alert.updated': '{who} 修改了告警 {thing}', 'alert.deleted': '{who} 删除了告警 {thing}',
    'task.cancelled': '{who} 取消了 {thing} 的任务', 'task.retried': '{who} 重试了 {thing} 的任务', 'task.resolved': '{who} 确认了 {thing} 任务的结果',
    'approval.approved': '{who} 批准了 {thing} 的调用', 'approval.denied': '{who} 拒绝了 {thing} 的调用',
    'alert.fired': '告警 {thing} 触发', 'alert.resolved': '告警 {thing} 已恢复',
    other: '{who} 更改了 {thing}',
  },
);

type Sentences = Record<string, string>;

/** The sentence split at its placeholders, so that names can be rendered as names. */
export function piecesOf(sentences: Sentences, type: string): string[] {
  const sentence = sentences[type] ?? sentences['other'] ?? '{thing}';
  return sentence.split(/(\{who\}|\{thing\})/).filter((piece) => piece !== '');
}
