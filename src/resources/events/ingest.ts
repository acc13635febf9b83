import * as z from 'zod';
import type { Secret } from '../../lib/secret.ts';
import { type PostedEvent, readPostedEvents } from '../../notifications/posted-events.ts';
import type { Posts } from '../../notifications/posts.ts';
import { type Door, senderOf } from '../samples/sender.ts';
import { invalidInput } from '../verb.ts';

const MOST_PROBLEMS = 20;

/**
 * `POST /ingest/events`: all of the body's events or none; answers when what follows from them is on disk. Throws
 * `unauthenticated`, `invalid-request`, and `unavailable` when the disk refuses.
 */
export async function ingestEvents(
  door: Door,
  post: Posts['post'],
  token: Secret | undefined,
  body: unknown,
): Promise<{ readonly accepted: number }> {
  const sender = senderOf(door, token);
  const events = read(body);
  await post(sender.id, events);
  return { accepted: events.length };
}

function read(body: unknown): readonly PostedEvent[] {
  try {
    return readPostedEvents(body);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw invalidInput(new z.ZodError(error.issues.slice(0, MOST_PROBLEMS)));
  }
}
