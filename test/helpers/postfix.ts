import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { certificateAuthority } from './certificates.ts';
import { freePort } from './postgres-server.ts';

/** Debian's Postfix as an instance of its own on loopback; it takes mail for three mailboxes of example.com. */
export interface Postfix {
  readonly port: number;
  /** Path of the certificate of whoever vouches for the server. */
  readonly ca: string;
  readonly user: string;
  readonly password: string;
  /** Mails of a mailbox as they lie there, the oldest first. */
  mailbox(name: string): string[];
  /** Lines of its log that hold the text. */
  log(text: string): string[];
}

const PASSWORD = 'a password of the test';

function run(command: string, args: readonly string[], input = ''): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? `${stdout}${stderr}`}`);
}

/**
 * `ops` and `two` have mailboxes; `later` has one too, and whoever writes there is put off. `more` are lines of its
 * configuration.
 */
export async function postfix(...more: readonly string[]): Promise<Postfix> {
  const port = await freePort();
  // Outside of the folder for temporary files of the tests, which only its owner may enter.
  const folder = mkdtempSync('/tmp/headgate-postfix-');
  chmodSync(folder, 0o755);
  const at = (...names: string[]): string => join(folder, ...names);
  for (const name of ['conf', 'conf/sasl', 'queue', 'data', 'mail', 'log']) mkdirSync(at(name));
  chmodSync(at('mail'), 0o777);
  run('chown', ['postfix', at('data')]);
  const authority = certificateAuthority();
  const { cert, key } = authority.issue('mail');
  writeFileSync(at('cert.pem'), readFileSync(cert));
  writeFileSync(at('key.pem'), readFileSync(key), { mode: 0o600 });
  writeFileSync(at('conf', 'main.cf'), [mainConfiguration(at), ...more, ''].join('\n'));
  writeFileSync(at('conf', 'master.cf'), services(port));
  writeFileSync(at('conf', 'sasl', 'smtpd.conf'), saslConfiguration(at));
  run('saslpasswd2', ['-c', '-p', '-f', at('sasldb2'), '-u', 'mail.example', 'headgate'], PASSWORD);
  run('chgrp', ['postfix', at('sasldb2')]);
  chmodSync(at('sasldb2'), 0o640);
  run('postfix', ['-c', at('conf'), 'start']);
  onTestFinished(() => {
    run('postfix', ['-c', at('conf'), 'stop']);
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    port,
    ca: authority.cert,
    user: 'headgate@mail.example',
    password: PASSWORD,
    mailbox(name) {
      const box = at('mail', name, 'new');
      const names = existsSync(box) ? readdirSync(box).sort() : [];
      return names.map(one => readFileSync(join(box, one), 'latin1').replace(/\n/g, '\r\n'));
    },
    log: text =>
      readFileSync(at('log', 'maillog'), 'utf8')
        .split('\n')
        .filter(line => line.includes(text)),
  };
}

const mainConfiguration = (at: (...names: string[]) => string): string => `compatibility_level = 3.6
queue_directory = ${at('queue')}
data_directory = ${at('data')}
maillog_file = ${at('log', 'maillog')}
maillog_file_prefixes = ${at()}
inet_interfaces = loopback-only
inet_protocols = ipv4
myhostname = mail.example
mydestination =
mynetworks =
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = example.com
virtual_mailbox_base = ${at('mail')}
virtual_mailbox_maps = inline:{ ops@example.com=ops/, two@example.com=two/, later@example.com=later/ }
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_tls_cert_file = ${at('cert.pem')}
smtpd_tls_key_file = ${at('key.pem')}
smtpd_tls_security_level = may
smtpd_tls_auth_only = yes
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = cyrus
smtpd_sasl_path = smtpd
cyrus_sasl_config_path = ${at('conf', 'sasl')}
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access inline:{ {later@example.com = 450 4.2.1 try again later} }, permit
`;

const services = (port: number): string => `127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`;

const saslConfiguration = (at: (...names: string[]) => string): string => `pwcheck_method: auxprop
auxprop_plugin: sasldb
mech_list: PLAIN LOGIN
sasldb_path: ${at('sasldb2')}
`;
