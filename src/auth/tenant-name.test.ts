import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOrganizationId, isWorkspaceId, labelOf, parseLabel, parseTenantHost } from './tenant-name.ts';

const workspaces = fc.stringMatching(/^[a-z0-9]{4,41}$/);
const organizations = fc.stringMatching(/^[a-z0-9-]{4,21}$/);
const tenants = fc
  .record({ workspace: workspaces, organization: organizations })
  .filter(tenant => labelOf(tenant).length <= 63);
const anyCase = (text: string, upper: readonly boolean[]): string =>
  [...text].map((letter, at) => (upper[at % upper.length] ? letter.toUpperCase() : letter)).join('');

describe('the name of a tenant', () => {
  it('is read as it was made, for whatever ids are allowed', () => {
    fc.assert(
      fc.property(tenants, tenant => {
        expect(parseLabel(labelOf(tenant))).toEqual(tenant);
      }),
    );
  });

  it('stands in a Host in any case, with or without a port and a trailing dot', () => {
    const cases = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
    const tails = fc.constantFrom('', '.', ':9000', '.:443');
    fc.assert(
      fc.property(tenants, cases, tails, (tenant, upper, tail) => {
        const host = `${anyCase(`${labelOf(tenant)}.cloud.example`, upper)}${tail}`;
        expect(parseTenantHost(host, 'Cloud.example')).toEqual(tenant);
      }),
    );
  });

  it('is never read of another text than the one that is made of it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9.-]{1,70}$/)), text => {
        const tenant = parseLabel(text);
        if (tenant === undefined) return;
        expect(labelOf(tenant)).toBe(text);
        expect(isWorkspaceId(tenant.workspace) && isOrganizationId(tenant.organization)).toBe(true);
      }),
    );
  });

  it.each([
    ['main-acme.localhost:9000', 'localhost'],
    ['main-acme.localhost', 'localhost:9001'],
  ])('takes %s below %s', (host, domain) => {
    expect(parseTenantHost(host, domain)).toEqual({ workspace: 'main', organization: 'acme' });
  });

  it('splits at the first dash', () => {
    expect(parseLabel('main-acme-east')).toEqual({ workspace: 'main', organization: 'acme-east' });
  });

  it.each([
    ['of no tenant', 'cloud.example'],
    ['of another domain', 'main-acme.cloud.example.org'],
    ['that only ends alike', 'main-acme.mycloud.example'],
    ['with a label too many', 'x.main-acme.cloud.example'],
    ['without an organization', 'main.cloud.example'],
    ['of a short workspace', 'mai-acme.cloud.example'],
    ['of a short organization', 'main-acm.cloud.example'],
    ['of a label over 63 letters', `${'w'.repeat(41)}-${'o'.repeat(22)}.cloud.example`],
    ['with two dots', 'main-acme..cloud.example'],
    ['with a port of no number', 'main-acme.cloud.example:http'],
    ['with a space', ' main-acme.cloud.example'],
    ['of letters beyond ASCII', 'maın-acme.cloud.example'],
    ['that is empty', ''],
  ])('refuses a host %s', (_, host) => {
    expect(parseTenantHost(host, 'cloud.example')).toBeUndefined();
  });
});
