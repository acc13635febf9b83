import type { Secret } from '../../../lib/secret.ts';
import { alertmanager } from './alertmanager.ts';
import { dingtalk } from './dingtalk.ts';
import { discord } from './discord.ts';
import { feishu } from './feishu.ts';
import { googleChat } from './google-chat.ts';
import { gotify } from './gotify.ts';
import { incidentIo } from './incident-io.ts';
import { jira } from './jira.ts';
import { jsm } from './jsm.ts';
import { mattermost } from './mattermost.ts';
import { ntfy } from './ntfy.ts';
import { opsgenie } from './opsgenie.ts';
import type { Preset, Signature } from './preset.ts';
import { pushover } from './pushover.ts';
import { rocketchat } from './rocketchat.ts';
import { servicenow } from './servicenow.ts';
import { splunkHec } from './splunk-hec.ts';
import { splunkOnCall } from './splunk-on-call.ts';
import { statuspage } from './statuspage.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { webex } from './webex.ts';
import { wecom } from './wecom.ts';
import { zulip } from './zulip.ts';

/** Every service that a webhook knows how to speak to. */
export const presets: readonly Preset[] = [
  teams,
  dingtalk,
  wecom,
  feishu,
  discord,
  telegram,
  googleChat,
  splunkHec,
  servicenow,
  opsgenie,
  jsm,
  statuspage,
  jira,
  mattermost,
  ntfy,
  gotify,
  pushover,
  webex,
  rocketchat,
  zulip,
  splunkOnCall,
  incidentIo,
  alertmanager,
];

const byName = new Map(presets.map(preset => [preset.name, preset]));

export const findPreset = (name: unknown): Preset | undefined =>
  typeof name === 'string' ? byName.get(name) : undefined;

/** What proves an attempt to the service of a preset, where it wants that; `now` in epoch ms. */
export function presetSignature(
  preset: unknown,
  secretOptions: Readonly<Record<string, Secret>> | undefined,
  now: number,
): Signature {
  const { signing } = findPreset(preset) ?? {};
  const secret = signing && secretOptions?.[signing.secretOption];
  return signing === undefined || secret === undefined ? {} : signing.sign(secret.reveal(), now);
}
