import { userInfo } from 'node:os';

/** The operating system's user, told apart from a user of Headgate's own; a container's may have no name. */
export function whoRuns(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
