import { describe, expect, it } from 'vitest';
import { configurationOf, errorsOf, warningsOf } from '../../test/helpers/config-folder.ts';

describe('environment and flags', () => {
  it('override the file, flags first', () => {
    const given = {
      settings: 'api: { host: file, port: 1, authTokenTTL: 1 }\ninstance: { name: file }',
      environment: {
        HEADGATE_API_HOST: 'environment',
        HEADGATE_API_PORT: '2',
        HEADGATE_API_AUTH_TOKEN_TTL: '20',
        HEADGATE_INSTANCE_EXTERNAL_URL: 'https://e.example',
        HEADGATE_INSTANCE_NAME: '',
      },
      flags: { 'api.port': '3' },
    };
    const { settings } = configurationOf(given);
    expect(settings.api).toMatchObject({ host: 'environment', port: 3, authTokenTTL: 20 });
    expect(settings.instance).toEqual({ name: 'file', externalUrl: 'https://e.example' });
  });

  it('work without a file', () => {
    expect(
      configurationOf({ environment: { HEADGATE_STORAGE_KEY_RING: '/k' } }).settings.storage.keyRing,
    ).toBe('/k');
  });

  it('stand in for values of the file that are not allowed, which are named nevertheless', () => {
    const settings = 'api: { port: abc, authTokenTTL: 0, idleSessionTTL: 60 }';
    const flags = { 'api.port': '3' };
    const environment = { HEADGATE_API_AUTH_TOKEN_TTL: '20', HEADGATE_API_IDLE_SESSION_TTL: '90' };
    expect(configurationOf({ settings, flags, environment }).settings.api).toMatchObject({ port: 3 });
    expect(warningsOf({ settings, flags, environment })).toEqual([
      expect.stringMatching(
        /headgate\.yml:1:14: is not allowed, .* if --port did not stand in for it \(api\.port\)$/,
      ),
      expect.stringMatching(
        /headgate\.yml:1:33: .* HEADGATE_API_AUTH_TOKEN_TTL did not .* \(api\.authTokenTTL\)$/,
      ),
    ]);
    expect(warningsOf({ settings: 'api: { port: 9000 }', flags })).toEqual([]);
  });

  it('are named when they are wrong', () => {
    const given = { environment: { HEADGATE_API_PORT: 'abc' }, flags: { 'api.host': '' } };
    expect(errorsOf(given)).toEqual([
      'flags: must not be empty (--host)',
      "environment: must be a number, not 'abc' (HEADGATE_API_PORT)",
    ]);
  });

  it('warn of names that set nothing, but not of those that are read elsewhere', () => {
    const environment = {
      HEADGATE_API_PROT: '1',
      HEADGATE_CONFIG: 'x',
      HEADGATE_DATA: 'x',
      HEADGATE_LOG_LEVEL: 'info',
      HEADGATE_ADMIN_PASSWORD: 'x',
      PATH: '/bin',
    };
    expect(warningsOf({ environment })).toEqual([
      "environment: sets nothing, as no setting has this name; did you mean 'HEADGATE_API_PORT'? (HEADGATE_API_PROT)",
    ]);
  });
});
