// Texts shared by several sections.
import { texts } from '@/i18n/language';

export const COMMON = texts(
  {
    cancel: 'Cancel', save: 'Save', add: 'Add', edit: 'Edit', remove: 'Delete', removeOne: (name: string) => `Delete ${name}`, editOne: (name: string) => `Edit ${name}`, rename: 'Rename', renameOne: (name: string) => `Rename ${name}`, done: 'Done', more: 'Show more',
    name: 'Name', actions: (name: string) => `More for ${name}`, personal: 'Personal', you: 'You',
  },
  {
    cancel: '取消', save: '保存', add: '添加', edit: '编辑', remove: '删除', removeOne: (name: string) => `删除 ${name}`, editOne: (name: string) => `编辑 ${name}`, rename: '重命名', renameOne: (name: string) => `重命名 ${name}`, done: '完成', more: '显示更多',
    name: '名称', actions: (name: string) => `${name} 的更多操作`, personal: '个人', you: '你',
  },
);

export const ROLES = texts(
  {
    viewer: 'Viewer', viewerAbout: 'Sees tools, agents and the call log.',
    caller: 'Caller', callerAbout: 'Calls tools, and has their own secrets and files.',
    editor: 'Editor', editorAbout: 'Changes tools, agents, alerts and the secrets of the space.',
    admin: 'Admin', adminAbout: 'May do everything here: members and providers too.',
  },
  {
    viewer: '查看者', viewerAbout: '可查看工具、智能体和调用日志。',
    caller: '调用者', callerAbout: '可调用工具，保存自己的密钥和文件。',
    editor: '编辑者', editorAbout: '可修改工具、智能体、告警和空间密钥。',
    admin: '管理员', adminAbout: '可执行一切操作，包括管理成员和模型服务。',
  },
);
