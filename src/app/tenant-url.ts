import type { HostedSettings } from '../config/hosted-settings.ts';

/** Where a workspace is reached: by https, unless `instance.externalUrl` says another scheme or port for trials. */
export function tenantUrlOf(
  label: string,
  { cloudDomain }: Pick<HostedSettings, 'cloudDomain'>,
  externalUrl: string | undefined,
): string {
  const { protocol, port } = new URL(externalUrl ?? `https://${cloudDomain}`);
  return `${protocol}//${label}.${cloudDomain}${port === '' ? '' : `:${port}`}`;
}
