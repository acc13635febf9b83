import type { Configuration, FileTexts } from './configuration.ts';

/** The parts of the configuration that can be edited, each in its own file but for the first three. */
export type ConfigSection = 'targets' | 'notifications' | 'inhibitions' | 'inputs' | 'outputs' | 'settings';

/** The source of a change; `file` is a person with an editor. */
export type ChangeSource = 'api' | 'cli' | 'page' | 'file';

/** A secret that goes to the encrypted store before the file that refers to it is written. */
export interface NewSecret {
  readonly name: string;
  readonly value: string;
}

/** The new content of one item, or its removal. */
export interface ConfigEdit {
  readonly section: ConfigSection;
  /** The item's id; '' for settings. */
  readonly id: string;
  /**
   * The whole item, its references unresolved, keys left out where the default holds; for settings the whole of
   * headgate.yml. Undefined removes the item.
   */
  readonly value: object | undefined;
  readonly secrets?: readonly NewSecret[];
}

interface ChangeRequest {
  /** The name of the user. */
  readonly author: string;
  readonly source: Exclude<ChangeSource, 'file'>;
  readonly message?: string;
}

/** A change of single items. */
interface ItemChange extends ChangeRequest {
  /**
   * The edits. A function is called once the changes before are done, with the configuration that then is both active
   * and on disk: it checks conditions (a free id, If-Match, the base of a merge) there and throws an `AppError`, so that
   * no other change can come between.
   */
  readonly edits: readonly ConfigEdit[] | ((now: Configuration) => readonly ConfigEdit[]);
}

/** Texts in the place of whole files, as they were sent or as an older version has them: secrets may be masked. */
export interface SentTexts {
  readonly texts: FileTexts;
  /** True when their author may refer to any stored secret. */
  readonly mayRefer: boolean;
}

/** A change of whole files, such as a return to an older version; the rules of secrets are applied to it. */
interface TextChange extends ChangeRequest {
  readonly sent: SentTexts;
}

/** Texts that may be written, and the secrets to store before. */
export interface CheckedTexts {
  readonly texts: FileTexts;
  readonly secrets: readonly NewSecret[];
}

/** A requested change of the configuration. */
export type ConfigChange = ItemChange | TextChange;
