// Renders Markdown blocks: headings, lists, tables, code.
import type { MarkedToken, Token, Tokens } from 'marked';
import { createContext, memo, type ReactNode, use, useState } from 'react';

import { CopyButton } from '@/components/CopyButton';
import { texts, useTexts } from '@/i18n/language';

import { type Block, NOTHING, read } from './blocks';
import { decoded } from './entities';
import { Inline } from './Inline';
import css from './Markdown.module.css';

const TEXTS = texts(
  { code: 'Code', table: 'Table', copyCode: 'Copy code', done: 'Done', open: 'Not done' },
  { code: '代码', table: '表格', copyCode: '复制代码', done: '已完成', open: '未完成' },
);

export default function Blocks({ text }: { text: string }) {
  const [parsed, setParsed] = useState(NOTHING);
  const now = read(text, parsed);
  if (now !== parsed) setParsed(now);
  const depths = now.blocks.flatMap(({ token }) => (token.type === 'heading' ? [(token as Tokens.Heading).depth] : []));
  return (
    <HighestContext value={Math.min(...depths, 6)}>
      {now.blocks.map((block) => <BlockView key={block.at} block={block} />)}
    </HighestContext>
  );
}

/** Memoized by content: an unchanged block is not rendered again, even if its object is new. */
const BlockView = memo(function BlockView({ block }: { block: Block }) {
  return <TokenView token={block.token} />;
}, (one, other) => one.block.raw === other.block.raw);

function TokenView({ token: given }: { token: Token }): ReactNode {
  const token = given as MarkedToken;
  switch (token.type) {
    case 'space': case 'def': return null;
    case 'paragraph': return <p><Inline tokens={token.tokens} /></p>;
    case 'heading': return <Title depth={token.depth}><Inline tokens={token.tokens} /></Title>;
    case 'code': return <Code token={token} />;
    case 'blockquote': return <blockquote><All tokens={token.tokens} /></blockquote>;
    case 'list': return <List token={token} />;
    case 'table': return <Table token={token} />;
    case 'hr': return <hr />;
    case 'html': return <p className={css.plain}>{token.raw}</p>;
    case 'text': return token.tokens === undefined ? decoded(token.text) : <Inline tokens={token.tokens} />;
    default: return <Inline tokens={[token]} />;
  }
}

function All({ tokens }: { tokens: readonly Token[] }) {
  return tokens.map((token, at) => <TokenView key={at} token={token} />);
}

/** The highest heading level in the text, which is rendered one level below the heading of the page. */
const HighestContext = createContext(1);

function Title({ depth, children }: { depth: number; children: ReactNode }) {
  const below = depth - use(HighestContext);
  const Level = (['h2', 'h3', 'h4', 'h5', 'h6', 'h6'] as const)[below] ?? 'h6';
  return <Level className={depth <= 2 ? css.large : ''}>{children}</Level>;
}

function Code({ token: { lang, text } }: { token: Tokens.Code }) {
  const t = useTexts(TEXTS);
  const language = lang?.split(/\s/)[0] ?? '';
  return (
    <figure className={css.block}>
      <figcaption className={css.blockHead}>
        <span>{language}</span>
        <CopyButton text={text} look="quiet" label={t.copyCode} />
      </figcaption>
      {/* Focusable, so that long lines can be scrolled by keyboard. */}
      <pre tabIndex={0} role="region" aria-label={language === '' ? t.code : language}><code>{text}</code></pre>
    </figure>
  );
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, at) => <Item key={at} item={item} />);
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={token.start === '' ? 1 : token.start}>{items}</ol>;
}

function Item({ item }: { item: Tokens.ListItem }) {
  const t = useTexts(TEXTS);
  const tokens = item.tokens.filter(({ type }) => type !== 'checkbox');
  return (
    <li className={item.task ? css.task : ''}>
      {item.task && <span role="img" aria-label={item.checked === true ? t.done : t.open}>{item.checked === true ? '☑' : '☐'}</span>}
      <div><All tokens={tokens} /></div>
    </li>
  );
}

function Table({ token: { header, rows } }: { token: Tokens.Table }) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.table} tabIndex={0} role="region" aria-label={t.table}>
      <table>
        <thead><tr>{header.map((cell, at) => <th key={at} className={sideOf(cell)}><Inline tokens={cell.tokens} /></th>)}</tr></thead>
        <tbody>
          {rows.map((row, line) => <tr key={line}>{row.map((cell, at) => <td key={at} className={sideOf(cell)}><Inline tokens={cell.tokens} /></td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

const sideOf = ({ align }: Tokens.TableCell): string => (align === null ? '' : (css[align] ?? ''));
