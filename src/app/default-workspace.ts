/** The one workspace of a self-managed installation. */
export const DEFAULT_WORKSPACE = 'default';
