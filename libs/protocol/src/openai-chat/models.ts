/** A model (API reference, "The model object"). `created` in whole seconds. */
export interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

/** All models (API reference, "List models"); clients take it for one page. */
export interface ModelList {
  readonly object: 'list';
  readonly data: Model[];
}

export function encodeModel(id: string, createdAtMs: number, ownedBy: string): Model {
  return { id, object: 'model', created: Math.floor(createdAtMs / 1000), owned_by: ownedBy };
}

export function encodeModels(models: Model[]): ModelList {
  return { object: 'list', data: models };
}
