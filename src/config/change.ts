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
  /** Where a problem of it is reported, as in `alerts.yml:3:5`; for items of a text of many. */
  readonly place?: string | undefined;
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

/** A text that says what a part of the configuration should be, in YAML or JSON. */
interface WantedDocument {
  /** As problems name it. */
  readonly name: string;
  readonly text: string;
}

/** What the configuration should be: items of any section, and settings of headgate.yml, in any number of texts. */
export interface WantedConfiguration {
  readonly documents: readonly WantedDocument[];
  /** True to remove what the sections that are named hold and the texts do not. */
  readonly prune: boolean;
  /** True when the author may refer to any stored secret, and learn whether one is what was sent. */
  readonly mayRefer: boolean;
  /** Sections of whose addresses the author sees the host alone. */
  readonly hidden: readonly ConfigSection[];
  /** True when nothing is to be written: secrets that would have to be sent anew are listed, and not refused. */
  readonly isPlanOnly: boolean;
}

/** A field that reads otherwise; a value that is not there is left out, and a secret is masked. */
export interface FieldChange {
  readonly path: string;
  readonly old?: unknown;
  readonly new?: unknown;
}

export interface PlannedChange {
  readonly action: 'create' | 'change' | 'remove';
  readonly section: ConfigSection;
  /** '' for settings. */
  readonly id: string;
  /** Of a removal none. */
  readonly fields: readonly FieldChange[];
  /** Secrets that have to be sent anew before it can be done. */
  readonly movedSecrets: readonly { readonly path: string; readonly setting: string }[];
}

export interface ConfigurationPlan {
  readonly changes: readonly PlannedChange[];
}

/** A change of the configuration into what texts say. */
interface WantedChange extends ChangeRequest {
  readonly wanted: WantedConfiguration;
  /** Called before anything is written, with what will be, while no other change can come between. May throw. */
  readonly onPlanned: (found: PlannedConfiguration) => void;
}

/** A plan, and the texts that it is for, secrets masked. */
export interface PlannedConfiguration {
  readonly plan: ConfigurationPlan;
  readonly base: FileTexts;
}

/** A requested change of the configuration. */
export type ConfigChange = ItemChange | TextChange | WantedChange;
