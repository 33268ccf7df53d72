// The words of the page, in the languages it speaks.

const WORDS = {
  en: {
    skip: 'Skip to content', filter: 'Filter (press /)', found: (shown, all) => shown === all ? `${all} operations` : `${shown} of ${all} operations`,
    theme: { auto: 'Auto', light: 'Light', dark: 'Dark' }, themeLabel: 'Colors',
    parameters: 'Parameters', body: 'Body', answers: 'Responses', example: 'Example', curl: 'As curl',
    copy: 'Copy', copied: 'Copied', name: 'Name', where: 'In', kind: 'Type', says: 'Description', required: 'required',
    nothing: 'No token needed', identity: 'Any token or session', operator: 'Server admins only: token scope admin',
    needs: (scope, role) => `Token scope ${scope}, role ${role} in the space`,
    places: { path: 'path', query: 'query', header: 'header' },
    identityTitle: 'Authentication', document: 'Document', keys: 'Keys: / filters, ↑ and ↓ move in the list, j and k go to the next and previous operation.',
    any: 'anything', oneOf: 'one of', items: 'each', keysOf: 'any name', noBody: 'no body', failed: 'The document could not be loaded:',
  },
  zh: {
    skip: '跳到正文', filter: '筛选（按 /）', found: (shown, all) => shown === all ? `共 ${all} 个操作` : `${all} 个操作中的 ${shown} 个`,
    theme: { auto: '自动', light: '浅色', dark: '深色' }, themeLabel: '配色',
    parameters: '参数', body: '请求体', answers: '响应', example: '示例', curl: 'curl 命令',
    copy: '复制', copied: '已复制', name: '名称', where: '位置', kind: '类型', says: '含义', required: '必填',
    nothing: '无需令牌', identity: '任意令牌或会话', operator: '仅限服务管理员：令牌范围 admin',
    needs: (scope, role) => `令牌范围 ${scope}，空间角色 ${role}`,
    places: { path: '路径', query: '查询', header: '请求头' },
    identityTitle: '身份', document: '文档', keys: '按键：/ 筛选，↑ ↓ 在列表中移动，j 与 k 下一个与上一个。',
    any: '任意值', oneOf: '其中之一', items: '每一项', keysOf: '任意名称', noBody: '无内容', failed: '无法读取文档：',
  },
};

const known = (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase());
export const language = known.find((tag) => tag in WORDS) ?? 'en';
export const words = WORDS[language];
