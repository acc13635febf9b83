import type { Configuration, FileTexts } from './configuration.ts';

/** The parts of the configuration that can be edited, each in its own file but for the first two. */
export type ConfigSection = 'targets' | 'notifications' | 'inputs' | 'outputs' | 'settings';

/** Where a change came in; `file` is a person with an editor. */
export type ChangeSource = 'api' | 'cli' | 'page' | 'file';

/** A secret that goes to the encrypted store before the file that refers to it is written. */
export interface NewSecret {
  readonly name: string;
  readonly value: string;
}

/** One item as it shall stand in its file, or its end. */
export interface ConfigEdit {
  readonly section: ConfigSection;
  /** Of the item; '' for settings. */
  readonly id: string;
  /**
   * The whole item, its references unresolved, keys left out where the default holds; for settings the whole of
   * headgate.yml. Undefined removes the item.
   */
  readonly value: object | undefined;
  readonly secrets?: readonly NewSecret[];
}

interface ChangeRequest {
  /** The name of whoever asks. */
  readonly author: string;
  readonly source: Exclude<ChangeSource, 'file'>;
  readonly message?: string;
}

/** A change of single items. */
interface ItemChange extends ChangeRequest {
  /**
   * What to change. As a function it is asked when its turn has come, about the configuration that then is both in
   * force and on disk: what must hold (an id is free, If-Match, what a merge starts from) is decided there, by
   * throwing an `AppError`, so that no other change can come between.
   */
  readonly edits: readonly ConfigEdit[] | ((now: Configuration) => readonly ConfigEdit[]);
}

/** A change of whole files, such as a return to an older version. */
interface TextChange extends ChangeRequest {
  /** The files that shall read otherwise, as a function asked as that of `ItemChange` is. */
  readonly texts: (now: Configuration) => FileTexts;
}

/** A change of the configuration that somebody asks for. */
export type ConfigChange = ItemChange | TextChange;
