import type { ActionKind, FieldType } from './site.plan.js';

/** A field as the request speaks of it; what is left out is decided by the planner. */
export interface DraftField {
  label: string;
  type?: FieldType;
  required?: boolean;
  options?: string[];
  min?: number;
  max?: number;
  integer?: boolean;
  minLength?: number;
  maxLength?: number;
  unique?: boolean;
  multiple?: boolean;
  /** The list it came from may have named the thing itself ("track expenses") and no field. */
  weak?: boolean;
}

export interface DraftAction {
  kind: ActionKind;
  /** The words that name the field it works on, resolved once all fields are known. */
  on?: string;
  value?: string;
  descending?: boolean;
  label?: string;
}

/** A request as read, before fields have names and actions have targets. */
export interface Draft {
  title: string;
  /** What one record is called, when the request says. */
  noun?: string;
  fields: DraftField[];
  actions: DraftAction[];
  /** What must not be offered: "cannot be edited". */
  denied: ActionKind[];
  unsupported: string[];
  notes: string[];
  allRequired?: boolean;
}

/** The field called `label`, ignoring case, spaces and a plural s. */
export function findField(fields: readonly DraftField[], label: string): DraftField | undefined {
  const key = fieldKey(label);
  return fields.find((field) => fieldKey(field.label) === key);
}

export function fieldKey(label: string): string {
  const bare = label.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  return bare.length > 3 ? bare.replace(/(?<!s)s$/, '') : bare;
}

/** Adds a field, or what is newly said of one already there. */
export function addField(draft: Draft, field: DraftField): DraftField {
  const known = findField(draft.fields, field.label);
  if (known === undefined) {
    draft.fields.push(field);
    return field;
  }
  const { label, ...said } = field;
  void label;
  const weak = known.weak && field.weak;
  Object.assign(known, JSON.parse(JSON.stringify(said)), { weak });
  return known;
}
