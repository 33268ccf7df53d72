// Rules beyond the compiler: hooks, floating promises, and the imports allowed between folders.
import hooks from 'eslint-plugin-react-hooks';
import ts from 'typescript-eslint';

const features = ['overview', 'chat', 'tools', 'calls', 'tasks', 'approvals', 'agents', 'settings', 'session'];

export default ts.config(
  { ignores: ['dist', 'src/api/schema.d.ts', 'test-results', 'playwright-report'] },
  {
    files: ['src/**/*.{ts,tsx}', 'e2e/**/*.ts', '*.ts'],
    extends: [ts.configs.strictTypeChecked, hooks.configs.flat['recommended-latest']],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  // Playwright's `use` is no hook.
  { files: ['e2e/**'], rules: { 'react-hooks/rules-of-hooks': 'off', 'no-empty-pattern': 'off' } },
  // A feature knows the shared parts and itself; shared parts know no feature.
  ...features.map((feature) => ({
    files: [`src/features/${feature}/**`],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: features.filter((other) => other !== feature).map((other) => `@/features/${other}/*`) },
      ],
    },
  })),
  {
    files: ['src/components/**', 'src/api/**', 'src/i18n/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: ['@/features/*', '@/app/*'] }] },
  },
);
