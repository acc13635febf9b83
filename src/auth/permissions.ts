export const RESOURCES = [
  'inputs',
  'outputs',
  'notifications',
  'targets',
  'messages',
  'incidents',
  'silences',
  'deliveries',
  'users',
  'settings',
  'audit',
  'credentials',
  'members',
  'workspaces',
] as const;
export type Resource = (typeof RESOURCES)[number];
export type Permission = `${'read' | 'update'}:${Resource}`;

export const ROLES = ['admin', 'editor', 'notification_admin', 'reader', 'user'] as const;
export type Role = (typeof ROLES)[number];

const read = (...resources: readonly Resource[]): Permission[] =>
  resources.map(resource => `read:${resource}` as const);
const update = (...resources: readonly Resource[]): Permission[] =>
  resources.map(resource => `update:${resource}` as const);

const ADMINISTRATION: readonly Resource[] = ['users', 'settings', 'audit'];
const readAllButAdministration = read(...RESOURCES.filter(resource => !ADMINISTRATION.includes(resource)));

const PERMISSIONS: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  admin: new Set([...read(...RESOURCES), ...update(...RESOURCES)]),
  editor: new Set([
    ...readAllButAdministration,
    ...update('inputs', 'outputs', 'notifications', 'targets', 'messages', 'incidents'),
    ...update('silences', 'deliveries'),
  ]),
  notification_admin: new Set([
    ...readAllButAdministration,
    ...update('notifications', 'targets', 'messages', 'incidents', 'silences', 'deliveries'),
  ]),
  reader: new Set(
    read('inputs', 'outputs', 'notifications', 'targets', 'messages', 'incidents', 'silences', 'deliveries'),
  ),
  user: new Set(),
};

export const isRole = (text: string): text is Role => ROLES.some(role => role === text);

export const permissionsOf = (role: Role): ReadonlySet<Permission> => PERMISSIONS[role];
