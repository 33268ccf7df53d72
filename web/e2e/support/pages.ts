// Every page of the console: name in screenshots and address.
import type { SampleData } from './sampleData';

export function pages(made: SampleData): [name: string, path: string][] {
  return [
    ['overview', '/'],
    ['chat', '/chat'],
    ['talk', `/chat/${made.talks.weather}`],
    ['talk-waiting', `/chat/${made.talks.waiting}`],
    ['tools', '/tools'],
    ['tool-new', '/tools/new'],
    ['tools-import', '/tools/import'],
    ['tool-try', `/tools/${made.weather.id}?tab=try`],
    ['tool-definition', `/tools/${made.weather.id}?tab=definition`],
    ['tool-versions', `/tools/${made.weather.id}?tab=versions`],
    ['tool-datetime', '/tools/datetime?tab=try'],
    ['calls', '/calls'],
    ['tasks', '/tasks'],
    ['task-open', `/tasks?task=${made.task}`],
    ['approvals', '/approvals'],
    ['approve-by-link', made.links.waiting],
    ['approve-by-link-over', made.links.decided],
    ['approve-by-bad-link', '/approve/nothing?sig=nothing'],
    ['agents', '/agents'],
    ['agent-new', '/agents/new'],
    ['agent', `/agents/${made.agent.id}`],
    ...['connect', 'secrets', 'tokens', 'members', 'spaces', 'users', 'providers', 'alerts', 'changes', 'files', 'account'].map(
      (tab): [string, string] => [`settings-${tab}`, `/settings?tab=${tab}`],
    ),
  ];
}
