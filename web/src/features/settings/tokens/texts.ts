// Names and descriptions of token scopes.
import { texts } from '@/i18n/language';

export const SCOPES = texts(
  {
    read: 'Read', readAbout: 'Sees tools, agents, the call log and statistics. Calls nothing.',
    call: 'Call', callAbout: 'Also calls tools. Recommended for agents and scripts.',
    admin: 'Everything', adminAbout: 'Also changes tools, secrets and members: everything that you may do in this space.',
  },
  {
    read: '读取', readAbout: '可查看工具、智能体、调用日志和统计，不能调用。',
    call: '调用', callAbout: '还可调用工具。适合智能体和脚本。',
    admin: '全部', adminAbout: '还可修改工具、密钥和成员：你在此空间能做的一切。',
  },
);
